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
one_cell() { # two candidates, and each has its figures. A prompt: steps of hf are differences, which noise can make negative
    PYTHONDONTWRITEBYTECODE=1 "$python" tools/peers/gpt2_bench.py --device cpu --gpt2 build/gpt2/cpu/gpt2 --sizes 124M \
        --batch 1 --types f32 --lengths 8 --positions 0 --seconds 0 --by ours,hf --json "$scratch/cell.jsonl" &&
        [ "$(grep -c '"ms_p50"' "$scratch/cell.jsonl")" = 2 ]
}
# A program whose figures are given: a cell is stored, or the reason why it has no figure.
mkdir -p "$scratch/bin"
cat >"$scratch/bin/timed" <<'GPT2'
#!/bin/sh
while [ "$1" != --json ]; do shift; done
echo "{\"ms_p5\": $LEAST, \"ms_p50\": 2, \"tokens_per_s\": 500, \"bytes\": 1}" >"$2"
GPT2
chmod +x "$scratch/bin/timed"
timed() { # timed LEAST: prints what is stored
    rm -f "$scratch/timed.jsonl"
    LEAST=$1 PYTHONDONTWRITEBYTECODE=1 python3 tools/peers/gpt2_bench.py --gpt2 "$scratch/bin/timed" --sizes 124M --batch 1 \
        --types f32 --lengths 0 --positions short --by ours --json "$scratch/timed.jsonl" && cat "$scratch/timed.jsonl"
}

# Libraries that take the place of PyTorch's own: maps as of a process, and the packages' folder.
mkdir -p "$scratch/packages/nvidia/cublas/lib" "$scratch/elsewhere"
touch "$scratch/packages/nvidia/cublas/lib/libcublasLt.so.13" "$scratch/elsewhere/libcublasLt.so.13" "$scratch/elsewhere/libz.so.1"
ln -s packages "$scratch/same"
replaced() { # replaced WANTED PATH...: which of these are, when they are loaded
    wanted=$1
    shift
    for path; do echo "7f00-7f01 r-xp 00000000 08:01 42    $scratch/$path"; done >"$scratch/maps"
    echo "7f02-7f03 rw-p 00000000 00:00 0    [heap]" >>"$scratch/maps"
    found=$(PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
import gpt2_bench
print(*gpt2_bench.replaced_libraries([sys.argv[1]], open(sys.argv[2]).read()))' "$scratch/packages" "$scratch/maps")
    [ "$found" = "${wanted:+$scratch/$wanted}" ] || { echo "$found"; return 1; }
}

returns_cache() { # the compiler sees logits, and keys and values of each layer, among the outputs
    PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import torch
import gpt2_torch
gpt2_torch.SHAPES["small"] = 3, 2, 16
model = gpt2_torch.open_model({"type": "f32", "size": "small"}, "cpu")
outputs = []
def count(graph, inputs):
    outputs.append(len(graph.graph.output_node().args[0]))
    return graph.forward
with torch.no_grad():
    logits, cache = torch.compile(gpt2_torch.prompt_pass(model), backend=count)(torch.zeros((2, 5), dtype=torch.long))
assert outputs == [1 + 2 * 3], outputs
assert logits.shape == (2, 1, gpt2_torch.VOCABULARY), logits.shape
assert [tensor.shape for layer in cache for tensor in layer] == [(2, 2, 5, 8)] * 6'
}
small_cell() { # a cell of a small model, as PyTorch's process gives it
    PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import argparse
import json
import gpt2_torch
gpt2_torch.SHAPES["small"] = 1, 1, 8
cell = {"size": "small", "type": "f32", "what": "prompt", "batch": 1, "tokens": 4, "by": "hf"}
print(json.dumps(gpt2_torch.measure(cell, argparse.Namespace(device="cpu", threads=1, seconds=0, tokens=2))))'
}
replaced_cell() { # with a copy of a library of PyTorch from elsewhere
    own=$("$python" -c 'import torch, os; print(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))')
    cp "$own" "$scratch/elsewhere/" && LD_PRELOAD=$scratch/elsewhere/libc10.so small_cell
}
clips() { # the optimizer gets gradients of a norm of 1 where that of the loss is larger
    PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import torch
import gpt2_training
model = torch.nn.Linear(3, 3)
norms = []
class Recorder(torch.optim.SGD):
    def step(self):
        norms.append(float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm()))
optimizer = Recorder(model.parameters())
for scale in (100.0, 0.001):
    gpt2_training.update(scale * model(torch.ones(1, 3)).sum(), model, optimizer)
assert abs(norms[0] - 1) < 1e-5 and norms[1] < 0.01, norms
assert all(p.grad is None for p in model.parameters())'
}

