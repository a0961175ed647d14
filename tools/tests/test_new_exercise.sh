# shellcheck shell=sh
# The chapter "Add an exercise" of docs/adding-an-exercise.md, followed literally in a copy of the course: its files are written, its
# commands are run, and what they print is what the chapter shows.
. tools/tests/tap.sh # makes $scratch
. tools/tests/copy.sh
export LC_ALL=C.UTF-8
unset BUILD COURSE TEST_ALL
op=leaky_relu_forward

copy_course "$scratch/course"
cd "$scratch/course" || exit 1
awk '/^## / { inside = $0 == "## Add an exercise" } inside' docs/adding-an-exercise.md >"$scratch/chapter.md"

# A block  ```LANGUAGE title="PATH"  is a file; with  title="PATH (add)"  it is added to one.
awk '
    /^```[a-z]+ title="/ {
        path = $0
        sub(/^[^"]*"/, "", path)
        sub(/"$/, "", path)
        added = sub(/ \(add\)$/, "", path)
        folder = path
        sub(/\/[^\/]*$/, "", folder)
        system("mkdir -p " folder)
        if (!added) printf "" >path
        print path
        next
    }
    /^```$/ { if (path) close(path); path = ""; next }
    path { print >>path }' "$scratch/chapter.md" >"$scratch/files"
check "the chapter has files of an op and of a lab" test "$(grep -c "$op\|step1_naive" "$scratch/files")" -ge 10
check "it has no other" exits 1 grep -v "^common/ops/$op/\|^step1_naive/" "$scratch/files"

# A block  ```console  is commands and what they print. `make test` and `make check` are run in part, below.
awk '/^```console$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$scratch/chapter.md" >"$scratch/session"
squeeze() { sed 's/  */ /g; s/^ //; s/ $//'; }
prints() { # prints COMMAND: every line that the chapter shows below it
    eval "$1" >"$scratch/output" 2>&1 </dev/null
    squeeze <"$scratch/output" >"$scratch/squeezed"
    awk -v command="\$ $1" '/^\$ / { inside = $0 == command; next } inside && !/^\.\.\.$|^$/' "$scratch/session" |
        squeeze | while read -r line; do
        grep -qF -- "$line" "$scratch/squeezed" || { echo "no '$line' in:"; cat "$scratch/output"; exit 1; }
    done
}
sed -n 's/^\$ //p' "$scratch/session" | grep -v '^make test$\|^make check$' >"$scratch/commands"
check "it has commands" test "$(wc -l <"$scratch/commands")" -ge 5
while read -r command <&3; do
    check "$command prints what the chapter shows" prints "$command"
done 3<"$scratch/commands"
for shown in "pass optional" "not started optional" "[leaky-relu-slope-fixed]" "leaky ReLU, forward, hint 1 of 3"; do
    check "the chapter shows '$shown'" says "$shown" squeeze <"$scratch/session"
done

# Of `make test` and `make check`: what looks at every op.
check "the tests build" make -s -j2 build/tests/test_ops build/tests/test_op_references build/tests/test_lab \
    build/tests/test_inputs build/tests/test_corpus build/tests/test_diagnose build/tests/test_ladders
check "the op's description is sound, its contract agrees with it, and its test passes" build/tests/test_op_references
check "its test is among them" says "leaky_relu_forward: 2 tests" build/tests/test_op_references --list
check "it has statistics and inputs like other ops" sh -c "build/tests/test_ops && build/tests/test_inputs"
check "its exercise is complete" build/tests/test_lab
check "its wrong kernel belongs to a mistake" build/tests/test_corpus --filter 'corpus/[ekd]*'
check "its mistake is named" build/tests/test_diagnose --filter 'diagnose/each_computed*'
check "its solution uses little of the tolerance" says "step1 ${op}_f32 kernel 0" build/tests/test_ladders
check "the skeletons are current" make -s check-skeletons
handout_passes() { # with its plan, and without a failure
    sh tools/tests/test_handout.sh >"$scratch/handed"
    ! grep '^not ok' "$scratch/handed" && grep '^1\.\.' "$scratch/handed"
}
check "the hand-out gives nothing away" handout_passes
tools/lab.sh handout >"$scratch/packed"
handout=$(echo build/handout/*/course)
check "it has the contract" cmp common/ops/$op/contract.h "$handout/common/ops/$op/contract.h"
check "and the skeleton" cmp step1_naive/skeleton/leaky_relu.cu "$handout/../step1_naive/leaky_relu.cu"
check "and neither the op's tests nor the solution" exits 1 grep -rq 'leaky_relu_forward_kernel1<<<\|0\.01f \* x' "$handout/.."
finish
