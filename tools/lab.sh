#!/bin/sh
# lab.sh create | reset STEP | handout | skeleton DIR | course DIR — make the student's folder and the archive for students.
#
# create    makes lab/: each step's skeleton, lab sheet and hints, in a git repository whose first commit is that skeleton.
#           In an existing lab/ it adds the course's changes: it replaces unedited files, and for edited ones it prints the
#           change. The branch `course` of lab's repository holds the last skeleton.
# reset     restores a step's skeleton, after a backup in lab/backup/DATE.
# handout   packs the same folder and the sources of grader, backend and model (course/) into build/handout/.
# skeleton  only writes the folder. The other commands and the tests use it.
# course    only writes course/, as the autograder for Gradescope has it, too.
set -eu

cd "$(dirname "$0")/.."
lab=${LAB:-lab}
build=${BUILD:-build}
name=gpu-kernel-labs # of the handout

unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # set by hooks and aliases
die() { echo "$1" >&2; exit "${2:-2}"; }
lab_git() { # git in lab/, without the user's configuration and hooks
    git -C "$lab" -c user.name='GPU kernel course' -c user.email=course@localhost -c commit.gpgsign=false \
        -c core.hooksPath=/dev/null -c core.autocrlf=false -c init.defaultBranch=main -c advice.detachedHead=false "$@"
}

steps() { for skeleton in step[0-9]*_*/skeleton; do echo "${skeleton%/skeleton}"; done; } # a folder without a skeleton is no lab

write_skeleton() { # write_skeleton DIR
    mkdir -p "$1"
    cp tools/lab/Makefile tools/lab/README.md tools/lab/writeup.py "$1"
    cp tools/lab/gitignore "$1/.gitignore"
    cp tools/lab/compile_flags.txt "$1" # for clangd
    mkdir -p "$1/docs/diagrams" # the sheets refer to them
    find docs/diagrams -name '*.svg' ! -name 'writeup_*' -exec cp {} "$1/docs/diagrams" \; # those have answers
    for step in $(steps); do
        mkdir -p "$1/$step"
        for part in README.md writeup.ipynb hints; do
            [ ! -e "$step/$part" ] || cp -R "$step/$part" "$1/$step"
        done
        cp -R "$step/skeleton/." "$1/$step"
    done
    for page in $(cat "$1"/step*/README.md | grep -o '](\.\./docs/[a-z0-9-]*\.md' | sed 's|.*/||' | sort -u); do
        {
            printf "*A page of the course's book. The files that it names are in the course's repository.*\n\n"
            cat "docs/$page"
        } >"$1/docs/$page"
    done
    own_links "$1"
}

