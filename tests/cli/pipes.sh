# stdin and stdout: the same bytes as with files, in any concatenation.
# shellcheck shell=bash
need_python
flat=$DATA/gradients/mlp_s300_flat.npy

# From a file, from stdin: the same tensors give the same records.
gradz compress "$flat" -o file.grz --quiet
gradz compress - --name mlp_s300_flat <"$flat" >stdin.grz 2>/dev/null
gradz compress - --name mlp_s300_flat -o stdin_o.grz <"$flat" 2>/dev/null
gradz compress "$flat" -c >stdout.grz 2>/dev/null
gradz compress "$flat" -o - >stdout_o.grz 2>/dev/null
expect_same_file file.grz stdout.grz
expect_same_file file.grz stdout_o.grz
expect_same_file stdin.grz stdin_o.grz
expect_equal "$(digest stdin.grz)" "$(digest file.grz)"
gradz compress - <"$flat" >unnamed.grz 2>/dev/null
expect_output '"data"' gradz list --json unnamed.grz

# A pipeline of two, and each verb on a pipe.
gradz decompress file.grz -o file.npy --quiet
gradz compress "$flat" -c 2>/dev/null | gradz decompress - >pipe.npy 2>/dev/null
expect_same_file pipe.npy file.npy
gradz decompress -c file.grz >out.npy 2>/dev/null
expect_same_file out.npy file.npy
# shellcheck disable=SC2002  # a pipe is what is tested: it cannot seek
cat file.grz | expect_status 0 gradz test -
# shellcheck disable=SC2002
cat file.grz | expect_output mlp_s300_flat gradz list -
want=$(digest file.grz)
expect_output "^$want" gradz test --digest - <file.grz

# What needs seeking comes through a pipe too, and goes out through one.
for file in mlp_step1500_stored.npz resnet20_nested_f16.h5 mlp_step5_mixed.safetensors; do
    gradz compress "$DATA/gradients/$file" -q none -o "$file.grz" --quiet
    # shellcheck disable=SC2002
    cat "$DATA/gradients/$file" | gradz compress - -q none >piped.grz 2>/dev/null
    gradz decompress piped.grz -o "$file" --quiet
    tensors same "$DATA/gradients/$file" "$file"
    # shellcheck disable=SC2002
    cat "$file.grz" | gradz decompress - -f -o "$file" --quiet
    tensors same "$DATA/gradients/$file" "$file"
    gradz decompress "$file.grz" --to npz -c 2>/dev/null | cat >through.npz
    tensors same "$DATA/gradients/$file" through.npz
done

# One stream after another is a stream.
gradz compress "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" -o second.grz --quiet
cat file.grz second.grz >both.grz
expect_status 0 gradz test both.grz
expect_status 0 gradz test - <both.grz
expect_output mlp_s300_flat gradz list --json both.grz
expect_output mlp_s5_fc2 gradz list --json both.grz
gradz decompress both.grz -o both.npz --quiet
expect_equal "$(tensors names both.npz | sort | paste -sd' ')" '"mlp_s300_flat" "mlp_s5_fc2.weight_v2"'
gradz compress "$flat" "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" -o together.grz --quiet
expect_same_file together.grz both.grz

# Values without a header.
tail -c $((50826 * 4)) "$flat" >flat.raw
gradz compress - --raw f32 --shape 50826 --name mlp_s300_flat <flat.raw >raw.grz 2>/dev/null
expect_equal "$(digest raw.grz)" "$(digest file.grz)"
expect_error 1 'flat\.raw' gradz compress flat.raw --raw f32 --shape 50827 -o bad.grz
expect_no_file bad.grz

# A reader that leaves early ends the writer by SIGPIPE, without a word.
ignored=$(sed -n 's/^SigIgn:\s*/0x/p' /proc/$$/status)
if (((ignored & 0x1000) != 0)); then echo "not run: SIGPIPE, it is ignored here"; exit 0; fi
set +o pipefail
"$GRADZ" compress "$DATA/gradients/gpt_step600_bf16.safetensors" -q none -c --quiet 2>early.txt | head -c 100 >/dev/null
expect_equal "${PIPESTATUS[0]}" 141
set -o pipefail
[ ! -s early.txt ] || fail "said something: $(cat early.txt)"
