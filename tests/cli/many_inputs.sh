# One bad input of several: the others are done, the bad one is named, the status is 1.
# shellcheck shell=bash
cp "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" a.npy
cp "$DATA/edge/npy_truncated_data.npy" bad.npy
cp "$DATA/edge/npz_zip64.npz" z.npz

expect_status 1 gradz compress a.npy bad.npy z.npz --quiet
expect_one_line 'bad\.npy'
expect_file a.npy.grz z.npz.grz
expect_no_file bad.npy.grz
expect_status 1 gradz compress -f absent.npy a.npy --quiet
expect_one_line 'absent\.npy.*No such file'
rm ./*.grz

expect_status 1 gradz compress --fail-fast a.npy bad.npy z.npz --quiet
expect_one_line 'bad\.npy'
expect_file a.npy.grz
expect_no_file bad.npy.grz z.npz.grz
rm ./*.grz

# Into one output: all of it or nothing.
expect_status 1 gradz compress a.npy bad.npy z.npz -o all.grz --quiet
expect_no_file all.grz
gradz compress a.npy z.npz -o all.grz --quiet
gradz compress a.npy z.npz --quiet
cat a.npy.grz z.npz.grz | cmp - all.grz

# test and decompress likewise.
head -c 300 a.npy.grz >cut.grz
expect_status 1 gradz test a.npy.grz cut.grz z.npz.grz
expect_stderr_line 'cut\.grz'
mkdir back
cp ./*.grz back
expect_status 1 gradz decompress back/cut.grz back/a.npy.grz back/z.npz.grz --quiet
expect_one_line 'cut\.grz'
expect_file back/a.npy back/z.npz
expect_no_file back/cut

# -O puts the results elsewhere; --files-from and -r find inputs.
mkdir elsewhere
gradz compress a.npy z.npz -O elsewhere --quiet
expect_listing elsewhere a.npy.grz z.npz.grz
rm elsewhere/*
printf '%s\n' a.npy z.npz >list.txt
gradz compress --files-from list.txt -O elsewhere --quiet
expect_listing elsewhere a.npy.grz z.npz.grz
mkdir nothing
for verb in compress decompress list test stats bench; do
    expect_error 1 '^gradz: [a-z]+: nothing: no file below this folder$' gradz "$verb" -r nothing
done

# Into a pipe the good ones go all the same; a file appears only if it is whole.
cp "$DATA/gradients/mlp_s300_flat.npy" first.npy
cp "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" second.npy
expect_status 1 gradz compress first.npy no-such.npy second.npy -c >joined.grz
expect_stderr_line 'no-such.npy'
gradz compress first.npy second.npy -o both.grz --quiet
expect_same_file joined.grz both.grz
expect_status 1 gradz compress first.npy no-such.npy second.npy -o whole.grz
expect_no_file whole.grz

# Two steps of one tensor do not fit one archive, and the error says what does.
mkdir steps
cp first.npy steps/w_step_1.npy
cp first.npy steps/w_step_2.npy
gradz compress steps -o steps.grz --quiet
expect_error 1 'tensor w: .*--to npy' gradz decompress steps.grz -o steps.npz --quiet
expect_status 0 gradz decompress steps.grz --to npy -o unpacked --quiet
expect_equal "$(find unpacked -type f | wc -l)" 2

# What only the first of several streams can keep is told.
gradz compress first.npy -o plain.grz --quiet
gradz compress "$DATA/gradients/mlp_bigendian.h5" -o big.grz --quiet
cat plain.grz big.grz >two.grz
expect_status 0 gradz decompress two.grz -o two.npz --quiet
expect_stderr_line 'warning: groups, attributes and layouts'
