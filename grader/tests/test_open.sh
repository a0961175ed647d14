# shellcheck shell=sh
# ./grader stepN --open: the goal of each lab's open problem is reached by a kernel of the corpus or by the lab's solution,
# and not by the taught kernels.
. tools/tests/tap.sh
export LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL COURSE
grader=build/grader/grader

open_problem() { # open_problem STEP FILES OPTIONS...
    step=$1 files=$2
    shift 2
    $grader "$step" --open --backend cpu --seed 1 --files "$files" --out "$scratch/out-$step" "$@"
}
corpus() { # corpus STEP: the folder with the corpus's kernel for the open problem
    tools/corpus place "$(ls common/ops/*/tests/right/open_"$1".cu)" "$scratch/$1" >/dev/null || return 1
    grep -v '^measured' "$1"_*/solution/predictions.txt >"$scratch/$1/predictions.txt"
}

corpus step1
check "lab 1: the goal is reached" exits 0 open_problem step1 "$scratch/step1" --json "$scratch/open.json"
check "lab 1: without points" grep -q '"points_max": *0' "$scratch/open.json"
check "lab 1: the taught kernel is right and does not reach it" exits 1 open_problem step1 step1_naive/solution
check "lab 1: which is no mistake" says "the result is right, the goal is open" open_problem step1 step1_naive/solution
check "a lab has one open problem, and --list shows it" says "softmax with one read less" $grader --list
check "a run of the open problem measures nothing that was predicted" fails grep -q '^measured' "$scratch/step1/predictions.txt"
if [ -n "${TEST_ALL:-}" ]; then
    corpus step2
    check "lab 2: the goal is reached" exits 0 open_problem step2 "$scratch/step2"
    check "lab 2: the taught kernel does not reach it" exits 1 open_problem step2 step2_warp_reduce/solution
    check "lab 3: the solution reaches the goal" exits 0 open_problem step3 step3_fused/solution
    corpus step4
    check "lab 4: the goal is reached" exits 0 open_problem step4 "$scratch/step4"
    check "lab 4: the taught form does not reach it" exits 1 open_problem step4 step4_gpt2_integration/solution
    check "lab 4: products of a library are not counted, and do not count" \
        says "only kernels count" open_problem step4 step4_gpt2_integration/solution
fi
finish
