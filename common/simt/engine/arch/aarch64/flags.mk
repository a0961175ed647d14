# 64-bit ARM: the flags of the library; of every source that simt-cc compiles; of its CUDA sources, and of these in the fast build.
# -mno-outline-atomics: calls of libgcc would lie outside the library's section (engine/preempt.c).
# -fsanitize=integer-divide-by-zero: the processor divides by zero without a signal (checks/hooks_ubsan.c).
# -fstack-clash-protection: a frame that is larger than the guard below a stack cannot pass it (arch_context.h).
SIMT_ARCH_LIBRARY := -mno-outline-atomics -mbranch-protection=none
SIMT_ARCH_COMMON := -mno-outline-atomics -mbranch-protection=none
SIMT_ARCH_DEVICE := -fstack-clash-protection --param=stack-clash-protection-guard-size=16
SIMT_ARCH_FAST := -fsanitize=integer-divide-by-zero
SIMT_ARCH_LEARNER :=
SIMT_ARCH_AROUND := 
