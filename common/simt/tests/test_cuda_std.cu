// needs: sm_70 (cuda/atomic, cuda/barrier)
// cuda::atomic, cuda::atomic_ref and cuda::barrier: values, and the order between threads that they make.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <cstdio>

namespace cg = cooperative_groups;

namespace {

template <class T> T *zeroed(int n) {
    T *p;
    cudaMallocManaged(&p, n * sizeof *p);
    for (int i = 0; i < n; i++) p[i] = T();
    return p;
}

} // namespace

#define EXPECT(condition) \
    if (!(condition)) { atomicAdd(errors, 1), printf("test_cuda_std.cu:%d: %s\n", __LINE__, #condition); }

__device__ cuda::atomic<int, cuda::thread_scope_device> counter{5};
__device__ cuda::std::atomic<float> total;

__global__ void operations(int *errors) {
    int old = counter.fetch_add(2, cuda::memory_order_relaxed);
    EXPECT(old >= 5 && old < 5 + 2 * 128 && old % 2 == 1);
    total.fetch_add(0.5f, cuda::std::memory_order_relaxed);
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> bits, most;
    __shared__ cuda::atomic<unsigned char, cuda::thread_scope_block> small;
    __shared__ unsigned long long plain;
    if (threadIdx.x == 0) {
        bits.store(0, cuda::memory_order_relaxed);
        most = 7;
        small = 250;
        plain = 0;
    }
    __syncthreads();
    bits |= 1u << threadIdx.x % 32;
    most.fetch_max(threadIdx.x);
    small++;
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_block> ref(plain);
    ref += threadIdx.x;
    __syncthreads();
    EXPECT(bits == ~0u);
    EXPECT(most.load(cuda::memory_order_relaxed) == 63);
    EXPECT(small == (250 + 64) % 256);
    EXPECT(ref == 63 * 32);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned expected = 1;
        EXPECT(!most.compare_exchange_strong(expected, 9));
        EXPECT(expected == 63);
        EXPECT(most.compare_exchange_weak(expected, 9, cuda::memory_order_acq_rel, cuda::memory_order_relaxed));
        EXPECT(most.exchange(10) == 9);
        EXPECT(--most == 9 && most-- == 9 && (most ^= 3) == 11);
        int place[4] = {};
        cuda::atomic<int *, cuda::thread_scope_thread> pointer(place);
        EXPECT(pointer++ == place && pointer.fetch_add(2) == place + 1 && pointer.load() == place + 3);
    }
}

extern "C" int run_atomic_operations() {
    int *errors = zeroed<int>(1);
    operations<<<2, 64>>>(errors);
    int count = cudaDeviceSynchronize() == cudaSuccess ? *errors : -1;
    cudaFree(errors);
    return count;
}

// One block produces, the other consumes.
template <int Order> __global__ void passes_on(int *data, int *flag_word, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(*flag_word);
    if (blockIdx.x == 0) {
        data[0] = 42; // here: the producer's store
        flag.store(1, static_cast<cuda::memory_order>(Order));
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        out[0] = data[0]; // here: the consumer's read
    }
}

static int pass(void (*kernel)(int *, int *, int *)) {
    int *data = zeroed<int>(3);
    kernel<<<2, 1>>>(data, data + 1, data + 2);
    int got = cudaDeviceSynchronize() == cudaSuccess ? data[2] : -1;
    cudaFree(data);
    return got - 42;
}
extern "C" int run_release_and_acquire() {
    return pass(passes_on<cuda::memory_order_release>);
}
extern "C" int run_relaxed_store() {
    return pass(passes_on<cuda::memory_order_relaxed>);
}

// A spin lock of cuda::atomic_flag's kind.
__global__ void locked(int *sum, unsigned *lock_word) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> lock(*lock_word);
    if (threadIdx.x == 0) {
        while (lock.exchange(1, cuda::memory_order_acquire) != 0) {}
        *sum += blockIdx.x;
        lock.store(0, cuda::memory_order_release);
    }
}

