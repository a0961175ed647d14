// Histogram of bytes: atomics in global memory, then private copies in shared memory ("CUDA by Example").
#include <stdio.h>
#include <stdlib.h>
#define SIZE (8 * 1024)

static void HandleError( cudaError_t err, const char *file, int line ) {
    if (err != cudaSuccess) {
        printf( "%s in %s at line %d\n", cudaGetErrorString( err ), file, line );
        exit( EXIT_FAILURE );
    }
}
#define HANDLE_ERROR( err ) (HandleError( err, __FILE__, __LINE__ ))

void* big_random_block( int size ) {
    unsigned char *data = (unsigned char*)malloc( size );
    for (int i=0; i<size; i++)
        data[i] = rand();
    return data;
}

__global__ void histo_kernel_global( unsigned char *buffer, long size, unsigned int *histo ) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd( &(histo[buffer[i]]), 1 );
        i += stride;
    }
}

__global__ void histo_kernel( unsigned char *buffer, long size, unsigned int *histo ) {
    __shared__  unsigned int temp[256];
    temp[threadIdx.x] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd( &temp[buffer[i]], 1 );
        i += stride;
    }
    __syncthreads();
    atomicAdd( &(histo[threadIdx.x]), temp[threadIdx.x] );
}

int main( void ) {
    unsigned char *buffer = (unsigned char*)big_random_block( SIZE );
    unsigned char *dev_buffer;
    unsigned int *dev_histo, histo[256];
    HANDLE_ERROR( cudaMalloc( (void**)&dev_buffer, SIZE ) );
    HANDLE_ERROR( cudaMemcpy( dev_buffer, buffer, SIZE, cudaMemcpyHostToDevice ) );
    HANDLE_ERROR( cudaMalloc( (void**)&dev_histo, 256 * sizeof( unsigned int ) ) );

    cudaDeviceProp  prop;
    HANDLE_ERROR( cudaGetDeviceProperties( &prop, 0 ) );
    int blocks = prop.multiProcessorCount > 4 ? 4 : prop.multiProcessorCount, wrong = 0;
    for (int shared = 0; shared < 2; shared++) {
        HANDLE_ERROR( cudaMemset( dev_histo, 0, 256 * sizeof( unsigned int ) ) );
        if (shared)
            histo_kernel<<<blocks*2,256>>>( dev_buffer, SIZE, dev_histo );
        else
            histo_kernel_global<<<blocks*2,256>>>( dev_buffer, SIZE, dev_histo );
        HANDLE_ERROR( cudaMemcpy( histo, dev_histo, 256 * sizeof( unsigned int ), cudaMemcpyDeviceToHost ) );
        for (int i=0; i<SIZE; i++)
            histo[buffer[i]]--;
        for (int i=0; i<256; i++)
            if (histo[i] != 0) wrong++;
    }
    printf( wrong ? "Failure!\n" : "Histogram right\n" );
    cudaFree( dev_histo );
    cudaFree( dev_buffer );
    free( buffer );
    return wrong;
}
