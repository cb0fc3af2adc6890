__constant__ float weights[4];
__global__ void writes(float *x) { weights[0] = x[0]; }
__global__ void initialized(float *x) { __shared__ float s[2] = {1, 2}; x[0] = s[0]; }
__global__ void open(float *x) { __shared__ float s[]; x[0] = s[0]; }
__global__ void inside(float *x) { __constant__ float c; x[0] = c; }
__global__ void address(float *x) { float *p = &(x[0] + 1); }
__global__ void no_type(void *x) { *x = 1; }
__global__ void moved(void *x) { x = x + 1; }
