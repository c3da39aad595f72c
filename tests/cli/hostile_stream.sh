# Every prefix of a stream, and every stream with a flipped bit, is refused with a line, quickly, and writes nothing.
# shellcheck shell=bash
gradz compress "$DATA/edge/npz_zip64.npz" -o small.grz --quiet
expect_status 0 gradz test small.grz
"$PYTHON" "$CLI_TESTS/hostile_stream.py" "$GRADZ" small.grz

# Damage of other kinds: two halves swapped, rubbish between, before and after, a stream in a stream's place twice.
size=$(stat -c %s small.grz) half=$(($(stat -c %s small.grz) / 2))
{ tail -c $((size - half)) small.grz; head -c $half small.grz; } >swapped.grz
{ cat small.grz; echo rubbish; cat small.grz; } >between.grz
{ echo rubbish; cat small.grz; } >before.grz
{ cat small.grz; echo rubbish; } >after.grz
{ cat small.grz; head -c $((size - 1)) small.grz; } >second_cut.grz
{ head -c $((size - 1)) small.grz; cat small.grz; } >first_cut.grz
head -c 100000 /dev/zero >zeros.grz
for file in swapped between before after second_cut first_cut zeros; do
    for verb in test list decompress; do
        expect_error 1 "$file\.grz" timeout 20 "$GRADZ" "$verb" $file.grz
    done
    expect_no_file $file
    expect_error 1 . timeout 20 "$GRADZ" test - <$file.grz
done
