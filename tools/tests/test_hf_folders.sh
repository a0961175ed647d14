# shellcheck shell=sh
# Folders of GPT-2's relatives as they are on the hub, beside transformers: tools/hf/folders.py says which, and prints TAP. Only where
# Python has torch and transformers (PYTHON= names the interpreter).
python=${PYTHON:-$(tools/python-with torch transformers || echo python3)}
if ! "$python" -c 'import torch, transformers' 2>/dev/null; then
    echo "ok 1 # SKIP torch and transformers are not here (pip install torch transformers; PYTHON= names the python)"
    echo 1..1
    exit 0
fi
gpt2=${BUILD:-build}/gpt2/cpu/gpt2
[ -x "$gpt2" ] || gpt2=${BUILD:-build}/gpt2/cuda/gpt2
exec "$python" tools/hf/folders.py --gpt2 "$gpt2" --tokenize "${BUILD:-build}/gpt2/tokenize"
