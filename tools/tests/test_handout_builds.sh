# shellcheck shell=sh
# The archive that is handed out builds by itself in an empty directory, and so does a lab/ that was made and edited before the
# course's folders moved.
. tools/tests/tap.sh
export LC_ALL=C.UTF-8

export BUILD="$scratch/build"
mkdir -p "$BUILD" "$scratch/empty"
tools/lab.sh handout >/dev/null && tar -xzf "$BUILD/handout/gpu-kernel-labs.tar.gz" -C "$scratch/empty"
handout=$scratch/empty/gpu-kernel-labs

unset BUILD MAKEFLAGS MAKELEVEL COURSE # nothing of this checkout's may help
fresh() { (cd "$handout" && env -i PATH="$PATH" HOME="$scratch" LANG=C.UTF-8 CI=true "$@"); }
built() { fresh make BACKEND=cpu step1 2>"$scratch/complaints"; }
check "it builds by itself" built
check "and complains of nothing" exits 1 grep . "$scratch/complaints"
check "and its last line says what to type next" says "Next:  ./grader step1" fresh make BACKEND=cpu step1
check "its grader marks the skeleton: fewer than full marks" exits 1 fresh ./grader step1 --backend cpu
check "handed in, its files are named as the student knows them" says "then edit step1_naive/residual.cu" \
    fresh ./grader step1 --backend cpu --submission . --kernel residual_forward
check "make graph says that there is nothing to draw yet" says "no kernel of step1 runs yet" fresh make BACKEND=cpu graph STEP=step1
cp "$handout/step1_naive/residual.cu" "$scratch/residual.cu"
cp step1_naive/solution/residual.cu "$handout/step1_naive"
check "and draws what is written" says "Drew build/graph/step1/residual_forward.svg" fresh make BACKEND=cpu graph STEP=step1
cp "$scratch/residual.cu" "$handout/step1_naive"
python=$(tools/python-with yaml jsonschema)
step() { # step KEY=VALUE: the `run` of the workflow's step that has it
    "$python" -c '
import sys, yaml
key, value = sys.argv[2].split("=")
jobs = yaml.safe_load(open(sys.argv[1]))["jobs"]
print(next(s["run"] for job in jobs.values() for s in job["steps"] if s.get(key) == value))' \
        "$handout/.github/workflows/classroom.yml" "$1"
}
on_github() { step "$1" >"$scratch/step.sh" && fresh LAB=step1 GITHUB_OUTPUT="$scratch/github" \
    GITHUB_STEP_SUMMARY="$scratch/summary" bash -eo pipefail "$scratch/step.sh"; }
valid_result() {
    sed -n 's/^result=//p' "$scratch/github" | base64 -d >"$scratch/result.json" && "$python" -c '
import json, sys, jsonschema
result = json.load(open(sys.argv[1]))
jsonschema.validate(result, json.load(open("grader/tests/schemas/github.json")))
assert result["status"] == "fail" and result["max_score"] == 100 and len(result["tests"]) == 19, result' "$scratch/result.json"
}
check "its GitHub workflow builds the grader" on_github "name=Build the grader"
check "and marks the lab" on_github id=lab
check "with a result for GitHub Classroom's reporter" valid_result
check "and the report in the run's summary" grep -q '^      0 of 100 points' "$scratch/summary"
check "lab 4's skeleton is marked too, with the model around it" exits 1 fresh ./grader step4 --backend cpu
own=$handout/step4_gpt2_integration/block_backward.cu
cp "$own" "$scratch/handed-out.cu"
cp step4_gpt2_integration/solution/block_backward.cu "$own"
check "a block's gradients can be written with what is given there" fresh ./grader step4 --backend cpu --kernel block_backward
cp "$scratch/handed-out.cu" "$own"
check "the program around it is built" says "Built ./gpt2" fresh make BACKEND=cpu step4
not_started="a part of the model, is not started"
check "and names what the learner has not written" says "$not_started" fresh ./gpt2 generate --model tiny --kernels naive \
    --prompt "In the" --tokens 2
# A lab/ that was made and edited before gpt2/ moved into step4_gpt2_integration/: its Makefile and its files (tests/old_lab).
cp -R tools/tests/old_lab "$handout/course/lab"
old_lab() { (cd "$handout/course/lab" && env -i PATH="$PATH" HOME="$scratch" LANG=C.UTF-8 CI=true "$@"); }
check "an older lab finds every header that it includes" says "Next:  ./grader step2" old_lab make BACKEND=cpu step2
check "and builds its model" says "Built ./gpt2" old_lab make BACKEND=cpu step4
check "which runs the lab's parts" says "$not_started" old_lab ./gpt2 generate --model ../gpt2/tiny --kernels naive \
    --prompt "In the" --tokens 2
check "and is marked" old_lab ./grader step4 --backend cpu --kernel decode_attention_f32
rm -r "$handout/course/lab"
touch "$scratch/stamp"
newer() { find "$handout" -newer "$scratch/stamp" -type f "$@"; }
fresh make BACKEND=cpu step1 >/dev/null 2>&1
check "a second make builds nothing" test -z "$(newer)"
touch "$handout/course/common/runner/protocol.h"
fresh make BACKEND=cpu step1 >/dev/null 2>&1
check "a changed header rebuilds the grader" test -n "$(newer -path '*/build/grader/grader')"
check "and the runners" test -n "$(newer -path '*/build/cpu/step1_naive/softmax')"
check "everything built lies in build/" test -z "$(find "$handout" -name '*.o' -not -path '*/build/*')"
finish
