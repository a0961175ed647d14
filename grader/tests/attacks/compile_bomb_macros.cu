// Makes the preprocessor write without end.
// stopped by: build sandbox: error:
#include "right.cuh"

#define A x, x, x, x, x, x, x, x, x, x
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
#define E D D D D D D D D D D
#define F E E E E E E E E E E
#define G F F F F F F F F F F
#define H G G G G G G G G G G
#define I H H H H H H H H H H
#define J I I I I I I I I I I
#define K J J J J J J J J J J
#define L K K K K K K K K K K
#define M L L L L L L L L L L
int many[] = {M};
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}
