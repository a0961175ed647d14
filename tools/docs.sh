#!/bin/sh
# docs.sh — gather the book's sources in build/docs/source and build the site in build/docs/site.
#   - Lab sheets are chapters: stepN_x/README.md becomes labs/stepN_x.md, and the links to it are changed.
#   - Diagrams become part of the page, so that they have the colours of the reader's scheme.
#   - The repository's address is REPOSITORY, or that of the remote `origin` if it can be opened in a browser. Without one the
#     pages have no link to it.
set -eu
cd "$(dirname "$0")/.."
book=build/docs
source=$book/source

address() { # address URL: https://host/path of a repository, without a user, a password or .git; empty for a path of this machine
    echo "$1" | sed -nE 's#(\.git)?/*$##; s#^(https?://)([^/@]*@)?([^/]+/.+)$#\1\3#p; s#^(ssh://)?[^/@:]+@([^:/]+)(:[0-9]+)?[:/](.+)$#https://\2/\4#p'
}
repository=$(address "${REPOSITORY:-$(git config --get remote.origin.url || true)}")

page() { # page SOURCE TARGET SED-EXPRESSION: a page of the book
    sed -E "$3${repository:+; s#git clone REPOSITORY#git clone $repository#}" "$1" | awk '
        function inline(name, text,   file, line, width) { # the drawing, without what only a file of its own needs
            file = "docs/diagrams/" name
            while ((getline line < file) > 0) {
                if (match(line, /viewBox="[^"]*"/)) {
                    split(substr(line, RSTART), number, " ")
                    width = number[3]
                    printf "<div class=\"diagram\"><svg role=\"img\" aria-label=\"%s\" style=\"--width: %d\" %s>\n", text, width,
                        substr(line, RSTART, RLENGTH)
                } else if (width && line !~ /^<(title|style|!--)/) {
                    gsub(/ id="[^"]*"/, "", line)
                    print line
                }
            }
            if (!width) { print FILENAME ": no drawing " file > "/dev/stderr"; exit 1 }
            print "</div>"
        }
        /^!\[[^]"]*\]\([^)]*diagrams\/[a-z0-9_]+\.svg\)$/ {
            text = name = $0
            gsub(/^!\[|\].*/, "", text)
            gsub(/.*\/|\)$/, "", name)
            inline(name, text)
            next
        }
        { print }' >"$2"
}

tools/diagrams.sh
rm -rf "$source"
mkdir -p "$source/labs"
for file in docs/*.md; do
    [ "$file" != docs/README.md ] || continue # for readers of the repository
    page "$file" "$source/$(basename "$file")" 's#\(\.\./(step[0-9][a-z0-9_]*)/README\.md#(labs/\1.md#g'
done
for sheet in step[0-9]*_*/README.md; do
    page "$sheet" "$source/labs/$(dirname "$sheet").md" 's#\(\.\./docs/#(../#g'
done
cp docs/script.js "$source"
{ cat docs/style.css; sed 's/^\[/[data-md-color-scheme="slate"] .diagram [/' docs/diagrams/dark.css; } >"$source/style.css"
{ cat docs/mkdocs.yml; [ -z "$repository" ] || printf 'repo_url: %s\nrepo_name: %s\n' "$repository" "${repository##*/}"; } >$book/mkdocs.yml
mkdocs build --quiet --config-file $book/mkdocs.yml
[ -n "$repository" ] || echo "The pages have no link to the repository: its address is not known. Say it:  REPOSITORY=https://... make docs"
echo "The book is in $book/site: open $book/site/index.html; its search needs a server:  python3 -m http.server -d $book/site"
