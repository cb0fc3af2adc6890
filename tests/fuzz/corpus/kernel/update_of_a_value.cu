__global__ void indices(int *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.z + blockIdx.y * gridDim.z + blockDim.y;
    uint3 t = threadIdx;
    dim3 b = blockDim+= 1; }
__global__ void literals(float *x) { x[0] = x[1] *  { x[0] = factorial(x[1]); }
__global__ void assembled(int *x) { asm vola, c(4, 2), d;
    x[0] = t.y + b.z + c.z + warpSize;
}
__global__ void barriers(int *x, int p)
{
    __syncthreads();
    x[0] = __syncthreads_count(p) + __syncthreads_and(p > 1) + __syncthreads_or(p);
    __threadfence(); __threadfence_block(); __threadfence_system();
    __syncwarp(); __syncwarp(0xff);
}
__device__ void helper() { __syncthreads(); }
__global__ void inside(int *x) { if (x[0]) return; helper(); }
