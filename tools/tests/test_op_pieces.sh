# shellcheck shell=sh
# Each piece of an op and of its exercise is missed: without it, the tests and checks that look at every op fail, and they say
# what is missing. With all pieces restored they pass. RMSNorm is the example; the work is done in a copy of the course.
. tools/tests/tap.sh # makes $scratch
. tools/tests/copy.sh
export LC_ALL=C.UTF-8
unset BUILD COURSE TEST_ALL
folder=common/ops/rmsnorm_forward lab=step2_warp_reduce

copy_course "$scratch/course"
cd "$scratch/course" || exit 1

# Of `make test` and `make check`: what looks at every op without marking a kernel.
suite() {
    # An archive and an index are as old as their newest part: those of a missing part are not made again.
    rm -rf build/grader/libgrader.a
    [ "$suite_index" = kept ] || rm -rf build/ops
    make -s -j2 build/tests/test_op_references build/tests/test_lab build/tests/test_corpus &&
        build/tests/test_lab && build/tests/test_op_references &&
        build/tests/test_corpus --filter 'corpus/[ek]*' && make -s check-skeletons
}

missed() { # missed TEXT: the suite fails and says it
    ! suite >"$scratch/suite.log" 2>&1 && says "$1" cat "$scratch/suite.log"
}

without() { # without PIECE FILE TEXT [COMMAND...]: FILE is removed, or COMMAND edits it
    without_name=$1 without_file=$2 without_text=$3
    shift 3
    case $without_file in */op.c | */contract.h) suite_index=new ;; *) suite_index=kept ;; esac
    cp "$without_file" "$scratch/piece"
    if [ $# = 0 ]; then rm "$without_file"; else "$@" "$without_file"; fi
    check "without $without_name: $without_text" missed "$without_text"
    cp "$scratch/piece" "$without_file"
}

suite_index=kept
check "with all pieces all pass" suite
without "the reference" $folder/reference.c "op_reference_rmsnorm_forward"
without "the op's test" $folder/tests/test_rmsnorm_forward.c "test_rmsnorm_forward.c has no test in a suite rmsnorm_forward"
without "a wrong kernel" $folder/tests/wrong/no_root.patch "rmsnorm-no-root: there is no wrong kernel"
without "a mistake's record" $folder/reference.c "no known mistake is called 'rmsnorm-no-root'" \
    sed -i '/{.id = "rmsnorm-no-root"/,/}},$/d'
without "a hint" $lab/hints/rmsnorm_forward.2.md "there is no $lab/hints/rmsnorm_forward.2.md"
without "the launcher's declaration" $folder/contract.h "contract.h declares none, op.c describes ppppiifs" \
    sed -i '/^int rmsnorm_forward_f32(/,/;$/d'
without "an argument in the contract" $folder/contract.h "contract.h declares ppppiis, op.c describes ppppiifs" sed -i 's/, float eps//'
without "the contract" $folder/contract.h "rmsnorm_forward/contract.h: No such file"
without "the description" $folder/op.c "there is no op 'rmsnorm_forward'"
without "the solution" $lab/solution/rmsnorm.cu "there is no $lab/solution/rmsnorm.cu"
without "the skeleton" $lab/skeleton/rmsnorm.cu "there is no $lab/skeleton/rmsnorm.cu"
suite_index=new
check "with each piece again all pass" suite
finish
