# JSON that jq reads, CSV that Python reads, and figures that add up: ratio counts every byte of the stream.
# shellcheck shell=bash
need jq
npz=$DATA/gradients/mlp_step1500_stored.npz
check() { jq -e "$1" "$2" >/dev/null || fail "$2: not so: $1"; }

expect_status 0 gradz compress "$npz" -o out.grz --stats - >stats.json
expect_stderr_line 'mlp_step1500_stored\.npz'
size=$(stat -c %s out.grz)
check '.schema == 1 and (.version | type) == "string" and (.command | type) == "string"' stats.json
check '(.files | length) == 1 and .files[0].step == 1500 and .files[0].worker == 0 and .files[0].seed == 0' stats.json
check '.files[0].skipped == []' stats.json
check '[.files[0].tensors[].name] | sort == ["fc1.bias","fc1.weight","fc2.bias","fc2.weight","fc3.bias","fc3.weight"]' stats.json
for key in name shape dtype elements spec input_bytes output_bytes ratio ratio_fp32 bits_per_element nmse cosine variance_exact variance_bound \
    entropy_bits code_bytes scale_bytes zeros_in zeros_out nonfinite escaped flushed unbiased; do
    check "all(.files[0].tensors[]; has(\"$key\"))" stats.json
done
check '([.files[0].tensors[].elements] | add) == 50826 and .total.elements == 50826' stats.json
check '([.files[0].tensors[].input_bytes] | add) == 50826 * 4' stats.json
check "([.files[0].tensors[].output_bytes] | add) + .files[0].total.container_bytes == $size" stats.json
check "(.total.ratio - 50826 * 4 / $size | fabs) < 1e-9 * .total.ratio" stats.json
check 'all(.files[0].tensors[]; .variance_exact <= .variance_bound * 1.000001)' stats.json
check 'all(.files[0].tensors[]; .nmse > 0 and (.nmse - .variance_exact | fabs) <= 6 * .variance_sd + 1e-6)' stats.json
check 'all(.files[0].tensors[]; .spec == "nuqsgd:bits=4,p=0.5,norm=l2,bucket=512,rounding=stochastic,zero=yes+zstd:level=1")' stats.json

# The error is that of what comes back.
mkdir back  # the same file name, so that the same step is read from it
gradz decompress out.grz -o back/mlp_step1500_stored.npz --quiet
expect_status 0 gradz diff "$npz" back/mlp_step1500_stored.npz --json --max-nmse 1 >diff.json
nmses='[.files[0].tensors[] | {name, nmse: (.nmse * 1e9 | round)}] | sort_by(.name)'
expect_equal "$(jq -c "$nmses" diff.json)" "$(jq -c "$nmses" stats.json)"

# The same into a file, and CSV by its name; one row a tensor.
gradz compress "$npz" -o out.grz -f --stats file.json 2>/dev/null
expect_equal "$(jq -S 'del(.. | .seconds?, .gigabytes_per_second?)' file.json)" "$(jq -S 'del(.. | .seconds?, .gigabytes_per_second?)' stats.json)"
gradz compress "$npz" -o out.grz -f --stats file.csv 2>/dev/null
gradz stats --csv "$npz" >stats.csv
for csv in file.csv stats.csv; do
    "$PYTHON" - $csv <<'END'
import csv, sys
with open(sys.argv[1], newline="", encoding="utf-8") as f:
    rows = list(csv.DictReader(f))
assert sorted(r["name"] for r in rows) == ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight"], rows
assert sum(int(r["elements"]) for r in rows) == 50826
assert all(r["step"] == "1500" and None not in r for r in rows)
END
done

# The other reports.
gradz stats --json "$npz" "$DATA/edge/npy_nan.npy" "$DATA/edge/h5_dangling.h5" >stats.json 2>/dev/null
check '(.files | length) == 3 and .command == "stats"' stats.json
check '.files[1].tensors[0].nonfinite == 2' stats.json
check '.files[2].skipped[0].name == "gone" and (.files[2].skipped[0].reason | length) > 0' stats.json
check '[.. | numbers] | length > 10' stats.json
gradz list --json out.grz >list.json
check '.schema == 1 and (.files[0].tensors | length) == 6' list.json
gradz list out.grz >list.txt
grep -q 'fc1.weight' list.txt || fail "list does not name the tensors"
gradz stats "$npz" -o report.json
check '.schema == 1' report.json

# Figures without a value are null: an empty tensor and one of zeros have no relative error.
gradz compress "$DATA/edge/npy_zeros.npy" "$DATA/edge/npy_empty.npy" -o none.grz --stats none.json 2>/dev/null
check 'all(.files[].tensors[]; .nmse == null or .nmse == 0)' none.json
! grep -qiE '\b-?(nan|inf|infinity)\b' none.json || fail "NaN or Inf in JSON"

# --quiet is silent, and errors are said all the same.
expect_status 0 gradz compress "$npz" -o out.grz -f --quiet
expect_no_stderr
expect_error 1 'npy_bad_magic' gradz compress "$DATA/edge/npy_bad_magic.npy" --quiet -o bad.grz
