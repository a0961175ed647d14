# shellcheck shell=sh
# Random tokenizer folders beside transformers' AutoTokenizer, where Python has it: folders.py says what is compared.
# TOKENIZER_FOLDERS=N: so many folders (400). PYTHON: the interpreter to ask.
python=${PYTHON:-$(tools/python-with transformers tokenizers || echo python3)}
if ! "$python" -c 'import transformers, tokenizers' 2>/dev/null; then
    echo "ok 1 # SKIP $python has no module transformers (pip install transformers, in an environment of your own)"
    echo 1..1
    exit 0
fi
exec "$python" step4_gpt2_integration/gpt2/tokenizer/tests/folders.py "${BUILD:-build}/gpt2/tokenize" "${TOKENIZER_FOLDERS:-400}"
