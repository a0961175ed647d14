# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# tools/tiny-model, from a text to a folder, with the smallest of models and verses that are numbers in words.
. tools/tests/tap.sh
export TEXT="$scratch/text" GPT2="${BUILD:-build}/gpt2/cpu/gpt2" TOKENIZE="${BUILD:-build}/gpt2/tokenize"
export VOCABULARY=300 LAYERS=1 HEADS=1 CHANNELS=16 CONTEXT=16 STEPS=3 BATCH=2 WARMUP=1 VAL_EVERY=2
awk 'BEGIN {
    split("one two three four five six seven eight nine ten", word)
    for (chapter = 1; chapter <= 45; chapter++)
        for (verse = 1; verse <= 9; verse++)
            print "Num" chapter ":" verse " Of chapter " chapter " this is verse " word[verse] ", and it is not " word[verse + 1] "."
}' >"$TEXT"

make_it() { WORK="$scratch/$1" tools/tiny-model "$scratch/$1/model"; }
all_verses() { grep -hv '^$' "$scratch/one/train.txt" "$scratch/one/heldout.txt" | sort | cmp - "$scratch/verses"; }
held_out() { # chapters 20 and 40, with an empty line between them, and nowhere else
    { grep '^Num20:' "$TEXT"; echo " "; grep '^Num40:' "$TEXT"; } | cut -d' ' -f2- | cmp - "$scratch/one/heldout.txt" &&
        ! grep -qE 'chapter (20|40) ' "$scratch/one/train.txt"
}
measured() { # the figure beside the model is that of the model
    "$GPT2" eval --model "$scratch/one/model" --file "$scratch/one/heldout.txt" --batch 16 --quiet >"$scratch/eval"
    grep -qxF "heldout $(cat "$scratch/eval")" "$scratch/one/model/made.txt"
}
same() { for name in model.safetensors config.json vocab.json merges.txt made.txt; do cmp "$scratch/one/model/$name" "$scratch/two/model/$name" || return 1; done; }

cut -d' ' -f2- "$TEXT" | sort >"$scratch/verses"
check "a model is made" make_it one
check "every verse is learned from or held out" all_verses
check "every 20th chapter is held out" held_out
check "its held-out loss is noted" measured
check "in bf16" grep -qa '"BF16"' "$scratch/one/model/model.safetensors"
check "made twice, it is the same" make_it two
check "to the byte" same
LAYERS=2 check "another shape does not go on with a run" exits 2 make_it one
echo "no reference" >>"$TEXT"
check "a line that is no verse is named" says "line 406 is no verse after its reference: no reference" make_it three
TEXT="$scratch/none" check "a text that is not there: exit 2" exits 2 make_it three
finish
