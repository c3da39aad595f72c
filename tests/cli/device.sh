# --device: the bytes of the CPU where there is a device, one clear line and nothing written where there is none.
# shellcheck shell=bash
npz=$DATA/gradients/mlp_step1500_stored.npz
gradz compress "$npz" -o want.grz --quiet

expect_error 2 '^gradz: --device: .*tpu' gradz compress "$npz" -o out.grz --device tpu
for verb in 'compress -o out.grz' 'decompress -o out.npz' test 'bench --runs 1'; do
    gradz "${verb%% *}" --help | grep -q -- '--device' || fail "$verb --help does not know --device"
done

# The device's bytes, whatever the coder; what it decodes is what the CPU decodes.
check_device() {
    local spec
    for spec in nuqsgd nuqsgd:bits=8,p=0.7+fixed qsgd:s=255+rans qsgdinf:bits=2,rounding=nearest+elias \
        nuqsgd:bits=4,zero=no,bucket=tensor+fixed; do
        gradz compress "$npz" -q "$spec" -o cpu.grz -f --quiet
        expect_status 0 gradz compress "$npz" -q "$spec" -o cuda.grz -f --quiet --device "$1"
        cmp cpu.grz cuda.grz
        gradz decompress cpu.grz -o cpu.npz -f --quiet
        expect_status 0 gradz decompress cpu.grz -o cuda.npz -f --quiet --device "$1"
        cmp cpu.npz cuda.npz
    done
    expect_status 0 gradz test want.grz --device "$1" >/dev/null
    expect_status 0 gradz bench "$npz" -q nuqsgd+fixed --runs 1 --device "$1" --json >bench.json
}

if gradz compress "$npz" -o out.grz --device cuda --quiet 2>why.txt; then
    check_device cuda
    check_device auto
    expect_output '"device": "cuda"' cat bench.json
elif grep -q 'was built without CUDA' why.txt; then
    for verb in 'compress -o out.grz' 'decompress -o out.npz' test 'bench --runs 1'; do
        # shellcheck disable=SC2086  # several words
        expect_error 2 '^gradz: (compress|decompress|test|bench): --device cuda: this gradz was built without CUDA$' \
            gradz $verb --device cuda want.grz
    done
    check_device auto
    [ ! -s "$SAID" ] || fail 'auto in a build without CUDA has nothing to say'
else
    for verb in 'compress -o out.grz' 'decompress -o out.npz' test 'bench --runs 1'; do
        # shellcheck disable=SC2086  # several words
        expect_error 1 '^gradz: (compress|decompress|test|bench): --device cuda: no device: .' gradz $verb --device cuda want.grz
    done
    check_device auto
    expect_one_line '^gradz: --device auto: warning: the CPU is used: .'
fi
ls out.* 2>/dev/null | grep . && fail 'something was written'
[ ! -e out.npz ] || fail 'something was written'
