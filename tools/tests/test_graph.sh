# shellcheck shell=sh
# make graph: kernels are nodes with launches and bytes, arrays are edges, and an op stands beside its parts. The kernels are those
# of the corpus and of the small labs, because they compile quickly.
. tools/tests/tap.sh # makes $scratch

course=$PWD
lab=$scratch/lab
mkdir -p "$lab/step1_naive" "$lab/step2_warp_reduce" "$lab/step3_fused"
cp step1_naive/solution/residual.cu "$lab/step1_naive"
cp step2_warp_reduce/solution/*.cu* "$lab/step2_warp_reduce"
cp step3_fused/solution/*.cuh step3_fused/skeleton/causal_softmax_backward.cu "$lab/step3_fused"
cp common/ops/residual_layernorm_forward/tests/right/warp_per_row_f32.cu "$lab/step3_fused/residual_layernorm.cu"
cp common/ops/causal_softmax_forward/tests/right/scratch_of_pool.cu "$lab/step3_fused/causal_softmax.cu"

graph() { (cd "$lab" && "$course/common/graph" "$course" "$@"); }
dot=$lab/build/graph/step3/residual_layernorm_forward.dot
has() { grep -qF -- "$1" "${2:-$dot}" || { echo "no '$1' in:"; cat "${2:-$dot}"; return 1; }; }
lacks() { ! grep -F -- "$1" "${2:-$dot}"; }

check "the kernels that run are drawn, others named" says \
    "causal_softmax_backward is not started: write a kernel in step3_fused/causal_softmax_backward.cu" graph step3
check "a file that is not there is named" says "step3_fused/residual_layernorm_backward.cu is not here" graph step3
check "Graphviz draws the graph" test -s "${dot%.dot}.svg"
plain() { dot -Tplain "$dot" >"$scratch/plain"; }
check "it is a graph" plain

# N=1024 rows of C=768 floats: an array is 3.15 MB.
cluster() { awk -v name="cluster_$1" '$2 == name { inside = 1 } inside; inside && /^  }/ { exit }' "$dot" >"$scratch/$1"; }
cluster yours
cluster parts
nodes() { grep -c class=kernel "$1"; }
check "the fused op is one kernel" test "$(nodes "$scratch/yours")" = 1
check "its parts are two" test "$(nodes "$scratch/parts")" = 2
check "the kernel has launches, blocks and threads" has '1 launch, 256 blocks x 128 threads' "$scratch/yours"
check "it reads each input once" has 'in_yours_5 -> yours1 [label="read 3.15 MB"]' "$scratch/yours"
check "what it writes and reads again is said" has 'write 3.15 MB, read again 6.29 MB' "$scratch/yours"
check "small arrays are grey" has 'label="read 3.15 MB" class=small' "$scratch/yours"
check "18.87 MB: two inputs, two outputs, and sum twice" has '1 launch, 18.87 MB' "$scratch/yours"
check "the add is lab 1's" has 'residual_forward_kernel1 (step1)' "$scratch/parts"
check "the LayerNorm is lab 2's" has '(step2)' "$scratch/parts"
check "the sum goes from one to the other" has 'parts1 -> parts2 [label="sum: read 9.44 MB"]' "$scratch/parts"
check "and is a result" has 'label="sum\n3.15 MB"' "$scratch/parts"

dot=$lab/build/graph/step3/causal_softmax_forward.dot
check "what is only between two kernels is no result" lacks 'label="masked\n'
check "three kernels in parts, two of them given" has 'parts2 -> parts3 [label="masked: write 4.19 MB, read 8.39 MB"]'
check "memory that the launcher allocated is an edge" has '"scratch1: write'

cp common/ops/residual_layernorm_forward/tests/wrong/statistics_of_lane_31.cu "$lab/step3_fused/residual_layernorm.cu"
dot=$lab/build/graph/step3/residual_layernorm_forward.dot
check "a wrong result is said" says "The result of residual_layernorm_forward is wrong: ./grader step3 says why." graph step3
check "and drawn" has 'class=kernel'
echo 'this is no CUDA' >"$lab/step3_fused/residual_layernorm.cu"
check "so is a file that does not compile" says "step3_fused/residual_layernorm.cu does not compile: make step3 shows the error." graph step3
check "it is not drawn" fails test -e "$dot"

cp step3_fused/skeleton/*.cu step3_fused/skeleton/*.cuh "$lab/step3_fused"
check "of skeletons nothing is drawn" exits 1 graph step3
check "which is said" says "Nothing is drawn, because no kernel of step3 runs yet" graph step3
check "a step that is not there is a wrong command" exits 2 graph step9
check "with the steps that there are" says "STEP=step3 (there are: step1 step2 step3)" graph step9
finish
