// Local variables that not every path sets: as a stored value, a condition, an index. Values that are not used do no harm.
/* finds: uninitialised: thread (4, 0, 0) of block (0, 0, 0) of launch 1 stores 'v', a local variable that was not set
finds: uninitialised: thread (0, 0, 0) of block (0, 0, 0) of launch 1 branches on a value that depends on a local variable that was not set
finds: uninitialised: thread (0, 0, 0) of block (0, 0, 0) of launch 1 uses as an index a value that depends on a local variable that was not set
*/
struct pair {
    int a, b;
};
__device__ int count(const int *x, int n)
{
    int sum;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

__global__ void mistakes(int *y, const int *x)
{
    int v, at;
    if (threadIdx.x < 4)
        v = x[threadIdx.x];
    y[threadIdx.x] = v;
    if (count(x, 4) > 3)
        y[0] = 1;
    if (threadIdx.x == 31)
        at = 2;
    y[32] = x[at & 3];
}

__global__ void correct(int *y, pair *p, const int *x)
{
    bool found = false;
    int best, first, later;
    pair both;
    both.a = 1;
    for (int i = 0; i < 4; i++)
        if (!found || x[i] < best) {
            best = x[i];
            found = true;
        }
    if (threadIdx.x == 0)
        first = best;
    first = __shfl_sync(0xffffffff, first, 0);
    for (int i = 0; i < 3; i++) {
        const int now = i ? later : 0;
        later = now + x[i];
    }
    y[threadIdx.x] = first + later + (threadIdx.x > 40 ? best * both.b : 0);
    p[threadIdx.x] = both;
}

int main()
{
    int *x, *y;
    pair *p;
    cudaMalloc(&x, 4 * sizeof *x);
    cudaMalloc(&y, 33 * sizeof *y);
    cudaMalloc(&p, 32 * sizeof *p);
    cudaMemset(x, 0, 4 * sizeof *x);
    mistakes<<<1, 32>>>(y, x);
    correct<<<1, 32>>>(y, p, x);
    cudaFree(p);
    cudaFree(y);
    cudaFree(x);
}
