// A volume of cudaMalloc3D: kernels take its pitched pointer and its extent, as CUDA's guide has it.
/* opencl: IG-PTRMEM
   expect:
volume: 60 values, sum 7020
after a fill: -1
*/
#include <cstdio>

__global__ void number(cudaPitchedPtr volume, cudaExtent extent, cudaPos from)
{
    size_t x = from.x + threadIdx.x, y = from.y + threadIdx.y, z = from.z + blockIdx.x;
    if (x >= extent.width / sizeof(int) || y >= extent.height || z >= extent.depth)
        return;
    char *slice = (char *)volume.ptr + z * volume.pitch * extent.height;
    int *row = (int *)(slice + y * volume.pitch);
    row[x] = x + 10 * y + 100 * z;
}

int main()
{
    const int w = 5, h = 4, d = 3;
    int out[d][h][w], sum = 0;
    cudaExtent extent = make_cudaExtent(w * sizeof(int), h, d);
    cudaPitchedPtr volume;
    cudaMemcpy3DParms copy = {};
    cudaMalloc3D(&volume, extent);
    number<<<d, dim3(8, 8)>>>(volume, extent, make_cudaPos(0, 0, 0));
    copy.srcPtr = volume;
    copy.dstPtr = make_cudaPitchedPtr(out, w * sizeof(int), w, h);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&copy);
    for (int i = 0; i < w * h * d; i++)
        sum += out[i / (w * h)][i / w % h][i % w];
    printf("volume: %d values, sum %d\n", w * h * d, sum);
    cudaMemset3D(volume, 255, extent);
    cudaMemcpy3D(&copy);
    printf("after a fill: %d\n", out[2][3][4]);
    cudaFree(volume.ptr);
}
