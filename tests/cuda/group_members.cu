/* expect:
8 9 10 11
6
*/
/* Groups as parameters of members, whose declarations the host sees too; braces as arguments of a launch. */
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

struct shift {
    int by;
    __device__ int of(cg::thread_block block, int x) const
    {
        return x + by + (int)block.thread_rank();
    }
};
struct point {
    float x, y, z;
};

__global__ void shift_all(int *out)
{
    shift s = {3};
    out[threadIdx.x] = s.of(cg::this_thread_block(), 5);
}
__global__ void add(point p, float *out) { *out = p.x + p.y + p.z; }

int main()
{
    int *out;
    float *sum;
    cudaMallocManaged(&out, 4 * sizeof *out);
    cudaMallocManaged(&sum, sizeof *sum);
    shift_all<<<{1, 1, 1}, {4}>>>(out);
    add<<<1, 1>>>({1, 2, 3}, sum);
    cudaDeviceSynchronize();
    printf("%d %d %d %d\n%g\n", out[0], out[1], out[2], out[3], *sum);
}
