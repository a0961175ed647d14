// Critical sections in kernels: a spin lock, a ticket lock, and a lock for each bucket of a hash table of linked lists.
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS 16
#define CUDA_CHECK(err) (HandleError(err, __FILE__, __LINE__))
static void HandleError(cudaError_t err, const char *file, int line)
{
    if (err != cudaSuccess) {
        printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
        exit(EXIT_FAILURE);
    }
}

struct SpinLock {
    int taken;
    __device__ void lock()
    {
        while (atomicCAS(&taken, 0, 1) != 0) __nanosleep(32);
        __threadfence();
    }
    __device__ void unlock()
    {
        __threadfence();
        atomicExch(&taken, 0);
    }
};

struct TicketLock {
    unsigned next, serving;
    __device__ unsigned lock()
    {
        unsigned ticket = atomicAdd(&next, 1);
        while (*(volatile unsigned *)&serving != ticket) __nanosleep(32);
        __threadfence();
        return ticket;
    }
    __device__ void unlock()
    {
        __threadfence();
        atomicAdd(&serving, 1);
    }
};

struct Account {
    SpinLock spin;
    TicketLock ticket;
    int balance, transactions;
};

// One thread of each block enters, and the block's sum is added without atomics
__global__ void add_under_spin_lock(Account *account, const int *amounts, int n)
{
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sum, amounts[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        account->spin.lock();
        account->balance += sum;
        account->transactions++;
        account->spin.unlock();
    }
}

// The blocks write their numbers in the order in which they get the lock
__global__ void log_under_ticket_lock(Account *account, unsigned *tickets, int *log)
{
    if (threadIdx.x == 0) {
        tickets[blockIdx.x] = account->ticket.lock();
        log[account->transactions++] = blockIdx.x;
        account->ticket.unlock();
    }
}

struct Entry {
    unsigned key;
    Entry *next;
};

struct Table {
    Entry *head[BUCKETS];
    SpinLock lock[BUCKETS];
};

// Every thread enters. The lanes of a warp take their turns, so that none waits for another of its own warp
__global__ void insert_all(Table *table, Entry *pool, const unsigned *keys, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned bucket = keys[i] % BUCKETS;
        pool[i].key = keys[i];
        for (int turn = 0; turn < warpSize; turn++) {
            if (turn == (int)threadIdx.x % warpSize) {
                table->lock[bucket].lock();
                pool[i].next = table->head[bucket];
                table->head[bucket] = &pool[i];
                table->lock[bucket].unlock();
            }
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000, blocks = (n + 63) / 64, wrong = 0;
    int *amounts, *log, sum = 0;
    unsigned *keys, *tickets;
    Account *account;
    Table *table;
    Entry *pool;
    CUDA_CHECK(cudaMallocManaged(&amounts, n * sizeof(int)));
    CUDA_CHECK(cudaMallocManaged(&keys, n * sizeof(unsigned)));
    CUDA_CHECK(cudaMallocManaged(&account, 2 * sizeof(Account)));
    CUDA_CHECK(cudaMallocManaged(&log, blocks * sizeof(int)));
    CUDA_CHECK(cudaMallocManaged(&tickets, blocks * sizeof(unsigned)));
    CUDA_CHECK(cudaMallocManaged(&table, sizeof(Table)));
    CUDA_CHECK(cudaMallocManaged(&pool, n * sizeof(Entry)));
    CUDA_CHECK(cudaMemset(account, 0, 2 * sizeof(Account)));
    CUDA_CHECK(cudaMemset(table, 0, sizeof(Table)));
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) {
        keys[i] = i * 2654435761u;
        sum += amounts[i] = i % 21 - 7;
    }
    add_under_spin_lock<<<blocks, 64>>>(&account[0], amounts, n);
    log_under_ticket_lock<<<blocks, 64>>>(&account[1], tickets, log);
    insert_all<<<4, 64>>>(table, pool, keys, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    wrong += account[0].balance != sum || account[0].transactions != blocks;
    printf("spin lock: balance %d after %d transactions, expected %d\n", account[0].balance, account[0].transactions, sum);
    wrong += account[1].transactions != blocks;
    for (int b = 0; b < blocks; b++) wrong += log[tickets[b]] != b; // the log is in the order of the tickets
    printf("ticket lock: %d entries, first block %d\n", account[1].transactions, log[0]);
    int entries = 0;
    for (unsigned b = 0; b < BUCKETS; b++)
        for (Entry *e = table->head[b]; e != NULL; e = e->next, entries++) wrong += e->key % BUCKETS != b;
    wrong += entries != n;
    printf("hash table: %d entries of %d\n%s\n", entries, n, wrong ? "FAILED" : "PASSED");
    CUDA_CHECK(cudaFree(amounts)); CUDA_CHECK(cudaFree(keys)); CUDA_CHECK(cudaFree(account)); CUDA_CHECK(cudaFree(log));
    CUDA_CHECK(cudaFree(tickets)); CUDA_CHECK(cudaFree(table)); CUDA_CHECK(cudaFree(pool));
    return wrong != 0;
}