# A link to what is not in the folder becomes its text.
own_links() { # own_links DIR
    find "$1" -name '*.md' | while read -r page; do
        awk -v folder="$(dirname "$page")" '
            function flush() { # print the collected text, without the links that lead out of the folder
                while (match(text, /\[[^][]*\]\([^(): \n]+\)/)) {
                    words = target = substr(text, RSTART, RLENGTH)
                    sub(/^[^]]*\]\(/, "", target)
                    sub(/(#.*)?\)$/, "", target)
                    gsub(/^\[|\]\(.*/, "", words)
                    there = target !~ /\/|\.[a-z]+$/ || system("[ -e \"" folder "/" target "\" ]") == 0
                    printf "%s%s", substr(text, 1, RSTART - 1), there ? substr(text, RSTART, RLENGTH) : words
                    text = substr(text, RSTART + RLENGTH)
                }
                printf "%s", text
                text = ""
            }
            /^ *```/ { flush(); code = !code }
            code { print; next }
            { text = text $0 "\n" }
            END { flush() }' "$page" >"$page.new"
        if cmp -s "$page" "$page.new"; then rm "$page.new"; else cat "$page.new" >"$page" && rm "$page.new"; fi
    done
}

# Commit DIR's content to the branch `course`. The work tree is not changed.
commit_skeleton() { # commit_skeleton DIR MESSAGE
    index=$(cd "$build" && pwd)/lab-index
    rm -f "$index"
    tree=$(
        GIT_INDEX_FILE=$index lab_git --work-tree="$(cd "$1" && pwd)" add -A -f .
        GIT_INDEX_FILE=$index lab_git write-tree
    )
    rm -f "$index"
    parent=$(lab_git rev-parse -q --verify refs/heads/course || true)
    commit=$(lab_git commit-tree "$tree" ${parent:+-p "$parent"} -m "$2")
    lab_git update-ref refs/heads/course "$commit"
}

create() {
    fresh=$build/lab-skeleton
    rm -rf "$fresh"
    write_skeleton "$fresh"
    if [ ! -e "$lab" ]; then
        first_time "$fresh"
    elif [ ! -d "$lab/.git" ]; then
        die "$lab/ is there but is not what 'make lab' makes (it has no git repository). Move it away and run make lab again."
    else
        bring_news "$fresh"
    fi
    rm -rf "$fresh"
}

first_time() {
    rm -rf "$build/lab-new"
    mkdir -p "$build/lab-new"
    final=$lab lab=$build/lab-new # an interrupted run leaves no lab/
    lab_git init -q
    commit_skeleton "$1" "The labs as they were handed out"
    lab_git update-ref refs/heads/main refs/heads/course
    lab_git symbolic-ref HEAD refs/heads/main
    lab_git reset -q --hard
    mv "$lab" "$final"
    lab=$final
    link_grader
    first=$(steps | head -1)
    echo "Made $lab/ with $(steps | sed 's/_.*//' | paste -sd' ' -). Read $lab/$first/README.md, the first lab's sheet."
    echo "Next:  cd $lab && make ${first%%_*} && ./grader ${first%%_*}"
}

link_grader() { [ -L "$lab/grader" ] || ln -sfn "../$build/grader/grader" "$lab/grader"; }

# Add the course's changes since lab/ was made or last updated.
bring_news() {
    new=$1
    old=$(lab_git rev-parse -q --verify refs/heads/course) ||
        die "$lab/ has lost its branch 'course', which says what was handed out. Move it away and run make lab again."
    commit_skeleton "$new" "The labs as they are now"
    replaced=''
    edited=''
    for file in $(cd "$new" && find . -type f | sed 's|^\./||' | sort); do
        if [ ! -e "$lab/$file" ]; then
            mkdir -p "$lab/$(dirname "$file")"
        elif cmp -s "$new/$file" "$lab/$file"; then
            continue
        elif [ "$(lab_git hash-object "$file")" != "$(lab_git rev-parse -q --verify "$old:$file" || true)" ]; then
            lab_git diff --quiet "$old" course -- "$file" || edited="$edited $file"
            continue
        fi
        cp "$new/$file" "$lab/$file"
        replaced="$replaced $file"
    done
    link_grader
    if [ "$(lab_git rev-parse "$old^{tree}")" = "$(lab_git rev-parse 'course^{tree}')" ]; then
        lab_git update-ref refs/heads/course "$old" # unchanged: no empty commit
    fi
    if [ -n "$replaced" ]; then
        printf 'New in %s/ (you had not edited these):\n' "$lab"
        # shellcheck disable=SC2086 # file names without spaces
        printf '  %s\n' $replaced
        # shellcheck disable=SC2086
        lab_git add -f -- $replaced && lab_git commit -q -m "Bring the course's changes" -- $replaced || true
    fi
    if [ -n "$edited" ]; then
        printf 'Changed in the course, and edited by you, so left alone. The changes:\n\n'
        # shellcheck disable=SC2086
        lab_git --no-pager diff "$old" course -- $edited
        printf '\nTo take them: commit your work in %s/, then there:  git merge course\n' "$lab"
    fi
    [ -n "$replaced$edited" ] || echo "$lab/ is as new as the course."
    first=$(steps | head -1)
    echo "Next:  cd $lab && make ${first%%_*} && ./grader ${first%%_*}"
}

reset() { # reset STEP
    folder=$(steps | grep "^$1_" || true)
    [ -n "$1" ] && [ -n "$folder" ] ||
        die "make lab-reset: say which step: STEP=step1 (there are: $(steps | sed 's/_.*//' | paste -sd' ' -))"
    [ -d "$lab/.git" ] || die "There is no $lab/ to reset. Make one:  make lab"
    backup=$lab/backup/$(date +%Y-%m-%d_%H%M%S)
    while [ -e "$backup" ]; do backup=$backup+; done
    if [ -d "$lab/$folder" ]; then
        mkdir -p "$backup"
        cp -R "$lab/$folder" "$backup"
        echo "Your $folder/ is kept in $backup/$folder/."
    fi
    rm -rf "$build/lab-skeleton"
    write_skeleton "$build/lab-skeleton"
    mkdir -p "$lab/$folder"
    cp -R "$build/lab-skeleton/$folder/." "$lab/$folder"
    rm -rf "$build/lab-skeleton"
    echo "$lab/$folder/ is the skeleton again."
    echo "Next:  cd $lab && make $1 && ./grader $1"
}

# The sources of the grader, the backend and lab 4's program. Left out are tests, because they contain right kernels, and
# files that contain a solution of a lab (training, the fused block, some kernels). lab/handout has replacements.
write_course() { # write_course DIR
    course=$1
    mkdir -p "$course/tools"
    cp Makefile LICENSE "$course"
    cp tools/install.sh tools/progress "$course/tools"
    for step in $(steps); do # the lab's description
        mkdir -p "$course/$step"
        for part in lab.conf lab.mk; do [ ! -e "$step/$part" ] || cp -p "$step/$part" "$course/$step"; done
    done
    model=step4_gpt2_integration/gpt2
    find common grader "$model" -type d -name tests -prune -o -type f -print | while read -r file; do
        case $file in
        "$model"/train/module.mk | "$model"/train/collective*) ;;
        "$model"/train/* | "$model"/program/train_* | "$model"/lab/handout/*) continue ;;
        "$model"/model/training.cuh) ;; # what a block keeps
        "$model"/model/training* | "$model"/model/*backward*.cu) continue ;;
        esac
        mkdir -p "$course/$(dirname "$file")"
        cp -p "$file" "$course/$file"
    done
    cp "$model"/lab/handout/*.cu "$course/$model/model"
    cp "$model"/lab/handout/train.c "$course/$model/program"
}

handout() {
    rm -rf "$build/handout"
    write_skeleton "$build/handout/$name"
    mkdir -p "$build/handout/$name/.github/workflows"
    cp tools/lab/classroom.yml "$build/handout/$name/.github/workflows"
    write_course "$build/handout/$name/course"
    own_links "$build/handout/$name/course"
    tar -C "$build/handout" --sort=name --owner=0 --group=0 --numeric-owner -czf "$build/handout/$name.tar.gz" "$name"
    echo "Packed $build/handout/$name.tar.gz ($(du -h "$build/handout/$name.tar.gz" | cut -f1)): no solutions in it."
    echo "Students:  tar xzf $name.tar.gz && cd $name && make step1 && ./grader step1"
}

case ${1:-} in
create) create ;;
reset) reset "${2:-}" ;;
handout) handout ;;
skeleton) write_skeleton "${2:?where to}" ;;
course) write_course "${2:?where to}" ;;
*) die "usage: lab.sh create | reset STEP | handout | skeleton DIR | course DIR" ;;
esac
