__global__ void modulo(float *x) { x[0] = x[1] % 2; }
__global__ void constants(const float *x) { x[0] = 1; }
__global__ void conversion(float *x, int *y) { x = y; }
__global__ void unknown(float *x) { x[0] = missing + 1; }
__global__ void missing_semicolon(float *x) { x[0] = 1 x[1] = 2; }
__global__ void several(float *x)
{
    x.y = 1;
    3 = x[0];
    &x[0] + 1.0f;
    *x[0] = 2;
}
__global__ void fine(float *x) { x[0] = 1; }
