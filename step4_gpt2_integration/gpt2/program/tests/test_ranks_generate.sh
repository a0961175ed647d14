# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# One model divided among ranks on this machine: gpt2 generate writes the text of one rank, in every form; gpt2 bench measures; a killed rank
# and sizes that cannot be divided are errors.
#
# Open MPI over the CPU backend; BACKEND=cuda: NCCL on this machine's GPUs, where tests with more ranks than GPUs are skipped.
. tools/tests/tap.sh
backend=${BACKEND:-cpu}
gpt2=${BUILD:-build}/gpt2/$backend/gpt2
tiny=step4_gpt2_integration/gpt2/tiny # 6 heads
# Ranks of one machine: no network but loopback, more of them than cores, and a container's root may start them.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_rmaps_base_oversubscribe=1
export SIMT_THREADS=1 OPENBLAS_NUM_THREADS=1 # as many in one rank as in each of several

if ! command -v mpirun >/dev/null 2>&1 || ! ldd "$gpt2" | grep -q libmpi; then
    skip "ranks under mpirun" "no Open MPI, or gpt2 is built without it: tools/install.sh ranks, then make gpt2"
    finish
    exit 0
fi
most=6
[ "$backend" = cpu ] || most=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
on() { # on N TEXT COMMAND...: a check with N ranks
    if [ "$1" -le "$most" ]; then
        shift
        check "$@"
    else
        skip "$2" "needs $1 GPUs"
    fi
}
ranks() { # ranks N COMMAND OPTIONS...
    ranks_count=$1
    shift
    timeout 120 mpirun -n "$ranks_count" "$gpt2" "$@"
}
text() { # text N FILE OPTIONS...: three prompts of different lengths, continued by N ranks
    text_count=$1 text_file=$scratch/$2
    shift 2
    ranks "$text_count" generate --prompt "In the beginning" --prompt "And" --prompt "the sun and the moon and" --tokens 12 \
        --quiet "$@" >"$text_file" && [ "$(grep -c -- "^--- [123] ---" "$text_file")" = 3 ]
}
same() { # same N OPTIONS...: N ranks write what one rank writes
    same_count=$1
    shift
    text 1 one "$@" && text "$same_count" several "$@" && cat "$scratch/one" && cmp "$scratch/one" "$scratch/several"
}
in_forms() { # in_forms N OPTIONS...
    for form in taught fused persistent; do same "$@" --decode $form || return 1; done
    for form in taught fused; do same "$@" --attention $form || return 1; done
}
lines() { # lines N TEXT COMMAND...: so many lines of its output have the text
    lines_wanted=$1 lines_text=$2
    shift 2
    "$@" >"$scratch/lines.log" 2>&1
    cat "$scratch/lines.log"
    [ "$(grep -cF -- "$lines_text" "$scratch/lines.log")" = "$lines_wanted" ]
}
streamed() { # one prompt, from standard input, with times
    printf 'In the beginning' | "$gpt2" generate --model $tiny --prompt - --tokens 20 --quiet >"$scratch/one" &&
        printf 'In the beginning' | timeout 120 "$gpt2" generate --model $tiny --prompt - --tokens 20 --gpus 2 \
            >"$scratch/several" 2>"$scratch/times" && cat "$scratch/times" && cmp "$scratch/one" "$scratch/several" &&
        [ "$(grep -c "of each of 2 ranks" "$scratch/times")" = 1 ]
}
benched() {
    ranks 2 bench --model $tiny --types f32 --batch 2 --lengths 8 --positions 8 --tokens 2 --seconds 0.1 --json "$scratch/bench" &&
        cat "$scratch/bench" && [ "$(grep -c '"ms_p50".*"gpus":2' "$scratch/bench")" = 2 ]
}
less_memory() { # the blocks are half of each rank's, embeddings and logits are whole
    for count in 1 2; do
        ranks $count generate --model $tiny --prompt x --tokens 2 2>&1 | sed -n 's/.*, \([0-9.]*\) MB of device memory.*/\1/p'
    done | tee "$scratch/memory" && awk 'NR == 1 { one = $1 } END { print one, $1; exit !(one - $1 > 3.5) }' "$scratch/memory"
}

