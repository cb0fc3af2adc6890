int host_only(int x) { return x; }
__device__ int undefined(int x);
__device__ int two(int x, float y) { return 1; }
__device__ int two(float x, int y) { return 2; }
__global__ void kernel(int *x) { x[0] = 1; }
int host_variable = 3;
__global__ void calls_host(int *x) { x[0] = host_only(1); }
__global__ void reads_host(int *x) { x[0] = host_variable; }
__global__ void calls_undefined(int *x) { x[0] = undefined(1); }
__global__ void ambiguous(int *x) { x[0] = two(1, 2); }
__global__ void no_match(int *x) { x[0] = two(x, 1); }
__global__ void few(int *x) { x[0] = two(1); }
__global__ void calls_kernel(int *x) { kernel(x); }
__global__ void unknown_function(int *x) { x[0] = nothing(1); }
