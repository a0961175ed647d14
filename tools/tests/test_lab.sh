# shellcheck shell=sh
# The student's folder is made once, never overwritten, refreshed without loss, and reset after a backup.
. tools/tests/tap.sh

# A copy of the course that a test may change.
root=$PWD
course=$scratch/course
mkdir "$course"
mkdir "$course/docs"
cp -R Makefile common tools step[0-9]*_* "$course"
cp -R docs/*.md docs/diagrams "$course/docs"
cd "$course" || exit 1
pictures() { # in a lab's folder: every picture of a sheet is where the sheet says
    found=0
    for sheet in "$1"/step*/README.md; do
        for picture in $(grep -o '](\.\./[^)]*\.svg)' "$sheet" | tr -d '[]()'); do
            found=$((found + 1))
            [ -s "$(dirname "$sheet")/$picture" ] || { echo "$sheet: no $picture"; return 1; }
        done
    done
    [ "$found" -gt 0 ]
}
tools/lab.sh skeleton "$scratch/pictures"
check "the sheets' pictures are in lab/" pictures "$scratch/pictures"
check "and in the course" pictures .
# As clangd in lab/, whose compile_flags.txt names the course's folder and what is built there.
edited() { # edited FILE: what clang says of it
    sed -E "s#^(-I)?\.\./build#\1${BUILD:-$root/build}#; s#^(-I)?\.\.#\1$root#" "$scratch/pictures/compile_flags.txt" >"$scratch/flags"
    # shellcheck disable=SC2046 # a flag a line
    clang++ $(cat "$scratch/flags") -fsyntax-only "$1" 2>&1
}
if command -v clang++ >/dev/null; then
    for file in "$scratch"/pictures/step*/*.cu; do
        check "an editor finds no fault in ${file#"$scratch"/pictures/}" test -z "$(edited "$file")"
    done
    printf '__global__ void k(int *p) { *p = wrong; }\nvoid f(int *p) { k<<<1, 1>>>(p); }\n' >"$scratch/fault.cu"
    check "but one where there is one" says "fault.cu:1:34: error: use of undeclared identifier 'wrong'" edited "$scratch/fault.cu"
else
    skip "an editor finds no fault in the labs" "clang++ is not installed"
fi
export HOME="$scratch" GIT_CONFIG_NOSYSTEM=1 # someone who never configured git
for step in step1_naive step2_warp_reduce; do
    mkdir -p "$step/skeleton" "$step/hints"
    printf 'int todo;\n' >"$step/skeleton/exercise.cu"
    printf 'int other;\n' >"$step/skeleton/second.cu"
    printf '# Lab\n' >"$step/README.md"
    mkdir -p "$step/solution"
    printf 'int the_solution;\n' >"$step/solution/exercise.cu"
done
lab_commits() { git -C lab rev-list --count HEAD; }

check "make lab's script makes lab/" says "Next:  cd lab && make step1 && ./grader step1" tools/lab.sh create
check "the exercise is there" cmp step1_naive/skeleton/exercise.cu lab/step1_naive/exercise.cu
check "so is the lab sheet" test -f lab/step1_naive/README.md
check "no solution is" exits 1 grep -rq the_solution lab
check "./grader is a link to the built program" test "$(readlink lab/grader)" = ../build/grader/grader
check "its history is one commit" test "$(lab_commits)" = 1
check "with nothing left over" test -z "$(git -C lab status --porcelain)"

printf 'int mine;\n' >lab/step1_naive/exercise.cu
check "a second time it says that nothing is new" says "as new as the course" tools/lab.sh create
check "and leaves the edited file alone" grep -q mine lab/step1_naive/exercise.cu
check "and adds no commit" test "$(git -C lab rev-list --all --count)" = 1

printf 'int todo;\nint news;\n' >step1_naive/skeleton/exercise.cu
printf 'int other;\nint better;\n' >step1_naive/skeleton/second.cu
printf 'int third;\n' >step1_naive/skeleton/third.cu
tools/lab.sh create >"$scratch/news.log" 2>&1
check "a later change to an edited file is printed" grep -q '^+int news;' "$scratch/news.log"
check "and the file is left alone" grep -q mine lab/step1_naive/exercise.cu
check "an unedited file is replaced" grep -q better lab/step1_naive/second.cu
check "and named" grep -q 'step1_naive/second.cu' "$scratch/news.log"
check "a new file arrives" grep -q third lab/step1_naive/third.cu
check "the change is printed once" says "as new as the course" tools/lab.sh create
git -C lab -c user.name=x -c user.email=x@y commit -qam "My work"
check "what was printed can be merged" exits 1 git -C lab -c user.name=x -c user.email=x@y merge -q course
check "as a conflict of both" says "int news;" cat lab/step1_naive/exercise.cu
git -C lab merge --abort

check "a reset says where the backup is" says "is kept in lab/backup/" tools/lab.sh reset step1
check "the backup holds the work" grep -rq mine lab/backup
check "the file is the skeleton again" cmp step1_naive/skeleton/exercise.cu lab/step1_naive/exercise.cu
check "a reset twice a second keeps both backups" says "is kept in" tools/lab.sh reset step1
check "a reset of nothing names the steps" says "there are: step1 step2" tools/lab.sh reset ""
check "a reset of an unknown step is a usage error" exits 2 tools/lab.sh reset step99

mkdir -p build/grader
graded() { # by a grader that ends with that status
    printf '#!/bin/sh\nexit %s\n' "$1" >build/grader/grader
    chmod +x build/grader/grader
    make -s grade-now STEP=step1 PROGRAMS=
}
check "make grade succeeds with fewer than full marks" graded 1
check "and with full marks" graded 0
check "a grader that could not mark is an error" fails graded 3

rm -rf lab
mkdir lab
check "a lab/ that make lab has not made is not touched" exits 2 tools/lab.sh create
rmdir lab

mkdir "$scratch/a path"
cp -R Makefile common "$scratch/a path"
check "a path with a space: one clear message" says "has a space in it" make -C "$scratch/a path" lab
check "an unknown step for make grade: exit 2" exits 2 make -s grade-now STEP=step99 PROGRAMS=
finish
