# shellcheck shell=sh
# What a browser must find in the book is found: pages with a fault each, made from the book's own first page. Run by
# `make check-pages`, which has built the book and installed the browser.
. tools/tests/tap.sh

site=$scratch/site
mkdir "$site"
cp -R build/docs/site/assets build/docs/site/style.css build/docs/site/script.js "$site"
sed -E 's/<a [^>]*href="[^":]*"/<a href="index.html"/g; s#(<article[^>]*>).*#\1#; /<article/,/<\/article>/{/<article/!{/<\/article>/!d}}' \
    build/docs/site/index.html >"$site/index.html"
page() { sed "s#<article[^>]*>#&$2#" "$site/index.html" >"$site/$1.html"; }
cells=$(printf '<td>%s</td>' quitelonglonglongword1 quitelonglonglongword2 quitelonglonglongword3 quitelonglonglongword4 quitelonglonglongword5 \
    quitelonglonglongword6 quitelonglonglongword7 quitelonglonglongword8 quitelonglonglongword9)
page pale '<p>A word and <a href="index.html" style="color: \#99f">a pale link</a>.</p>'
page unlike '<p>Words among which there is <a href="index.html" style="text-decoration: none">a link</a> that only its colour tells from them.</p>'
page wide '<p style="width: 500px">Wider than a phone.</p>'
page table "<table><tr>$cells</tr></table>"
page anchor '<p><a href="index.html\#nowhere">There is no such place.</a></p>'
page file '<p><a href="gone.html">There is no such page.</a></p>'
page picture '<img src="gone.png" alt="none">'
page nameless '<img src="assets/images/favicon.png">'
page diagram '<div class="diagram"><svg role="img" aria-label="x" style="--width: 100" viewBox="0 0 100 40"><g class="graph"><polygon fill="\#fefefe" points="0,0 100,0 100,40 0,40"/><text x="50" y="20" font-size="11">x</text></g></svg></div>'
page scheme '<style>body { background: \#fff !important; }</style><p>White in the dark.</p>'
SITE=$site tools/check-pages >"$scratch/found" 2>&1
status=$?
found() { grep -qF -- "$1" "$scratch/found" || { cat "$scratch/found"; return 1; }; }

check "findings: exit 1" test $status = 1
check "a page without a fault has no finding" exits 1 grep '^index' "$scratch/found"
check "a pale link" found "pale.html, light: [color-contrast]"
check "a link that looks like a word" found "unlike.html, light: [link-in-text-block]"
check "a page wider than a phone" found "wide.html, light, 390 px: the page is"
check "but not than a laptop" exits 1 grep 'wide.html.*1280' "$scratch/found"
check "a table wider than a laptop" found "table.html, light, 1280 px: a table is"
check "a link to no place" found "anchor.html: there is no such place: index.html#nowhere"
check "a link to no page" found "file.html: there is no gone.html"
check "a picture that is not there" found "picture.html, light: a picture does not load: gone.png"
check "a picture without words" found "nameless.html, light: [image-alt]"
check "a diagram whose colour the dark does not know" found "diagram.html, dark: drawn text has a contrast of"
check "which is fine in the light" exits 1 grep 'diagram.html, light' "$scratch/found"
check "a page that stays white in the dark" found "scheme.html, dark: [color-contrast]"
check "a site without pages: exit 2" exits 2 env SITE="$scratch" tools/check-pages
finish
