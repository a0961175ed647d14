#!/bin/sh
# install.sh PART — check that the packages which PART of the course needs are there, and install missing ones through apt.
#
# PART is build (labs 1 to 3 need no more), gpt2 (lab 4), test, gradescope, arm, check, spelling, format, fuzz, diagrams, plots, docs, pages (a browser
# that looks at the docs), notebooks, ranks (gpt2 train on several processes: MPI), pytorch, pytorch-venv (what tools/pytorch-venv needs) or gpu. As root it installs without
# asking. Otherwise it asks before sudo; with CI=true it does not ask. Where it cannot install, it prints one message with the exact
# line to type and exits 2. A package that is there is never installed again.
set -eu

part=${1:-build}
missing=       # packages, as apt knows them
wanted=        # the same in words

need() { # need PACKAGES WORDS: note something that is missing
    missing="$missing $1"
    wanted="${wanted:+$wanted, }$2"
}

have() { command -v "$1" >/dev/null 2>&1; }

# The newest g++ of at least 12, chosen as common/config.mk chooses it; empty when there is none.
compiler() {
    for name in "${CXX:-}" g++-14 g++-13 g++-12 g++; do
        [ -n "$name" ] && have "$name" || continue
        if [ "$("$name" -dumpversion | cut -d. -f1)" -ge 12 ]; then echo "$name"; return; fi
    done
}

# The version of PACKAGE that apt would install, up to its first dot.
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/.*Candidate: [0-9]*:*\([0-9][0-9]*\).*/\1/p'; }

# Can a C program with these headers and libraries be linked?
links() { # links COMPILER SOURCE LIBRARIES...
    links_with=$1 links_source=$2
    shift 2
    printf '%s\nint main(void) { return 0; }\n' "$links_source" |
        "$links_with" -x c - -x none -o /dev/null "$@" >/dev/null 2>&1
}

need_compiler() {
    gxx=$(compiler)
    if [ -z "$gxx" ]; then
        # Debian 12 calls the right one g++; Ubuntu 22.04's g++ is 11, so there it is g++-12.
        refresh_lists
        newest=$(candidate g++)
        if [ "${newest:-0}" -ge 12 ]; then need g++ "g++ 12 or newer"; else need g++-12 "g++ 12 or newer"; fi
        return
    fi
    gcc=$(echo "$gxx" | sed 's/g++/gcc/')
    version=$("$gxx" -dumpversion | cut -d. -f1)
    have "$gcc" || need "gcc-$version" "gcc $version"
    if have "$gcc" && ! links "$gcc" '#include <backtrace.h>' -lbacktrace; then
        need "libgcc-$version-dev" "libbacktrace (part of gcc)"
    fi
}

need_library() { # need_library PACKAGE HEADER FLAGS...
    gxx=$(compiler)
    gcc=$(echo "$gxx" | sed 's/g++/gcc/')
    package=$1 header=$2
    shift 2
    if [ -z "$gxx" ] || ! links "$gcc" "#include <$header>" "$@"; then need "$package" "$package"; fi
}

need_gpt2_libraries() { # files in JSON; the tokenizer's regular expression; matmuls of the CPU backend
    need_library libcjson-dev cjson/cJSON.h -lcjson
    need_library libpcre2-dev pcre2.h -DPCRE2_CODE_UNIT_WIDTH=8 -lpcre2-8
    need_library libopenblas-dev cblas.h -lopenblas
}

need_mpi() { # optional for gpt2, which finds it with pkg-config and builds without it for one rank
    pkg-config --exists ompi-c 2>/dev/null || need "libopenmpi-dev pkg-config" "Open MPI's headers"
    have mpirun || need openmpi-bin mpirun
}

need_fuzzer() { # clang, and libFuzzer, which some systems have in a package of its own
    for name in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
        have "$name" || continue
        if echo 'int LLVMFuzzerTestOneInput(const void *data, long size) { return data && size < 0; }' |
            "$name" -x c - -fsanitize=fuzzer -o /dev/null >/dev/null 2>&1; then return; fi
    done
    refresh_lists
    runtime=libclang-rt-$(candidate clang)-dev
    need clang "clang with libFuzzer"
    [ -z "$(candidate "$runtime")" ] || need "$runtime" "its runtime"
}

need_python() { # need_python PACKAGES MODULE...
    packages=$1
    shift
    "$(dirname "$0")/python-with" "$@" >/dev/null || need "$packages" "$*"
}

refresh_lists() { # a fresh container has no package lists at all
    [ "$(id -u)" = 0 ] && have apt-get || return 0
    [ -n "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ] || apt-get update -qq || true
}

have make || need make make
case $part in
build) need_compiler ;;
gpt2)
    need_compiler
    need_gpt2_libraries
    ;;
test)
    need_compiler
    need_library libcriterion-dev criterion/criterion.h -lcriterion
    need_gpt2_libraries
    need_mpi
    have git || need git git
    have patch || need patch patch
    have zip || need zip zip
    have unzip || need unzip unzip
    have xmllint || need libxml2-utils xmllint
    have dot || need graphviz Graphviz
    need_python "python3 python3-jsonschema python3-yaml" jsonschema yaml
    ;;
