# No option, report or descriptor may cost the user an input or a stream.
# shellcheck shell=bash
cp "$DATA/gradients/mlp_s300_flat.npy" a.npy
cp "$DATA/gradients/mlp_step1500_stored.npz" m.npz
cp a.npy want.npy

# What --rm would lose is refused before any work.
expect_error 2 'would be lost' gradz compress m.npz --include fc1.weight --rm
expect_error 2 'would be lost' gradz compress a.npy --nonfinite zero --rm
expect_error 2 'files on both sides' gradz compress a.npy -o /dev/null --rm
gradz compress a.npy -o a.grz --quiet
expect_error 2 'would be lost' gradz decompress a.grz --slice 0:1 -o row.npy --rm
expect_error 2 'would be lost' gradz decompress a.grz --dtype f16 -o half.npy --rm
expect_error 2 'files on both sides' gradz decompress a.grz -o /dev/null --rm
expect_listing . a.grz a.npy m.npz want.npy

# Reports and outputs replace neither inputs nor each other.
expect_error 2 'would replace' gradz compress a.npy -o x.grz --stats a.npy -f
expect_error 2 'would replace' gradz compress a.npy -o x.grz --stats x.grz
expect_error 2 'would replace' gradz stats a.npy -o a.npy -f
expect_error 2 'would replace' gradz list a.grz -o a.grz -f
expect_error 2 'would replace' gradz diff a.npy a.grz -o a.npy -f
mkdir one two
cp a.npy one/x.npy
cp a.npy two/x.npy
expect_error 2 'one output' gradz compress one/x.npy two/x.npy -O out -f --rm
expect_file one/x.npy two/x.npy
expect_no_file out
echo kept >stats.json
expect_refused 'stats.json' gradz compress a.npy -o x.grz --stats stats.json
expect_equal "$(cat stats.json)" kept
expect_same_file a.npy want.npy

# Closed descriptors do not become outputs.
gradz compress a.npy -o closed.grz 2>&-
expect_status 0 gradz test closed.grz --quiet
expect_same_file closed.grz a.grz

# Signals of pipes and limits leave no temporary behind.
gradz compress a.npy -o piped.grz 2>&1 | true || true
(ulimit -f 4; gradz compress a.npy -o limited.grz --quiet) 2>/dev/null || true
expect_equal "$(find . -name '.gradz-*')" ''
expect_no_file limited.grz

# Each of several streams need not have what is asked for.
gradz compress m.npz -c --quiet | cat a.grz - >both.grz
expect_status 0 gradz decompress both.grz --include 'fc1*' -o part.npz
expect_refused 'no tensor' gradz decompress both.grz --include 'nothing*' -o none.npz

# And --rm does remove what was kept.
gradz compress m.npz --rm --quiet
expect_no_file m.npz
gradz decompress m.npz.grz --rm --quiet
expect_no_file m.npz.grz
expect_file m.npz
