# A command that is ended in the middle of its work leaves nothing behind, and its status says so.
# shellcheck shell=bash
npy=$DATA/gradients/mlp_s300_flat.npy
mkdir out
set -m  # background jobs of a script ignore SIGINT otherwise

# interrupted SIGNAL STATUS OPTION...: sends the signal while half of the input is still missing.
interrupted() {
    local signal=$1 want=$2 status=0
    shift 2
    rm -f fifo
    mkfifo fifo
    "$GRADZ" compress - --name x "$@" <fifo 2>"$SAID" &
    local job=$!
    exec 9>fifo
    head -c 100000 "$npy" >&9
    # The temporary file is a sign that writing began; a program that makes it later is hit while it reads.
    for _ in $(seq 100); do
        [ "$(find out -type f | wc -l)" -le "$files" ] || break
        kill -0 $job 2>/dev/null || fail "it ended before the signal"
        sleep 0.02
    done
    kill "-$signal" $job
    wait $job || status=$?
    exec 9>&-
    expect_equal "$signal $status" "$signal $want"
}

files=0
for pair in TERM:143 INT:130 HUP:129; do
    interrupted "${pair%:*}" "${pair#*:}" -o out/x.grz
    expect_equal "$(ls -A out)" ""
done

# What was there before -f is still there.
echo precious >out/x.grz
files=1
interrupted TERM 143 -f -o out/x.grz
expect_listing out x.grz
expect_equal "$(cat out/x.grz)" precious