ranks)
    need_compiler
    need_gpt2_libraries
    need_mpi
    ;;
gradescope)
    need_compiler
    have zip || need zip zip
    ;;
arm) # beside the tests' own needs; the same version as here counts the same
    version=$("$(compiler)" -dumpversion | cut -d. -f1)
    have "aarch64-linux-gnu-g++-$version" || need "g++-$version-aarch64-linux-gnu" "g++ $version for 64-bit ARM"
    have qemu-aarch64 || need qemu-user qemu-user
    ;;
check)
    need_compiler
    need_gpt2_libraries
    have git || need git git
    have patch || need patch patch
    have python3 || need python3 python3
    ;;
format) # a layout is one version's
    have clang-format-14 || (have clang-format && clang-format --version | grep -q 'version 14\.') ||
        need clang-format-14 "clang-format 14"
    have git || need git git
    ;;
spelling)
    have hunspell || need hunspell hunspell
    [ -e /usr/share/hunspell/en_GB.dic ] || need hunspell-en-gb "its British dictionary"
    ;;
fuzz)
    need_compiler
    need_gpt2_libraries
    need_fuzzer
    ;;
diagrams) have dot || need graphviz Graphviz ;;
plots) need_python python3-matplotlib matplotlib ;;
docs)
    have mkdocs && mkdocs build --help | grep -q material || need mkdocs-material "MkDocs with its Material theme"
    have dot || need graphviz Graphviz
    ;;
pages)
    have chromium || have chromium-browser || have google-chrome || need chromium Chromium
    need_python "python3 python3-venv" venv ensurepip
    ;;
notebooks)
    need_compiler
    need_gpt2_libraries
    need_python "python3-nbclient python3-ipykernel python3-matplotlib" nbclient nbformat ipykernel matplotlib numpy
    ;;
pytorch)
    need_compiler
    if ! "$(dirname "$0")/python-with" torch transformers pytest >/dev/null; then
        # apt's PyTorch is too old, and pip does not install for the whole system.
        echo "This needs a Python with PyTorch 2.8 or newer, transformers 5.17 or newer and pytest. Make one, then run make again with it:" >&2
        echo "  python3 -m venv venv && venv/bin/pip install './step4_gpt2_integration/pytorch[test]'" >&2
        echo "  PYTHON=venv/bin/python make test-pytorch" >&2
        exit 2
    fi
    ;;
pytorch-venv)
    need_compiler
    need_python "python3 python3-venv" venv ensurepip
    ;;
gpu)
    need_compiler
    if ! have "${NVCC:-nvcc}" && [ ! -x /usr/local/cuda/bin/nvcc ]; then
        echo "This needs nvcc, of CUDA 12.4 or newer: https://developer.nvidia.com/cuda-downloads" >&2
        echo "Everything else works without a GPU:  make lab" >&2
        exit 2
    fi
    if [ ! -e /dev/nvidia0 ] && [ ! -e /dev/dxg ]; then
        echo "This needs an NVIDIA GPU; none is visible here (no /dev/nvidia0)." >&2
        echo "Everything else works without a GPU:  make lab" >&2
        exit 2
    fi
    ;;
*)
    echo "install.sh: no part is called '$part' (build, gpt2, ranks, test, gradescope, arm, check, spelling, format, fuzz, diagrams, plots, docs, pages, notebooks, pytorch, pytorch-venv, gpu)" >&2
    exit 2
    ;;
esac
[ -n "$missing" ] || exit 0

missing=${missing# }
line="apt-get install -y --no-install-recommends $missing"

give_up() { # give_up WHY
    echo "Missing: $wanted. $1" >&2
    exit 2
}

have apt-get || give_up "This system has no apt: install them with its own package manager, then run make again."
if [ "$(id -u)" = 0 ]; then
    sudo=
elif ! have sudo; then
    give_up "As root, run:  $line"
elif [ "${CI:-}" = true ]; then
    sudo="sudo -n"
elif [ -t 0 ] && [ -t 2 ]; then
    sudo=sudo
    printf 'Missing: %s.\nRun "sudo %s"? [Y/n] ' "$wanted" "$line" >&2
    read -r answer || answer=n
    case $answer in
    '' | [Yy]*) ;;
    *) give_up "When you like, run:  sudo $line" ;;
    esac
else
    give_up "Run:  sudo $line"
fi

# shellcheck disable=SC2086 # both are lists of words
install() { "$progress" $sudo env DEBIAN_FRONTEND=noninteractive $line -qq; }

progress=$(dirname "$0")/progress # apt is silent for a minute or more
echo "Installing $wanted: ${sudo:+$sudo }$line" >&2
[ "$sudo" != sudo ] || sudo -v || give_up "By hand:  sudo $line" # asks for the password before the line that shows progress
if ! install 2>/dev/null; then
    "$progress" $sudo apt-get update -qq && install ||
        give_up "apt could not install them; its message is above. By hand:  ${sudo:+sudo }$line"
fi
