// The macro of every tutorial: a call that fails ends the program, with the file, the line and the reason.
/* stderr: error_macro.cu:39 code=1(cudaErrorInvalidValue) "cudaMemcpy(h, d, 8 * bytes, cudaMemcpyDeviceToHost)"
exit: 1
check: 1
expect:
launched
sum 496
*/
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <typename T> void check(T result, char const *const func, const char *const file, int const line)
{
    if (result) {
        fflush(stdout);
        fprintf(stderr, "%s:%d code=%d(%s) \"%s\"\n", file, line, static_cast<unsigned int>(result), cudaGetErrorName(result), func);
        exit(EXIT_FAILURE);
    }
}
#define checkErrors(val) check((val), #val, __FILE__, __LINE__)

__global__ void iota(int *x) { x[threadIdx.x] = threadIdx.x; }

int main(int argc, char **argv)
{
    int *d, *h;
    const size_t bytes = 32 * sizeof(int);
    checkErrors(cudaMalloc(reinterpret_cast<void **>(&d), bytes));
    checkErrors(cudaMallocHost(&h, bytes));
    iota<<<1, 32>>>(d);
    checkErrors(cudaGetLastError());
    puts("launched");
    checkErrors(cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost));
    int sum = 0;
    for (int i = 0; i < 32; i++)
        sum += h[i];
    printf("sum %d\n", sum);
    checkErrors(cudaMemcpy(h, d, 8 * bytes, cudaMemcpyDeviceToHost));
    printf("not reached\n");
    checkErrors(cudaFree(d));
    return 0;
}
