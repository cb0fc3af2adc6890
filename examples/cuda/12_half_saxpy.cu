/* saxpy in half precision, two numbers at a time.
 *
 * Run:
 *   ingot run examples/cuda/12_half_saxpy.cu --block 4 --arg n=4 --arg a=0.5 --arg x=arange:f16[8] \
 *       --arg y=ones:f16[8]
 * Prints:
 *   y = [1.  1.5 2.  2.5 3.  3.5 4.  4.5]
 */
#include <cuda_fp16.h>

__global__ void saxpy(int n, float a, const half2 *x, half2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}
