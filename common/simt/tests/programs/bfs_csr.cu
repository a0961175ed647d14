// Breadth-first search on a graph in CSR form: one thread per vertex of the frontier, and one warp per vertex.
#include <stdio.h>
#include <stdlib.h>
#include <queue>
#include <vector>

#define WARP 32
#define CUDA_ERR(x)                                                                    \
  do {                                                                                 \
    cudaError_t r = (x);                                                               \
    if (r != cudaSuccess) {                                                            \
      fprintf(stderr, "%s:%i: %s\n", __FILE__, __LINE__, cudaGetErrorString(r));       \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

struct Graph {
  int vertices;
  const int *row, *column;
};

// A queue in shared memory collects what the block finds; it is written out at once
__global__ void expand_thread(Graph g, int *distance, const int *frontier, int size, int *next, int *next_size, int level)
{
  enum { ROOM = 256 };
  __shared__ int queue[ROOM], length, start;
  if (threadIdx.x == 0) length = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    int v = frontier[i];
    for (int e = g.row[v]; e < g.row[v + 1]; e++) {
      int w = g.column[e];
      if (atomicCAS(&distance[w], -1, level) == -1) {
        int place = atomicAdd(&length, 1);
        if (place < ROOM)
          queue[place] = w;
        else
          next[atomicAdd(next_size, 1)] = w; // the queue is full
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    length = min(length, (int)ROOM);
    start = atomicAdd(next_size, length);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < length; i += blockDim.x) next[start + i] = queue[i];
}

// The lanes take a vertex's neighbours together, and reserve their places with one atomic
__global__ void expand_warp(Graph g, int *distance, const int *frontier, int size, int *next, int *next_size, int level)
{
  int lane = threadIdx.x % WARP, warps = gridDim.x * blockDim.x / WARP;
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; i < size; i += warps) {
    int v = frontier[i], end = g.row[v + 1];
    for (int base = g.row[v]; base < end; base += WARP) {
      bool found = false;
      int w = -1;
      if (base + lane < end) {
        w = g.column[base + lane];
        found = atomicCAS(&distance[w], -1, level) == -1;
      }
      unsigned int who = __ballot_sync(0xffffffff, found);
      int start = 0;
      if (lane == 0 && who) start = atomicAdd(next_size, __popc(who));
      start = __shfl_sync(0xffffffff, start, 0);
      if (found) next[start + __popc(who & ((1u << lane) - 1))] = w;
    }
  }
}

static std::vector<int> bfs_host(const std::vector<int> &row, const std::vector<int> &column, int source)
{
  std::vector<int> distance(row.size() - 1, -1);
  std::queue<int> todo;
  distance[source] = 0;
  for (todo.push(source); !todo.empty(); todo.pop()) {
    int v = todo.front();
    for (int e = row[v]; e < row[v + 1]; e++)
      if (distance[column[e]] < 0) {
        distance[column[e]] = distance[v] + 1;
        todo.push(column[e]);
      }
  }
  return distance;
}

int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 3000, source = 1, wrong = 0;
  std::vector<int> row(1, 0), column;
  for (int v = 0; v < n; v++) { // a ring with shortcuts; every 500th vertex is a hub; the last tenth is not reachable
    int reachable = n - n / 10, degree = v % 500 == 0 ? 300 : 2 + v % 3;
    for (int k = 0; k < degree; k++)
      column.push_back(v >= reachable ? v : k == 0 ? (v + 1) % reachable : (v * 17 + k * k * 101) % reachable);
    row.push_back((int)column.size());
  }
  std::vector<int> expected = bfs_host(row, column, source), got(n);

  int *d_row, *d_column, *d_distance, *d_frontier[2], *d_size;
  CUDA_ERR(cudaMalloc((void **)&d_row, row.size() * sizeof(int)));
  CUDA_ERR(cudaMalloc((void **)&d_column, column.size() * sizeof(int)));
  CUDA_ERR(cudaMalloc((void **)&d_distance, n * sizeof(int)));
  CUDA_ERR(cudaMalloc((void **)&d_frontier[0], n * sizeof(int)));
  CUDA_ERR(cudaMalloc((void **)&d_frontier[1], n * sizeof(int)));
  CUDA_ERR(cudaMalloc((void **)&d_size, sizeof(int)));
  CUDA_ERR(cudaMemcpy(d_row, row.data(), row.size() * sizeof(int), cudaMemcpyHostToDevice));
  CUDA_ERR(cudaMemcpy(d_column, column.data(), column.size() * sizeof(int), cudaMemcpyHostToDevice));
  Graph graph = {n, d_row, d_column};
  for (int version = 0; version < 2; version++) {
    int zero = 0, size = 1, level = 0;
    CUDA_ERR(cudaMemset(d_distance, 0xff, n * sizeof(int)));
    CUDA_ERR(cudaMemcpy(d_distance + source, &zero, sizeof(int), cudaMemcpyHostToDevice));
    CUDA_ERR(cudaMemcpy(d_frontier[0], &source, sizeof(int), cudaMemcpyHostToDevice));
    while (size > 0) {
      int *now = d_frontier[level % 2], *next = d_frontier[(level + 1) % 2];
      CUDA_ERR(cudaMemset(d_size, 0, sizeof(int)));
      level++;
      if (version == 0) expand_thread<<<4, 128>>>(graph, d_distance, now, size, next, d_size, level);
      else expand_warp<<<4, 128>>>(graph, d_distance, now, size, next, d_size, level);
      CUDA_ERR(cudaGetLastError());
      CUDA_ERR(cudaMemcpy(&size, d_size, sizeof(int), cudaMemcpyDeviceToHost));
    }
    CUDA_ERR(cudaMemcpy(got.data(), d_distance, n * sizeof(int), cudaMemcpyDeviceToHost));
    bool same = got == expected;
    printf("%s per vertex: %d levels, %s\n", version ? "warp" : "thread", level, same ? "as on the host" : "DIFFERENT");
    wrong += !same;
  }
  for (int *p : {d_row, d_column, d_distance, d_frontier[0], d_frontier[1], d_size}) CUDA_ERR(cudaFree(p));
  return wrong;
}
