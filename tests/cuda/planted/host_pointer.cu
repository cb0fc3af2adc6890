// Memory of the host's in a kernel.
/* finds: host pointer: thread (0, 0, 0) of block (0, 0, 0) of launch 1 reads element 0 of 'x'
*/
__global__ void add(int *y, const int *x) { *y += *x; }

int main()
{
    int *y, x = 3;
    cudaMalloc(&y, sizeof *y);
    cudaMemset(y, 0, sizeof *y);
    add<<<1, 1>>>(y, &x);
    cudaFree(y);
}
