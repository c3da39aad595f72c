#!/usr/bin/env bash
# gradz beside other compressors on one file, in one go: bench/peers/run.sh [--write DOC] [--only WORD]... [FILE]
#
#   FILE         a float32 .npy in C order with a header of 128 bytes (what NumPy writes); without it 1 GiB that is like a gradient is made
#                (bench/gradients.py says how) under build/bench/
#   --write DOC  puts the table between the `peers` markers of DOC as well; docs/BENCHMARKS.md has them
#   --only WORD  only contenders with WORD in their name, beside gradz itself
#
# The others come from PyPI, pinned in requirements.txt, into build/peers-venv; what does not install or load is named and left out. torch is large
# (some GB with what it needs). The table goes to stdout, build/peers/peers.md and build/peers/peers.json. GRADZ names the program, build/release/gradz by default;
# PEERS_BYTES the size of the file that is made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
cd "$OLDPWD"
command="${PEERS_BYTES:+PEERS_BYTES=$PEERS_BYTES }bench/peers/run.sh${*:+ $*}"
venv=$root/build/peers-venv list=$root/bench/peers/requirements.txt

args=() file=
while [ $# -gt 0 ]; do
    case $1 in
    --write | --only)
        [ $# -gt 1 ] || { echo "run.sh: $1 wants a value" >&2; exit 2; }
        value=$2
        if [ "$1" = --write ]; then value=$(realpath "$2"); fi
        args+=("$1" "$value")
        shift
        ;;
    -*) sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | grep '^#' | cut -c3- >&2; exit 2 ;;
    *) file=$(realpath "$1") ;;
    esac
    shift
done

if ! cmp -s "$list" "$venv/requirements.txt"; then
    [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv"
    whole=yes
    while read -r package; do  # one by one: one that does not install leaves the others in
        "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --only-binary :all: "$package" ||
            { echo "left out: $package does not install" >&2; whole=no; }
    done <"$list"
    if [ $whole = yes ]; then cp "$list" "$venv/requirements.txt"; fi
fi

if [ -n "${GRADZ-}" ]; then GRADZ=$(realpath "$GRADZ"); export GRADZ; fi
cd "$root"
if [ -z "$file" ]; then
    bytes=${PEERS_BYTES:-$((1 << 30))}
    file=$root/build/bench/gradient-$bytes.npy
    mkdir -p "$root/build/bench"
    if [ ! -f "$file" ]; then
        "$venv/bin/python" -m bench.gradients "$file.part" "$bytes"
        mv "$file.part" "$file"
    fi
fi
exec "$venv/bin/python" -m bench.peers "${args[@]}" --command "$command" "$file"
