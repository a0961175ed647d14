#!/bin/sh
# diagrams.sh [--check] — draw docs/diagrams/NAME.svg again if NAME.dot has changed; --check only names those pictures. The
# pictures are committed, so every viewer of a sheet shows them. The last line of an SVG has the checksum of its source.
set -eu
cd "$(dirname "$0")/../docs/diagrams"
stale=0
for source in *.dot; do
    picture=${source%.dot}.svg
    sum="<!-- $source $(cksum <"$source") -->"
    [ "$(tail -n 1 "$picture" 2>/dev/null)" != "$sum" ] || continue
    if [ "${1:-}" = --check ]; then
        echo "docs/diagrams/$picture is older than $source"
        stale=1
    else
        dot -Tsvg "$source" >"$picture.part"
        echo "$sum" >>"$picture.part"
        mv "$picture.part" "$picture"
        echo "drew docs/diagrams/$picture"
    fi
done
[ "$stale" = 0 ]
