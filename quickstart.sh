#!/usr/bin/env bash
# From a fresh clone to compressed gradients: installs what is missing, builds gradz into
# build/quickstart and runs the walk-through on samples/. Writes into build/ alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
folder=build/quickstart
mkdir -p build

step() { printf '\n== %s\n' "$*"; }

step "Packages: installing what a build needs and dpkg does not know yet"
tools/install_packages.sh build

step "Build: gradz, optimized, without tests, into $folder"
unity=ON
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache unity=OFF; fi
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGRADZ_DEVELOPER=OFF -DGRADZ_UNITY=$unity >"build/quickstart.log" 2>&1 ||
    { cat build/quickstart.log >&2; exit 1; }
cmake --build "$folder"

step "Walk-through: compress, test, decompress and compare the dumps in samples/"
samples/walkthrough.sh "$folder/gradz" build/quickstart-out

printf '\nThe program is %s; try: %s compress --help\n' "$folder/gradz" "$folder/gradz"
