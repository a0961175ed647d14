#!/bin/bash
# test_attacks.sh — submissions that attack the grader: each is stopped by the layer that its second line names, and gains no
# points that its kernel has not earned.
#
#   grader/tests/test_attacks.sh [NAME ...]         the attacks of grader/tests/attacks/, or those named; TAP
#   grader/tests/test_attacks.sh --results          instead of TAP: attack, layer, points and outcome, for docs/results/attacks.tsv
#
# A file begins with two lines: what it does, and `stopped by: LAYER: WORDS`, where the words stand in the report.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
here=grader/tests/attacks
export build here COMPILE_SECONDS=10

only_results=
[ "${1:-}" != --results ] || { only_results=1; shift; }

# Prints NAME, LAYER, points and outcome, separated by tabs; outcome is "stopped", or what is wrong.
mark() {
    name=$1
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    cp "$here"/*.cuh "$scratch"
    cp "$here/$name.cu" "$scratch/residual.cu"
    expected=$(sed -n '2s/^\/\/ stopped by: //p' "$here/$name.cu")
    layer=${expected%%:*} words=${expected#"$layer"}
    words=${words#: }
    status=0
    timeout -s KILL 400 "$build/grader/grader" step1 --backend cpu --kernel residual_forward --submission "$scratch" --seed 7 \
        --json "$scratch/report.json" >"$scratch/report" 2>&1 || status=$?
    points=$(sed -n 's/^  \([0-9.]*\) of [0-9]* points.*/\1/p' "$scratch/report")
    outcome=stopped
    if [ "$status" != 1 ]; then
        outcome="exit status $status"
    elif [ "${points:-0}" != 0 ]; then
        outcome="$points points"
    elif ! grep -qF -- "$words" "$scratch/report"; then
        outcome="the report does not say '$words': $(sed -n '5,7p' "$scratch/report" | tr '\n' ' ')"
    elif LC_ALL=C grep -q '[[:cntrl:]]' <(tr -d '\n' <"$scratch/report"); then
        outcome="control characters reach the terminal"
    fi
    printf '%s\t%s\t%s\t%s\n' "$name" "$layer" "${points:-none}" "$outcome"
}
export -f mark

[ $# -gt 0 ] || mapfile -t all < <(cd "$here" && printf '%s\n' *.cu | sed 's/\.cu$//')
[ $# -gt 0 ] || set -- "${all[@]}"
results=$(printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'mark {}' | sort)

if [ -n "$only_results" ]; then
    echo "$results"
    exit
fi
number=0
while IFS=$'\t' read -r name layer _ outcome; do
    number=$((number + 1))
    if [ "$outcome" = stopped ]; then
        echo "ok $number - $name: $layer"
    else
        echo "not ok $number - $name ($layer): $outcome"
    fi
done <<<"$results"
echo "1..$number"
! grep -q . <(cut -f4 <<<"$results" | grep -vx stopped)