# While 2 ranks write a text that shifts its context again and again, they get signals.
rank_of() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }
signal() { # signal NAME RANK...
    signal_name=$1
    shift
    for signal_rank in "$@"; do
        signal_found=
        for signal_entry in /proc/[0-9]*; do
            signal_id=${signal_entry#/proc/}
            tr '\0' ' ' <"$signal_entry/cmdline" 2>/dev/null | grep -q "^[^ ]*gpt2 [a-z]* .*$scratch" || continue
            [ "$(rank_of "$signal_id")" = "$signal_rank" ] || continue
            kill -"$signal_name" "$signal_id"
            signal_found=yes
        done
        [ "$signal_found" ] || { echo "no rank $signal_rank"; return 1; }
    done
}
soon() { # soon COMMAND...: it succeeds within 60 s
    soon_tries=0
    until "$@"; do
        sleep 0.1
        soon_tries=$((soon_tries + 1))
        [ $soon_tries -lt 600 ] || { echo "not soon: $*"; cat "$scratch/long"; return 1; }
    done
}
has_bytes() { [ "$(wc -c <"$scratch/long")" -ge "$1" ]; }
writes() { soon has_bytes $(($(wc -c <"$scratch/long") + 500)); } # more text
begin() { # begin OPTIONS...
    : >"$scratch/long"
    ranks 2 generate --model $tiny --prompt "$scratch" --tokens 1000000 --no-stop --context-shift "$@" >"$scratch/long" 2>&1 &
    job=$!
    writes
}
ends() { # within 60 s
    ends_began=$(date +%s)
    wait "$job"
    status=$? ends_took=$(($(date +%s) - ends_began))
    tail -c 1000 "$scratch/long"
    echo "status $status after $ends_took s"
    [ $status != 0 ] && [ $status != 124 ] && [ $ends_took -le 60 ]
}
killed() { begin && signal 9 1 && ends; }
one_message() { [ "$(grep -c "process rank 1 .*on signal 9" "$scratch/long")" = 1 ] && ! grep "^gpt2: " "$scratch/long"; }
hangs() { begin --rank-timeout 3 "$@" && signal STOP 1 && ends; }
is_missed() { [ "$(grep -c "gpt2: rank 0 of 2 on .*: waited 3 s for rank 1 of 2 (--rank-timeout)" "$scratch/long")" = 1 ] && [ "$status" = 2 ]; }
pauses() { # pauses SECONDS RANKS OPTIONS...: then they go on writing
    pauses_for=$1 pauses_ranks=$2
    shift 2
    # shellcheck disable=SC2086 # a list
    begin "$@" && signal STOP $pauses_ranks && sleep "$pauses_for" && signal CONT $pauses_ranks && writes && signal 9 1 && ends && one_message
}
bench_hangs() { # in the second measurement
    : >"$scratch/long"
    ranks 2 bench --model $tiny --types f32 --batch 1 --lengths 8,16 --positions 0 --seconds 6 --json "$scratch/bench" --rank-timeout 3 \
        >"$scratch/long" 2>&1 &
    job=$!
    soon grep -q "^model" "$scratch/long" && sleep 2 && signal STOP 1 && ends
}
# What one rank has and the other lacks.
mixed() {
    timeout 120 mpirun -n 1 "$gpt2" generate --model $tiny --prompt x : -n 1 "$gpt2" generate --model "$scratch/none" --prompt x
}
other_seeds() {
    timeout 120 mpirun -n 1 "$gpt2" generate --model $tiny --prompt x --temperature 1 --quiet : \
        -n 1 "$gpt2" generate --model $tiny --prompt x --temperature 1 --seed 2 --quiet
}

on 2 "2 ranks write the text of one rank, in all forms" in_forms 2 --model $tiny
[ "$backend" != cpu ] || check "also in rows" same 2 --model $tiny --attention rows --decode rows
on 3 "3 ranks" in_forms 3 --model $tiny
on 2 "2 ranks in bf16" same 2 --model $tiny --type bf16
on 2 "2 ranks in f16" same 2 --model $tiny --type f16
on 2 "2 ranks draw the tokens of one" same 2 --model $tiny --temperature 0.8 --top-p 0.9 --seed 7
on 2 "2 ranks with a small context" same 2 --model $tiny --no-stop --tokens 300 --context-shift
"$gpt2" quantize --from $tiny --to "$scratch/int8" --scheme int8 --quiet
on 2 "2 ranks with weights in 8 bits" in_forms 2 --model "$scratch/int8"
if [ -x "${BUILD:-build}/gpt2/random_model" ]; then
    "${BUILD:-build}/gpt2/random_model" "$scratch/random" step4_gpt2_integration/gpt2/tests/tiny_heldout.txt # 4 heads
    on 4 "4 ranks" in_forms 4 --model "$scratch/random"
fi
on 2 "--gpus 2 reads standard input and prints once" streamed
on 2 "bench measures 2 ranks" benched
on 2 "a rank has less memory" less_memory
on 4 "heads that cannot be divided are refused in one line" lines 1 "gpt2: 4 ranks cannot divide the model's 6 heads equally" \
    ranks 4 generate --model $tiny --prompt x
on 4 "with status 2" exits 2 ranks 4 generate --model $tiny --prompt x
on 4 "by bench too" lines 1 "not measured: 4 ranks cannot divide" ranks 4 bench --model $tiny --types f32 --batch 1 --lengths 8 --positions 0
"$gpt2" quantize --from $tiny --to "$scratch/coded" --scheme int8 --calibrate step4_gpt2_integration/gpt2/tests/tiny_heldout.txt --quiet
on 2 "activations in 8 bits are refused in one line" lines 1 "activations in 8 bits cannot be divided among ranks" \
    ranks 2 generate --model "$scratch/coded" --prompt x
on 2 "what one rank lacks, the first one prints, with its number" lines 1 "gpt2: rank 1 of 2 on " mixed
on 2 "other tokens of a rank are an error that names it" lines 1 "gpt2: the tokens of rank 1 of 2 are not those" other_seeds
on 2 "--gpus beside a launcher with other ranks is refused" lines 1 "a launcher has started 2 processes" ranks 2 generate --model $tiny --gpus 3
on 2 "a rank is killed: the other ends within 60 s" killed
on 2 "with one message, which names it" one_message
on 2 "a rank stops without ending: the other ends" hangs
on 2 "with status 2 and one message, which names it" is_missed
on 2 "also when tokens are drawn" hangs --temperature 1
on 2 "with status 2 and one message" is_missed
on 2 "also in bench" bench_hangs
on 2 "with status 2 and one message" is_missed
on 2 "--rank-timeout 0: the other waits until the rank goes on" pauses 8 1 --rank-timeout 0
on 2 "while both are stopped, none waits" pauses 8 "0 1" --rank-timeout 3
for command in generate bench train; do
    check "$command --rank-timeout -1 is refused" lines 1 "--rank-timeout -1: a number from 0 to 1000000 is needed" \
        "$gpt2" $command --model $tiny --rank-timeout -1
done
finish
