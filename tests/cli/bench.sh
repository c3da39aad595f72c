# What bench says beside its times: the figures of compress, in every form, whatever is read how; times only are there and positive.
# shellcheck shell=bash
need jq
npz=$DATA/gradients/mlp_step1500_stored.npz
npy=$DATA/gradients/mlp_s300_flat.npy
check() { jq -e "$1" "$2" >/dev/null || fail "$2: not so: $1"; }

# The same figures as compress, for files that are mapped, held, and decoded from a stream.
specs=(nuqsgd qsgd:bits=3+elias nuqsgd:bits=8,p=0.7+fixed none)
for file in "$npy" "$npz" "$DATA/gradients/resnet20_nested_f16.h5" "$DATA/gradients/mlp_bigendian.h5"; do
    expect_status 0 gradz bench "$file" -q "${specs[@]}" --runs 1 --json >bench.json
    check '.schema == 1 and .command == "bench" and (.files | length) == 1 and .files[0].tensors[3].nmse == 0' bench.json
    check "[.files[0].file, .files[0].inputs[]] == [\"$file\", \"$file\"]" bench.json
    for i in "${!specs[@]}"; do
        gradz compress "$file" -q "${specs[i]}" -o out.grz -f --stats stats.json 2>/dev/null
        keys='{bits_per_element, ratio, nmse, input_bytes, output_bytes, container_bytes, elements, escaped, nonfinite, variance_bound}'
        expect_equal "$(jq -c ".files[0].tensors[$i] | $keys" bench.json)" "$(jq -c ".total | $keys" stats.json)"
        expect_equal "$(jq -r ".files[0].tensors[$i].spec" bench.json)" "$(gradz list --json out.grz | jq -r '[.files[0].tensors[] | select(.rule == "-q") | .spec][0]')"
    done
done
for rate in encode decode memcpy; do
    check "all(.files[0].tensors[]; .${rate}_gb_s_min > 0 and .${rate}_gb_s_min <= .${rate}_gb_s and .${rate}_gb_s <= .${rate}_gb_s_max)" bench.json
done
gradz compress "$npz" -q nuqsgd+fixed -o g.grz --quiet
gradz bench g.grz -q none --runs 1 --json >bench.json
check '.files[0].tensors[0] | .nmse == 0 and .tensors == 6 and .input_bytes == 50826 * 4' bench.json

# All statistics are those of compress; not one of them depends on threads.
gradz compress "$npz" -o out.grz -f --stats stats.json 2>/dev/null
for threads in 1 3; do
    gradz bench "$npz" --stats full --runs 2 -T $threads --json >bench.json
    check ".files[0].threads == $threads and .files[0].tensors[0].runs == 2 and .files[0].tensors[0].stats == \"full\"" bench.json
    same='del(.name, .seconds, .gigabytes_per_second, .spec, .stats, .runs, .encode_gb_s, .encode_gb_s_min, .encode_gb_s_max,
        .decode_gb_s, .decode_gb_s_min, .decode_gb_s_max, .memcpy_gb_s, .memcpy_gb_s_min, .memcpy_gb_s_max)'
    expect_equal "$(jq -cS ".files[0].tensors[0] | $same" bench.json)" "$(jq -cS ".total | $same" stats.json)"
done

# One row a spec over several files, -q before or behind them, from a pipe, and only some tensors.
gradz bench "$npy" "$npz" -q none nuqsgd --runs 1 --json >bench.json
check '.files[0] | (.inputs | length) == 2 and (.file == null) and ([.tensors[].tensors] == [7, 7])' bench.json
gradz bench -q none -q nuqsgd "$npy" "$npz" --runs 1 --json >other.json
same='[.files[0].tensors[] | [.spec, .output_bytes, .nmse]]'
expect_equal "$(jq -c "$same" other.json)" "$(jq -c "$same" bench.json)"
gradz bench - --runs 1 --json <"$npy" >bench.json
check '.files[0].file == "-" and .files[0].tensors[0].input_bytes > 200000' bench.json
gradz bench "$npz" --include '*.weight' --exclude 'fc3*' --runs 1 --json >bench.json
check '.files[0].tensors[0].tensors == 2' bench.json

# The forms: a table, CSV and Markdown of one header and a row a spec.
gradz bench "$npy" -q none nuqsgd --runs 1 >table.txt
expect_equal "$(grep -c 'none+zstd\|nuqsgd:' table.txt)" 2
gradz bench "$npy" -q none nuqsgd --runs 1 -o b.csv
expect_equal "$(wc -l <b.csv)" 3
gradz bench "$npy" -q none nuqsgd --runs 1 -o b.md
expect_equal "$(wc -l <b.md)" 4
grep -vq '^|.*|$' b.md && fail "a line of b.md is no row"
gradz bench "$npy" -q none nuqsgd --runs 1 --markdown >c.md
expect_equal "$(cut -d'|' -f2-5 c.md)" "$(cut -d'|' -f2-5 b.md)"

# What cannot be: nothing on stdout, one line that says why.
expect_error 2 'runs' gradz bench "$npy" --runs 0
expect_error 2 'some' gradz bench "$npy" --stats some
expect_error 2 'nuqsgd' gradz bench "$npy" -q nuqsg
expect_error 2 'no spec' gradz bench -q "$npy"
expect_error 2 'FILE' gradz bench -q none
expect_error 2 '--markdown|--csv' gradz bench "$npy" --markdown --csv
expect_error 1 'missing' gradz bench missing.npy
expect_error 1 'b.csv.*exists' gradz bench "$npy" -o b.csv
expect_error 2 'replace' gradz bench b.npy -o b.npy -f
expect_error 1 '--memory' gradz bench "$DATA/gradients/mlp_bigendian.h5" -M 1000
expect_error 2 'leave no tensor' gradz bench "$npz" --include nothing

# One bad input of several: the others are measured, and the status says so.
expect_status 1 gradz bench missing.npy "$npy" --runs 1 --json >bench.json
expect_one_line 'missing'
check '.files[0].inputs | length == 1' bench.json
expect_error 1 'missing' gradz bench missing.npy "$npy" --fail-fast

# A signal ends it as it ends any program, and no half of a report stays.
expect_status 143 timeout --preserve-status -s TERM 1 "$GRADZ" bench "$npy" --runs 1000000 -o late.json
expect_no_file late.json