extern "C" int run_lock() {
    int *sum = zeroed<int>(1);
    unsigned *lock = zeroed<unsigned>(1);
    locked<<<16, 32>>>(sum, lock);
    int got = cudaDeviceSynchronize() == cudaSuccess ? *sum : -1;
    cudaFree(sum);
    cudaFree(lock);
    return got - 120;
}

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Every phase: write, arrive and wait, read what another thread wrote.
__global__ void phases(int *errors) {
    __shared__ block_barrier bar;
    __shared__ int values[2][96];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int i = 0; i < 5; i++) {
        values[i % 2][threadIdx.x] = i * 1000 + threadIdx.x;
        block_barrier::arrival_token token = bar.arrive();
        bar.wait(std::move(token));
        EXPECT(values[i % 2][95 - threadIdx.x] == i * 1000 + 95 - static_cast<int>(threadIdx.x));
    }
    if (threadIdx.x >= 64) {
        bar.arrive_and_drop();
        return;
    }
    bar.arrive_and_wait();
    values[0][threadIdx.x] = 7;
    bar.arrive_and_wait();
    EXPECT(values[0][63 - threadIdx.x] == 7);
}

extern "C" int run_barrier_phases() {
    int *errors = zeroed<int>(1);
    phases<<<2, 96>>>(errors);
    int count = cudaDeviceSynchronize() == cudaSuccess ? *errors : -1;
    cudaFree(errors);
    return count;
}

__global__ void many_phases(int *sum, int count) {
    __shared__ block_barrier bar;
    __shared__ int value;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int i = 0; i < count; i++) {
        if (threadIdx.x == i % blockDim.x) value = i;
        bar.arrive_and_wait();
        if (threadIdx.x == 0) *sum += value;
        bar.arrive_and_wait();
    }
}

extern "C" int run_many_phases(int count) {
    int *sum = zeroed<int>(1);
    many_phases<<<1, 128>>>(sum, count);
    int got = cudaDeviceSynchronize() == cudaSuccess ? *sum : -1;
    cudaFree(sum);
    return got - count * (count - 1) / 2;
}

// Producers write, consumers read; two barriers of all 64 threads.
template <bool Wait> __global__ void roles(int *out) {
    __shared__ block_barrier full, empty;
    __shared__ int buffer[32];
    if (threadIdx.x == 0) {
        init(&full, 64);
        init(&empty, 64);
    }
    __syncthreads();
    int lane = threadIdx.x % 32, sum = 0;
    for (int i = 0; i < (Wait ? 4 : 1); i++) {
        if (threadIdx.x < 32) {
            buffer[lane] = i * lane; // here: the producers' store
            (void)full.arrive();
            empty.arrive_and_wait();
        } else {
            if (Wait)
                full.arrive_and_wait();
            else
                (void)full.arrive();
            sum += buffer[31 - lane]; // here: the consumers' read
            (void)empty.arrive();
        }
    }
    if (threadIdx.x >= 32) out[lane] = sum;
}

static int play(void (*kernel)(int *)) {
    int *out = zeroed<int>(32), wrong = 0;
    kernel<<<1, 64>>>(out);
    if (cudaDeviceSynchronize() != cudaSuccess) return -1;
    for (int i = 0; i < 32; i++) wrong += out[i] != 6 * (31 - i);
    cudaFree(out);
    return wrong;
}
extern "C" int run_barrier_roles() {
    return play(roles<true>);
}
extern "C" int run_no_wait() {
    play(roles<false>);
    return 0;
}

template <bool Wait> __global__ void staged(int *out, const int *in) {
    __shared__ block_barrier bar;
    __shared__ __align__(16) int tile[128];
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof tile), bar);
    if (Wait) bar.arrive_and_wait();
    int i = Wait ? threadIdx.x : 4 * threadIdx.x; // the latter it has copied itself
    out[i] = tile[i];                             // here: the staged read
}

