#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages of a set that are missing; asks dpkg first, so that
# a second run needs neither the network nor root.
#
#   tools/install_packages.sh build|test
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libhdf5-dev libzstd-dev libxxhash-dev libhtscodecs-dev zlib1g-dev
    libcli11-dev nlohmann-json3-dev jq)  # jq reads the reports of the walk-through
test=("${build[@]}" doctest-dev python3-venv python3-pip hdf5-tools clang-format)
optional=(libbenchmark-dev locales strace)  # bench/ or a test that misses one of these is left out and says so

say() { printf 'packages: %s\n' "$*"; }

case ${1-} in
build) wanted=("${build[@]}") extras=() ;;
test) wanted=("${test[@]}") extras=("${optional[@]}") ;;
*) echo "usage: tools/install_packages.sh build|test" >&2; exit 2 ;;
esac

if [ "${GRADZ_PACKAGES-}" = skip ]; then
    say "GRADZ_PACKAGES=skip: taking for granted ${wanted[*]}"
    exit 0
fi

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

stop() {
    {
        say "$1"
        say "please install: ${missing[*]}"
        say "(or the like under other names, then run again with GRADZ_PACKAGES=skip)"
    } >&2
    exit 1
}

missing=("${wanted[@]}") absent=()
command -v dpkg-query >/dev/null || stop "this is no Debian or Ubuntu system (no dpkg-query)"
missing=()
for package in "${wanted[@]}"; do installed "$package" || missing+=("$package"); done
for package in "${extras[@]}"; do installed "$package" || absent+=("$package"); done

if [ ${#missing[@]} -eq 0 ]; then
    [ ${#absent[@]} -eq 0 ] || say "going on without ${absent[*]} (optional)"
    say "all ${#wanted[@]} are installed"
    exit 0
fi

command -v apt-get >/dev/null || stop "there is no apt-get to install them with"
root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop "installing needs root, and there is no sudo"
    root=(sudo)
fi
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" </dev/null; }

say "installing ${missing[*]} ${absent[*]}"
apt update || say "apt-get update failed; trying with the lists that are here" >&2
apt install "${missing[@]}" || stop "apt-get could not install them"
if [ ${#absent[@]} -gt 0 ]; then
    apt install "${absent[@]}" || say "going on without ${absent[*]} (optional)" >&2
fi
