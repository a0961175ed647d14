# shellcheck shell=sh
# The plots are as new as their data, a page can take them in, and each is on a page with a text for those who do not see it.
. tools/tests/tap.sh # makes $scratch

check "every picture is as new as its data and its program" tools/plots/draw --check
check "a plot that is not there is an error" says "draw: there is no plot pie (there are: peers_forward" tools/plots/draw --check pie

copy=$scratch/copy
mkdir -p "$copy/docs" "$copy/tools"
cp -R tools/plots "$copy/tools"
cp -R docs/results docs/diagrams "$copy/docs"
for lab in step*/solution; do mkdir -p "$copy/$lab" && cp "$lab"/*.cu "$copy/$lab"; done # the ideas of the kernels
echo '{"step": 501, "loss": 4.0}' >>"$copy/docs/results/loss/small.jsonl"
check "a picture that is older than its data is named" says "docs/diagrams/plot_loss.svg is older than its data" "$copy/tools/plots/draw" --check
check "which is exit status 1" exits 1 "$copy/tools/plots/draw" --check
check "the others are not named" test "$("$copy/tools/plots/draw" --check | wc -l)" = 1
cp docs/results/loss/small.jsonl "$copy/docs/results/loss"
touch "$copy/docs/diagrams/plot_pie.svg"
check "so is one that belongs to no plot" says "plot_pie.svg belongs to no plot" "$copy/tools/plots/draw" --check
rm "$copy/docs/diagrams/plot_pie.svg"

if python=$(tools/python-with matplotlib); then
    rm "$copy"/docs/diagrams/plot_*.svg
    check "all are drawn" "$python" "$copy/tools/plots/draw"
    same() { for picture in docs/diagrams/plot_*.svg; do cmp "$picture" "$copy/$picture" || return 1; done; }
    if [ "$("$python" -c 'import matplotlib; print(matplotlib.__version__)')" = 3.6.3 ]; then
        check "the same bytes as before" same
    else
        skip "the same bytes as before" "they are those of matplotlib 3.6.3"
    fi
else
    skip "all are drawn" "no matplotlib"
fi

# A page that takes a picture in leaves out its ids, and gives colors of its own to the dark scheme.
check "no picture refers to an id" fails grep -lE ' (id|clip-path|xlink:href)=' docs/diagrams/plot_*.svg
check "none has a background" fails grep -lE 'fill="(white|#ffffff)"' docs/diagrams/plot_*.svg
colours() { grep -ohE ' (fill|stroke)="#[0-9a-f]{6}"' docs/diagrams/plot_*.svg | tr -d ' ' | sort -u; }
dark() { colours | while read -r colour; do grep -qF "[$colour]" docs/diagrams/plot_loss.svg || { echo "no dark color for $colour"; return 1; }; done; }
check "every color has one for a dark page" dark
check "each is as narrow as a phone" test "$(grep -l 'viewBox="0 0 400 ' docs/diagrams/plot_*.svg | wc -l)" = "$(ls docs/diagrams/plot_*.svg | wc -l)"
shown() { for picture in docs/diagrams/plot_*.svg; do grep -q "^!\[[^]\"]\{40,\}\](diagrams/$(basename "$picture"))\$" docs/*.md || { echo "$picture is on no page"; return 1; }; done; }
check "each is on a page, with a text that says what is seen" shown
captions() { [ "$(grep -A2 -h '^!\[.*diagrams/plot_' docs/*.md | sort -u | grep -c '^\*.*Data in `docs/results/`: `.*`; measured by `.*\.\*$')" = "$(ls docs/diagrams/plot_*.svg | wc -l)" ]; }
check "with a caption that has its data and their command" captions

# The kernels of a training step: two steps of 12 blocks, of which the last one counts.
step() { # step PRODUCTS_OF_A_BLOCK: names of kernels, one a line
    echo embed_kernel
    for _ in $(seq 12); do printf '%s\n' layernorm_forward_warps nvjet_qkv attention_kernel nvjet nvjet nvjet; done
    printf '%s\n' nvjet_logits cross_entropy_backward nvjet_splitK splitKreduce_kernel nvjet layernorm_backward_finish
    for _ in $(seq 12); do for _ in $(seq "$1"); do echo nvjet; done; echo attention_dq_kernel; done
    echo adamw_kernel
}
launches() { # launches PRODUCTS_OF_A_BLOCK >CSV
    printf '==PROF== Connected\n"ID","Kernel Name","Metric Unit","Metric Value"\n'
    { step 9 && step "$1"; } | awk '{ printf "\"%d\",\"%s\",\"ns\",\"1,500\"\n", NR, $0 }'
}
launches 8 >"$scratch/ncu.csv"
launches 7 >"$scratch/few.csv"
profile() { PYTHONDONTWRITEBYTECODE=1 python3 tools/peers/training_profile.py "$1" --batch 4 --step-ms 1 --command ncu; }
check "products of a training step are named by their place" says '"part": "qkv, gradient", "launches": 12, "us": 18.0' profile "$scratch/ncu.csv"
check "with the kernel that ends one" says '"part": "logits, gradient", "launches": 2, "us": 3.0' profile "$scratch/ncu.csv"
check "attention's gradient is known by name" says '"part": "attention, gradient", "launches": 12, "us": 18.0' profile "$scratch/ncu.csv"
check "a step with fewer products is an error" says "fewer products than a step has" profile "$scratch/few.csv"

# About 700 pixels are left for a table beside the navigation of a page that is 1280 pixels wide.
narrow() { ! grep -nE '^\|([-:]+\|){7,}$' docs/results.md docs/pytorch.md docs/pytorch-experiments.md docs/decode.md; }
check "no table of results has more than six columns" narrow

if [ -n "${TEST_ALL:-}" ]; then
    counted() { tools/plots/record "$scratch/counted" && diff -r docs/results/counted "$scratch/counted"; }
    check "the counted figures are those of today's kernels" counted
else
    skip "the counted figures are those of today's kernels" "make test-all"
fi
finish
