/* collective.c — ranks: what a launcher says of them, their devices, and what they agree on (collective.h). */
#define _GNU_SOURCE
#include "gpt2/train/collective.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpt2/model/model.h"

/* ---- the launcher's environment ---- */

static const struct {
    const char *ranks, *rank, *name;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"}, /* Open MPI */
    {"PMI_SIZE", "PMI_RANK", "mpirun"},                         /* MPICH and its relatives */
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},           /* Slurm, with or without PMIx */
};

/* The row of the launcher that started this process; -1: none. */
static int launcher(void) {
    for (int i = 0; i < (int)(sizeof launchers / sizeof *launchers); i++) {
        if (getenv(launchers[i].ranks) != NULL) { return i; }
    }
    return -1;
}

int gpt2_collective_launched(void) {
    int by = launcher(), ranks = by >= 0 ? atoi(getenv(launchers[by].ranks)) : 1;
    return ranks > 1 ? ranks : 1;
}

bool gpt2_collective_open(struct gpt2_collective *group, struct gpt2_error *error) {
    const int launched = gpt2_collective_launched();
    *group = (struct gpt2_collective){.ranks = 1, .locals = 1};
    gethostname(group->host, sizeof group->host - 1);
    if (launched == 1) { return true; }
    const int by = launcher();
    const char *rank = getenv(launchers[by].rank);
    struct gpt2_error why = {""};
    if (!collective_mpi_open(group, &why)) {
        gpt2_fail(error, "%s has started %d processes, but %s", launchers[by].name, launched, why.text);
    } else if (group->ranks == launched) {
        return true;
    } else {
        gpt2_fail(
            error,
            "%s has started %d processes, of which MPI sees %d: start them with the mpirun of the MPI that gpt2 is "
            "built with, or with srun --mpi=pmix (srun --mpi=list shows what Slurm has)",
            launchers[by].name, launched, group->ranks);
        collective_mpi_close();
    }
    if (rank != NULL && atoi(rank) > 0) { error->text[0] = '\0'; }
    *group = (struct gpt2_collective){.ranks = 1, .locals = 1};
    return false;
}

void gpt2_collective_close(struct gpt2_collective *group) {
    if (group->arrays != NULL) { group->arrays->close(group->state); }
    if (group->ranks > 1) { collective_mpi_close(); }
    *group = (struct gpt2_collective){.ranks = 1, .locals = 1};
}

/* Memory for `size` bytes of each rank. Without it all ranks end: the others wait for this one. */
static void *of_all(const struct gpt2_collective *group, size_t size) {
    void *all = calloc((size_t)group->ranks, size);
    if (all != NULL) { return all; }
    struct gpt2_error error;
    gpt2_fail(&error, "out of memory");
    gpt2_collective_abort(group, &error);
}

/* ---- the device of a rank ---- */

int gpt2_collective_devices(void) {
    int devices = 0;
#if !defined(SIMT_CPU_BACKEND)
    if (cudaGetDeviceCount(&devices) != cudaSuccess) { devices = 1; } /* opening it says why */
#endif
    return devices;
}

#if defined(SIMT_CPU_BACKEND)
/* The cores that this rank may run on, divided among the ranks that may run on the same. SIMT_THREADS goes before. */
static bool use_device(struct gpt2_collective *group, struct gpt2_error *error) {
    struct place {
        char host[sizeof group->host];
        cpu_set_t cores;
    } mine = {.host = ""}, *all = of_all(group, sizeof *all);
    memcpy(mine.host, group->host, sizeof mine.host);
    int sharers = 0;
    if (sched_getaffinity(0, sizeof mine.cores, &mine.cores) != 0) { CPU_ZERO(&mine.cores); }
    const bool good = gpt2_collective_gather(group, &mine, sizeof mine, all, error);
    for (int r = 0; good && r < group->ranks; r++) { sharers += memcmp(&all[r], &mine, sizeof mine) == 0; }
    free(all);
    if (!good || getenv("SIMT_THREADS") != NULL) { return good; }
    int threads = CPU_COUNT(&mine.cores) / sharers;
    return gpt2_device_threads(threads > 0 ? threads : 1, error);
}
#else
/* A launcher may show each rank a device of its own, and then it is number 0. NCCL refuses two ranks on one device. */
static bool use_device(struct gpt2_collective *group, struct gpt2_error *error) {
    const int devices = gpt2_collective_devices();
    if (devices > 1 && devices < group->locals) {
        return gpt2_fail(error, "%s has %d ranks and %d GPUs: each rank needs a GPU of its own", group->host,
                         group->locals, devices);
    }
    cudaError_t code = cudaSetDevice(devices > 1 ? group->local : 0);
    return code == cudaSuccess || gpt2_fail(error, "the GPU cannot be used: %s", cudaGetErrorString(code));
}
#endif

