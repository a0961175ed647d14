# shellcheck shell=sh
# tools/corpus: kernels that are kept as patches are applied exactly, and made again when what they change has changed.
. tools/tests/tap.sh # makes $scratch
course=$scratch/course
mkdir -p "$course/tools" "$course/step1_x/solution" "$course/common/ops/add/tests/wrong" "$course/common/ops/add/tests/right"
cp tools/corpus "$course/tools"
cd "$course" || exit 1
export GIT_CONFIG_NOSYSTEM=1 HOME="$scratch" BUILD=build
git init -q .
commit() { git add -A && git -c user.name=x -c user.email=x@y commit -qm "$1"; }
solution=step1_x/solution/add.cu
wrong=common/ops/add/tests/wrong/subtracted.patch

cat >$solution <<'END'
// add.cu — a solution
// It adds.
int add(int a, int b) {
    int sum = a + b;
    return sum;
}
int other(void) { return 0; }
END
{
    printf '// step: step1  op: add  diagnosis: subtracted\n// reason: A minus for a plus.\n'
    sed 's/a + b/a - b/' $solution
} >edited.cu
check "a patch is made from an edited copy" tools/corpus make $wrong edited.cu $solution
check "it opens with the kernel's comments" says "// step: step1  op: add  diagnosis: subtracted" head -n 1 $wrong
check "and holds the change alone" test "$(wc -l <$wrong)" = 9
tools/corpus source $wrong >source.cu
check "its source is the edited copy" cmp source.cu edited.cu
check "a copy without a change is refused" fails tools/corpus make other.patch $solution $solution
printf '// step: step1  op: add\n// reason: none.\nint add(int a, int b) { return b + a; }\n' >common/ops/add/tests/right/plain.cu
check "a patch may change a right kernel" tools/corpus make common/ops/add/tests/wrong/none.patch edited.cu common/ops/add/tests/right/plain.cu
rm common/ops/add/tests/wrong/none.patch
check "kernels are listed by what they are" test "$(tools/corpus list wrong)" = "$wrong"
cp $wrong common/ops/add/tests/wrong/zz.patch
check "of two with one diagnosis the quick list has the first" test "$(tools/corpus quick wrong)" = "$wrong"
rm common/ops/add/tests/wrong/zz.patch
check "a folder to mark has the kernel in the solution's place" says "add.cu" tools/corpus place $wrong lab
check "with the change" grep -q "a - b" lab/add.cu
echo 'exercise add f32 file add.cu' >step1_x/lab.conf
sed -i '2a #include "step1_x/add.h"' $solution
check "a whole file without includes gets the solution's" says '#include "step1_x/add.h"' tools/corpus source common/ops/add/tests/right/plain.cu
check "and replaces the solution's file" says "add.cu" tools/corpus place common/ops/add/tests/right/plain.cu lab
check "with them" grep -q '^#include "step1_x/add.h"' lab/add.cu
sed -i 's/op: add/op: other/' common/ops/add/tests/right/plain.cu
check "an op that is no exercise is refused" says "step1 has no exercise other" tools/corpus place common/ops/add/tests/right/plain.cu lab
sed -i 's/op: other/op: add/; 2a #include "own.h"' common/ops/add/tests/right/plain.cu
check "one with includes keeps its own" says 1 sh -c 'tools/corpus source common/ops/add/tests/right/plain.cu | grep -c "#include"'
commit one

sed -i 's/^\/\/ It adds\./\/\/ It adds two numbers.\n\/\/ More of it./' $solution
check "lines above that move do no harm" tools/corpus source $wrong
sed -i 's/    return sum;/    return sum; \/\/ the result/' $solution
check "a patch that no longer applies fails" fails tools/corpus source $wrong
check "in one line that says what to do" says "no longer applies to $solution. Run: tools/corpus refresh $wrong" tools/corpus source $wrong
check "which makes it again" says "made $wrong again" tools/corpus refresh
check "with the same change" says "int sum = a - b;" tools/corpus source $wrong
check "and the new text" says "return sum; // the result" tools/corpus source $wrong
commit two

# Two functions with the same lines: the patch below belongs to the second.
solution=step1_x/solution/twice.cu
for f in first second; do
    printf '%s\n' "int $f(int a, int b) {" "    int sum = a;" "    // Add." "    sum += b;" "    return sum;" "}"
done >$solution
twice=common/ops/add/tests/wrong/second_lost.patch
{
    printf '// step: step1  op: add  diagnosis: lost\n// reason: The second sum is lost.\n'
    sed '10s/sum += b/sum = b/' $solution
} >second.cu
check "a patch is made" tools/corpus make $twice second.cu $solution
check "with so many lines of context that it fits at one place" grep -q "int second" $twice
tools/corpus source $twice >source.cu
check "its source is the edited copy" cmp source.cu second.cu
{
    head -n 2 second.cu
    printf '%s\n' "--- a/$solution" "+++ b/$solution" "@@ -9,3 +9,3 @@" "     // Add." "-    sum += b;" "+    sum = b;" "     return sum;"
} >$twice # with one line of context
commit three
said=$(tools/corpus source $twice 2>&1)
check "one that fits at two places is refused" fails tools/corpus source $twice
check "with the patch, the file and the lines" test "$said" = "corpus: $twice fits $solution at several places: hunk 1 at lines 3 and 9. Run: tools/corpus refresh $twice"
sed -i '1i // It moves.' $solution
check "it is refused where the lines have moved" says "at lines 4 and 10" tools/corpus source $twice
sed -i '1,2d' $solution
check "also where the first function now has those lines" says "at lines 2 and 8" tools/corpus source $twice
git checkout -q $solution
sed -i '1i // It moves.\n// Again.\n// And again.\n// To here.\n// Or there.\n// Done.' $solution
check "it is made again for the lines that it named when it fitted there" says "check that it is the same mistake" tools/corpus refresh $twice
tools/corpus source $twice >source.cu
check "with the second function wrong" says "16c18" diff $solution source.cu
check "and the first one as it was" test "$(diff $solution source.cu | grep -c '^[<>] *sum')" = 2
commit four
solution=step1_x/solution/add.cu

sed -i 's/int sum = a + b;/int sum = b + a;/' $solution
check "where both have changed a line, it says so" says "conflicts with $solution" tools/corpus refresh
check "and fails" fails tools/corpus refresh
finish