if command -v python3 >/dev/null 2>&1; then
    check "a cell for each combination" listed $((4 * 2 * 5 * 6))
    check "0 leaves a kind out" listed 2 --sizes 124M --types f32,bf16 --batch 1 --lengths 0 --positions short
    check "those with targets" listed 12 --targets
    check "a time is stored" says '"ms_p50": 2' timed 1
    check "a negative time is not measured" says '"not_measured": "ms_p5 is -1.000: a time must be above 0"' timed -1
    check "and no figure of it is stored" fails says '"ms_p50"' timed -1
    check "PyTorch's own libraries are not replaced" replaced "" packages/nvidia/cublas/lib/libcublasLt.so.13 elsewhere/libz.so.1
    check "nor through a link" replaced "" same/nvidia/cublas/lib/libcublasLt.so.13
    check "another file of the same name is" replaced elsewhere/libcublasLt.so.13 elsewhere/libcublasLt.so.13 elsewhere/libz.so.1
    check "steps of training, when asked for" listed 2 --train 128,1024 --sizes 124M --types bf16 --batch 8 --lengths 0 --positions 0
else
    skip "a cell for each combination" "python3 is not here"
fi
if "$python" -c 'import torch, transformers' 2>/dev/null; then
    check "the compiled prompt returns its cache" returns_cache
    check "a training step clips by the global norm" clips
    check "PyTorch with its own libraries is timed" says '"ms_p50"' small_cell
    check "with another's it is not" says "PyTorch loaded $scratch/elsewhere/libc10.so in place of its own" replaced_cell
else
    skip "the compiled prompt returns its cache" "PyTorch and transformers are not here"
    skip "a training step clips by the global norm" "PyTorch and transformers are not here"
    skip "PyTorch with its own libraries is timed" "PyTorch and transformers are not here"
    skip "with another's it is not" "PyTorch and transformers are not here"
fi
if [ -x build/gpt2/cpu/gpt2 ] && "$python" -c 'import torch, transformers' 2>/dev/null; then
    check "a cell by both on this CPU" one_cell
else
    skip "a cell by both on this CPU" "PyTorch and transformers are not here, or gpt2 is not built"
fi

