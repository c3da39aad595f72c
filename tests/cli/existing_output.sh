# What is there already stays, unless -f says otherwise; inputs are never harmed.
# shellcheck shell=bash
npy=$DATA/gradients/mlp_s5_fc2.weight_v2.npy
mkdir d
cp "$npy" d/x.npy
before=$(sha d/x.npy)

# Refused without -f, replaced with it.
echo precious >d/x.npy.grz
expect_error 1 'x\.npy\.grz' gradz compress d/x.npy
expect_equal "$(cat d/x.npy.grz)" precious
expect_listing d x.npy x.npy.grz
expect_status 0 gradz compress d/x.npy -f
gradz test d/x.npy.grz --quiet
expect_equal "$(sha d/x.npy)" "$before"
expect_error 1 'x\.npy' gradz decompress d/x.npy.grz
expect_equal "$(sha d/x.npy)" "$before"
expect_listing d x.npy x.npy.grz

# A failure under -f leaves the old file.
keep=$(sha d/x.npy.grz)
expect_error 1 'npy_truncated_data\.npy' gradz compress "$DATA/edge/npy_truncated_data.npy" -f -o d/x.npy.grz
expect_equal "$(sha d/x.npy.grz)" "$keep"
head -c 500 d/x.npy.grz >cut.grz
expect_error 1 'cut\.grz' gradz decompress cut.grz -f -o d/x.npy
expect_equal "$(sha d/x.npy)" "$before"
expect_listing d x.npy x.npy.grz

# Input and output the same, by name, by link, by another path.
ln -s x.npy d/soft.npy
ln d/x.npy d/hard.npy
for out in d/x.npy d/soft.npy d/hard.npy ./d/../d/x.npy; do
    expect_status 2 gradz compress d/x.npy -f -o "$out"
    expect_one_line 'same|itself|input'
    expect_equal "$(sha d/x.npy)" "$before"
done
rm d/soft.npy d/hard.npy

# Through a symlink the file behind it is replaced, and the link stays.
echo old >d/target
ln -s target d/link
expect_status 0 gradz compress d/x.npy -f -o d/link
[ -L d/link ] || fail "the symlink became a file"
gradz test d/target --quiet
rm d/link d/target

# Mode and time go along; a folder is no output file; a folder that is absent is an error.
chmod 640 d/x.npy
touch -d '2001-02-03 04:05:06.789' d/x.npy
gradz compress d/x.npy -o d/y.grz --quiet
expect_equal "$(stat -c '%a %.3Y' d/y.grz)" "$(stat -c '%a %.3Y' d/x.npy)"
gradz decompress d/y.grz -o d/y.npy --quiet
expect_equal "$(stat -c '%a %.3Y' d/y.npy)" "$(stat -c '%a %.3Y' d/x.npy)"
gradz compress - -o d/z.grz --quiet <d/x.npy
expect_equal "$(stat -c %a d/z.grz)" 644
mkdir d/folder
expect_refused 'folder' gradz compress d/x.npy -f -o d/folder
[ -d d/folder ] || fail "the folder was replaced"
rmdir d/folder
expect_error 1 'absent.*No such file' gradz compress d/x.npy -o absent/y.grz
rm d/y.grz d/y.npy d/z.grz

# --rm removes what was read back, and nothing else.
cp d/x.npy rm.npy
expect_status 0 gradz compress --rm rm.npy
expect_no_file rm.npy
gradz test rm.npy.grz --quiet
cp "$DATA/edge/npz_other_member.npz" skipped.npz
expect_status 0 gradz compress --rm skipped.npz
expect_file skipped.npz skipped.npz.grz
cp "$DATA/edge/npy_bad_magic.npy" bad.npy
expect_status 1 gradz compress --rm bad.npy
expect_file bad.npy
expect_no_file bad.npy.grz
expect_status 0 gradz decompress --rm rm.npy.grz
expect_file rm.npy
expect_no_file rm.npy.grz
expect_listing d x.npy x.npy.grz
