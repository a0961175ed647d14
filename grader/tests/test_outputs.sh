# shellcheck shell=sh
# --gradescope, --github, --junit and --html of real runs and of hostile reports, read by other programs (outputs.py).
. tools/tests/tap.sh
export LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL COURSE
grader=build/grader/grader

mkdir "$scratch/student" "$scratch/nothing"
cp step1_naive/solution/residual.cu "$scratch/student"
cp step1_naive/skeleton/softmax.cu "$scratch/student"
sed 's/+ residual\[i\]/- residual[i]/' step1_naive/solution/residual.cu >"$scratch/student/residual.cu"
{ cat step1_naive/solution/layernorm.cu; printf 'int ]]>\033[31m<script>;\n'; } >"$scratch/student/layernorm.cu"

run() { $grader step1 --backend cpu --seed 1 "$@"; }
check "all outputs at once: fewer than full marks" exits 1 run --submission "$scratch/student" --json "$scratch/fewer.json" \
    --gradescope "$scratch/results.json" --github "$scratch/github.json" --junit "$scratch/junit.xml" --html "$scratch/page.html"
check "the solution: full marks" exits 0 run --files step1_naive/solution --out "$scratch/built" --json "$scratch/full.json"
check "a submission without the lab's files" exits 2 run --submission "$scratch/nothing" --json "$scratch/none.json"
same() { # a stored report gives what the run gave
    mkdir "$scratch/again" && $grader render "$scratch/fewer.json" --gradescope "$scratch/again/results.json" \
        --github "$scratch/again/github.json" --junit "$scratch/again/junit.xml" --html "$scratch/again/page.html" || return 1
    for file in results.json github.json junit.xml page.html; do cmp "$scratch/$file" "$scratch/again/$file" || return 1; done
}
check "render writes the same from the stored report" same
check "- is standard output, in place of the screen" says "<testsuites>" run --submission "$scratch/nothing" --junit -
check "a file that cannot be written" exits 2 $grader render "$scratch/fewer.json" --html "$scratch/no/page.html"
check "says which, and why" says "cannot write --html $scratch/no/page.html: No such file" \
    $grader render "$scratch/fewer.json" --html "$scratch/no/page.html"
check "the compiler's message names the file as it was handed in" grep -q '^layernorm.cu:[0-9]*' "$scratch/junit.xml"

python=$(tools/python-with jsonschema)
check "Python has jsonschema (tools/install.sh test)" test -n "$python"
check "other programs read all of them" "$python" grader/tests/outputs.py $grader "$scratch/fewer.json" "$scratch/full.json" \
    "$scratch/none.json"
finish
