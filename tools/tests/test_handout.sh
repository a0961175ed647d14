# shellcheck shell=sh
# The archive that is handed out holds no test and no line of a solution, of a right kernel or of a wrong one. That it builds is
# tested in test_handout_builds.sh.
. tools/tests/tap.sh # makes $scratch
export LC_ALL=C.UTF-8

export BUILD="$scratch/build"
mkdir -p "$BUILD"
check "the handout is packed" says "gpu-kernel-labs.tar.gz" tools/lab.sh handout
mkdir "$scratch/empty"
check "it unpacks" tar -xzf "$BUILD/handout/gpu-kernel-labs.tar.gz" -C "$scratch/empty"
handout=$scratch/empty/gpu-kernel-labs

check "no file or folder of it is called a solution" test -z "$(find "$handout" -name '*solution*')"
check "nor a picture of a write-up" test -z "$(find "$handout" -name 'writeup_*')"
check "the model is in it" test -s "$handout/course/step4_gpt2_integration/gpt2/model/model.cu"
check "what wires a block, forward or back, is not in it" test -z "$(find "$handout/course/step4_gpt2_integration/gpt2/model" \
    -name 'training*.cu')"
check "nor is anything of a folder called tests" test -z "$(find "$handout" -path '*/tests*')"

# What its pages refer to is there; those of the book that a sheet refers to are, too.
check "every link and path of its pages leads to a file of it" tools/check-links "$handout" .
check "a page of the book is in it, and says that it is one" says "A page of the course's book" cat "$handout/docs/results.md"
check "where it links to another, the words stay" exits 1 grep -F '](pytorch.md)' "$handout/docs/results.md"
sheet=$handout/step1_naive/README.md
unlike() { # unlike TEXT: check-links fails with the sheet that ends so
    cp "$sheet" "$scratch/sheet"
    echo "$1" >>"$sheet"
    tools/check-links "$handout" . >"$scratch/links"
    unlike_status=$?
    cp "$scratch/sheet" "$sheet"
    [ $unlike_status = 1 ]
}
check "a link to a page of the book that is not in it would be found" unlike "Read [this](../docs/decode.md)."
check "and a link out of it" unlike "Read [this](../../README.md)."
check "and a place that the page does not have" unlike "Read [this](../docs/results.md#nowhere)."
check "and a path that only the repository has" unlike 'Read `common/ops/README.md`.'
check "not if the sheet says so" fails unlike 'Read `common/ops/README.md` in the course.'

# What a learner must not find: the marked regions of the solutions, everything of what only the reference does, and the kernels
# of the corpus. Excluded are lines that a skeleton, a contract or the header of dependent launches shows, and lines that are
# too short or too common to give anything away.
trim() { sed 's/^[ \t]*//; s/[ \t]*$//' | sort -u; }
telling() { # statements of at least 24 characters, without index computations, guards and loops' heads
    awk 'length($0) >= 24 && !/^(\/\/|#|}|for .*{$|if .*{ return .*; }$)/ && !/[,({\\]$/' |
        grep -v 'blockIdx.x \* blockDim.x + threadIdx.x;$'
}
{
    find step*/solution -name '*.cu*' -exec awk '
        FNR == 1 { inside = FILENAME ~ /speed_of_light/ }
        /^[ \t]*\/\/:(solution|omit)/ { inside = 1; next } /^[ \t]*\/\/:/ { inside = 0 } inside' {} +
    tools/corpus list | while read -r kernel; do
        case $kernel in *.patch) sed -n 's/^+\([^+]\)/\1/p' "$kernel" ;; *) cat "$kernel" ;; esac
    done
    cat step*/solution/writeup.md # the answers of the write-ups
} | trim >"$scratch/written"
find step*/skeleton -type f -exec cat {} + | trim >"$scratch/shown"
cat common/ops/*/contract.h common/dependent_launch.cuh | trim >>"$scratch/shown"
# Lines of the model, of its plain kernels and of the references, which are handed out.
cat >>"$scratch/shown" <<'END'
TRY(cudaStreamSynchronize(device.stream));
const cudaDataType type = type_of<T>::cuda;
enum { threads_per_block = 128, warp_size = 32, warps = threads_per_block / warp_size };
constexpr int size = vec<T>::size, step = warp_size * size;
if (blocks > resident) { blocks = resident; }
float d = to_float(dout[(size_t)n * C + c]);
float r = 1.0f / sqrtf(squares / C + eps);
return 0.5f * u * (1.0f + tanhf(0.7978845608028654f * (u + 0.044715f * u * u * u)));
END
sort -u -o "$scratch/shown" "$scratch/shown"
comm -23 "$scratch/written" "$scratch/shown" | telling >"$scratch/secret"
leaked_by() { # leaked_by FILE...: longer lines in the course's own code, which is C and CUDA as well; in the labs all
    awk 'NR == FNR { secret[$0]; next }
        { sub(/^[ \t]+/, ""); sub(/[ \t]+$/, "") }
        $0 in secret && length($0) >= (FILENAME ~ /\/course\// ? 40 : 24) { print FILENAME ": " $0 }' "$scratch/secret" "$@"
}
found() { [ "$(leaked_by "$1" | wc -l)" -gt "$2" ]; }
check "there are lines to look for" test "$(wc -l <"$scratch/secret")" -gt 1000
check "a solution would be found" found step1_naive/solution/softmax.cu 2
check "so would what only the reference does" found step3_fused/solution/speed_of_light/softmax.cuh 10
check "and an answer of a write-up" found step1_naive/solution/writeup.md 2
check "and a right kernel" found common/ops/softmax_forward/tests/right/kahan.cu 2
tools/corpus source common/ops/block_forward/tests/wrong/gelu_erf.patch >"$scratch/wrong.cu"
check "and a wrong one" found "$scratch/wrong.cu" 2
# shellcheck disable=SC2046 # paths without blanks
leaked_by $(find "$handout" -type f ! -name '*.svg') >"$scratch/leaks"
check "none of them is in it" exits 1 grep . "$scratch/leaks"
finish
