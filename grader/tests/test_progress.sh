# shellcheck shell=sh
# The line that shows what the grader does: on a terminal, which script(1) makes, it is redrawn and erased; elsewhere there is none.
. tools/tests/tap.sh
export LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL COURSE
grader=build/grader/grader
typescript=$scratch/typescript

# A kernel that takes a while in its first block, and prints what looks like progress.
slow() { # slow FOLDER ROUNDS
    mkdir "$scratch/$1"
    sed "s|^    size_t i = .*|    if (i0 == 0) { printf(\"step1, 9 s: printed\\\\n\"); }\n    for (volatile long k = 0; i0 == 0 \&\& k < $2; k++) {}\n&|; s/i0/(threadIdx.x + blockIdx.x)/g" \
        step1_naive/solution/residual.cu >"$scratch/$1/residual.cu"
}
slow seconds 60000000
slow moments 600000
cat >>"$scratch/moments/residual.cu" <<'END'
constexpr long long_to_compile(int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 1000; j++) { sum += i ^ j; }
    }
    return sum;
}
static_assert(long_to_compile(600) > 0, "a second of the compiler");
END
call="$grader step1 --backend cpu --files $scratch/seconds --out $scratch/out --case residual_forward_f32:N=4,C=64,seed=1"
checks="$grader step1 --backend cpu --seed 1 --kernel residual_forward --files $scratch/moments --out $scratch/built"
on_terminal() { script -qec "$1" "$typescript" >/dev/null </dev/null; }
lines() { tr '\r' '\n' <"$typescript" | sed 's/^.\[K//'; }
drawn() { lines | sed '/^step1: /,$d' | grep '^step1, '; } # each state of the line, before the report
seconds() { drawn | grep -o '^step1, [0-9]* s' | sort -u | wc -l; }
longest() { drawn | wc -L; }
is_erased() { tr '\r' '\n' <"$typescript" | grep -B1 '^.\[Kstep1: ' | head -1 | grep -q '^.\[Kstep1, '; }

$call >"$scratch/piped" 2>&1 # builds it
check "elsewhere there is none" fails grep -q '^.*step1, [0-9]* s: residual add' "$scratch/piped"
check "and the report comes" grep -q '^step1: naive kernels' "$scratch/piped"
if ! script -qec true /dev/null >/dev/null 2>&1; then
    skip "on a terminal there is one" "no script(1), or no pseudo-terminal, here"
    finish
    exit 0
fi
TERM=xterm on_terminal "$call"
drawn >"$scratch/drawn"
check "a call that takes seconds is shown" grep -qx 'step1, [0-9]* s: residual add (1 of 1): case' "$scratch/drawn"
check "with the seconds, which go on" test "$(seconds)" -ge 2
check "it is erased before the report" is_erased
check "the kernel's text is not in it" fails grep -q 'printed' "$scratch/drawn"
check "and is in the report" grep -q '^ .*9 s: printed' "$typescript"
TERM=xterm on_terminal "$checks"
drawn >"$scratch/drawn"
check "the build is shown" says " s: build" cat "$scratch/drawn"
check "a check is shown with its calls, this one and all" \
    grep -qxE 'step1, [0-9]+ s: residual add \(1 of 1\): (shapes|values|memory|secret|branches), call [0-9]+ of [0-9]+' "$scratch/drawn"
TERM=xterm on_terminal "stty columns 30; $call"
check "a narrow terminal cuts it, so that it does not wrap" test "$(longest)" = 29
TERM=dumb on_terminal "$call"
check "a terminal that cannot redraw a line has none" test -z "$(drawn)"
check "and no escape sequence" fails grep -q "$(printf '\033')" "$typescript"
finish
