#!/bin/sh
# The marks on 64-bit ARM: labs and wrong kernels, each job run by the ordinary runner and by ARM's under qemu-user (twin.c). Prints
# TAP. `make test-arm` starts it.
#
# A kernel of common/ops/*/tests/wrong must get the diagnosis that its first line names.
set -u
cd "$(dirname "$0")/../../.." || exit 2
build=${BUILD:-build}
arm=$build/aarch64
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CROSS BUILD # of the make that starts this
self=grader/tests/emulated/test_twins.sh

# One wrong kernel for each of these diagnoses, which rest on findings, counters, or the end of the process.
diagnoses='absent-lane arithmetic barrier-divergent deadlock device-assert host-pointer invalid-pointer out-of-bounds race-in-global-memory
    shared-out-of-bounds stack-overflow too-much-traffic uncoalesced uninitialised-read'
verdict() { # verdict STATUS WHAT
    if [ "$1" = 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        sed 's/^/# /' "$work/log" | tail -40
    fi
}

runners() { # runners SRC OUT LAB [NAME]: compiles for ARM; also the programs that report their branches
    for traced in '' 1; do
        make -s --no-print-directory -j2 -f common/step.mk CROSS=aarch64 BUILD="$arm" BACKEND=cpu TRACED=$traced \
            LAB="$3" SRC="$1" OUT="$2${traced:+/traced}" ${4:+NAMES="$4"} runners || return 1
    done
}

twin() { # twin STEP FILES OUT [OPTIONS]; jobs that differ fail it
    step=$1 files=$2 out=$3
    shift 3
    rm -f "$work/jobs"
    TWIN_LOG=$work/jobs TWIN_FROM=$build TWIN_TO=$arm "$build/grader/twin" "$step" --backend cpu --files "$files" --out "$out" \
        --seed 7 "$@"
    read -r jobs different _ <"$work/jobs" || return 1
    echo "$jobs jobs, $different different"
    [ "$jobs" -gt 0 ] && [ "$different" = 0 ]
}

mark_solution() { # mark_solution STEP FILE KERNEL POINTS
    step=$1 file=$2 kernel=$3 points="^  $4 of $4 points" folder=$(echo "$1"_*)
    { runners "$folder/solution" "$arm/cpu/$folder/solution" "$folder" "$file" &&
        twin "$step" "$folder/solution" "$build/cpu/$folder/solution" --kernel "$kernel" &&
        grep -q "$points" "$work/log"; } >"$work/log" 2>&1
    verdict $? "$folder: $(sed -n 's/ jobs, .*//p' "$work/log") jobs"
}

mark_wrong() { # mark_wrong DIAGNOSIS KERNEL
    place=corpus/$(echo "$2" | sed 's|^common/ops/||; s|/tests/|/|; s|\.[a-z]*$||')
    step=$(sed -n '1s/.*step: *\([^ ]*\).*/\1/p' "$2") op=$(sed -n '1s/.*op: *\([^ ]*\).*/\1/p' "$2")
    lab=$(echo "${step}"_*)
    { BUILD=$build tools/corpus prepare "$2" && mkdir -p "$arm/$place/build" &&
        runners "$build/$place/lab" "$arm/$place/build" "$lab" "$(file_of "$place" "$lab")" &&
        twin "$step" "$build/$place/lab" "$build/$place/build" --kernel "$op" &&
        grep -qF "[$1]" "$work/log"; } >"$work/log" 2>&1
    verdict $? "$1: $2"
}

# The file in which the kernel differs from the solution.
file_of() { (cd "$build/$1/lab" && for file in *.cu; do cmp -s "$file" "$OLDPWD/$2/solution/$file" || echo "${file%.cu}"; done); }

if [ "${1:-}" = --one ]; then # --one NUMBER MARK ARGUMENT...
    number=$2 work=$build/twins/$2
    shift 2
    mkdir -p "$work"
    "$@" >"$work/verdict"
    cat "$work/verdict"
    exit
fi

# The solutions come first: they also make what all runners share.
rm -rf "$build/twins"
mkdir -p "$build/twins"
tools/corpus quick wrong | while read -r file; do echo "$file $(head -n 1 "$file")"; done >"$build/twins/kernels"
# shellcheck disable=SC2086 # a list
set -- $diagnoses
echo "1..$(($# + 3))"
BUILD=$build sh $self --one 1 mark_solution step1 softmax softmax_forward 35
BUILD=$build sh $self --one 2 mark_solution step2 layernorm layernorm_forward 34
BUILD=$build sh $self --one 3 mark_solution step3 residual_layernorm residual_layernorm_forward_f32 28
number=3
for diagnosis; do
    number=$((number + 1))
    echo "$number mark_wrong $diagnosis $(sed -n "s|^\([^ ]*\) .*diagnosis: *$diagnosis\$|\1|p" "$build/twins/kernels" | head -n 1)"
done | xargs -P "$(nproc)" -L 1 env BUILD="$build" sh $self --one
[ "$(cat "$build"/twins/*/verdict | grep -c '^ok')" = $(($# + 3)) ]
