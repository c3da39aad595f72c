# Every real dump: compress, test, decompress; the structure comes back, and without a quantizer the values do, bit for bit.
# shellcheck shell=bash
need_python

for dump in "$DATA"/gradients/*.{npy,npz,h5,safetensors}; do
    file=$(basename "$dump")
    mkdir back exact
    cp "$dump" "$file"

    # The default spec loses precision, never structure.
    expect_status 0 gradz compress "$file"
    expect_stderr_line "$file"
    expect_file "$file" "$file.grz"
    expect_status 0 gradz test "$file.grz"
    expect_status 0 gradz list "$file.grz" >/dev/null
    expect_status 0 gradz decompress "$file.grz" -o "back/$file"
    expect_status 0 gradz diff --structure "$file" "back/$file" >/dev/null
    expect_status 0 gradz diff --max-nmse 1 "$file" "back/$file" >/dev/null
    expect_status 3 gradz diff --max-nmse 1e-12 "$file" "back/$file" >/dev/null
    tensors same "$file" "back/$file" --nmse 1
    [ "$(stat -c %s "$file.grz")" -lt "$(stat -c %s "$file")" ] || fail "$file.grz is not smaller than $file"

    # Without a quantizer nothing changes.
    expect_status 0 gradz compress "$file" -q none -o exact.grz
    expect_status 0 gradz test exact.grz
    expect_status 0 gradz decompress exact.grz -o "exact/$file"
    expect_status 0 gradz diff --max-nmse 0 "$file" "exact/$file" >/dev/null
    tensors same "$file" "exact/$file"
    tensors expect "exact/$file" "$DATA/gradients/manifest.json" "$file"
    rm -r "$file" "$file.grz" exact.grz back exact
done

# The name without .grz is where decompress writes by default; values of other structure are told apart.
cp "$SAMPLES"/*.npy one.npy
gradz compress one.npy --quiet
mkdir original
mv one.npy original
expect_status 0 gradz decompress one.npy.grz
expect_status 0 gradz diff --structure original/one.npy one.npy >/dev/null
expect_status 3 gradz diff --structure one.npy "$DATA/gradients/mlp_s300_flat.npy" >/dev/null
