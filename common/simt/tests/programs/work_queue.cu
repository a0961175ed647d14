// A queue in global memory that worker blocks empty and fill: adaptive quadrature. An interval that is not yet precise
// enough is split, and its halves are appended.
#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int CAPACITY = 8192, THREADS = 32;

#define CHECK_CUDA(call)                                                                     \
    if (cudaError_t error = (call); error != cudaSuccess) {                                  \
        std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
        std::exit(1);                                                                        \
    }

struct Interval {
    double from, to;
};

struct Queue {
    Interval slot[CAPACITY];
    int ready[CAPACITY];         // set when the slot is filled
    unsigned int head, tail;     // next slot to take, next slot to fill
    int unfinished;              // intervals that are queued or in work
    double integral;
    int accepted, overflow;

    __device__ void push(Interval interval)
    {
        unsigned int index = atomicAdd(&tail, 1u);
        if (index >= CAPACITY) {
            atomicExch(&overflow, 1);
            return;
        }
        atomicAdd(&unfinished, 1);
        slot[index] = interval;
        __threadfence(); // the interval before its flag
        atomicExch(&ready[index], 1);
    }

    // False: nothing to take at present
    __device__ bool pop(Interval &interval)
    {
        unsigned int index = atomicAdd(&head, 0u);
        while (index < CAPACITY && atomicAdd(&ready[index], 0)) {
            unsigned int seen = atomicCAS(&head, index, index + 1);
            if (seen == index) {
                __threadfence();
                interval = slot[index];
                return true;
            }
            index = seen;
        }
        return false;
    }
};

__host__ __device__ inline double f(double x) { return 1.0 / (1e-3 + x * x); }

// The trapezoid rule with THREADS intervals; the sum is in lane 0
__device__ double trapezoids(Interval in, int intervals)
{
    double width = (in.to - in.from) / intervals, sum = 0;
    for (int i = threadIdx.x; i < intervals; i += THREADS)
        sum += 0.5 * width * (f(in.from + i * width) + f(in.from + (i + 1) * width));
    for (int offset = THREADS / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    return sum;
}

__global__ void workers(Queue *queue, double tolerance)
{
    __shared__ Interval interval;
    __shared__ enum { WORK, WAIT, DONE } order;
    for (;;) {
        if (threadIdx.x == 0) {
            if (queue->pop(interval)) order = WORK;
            else order = atomicAdd(&queue->unfinished, 0) == 0 || atomicAdd(&queue->overflow, 0) ? DONE : WAIT;
        }
        __syncthreads();
        auto what = order;
        Interval mine = what == WORK ? interval : Interval{};
        __syncthreads();
        if (what == DONE) return;
        if (what == WAIT) continue;
        double coarse = trapezoids(mine, THREADS), fine = trapezoids(mine, 2 * THREADS);
        if (threadIdx.x == 0) {
            if (fabs(fine - coarse) <= tolerance * (mine.to - mine.from)) {
                atomicAdd(&queue->integral, fine);
                atomicAdd(&queue->accepted, 1);
            } else {
                double middle = 0.5 * (mine.from + mine.to);
                queue->push({mine.from, middle});
                queue->push({middle, mine.to});
            }
            __threadfence();
            atomicSub(&queue->unfinished, 1);
        }
    }
}

__global__ void first_intervals(Queue *queue, double from, double to)
{
    double width = (to - from) / blockDim.x;
    queue->push({from + threadIdx.x * width, from + (threadIdx.x + 1) * width});
}

int main(int argc, char **argv)
{
    const double tolerance = argc > 1 ? std::atof(argv[1]) : 1e-4, from = -1, to = 2;
    Queue *d_queue, *queue = new Queue;
    CHECK_CUDA(cudaMalloc(&d_queue, sizeof(Queue)));
    CHECK_CUDA(cudaMemset(d_queue, 0, sizeof(Queue)));
    first_intervals<<<1, 8>>>(d_queue, from, to);
    workers<<<6, THREADS>>>(d_queue, tolerance);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(queue, d_queue, sizeof(Queue), cudaMemcpyDeviceToHost));
    const double root = std::sqrt(1e-3), exact = (std::atan(to / root) - std::atan(from / root)) / root;
    const double error = std::fabs(queue->integral - exact);
    bool ok = !queue->overflow && queue->unfinished == 0 && queue->accepted > 8 &&
              queue->tail == 8 + 2 * (queue->tail - queue->accepted) && error <= tolerance * (to - from);
    std::printf("%d of %u intervals accepted, error %s\n%s\n", queue->accepted, queue->tail,
                error <= tolerance * (to - from) ? "within the tolerance" : "too large", ok ? "PASSED" : "FAILED");
    CHECK_CUDA(cudaFree(d_queue));
    delete queue;
    return ok ? 0 : 1;
}
