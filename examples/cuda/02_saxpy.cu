/* saxpy with a grid-stride loop: any grid computes any length.
 *
 * Run:
 *   ingot run examples/cuda/02_saxpy.cu --grid 2 --block 32 --arg n=2000 --arg a=2 \
 *       --arg x=arange:f32[n] --arg y=ones:f32[n]
 * Prints:
 *   y = [1.000e+00 3.000e+00 5.000e+00 ... 3.995e+03 3.997e+03 3.999e+03]
 */
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