static int stage(void (*kernel)(int *, const int *), int threads) {
    int *in = zeroed<int>(128), *out = zeroed<int>(128), wrong = 0;
    for (int i = 0; i < 128; i++) in[i] = i * i;
    kernel<<<1, threads>>>(out, in);
    if (cudaDeviceSynchronize() != cudaSuccess) return -1;
    for (int i = 0; i < threads; i++) wrong += out[i] != i * i;
    cudaFree(in);
    cudaFree(out);
    return wrong;
}
extern "C" int run_staged_copy() {
    return stage(staged<true>, 128);
}
extern "C" int run_staged_without_wait() {
    stage(staged<false>, 32);
    return 0;
}

// Two stages of a thread's own pipeline.
template <int Wait> __global__ void own_pipeline(int *out, const int *in) {
    __shared__ int tile[2][128];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        if (i < 5) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[i % 2][threadIdx.x], in + (threadIdx.x + i) % 128, sizeof(int), pipe);
            pipe.producer_commit();
        }
        if (i > 0) {
            if (i < 5 || Wait) {
                pipe.consumer_wait();
            } else {
                cuda::pipeline_consumer_wait_prior<1>(pipe);
            }
            sum += tile[(i - 1) % 2][threadIdx.x]; // here: the last stage
            pipe.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}

// The stages of a block's pipeline: every thread produces and consumes.
__global__ void block_pipeline(int *out, const int *in) {
    constexpr int stages = 3;
    __shared__ __align__(16) int tile[stages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int compute = 0, fetch = 0; compute < 10; compute++) {
        for (; fetch < 10 && fetch < compute + stages; fetch++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[fetch % stages], in + fetch % 2 * 4, cuda::aligned_size_t<16>(496), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += tile[compute % stages][123 - threadIdx.x % 124];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// One warp copies, the others compute.
__global__ void roles_of_a_pipeline(int *out, const int *in) {
    __shared__ __align__(16) int tile[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    bool produces = threadIdx.x < 32;
    auto pipe =
        cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        if (produces) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[i % 2][4 * threadIdx.x], in + 4 * threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += tile[i % 2][threadIdx.x];
            pipe.consumer_release();
        }
    }
    if (!produces) out[threadIdx.x] = sum;
}

static int pipe(void (*kernel)(int *, const int *), int (*wanted)(int)) {
    int *in = zeroed<int>(128), *out = zeroed<int>(128), wrong = 0;
    for (int i = 0; i < 128; i++) in[i] = i * i;
    kernel<<<1, 128>>>(out, in);
    if (cudaDeviceSynchronize() != cudaSuccess) return -1;
    for (int i = 0; i < 128; i++) wrong += out[i] != wanted(i);
    cudaFree(in);
    cudaFree(out);
    return wrong;
}
extern "C" int run_own_pipeline() {
    return pipe(own_pipeline<true>, [](int i) {
        int sum = 0;
        for (int k = 0; k < 5; k++) sum += (i + k) % 128 * ((i + k) % 128);
        return sum;
    });
}
extern "C" int run_block_pipeline() {
    return pipe(block_pipeline, [](int i) {
        int at = 123 - i % 124;
        return 5 * (at * at + (at + 4) * (at + 4));
    });
}
extern "C" int run_roles_of_a_pipeline() {
    return pipe(roles_of_a_pipeline, [](int i) { return i < 32 ? 0 : 6 * i * i; });
}
extern "C" int run_pipeline_without_wait() {
    pipe(own_pipeline<false>, [](int) { return 0; });
    return 0;
}

__global__ void arrives_twice(int *out) {
    __shared__ block_barrier bar;
    if (threadIdx.x == 0) init(&bar, 32);
    __syncthreads();
    (void)bar.arrive(33); // here: one too many
    out[0] = 1;
}
extern "C" int run_arrives_twice() {
    int *out = zeroed<int>(1);
    arrives_twice<<<1, 32>>>(out);
    return static_cast<int>(cudaDeviceSynchronize());
}

__global__ void counts(int *out) {
    __shared__ block_barrier bar;
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    bar.arrive_and_wait();
    out[threadIdx.x] = 1;
}
extern "C" int run_counts() {
    int *out = zeroed<int>(64);
    counts<<<1, 64>>>(out);
    return static_cast<int>(cudaDeviceSynchronize());
}
