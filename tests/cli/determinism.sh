# The same tensors and spec give the same bytes for any number of threads and on every target.
# shellcheck shell=bash
specs=(nuqsgd:bits=4 qsgd:bits=8 qsgdinf:bits=2 "nuqsgd:bits=3,bucket=333" none)
dumps=("$DATA/gradients/gpt_step200_h0_f32.safetensors" "$DATA/gradients/mlp_bigendian.h5" "$DATA/edge/npy_nan.npy")

# What this CPU has by the word of the kernel; a target that it has must run.
flags=" $(grep -m1 '^flags' /proc/cpuinfo | cut -d: -f2) "
has() { local f; for f in "$@"; do [[ $flags == *" $f "* ]] || return 1; done; }
targets=(scalar)
if has avx2 bmi2 fma f16c; then targets+=(avx2); else echo "not run: avx2, this CPU lacks it"; fi
if has avx2 bmi2 fma f16c avx512f avx512bw avx512dq avx512vl; then
    targets+=(avx512)
else
    echo "not run: avx512, this CPU lacks it"
    GRADZ_TARGET=avx512 expect_error 2 avx512 gradz compress "$DATA/edge/npy_nan.npy" -o out.grz
fi

for dump in "${dumps[@]}"; do
    for spec in "${specs[@]}"; do
        gradz compress "$dump" -q "$spec" -o want.grz -f --quiet
        gradz decompress want.grz -o want.npz --to npz -f --quiet
        for target in "${targets[@]}"; do
            for threads in 1 2 7; do
                GRADZ_TARGET=$target gradz compress "$dump" -q "$spec" -T "$threads" -o out.grz -f --quiet
                expect_equal "$target -T $threads $spec: $(sha out.grz)" "$target -T $threads $spec: $(sha want.grz)"
            done
            GRADZ_TARGET=$target gradz decompress want.grz -T 3 -o out.npz --to npz -f --quiet
            expect_same_file out.npz want.npz
        done
        OMP_NUM_THREADS=1 gradz compress "$dump" -q "$spec" -o out.grz -f --quiet
        expect_same_file out.grz want.grz
    done
done

# Statistics too.
stats() { GRADZ_TARGET=$1 gradz compress "${dumps[0]}" -T "$2" -o out.grz -f --stats stats.json 2>/dev/null; }
normal() { jq -S 'del(.. | .seconds?, .gigabytes_per_second?)' stats.json; }
need jq
rm -f stats.json
stats scalar 1
want=$(normal)
for target in "${targets[@]}"; do
    rm stats.json
    stats "$target" 5
    expect_equal "$(normal)" "$want"
done

# Seed, step and worker are what the random rounding depends on, and nothing else.
base=(gradz compress "${dumps[0]}" -f --quiet)
"${base[@]}" -o a.grz
"${base[@]}" -o b.grz --seed 0
expect_same_file a.grz b.grz
"${base[@]}" -o b.grz --seed 1
expect_other_file a.grz b.grz
"${base[@]}" -o b.grz --step 7
expect_other_file a.grz b.grz
"${base[@]}" -o b.grz --worker 7
expect_other_file a.grz b.grz

# The digest is a hash in hex, and it sees what the bytes depend on.
[[ $(digest a.grz) =~ ^[0-9a-f]{16,}$ ]] || fail "no hash: $(digest a.grz)"
[ "$(digest a.grz)" != "$(digest b.grz)" ] || fail "the digest does not see the worker"
