# shellcheck shell=sh
# A class: folders and archives of every shape, submissions that are broken, a marking that is killed, changed files.
. tools/tests/tap.sh
export LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL COURSE
grader=$PWD/build/grader/grader class=$scratch/class out=$scratch/out
python=$(tools/python-with json)
batch() { "$grader" batch "$class" -o "$out" --backend cpu --seed 1 --jobs 2 "$@"; }
row() { # row TEXT: of the CSV; without one, all rows
    "$python" grader/tests/class.py "$out" "$count" >"$scratch/rows"
    grep -F -- "$1" "$scratch/rows" || cat "$scratch/rows"
}

# Skeletons and files that do not compile are marked quickly.
mkdir "$class"
hand_in() { mkdir -p "$1" && cp step1_naive/skeleton/*.cu "$1"; }
hand_in "$class/anna_123_assignsubmission_file_"
hand_in "$class/deep/gpu-kernel-labs/step1_naive"
hand_in "$class/deep/gpu-kernel-labs/backup/2026-01-01_000000/step1_naive"
hand_in "$class/=cmd|' calc'!A0"
hand_in "$class/$(printf 'no utf8 \377\n<script>')"
hand_in "$class/-rf"
hand_in "$scratch/archived/Ordner ä [1]/step1_naive"
echo 'this is no C;' >"$scratch/archived/Ordner ä [1]/step1_naive/residual.cu"
(cd "$scratch/archived" && zip -qr "$class/zipped.zip" . && tar -czf "$class/tarred [1].tar.gz" .)
mkdir "$class/canvas" && cp "$class/zipped.zip" "$class/canvas/late_456_lab1.zip"
hand_in "$class/linked"
rm "$class/linked/softmax.cu"
ln -s /etc/passwd "$class/linked/softmax.cu"
marked=9

mkdir "$class/empty" "$class/unreadable" "$class/fifo" "$class/huge"
head -c 3000 /dev/urandom >"$class/damaged.zip"
echo text >"$class/notes.txt"
hand_in "$class/fifo"
rm "$class/fifo/softmax.cu" && mkfifo "$class/fifo/softmax.cu"
hand_in "$class/huge"
head -c 2000000 /dev/zero >"$class/huge/softmax.cu"
mkdir "$scratch/bomb"
head -c 300000000 /dev/zero >"$scratch/bomb/softmax.cu"
(cd "$scratch/bomb" && zip -q "$class/bomb.zip" softmax.cu)
rm "$scratch/bomb/softmax.cu"
marked=$((marked + 1)) # the fifo is left out, as the link is
broken=6               # empty, unreadable (empty, too), huge, damaged, notes, bomb
count=$((marked + broken))

check "broken submissions: exit status 1" exits 1 batch
check "the CSV, the results and the pages agree" "$python" grader/tests/class.py "$out" $count
check "each is marked or has its reason" test "$(row " marked 0 " | wc -l)" = $marked
check "an empty folder says what it lacks" says "empty broken  it holds none of step1's files: residual.cu" row "empty "
check "a large file is not copied" says "softmax.cu cannot be read, or is larger than 1 MiB" row "huge "
check "nor is one that an archive makes large" says "softmax.cu cannot be read, or is larger than 1 MiB" row "bomb "
check "a damaged archive says so" says "damaged broken  the archive is empty or damaged" row "damaged "
check "a loose file says so" says "it is neither a folder nor an archive" row "notes.txt "
check "a name that is a formula is a text" says "'=cmd|' calc'!A0 marked" row "=cmd"
check "the archives' residual.cu does not compile" test "$(grep -l 'residual.cu:1:1: error' "$out"/pages/*.html | wc -l)" = 3
check "the page of a submission names its files as handed in" test -z "$(grep -l '\.work' "$out"/pages/*.html)"
check "a second run marks nothing again" says "$count submissions: 0 marked now, $marked before, $broken without points" batch
cp "$out/results.csv" "$scratch/before.csv"

echo '// changed' >>"$class/-rf/softmax.cu"
check "a changed submission is marked again, alone" says "1 marked now, $((marked - 1)) before" batch
echo 'predictions step1 0' >"$scratch/class.conf"
check "so are all, for other points and another seed" says "$marked marked now, 0 before" \
    batch --seed 2 --config "$scratch/class.conf"
check "which the CSV shows" grep -q ',marked,0,90,0,0,0,0,' "$out/results.csv"

# Killed again and again: what is stored is whole, and is not marked again.
rm -r "$out"
whole() { "$python" -c 'import json, sys; [json.load(open(name)) for name in sys.argv[1:]]' "$@"; }
stored() { find "$out/results" -name '*.json' -exec grep -l '"status": "marked"' {} + 2>/dev/null | wc -l; }
killed=0
for wait in 0.7 1.5 0.4 2.2 1.1; do
    "$grader" batch "$class" -o "$out" --backend cpu --seed 1 --jobs 2 >"$scratch/killed.txt" 2>&1 &
    pid=$!
    sleep $wait
    kill -9 $pid 2>/dev/null && killed=$((killed + 1))
    wait $pid 2>/dev/null
    set -- "$out"/results/*.json
    [ ! -e "$1" ] || check "killed after $wait s: what is stored is whole" whole "$@"
done
check "it was killed at least once" test $killed -gt 0
sleep 1
before=$(stored)
check "then it goes on where it was" says "$((marked - before)) marked now, $before before" batch
check "and ends as if it had never been killed" "$python" grader/tests/class.py "$out" $count
check "with the same rows" diff "$scratch/before.csv" "$out/results.csv"
left() { ps -eo args | grep -F "$out/.work" | grep -v grep; }
check "no process is left" test -z "$(left)"

# ---- one clear message for what the instructor got wrong ----
refused() { # refused WORDS COMMAND...
    words=$1
    shift
    check "$words" says "$words" exits 2 "$@"
}
refused "cannot read the folder of submissions $scratch/nowhere: No such file" "$grader" batch "$scratch/nowhere" -o "$out"
mkdir "$scratch/nobody"
refused "holds no submission: it needs a folder or an archive for each student" "$grader" batch step1 "$scratch/nobody" -o "$out"
mkdir -p "$scratch/nobody/x"
refused "cannot tell which lab these submissions are of" "$grader" batch "$scratch/nobody" -o "$out"
refused "there is no step 'step9'" "$grader" batch step9 "$class" -o "$out"
refused "has a space in it" "$grader" batch "$class" -o "$scratch/a b"
echo 'points step1' >"$scratch/class.conf"
refused "class.conf:1: step1 needs an exercise" "$grader" batch "$class" -o "$out" --config "$scratch/class.conf"
bare=$scratch/bare
mkdir "$bare"
for tool in sh make g++ tar; do ln -s "$(command -v $tool)" "$bare/$tool"; done
refused "which is not installed. Type: sudo apt-get install -y unzip" env PATH="$bare" "$grader" batch "$class" -o "$out"
flock "$out/.lock" sleep 5 &
sleep 0.3
refused "another marking writes to" "$grader" batch "$class" -o "$out"
wait
finish
