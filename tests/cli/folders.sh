# A folder is one dump, and comes back as one.
# shellcheck shell=bash
need jq
need_python
mkdir -p run/step_000010 run/step_000020
cp "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" run/step_000010/fc2.npy
cp "$DATA/gradients/mlp_s5_fc1.weight_be_f64_v3_fortran.npy" run/step_000010/fc1.npy
cp "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" run/step_000020/fc2.npy
cp "$DATA/gradients/mlp_step5_mixed.safetensors" run/step_000020/rest.safetensors
echo 'not a tensor' >run/.hidden

expect_status 0 gradz compress run -q none
expect_file run.grz
gradz test run.grz --quiet
gradz list --json run.grz | jq -r '.files[].tensors[] | "\(.step) \(.name)"' | sort >names.txt
grep -qx '10 fc1' names.txt || fail "no tensor fc1 of step 10: $(cat names.txt)"
grep -qx '10 fc2' names.txt || fail "no tensor fc2 of step 10"
grep -qx '20 fc2' names.txt || fail "no tensor fc2 of step 20"
grep -qx '20 rest/fc1.weight' names.txt || fail "no tensor of the safetensors file"

mkdir back
expect_status 0 gradz decompress run.grz -o back/run
expect_equal "$(cd back/run && find . -type f | sort | paste -sd' ')" \
    "./step_000010/fc1.npy ./step_000010/fc2.npy ./step_000020/fc2.npy ./step_000020/rest.safetensors"
for file in step_000010/fc1.npy step_000010/fc2.npy step_000020/rest.safetensors; do tensors same "run/$file" "back/run/$file"; done
expect_status 0 gradz diff --max-nmse 0 run back/run >/dev/null

# The order in which the system lists a folder does not matter.
mkdir other
for file in step_000020/rest.safetensors step_000020/fc2.npy step_000010/fc2.npy step_000010/fc1.npy; do
    mkdir -p "other/run/$(dirname $file)"
    cp "run/$file" "other/run/$file"
done
gradz compress other/run -q none --quiet
expect_equal "$(digest other/run.grz)" "$(digest run.grz)"

# One file that is damaged spoils the dump, and is named.
cp "$DATA/edge/npy_truncated_data.npy" run/step_000020/bad.npy
expect_error 1 'bad\.npy' gradz compress run -f -o bad.grz --quiet
expect_no_file bad.grz

# Tables tell steps apart.
mkdir steps_of_one
cp "$DATA/edge/npy_one_element.npy" steps_of_one/w_step_1.npy
cp "$DATA/edge/npy_one_element.npy" steps_of_one/w_step_2.npy
expect_output '^name +step' gradz list steps_of_one
expect_output '^w +2 ' gradz stats steps_of_one
