# 64-bit ARM: the flags of the library, of every source that simt-cc compiles, of its CUDA sources. simt-cc reads this file too.
# -mno-outline-atomics: calls of libgcc would lie outside the library's section (engine/preempt.c).
# -fstack-clash-protection: a frame that is larger than the guard below a stack cannot pass it (arch_context.h).
SIMT_ARCH_LIBRARY := -mno-outline-atomics -mbranch-protection=none
SIMT_ARCH_COMMON := -mno-outline-atomics -mbranch-protection=none
SIMT_ARCH_DEVICE := -fstack-clash-protection --param=stack-clash-protection-guard-size=16
