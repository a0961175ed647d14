# shellcheck shell=sh
# The commands that the docs show: their programs, options, kernels, targets and files exist, and blocks run as they stand.
# With TEST_ALL=1 all blocks run that no mark excludes, else those of the first page and of the instructor's guide.
. tools/tests/tap.sh
. tools/tests/copy.sh
root=$PWD
export BUILD="${BUILD:-$root/build}"

check "every command that the docs show exists, with its options, targets and files" tools/docs-commands

# finds TEXT LINE...: a page with a block of these lines has this problem
page() { printf '```\n' && printf '%s\n' "$@" && printf '```\n'; }
finds() {
    text=$1
    shift
    page "$@" >"$scratch/page.md"
    says "$text" tools/docs-commands "$scratch/page.md" && fails tools/docs-commands "$scratch/page.md"
}
fine() {
    page "$@" >"$scratch/page.md"
    tools/docs-commands "$scratch/page.md"
}
check "a command that is right has no problem" fine 'cd lab && make step1 && ./grader step1 --kernel softmax_forward --hint=2'
check "an option that the grader lacks is found" finds "page.md:3: ./grader step1 --wach: the grader has no option --wach" 'cd lab' './grader step1 --wach'
check "so is a kernel" finds "no kernel 'sofmax_forward'" 'build/grader/grader step1 --kernel sofmax_forward'
check "a step" finds "no step or command 'step9'" 'build/grader/grader step9'
check "a grader where it is not" finds "./grader is in lab/" './grader step1'
check "a make target" finds "make has no target 'labs'" 'make labs'
check "a variable of make" finds "no Makefile uses SETP" 'make grade SETP=step1'
check "what make hands on to the grader" finds "no option --kernels" 'make grade STEP=step1 ARGS="--kernels bias_add"'
check "an option of gpt2" finds "gpt2 generate has no option --model-name" 'make gpt2' 'build/gpt2/cpu/gpt2 generate --model-name tiny'
check "a command of gpt2" finds "gpt2 has no command 'generates'" '$ gpt2 generates --model tiny' 'output'
check "an option of simt-cc" finds "simt-cc has no option --quick" 'build/simt-cc --quick -o a a.cu'
check "a script" finds "there is no tools/teaching/kwiz" 'tools/teaching/kwiz step1'
check "a script's option" finds "tools/teaching/quiz has no option --sede" 'tools/teaching/quiz step1 --sede 1'
check "a continued line" finds "page.md:2: tools/teaching/quiz step1  --sede 1:" 'tools/teaching/quiz step1 \' '    --sede 1'
check "a file of the course" finds "there is no docs/results/none.jsonl" 'make lab' 'cp build/x docs/results/none.jsonl'
check "a folder" finds "there is no folder step9" 'cd step9'
check "an unknown program" finds "'grade-all' is no program" 'make lab' 'grade-all step1'
check "what this machine may not have needs a mark" finds "needs docker: put <!-- not replayed: WHY -->" 'docker build .'
printf 'Type `./grader step1 --wach`.\n' >"$scratch/page.md"
check "code in running text is read, too" says "page.md:1: ./grader step1 --wach" tools/docs-commands "$scratch/page.md"

# An option that is renamed in the program is missing in the docs.
mkdir -p "$scratch/renamed/grader"
for part in "$BUILD"/*; do [ "${part##*/}" = grader ] || ln -s "$part" "$scratch/renamed"; done
printf '#!/bin/sh\n"%s" "$@" | sed "s/--watch/--observe/"\n' "$BUILD/grader/grader" >"$scratch/renamed/grader/grader"
chmod +x "$scratch/renamed/grader/grader"
renamed() { BUILD=$scratch/renamed tools/docs-commands README.md; }
check "after --watch is renamed, README.md has a problem" says "the grader has no option --watch" renamed

# ---- run ----
mkdir "$scratch/course" "$scratch/bin"
copy_course "$scratch/course"
# The course is cloned from this checkout, with what is built.
git=$(command -v git)
cat >"$scratch/bin/git" <<END
#!/bin/sh
[ "\$1 \$2" = "clone REPOSITORY" ] || exec $git "\$@"
cd "$root" && PATH=${PATH} && . tools/tests/copy.sh && copy_course "\$OLDPWD/\$3"
END
chmod +x "$scratch/bin/git"
unset BUILD
runs() { PATH=$scratch/bin:$PATH tools/docs-commands --run "$scratch/course" "$@"; }
check "there is no page that never was" exits 2 runs none.md
page 'make programs' 'false' >"$scratch/page.md"
check "a block that fails is a problem" fails runs "$scratch/page.md"
page 'make programs' 'cd step9 && true' >"$scratch/page.md"
check "the first command of a list counts" fails runs "$scratch/page.md"
page 'build/grader/grader step9' >"$scratch/page.md"
check "so is one whose grader fails" says "the block ends with status 2" runs "$scratch/page.md"
check "the first page's commands run" runs README.md
(cd "$scratch/course" && make -s lab) >/dev/null
if [ -n "${TEST_ALL:-}" ]; then
    for name in $(git ls-files '*.md' | grep -vx README.md); do check "the commands of $name run" runs "$name"; done
else
    check "the instructor's commands run" runs docs/instructors.md
fi
finish
