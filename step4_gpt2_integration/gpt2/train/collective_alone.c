/* collective_alone.c — in place of collective_mpi.c where there is no MPI to build with: one rank runs, several are refused. */
#include <stdlib.h>

#include "gpt2/train/collective.h"

bool collective_mpi_open(struct gpt2_collective *group, struct gpt2_error *error) {
    (void)group;
    return gpt2_fail(error, "this gpt2 is built without MPI, so each of them would run alone: run tools/install.sh "
                            "ranks (libopenmpi-dev, openmpi-bin), then make gpt2 again");
}

/* With one rank nothing of this is called. */
void collective_mpi_close(void) {}

bool collective_mpi_broadcast(void *bytes, size_t size, struct gpt2_error *error) {
    (void)bytes, (void)size;
    return gpt2_fail(error, "this gpt2 is built without MPI");
}

bool collective_mpi_gather(const void *bytes, size_t size, void *all, struct gpt2_error *error) {
    (void)bytes, (void)size, (void)all;
    return gpt2_fail(error, "this gpt2 is built without MPI");
}

bool collective_mpi_send(int rank, int from, void *bytes, size_t size, struct gpt2_error *error) {
    (void)rank, (void)from, (void)bytes, (void)size;
    return gpt2_fail(error, "this gpt2 is built without MPI");
}

void collective_mpi_limit(double seconds) {
    (void)seconds;
}

struct collective_wait collective_mpi_begin_wait(void) {
    return (struct collective_wait){.told = false};
}

bool collective_mpi_waits(struct collective_wait *wait, struct gpt2_error *error) {
    (void)wait;
    return gpt2_fail(error, "this gpt2 is built without MPI");
}

void collective_mpi_abort(void) {
    abort();
}

bool collective_mpi_arrays(struct gpt2_collective *group, struct gpt2_error *error) {
    (void)group;
    return gpt2_fail(error, "this gpt2 is built without MPI");
}
