#!/usr/bin/env bash
# How fast the program is beside `cat` of the same file: bench/acceptance.sh [--tiny] [--runs N] [--write DOC]
#
# Makes its inputs under build/bench/ (1 GiB that is like a gradient; 8 GiB that take no room, removed at the end; many small tensors), runs every command
# in turn, and prints a Markdown table with what is wanted beside what was measured. --write puts it between the `acceptance` markers of DOC;
# docs/BENCHMARKS.md has them. --tiny is for a test of the script. GRADZ names the program, build/release/gradz by default; PYTHON an
# interpreter with NumPy and h5py, that of ./test.sh by default.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=${PYTHON:-$root/build/venv/bin/python}
command -v "$PYTHON" >/dev/null || { echo "acceptance: no $PYTHON; ./test.sh makes it, or set PYTHON" >&2; exit 2; }
"$PYTHON" -c 'import numpy' || { echo "acceptance: $PYTHON has no NumPy" >&2; exit 77; }
export OMP_NUM_THREADS=2 PYTHONPATH=$root
exec "$PYTHON" -m bench.acceptance "$@"
