# Names are data: of files they may hold any byte, of tensors they never become paths.
# shellcheck shell=bash
need jq
need_python
odd=$'gr\xffad \n\'"$x.npy'
cp "$DATA/gradients/mlp_s5_fc2.weight_v2.npy" "$odd"
expect_status 0 gradz compress "$odd"
expect_file "$odd.grz"
gradz test "$odd.grz" --quiet
gradz list --json "$odd.grz" | jq -e '.schema == 1' >/dev/null || fail "the JSON of a name that is not UTF-8"
gradz stats --json "$odd" | jq -e '.files[0].tensors[0].name | contains("\ufffd")' >/dev/null || fail "no replacement character"
mkdir back
gradz decompress "$odd.grz" -o "back/$odd" --quiet
gradz diff --structure "$odd" "back/$odd" >/dev/null
# An error about it is still one line.
cp "$DATA/edge/npy_bad_magic.npy" "bad$odd"
expect_status 1 gradz compress "bad$odd"
expect_one_line 'bad'
cp "$odd" ./-f.npy
expect_status 0 gradz compress -- -f.npy
expect_file ./-f.npy.grz

# Tensors named ../../evil, /abs/evil, ../up and the like become flat files in the folder that was asked for.
mkdir -p deep/er/inside
outside() { find . -path ./deep/er/inside/out -prune -o -print | sort; }
for dump in npz_dotdot_name.npz st_names.safetensors npz_unicode_names.npz; do
    gradz compress "$DATA/edge/$dump" -q none -o evil.grz -f --quiet
    before=$(outside)
    expect_status 0 gradz decompress evil.grz --to npy -o deep/er/inside/out
    expect_equal "$(outside)" "$before"
    expect_equal "$(find deep/er/inside/out -mindepth 1 ! -type f)" ""
    expect_equal "$(find deep/er/inside/out -type f | wc -l)" "$(gradz list --json evil.grz | jq '[.files[].tensors[]] | length')"
    expect_no_file /abs
    # Percent signs undone, the file names are the tensors' names.
    "$PYTHON" - "$DATA/edge/expected.json" "$dump" <<'END'
import json, os, sys, urllib.parse
expected = json.load(open(sys.argv[1], encoding="utf-8"))[sys.argv[2]]["tensors"]
stems = [f.removesuffix(".npy") for f in os.listdir("deep/er/inside/out")]
found = ["" if s == "%" else urllib.parse.unquote(s) for s in stems]  # a file must have some name
assert sorted(found) == sorted(expected), (found, sorted(expected))
END
    rm -r deep/er/inside/out
    # In containers the names stay what they were.
    gradz decompress evil.grz --to npz -o evil.npz -f --quiet
    tensors expect evil.npz "$DATA/edge/expected.json" "$dump"
done
gradz compress "$DATA/edge/npz_dotdot_name.npz" -o evil.grz -f --quiet

# A name longer than a file name may be: a folder of .npy says so and leaves nothing, or finds a way.
gradz compress "$DATA/edge/npz_long_name.npz" -q none -o long.grz --quiet
status=0
gradz decompress long.grz --to npy -o long 2>"$SAID" || status=$?
case $status in
0) expect_equal "$(find long -type f | wc -l)" 1 ;;
1) expect_one_line 'name' && expect_no_file long ;;
*) fail "exit status $status" ;;
esac

# --include and --exclude see names, not paths.
expect_status 0 gradz decompress evil.grz --include '*/evil' --exclude '/abs/*' --to npz -o one.npz --quiet
expect_equal "$(tensors names one.npz)" '"../../evil"'
expect_refused 'no tensor' gradz decompress evil.grz --include 'nothing*' --to npz -o none.npz
expect_no_file none.npz
