__device__ unsigned counter;
__global__ void integers(int *x, unsigned *u)
{
    __shared__ int s[4];
    x[0] = atomicAdd(&s[1], 2) + atomicSub(x, 1) + atomicMin(x + 1, 3) + atomicMax(&x[2], 4);
    u[0] = atomicInc(&counter, 7) + atomicDec(u, 8) + atomicExch(u + 1, 9);
    atomicAnd(x, 1); atomicOr(u, 2); atomicXor(x, 3);
    while (atomicCAS(x, 0, 1) != 0) ;
    atomicAdd_block(x, 1); atomicAdd_system(x, 1);
}
__global__ void floats(float *x) { atomicAdd(x, 1); atomicMax(x, 2.0f); atomicExch(x, 3); }
__global__ void wide(unsigned long long *u, double *d, half *h) { atomicAdd(u, 1); atomicAdd(d, 0.5); atomicAdd(h, __float2half(1)); }
