# shellcheck shell=sh
# The tokenizer against Hugging Face's `tokenizers`, where Python has it: compare.py says what is compared.
# TOKENIZER_STRINGS=N: so many random strings (100000). PYTHON: the interpreter to ask.
python=${PYTHON:-python3}
if ! "$python" -c 'import tokenizers' 2>/dev/null; then
    echo "ok 1 # SKIP $python has no module tokenizers (pip install tokenizers, in an environment of your own)"
    echo 1..1
    exit 0
fi
exec "$python" step4_gpt2_integration/gpt2/tokenizer/tests/compare.py "${BUILD:-build}/gpt2/tokenize" "${TOKENIZER_STRINGS:-100000}"
