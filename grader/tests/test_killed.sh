#!/bin/bash
# test_killed.sh — a grader that is killed leaves no file and no process, and gradings side by side do not disturb each other.
set -eu
export COMPILE_SECONDS=20
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR" "$scratch/lab" "$scratch/bomb"
cp grader/tests/attacks/right.cuh "$scratch/bomb"
cp grader/tests/attacks/compile_bomb_templates.cu "$scratch/bomb/residual.cu"
number=0 failed=0
check() { # check NAME COMMAND...
    number=$((number + 1))
    name=$1
    shift
    if "$@"; then echo "ok $number - $name"; else echo "not ok $number - $name"; failed=1; fi
}

# shellcheck disable=SC2317 # called by check
left() { # processes that name the temporary folder, and files in it
    pgrep -af "$TMPDIR" || :
    ls -A "$TMPDIR"
}
# shellcheck disable=SC2317
nothing_is_left() {
    for _ in $(seq 50); do
        [ -n "$(left)" ] || return 0
        sleep 0.1
    done
    left >&2
    return 1
}

for signal in KILL TERM INT; do
    for seconds in 0.05 0.1 3; do
        "$build/grader/grader" step1 --backend cpu --kernel residual_forward --submission "$scratch/bomb" >/dev/null 2>&1 &
        grader=$!
        sleep "$seconds"
        kill -"$signal" "$grader"
        wait "$grader" 2>/dev/null || :
        check "SIG$signal after $seconds s leaves nothing" nothing_is_left
    done
done

# The compiler of a file, and what it has started, ends with the process group that started it.
mkdir "$TMPDIR/out"
setsid sh -c '"$@"; :' make "$build/grader/compile" name "$TMPDIR/out" -- \
    sh -c 'sh -c "touch \"\$1/runs\"; sleep 97; :" "$0" "$@"; :' sh "$TMPDIR/out" 2>/dev/null &
group=$!
for _ in $(seq 50); do
    [ ! -e "$TMPDIR/out/runs" ] || break
    sleep 0.1
done
check 'the compiler has started' [ -e "$TMPDIR/out/runs" ]
kill -KILL "-$group"
wait "$group" 2>/dev/null || :
rm -r "$TMPDIR/out"
check 'SIGKILL of its group leaves nothing' nothing_is_left

# Gradings at once (GRADINGS=20: twenty): the same mark, and nothing is left.
cp step1_naive/solution/residual.cu "$scratch/lab"
for i in $(seq "${GRADINGS:-4}"); do
    "$build/grader/grader" step1 --backend cpu --kernel residual_forward --submission "$scratch/lab" --seed 7 \
        --json "$scratch/$i.json" >/dev/null 2>&1 &
done
wait
full=$(jq -s 'map(select(.points == .points_max)) | length' "$scratch"/*.json)
check 'gradings side by side all give full marks' [ "$full" = "${GRADINGS:-4}" ]
check 'they leave nothing' nothing_is_left
echo "1..$number"
exit "$failed"
