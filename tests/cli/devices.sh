# Devices, FIFOs and terminals: written in place, full ones noticed, never replaced.
# shellcheck shell=bash
npy=$DATA/gradients/mlp_s300_flat.npy
gradz compress "$npy" -o want.grz --quiet

# A full disk is an error, on stdout too.
expect_status 1 gradz compress "$npy" -c >/dev/full
expect_stderr_line 'No space left'
expect_status 1 gradz decompress want.grz -c >/dev/full
expect_stderr_line 'No space left'
for verb in list stats; do
    expect_status 1 gradz "$verb" want.grz >/dev/full
    expect_stderr_line 'No space left'
done

# Devices are written in place. They are nodes of our own: a broken program run by root would
# replace the machine's.
if mknod null c 1 3 2>/dev/null && { : >null; } 2>/dev/null; then
    mknod full c 1 7
    expect_status 0 gradz compress "$npy" -o null
    [ -c null ] || fail "the device became a file"
    expect_status 0 gradz decompress want.grz --to npy -f -o null
    [ -c null ] || fail "the device became a file"
    expect_error 1 'full.*No space left' gradz compress "$npy" -o full --quiet
    [ -c full ] || fail "the device became a file"
    expect_equal "$(stat -c %a null)" 644
    rm null full
else
    echo "not run: device nodes, they cannot be made here"
    rm -f null
fi

# A FIFO and a descriptor get the same bytes as a file.
mkfifo fifo
cat fifo >got.grz &
expect_status 0 gradz compress "$npy" -o fifo
wait $!
[ -p fifo ] || fail "the FIFO became a file"
expect_same_file got.grz want.grz
expect_status 0 gradz compress "$npy" -o /dev/fd/3 3>got.grz
expect_same_file got.grz want.grz

# Never binary to a terminal that nobody asked for; and no progress where there is none.
need script
status=0
SHELL=/bin/sh script -qec "'$GRADZ' compress - <'$npy'" typescript </dev/null >/dev/null || status=$?
expect_equal "$status" 2
grep -aq 'terminal' typescript || fail "the refusal does not name the terminal"
! grep -aq "$(printf '\032')" typescript || fail "binary went to the terminal"
expect_status 0 gradz compress "$npy" -o quiet.grz
! grep -q "$(printf '\r')" "$SAID" || fail "a progress line went to a file"
