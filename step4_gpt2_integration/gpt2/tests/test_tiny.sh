# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# The tiny GPT-2 that the course ships: its size, its tokenizer, how well it predicts verses that it never saw
# (tiny_heldout.txt here, of chapters that tools/tiny-model holds out), and the demo. Bits per byte, because the bound then says
# the same for any tokenizer: chance is about 3, gzip -9 takes 2.34 for the whole text of the training, bzip2 1.68.
. tools/tests/tap.sh
gpt2=${BUILD:-build}/gpt2/cpu/gpt2
tokenize=${BUILD:-build}/gpt2/tokenize
model=step4_gpt2_integration/gpt2
tiny=$model/tiny
verses=$model/tests/tiny_heldout.txt
most_bits=1.25

whole() { for name in config.json model.safetensors vocab.json merges.txt README.md made.txt; do [ -s "$tiny/$name" ] || { echo "$tiny/$name is missing"; return 1; }; done; }
small() { bytes=$(cat "$tiny"/* | wc -c); echo "$bytes bytes"; [ "$bytes" -le 6000000 ]; }
round_trip() { "$tokenize" encode "$tiny" <"$1" | "$tokenize" decode "$tiny" | cmp - "$1"; }
predicts() { # predicts MODEL FILE: in at most so many bits a byte
    "$gpt2" eval --model "$1" --file "$2" --quiet >"$scratch/eval" || return 2
    cat "$scratch/eval"
    awk -v most="$most_bits" '{ for (i = 1; i < NF; i++) if ($i == "bits/byte") { seen = 1; good = $(i + 1) <= most } } END { exit !(seen && good) }' "$scratch/eval"
}
untrained() { # a model of the same vocabulary, after one step
    "$gpt2" train --data "$verses" --tokenizer "$tiny" --layers 1 --heads 1 --channels 16 --context 64 --steps 1 --batch 1 \
        --out "$scratch/untrained"
}
demo() { tools/demo "$gpt2" 2>/dev/null; }
text() { sed 1d "$1"; } # without the command line
written() { # that it is a text of some length
    text "$scratch/one" >"$scratch/text"
    cat "$scratch/text"
    [ "$(wc -w <"$scratch/text")" -ge 60 ] && ! LC_ALL=C grep -q '[^ -~]' "$scratch/text"
}

check "all its files are there" whole
check "they take 6 MB at the most" small
check "its tokenizer gives verses back" round_trip "$verses"
check "and any bytes" round_trip "$tokenize"
check "it predicts verses that it never saw in $most_bits bits a byte" predicts "$tiny" "$verses"
check "a model of its vocabulary is trained for a step" untrained
check "which does not" exits 1 predicts "$scratch/untrained/latest" "$verses"
demo >"$scratch/one"
demo >"$scratch/two"
check "the demo goes on from its prompt" grep -q '^In the beginning' "$scratch/one"
check "twice in the same words" cmp "$scratch/one" "$scratch/two"
check "it is a text" written
check "as likely to the model as the Bible is" predicts "$tiny" "$scratch/text"
finish
