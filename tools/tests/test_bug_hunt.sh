# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# tools/teaching/bug-hunt: the grader says of each kernel what the key says.
. tools/tests/tap.sh
hunt=tools/teaching/bug-hunt
grader=${BUILD:-build}/grader/grader

complete() { # complete DIR COUNT: folders, and nothing that tells the answer
    [ "$(find "$1" -mindepth 1 -maxdepth 1 -type d | wc -l)" = "$2" ] && [ "$(grep -c '^| `[0-9]' "$1/task.md")" = "$2" ] &&
        [ "$(grep -c '^The grader calls it' "$1/key.md")" = "$2" ] && ! grep -rqE '^ *//:|^// (step|reason): ' "$1"/[0-9]*
}
as_the_key_says() { # as_the_key_says DIR: for each folder
    sed -n 's/^## \([0-9]*\): `\(.*\)`$/\1 \2/p; s/^The grader calls it `\(.*\)`\.$/\1/p' "$1/key.md" | paste -d' ' - - |
        while read -r folder op diagnosis; do
            echo "$folder $op $diagnosis"
            exits 1 "$grader" step1 --backend cpu --submission "$1/$folder" --kernel "$op" >"$scratch/report" || return 1
            grep -qF "[$diagnosis]" "$scratch/report" || { cat "$scratch/report"; return 1; }
        done
}
same() { diff -r "$1" "$2"; }

check "a hunt is made" $hunt step1 2 11 "$scratch/one"
check "with as many kernels, no mark of the solution in them" complete "$scratch/one" 2
check "the grader says of each what the key says" as_the_key_says "$scratch/one"
check "the same seed" $hunt step1 2 11 "$scratch/two"
check "makes the same hunt" same "$scratch/one" "$scratch/two"
check "another seed" $hunt step1 2 12 "$scratch/three"
check "makes another" fails same "$scratch/one" "$scratch/three"
check "lab 4 too" $hunt step4 3 1 "$scratch/four"
check "is complete" complete "$scratch/four" 3
check "a folder that is there: exit 2" exits 2 $hunt step1 2 11 "$scratch/one"
check "a lab that is not: exit 2" exits 2 $hunt step9 2 11 "$scratch/none"
check "too many: exit 2" exits 2 $hunt step1 5000 11 "$scratch/none"
check "a seed that is no number: exit 2" exits 2 $hunt step1 2 x "$scratch/none"
check "nothing is left of these" test ! -e "$scratch/none"
finish
