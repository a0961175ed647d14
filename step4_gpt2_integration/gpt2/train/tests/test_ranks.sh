# shellcheck shell=sh disable=SC2154 # scratch: of tap.sh
# Ranks that train one model together, on this machine. Losses are compared with one rank's of the same total batch; files byte by byte
# with those of as many ranks. A rank is killed, a run is resumed on another number of ranks.
#
# Open MPI over the CPU backend; BACKEND=cuda: NCCL on this machine's GPUs, where tests with more ranks than GPUs are skipped.
. tools/tests/tap.sh
backend=${BACKEND:-cpu}
gpt2=${BUILD:-build}/gpt2/$backend/gpt2
alone=${BUILD:-build}/gpt2/cpu/gpt2-alone
model=step4_gpt2_integration/gpt2
# Ranks of one machine: no network but loopback, more of them than cores, and a container's root may start them.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_rmaps_base_oversubscribe=1

# The beginning of a command, without --batch, --steps and --out. Each rank of one machine has the same threads in every test, because
# another number of them rounds otherwise.
sizes="--tokenizer $model/tiny --layers 2 --heads 1 --channels 16 --context 16 --lr 3e-3 --seed 3"
data="--data $model/tests/tiny_heldout.txt"
export SIMT_THREADS=1 OPENBLAS_NUM_THREADS=1

