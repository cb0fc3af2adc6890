__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ float twice(float x) { return 2 * x; }
__global__ void recursive(int *x) { x[0] = factorial(x[1]); }
__global__ void assembled(int *x) { asm volatile("mov.u32 %0, %laneid;" : "=r"(x[0])); }
__global__ void allocates(int *x) { int *p = new int[4]; p[0] = 1; x[0] = p[0]; delete[] p; int *q = (int *)malloc(8); free(q); }
__global__ void pointed(float *x) { float (*f)(float) = twice; x[0] = f(x[1]); }
__global__ void launches(int *x) { recursive<<<1, 32>>>(x); }
__global__ void doubles(double *d) { d[0] += 1; }
__global__ void literals(float *x) { x[0] = x[1] * 0.5; x[2] += 0.1; x[3] = sqrt(x[4]) * 2.0; }
