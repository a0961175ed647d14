// layernorm_backward_teams.cuh — the backward pass of LayerNorm for rows that one warp cannot hold
//
// As in layernorm_backward.cuh, but a team has a row: some warps of a block, a whole block, or a cluster of two blocks
// with half of the columns each. The sums along a row must then cross a barrier. So that nobody waits for it, the first
// pass over the next row is done before the second pass over this one.
#ifndef SPEED_OF_LIGHT_LAYERNORM_BACKWARD_TEAMS_CUH
#define SPEED_OF_LIGHT_LAYERNORM_BACKWARD_TEAMS_CUH

#include "layernorm_backward.cuh"

// THREADS: of a team, or of each block of a cluster. TEAMS: in a block, when it is not a part of a cluster. One block stays
// on a multiprocessor: said to the compiler, a thread of 256 gets as many registers as it wants, and spills none.
template <class T, bool RESIDUAL, int VECS, int STAGES, int THREADS, int TEAMS, int CLUSTER>
__global__ void __launch_bounds__(THREADS *TEAMS, THREADS *TEAMS <= 256 ? 1 : 0)
    layernorm_backward_teams(const layernorm_backward_arguments<T> a) {
    constexpr int size = vec<T>::size, tensors = RESIDUAL ? 3 : 2, warps = THREADS / warp_size, parts = warps * CLUSTER;
    static_assert(STAGES >= 2 && (TEAMS == 1 || CLUSTER == 1), "this row and the next one; one kind of team");
    extern __shared__ uint4 ring_memory[];
    __shared__ float2 boards[TEAMS * 2 * parts]; // what each warp of a team knows of a row
    let_next_kernel_start();
    int lane = threadIdx.x % warp_size, team = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    int rank = cluster_rank<CLUSTER>(), place = rank * warps + thread / warp_size;
    int number = cluster_number<CLUSTER>(), stride = a.parts * TEAMS, n = number + team * a.parts;
    constexpr int early = TEAMS == 1 ? STAGES : 1; // rows
    if (starts_early && thread == 0 && rank == 0) {
#pragma unroll 1
        for (int i = 0; i < early; i++) { layernorm_backward_prefetch<RESIDUAL>(a, n + (long long)i * stride); }
    }
    wait_for_previous_kernel();
    float2 *board = boards + team * 2 * parts;
    row_ring<T, tensors, VECS, STAGES, THREADS * TEAMS> ring(ring_memory, (rank * THREADS + thread) * size,
                                                             CLUSTER * THREADS * size, a.C);
    const T *from[3] = {a.x, a.dout, a.dsum};
    // mean and rstd come through the ring too; but where a row is a few instructions long, two more copies cost more than
    // two registers.
    constexpr bool through_ring = sizeof(T) == 4 || VECS > 2;
    auto fetch = [&](int stage, long long n) {
        if (through_ring) { ring.fetch_statistics(stage, a.mean, a.rstd, n, a.N); }
        ring.fetch(stage, from, n, a.N);
    };
    auto statistics = [&](int stage, long long n) {
        if (through_ring) { return make_float2(ring.mean(stage), ring.rstd(stage)); }
        return n < a.N ? make_float2(a.mean[n], a.rstd[n]) : make_float2(0.0f, 0.0f);
    };
    for (int stage = 0; stage < STAGES; stage++) { fetch(stage, n + (long long)stage * stride); }

    layernorm_weights<T, VECS> weight;
    float dweight[VECS][size] = {}, dbias[VECS][size] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (ring.has(k)) { weight.load(k, a.weight + ring.column(k)); }
    }
    // The first pass over the row in `stage`; the warps' results go to the team's board.
    auto first_pass = [&](int stage, int parity, const layernorm_row &row) {
        float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
            float w[size];
            weight.get(k, w);
            layernorm_backward_sums(ring.get(stage, 0, k), ring.get(stage, 1, k), w, row, sums, dweight[k], dbias[k]);
        }
        sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
        team_post<CLUSTER>(board, parity * parts + place, sums);
    };
    auto barrier = [&]() {
        if (TEAMS > 1) {
            group_barrier(team, THREADS);
        } else {
            team_wait<CLUSTER>();
        }
    };
    team_start<CLUSTER>();
    __pipeline_wait_prior(STAGES - 1);
    float2 next_row = make_float2(0.0f, 0.0f);
    layernorm_row row = {0.0f, 0.0f};
    if (n < a.N) {
        float2 this_row = statistics(0, n);
        row = {this_row.x, this_row.y};
        if (!through_ring) { next_row = statistics(0, n + (long long)stride); }
        first_pass(0, 0, row);
    }
    team_arrive<CLUSTER>();
    barrier();
    // All teams of a block go round equally often, the last time perhaps without a row.
    for (int round = number, stage = 0, parity = 0; round < a.N; round += stride, n += stride, parity ^= 1) {
        float2 sums = make_float2(0.0f, 0.0f);
        if (n >= a.N) {
            // nobody has posted anything for this team
        } else if (parts <= 8) {
#pragma unroll
            for (int part = 0; part < parts; part++) {
                float2 more = team_read<CLUSTER>(board, parity * parts + part);
                sums = make_float2(sums.x + more.x, sums.y + more.y);
            }
        } else {
            for (int part = lane; part < parts; part += warp_size) {
                float2 more = team_read<CLUSTER>(board, parity * parts + part);
                sums = make_float2(sums.x + more.x, sums.y + more.y);
            }
            sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
        }
        float2 means = make_float2(sums.x * a.inverse_C, sums.y * a.inverse_C);
        int next = stage + 1 == STAGES ? 0 : stage + 1;
        layernorm_row coming = {next_row.x, next_row.y};
        if (!through_ring) { next_row = statistics(0, n + 2LL * stride); } // a row's time before it is needed
        if (n < a.N - stride) {
            __pipeline_wait_prior(STAGES - 2);
            if (through_ring) { coming = {ring.mean(next), ring.rstd(next)}; }
            first_pass(next, parity ^ 1, coming);
        }
        team_arrive<CLUSTER>();
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k) || n >= a.N) { continue; }
            float w[size];
            weight.get(k, w);
            vec<T> dinp = layernorm_backward_dinp<T, RESIDUAL>(ring.get(stage, 0, k), ring.get(stage, 1, k), w,
                                                               ring.get(stage, RESIDUAL ? 2 : 0, k), row, means);
            vec_store_once(a.dinp + (size_t)n * a.C + ring.column(k), dinp);
        }
        fetch(stage, n + (long long)STAGES * stride);
        stage = next;
        row = coming;
        barrier();
    }
    __pipeline_wait_prior(0);

    float *partial = a.partial + (size_t)number * 2 * a.C; // (2, C)
    if constexpr (TEAMS > 1) {
        layernorm_backward_meet<TEAMS>((float4 *)partial, (float4 *)ring_memory, team, ring, dweight, dbias, a.C);
    } else {
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
#pragma unroll
            for (int i = 0; i < size; i += 4) {
                const float *w = dweight[k] + i, *b = dbias[k] + i;
                *(float4 *)(partial + ring.column(k) + i) = make_float4(w[0], w[1], w[2], w[3]);
                *(float4 *)(partial + a.C + ring.column(k) + i) = make_float4(b[0], b[1], b[2], b[3]);
            }
        }
    }
}

#endif
