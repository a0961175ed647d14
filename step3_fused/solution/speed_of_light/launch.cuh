// launch.cuh — the host's side of the fast kernels: launching clusters, and choosing a line of a dispatch table
//
//   launch_clusters    launch (common/dependent_launch.cuh) for a kernel that runs in clusters of blocks
//   first_that_fits    the first line of a table that fits the call
//
// Compiled with -DSHOW_CHOICE, each line is printed when it is first taken:
//   choice: softmax_forward: line 4 of 18          (18 of 18: no line fits)
#ifndef SPEED_OF_LIGHT_LAUNCH_CUH
#define SPEED_OF_LIGHT_LAUNCH_CUH

#include "common/dependent_launch.cuh"

#include <stdio.h>

#if defined(SIMT_CPU_BACKEND)
static __device__ int emulated_cluster; // the number of the cluster that runs: clusters run one after the other
#endif

// shape.blocks: a multiple of cluster, which is the number of blocks in a cluster; 1: no clusters.
template <class Kernel, class... Arguments>
int launch_clusters(const launch_shape &shape, unsigned cluster, Kernel *kernel, Arguments... arguments) {
    if (cluster == 1) { return launch(shape, kernel, arguments...); }
    launch_configuration configuration(shape);
#if defined(SIMT_CPU_BACKEND)
    configuration.config.numAttrs = 0;
    configuration.add(cudaLaunchAttributeCooperative)->val.cooperative = 1;
    configuration.config.gridDim = dim3(cluster);
    int status = cudaSuccess;
    for (int number = 0; number < (int)(shape.blocks / cluster) && status == cudaSuccess; number++) {
        cudaMemcpyToSymbol(emulated_cluster, &number, sizeof number);
        status = launch_as(configuration, kernel, arguments...);
    }
    return status;
#else
    cudaLaunchAttribute *attribute = configuration.add(cudaLaunchAttributeClusterDimension);
    attribute->val.clusterDim.x = cluster;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    if (cluster > 8) { cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1); }
    return launch_as(configuration, kernel, arguments...);
#endif
}

// Null if fits(line) is true for no line.
template <class Line, size_t lines, class Fits>
const Line *first_that_fits(const char *name, const Line (&table)[lines], Fits fits) {
    size_t at = 0;
    while (at < lines && !fits(table[at])) { at++; }
#ifdef SHOW_CHOICE
    static bool shown[lines + 1];
    if (!shown[at]) { printf("choice: %s: line %zu of %zu\n", name, at, lines); }
    shown[at] = true;
#else
    (void)name;
#endif
    return at < lines ? &table[at] : nullptr;
}

#endif
