/* Templates: the type of the elements and the work of a thread are arguments of the kernel's name.
 *
 * Run:
 *   ingot run examples/cuda/14_templates.cu --kernel 'power<double, 3>' --block 4 --arg n=10 \
 *       --arg 'x=arange(10)' --arg y=zeros:[10]
 * Prints:
 *   y = [  0.   1.   8.  27.  64. 125. 216. 343. 512. 729.]
 */
template <typename T, int N> __device__ T raised(T x)
{
    T y = 1;
#pragma unroll
    for (int i = 0; i < N; i++)
        y *= x;
    return y;
}

template <typename T, int N> __global__ void power(int n, const T *x, T *y)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = raised<T, N>(x[i]);
}
