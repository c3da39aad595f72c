# NumPy, h5py and safetensors read everything that decompress writes, in every format, and find the right values.
# shellcheck shell=bash
need_python
for dump in mlp_step1500_stored.npz mlp_bigendian.h5 gpt_step200_h0_f32.safetensors resnet20_nested_f16.h5 logreg_timeaxis.h5; do
    file=$DATA/gradients/$dump
    gradz compress "$file" -q none -o exact.grz -f --quiet
    gradz compress "$file" -o lossy.grz -f --quiet
    gradz decompress lossy.grz -o lossy.npz -f --quiet
    tensors same "$file" lossy.npz --nmse 1
    for to in npz h5 safetensors; do
        gradz decompress exact.grz --to $to -o out -f --quiet
        expect_equal "$(tensors format out)" $to
        tensors same "$file" out
        gradz decompress exact.grz -o out.$to -f --quiet  # by the name's extension
        tensors same out out.$to
        expect_equal "$(tensors format out.$to)" $to
        gradz decompress lossy.grz --to $to -o out -f --quiet  # the same values in every format
        tensors same lossy.npz out
        # And gradz itself reads what it wrote.
        expect_status 0 gradz stats out.$to >/dev/null
        rm out out.$to
    done
    gradz decompress exact.grz --to npy -o folder --quiet
    expect_equal "$(find folder -name '*.npy' | wc -l)" "$(tensors names "$file" | wc -l)"
    "$PYTHON" -c 'import glob, numpy, sys; [numpy.load(f, allow_pickle=False) for f in glob.glob("folder/*.npy")]'
    rm -r folder
done

# bfloat16 has a home in safetensors and HDF5; NumPy has none for it, so --dtype widens it, exactly.
bf16=$DATA/gradients/gpt_step600_bf16.safetensors
gradz compress "$bf16" -q none -o bf16.grz --quiet
gradz decompress bf16.grz -o back.safetensors --quiet
tensors same "$bf16" back.safetensors
gradz decompress bf16.grz -o back.h5 --quiet
tensors same "$bf16" back.h5 --any-dtype
gradz decompress bf16.grz --dtype f32 -o back.npz --quiet
tensors same "$bf16" back.npz --any-dtype

# One tensor, and a slice of one: rows, as NumPy counts them.
gradz decompress bf16.grz --include 'transformer.wte.weight' --dtype f32 -o wte.npy --quiet
gradz decompress bf16.grz --include 'transformer.wte.weight' --dtype f32 --slice 1000:1100 -o slice.npy --quiet
"$PYTHON" -c 'import numpy as n; w = n.load("wte.npy"); s = n.load("slice.npy"); assert s.shape == (100, 128) and (s == w[1000:1100]).all()'

# What an HDF5 file has beyond its values comes back: groups, attributes, links, layout.
need h5dump
h5=$DATA/gradients/resnet20_steps.h5
gradz compress "$h5" -q none -o steps.grz --quiet
gradz decompress steps.grz -o steps.h5 --quiet
tensors same "$h5" steps.h5
h5dump -A "$h5" | tail -n +2 >want.txt
h5dump -A steps.h5 | tail -n +2 >got.txt
expect_same_file want.txt got.txt
