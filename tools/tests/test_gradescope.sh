# shellcheck shell=sh
# The autograder that `make gradescope` packs, unpacked and run as Gradescope does, in a folder of its own.
. tools/tests/tap.sh
export LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL COURSE

echo 'predictions step1 20' >"$scratch/class.conf"
BUILD="$scratch/build"
mkdir -p "$BUILD/grader" && ln -s "$PWD/build/grader/grader" "$BUILD/grader/grader"
export BUILD
check "no step: the message says which there are" says "say which step: STEP=step1 (there are: step1 step2" tools/gradescope/pack
check "a config that is wrong is refused before it is packed" exits 2 tools/gradescope/pack step1 tools/gradescope/pack
check "a seed is a number" says "SEED is a number, not x" tools/gradescope/pack step1 "" x
check "the autograder is packed" says "step1.zip" tools/gradescope/pack step1 "$scratch/class.conf" 7
autograder=$scratch/autograder
mkdir -p "$autograder/source" "$autograder/submission"
check "it unpacks" unzip -q "$BUILD/gradescope/step1.zip" -d "$autograder/source"
unset BUILD
check "its scripts are at the top, as Gradescope wants them" test -x "$autograder/source/setup.sh" -a -x "$autograder/source/run_autograder"
check "no solution and no test is in it" test -z "$(find "$autograder/source" -name '*solution*' -o -name tests)"
cp "$autograder/source/run_autograder" "$autograder" # Gradescope does the same
fresh() { (cd "$autograder" && env -i PATH="$PATH" HOME="$scratch" AUTOGRADER="$autograder" "$@"); }
check "setup.sh builds the grader" fresh source/setup.sh
check "which other users cannot reach" test "$(stat -c %a "$autograder/source")" = 700

python=$(tools/python-with jsonschema)
hand_in() { rm -rf "$autograder/submission" && mkdir -p "$autograder/submission/$2" && [ -z "$1" ] || cp "$1"/* "$autograder/submission/$2"; }
valid() { # valid EXPRESSION: results.json has Gradescope's form, and this holds of it
    "$python" -c '
import json, sys, jsonschema
r = json.load(open(sys.argv[1]))
jsonschema.validate(r, json.load(open("grader/tests/schemas/gradescope.json")))
s, m = r["score"], sum(t["max_score"] for t in r["tests"])
assert eval(sys.argv[2]), r' "$autograder/results/results.json" "$1"
}
hand_in step1_naive/solution .
check "the reference is marked" fresh ./run_autograder
check "with full marks, by the class's points" valid 's == m == 110 and all(t["status"] == "passed" for t in r["tests"])'
hand_in step1_naive/skeleton gpu-kernel-labs/step1_naive
check "the skeleton, deep in a folder, is marked, too" fresh ./run_autograder
check "with no points" valid 's == 0 and m == 110'
hand_in "" .
check "an empty submission is a result as well" fresh ./run_autograder
check "which says why" valid 's == 0 and "holds none of step1" in r["output"]'
mv "$autograder/source/course/build/grader/grader" "$scratch/gone"
check "a grader that fails gives no result" exits 1 fresh ./run_autograder
check "none at all" test ! -e "$autograder/results/results.json"
finish
