struct big { int a[4]; };
__global__ void value(big *b) { b[0] = __shfl_sync(~0u, b[1], 0); }
__global__ void few(int *x) { x[0] = __shfl_sync(~0u, x[1]); }
__global__ void pointer(int *x) { x = __shfl_sync(~0u, x, 0); }
