#!/bin/sh
# diagrams.sh [--check] — draw docs/diagrams/NAME.svg again if NAME.dot or the dark colours have changed; --check only names those
# pictures. Both fail if a colour has no dark one. The pictures are committed, so every viewer of a sheet shows them, and they follow
# its light or dark scheme. The last line of an SVG has the checksum of its sources.
set -eu
cd "$(dirname "$0")/../docs/diagrams"
stale=0
for source in *.dot; do
    picture=${source%.dot}.svg
    sum="<!-- $source $(cat "$source" dark.css | cksum) -->"
    [ "$(tail -n 1 "$picture" 2>/dev/null)" != "$sum" ] || continue
    if [ "${1:-}" = --check ]; then
        echo "docs/diagrams/$picture is older than $source or dark.css"
        stale=1
    else
        dot -Tsvg "$source" | awk '
            /<g id="graph0"/ {
                printf "<style>@media (prefers-color-scheme: dark) { text:not([fill]) { fill: #eceefb; } [fill=\"white\"] { fill: #2e303e; }"
                while ((getline line < "dark.css") > 0) if (line ~ /^\[/) printf " %s", line
                print " }</style>" # on one line: tools/docs.sh leaves it out
            }
            { print }
            END { exit NR == 0 }' >"$picture.part"
        echo "$sum" >>"$picture.part"
        mv "$picture.part" "$picture"
        echo "drew docs/diagrams/$picture"
    fi
done
for colour in $(grep -ohE '(fill|stroke)="#[0-9a-f]{6}"' -- *.svg | sort -u); do
    grep -qF "[$colour]" dark.css || { echo "docs/diagrams/dark.css does not have $colour of $(grep -lF "$colour" -- *.svg | paste -sd' ' -)"; stale=1; }
done
[ "$stale" = 0 ]
