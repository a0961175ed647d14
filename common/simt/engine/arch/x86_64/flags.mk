# x86-64: the flags of the library; of every source that simt-cc compiles; of its CUDA sources, and of these in the fast build.
# -fsplit-stack: a function's prologue detects a stack overflow (fiber.S).
SIMT_ARCH_LIBRARY := -mno-red-zone
SIMT_ARCH_COMMON := -fcf-protection=none
SIMT_ARCH_DEVICE := -fsplit-stack
SIMT_ARCH_FAST :=
