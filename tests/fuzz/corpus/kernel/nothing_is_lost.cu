__global__ void one(float *x)
{
    x[0] = ;
    x[1] = (1 + ;
    y[2] = 3;
    float z = 2;
    if (x[0] > {
        x[3] = z;
    }
    x[4] = z +* 2;
}
__global__ void two(float *x) { x[0] = 1; }
__global__ void three(vector v) { }
__global__ void four(float *x) { x[0] = 4 }
__global__ void five(float *x) { x[0] = 5; }
