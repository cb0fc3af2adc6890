/* Vector add: one thread for each element, and a guard for the last block.
 *
 * Run:
 *   ingot run examples/cuda/01_vector_add.cu --grid 4 --block 4 --arg n=14 \
 *       --arg a=arange:f32[n] --arg b=ones:f32[n] --arg c=zeros:f32[n]
 * Prints:
 *   c = [ 1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14.]
 */
__global__ void vector_add(int n, const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
