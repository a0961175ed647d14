# shellcheck shell=sh
# Wrong wirings of a GPT-2, each of which the comparison with Hugging Face has to find and name: wirings.py lists them and
# prints TAP. Only where Python has torch and transformers (PYTHON= names the interpreter).
python=${PYTHON:-$(tools/python-with torch transformers || echo python3)}
if ! "$python" -c 'import torch, transformers' 2>/dev/null; then
    echo "ok 1 # SKIP torch and transformers are not here (pip install torch transformers; PYTHON= names the python)"
    echo 1..1
    exit 0
fi
gpt2=${BUILD:-build}/gpt2/cpu/gpt2
[ -x "$gpt2" ] || gpt2=${BUILD:-build}/gpt2/cuda/gpt2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" tools/hf/write_weights.py tiny "$scratch/model" >&2 || exit 1
printf '%s\n' "815 6 321 940 77 12 501 388 259" "999" "17 333 4" >"$scratch/prompts"
"$python" tools/hf/wirings.py "$scratch/model" "$scratch/prompts" --gpt2 "$gpt2"
