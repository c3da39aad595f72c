#!/usr/bin/env bash
# Every long option of a command stands in its page, and no other; groff has nothing to say: man_test.sh GRADZ MAN
set -euo pipefail
gradz=$1 man=$2 bad=0
for command in compress decompress list test stats diff levels bench; do
    page=$man/gradz-$command.1
    diff <("$gradz" "$command" --help | grep -oE -- '(^|[ ,])--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u) \
        <(sed 's/\\-/-/g; s/\\f[A-Z]//g' "$page" | sed -n '/^\.SH OPTIONS/,/^\.SH EXAMPLES/p' | grep -oE -- '--[a-z]+(-[a-z]+)*' | sort -u) ||
        { echo "gradz-$command.1 and --help differ (< help only, > page only)"; bad=1; }
done
command -v groff >/dev/null || { echo "skipped the rest: no groff"; [ "$bad" -eq 0 ] && exit 77 || exit 1; }
for page in "$man"/*; do
    said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [ -z "$said" ] || { echo "$page: $said"; bad=1; }
done
exit $bad
