#!/usr/bin/env bash
# Makes the streams of tests/golden/1.0 and errors/1.0 and what is said of them: run by hand when a format is new, never
# by tests. Streams of a version that was released are not made again: that they can be read as they are is the point.
#
#   tests/golden/make.sh GRADZ PYTHON     PYTHON has numpy, xxhash and zstandard
#
# The .txt beside a stream comes from tools/grz_decode.py, which shares nothing with the program. That beside a stream
# that is refused is what the program says of it: read it before it is committed.
set -euo pipefail
gradz=$(realpath "${1:?usage: tests/golden/make.sh GRADZ PYTHON}") python=${2:?usage: tests/golden/make.sh GRADZ PYTHON}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."
set -f  # --include has globs

good=golden/1.0 errors=golden/errors/1.0
while read -r name spec rest; do
    [[ $name = '#'* ]] && continue
    # shellcheck disable=SC2086
    "$gradz" compress --quiet --force -q "$spec" $rest -o "$good/$name.grz"
done <golden/recipes.txt
"$python" golden/make_odd.py "$good"
"$python" golden/make_errors.py "$errors"

set +f
for file in "$good"/*.grz; do "$python" ../tools/grz_decode.py "$file" >"${file%.grz}.txt"; done
for file in "$errors"/*.grz; do
    if said=$("$gradz" test "$file" 2>&1 >/dev/null); then
        echo "$file: not refused" >&2
        exit 1
    fi
    said=${said#"gradz: $file: "}
    printf '%s\n' "$said" >"${file%.grz}.txt"
done