# shellcheck disable=SC2086 # data and sizes are lists of words
train() { # train OUT OPTIONS...: one rank
    train_out=$scratch/$1
    shift
    timeout 120 "$gpt2" train $data $sizes --out "$train_out" "$@"
}
# shellcheck disable=SC2086
ranks() { # ranks N OUT OPTIONS...
    ranks_count=$1 ranks_out=$scratch/$2
    shift 2
    timeout 120 mpirun -n "$ranks_count" "$gpt2" train $data $sizes --out "$ranks_out" "$@"
}
resume() { # resume N OUT OPTIONS...
    resume_count=$1 resume_out=$scratch/$2
    shift 2
    timeout 120 mpirun -n "$resume_count" "$gpt2" train --resume --out "$resume_out" "$@"
}
near() { # near A B: the same steps; loss, gradients' norm and loss on --val within 1e-6
    paste -d, "$scratch/$1/loss.csv" "$scratch/$2/loss.csv" | awk -F, '
        function far(x, y) { return !((x - y) ^ 2 <= (1e-6 * x) ^ 2) }
        NR > 1 { rows++; print; bad += $1 != $6 || $2 <= 0 || far($2, $7) || far($4, $9) || ($5 == "") != ($10 == "") || far($5, $10) }
        END { exit bad > 0 || rows < 2 }'
}
same() { # same A B: the checkpoints and the losses of two runs
    for name in latest/model.safetensors latest/optimizer.safetensors loss.csv; do
        cmp "$scratch/$1/$name" "$scratch/$2/$name" || return 1
    done
}
lines() { # lines N TEXT COMMAND...: so many lines of its output have the text
    lines_wanted=$1 lines_text=$2
    shift 2
    "$@" >"$scratch/lines.log" 2>&1
    cat "$scratch/lines.log"
    [ "$(tr '\r' '\n' <"$scratch/lines.log" | grep -cF -- "$lines_text")" = "$lines_wanted" ]
}
most=4 # ranks
[ "$backend" = cpu ] || most=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
on() { # on N TEXT COMMAND...: a check with N ranks
    if [ "$1" -le "$most" ]; then
        shift
        check "$@"
    else
        skip "$2" "needs $1 GPUs"
    fi
}
# In a container without ssh.
gpus() { # gpus OUT OPTIONS...
    gpus_out=$scratch/$1
    shift
    mkdir -p "$scratch/bin"
    ln -sf "$(command -v mpirun)" "$scratch/bin"
    # shellcheck disable=SC2086
    timeout 120 env PATH="$scratch/bin" "$gpt2" train $data $sizes --out "$gpus_out" --gpus 2 "$@"
}
memory() { ranks 2 "$@" --type bf16 --batch 2 --steps 1 | tr '\r' '\n' | sed -n 's/.*, \([0-9.]*\) MB of device memory/\1/p'; }
saves_memory() { # 12 bytes a parameter, less a half
    memory_all=$(memory memory-all) memory_part=$(memory memory-part --zero 1)
    echo "$memory_all, $memory_part" | awk -F', ' '{ print; exit !($1 - $2 > 0.35 && $1 - $2 < 0.55) }'
}
# As a launcher whose ranks MPI does not find.
stranger() { env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$@"; }

# A rank is killed with a checkpoint behind it. mpirun ends the others and names it.
rank_of() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }
kill_rank() { # kill_rank SIGNAL RANK OUT OPTIONS...
    kill_signal=$1 kill_wanted=$2 kill_out=$3
    shift 3
    ranks 2 "$kill_out" "$@" >"$scratch/killed.log" 2>&1 &
    kill_job=$!
    kill_tries=0
    until [ -e "$scratch/$kill_out/latest" ]; do
        sleep 0.1
        kill_tries=$((kill_tries + 1))
        [ $kill_tries -lt 600 ] || { echo "no checkpoint"; cat "$scratch/killed.log"; return 1; }
    done
    for kill_entry in /proc/[0-9]*; do
        kill_id=${kill_entry#/proc/}
        tr '\0' ' ' <"$kill_entry/cmdline" 2>/dev/null | grep -q "^[^ ]*gpt2 train .*--out $scratch/$kill_out " || continue
        [ "$(rank_of "$kill_id")" = "$kill_wanted" ] || continue
        kill -"$kill_signal" "$kill_id"
        kill_began=$(date +%s)
        wait "$kill_job"
        kill_status=$? kill_took=$(($(date +%s) - kill_began))
        cat "$scratch/killed.log"
        echo "status $kill_status after $kill_took s"
        [ $kill_status != 0 ] && [ $kill_status != 124 ] && [ $kill_took -le 60 ]
        return
    done
    echo "no rank $kill_wanted"
    wait "$kill_job"
    return 1
}
is_named() { grep -q "process rank $1 .*on signal 9" "$scratch/killed.log"; }
is_missed() { grep -q "gpt2: rank 0 of 2 on .*: waited 5 s for rank $1 of 2" "$scratch/killed.log"; }
is_whole() { "$gpt2" eval --model "$scratch/$1" --file "$model/tests/tiny_heldout.txt" --quiet; }

if [ "$backend" = cpu ]; then
    trains_alone() { gpt2=$alone train alone --batch 2 --steps 1; }
    check "built without MPI, one rank trains" trains_alone
    check "and several are refused in one line" lines 1 "built without MPI" stranger "$alone" train --data x --out y --steps 1
    check "with status 2" exits 2 stranger "$alone" train --data x --out y --steps 1
    check "only one of them says so" lines 0 "gpt2:" env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 "$alone" train --data x --out y --steps 1
fi

if ! command -v mpirun >/dev/null 2>&1 || ! ldd "$gpt2" | grep -q libmpi; then
    skip "ranks under mpirun" "no Open MPI, or gpt2 is built without it: tools/install.sh ranks, then make gpt2"
    finish
    exit 0
fi
if [ "$most" -lt 2 ]; then
    skip "ranks under mpirun" "NCCL needs two GPUs"
    finish
    exit 0
fi

val="--val $model/tests/tiny_heldout.txt"
started="no GPUs" # the CPU backend says this of its processes
[ "$backend" = cpu ] || started="2 ranks on 1 machine"
every="--steps 4 --save-every 1 $val --val-every 2"
long="--batch 6 --steps 20 --save-every 1 $val --val-every 5 --val-batches 2"
# shellcheck disable=SC2086
{
    check "one rank, 12 sequences an update" train one --batch 12 $every --val-batches 1
    check "2 ranks print each step once" lines 1 "step 1/4 " ranks 2 two --batch 6 $every --val-batches 1
    check "and have its losses" near one two
    on 4 "4 ranks" ranks 4 four --batch 3 $every --val-batches 1
    on 4 "have its losses" near one four
    check "2 ranks that accumulate" ranks 2 accumulate --batch 2 --accumulate 3 $every --val-batches 3
    check "have its losses" near one accumulate
    check "--gpus 2 starts 2 processes, without ssh too" says "$started" gpus gpus --batch 6 $every --val-batches 1
    check "with the bytes of 2 ranks" same two gpus
    check "2 ranks that divide the optimizer's state" ranks 2 zero --batch 6 $every --val-batches 1 --zero 1
    check "have its losses" near one zero
    check "and memory" saves_memory
    on 3 "3 ranks that divide it" ranks 3 zero3 --batch 4 $every --val-batches 1 --zero 1
    on 3 "have its losses" near one zero3
    on 4 "4 ranks that divide it, and accumulate" ranks 4 zero4 --batch 1 --accumulate 3 $every --val-batches 3 --zero 1
    on 4 "have its losses" near one zero4
    check "2 ranks make 20 steps" ranks 2 whole $long
    check "again, and one is killed: the other ends within 60 s" kill_rank 9 1 killed $long
}
check "a message names it" is_named 1
check "the checkpoint is complete" is_whole killed
check "2 ranks resume" resume 2 killed
check "and end with the same bytes" same whole killed

divided="--zero 1 --type bf16 --sample-every 10 --sample-tokens 4" # then the master weights are divided, too
# shellcheck disable=SC2086
{
    check "2 ranks that divide the state in bf16 make 20 steps" ranks 2 zero-whole $long $divided
    check "again, and one is killed: the other ends within 60 s" kill_rank 9 1 zero-killed $long $divided
}
check "a message names it" is_named 1
check "the checkpoint is complete" is_whole zero-killed
check "2 ranks resume" says "keeps its part of the optimizer's state" resume 2 zero-killed
check "and end with the same bytes" same zero-whole zero-killed

# shellcheck disable=SC2086
check "a rank stops without ending: the other ends within 60 s" kill_rank STOP 1 stopped $long --steps 100000 --rank-timeout 5
check "and names it" is_missed 1
check "the checkpoint is complete" is_whole stopped

cp -r "$scratch/one" "$scratch/one-more"
for copy in one two four; do cp -r "$scratch/zero" "$scratch/zero-$copy"; done
check "one rank makes two more steps" "$gpt2" train --resume --out "$scratch/one" --steps 6
on 4 "3 ranks resume the run of 4" says "3 ranks on 1 machine: each computes 2 x 2 of the 12 sequences" resume 3 four --steps 6
on 4 "and have its losses" near one four
check "2 ranks resume the run of one rank" resume 2 one-more --steps 6
check "and have its losses" near one one-more
check "one rank resumes the run of 2" "$gpt2" train --resume --out "$scratch/two" --steps 6
check "and has its losses" near one two
check "one rank resumes the run of 2 that divided the state" "$gpt2" train --resume --out "$scratch/zero-one" --steps 6
check "and has its losses" near one zero-one
check "2 ranks resume it without dividing" says "rounded differently" resume 2 zero-two --steps 6 --zero 0
check "and have its losses" near one zero-two
on 4 "4 ranks resume it" resume 4 zero-four --steps 6
on 4 "and have its losses" near one zero-four
check "2 ranks divide the state of a run that did not" resume 2 accumulate --steps 6 --zero 1
check "and have its losses" near one accumulate
check "5 ranks cannot divide 12 sequences" lines 1 "5 ranks cannot divide the 12 sequences" resume 5 gpus --steps 6
check "a rank with another batch is refused" says "with 2 ranks their product is 6" resume 2 one --steps 8 --batch 5

# shellcheck disable=SC2086
mixed() { # two ranks with different learning rates
    timeout 120 mpirun -n 1 "$gpt2" train $data $sizes --batch 2 --steps 3 --save-every 2 --out "$scratch/mixed" : \
        -n 1 "$gpt2" train $data $sizes --batch 2 --steps 3 --save-every 2 --lr 1e-3 --out "$scratch/mixed"
}
no_checkpoint() { [ -e "$scratch/mixed/loss.csv" ] && [ ! -e "$scratch/mixed/latest" ]; }
check "ranks with different weights: one message names the rank" lines 1 "gpt2: step 2: the weights of rank 1 of 2" mixed
check "and no checkpoint is written" no_checkpoint
other_data() {
    timeout 120 mpirun -n 1 "$gpt2" train $data $sizes --batch 2 --steps 3 --out "$scratch/other" : \
        -n 1 "$gpt2" train --data README.md $sizes --batch 2 --steps 3 --out "$scratch/other"
}
check "nor do ranks with different data start" lines 1 "the tokens of --data of rank 1 of 2" other_data
missing_data() {
    timeout 120 mpirun -n 1 "$gpt2" train $data $sizes --batch 2 --steps 3 --out "$scratch/other" : \
        -n 1 "$gpt2" train --data "$scratch/none" $sizes --batch 2 --steps 3 --out "$scratch/other"
}
check "what one rank lacks, the first one prints, with its number" lines 1 "gpt2: rank 1 of 2 on " missing_data
check "what all lack is printed once" lines 1 "gpt2:" ranks 2 none --batch 2 --steps 0
check "--gpus beside a launcher with other ranks is refused" lines 1 "a launcher has started 2 processes" ranks 2 none --steps 1 --gpus 3
check "processes that MPI cannot join are refused" says "mpirun has started 2 processes, of which MPI sees 1" \
    stranger "$gpt2" train $data $sizes --steps 1 --out "$scratch/none"
finish
