# shellcheck shell=sh
# Training against transformers and PyTorch, where Python has them: compare.py says what is compared.
# PYTHON: the interpreter to ask.
python=${PYTHON:-python3}
if ! "$python" -c 'import torch, transformers, safetensors' 2>/dev/null; then
    echo "ok 1 # SKIP $python has no modules torch, transformers (pip install them, in an environment of your own)"
    echo 1..1
    exit 0
fi
exec "$python" step4_gpt2_integration/gpt2/train/tests/compare.py "${BUILD:-build}/gpt2/cpu/gpt2" "${BUILD:-build}/gpt2/tokenize"
