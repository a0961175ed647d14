# shellcheck shell=sh
# The test runner fails programs that exit with 0 and have not passed; and the build before it shows its progress.
. tools/tests/tap.sh
root=$(pwd)
mkdir "$scratch/tests"

# program NAME BODY: a Criterion binary $scratch/NAME, its source where run-tests looks for it
program() {
    printf '#include <criterion/criterion.h>\n#include <stdlib.h>\n#include <unistd.h>\n%b\n' "$2" >"$scratch/tests/$1.c"
    "${CC:-gcc}" -o "$scratch/$1" "$scratch/tests/$1.c" -lcriterion
}
run() { (cd "$scratch" && TEST_TIMEOUT=2 "$root/tools/run-tests" "$@"); }

program test_good 'Test(s, one) { cr_assert(1); }\nTest(s, two) { cr_assert(1); }'
check "a good program passes" run test_good
check "the last line counts" says "2 passed, 0 failed" run test_good
program test_busy 'Test(s, one) { volatile long sum = 0; while (sum < 1500000000) { sum = sum + 1; } cr_assert(sum > 0); }'
busy() { (cd "$scratch" && TEST_TIMEOUT=60 "$root/tools/run-tests" test_busy | grep -E '^[0-9]+ s, [1-9][0-9]* s of processor time$'); }
check "the line before it has the processor time" busy

program test_bad 'Test(s, one) { cr_assert(0, "a \\"quoted\\" <message>"); }\nTest(s, two) { cr_assert(1); }'
check "a failed test fails the run" exits 1 run test_bad
check "its message is shown" says 'a "quoted" <message>' run test_bad
check "and counted" says "1 passed, 1 failed" run test_bad

program test_exit 'Test(s, leaves) { cr_assert(1); exit(0); }'
check "exit(0) in a test is a failure" says "leaves asserted nothing" run test_exit
program test_empty 'Test(s, nothing) { }'
check "an empty test is a failure" exits 1 run test_empty
program test_crash 'Test(s, crashes) { cr_assert(1); abort(); }'
check "a crash is a failure" says "0 passed, 1 failed" run test_crash
program test_hang '__attribute__((constructor)) static void hang(void) { sleep(60); }\nTest(s, one) { cr_assert(1); }'
check "a program that hangs is killed and failed" says "exit status 137" run test_hang

program test_lost 'Test(s, one) { cr_assert(1); }'
printf '\nTest(s, two) { cr_assert(1); }\n' >>"$scratch/tests/test_lost.c"
check "fewer tests than the source declares is a failure" says "1 tests ran, its source declares 2" run test_lost
program test_none '\n'
check "no tests at all is a failure" says "0 passed, 1 failed" run test_none
check "a program that does not exist is a failure" exits 1 run test_absent

printf 'echo ok 1 - a\necho 1..1\n' >"$scratch/tests/test_fine.sh"
check "a TAP script passes" run tests/test_fine.sh
printf 'echo ok 1 - a\nexit 1\n' >"$scratch/tests/test_unplanned.sh"
check "a TAP script that ends before its plan fails" exits 1 run tests/test_unplanned.sh
printf 'echo not ok 1 - a\necho 1..1\n' >"$scratch/tests/test_not.sh"
check "a TAP script with a failed line fails" says "0 passed, 1 failed" run tests/test_not.sh

check "several programs are counted together" says "3 passed, 0 failed" run test_good tests/test_fine.sh
check "and each is shown" says "test_fine.sh" run test_good tests/test_fine.sh
at_the_end() {
    (cd "$scratch" && TEST_JOBS=1 "$root/tools/run-tests" tests/test_not.sh test_bad tests/test_fine.sh test_good) | sed -n '/^failed:$/,$p' >"$scratch/ended"
    grep -q "^test_not.sh .* 1 failed" "$scratch/ended" && grep -q "not ok 1 - a" "$scratch/ended" && grep -q 'quoted" <message>' "$scratch/ended"
}
check "what failed is said again at the end" at_the_end
check "and nothing else is" fails grep -qE "test_fine|test_good" "$scratch/ended"
printf 'kill -9 "$(cut -d" " -f4 "/proc/$PPID/stat")"\n' >"$scratch/tests/test_kills.sh"
check "a program whose runner is killed is a failure" says "1 of the programs left no result" run test_good tests/test_kills.sh

# The build before the tests: tools/progress.
printf 'all: one two\none two:\n\t@sleep 3; touch $@\nthree:\n\t@sleep 3; touch $@\nall: three\nbad:\n\t@echo no such file >&2; exit 1\n' >"$scratch/Makefile"
build() { "$root/tools/progress" make --no-print-directory -C "$scratch" "$@"; }
build -j1 all >"$scratch/built" 2>&1
check "progress is shown: how many of how many, and the file" grep -q "^\[ [23]/3 \] [a-z]*$" "$scratch/built"
check "and in the end the time" grep -q "^Built in [0-9]* s\.$" "$scratch/built"
check "what a command says on its standard error is shown" says "no such file" build bad
check "a build that fails fails" exits 2 build bad
sleeping() { "$root/tools/progress" sh -c 'echo hidden; sleep 6; echo shown >&2; exit 3'; }
sleeping >"$scratch/slept" 2>&1
check "of another command it says the seconds" grep -qx "[56] s" "$scratch/slept"
check "shows what it says on its standard error" grep -qx shown "$scratch/slept"
check "and no more" test "$(wc -l <"$scratch/slept")" = 2
check "its exit status is the command's" exits 3 sleeping
at_once() {
    count=0
    while [ $count -lt 300 ] && timeout -s KILL 10 "$root/tools/progress" true; do count=$((count + 1)); done
    [ $count = 300 ]
}
check "a command that ends at once ends it, each time" at_once
if script -qec true /dev/null >/dev/null 2>&1; then
    on_terminal() { # on_terminal TERM COMMANDS
        rm -f "$scratch/three"
        TERM=$1 script -qec "$2 $root/tools/progress make --no-print-directory -C $scratch three" "$scratch/typescript" >/dev/null
    }
    on_terminal xterm ""
    check "on a terminal it is one line, written again" grep -q "^.*\[ 1/1 \] three.*Built in" "$scratch/typescript"
    on_terminal xterm "stty columns 12;"
    check "which a narrow terminal cuts, so that it does not wrap" grep -q "^.*\[ 1/1 \] thr..\[KBuilt in" "$scratch/typescript"
    mkdir "$scratch/bin"
    printf '#!/bin/sh\n' >"$scratch/bin/sleep" # so that the line is written as often as it can be
    chmod +x "$scratch/bin/sleep"
    often() {
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            on_terminal xterm "PATH=$scratch/bin:$PATH"
            grep -q "^.*\[KBuilt in" "$scratch/typescript" || return 1
        done
    }
    check "and which is not written again after it is cleared" often
    on_terminal dumb ""
    check "a terminal that cannot redraw a line has whole lines" fails grep -q "$(printf '\033')" "$scratch/typescript"
else
    skip "on a terminal it is one line, written again" "no script(1), or no pseudo-terminal, here"
fi
finish
