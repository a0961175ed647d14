# shellcheck shell=sh
# The comparison of GPT-2 with PyTorch: its list of cells, and its tables, from figures that are easy to check. With PyTorch
# and transformers (PYTHON= names the interpreter) and the program built, also a real cell on this machine's CPU.
. tools/tests/tap.sh

python=${PYTHON:-python3}
listed() { # listed WANTED OPTIONS...: how many cells these options make
    wanted=$1
    shift
    PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 python3 -c '
import gpt2_bench
print(len(list(gpt2_bench.cells(gpt2_bench.options()))))' "$@" >"$scratch/count"
    [ "$(cat "$scratch/count")" = "$wanted" ] || { cat "$scratch/count"; return 1; }
}
one_cell() { # all three candidates, and each has its figures
    PYTHONDONTWRITEBYTECODE=1 "$python" tools/peers/gpt2_bench.py --device cpu --gpt2 build/gpt2/cpu/gpt2 --sizes 124M \
        --batch 1 --types f32 --lengths 0 --positions 8 --tokens 3 --seconds 0 --by ours,hf --json "$scratch/cell.jsonl" &&
        [ "$(grep -c '"ms_p50"' "$scratch/cell.jsonl")" = 2 ]
}

if command -v python3 >/dev/null 2>&1; then
    check "a cell for each combination" listed $((4 * 2 * 5 * 6))
    check "0 leaves a kind out" listed 2 --sizes 124M --types f32,bf16 --batch 1 --lengths 0 --positions short
    check "those with targets" listed 12 --targets
    check "steps of training, when asked for" listed 2 --train 128,1024 --sizes 124M --types bf16 --batch 8 --lengths 0 --positions 0
else
    skip "a cell for each combination" "python3 is not here"
fi
if [ -x build/gpt2/cpu/gpt2 ] && "$python" -c 'import torch, transformers' 2>/dev/null; then
    check "a cell by both on this CPU" one_cell
else
    skip "a cell by both on this CPU" "PyTorch and transformers are not here, or gpt2 is not built"
fi

mkdir -p "$scratch/docs/results/gpt2"
figure() { # figure WHAT BY MS RATE BYTES
    printf '{"size": "124M", "type": "bf16", "what": "%s", "batch": 1, "tokens": 64, "by": "%s", "ms_p50": %s, "tokens_per_s": %s, "bytes": %s, "cpu_ms": 2, "gb_per_s": 100, "device": "G"}\n' "$@"
}
table() { root=$(pwd) && (cd "$scratch" && "$root/tools/generated/gpt2-bench" "$1"); }
check "nothing stored: it says how to" says "make bench-gpt2" table decode
{
    for ms in 1 9 2; do figure prompt ours $ms 10 100; done
    figure prompt hf 5 10 150
    figure prompt compile 3 10 100
    figure decode ours 1 1000 100
    figure decode hf 1 100 100
    figure decode compile 1 500 100
    figure train ours 1 600 2000000000
    figure train compile 1 400 3000000000
} >"$scratch/docs/results/gpt2/gpu.jsonl"
check "prompts: the median of the turns, ratios above 1 are good" says "| 124M, bf16, 1 x 64 | 2.000 | 5.000 | 3.000 | 2.50 / 1.50 | 1.50 |" table prompts
check "decoding: tokens a second" says "| 124M, bf16, 1, 64 | 1000.0 (100) | 100.0 | 500.0 | 10.00 / 2.00 | 1.00 |" table decode
check "training: tokens a second, and memory" says "| 124M, bf16, 1 x 64 | 600 |  | 400 | – / 1.50 | 2.00 (1.50) |" table train
check "summary: the speed-up over torch.compile" says "| decoding, 124M, bf16, batch 1, position 64 | 1000 tokens/s | 500 tokens/s | 2.00 |" table summary
printf '{"size": "124M", "type": "f32", "what": "decode", "batch": 1, "tokens": 2000, "by": "ours", "not_measured": "the context is 1024"}\n' >>"$scratch/docs/results/gpt2/gpu.jsonl"
check "what was not measured says why" says "not measured: the context is 1024" table decode
finish
