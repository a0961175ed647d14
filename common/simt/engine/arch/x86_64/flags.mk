# x86-64: the flags of the library; of every source that simt-cc compiles; of its CUDA sources, and of these in the fast build.
# SIMT_ARCH_LEARNER: of sources that are marked: indirect calls go through indirect.S, to an endbr64.
# -fsplit-stack: a function's prologue detects a stack overflow (fiber.S).
SIMT_ARCH_LIBRARY := -mno-red-zone
SIMT_ARCH_COMMON := -fcf-protection=none
SIMT_ARCH_DEVICE := -fsplit-stack
SIMT_ARCH_FAST :=
SIMT_ARCH_LEARNER := -mindirect-branch=thunk-extern -mindirect-branch-register -fcf-protection=branch -fno-jump-tables
SIMT_ARCH_AROUND := -fcf-protection=branch
