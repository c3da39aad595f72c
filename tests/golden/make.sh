#!/usr/bin/env bash
# Writes the golden streams of a release and what they decode to: tests/golden/make.sh GRADZ PYTHON FOLDER.
# Run once per format version, by hand: a released golden never changes.
set -euo pipefail
gradz=$(realpath "$1") python=$2 out=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
data=$root/tests/data
mkdir -p "$out"

golden() {  # NAME SPEC FILE
    "$gradz" compress "$data/$3" -q "$2" --quiet -f -o "$out/$1.grz"
    "$python" "$root/tools/grz_decode.py" "$out/$1.grz" >"$out/$1.txt"
}

conv=gradients/resnet20_s120_layer2.0.conv1.weight
golden default nuqsgd gradients/mlp_step5_mixed.safetensors
golden nuqsgd_2_fixed nuqsgd:bits=2+fixed ${conv}_f16.npy
golden nuqsgd_3_elias nuqsgd:bits=3+elias ${conv}_f64.npy
golden nuqsgd_8_linf nuqsgd:bits=8,norm=linf ${conv}_f16.npy
golden nuqsgd_p07 nuqsgd:p=0.7+elias:code=gamma ${conv}_f16.npy
golden nuqsgd_nozero_1 nuqsgd:bits=1,zero=no+elias:code=delta ${conv}_f16.npy
golden nuqsgd_nozero_4 nuqsgd:zero=no+fixed ${conv}_f16.npy
golden nuqsgd_s6_bucket nuqsgd:s=6,bucket=1000 ${conv}_f16.npy
golden nuqsgd_nearest nuqsgd:rounding=nearest,bucket=tensor+fixed ${conv}_f16.npy
golden qsgd_s255 qsgd:s=255+zstd:level=3 ${conv}_f16.npy
golden qsgd_s200_elias qsgd:s=200+elias ${conv}_f16.npy
golden qsgdinf_8 qsgdinf:bits=8+fixed ${conv}_f16.npy
golden fp16 fp16 ${conv}_f64.npy
golden bf16_fixed bf16+fixed ${conv}_f64.npy
golden none none ${conv}_f16.npy
golden none_fixed none+fixed edge/npz_unicode_names.npz
golden escapes_nan nuqsgd edge/npy_nan.npy
golden escapes_inf nuqsgd:bucket=7+elias edge/npy_inf.npy
golden escapes_huge nuqsgd+fixed edge/npy_huge.npy
golden escapes_subnormal qsgd edge/npy_subnormal.npy
golden escapes_f64 nuqsgd edge/npy_f64_beyond_f32.npy
golden int32 nuqsgd edge/npy_int32.npy
golden complex64 nuqsgd edge/npy_complex64.npy
golden fp8 nuqsgd edge/st_fp8.safetensors
golden empty nuqsgd edge/npy_empty_3x0x2.npy
golden scalar nuqsgd edge/npy_0d.npy
golden hdf5_bf16 nuqsgd edge/h5_bfloat16.h5
golden hdf5_runs nuqsgd+fixed gradients/logreg_timeaxis.h5
cat "$out/escapes_nan.grz" "$out/int32.grz" >"$out/two_streams.grz"
"$python" "$root/tools/grz_decode.py" "$out/two_streams.grz" >"$out/two_streams.txt"
