/* Wrong accesses and their findings: the kind, the learner's line, compute-sanitizer's wording. Right accesses have none. */
#include "findings.h"

TestSuite(memory, .init = quiet, .timeout = 60);

enum { SUCCESS = 0, ILLEGAL_ADDRESS = 700, MISALIGNED = 716 };

#define FINDS(test, error, kind, mark, ...)            \
    int run_##test(void);                              \
    Test(memory, test) {                               \
        cr_assert_eq(run_##test(), error);             \
        EXPECT_FINDING(kind, true, mark, __VA_ARGS__); \
    }

FINDS(past_end, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "past the end", "Invalid __global__ write of size 4 bytes\n",
      "    at fill(float *, int) in test_memory.cu:", "    by thread (232,0,0) in block (3,0,0)\n",
      "is out of bounds\n", "and is 1 bytes after the nearest allocation at 0x", " of size 4,000 bytes\n")
FINDS(before_start, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "before the start",
      "Invalid __global__ read of size 4 bytes\n", "and is 4 bytes before the nearest allocation at 0x",
      " of size 32 bytes\n")
FINDS(freed, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "unwritten", "Invalid __global__ read", "has been freed")
FINDS(one_byte_past, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "bytes", "Invalid __global__ read of size 1 bytes",
      "and is 1 bytes after the nearest allocation", "of size 1,001 bytes")
FINDS(misaligned, MISALIGNED, SIMT_MISALIGNED, "misaligned", "Invalid __global__ read of size 16 bytes",
      "is misaligned")
FINDS(misaligned_member, MISALIGNED, SIMT_MISALIGNED, "member", "Misaligned access to a member of", "float4",
      "is not a multiple of 16")
FINDS(host_pointer, ILLEGAL_ADDRESS, SIMT_HOST_POINTER, "unwritten", "Invalid __global__ read", "host address")
FINDS(null_pointer, ILLEGAL_ADDRESS, SIMT_INVALID_POINTER, "unwritten", "Invalid __global__ read", "null pointer")
FINDS(shared_overrun, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "past shared", "Invalid __shared__ write of size 4 bytes",
      "by thread (31,0,0)", "1 bytes after 'first'", "of size 128 bytes")
FINDS(dynamic_overrun, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "past dynamic", "Invalid __shared__ write",
      "by thread (32,0,0)", "of size 128 bytes")
FINDS(variable_overrun, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "past constant", "Invalid __global__ read")
FINDS(local_of_another, ILLEGAL_ADDRESS, SIMT_INVALID_POINTER, "another's local", "local variable of another thread")
FINDS(in_helper, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "in helper", "    at helper", "by thread (31,0,0)")
FINDS(uninitialised, SUCCESS, SIMT_UNINITIALISED, "unwritten", "Uninitialized __global__ memory read of size 4 bytes",
      "by thread (0,0,0)", "at byte 0 of the allocation, 256 bytes in size")
FINDS(partly_written, SUCCESS, SIMT_UNINITIALISED, "unwritten", "by thread (63,0,0)", "at byte 252 of the allocation")
FINDS(copied_unwritten, SUCCESS, SIMT_UNINITIALISED, "unwritten", "at byte 0 of the allocation")
FINDS(shared_unwritten, SUCCESS, SIMT_UNINITIALISED, "stale shared", "Uninitialized __shared__ memory read",
      "at byte 128 of 'tile', 256 bytes in size")
FINDS(shared_index, SUCCESS, SIMT_OUT_OF_BOUNDS, "row index", "Index 8 of an array of type")

float run_device_pointer(void);
Test(memory, device_pointer) {
    run_device_pointer();
    EXPECT_FINDING(SIMT_DEVICE_POINTER, true, "host follows", "Invalid host read of size 4 bytes", "device memory");
}

int run_leak(void);
Test(memory, leak) {
    run_leak();
    EXPECT_FINDING(SIMT_LEAK, true, "leaked", "Leaked 400 bytes");
}

#define RIGHT(test)                    \
    int run_##test(void);              \
    Test(memory, test) {               \
        cr_assert_eq(run_##test(), 0); \
        expect_none();                 \
    }

RIGHT(right_bytes)
RIGHT(right_structs)
RIGHT(right_variables)
RIGHT(right_dynamic)
RIGHT(right_pinned)
