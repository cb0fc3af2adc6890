/* Inclusive scan of one block (Hillis and Steele): in step s each thread adds what is s places before it.
 * Two barriers a step: all have read before anybody writes.
 *
 * Run:
 *   ingot run examples/cuda/06_scan.cu --block 20 --shared 80 --arg x=ones:i32[20] --arg y=zeros:i32[20]
 * Prints:
 *   y = [ 1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20]
 */
__global__ void scan(const int *x, int *y)
{
    extern __shared__ int sums[];
    int i = threadIdx.x;
    sums[i] = x[i];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int before = i >= step ? sums[i - step] : 0;
        __syncthreads();
        sums[i] += before;
        __syncthreads();
    }
    y[i] = sums[i];
}
