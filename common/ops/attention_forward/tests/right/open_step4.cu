// step: step4  op: attention_forward_f32
// reason: The open problem of lab 4: a block keeps 64 queries and their results, and passes the keys by a tile at a time.

namespace {
enum { ROOM = 46 << 10 }; // bytes of shared memory

// A thread per query. Rows of query and result are one float longer than D, so 32 threads use 32 banks.
// dynamic shared memory: queries (rows, D + 1), results (rows, D + 1), keys (tile, D), values (tile, D)
template <class T>
__global__ void attend(T *out, T *k, T *v, const T *qkv, const int *lengths, int T_, int H, int D, int S, int tile,
                       float scale) {
    extern __shared__ float memory[];
    const int rows = (int)blockDim.x, first = (int)blockIdx.x * rows, r = (int)threadIdx.x, query = first + r;
    const int h = (int)blockIdx.y, b = (int)blockIdx.z;
    const int64_t C = (int64_t)H * D, batch = (int64_t)b * T_;
    float *queries = memory, *results = queries + rows * (D + 1), *keys = results + rows * (D + 1),
          *values = keys + tile * D;
    for (int i = r; i < rows * D; i += rows) {
        const int t = first + i / D, d = i % D;
        queries[i / D * (D + 1) + d] = t < T_ ? scale * to_float(qkv[(batch + t) * 3 * C + h * D + d]) : 0.0f;
        results[i / D * (D + 1) + d] = 0.0f;
    }
    const int length = lengths ? lengths[b] : T_, seen = min(query + 1, length);
    float largest = -INFINITY, sum = 0.0f;
    for (int begin = 0; begin < min(first + rows, T_); begin += tile) {
        __syncthreads(); // the tile before is used up
        for (int i = r; i < tile * D; i += rows) {
            const int t = begin + i / D, d = i % D;
            if (t >= T_) { break; }
            const T *from = qkv + (batch + t) * 3 * C + h * D + d;
            const T key = from[C], value = from[2 * C];
            keys[i] = to_float(key);
            values[i] = to_float(value);
            if (t >= first && t < first + rows) { // of this block's own positions: into the cache
                const int64_t to = (((int64_t)b * H + h) * S + t) * D + d;
                k[to] = key;
                v[to] = value;
            }
        }
        __syncthreads();
        for (int j = 0; j < tile && begin + j < seen && query < T_; j++) {
            float score = 0.0f;
            for (int d = 0; d < D; d++) { score = fmaf(queries[r * (D + 1) + d], keys[j * D + d], score); }
            const float larger = fmaxf(largest, score), old = expf(largest - larger), weight = expf(score - larger);
            sum = sum * old + weight;
            largest = larger;
            for (int d = 0; d < D; d++) {
                float *result = &results[r * (D + 1) + d];
                *result = fmaf(*result, old, weight * values[j * D + d]);
            }
        }
    }
    for (int d = 0; d < D; d++) { results[r * (D + 1) + d] /= sum; }
    __syncthreads();
    for (int i = r; i < rows * D; i += rows) {
        const int t = first + i / D, d = i % D;
        if (t < T_) { out[(batch + t) * C + h * D + d] = from_float<T>(results[i / D * (D + 1) + d]); }
    }
}
} // namespace

template <class T>
int attention_forward(gpt2_device &device, const kernel_table &, T *out, T *k, T *v, T *, T *, const T *qkv,
                      const int *lengths, int B, int T_, int H, int D, int S) {
    int rows = 64, tile = 16; // queries of a block, keys of a tile
    size_t bytes;
    while ((bytes = (2 * (size_t)rows * (D + 1) + 2 * (size_t)tile * D) * sizeof(float)) > ROOM && rows * tile > 1) {
        int *larger = rows > 8 || tile == 1 ? &rows : &tile;
        *larger /= 2;
    }
    attend<<<dim3((unsigned)((T_ + rows - 1) / rows), (unsigned)H, (unsigned)B), (unsigned)rows, bytes,
             device.stream>>>(out, k, v, qkv, lengths, T_, H, D, S, tile, rsqrtf((float)D));
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                      \
    template int attention_forward(gpt2_device &, const kernel_table &, T *, T *, T *, T *, T *, const T *, \
                                   const int *, int, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)
