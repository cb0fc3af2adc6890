__global__ void on_char(char *x) { atomicAdd(x, 1); }
__global__ void on_const(const int *x) { atomicAdd(x, 1); }
__global__ void on_value(int x) { atomicAdd(x, 1); }
__global__ void inc_int(int *x) { atomicInc(x, 1); }
