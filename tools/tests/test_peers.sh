# shellcheck shell=sh
# The comparison with PyTorch calls launchers by hand-written lists of arguments: they must be the contracts' own. And its
# table must show a miss. No GPU and no PyTorch is needed for either.
. tools/tests/tap.sh

arguments() { # arguments OP: the names in the contract's prototype
    tr '\n' ' ' <"common/ops/$1/contract.h" | sed -n "s/.*int $1_f32(\([^)]*\)).*/\1/p" | tr ',' '\n' | grep -o '[A-Za-z]*$' | paste -sd' '
}
as_contracted() { # every op of tools/peers/ops.py has the arguments of its contract
    PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 python3 -c '
from ops import OPS
for op in OPS.values():
    sizes = op.sizes.replace("zero", "upper").replace("keep", "upper").split()
    print(op.launcher or op.name, *[tensor.name for tensor in op.tensors], *sizes, "stream")' >"$scratch/ops" || return 1
    [ -s "$scratch/ops" ] || return 1
    while read -r op given; do
        [ "$given" = "$(arguments "$op")" ] || { echo "$op: $given, but the contract has: $(arguments "$op")"; return 1; }
    done <"$scratch/ops"
}
bytes() { # bytes WANTED OP TYPE SHAPE: what the op has to move at least
    PYTHONPATH=tools/peers PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
from ops import OPS, Cell
print(Cell(OPS[sys.argv[1]], sys.argv[2], eval(sys.argv[3])).bytes)' "$2" "$3" "$4" >"$scratch/bytes"
    [ "$(cat "$scratch/bytes")" = "$1" ] || { cat "$scratch/bytes"; return 1; }
}

if command -v python3 >/dev/null 2>&1; then
    check "the launchers are called as their contracts say" as_contracted
    check "softmax: two tensors" bytes 64 softmax_forward f32 "(2, 4)"
    check "LayerNorm: two tensors, two floats a row, two parameters" bytes $((2 * 8 * 2 + 2 * 2 * 4 + 2 * 4 * 2)) layernorm_forward bf16 "(2, 4)"
    check "causal: a triangle read, all of it written" bytes $((6 * (10 + 16) * 2)) causal_softmax_forward bf16 "(2, 3, 4)"
    check "causal, the lower triangle alone" bytes $((6 * 3 * 10 * 4)) causal_softmax_backward_keep f32 "(2, 3, 4)"
else
    skip "the launchers are called as their contracts say" "python3 is not here"
fi

# The tables, from a few lines with figures that are easy to check.
mkdir -p "$scratch/docs/results/peers"
figure() { # figure BY US OF_COPY
    printf '{"op": "softmax_forward", "type": "bf16", "shape": "8x9", "rows": 8, "columns": 9, "bytes": 200000000, "by": "%s", "us": %s, "of_copy": %s, "gpu": "G", "torch": "2"}\n' "$@"
}
table() { root=$(pwd) && (cd "$scratch" && "$root/tools/generated/peers" "$1"); }
check "nothing stored: it says how to" says "make bench" table summary
{
    figure copy 9 1
    figure ours 10 0.9
    figure eager 30 0.3
    figure compile 20 0.45
    figure "compile max" 12.5 0.72
    printf '{"op": "softmax_forward", "type": "bf16", "shape": "8x9", "tensor": "out", "elements": 1000, "error": 2.4e-3, "torch_error": 1.2e-3}\n'
} >"$scratch/docs/results/peers/lab.jsonl"
check "a cell below its target is marked" says "**0.90** (0.95)" table cells
check "and the target named" says "| **0.90** (0.95) | copy |" table cells
check "and the speed-ups over PyTorch, of both modes" says "| 1.25 | 2.00 (1.25) |" table cells
check "the fold says how many cells meet their targets" says ": 0 of 1 cells meet all their targets</summary>" table cells
check "the means are over both of torch.compile's modes, and marked" says "| from 100 MB, bf16 | 1 | 1.30 | 2.000 | **1.250** |" table summary
check "misses are counted" says "| **0 of 1** |" table summary
check "an error past PyTorch's is marked" says "**2.00**" table errors
{
    figure "copy early" 8 1.125
    figure triangle 12 0.75
} >>"$scratch/docs/results/peers/lab.jsonl"
check "the copy that starts early has a mean of its own" says "| from 100 MB | 1 | 0.900 | 0.800 |" table early
check "a copy of triangles stands between ours and the copy" says "| 10.00 | 12.00 (1.20) | 9.00 (0.90) | 0.75 |" table triangles
sed -i 's/"8x9"/"65536x9"/' "$scratch/docs/results/peers/lab.jsonl"
finish
