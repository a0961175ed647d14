// n queens by backtracking: each thread continues one placement of the first rows, with its stack in local memory; and the
// same count by recursion in the kernel.
#include <stdio.h>
#include <stdlib.h>

#define MAX_N 14
#define PREFIX_ROWS 3
#define CHECK_ERROR(call)                                                                   \
    {                                                                                       \
        cudaError_t result_ = (call);                                                       \
        if (result_ != cudaSuccess) {                                                       \
            fprintf(stderr, "Error %s at line %d\n", cudaGetErrorString(result_), __LINE__); \
            exit(1);                                                                        \
        }                                                                                   \
    }

typedef struct {
    unsigned int columns, left, right; // attacked squares of the next row
} board_t;

__host__ __device__ inline board_t place(board_t b, unsigned int bit)
{
    board_t next = {b.columns | bit, (b.left | bit) << 1, (b.right | bit) >> 1};
    return next;
}

__global__ void count_iterative(unsigned long long *total, const board_t *starts, int count, int n)
{
    __shared__ unsigned long long block_total;
    if (threadIdx.x == 0) block_total = 0;
    __syncthreads();
    const unsigned int full = (1u << n) - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        board_t stack[MAX_N];
        unsigned int open[MAX_N]; // squares of a row that are still to be tried
        int row = 0;
        unsigned long long found = 0;
        stack[0] = starts[i];
        open[0] = full & ~(stack[0].columns | stack[0].left | stack[0].right);
        while (row >= 0) {
            if (open[row] == 0) {
                row--;
                continue;
            }
            unsigned int bit = open[row] & -open[row];
            open[row] ^= bit;
            board_t next = place(stack[row], bit);
            if (next.columns == full) {
                found++;
            } else {
                row++;
                stack[row] = next;
                open[row] = full & ~(next.columns | next.left | next.right);
            }
        }
        atomicAdd(&block_total, found);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, block_total);
}

__host__ __device__ unsigned long long solve(board_t b, unsigned int full)
{
    if (b.columns == full) return 1;
    unsigned long long found = 0;
    for (unsigned int open = full & ~(b.columns | b.left | b.right); open; open &= open - 1)
        found += solve(place(b, open & -open), full);
    return found;
}

__global__ void count_recursive(unsigned long long *total, const board_t *starts, int count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(total, solve(starts[i], (1u << n) - 1));
}

static int first_rows(board_t *out, board_t b, int row, int n)
{
    if (row == PREFIX_ROWS) {
        if (out) *out = b;
        return 1;
    }
    int count = 0;
    for (unsigned int open = ((1u << n) - 1) & ~(b.columns | b.left | b.right); open; open &= open - 1)
        count += first_rows(out ? out + count : NULL, place(b, open & -open), row + 1, n);
    return count;
}

int main(int argc, char **argv)
{
    static const unsigned long long known[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596};
    int n = argc > 1 ? atoi(argv[1]) : 8, failed = 0;
    if (n <= PREFIX_ROWS || n > MAX_N) {
        printf("usage: %s [n from %d to %d]\n", argv[0], PREFIX_ROWS + 1, MAX_N);
        return 1;
    }
    board_t empty = {0, 0, 0}, *h_starts, *d_starts;
    int count = first_rows(NULL, empty, 0, n);
    h_starts = (board_t *)malloc(count * sizeof(board_t));
    first_rows(h_starts, empty, 0, n);
    unsigned long long *d_total, total;
    CHECK_ERROR(cudaMalloc((void **)&d_starts, count * sizeof(board_t)));
    CHECK_ERROR(cudaMalloc((void **)&d_total, sizeof(total)));
    CHECK_ERROR(cudaMemcpy(d_starts, h_starts, count * sizeof(board_t), cudaMemcpyHostToDevice));
    for (int recursive = 0; recursive < 2; recursive++) {
        CHECK_ERROR(cudaMemset(d_total, 0, sizeof(total)));
        if (recursive) count_recursive<<<(count + 63) / 64, 64>>>(d_total, d_starts, count, n);
        else count_iterative<<<3, 64>>>(d_total, d_starts, count, n);
        CHECK_ERROR(cudaGetLastError());
        CHECK_ERROR(cudaMemcpy(&total, d_total, sizeof(total), cudaMemcpyDeviceToHost));
        unsigned long long on_host = solve(empty, (1u << n) - 1);
        printf("%d queens, %s: %llu solutions\n", n, recursive ? "recursive" : "with a stack", total);
        failed += total != known[n] || total != on_host;
    }
    CHECK_ERROR(cudaFree(d_starts));
    CHECK_ERROR(cudaFree(d_total));
    free(h_starts);
    return failed;
}
