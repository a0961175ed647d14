/* error.c — the last error of a host thread, the sticky error after a fault, and the names of the errors. */
#include <stdatomic.h>

#include "api.h"

static _Thread_local cudaError_t last_error;
static _Atomic int sticky_error;

void simt_set_error(int error, bool sticky) {
    if (sticky) {
        int none = cudaSuccess;
        atomic_compare_exchange_strong(&sticky_error, &none, error);
    }
    last_error = (cudaError_t)error;
}

cudaError_t api_fail(cudaError_t error) {
    last_error = error;
    return error;
}

cudaError_t api_swap_last_error(cudaError_t error) {
    cudaError_t before = last_error;
    last_error = error;
    return before;
}

void api_clear_errors(void) {
    atomic_store(&sticky_error, cudaSuccess);
    last_error = cudaSuccess;
}

cudaError_t api_enter(const char *function) {
    if (simt_on_device()) {
        simt_report(SIMT_LAUNCH, true, 0, simt_self,
                    "%s called from a kernel\nThe CPU backend has no device-side runtime API; call it on the host.",
                    function);
        simt_fail_launch(cudaErrorNotSupported);
    }
    return (cudaError_t)atomic_load(&sticky_error);
}

cudaError_t cudaPeekAtLastError(void) {
    cudaError_t sticky = (cudaError_t)atomic_load(&sticky_error);
    return sticky != cudaSuccess ? sticky : last_error;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#define ROW(name, code, text) {name, #name, text},
    SIMT_ERRORS(ROW)
#undef ROW
};
enum { ERRORS = sizeof errors / sizeof *errors };

const char *cudaGetErrorName(cudaError_t error) {
    for (int i = 0; i < ERRORS; i++) {
        if (errors[i].code == error) { return errors[i].name; }
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    for (int i = 0; i < ERRORS; i++) {
        if (errors[i].code == error) { return errors[i].text; }
    }
    return "unrecognized error code";
}
