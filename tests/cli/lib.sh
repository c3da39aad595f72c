# Runs a case with the functions below. Any command that fails ends the case and names its line.
# shellcheck shell=bash
set -Eeuo pipefail
SAID=$(dirname "$PWD")/stderr.txt  # beside the case's own folder, so that the case may list that one
TOLD=$(dirname "$PWD")/stdout.txt
: >"$SAID"

# Prints what went wrong and the line of the case that asked for it; ends the case.
fail() {
    local i line='?'  # of the outermost call, where the case has functions of its own
    for i in "${!FUNCNAME[@]}"; do
        if [ "${BASH_SOURCE[i + 1]-}" = "$case_file" ]; then line=${BASH_LINENO[i]}; fi
    done
    printf '%s:%s: %s\n' "$(basename "$case_file")" "$line" "$*" >&2
    if [ -s "$SAID" ]; then sed 's/^/    stderr: /' "$SAID" | head -n 20 >&2; fi
    exit 1
}
trap 'fail "failed ($?): $BASH_COMMAND"' ERR

skip() {
    printf '%s: skipped: %s\n' "$(basename "$case_file")" "$*"
    exit 77
}

# expect_status N COMMAND...: runs it with stderr into the file $SAID (stdout goes where it is sent).
expect_status() {
    local want=$1 got=0
    shift
    "$@" 2>"$SAID" || got=$?
    [ "$got" -eq "$want" ] || fail "exit status $got, want $want: $*"
}

# expect_error N PATTERN COMMAND...: ends with N, says so in one line that matches, gives nothing on stdout.
expect_error() {
    local want=$1 pattern=$2
    shift 2
    expect_status "$want" "$@" >"$TOLD"
    expect_one_line "$pattern"
    [ ! -s "$TOLD" ] || fail "wrote to stdout: $*"
}

# expect_refused PATTERN COMMAND...: likewise, where 1 and 2 are both right.
expect_refused() {
    local pattern=$1 got=0
    shift
    "$@" 2>"$SAID" >"$TOLD" || got=$?
    [ "$got" -eq 1 ] || [ "$got" -eq 2 ] || fail "exit status $got, want 1 or 2: $*"
    expect_one_line "$pattern"
}

# expect_output PATTERN COMMAND...: ends with 0, and its stdout has a line that matches (extended regex). No pipe into
# grep -q does that: grep leaves at the first match, and the program may then die of SIGPIPE.
expect_output() {
    local pattern=$1
    shift
    expect_status 0 "$@" >"$TOLD"
    grep -aEq -- "$pattern" "$TOLD" || fail "no line on stdout matches '$pattern': $*"
}

# The last command said exactly one thing on stderr, "gradz: ...", and it matches (extended regex).
expect_one_line() {
    [ "$(wc -l <"$SAID")" -eq 1 ] || fail "$(wc -l <"$SAID") lines on stderr, want 1"
    grep -q '^gradz: ' "$SAID" || fail "the line does not begin with 'gradz: '"
    expect_stderr_line "$1"
}

# Some line on stderr of the last command matches (extended regex).
expect_stderr_line() { grep -aEq -- "$1" "$SAID" || fail "no line on stderr matches '$1'"; }

expect_no_stderr() { [ ! -s "$SAID" ] || fail "stderr is not empty"; }

expect_same_file() { cmp -s -- "$1" "$2" || fail "$1 and $2 differ"; }
expect_other_file() { ! cmp -s -- "$1" "$2" || fail "$1 and $2 are the same"; }

expect_file() {
    local f
    for f in "$@"; do [ -e "$f" ] || fail "$f is not there"; done
}

expect_no_file() {
    local f
    for f in "$@"; do if [ -e "$f" ] || [ -L "$f" ]; then fail "$f is there"; fi; done
}

# expect_listing FOLDER NAME...: the folder holds these names and nothing else, hidden ones included.
expect_listing() {
    local folder=$1 want got
    shift
    want=$(printf '%s\n' "$@" | sort) got=$(find "$folder" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort)
    [ "$want" = "$got" ] || fail "$folder holds: ${got//$'\n'/ }; want: ${want//$'\n'/ }"
}

expect_equal() { [ "$1" = "$2" ] || fail "'$1', want '$2'"; }

sha() { sha256sum "$1" | cut -d' ' -f1; }

# The hash of the records that do not depend on where the tensors came from.
digest() { "$GRADZ" test --digest "$1" | cut -d' ' -f1; }

gradz() { "$GRADZ" "$@"; }

# tensors COMMAND ARGUMENT...: tests/cli/tensors.py, which reads files with NumPy, h5py and safetensors.
tensors() { "$PYTHON" "$CLI_TESTS/tensors.py" "$@"; }

# Python with the readers above: absent, the case is skipped, or fails where they must be there.
need_python() {
    "$PYTHON" -c 'import h5py, ml_dtypes, numpy, safetensors' 2>/dev/null && return
    [ -z "${GRADZ_REQUIRE_PYTHON-}" ] || fail "$PYTHON lacks one of h5py, ml_dtypes, numpy, safetensors"
    skip "$PYTHON lacks one of h5py, ml_dtypes, numpy, safetensors"
}

need() { command -v "$1" >/dev/null || skip "there is no $1 on this machine"; }

case_file=$1
# shellcheck disable=SC1090
. "$case_file"
