# The walk-through of samples/ does what it shows, and writes only where it is told to.
# shellcheck shell=bash
need jq
list() { (cd "$SAMPLES" && find . -type f -exec sha256sum {} + | sort); }
list >before.txt
"$SAMPLES/walkthrough.sh" "$GRADZ" out >shown.txt
list >after.txt
expect_same_file before.txt after.txt
for dump in "$SAMPLES"/*.{npy,npz,h5,safetensors}; do
    file=$(basename "$dump")
    expect_file "out/$file.grz"
    # The table holds the bytes of the stream as they are on disk.
    grep -q "$file.*$(stat -c %s "out/$file.grz")" shown.txt || fail "no line with the bytes of $file.grz"
done
# A second run starts over.
"$SAMPLES/walkthrough.sh" "$GRADZ" out >/dev/null