mkdir -p "$scratch/docs/results/gpt2"
figure() { # figure WHAT BY MS RATE BYTES; WORK: what a newer peer says
    printf '{%s"size": "124M", "type": "bf16", "what": "%s", "batch": 1, "tokens": 64, "by": "%s", "ms_p50": %s, "tokens_per_s": %s, "bytes": %s, "cpu_ms": 2, "gb_per_s": 100, "device": "G"}\n' "${WORK:+\"work\": \"$WORK\", }" "$@"
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
check "prompts: the median of the turns, ratios above 1 are good" says "| 124M, bf16, 1 x 64 | 2.000 | 5.000 | 3.000\\* | 2.50 / 1.50 | 1.50 |" table prompts
check "decoding: tokens a second" says "| 124M, bf16, 1, 64 | 1000.0 (100) | 100.0 | 500.0 | 10.00 / 2.00 | 1.00 |" table decode
check "training: tokens a second, and memory" says "| 124M, bf16, 1 x 64 | 600 |  | 400† | – / 1.50 | 2.00 (1.50) |" table train
check "summary: the speed-up over torch.compile" says "| decoding, 124M, bf16, batch 1, position 64 | 1000 tokens/s | 500 tokens/s | 2.00 |" table summary
check "older peers: a note says what they left out" says "torch.compile returned the logits alone there" table summary
check "older peers: those of training too" says "did not clip the gradients" table train
{
    WORK="logits and cache" figure prompt compile 4 10 100
    figure prompt compile 3 10 100
    WORK="clipped step" figure train compile 1 300 3000000000
} >>"$scratch/docs/results/gpt2/gpu.jsonl"
check "newer peers replace the older ones, also those that follow" says "| 2.000 | 5.000 | 4.000 | 2.50 / 2.00 |" table prompts
check "newer peers of training replace the older ones" says "| 600 |  | 300 | – / 2.00 |" table train
check "newer peers have no note" fails says "logits alone" table summary
printf '{"size": "124M", "type": "f32", "what": "decode", "batch": 1, "tokens": 2000, "by": "ours", "not_measured": "the context is 1024"}\n' >>"$scratch/docs/results/gpt2/gpu.jsonl"
check "what was not measured says why" says "not measured: the context is 1024" table decode

# Several GPUs: a program that prints the rates of two GPUs only where it has two.
mkdir -p "$scratch/docs/results/scaling"
printf '#!/bin/sh\necho "Card"\necho "Card"\n' >"$scratch/bin/nvidia-smi"
cat >"$scratch/bin/gpt2" <<'GPT2'
#!/bin/sh
echo "from step 0: 5.1 MB of device memory"
rate=100
case "$*" in *"--gpus 2 --zero 1"*) rate=190 ;; *"--gpus 2"*) rate=150 ;; esac
i=0
while [ $i -lt 44 ]; do
    i=$((i + 1))
    echo "step $i/44 loss 1 norm 1 $rate tok/s"
done
GPT2
chmod +x "$scratch/bin/nvidia-smi" "$scratch/bin/gpt2"
scaling() {
    PATH="$scratch/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 python3 tools/peers/scaling.py --by ours --batch 2 --run R \
        --gpt2 "$scratch/bin/gpt2" --json "$scratch/docs/results/scaling/card.jsonl" "$@"
}
scaling_table() { root=$(pwd) && (cd "$scratch" && "$root/tools/generated/scaling" "$1"); }
sum_figure() {
    echo '{"device": "Card", "present": 2, "run": "R", "what": "sum", "bucket": "b", "bytes": 360000000, "sums": 2, "gpus": 2, "ms_p50": 1.5}'
    for zero in 0 1; do
        echo "{\"device\": \"Card\", \"present\": 2, \"run\": \"R\", \"what\": \"memory\", \"size\": \"124M\", \"type\": \"bf16\", \"batch\": 2, \"tokens\": 8, \"gpus\": 2, \"zero\": $zero, \"bytes\": $((3000000000 - zero * 750000000))}"
    done >>"$scratch/docs/results/scaling/card.jsonl"
}
if command -v python3 >/dev/null 2>&1; then
    check "two GPUs: alone, apart and together" says "ours together 2" scaling
    check "with --zero 1" scaling --settings together --zero 1
    sum_figure >>"$scratch/docs/results/scaling/card.jsonl"
    check "the table has their ratio" says '| 124M, 2 | `gpt2 train`, `--zero 1` | 2 | 100 | 200 | 190 | 1.900 |' scaling_table steps
    check "a sum beside a ring's" says "| b | 2 | 360.0 | 1.020 | 1.500 |" scaling_table sums
    check "memory beside its formula" says "| 124M, bf16, 2 x 8, 2 ranks | 3.00 | 2.25 | 0.750 | 0.747 |" scaling_table memory
else
    skip "two GPUs: alone, apart and together" "python3 is not here"
fi
finish
