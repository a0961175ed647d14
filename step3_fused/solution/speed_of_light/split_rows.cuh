// split_rows.cuh — several blocks share a row, and meet in global memory
//
// A block's number is a ticket, drawn when it starts. So if a block waits for the others of its row, they run already or
// are the next to start: whoever holds a lower ticket never waits for a higher row, and the rows end one after the other.
// That needs as many blocks at the same time as share a row, and no cluster: a cluster's blocks must all start at the same
// moment and on neighbouring multiprocessors, which leaves places empty (fp32, 262144 columns: 0.84 of a copy).
#ifndef SPEED_OF_LIGHT_SPLIT_ROWS_CUH
#define SPEED_OF_LIGHT_SPLIT_ROWS_CUH

#include "common/hopper.cuh"

struct split_desk {
    int *ticket;   // zero at first
    int *arrived;  // (N), zero at first
    float2 *parts; // (N, blocks): what each block knows of its row
    int blocks;    // share a row
};

__device__ inline int split_ticket(const split_desk &desk) {
    __shared__ int ticket;
    if (threadIdx.x == 0) { ticket = atomicAdd(desk.ticket, 1); }
    __syncthreads();
    return ticket;
}

// Thread 0 gives `mine`; after this call every thread may read desk.parts[n * blocks + 0 ... blocks - 1], by __ldcg.
__device__ inline void split_meet(const split_desk &desk, int ticket, float2 mine) {
    if (threadIdx.x == 0) {
        desk.parts[ticket] = mine;
        __threadfence(); // the part before the word that it is there
        int *arrived = desk.arrived + ticket / desk.blocks;
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < desk.blocks) {}
        __threadfence();
    }
    __syncthreads();
}

// Memory for N rows, used and given back in the stream's order.
inline cudaError_t split_open(split_desk *desk, int N, int blocks, cudaStream_t stream) {
    size_t counters = ((size_t)N + 1 + 3) / 4 * 16, bytes = counters + (size_t)N * blocks * sizeof(float2);
    char *memory;
    cudaError_t error = cudaMallocAsync((void **)&memory, bytes, stream);
    if (error != cudaSuccess) { return error; }
    *desk = {(int *)memory, (int *)memory + 1, (float2 *)(memory + counters), blocks};
    return cudaMemsetAsync(memory, 0, counters, stream);
}

inline cudaError_t split_close(const split_desk &desk, cudaStream_t stream) {
    return cudaFreeAsync(desk.ticket, stream);
}

#endif
