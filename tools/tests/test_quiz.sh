# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# tools/teaching/quiz: its numbers follow the seed, and its sectors are those that the CPU backend counts.
. tools/tests/tap.sh
quiz=tools/teaching/quiz

same() { $quiz --seed "$1" --key >"$scratch/a" && $quiz --seed "$2" --key >"$scratch/b" && cmp "$scratch/a" "$scratch/b"; }
answered() { # answered COUNT OPTION...: as many questions, each with its answer
    count=$1
    shift
    $quiz --key "$@" >"$scratch/key" && $quiz "$@" >"$scratch/questions" || return 1
    [ "$(grep -c '^[0-9]*\. ' "$scratch/questions")" = "$count" ] && [ "$(grep -c '^    \*\*[0-9]' "$scratch/key")" = "$count" ] &&
        ! grep -q '^    ' "$scratch/questions" && grep -v '^    \*\*' "$scratch/key" | cat -s | cmp - "$scratch/questions"
}
alone() { # a question has the same numbers whichever others are chosen
    $quiz step2 --seed 7 | sed 's/^[0-9]*\. //' | sort >"$scratch/all"
    $quiz step2 --seed 7 --count 2 | sed 's/^[0-9]*\. //' | sort | comm -23 - "$scratch/all" | cmp - /dev/null
}
gift() { # a title, a text and a numeric answer in each
    $quiz --gift --seed 3 | grep . >"$scratch/gift"
    [ "$(grep -c . "$scratch/gift")" = "$(grep -cE '^::step[1-4] [0-9]+, [^:]+::\[markdown\].* \{#[0-9.e+-]+:[0-9.e+-]+####.*\}$' "$scratch/gift")" ]
}

# The question about sectors, for 40 seeds, as kernels. Their counts are the answers of the key.
counted() {
    for seed in $(seq 40); do
        $quiz step2 --seed "$seed" --key | sed -n 's/.*load `x\[\(.*\)\]`.*/\1/p; s/^    \*\*\([0-9]*\)\*\*: bytes .*/\1/p' | paste -sd'|' -
    done | sort -u >"$scratch/sectors"
    {
        printf '#include "common/simt/simt.h"\n#include <cuda_runtime.h>\n#include <stdio.h>\n'
        printf 'template <class F> __global__ void load(const float *x, float *out, F at) { int lane = threadIdx.x; out[lane] = x[at(lane)]; }\n'
        printf 'template <class F> void count(const char *index, const float *x, float *out, F at) {\n'
        printf '    simt_counters counters;\n    simt_counters_reset();\n    load<<<1, 32>>>(x, out, at);\n    cudaDeviceSynchronize();\n'
        printf '    simt_counters_get(&counters);\n    printf("%%s|%%llu\\n", index, (unsigned long long)counters.global.load_sectors);\n}\n'
        printf 'int main() {\n    float *x, *out;\n    cudaMalloc(&x, 8192);\n    cudaMalloc(&out, 128);\n    cudaMemset(x, 0, 8192);\n'
        sed 's/\(.*\)|.*/    count("\1", x, out, [] __device__(int lane) { return \1; });/' "$scratch/sectors"
        printf '    cudaFree(x);\n    cudaFree(out);\n    return 0;\n}\n'
    } >"$scratch/sectors.cu"
    common/simt/simt-cc -I. -o "$scratch/sectors.out" "$scratch/sectors.cu" && "$scratch/sectors.out" >"$scratch/counted" || return 1
    [ "$(wc -l <"$scratch/counted")" -ge 10 ] && diff "$scratch/sectors" "$scratch/counted"
}
sizes() { # the published sizes of GPT-2
    python3 -c '
import runpy
quiz = runpy.run_path("tools/teaching/quiz")
sizes = [quiz["parameters"](layers, channels) for layers, _, channels in quiz["MODELS"].values()]
assert sizes == [124439808, 354823168, 774030080, 1557611200], sizes'
}

check "the same seed gives the same quiz" same 5 5
check "another seed gives other numbers" fails same 5 6
check "every question has an answer" answered 22
check "two of a lab" answered 2 step3 --count 2
check "a question's numbers do not depend on the others" alone
check "GIFT" gift
check "sectors are as the CPU backend counts them" counted
check "the parameters of GPT-2" sizes
check "a lab that does not exist: exit 2" exits 2 $quiz step9
check "it is named" says "there is no step9: the labs are step1, step2, step3, step4" $quiz step9
check "no question: exit 2" exits 2 $quiz --count 0
finish
