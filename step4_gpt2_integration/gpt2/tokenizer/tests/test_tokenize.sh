# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# The tokenizer from the command line: learns, encodes and decodes; one line and exit status 2 for what is wrong.
. tools/tests/tap.sh
tokenize=${BUILD:-build}/gpt2/tokenize
folder=$scratch/tokenizer
text=$scratch/text
mkdir "$folder"
cat step4_gpt2_integration/gpt2/tokenizer/*.c README.md >"$text"
head -c 20000 "$tokenize" >>"$text" # bytes that are no text

learn() { "$tokenize" train "$1" 2000 <"$text"; }
encode() { "$tokenize" encode "$1" <"$text"; }
round_trip() { encode "$1" | "$tokenize" decode "$1" | cmp - "$text"; }
alike() { encode "$1" >"$scratch/a" && encode "$2" >"$scratch/b" && cmp "$scratch/a" "$scratch/b"; }
one_line() { "$@" 2>&1 | wc -l | grep -qx '1'; }

check "it learns 2000 tokens" says "2000 tokens" learn "$folder"
check "decode undoes encode" round_trip "$folder"
check "it writes llm.c's file" "$tokenize" convert "$folder" "$scratch/tokenizer.bin"
check "which gives the same ids" alike "$folder" "$scratch/tokenizer.bin"
mkdir "$scratch/again"
learn "$scratch/again" 2>/dev/null
check "learned twice, it is the same" cmp "$folder/merges.txt" "$scratch/again/merges.txt"
check "a tokenizer that is not there: exit 2" exits 2 encode "$scratch/none"
check "and one line" one_line encode "$scratch/none"
check "a folder that is not there: exit 2" exits 2 learn "$scratch/none"
check "no command: exit 2" exits 2 "$tokenize"
random_model=${BUILD:-build}/gpt2/random_model
for program in "$tokenize" "$random_model"; do
    [ -x "$program" ] || continue
    name=${program##*/}
    for option in -h --help --version; do
        silent() { [ -z "$("$program" "$option" 2>&1 >/dev/null)" ]; }
        check "$name $option: exit 0" exits 0 "$program" "$option"
        check "on standard output" silent
    done
    check "it names itself" says "$name 1" "$program" --version
done
check "no command: its help is on standard error" says "usage: tokenize" "$tokenize"
finish
