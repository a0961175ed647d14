#!/bin/sh
# generate.sh [--check] [PAGE...] — rewrite the generated blocks of these Markdown pages, or of all. --check only compares; its
# exit status is 1 if a block is not current.
#
# A block is  <!-- begin NAME ARGUMENTS -->  ...  <!-- end -->  and holds the output of `tools/generated/NAME ARGUMENTS`:
# real output of the course's own commands, or tables from docs/results/. The comparison ignores seconds, which differ
# from run to run, and decimals after the fourth, which differ from processor to processor.
set -eu
cd "$(dirname "$0")/.."
mode='write'
if [ "${1:-}" = --check ]; then
    mode=--check
    shift
fi
# shellcheck disable=SC2046 # the pages' names have no spaces
[ $# -gt 0 ] || set -- $(git ls-files '*.md' | xargs grep -l '^<!-- begin ' || true)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
stale=0

expand() { # expand FILE: print the file with each block replaced
    awk -v scratch="$scratch" '
        /^<!-- end -->$/ { inside = 0 }
        !inside { print }
        /^<!-- begin .* -->$/ {
            inside = 1
            command = $0
            sub(/^<!-- begin /, "tools/generated/", command)
            sub(/ -->$/, "", command)
            print ""
            while ((command | getline line) > 0) {
                sub(/sandbox: own session.*/, "sandbox: ...", line) # the layers depend on the machine
                print line
            }
            print ""
            if (close(command) != 0) { print FILENAME ": " command " failed" > "/dev/stderr"; bad = 1 }
        }
        END { exit bad }' "$1"
}

blur() { sed -E 's/[0-9]+(\.[0-9]+)? s\b/N s/g; s/([0-9]\.[0-9]{4})[0-9]+/\1/g; s/ +/ /g' "$1"; }

for file in "$@"; do
    expand "$file" >"$scratch/new" || exit 1
    if [ "$mode" = --check ]; then
        blur "$file" >"$scratch/a"
        blur "$scratch/new" >"$scratch/b"
        cmp -s "$scratch/a" "$scratch/b" || { echo "$file is not current:"; diff -u "$scratch/a" "$scratch/b" || true; stale=1; }
    elif blur "$file" >"$scratch/a" && blur "$scratch/new" >"$scratch/b" && ! cmp -s "$scratch/a" "$scratch/b"; then
        cat "$scratch/new" >"$file"
        echo "wrote $file"
    fi
done
[ "$stale" = 0 ]
