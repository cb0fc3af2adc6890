__global__ void arguments() { __syncthreads(1); }
__global__ void member(int *x) { x[0] = threadIdx.w; }
__global__ void assigned() { threadIdx.x = 1; }
__global__ void named(int *x) { x[0] = __syncthreads; }
