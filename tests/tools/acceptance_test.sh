#!/usr/bin/env bash
# bench/acceptance.sh runs at a tiny size, has figures in every row, changes nothing of a document beside its own part, and fails where a
# command does: acceptance_test.sh ROOT SCRATCH (PYTHON, GRADZ as for the script)
set -euo pipefail
root=$1 scratch=$2
fail() { echo "acceptance_test.sh: $*" >&2; exit 1; }
if ! "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    [ -z "${GRADZ_REQUIRE_PYTHON-}" ] || fail "$PYTHON lacks numpy or h5py"
    echo "skipped: $PYTHON lacks numpy or h5py"
    exit 77
fi
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
cp "$root/docs/BENCHMARKS.md" page.md
outside() { sed '/<!-- acceptance: begin -->/,/<!-- acceptance: end -->/d' "$1"; }

"$root/bench/acceptance.sh" --tiny --write page.md >table.md
cmp <(outside page.md) <(outside "$root/docs/BENCHMARKS.md") || fail "other parts of the document changed"
diff <(sed '1,/<!-- acceptance: begin -->/d; /<!-- acceptance: end -->/,$d' page.md) <(head -n -1 table.md) || fail "what was written is not what was printed"
cp page.md first.md
"$root/bench/acceptance.sh" --tiny --runs 2 --write page.md >table.md  # over what is there already
cmp <(outside page.md) <(outside first.md) || fail "a second run changed other parts"

for row in 'compress nuqsgd:bits=4\+fixed, --quiet \|' 'bits=4\+zstd, --stats' 'qsgdinf:bits=4\+zstd' 'bits=8,p=' 'decompress nuqsgd' 'one thread' \
    'peak memory, the same' 'in one npz' 'in one h5' 'gradz --version'; do
    grep -Eq "^\| .*$row" table.md || fail "no row '$row'"
done
grep -E '^\| (compress|decompress|peak|gradz)' table.md | while IFS='|' read -r _ text _ value _; do
    [[ $value =~ [1-9] ]] || fail "no figure in the row '$text'"
done

# A document without the markers, and a program that fails, are told.
echo 'no markers' >other.md
if "$root/bench/acceptance.sh" --tiny --write other.md >/dev/null 2>said.txt; then fail "a document without markers went through"; fi
grep -q 'other.md' said.txt || fail "the document is not named: $(cat said.txt)"
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$1" = levels ] || { echo broken >&2; exit 3; }\n' >broken
chmod +x broken
if GRADZ=$PWD/broken "$root/bench/acceptance.sh" --tiny >/dev/null 2>said.txt; then fail "a program that fails went through"; fi
grep -q 'broken' said.txt || fail "what failed is not told: $(cat said.txt)"
