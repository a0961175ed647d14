// All-pairs n-body as in GPU Gems 3: tiles of float4 in shared memory.
#include <cmath>
#include <cstdio>
#include <vector>

#define EPS2 0.01f
#define P 64

__device__ float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai)
{
  float3 r;
  r.x = bj.x - bi.x;
  r.y = bj.y - bi.y;
  r.z = bj.z - bi.z;
  float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + EPS2;
  float distSixth = distSqr * distSqr * distSqr;
  float invDistCube = 1.0f/sqrtf(distSixth);
  float s = bj.w * invDistCube;
  ai.x += r.x * s;
  ai.y += r.y * s;
  ai.z += r.z * s;
  return ai;
}

__device__ float3 tile_calculation(float4 myPosition, float3 accel)
{
  extern __shared__ float4 shPosition[];
  for (int i = 0; i < blockDim.x; i++) {
    accel = bodyBodyInteraction(myPosition, shPosition[i], accel);
  }
  return accel;
}

__global__ void calculate_forces(void *devX, void *devA, int n)
{
  extern __shared__ float4 shPosition[];
  float4 *globalX = (float4 *)devX;
  float4 *globalA = (float4 *)devA;
  float4 myPosition;
  int i, tile;
  float3 acc = {0.0f, 0.0f, 0.0f};
  int gtid = blockIdx.x * blockDim.x + threadIdx.x;
  myPosition = globalX[gtid];
  for (i = 0, tile = 0; i < n; i += P, tile++) {
    int idx = tile * blockDim.x + threadIdx.x;
    shPosition[threadIdx.x] = globalX[idx];
    __syncthreads();
    acc = tile_calculation(myPosition, acc);
    __syncthreads();
  }
  // Save the result in global memory for the integration step.
  float4 acc4 = {acc.x, acc.y, acc.z, 0.0f};
  globalA[gtid] = acc4;
}

__global__ void integrate(float4 *position, float4 *velocity, const float4 *acceleration, float dt)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 p = position[i], v = velocity[i], a = acceleration[i];
  v.x += a.x * dt; v.y += a.y * dt; v.z += a.z * dt;
  p.x += v.x * dt; p.y += v.y * dt; p.z += v.z * dt;
  position[i] = p;
  velocity[i] = v;
}

int main()
{
  const int n = 128;
  std::vector<float4> x(n), v(n, make_float4(0, 0, 0, 0)), a(n);
  for (int i = 0; i < n; i++) x[i] = make_float4(cosf(i), sinf(2.f * i), cosf(3.f * i), 1.f + i % 3);
  float4 *dx, *dv, *da;
  cudaMalloc(&dx, n * sizeof(float4));
  cudaMalloc(&dv, n * sizeof(float4));
  cudaMalloc(&da, n * sizeof(float4));
  cudaMemcpy(dx, x.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  cudaMemcpy(dv, v.data(), n * sizeof(float4), cudaMemcpyHostToDevice);

  calculate_forces<<<n / P, P, P * sizeof(float4)>>>(dx, da, n);
  integrate<<<n / P, P>>>(dx, dv, da, 0.5f);
  cudaMemcpy(a.data(), da, n * sizeof(float4), cudaMemcpyDeviceToHost);
  cudaMemcpy(v.data(), dv, n * sizeof(float4), cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int i = 0; i < n; i++) {
    double ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
      double rx = x[j].x - x[i].x, ry = x[j].y - x[i].y, rz = x[j].z - x[i].z;
      double d = rx * rx + ry * ry + rz * rz + EPS2, s = x[j].w / sqrt(d * d * d);
      ax += rx * s; ay += ry * s; az += rz * s;
    }
    double scale = 1 + fabs(ax) + fabs(ay) + fabs(az);
    worst = fmax(worst, fabs(a[i].x - ax) / scale);
    worst = fmax(worst, fabs(a[i].y - ay) / scale);
    worst = fmax(worst, fabs(v[i].z - 0.5 * az) / scale);
  }
  printf("worst relative error %s\n", worst < 1e-4 ? "is small" : "is LARGE");
  cudaFree(dx); cudaFree(dv); cudaFree(da);
  return worst < 1e-4 ? 0 : 1;
}
