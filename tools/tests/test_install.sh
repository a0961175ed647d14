# shellcheck shell=sh disable=SC2016
# The installer: installs nothing that is there, asks before sudo, and else gives one message with the exact line.
# Runs with a PATH of a few links, in which id, apt-get, sudo and g++ are what a test makes them.
. tools/tests/tap.sh
unset CC CXX
install=$(pwd)/tools/install.sh
log=$scratch/calls

# machine NAME UID [CANDIDATE]: a PATH of its own in $scratch/NAME, apt there unless CANDIDATE is empty, no g++
machine() {
    bin=$scratch/$1
    mkdir -p "$bin"
    for tool in sh sed cut cat grep find env make git patch echo nproc sort tail dirname tr date mktemp mv rm sleep wc; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
    program id "echo $2"
    [ -n "${3-}" ] || return 0
    program apt-get 'echo "apt-get $*" >>'"$log"
    program apt-cache 'echo "  Candidate: 4:'"$3"'"'
}
program() { printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1" && chmod +x "$bin/$1"; }
install() { : >"$log" && PATH="$bin" CI="${ci-}" "$install" "$@" </dev/null; }
line='apt-get install -y --no-install-recommends'

check "what is there is not installed: silence" test -z "$(tools/install.sh build 2>&1)"

machine plain 1000 12.2.0
check "no g++, no sudo: exit 2" exits 2 install build
check "and the exact line" says "As root, run:  $line g++" install build

machine jammy 1000 11.4.0
check "where g++ is older than 12, the package is g++-12" says "$line g++-12" install build

machine old 1000 12.2.0
program g++ 'echo 11'
check "an old g++ counts as missing" says "Missing: g++ 12 or newer" install build

machine asks 1000 12.2.0
program sudo 'echo "sudo $*" >>'"$log"
check "sudo, but nobody to ask: exit 2" exits 2 install build
check "and the exact line with sudo" says "Run:  sudo $line g++" install build
check "sudo was not called" test ! -s "$log"
ci=true
check "CI=true: sudo is called without asking" exits 0 install build
check "with the line" grep -q "^sudo -n env DEBIAN_FRONTEND=noninteractive $line g++ -qq" "$log"
ci=
if script -qec true /dev/null >/dev/null 2>&1; then
    answer() { echo "$1" | script -qec "env CI= PATH=$bin $install build" "$scratch/typescript" >/dev/null 2>&1; }
    : >"$log"
    answer n
    check "asked, and no: nothing is called" test ! -s "$log"
    check "the question shows the line" grep -q "Run \"sudo $line g++\"" "$scratch/typescript"
    answer y
    check "asked, and yes: sudo is called" grep -q "^sudo env" "$log"
    check "after its question for a password, which no line of progress overwrites" test "$(head -1 "$log")" = "sudo -v"
else
    skip "asking" "no script(1), or no pseudo-terminal, here"
fi

machine root 0 12.2.0
check "root: installed without asking" exits 0 install build
check "without sudo" grep -q "^apt-get install -y --no-install-recommends g++ -qq" "$log"
program apt-get 'exit 1'
check "when apt fails: exit 2" exits 2 install build
check "and the line to try by hand" says "By hand:  $line g++" install build

machine strange 0 ""
check "no apt: exit 2" exits 2 install build
check "and what to install" says "Missing: g++ 12 or newer. This system has no apt" install build
check "an unknown part is a usage error" exits 2 install nonsense

# Every target asks for what it needs before it builds anything, in one message.
machine bare 1000 12.2.0
target() { PATH="$bin" CI= make -s BUILD="$scratch/none" "$@" </dev/null; }
for name in test test-all test-asan check generated gpt2 demo fuzz handout skeletons lab 'grade STEP=step1' 'grade STEP=step4'; do
    # shellcheck disable=SC2086 # a target and its variables
    check "make $name: what is missing, and how to install it" says "As root, run:  $line g++" target $name
done
check "and nothing was built" test ! -e "$scratch/none"
check "and nothing else is said without a compiler" test -z "$(target -n help 2>&1 >/dev/null)"
check "make check names lab 4's libraries" says "libcjson-dev" target check
check "make fuzz names clang" says "clang with libFuzzer" target fuzz
check "make format names the version that it needs" says "$line clang-format-14" target format
check "make docs names MkDocs" says "$line mkdocs-material graphviz" target docs
check "what looks at the pages: a browser" says "$line chromium" install pages
check "make check-cuda names nvcc" says "no nvcc here" target check-cuda NVCC=none
check "make bench names what a GPU needs" says "This needs" target bench
program clang-format 'echo clang-format version 19.1'
check "another clang-format will not do" says "$line clang-format-14" target format
finish
