# Every edge file behaves as tests/data/edge/expected.json says, for compress and for stats: what is good is
# read right, what is bad is refused in one line, and nothing is left behind: no output, and no PWNED, which some
# of them create if their pickle is run.
# shellcheck shell=bash
need jq
need_python
expected=$DATA/edge/expected.json
mkdir dumps out
cp "$DATA"/edge/*.* dumps
cd out || exit

# The lines on stderr that are errors; what is skipped is news and comes as a warning.
errors() { grep -avc ': warning: ' "$SAID" || true; }

# refused FILE: the last command said why in one line that names the file.
refused() {
    expect_equal "$1: $(errors) lines" "$1: 1 lines"
    grep -av ': warning: ' "$SAID" | grep -aq "^gradz: .*$1: ." || fail "$1: the line does not begin with 'gradz: ' and name the file"
}

while IFS=$'\t' read -r file result; do
    # The container of PyTorch is read by no reader yet: refusing a good one clearly is right.
    case $file in *.pt) [ "$result" = error ] || result=either ;; esac

    status=0
    timeout 60 "$GRADZ" compress "../dumps/$file" -q none -o x.grz --quiet 2>"$SAID" || status=$?
    case $result:$status in
    ok:0 | either:0)
        ! grep -av '^gradz: ' "$SAID" || fail "$file: a line does not begin with 'gradz: '"
        jq -r --arg f "$file" '.[$f].skipped // [] | .[]' "$expected" >names.txt
        while read -r name; do
            grep -aq "skipped.*$name\|$name.*skipped" "$SAID" || fail "$file: '$name' is not named as skipped"
        done <names.txt
        rm names.txt
        gradz test x.grz --quiet
        expect_status 0 gradz decompress x.grz -o "back.${file##*.}" --quiet
        if [ "$(jq -r --arg f "$file" '.[$f].tensors | length' "$expected")" -gt 0 ]; then
            tensors expect "back.${file##*.}" "$expected" "$file"
        fi
        rm x.grz "back.${file##*.}"
        # The default spec takes them too, NaN, Inf and all.
        gradz compress "../dumps/$file" -o x.grz --quiet 2>/dev/null
        gradz test x.grz --quiet
        rm x.grz
        ;;
    error:1 | either:1) refused "$file" ;;
    *) fail "$file: exit status $status, want $result" ;;
    esac

    want=$status status=0
    timeout 60 "$GRADZ" stats "../dumps/$file" >/dev/null 2>"$SAID" || status=$?
    expect_equal "stats $file: $status" "stats $file: $want"
    [ "$status" -eq 0 ] || refused "$file"
    expect_equal "$file left: $(ls -A)" "$file left: "
done < <(jq -r 'to_entries[] | [.key, .value.result] | @tsv' "$expected")

# A skipped thing is no error, unless --strict.
expect_status 1 gradz compress ../dumps/h5_dangling.h5 --strict -o x.grz
expect_no_file x.grz
# NaN under the policy that forbids it is named by tensor and index.
expect_status 1 gradz compress ../dumps/npy_nan.npy --nonfinite error -o x.grz
expect_one_line 'npy_nan.*element [0-9]+|npy_nan.*index [0-9]+'
expect_no_file x.grz
# A dump is no stream, and neither is an empty file.
expect_error 1 'npy_zeros\.npy' gradz decompress ../dumps/npy_zeros.npy -o x
expect_no_file x
: >empty.grz
expect_error 1 'empty\.grz' gradz test empty.grz
expect_error 1 'empty\.grz' gradz decompress empty.grz
expect_error 1 'empty\.grz' gradz list empty.grz
