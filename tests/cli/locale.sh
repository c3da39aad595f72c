# A locale with a decimal comma changes nothing, neither what is read nor what is written.
# shellcheck shell=bash
need localedef
localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>/dev/null || skip "there is no locale de_DE to compile on this machine"
export LOCPATH=$PWD
german() { LC_ALL=de_DE.UTF-8 "$@"; }
expect_equal "$(german locale decimal_point)" ,

npy=$DATA/gradients/mlp_s5_fc2.weight_v2.npy
spec=nuqsgd:bits=4,p=0.5,norm=linf
for verb in "levels $spec" "stats $npy" "stats --json $npy" "stats --csv $npy" "diff --max-nmse 0.5 $npy $npy"; do
    # shellcheck disable=SC2086  # words
    gradz $verb | sed 's/[0-9.e+-]* *GB\/s//' >posix.txt
    # shellcheck disable=SC2086
    german gradz $verb | sed 's/[0-9.e+-]* *GB\/s//' >german.txt
    [ -s posix.txt ] || fail "$verb printed nothing"
    if [[ $verb != *json* && $verb != *csv* ]]; then expect_same_file posix.txt german.txt; fi
    ! grep -E '[0-9],[0-9]+e-?[0-9]' german.txt || fail "a decimal comma: $verb"
done

gradz compress "$npy" -q "$spec" -o posix.grz --stats posix.json 2>posix.txt
german gradz compress "$npy" -q "$spec" -o german.grz --stats german.json 2>german.txt
expect_same_file posix.grz german.grz
need jq
expect_equal "$(jq '.total.nmse' german.json)" "$(jq '.total.nmse' posix.json)"
# An option's comma is a separator in every locale, and a fraction has a point.
german expect_status 2 gradz compress "$npy" -q "nuqsgd:p=0,5" -o bad.grz
expect_no_file bad.grz
