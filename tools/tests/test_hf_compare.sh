# shellcheck shell=sh disable=SC2154,SC2034 # scratch: of tap.sh
# The program gpt2 beside Hugging Face's GPT-2 on small random models, where Python has torch and transformers (PYTHON= names
# the interpreter); and the table of the stored comparisons.
. tools/tests/tap.sh
python=${PYTHON:-$(tools/python-with torch transformers || echo python3)}
gpt2=${BUILD:-build}/gpt2/cpu/gpt2
[ -x "$gpt2" ] || gpt2=${BUILD:-build}/gpt2/cuda/gpt2
compare() { PYTHON=$python tools/hf/compare "$@" --gpt2 "$gpt2" --lengths 9,1,5 --tokens 40; }
one_line() { [ "$("$@" 2>&1 | wc -l)" = 1 ]; }

if "$python" -c 'import torch, transformers' 2>/dev/null; then
    check "tiny: as Hugging Face's" says "verdict" compare tiny --json "$scratch/lines"
    check "every figure is stored" [ "$(grep -c '"good": true' "$scratch/lines" 2>/dev/null)" = 33 ]
    check "a head of 17 channels, naive kernels" compare odd --kernels naive
    check "weights in bf16" compare tiny --type bf16 --seed 2
    check "GELU by erf, an untied head" compare tiny --setting activation_function=gelu --setting tie_word_embeddings=false
    check "ReLU, naive kernels" compare odd --kernels naive --setting activation_function=relu
    check "scores divided by the layer" compare tiny --setting scale_attn_by_inverse_layer_idx=true
    differs() { compare tiny --kernels wrong >"$scratch/differs"; [ $? = 1 ] && grep "different, first in gelu, layer 0" "$scratch/differs"; }
    check "a wrong kernel: exit 1, and the first wrong stage is named" differs
    gradients() { # of a key's bias there is none: the softmax does not see what is added to every score
        "$python" tools/hf/write_weights.py tiny "$scratch/model" &&
            echo "3 14 15 92 65" | "$python" tools/hf/reference.py "$scratch/model" - "$scratch/dump.safetensors" --gradients --steps 2 &&
            "$python" -c '
import sys
from safetensors.torch import load_file
found = load_file(sys.argv[1])
bias, losses = found["float64.gradient.h.0.attn.c_attn.bias"], found["float64.adamw.losses"]
assert bias[48:96].abs().max() < 1e-12 < bias[:48].abs().max(), bias
assert len(losses) == 3 and losses[2] < losses[1] < losses[0], losses' "$scratch/dump.safetensors"
    }
    check "gradients and losses of training are dumped" gradients
    recipes() { "$python" tools/hf/recipes.py "$scratch/model" tools/tests/tap.sh "$gpt2"; }
    check "overlapping windows and a repetition penalty: as transformers'" recipes
    none() { PYTHON=$python tools/hf/compare tiny --gpt2 "$scratch/none"; }
    check "no program: exit 2" exits 2 none
else
    skip "tiny: as Hugging Face's" "torch and transformers are not here (pip install torch transformers; PYTHON= names the python)"
fi

if command -v python3 >/dev/null 2>&1; then
    mkdir "$scratch/without"
    echo 'raise ImportError("none", name="torch")' >"$scratch/without/torch.py"
    without() { PYTHONPATH=$scratch/without PYTHON=python3 tools/hf/compare tiny; }
    check "without torch: exit 2" exits 2 without
    check "and it says what is missing" says "has no module torch" without
    check "in one line" one_line without
else
    skip "without torch: exit 2" "python3 is not here"
fi

# The table, from a few lines.
line() { # line STAGE LAYER OURS THEIRS RATIO GOOD
    printf '{"stage": "%s", "layer": %s, "ours": %s, "theirs": %s, "ratio": %s, "target": 2, "good": %s, "size": "9M", "type": "f32", "backend": "cpu", "machine": "CPU backend", "lengths": [2, 1], "kernels": "reference", "torch": "2", "transformers": "5", "date": "D", "command": "C"}\n' "$@"
}
table() { root=$(pwd) && (cd "$scratch" && "$root/tools/generated/hf"); }
check "nothing stored: it says how to" says "tools/hf/compare" table
mkdir -p "$scratch/docs/results/hf"
{
    line ln1 0 1e-7 1e-7 1.00 true
    line ln1 1 3e-7 1e-7 3.00 false
    line logits 2 2e-7 1e-7 0.50 true
    line "decoded logits" 2 2e-7 1e-7 0.75 true
    line "greedy tokens" 2 398 400 0.99 false
    line perplexity 2 1234.5678 1234.5679 1.5 true
} >"$scratch/docs/results/hf/9M.jsonl"
check "the worst hidden state, marked as past the target" says "| **3.00** (ln1, layer 1) | 0.50 | 0.75 | **398 of 400** | 1234.5678 | 1234.5679 |" table
finish
