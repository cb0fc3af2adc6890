__global__ void few(float *x) { x[0] = powf(x[1]); }
__global__ void pointer(float *x) { x[0] = sqrtf(x); }
__global__ void fixed(const float *x, float y) { sincosf(y, x, x); }
__global__ void limits(int *x) { x[0] = std::numeric_limits<int>::epsilon(); }
