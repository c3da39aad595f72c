# Bad usage ends with 2 and one line that helps; help and version are what was asked for, on stdout.
# shellcheck shell=bash
npy=$DATA/edge/npy_one_element.npy
cp "$npy" x.npy
bad() {  # PATTERN ARGUMENT...
    local pattern=$1
    shift
    expect_error 2 "$pattern" gradz "$@"
    expect_listing . x.npy
}

bad 'subcommand|--help'
bad 'frobnicate' frobnicate x.npy
bad 'comp' comp x.npy
bad '--frobnicate' compress x.npy --frobnicate
bad '-Z' compress x.npy -Z
bad 'FILE' compress
bad '-o' compress x.npy -o
bad 'many' compress x.npy -T many
bad '-1' compress x.npy -T -1
bad 'seed|x' compress x.npy --seed x
bad '18446744073709551616' compress x.npy --seed 18446744073709551616
bad 'tar' decompress x.npy --to tar -o out
bad 'stdout|-c' compress x.npy -c --stats -
bad 'maybe' compress x.npy --nonfinite maybe
bad 'shape' compress x.npy --raw f32
bad 'f33' compress x.npy --raw f33 --shape 1
GRADZ_TARGET=sse9 bad 'GRADZ_TARGET.*sse9|sse9.*GRADZ_TARGET' compress x.npy

# Specs: the nearest names, the offending value, the range.
bad 'nuqsgd' compress x.npy -q nuqsg
bad 'bits' compress x.npy -q nuqsgd:bit=4
bad '9.*1\.\.8' compress x.npy -q nuqsgd:bits=9
bad "second 'bits'" compress x.npy -q nuqsgd:bits=4,bits=4
bad 'zstd' compress x.npy -q nuqsgd+zst
bad 'four' compress x.npy -q nuqsgd:bits=four
bad 'bucket' compress x.npy -q nuqsgd:bucket=0
bad "quantizer.*'zstd'" compress x.npy -q zstd+nuqsgd
bad 'empty|-q' compress x.npy -q ''
bad 'bits' levels qsgd:bits=1
bad 'nuqsgd' levels nuqsg

# What was asked for goes to stdout, with 0.
for words in --help 'compress --help' 'decompress --help' 'list --help' 'test --help' 'stats --help' 'diff --help' 'levels --help'; do
    # shellcheck disable=SC2086  # words
    expect_status 0 gradz $words >help.txt
    expect_no_stderr
    grep -qi 'usage' help.txt || fail "no usage in: $words"
done
expect_output '--max-nmse' gradz diff --help
expect_output '-q.*nuqsgd' gradz compress --help  # the default is shown
for word in -V --version; do expect_output '^gradz [0-9]+\.[0-9]+\.[0-9]+' gradz $word; done
rm help.txt

# The table of levels: 4 bits of NUQSGD are 0 and seven powers of two.
gradz levels nuqsgd:bits=4 >levels.txt
for level in 0.015625 0.03125 0.0625 0.125 0.25 0.5 1; do
    grep -qw -- "$level" levels.txt || fail "levels lacks $level"
done
