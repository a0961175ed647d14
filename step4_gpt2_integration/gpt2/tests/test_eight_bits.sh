# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# gpt2 quantize, and the commands that read what it writes; plant_outliers; the measurement of docs/eight-bits.md.
. tools/tests/tap.sh
gpt2=${BUILD:-build}/gpt2/cpu/gpt2
plant=${BUILD:-build}/gpt2/plant_outliers
verses=step4_gpt2_integration/gpt2/tests/tiny_heldout.txt

loss() { "$gpt2" eval --model "$1" --file "$verses" --quiet | sed -n 's/.*loss \([0-9.]*\).*/\1/p'; }
near() { # near MODEL MODEL MOST: the losses differ by at most so much
    one=$(loss "$1") && other=$(loss "$2") && echo "$one $other"
    awk -v a="$one" -v b="$other" -v most="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a > 0 && b > 0 && d <= most) }'
}
quantized() { "$gpt2" quantize --from "$1" --to "$scratch/$2" --scheme "$2" --force; }
smaller() { # than 0.53 of 16 bits: a byte a weight, and scales, biases, positions
    awk -v a="$(stat -c %s "$scratch/$1/model.safetensors")" -v b="$(stat -c %s step4_gpt2_integration/gpt2/tiny/model.safetensors)" \
        'BEGIN { exit !(a < 0.53 * b) }'
}
same_text() { # in all forms of decoding, and decoded to a plain folder
    "$gpt2" generate --model "$scratch/$1" --prompt "And the LORD" --tokens 6 --quiet >"$scratch/text" || return 1
    for form in taught fused persistent; do
        "$gpt2" generate --model "$scratch/$1" --prompt "And the LORD" --tokens 6 --quiet --decode $form >"$scratch/other" &&
            cmp "$scratch/text" "$scratch/other" || return 1
    done
    "$gpt2" convert --from "$scratch/$1" --to "$scratch/plain" --force && ! grep -q quantization "$scratch/plain/config.json" &&
        "$gpt2" generate --model "$scratch/plain" --prompt "And the LORD" --tokens 6 --quiet | cmp - "$scratch/text"
}
checked() { "$gpt2" check --model "$scratch/$1" --prompt "and the sun" --decode taught --tolerance 1e-5; }
benched() {
    "$gpt2" bench --model "$scratch/int8" --types f32 --batch 1 --lengths 0 --positions 8 --tokens 2 --seconds 0 --json "$scratch/bench" "$@" &&
        cat "$scratch/bench"
}
outliers() { "$plant" step4_gpt2_integration/gpt2/tiny "$scratch/outliers" 50 7 60; }

for scheme in int8 fp8; do
    check "$scheme: a model is written" quantized tiny $scheme
    check "$scheme: in half of the bytes of bf16" smaller $scheme
    check "$scheme: it predicts as the model does" near tiny "$scratch/$scheme" 0.02
    check "$scheme: its text is the same in all forms" same_text $scheme
    check "$scheme: hidden states are those of float64" checked $scheme
done

calibrated() { # calibrated MODEL SCHEME METHOD: to $scratch/coded
    "$gpt2" quantize --from "$1" --to "$scratch/coded" --scheme "$2" --calibrate $verses --method "$3" --force
}
described() { grep -q "\"gpt2-activations-$1\".*\"method\":\"$2\",\"text\":\"tiny_heldout.txt\",\"tokens\":562" "$scratch/coded/config.json"; }
decoded() { # to a plain folder, as near as the weights are
    "$gpt2" convert --from "$scratch/coded" --to "$scratch/plain" --force && ! grep -q quantization "$scratch/plain/config.json" &&
        near tiny "$scratch/plain" 0.01
}
for scheme in int8 fp8; do
    for method in absmax percentile smooth; do
        check "$scheme, $method: activations are calibrated" calibrated tiny $scheme $method
        check "$scheme, $method: the folder says how" described $scheme $method
        check "$scheme, $method: it predicts nearly as the model does" near tiny "$scratch/coded" "$([ $scheme = int8 ] && echo 0.02 || echo 0.12)"
    done
    check "$scheme: activations in 8 bits are decoded" decoded
done
smoothed() { # smoothing makes up for the planted outliers
    calibrated "$scratch/outliers" int8 absmax && absmax=$(loss "$scratch/coded") &&
        calibrated "$scratch/outliers" int8 smooth && smooth=$(loss "$scratch/coded") && echo "absmax $absmax smooth $smooth" &&
        awk -v a="$absmax" -v s="$smooth" 'BEGIN { exit !(s < a - 0.01) }'
}
check "outliers are planted" outliers
check "int8: smoothing helps against outliers" smoothed
each_loss() { # of each token; their mean is the loss
    "$gpt2" eval --model tiny --file $verses --losses "$scratch/each" --quiet &&
        awk -v loss="$(loss tiny)" '{ sum += $1 } END { d = sum / NR - loss; exit !(NR == 562 && d < 1e-5 && d > -1e-5) }' "$scratch/each"
}
check "the losses of tokens are written" each_loss
check "a file that cannot be written" says "no/each: cannot be written" "$gpt2" eval --model tiny --file $verses --losses "$scratch/no/each"
check "losses of overlapping windows" says "of a --file without --stride" "$gpt2" eval --model tiny --file $verses --stride 10 --losses "$scratch/each"
check "another method" says "--method mean: absmax, percentile or smooth" \
    "$gpt2" quantize --from tiny --to "$scratch/x" --scheme int8 --calibrate $verses --method mean
for option in "--method smooth" "--kernels naive" "--threads 1"; do # shellcheck disable=SC2086 # two words
    check "$option without a text" says "only with --calibrate" "$gpt2" quantize --from tiny --to "$scratch/x" --scheme int8 $option
done
check "no text" says "no: No such file" "$gpt2" quantize --from tiny --to "$scratch/x" --scheme int8 --calibrate "$scratch/no"
check "activations of plain weights" says "only with --scheme" "$gpt2" bench --sizes 124M --activations
check "the weights of a measurement are named" says '"weights":"int8"' benched --decode fused
check "auto decodes them on the CPU backend" says '"weights":"f32"' benched
check "no scheme" says "--scheme is missing: int8 or fp8" "$gpt2" quantize --from tiny --to "$scratch/x"
check "another scheme" says "--scheme int4: int8 or fp8" "$gpt2" quantize --from tiny --to "$scratch/x" --scheme int4
check "llm.c's format" says "has no weights in 8 bits" "$gpt2" quantize --from tiny --to "$scratch/x.bin" --scheme int8
check "twice" says "in int8 already" "$gpt2" quantize --from "$scratch/int8" --to "$scratch/x" --scheme fp8
check "an existing folder is kept" says "is there already (--force replaces it)" "$gpt2" quantize --from tiny --to "$scratch/int8" --scheme int8
check "profile counts plain weights" says "gpt2 convert" "$gpt2" profile --model "$scratch/int8"
check "none of these wrote a file" [ ! -e "$scratch/x" ]
check "the function stays" near tiny "$scratch/outliers" 0.00001
check "a channel that is not there" says "192: a channel is a number from 0 to 191" "$plant" step4_gpt2_integration/gpt2/tiny "$scratch/x" 50 192
check "a factor that is none" says "x: the factor is a number" "$plant" step4_gpt2_integration/gpt2/tiny "$scratch/x" x 1
finish