bool gpt2_collective_use_device(struct gpt2_collective *group, struct gpt2_error *error) {
    if (group->ranks == 1) { return true; }
    if (!gpt2_collective_agree(group, use_device(group, error), NULL, error)) { return false; }
#if defined(SIMT_CPU_BACKEND)
    return gpt2_collective_agree(group, collective_mpi_arrays(group, error), NULL, error);
#elif defined(GPT2_WITH_NCCL)
    return gpt2_collective_agree(group, collective_nccl_arrays(group, error), NULL, error);
#else
    gpt2_fail(error,
              "this gpt2 is built without NCCL, which sums on GPUs: install NCCL (nccl.h beside CUDA's headers or "
              "in /usr/include) and run make gpt2 again");
    return gpt2_collective_agree(group, false, NULL, error);
#endif
}

/* ---- what the hosts exchange ---- */

bool gpt2_collective_broadcast(const struct gpt2_collective *group, void *bytes, size_t size,
                               struct gpt2_error *error) {
    return group->ranks == 1 || collective_mpi_broadcast(bytes, size, error);
}

bool gpt2_collective_gather(const struct gpt2_collective *group, const void *bytes, size_t size, void *all,
                            struct gpt2_error *error) {
    if (group->ranks > 1) { return collective_mpi_gather(bytes, size, all, error); }
    memcpy(all, bytes, size);
    return true;
}

void gpt2_collective_limit(const struct gpt2_collective *group, double seconds) {
    if (group->ranks > 1) { collective_mpi_limit(seconds); }
}

bool gpt2_collective_agree(const struct gpt2_collective *group, bool good, double *sum, struct gpt2_error *error) {
    struct vote {
        double value;
        bool good;
        struct gpt2_error error;
    } mine = {.value = sum != NULL ? *sum : 0.0, .good = good}, *all;
    if (group->ranks == 1) { return good; }
    if (!good && group->rank == 0) { mine.error = *error; }
    if (!good && group->rank > 0) {
        gpt2_fail(&mine.error, "rank %d of %d on %s: %s", group->rank, group->ranks, group->host, error->text);
    }
    all = of_all(group, sizeof *all);
    bool all_good = true;
    if (!gpt2_collective_gather(group, &mine, sizeof mine, all, error)) { gpt2_collective_abort(group, error); }
    double total = 0.0;
    for (int r = 0; all_good && r < group->ranks; r++) {
        total += all[r].value;
        if (all[r].good) { continue; }
        all_good = false;
        *error = all[r].error;
        break;
    }
    if (all_good && sum != NULL) { *sum = total; }
    free(all);
    return all_good;
}

/* The hash of most ranks; of equally many, that of the lowest rank. */
static uint64_t usual_hash(const uint64_t *all, int ranks, int count, int at) {
    int most = 0, best = 0;
    for (int r = 0; r < ranks; r++) {
        int same = 0;
        for (int other = 0; other < ranks; other++) { same += all[other * count + at] == all[r * count + at]; }
        if (same > most) { most = same, best = r; }
    }
    return all[best * count + at];
}

bool gpt2_collective_same(const struct gpt2_collective *group, const uint64_t *hashes, const char *const *names,
                          int count, struct gpt2_error *error) {
    uint64_t *all = of_all(group, (size_t)count * sizeof *all);
    if (!gpt2_collective_gather(group, hashes, (size_t)count * sizeof *hashes, all, error)) {
        gpt2_collective_abort(group, error);
    }
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        char others[200] = "";
        const uint64_t usual = usual_hash(all, group->ranks, count, i);
        for (int r = 0; r < group->ranks; r++) {
            size_t used = strlen(others);
            if (all[r * count + i] == usual) { continue; }
            snprintf(others + used, sizeof others - used, "%s%d", used > 0 ? ", " : "", r);
        }
        good = others[0] == '\0' ||
               gpt2_fail(error, "%s of rank %s of %d are not those of the other ranks", names[i], others, group->ranks);
    }
    free(all);
    return good;
}

void gpt2_collective_abort(const struct gpt2_collective *group, const struct gpt2_error *error) {
    fprintf(stderr, "gpt2: rank %d of %d on %s: %s\n", group->rank, group->ranks, group->host, error->text);
    fflush(NULL);
    collective_mpi_abort();
}
