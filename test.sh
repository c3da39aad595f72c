#!/usr/bin/env bash
# Installs what the tests need, builds and runs them. Writes into build/ alone.
#
#   ./test.sh          what every change must pass; at most 15 minutes on two cores
#   ./test.sh --long   the tests with the label `long` too
#   ./test.sh --cuda   built with the CUDA option (needs nvcc); its tests skip what needs a device
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec </dev/null

preset=release cuda=OFF
for option; do
    case $option in
    --long) preset=long ;;
    --cuda) cuda=ON ;;
    *) echo "usage: ./test.sh [--long] [--cuda]" >&2; exit 2 ;;
    esac
done

step() { printf '\n== %s\n' "$*"; }

step "Packages"
tools/install_packages.sh test

# Debian's own h5py must not meet a newer numpy, so the environment gets all four from pip.
# The stamp is a copy of the list: nothing is asked of the network until the list changes.
step "Python environment build/venv"
venv=build/venv stamp=build/venv/requirements.txt
if ! cmp -s tests/requirements.txt "$stamp" ||
    ! "$venv/bin/python" -c 'import h5py, ml_dtypes, numpy, safetensors' 2>/dev/null; then
    /usr/bin/python3 -m venv --clear --system-site-packages "$venv"
    "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --ignore-installed --only-binary :all: \
        -r tests/requirements.txt
    cp tests/requirements.txt "$stamp"
fi
"$venv/bin/python" -c 'import sys; print("Python", sys.version.split()[0])'

step "Build"
unity=ON  # without a compiler cache the first build is what there is to wait for
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache unity=OFF; fi
cmake --preset release -DGRADZ_UNITY=$unity -DGRADZ_CUDA=$cuda -DGRADZ_PYTHON="$PWD/$venv/bin/python"
cmake --build --preset release

step "Tests"
export GRADZ_REQUIRE_PYTHON=1  # here a missing module is a failure, not a reason to skip
ctest --preset "$preset"
