# shellcheck shell=sh
# copy.sh — sourced: copy_course DIR makes DIR a copy of this checkout that a test may change: the tracked files, and what is
# built of them already, so that make builds there only what depends on a change.
copy_course() {
    mkdir -p "$1/build"
    git ls-files -z | xargs -0 cp -p --parents -t "$1"
    # Not the programs of gpt2: they name the folder of their kernels.
    for copy_part in grader host ladders ops runner simt tests tools gpt2/cpu/fast; do
        [ ! -e "build/$copy_part" ] || cp -Rp --parents "build/$copy_part" "$1"
    done
    # Dependency files name paths of this checkout, and so do the tests that start built programs.
    find "$1/build" -name '*.d' -exec sed -i "s|$PWD/|$1/|g" {} +
    rm -f "$1"/build/host/grader/tests/test_corpus.o "$1"/build/host/grader/tests/test_ladders.o "$1"/build/tests/test_corpus \
        "$1"/build/tests/test_ladders
}
