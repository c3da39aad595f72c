#!/usr/bin/env bash
# Runs one case against the program, in an empty folder: tests/cli/run.sh CASE.sh
#
#   GRADZ    the program; DATA and SAMPLES the folders tests/data and samples (defaults: beside this one)
#   PYTHON   an interpreter, /usr/bin/python3 by default
#   SCRATCH  where the empty folder is made; after a failure it stays there to be looked at
#
# Exit status: 0 passed, 77 skipped (the reason is printed), anything else failed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case_file=$(realpath "${1:?usage: tests/cli/run.sh CASE.sh}")
GRADZ=$(realpath "${GRADZ:?the path of the program}")
DATA=$(realpath "${DATA:-$here/../data}")
SAMPLES=$(realpath "${SAMPLES:-$here/../../samples}")
PYTHON=${PYTHON:-/usr/bin/python3}
CLI_TESTS=$here
export GRADZ DATA SAMPLES PYTHON CLI_TESTS

name=$(basename "$case_file" .sh)
if [ -n "${SCRATCH-}" ]; then
    scratch=$SCRATCH/$name
    rm -rf "$scratch"
    mkdir -p "$scratch"
else
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
fi
mkdir "$scratch/work" "$scratch/tmp"

# What surrounds a user must not decide what a test sees.
export LC_ALL=C.UTF-8 TZ=UTC TMPDIR=$scratch/tmp PYTHONDONTWRITEBYTECODE=1
unset NO_COLOR OMP_NUM_THREADS
umask 022
cd "$scratch/work"

status=0
bash "$here/lib.sh" "$case_file" </dev/null || status=$?
if [ $status -eq 0 ] && [ -n "$(ls -A "$TMPDIR")" ]; then
    echo "$name: left in the folder of temporary files: $(ls -A "$TMPDIR")" >&2
    status=1
fi
if [ $status -eq 0 ] || [ $status -eq 77 ]; then rm -rf "$scratch"; else echo "$name: failed in $scratch/work" >&2; fi
exit $status
