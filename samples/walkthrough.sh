#!/usr/bin/env bash
# The walk-through of samples/README.md: samples/walkthrough.sh GRADZ OUT
# compresses each sample into the folder OUT, shows what that cost and what it kept, and checks the way back.
set -euo pipefail
gradz=$(realpath "${1:?usage: samples/walkthrough.sh GRADZ OUT}")
out=${2:?usage: samples/walkthrough.sh GRADZ OUT}
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C
mkdir -p "$out/back"

echo "Each sample with the default spec (NUQSGD, 4 bits): bytes, and the relative squared error that was measured,"
echo "that rounding at random is expected to make on these values, and that theory allows at most in expectation."
echo
row='%-44s %9s %9s %7s %9s %9s %9s\n'
# shellcheck disable=SC2059  # the format is ours
printf "$row" sample bytes stream ratio nmse expected bound
for dump in "$samples"/*.{npy,npz,h5,safetensors}; do
    file=$(basename "$dump")
    # The report goes to stdout, the stream to a file.
    figures=$("$gradz" compress "$dump" -f -o "$out/$file.grz" --stats - 2>"$out/lines.txt" |
        jq -r '.total | [.ratio, .nmse, .variance_exact, .variance_bound] | map(. // "-") | @tsv')
    read -r ratio nmse expected bound <<<"$figures"
    short() { if [ "$1" = - ]; then echo -; else printf "%.$2f" "$1"; fi; }
    # shellcheck disable=SC2059
    printf "$row" "$file" "$(stat -Lc %s "$dump")" "$(stat -c %s "$out/$file.grz")" \
        "$(short "$ratio" 2)" "$(short "$nmse" 5)" "$(short "$expected" 5)" "$(short "$bound" 5)"
done

echo
echo "And back: every hash verified, every tensor with its name, shape and type."
for dump in "$samples"/*.{npy,npz,h5,safetensors}; do
    file=$(basename "$dump")
    "$gradz" test "$out/$file.grz" >"$out/lines.txt" 2>&1 || { cat "$out/lines.txt" >&2; exit 1; }
    "$gradz" decompress "$out/$file.grz" -f -o "$out/back/$file" --quiet
    "$gradz" diff --structure "$dump" "$out/back/$file" >"$out/lines.txt"
    echo "  $file: tested, decompressed, same structure"
done
rm "$out/lines.txt"
