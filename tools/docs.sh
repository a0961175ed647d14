#!/bin/sh
# docs.sh — gather the book's sources in build/docs/source and build the site in build/docs/site.
# Lab sheets are chapters: stepN_x/README.md becomes labs/stepN_x.md, and the links to it are changed.
set -eu
cd "$(dirname "$0")/.."
source=build/docs/source
rm -rf "$source"
mkdir -p "$source/labs" "$source/diagrams"
for page in docs/*.md; do
    [ "$page" != docs/README.md ] || continue # for readers of the repository
    sed -E 's|\(\.\./(step[0-9][a-z0-9_]*)/README\.md|(labs/\1.md|' "$page" >"$source/$(basename "$page")"
done
for sheet in step[0-9]*_*/README.md; do
    [ -f "$sheet" ] && sed 's|(\.\./docs/|(../|' "$sheet" >"$source/labs/$(dirname "$sheet").md"
done
tools/diagrams.sh
cp docs/diagrams/*.svg "$source/diagrams"
cp docs/tables.css "$source"
mkdocs build --quiet --config-file docs/mkdocs.yml
echo "The book is in build/docs/site: open build/docs/site/index.html"
