# shellcheck shell=sh
# The reference write-ups: every cell to fill has an answer, and a page that does not belong to its notebook is found. That the
# notebooks run is tested by make test-notebooks.
. tools/tests/tap.sh # makes $scratch

mkdir -p "$scratch/tools/lab" "$scratch/docs"
cp tools/writeups "$scratch/tools"
cp tools/lab/writeup.py "$scratch/tools/lab"
notebook=$scratch/step1_naive/writeup.ipynb answers=$scratch/step1_naive/solution/writeup.md
fresh() {
    mkdir -p "$scratch/step1_naive/solution"
    cp step1_naive/writeup.ipynb "$notebook"
    cp step1_naive/solution/writeup.md "$answers"
    cp docs/writeup-step1.md "$scratch/docs"
}
current() { python3 "$scratch/tools/writeups" --current step1; }

fresh
check "a page of the present notebook and answers is current" says "1 passed, 0 failed" current
sed -i 's/Fill in the cells/Fill the cells/' "$notebook"
check "after a change of the notebook it is not" exits 1 current
check "and it is named" says "docs/writeup-step1.md was not made from the present notebook and answers" current
fresh
sed -i 's/^Residual add: /The residual add: /' "$answers"
check "after a change of an answer it is not" exits 1 current
fresh
sed -i 's/^## answer-2$/## answer-two/' "$answers"
check "a question without an answer is named" says "has no section ## answer-2" current
fresh
printf '\n## answer-9\nNobody asked.\n' >>"$answers"
check "an answer without a question is named" says "no cell to fill called answer-9" current
fresh
sed -i '0,/^16$/{/^16$/d}' "$answers"
check "a missing value of a cell of code is named" says "predict-bytes has 2 values for 3 times None" current
check "an unknown lab is named" says "no lab with a write-up is called step9" python3 tools/writeups --current step9
check "an unknown option shows the usage" says "writeups [--write | --current] [STEP...]" python3 tools/writeups --curent

# Messages of a kernel end where the time falls; a page must not show that.
one_block() {
    python3 - <<'PYTHON'
from importlib.machinery import SourceFileLoader
import sys
sys.dont_write_bytecode = True
writeups = SourceFileLoader("writeups", "tools/writeups").load_module()
class Output(dict):
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__
said = [Output(name="stdout", text="one\n"), Output(name="stdout", text="two\n"), Output(name="stderr", text="three\n")]
sys.exit([output.text for output in writeups.whole(said)] != ["one\ntwo\n", "three\n"])
PYTHON
}
check "what a cell prints in two messages is one block of the page" one_block

# Predictions come first: the cells before the measurement show nothing, and the measurement asks for the predictions.
first_measure() { # the code of the first cell that calls mark() or require(), as one line
    python3 - "$1" <<'PYTHON'
import json, sys
code = ["".join(c["source"]) for c in json.load(open(sys.argv[1]))["cells"] if c["cell_type"] == "code"]
filled = [i for i, text in enumerate(code) if "None" in text and i < next(i for i, text in enumerate(code) if "mark(" in text)]
names = {line.split(" = ")[0] for i in filled for line in code[i].splitlines() if " = " in line and not line.startswith((" ", "floor", "H, D"))}
measure = next(text for text in code if "report = mark(" in text)
missing = [name for name in names if name not in measure]
sys.exit(f"{sys.argv[1]}: mark() does not ask for {missing}" if missing or not names else 0)
PYTHON
}
for written in step*/writeup.ipynb; do
    check "$written measures after all its predictions" first_measure "$written"
done
finish
