// Mandelbrot set with a complex struct for host and device; 2D grid.
#include <cstdio>
#include <cstdlib>

const int WIDTH = 48, HEIGHT = 32, MAX_ITER = 60;

struct cuComplex {
    float   r;
    float   i;
    __host__ __device__ cuComplex( float a, float b ) : r(a), i(b)  {}
    __host__ __device__ float magnitude2( void ) const { return r * r + i * i; }
    __host__ __device__ cuComplex operator*(const cuComplex& a) const {
        return cuComplex(r*a.r - i*a.i, i*a.r + r*a.i);
    }
    __host__ __device__ cuComplex operator+(const cuComplex& a) const {
        return cuComplex(r+a.r, i+a.i);
    }
};

__host__ __device__ int escape( int x, int y ) {
    cuComplex c(-2.f + 3.f * x / WIDTH, -1.f + 2.f * y / HEIGHT), z(0, 0);
    int i;
    for (i=0; i<MAX_ITER; i++) {
        z = z * z + c;
        if (z.magnitude2() > 4)
            break;
    }
    return i;
}

__global__ void mandelbrot( uchar4 *ptr ) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT)
        return;
    int value = escape( x, y );
    ptr[x + y * WIDTH] = make_uchar4(value, 255 - value, value / 2, 255);
}

int main( void ) {
    uchar4 *bitmap = new uchar4[WIDTH * HEIGHT], *dev_bitmap;
    cudaMalloc( &dev_bitmap, WIDTH * HEIGHT * sizeof(uchar4) );
    dim3 threads(16, 16), grid((WIDTH + threads.x - 1) / threads.x, (HEIGHT + threads.y - 1) / threads.y);
    mandelbrot<<<grid,threads>>>( dev_bitmap );
    if (cudaError_t e = cudaMemcpy( bitmap, dev_bitmap, WIDTH * HEIGHT * sizeof(uchar4), cudaMemcpyDeviceToHost )) {
        puts(cudaGetErrorString(e));
        return 2;
    }
    int differ = 0, inside = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int e = escape(x, y);
            inside += e == MAX_ITER;
            // GPU contraction may move a pixel on the border
            if (abs(bitmap[x + y * WIDTH].x - e) > 1 || bitmap[x + y * WIDTH].w != 255) differ++;
        }
    printf("%d pixels inside, %s\n", inside, differ <= 8 ? "right" : "wrong");
    delete[] bitmap;
    cudaFree( dev_bitmap );
    return differ > 8 || inside < 50;
}
