__global__ void stray(int *x) { break; }
__global__ void jump(int *x) { again: x[0]++; goto again; }
__global__ void deep_case(int n) { switch (n) { case 1: { case 2: n++; } } }
__global__ void twice(int n) { switch (n) { case 1: case 1: n++; } }
__global__ int value(int n) { return 3; }
__global__ void ranges(int *x) { for (int i : x) x[i] = 1; }
__global__ void thrown(int *x) { throw 3; }
__device__ void nothing(int *x) { return 3; }
__global__ void calls(int *x) { nothing(x); }
