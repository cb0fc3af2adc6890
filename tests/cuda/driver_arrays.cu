// The driver API's arrays, textures and copies of boxes.
/* expect:
descriptor: 8 4 2
corner: 11 12 19 20
texture: 0.5 27.5
beyond: 1
*/
#include <cstdio>
#include <cuda.h>

__global__ void fetch(CUtexObject t, float *y)
{
    y[0] = tex2D<float>(t, 1.0f, 0.5f);
    y[1] = tex2D<float>(t, 4.0f, 3.5f);
}
int main()
{
    CUarray array;
    const CUDA_ARRAY_DESCRIPTOR made = {8, 4, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY_DESCRIPTOR d;
    cuInit(0);
    CUcontext context;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuArrayCreate(&array, &made);
    cuArrayGetDescriptor(&d, array);
    printf("descriptor: %zu %zu %d\n", d.Width, d.Height, d.Format == CU_AD_FORMAT_FLOAT ? 2 : 0);
    float in[32], out[4], *y;
    for (int i = 0; i < 32; i++)
        in[i] = i;
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = in;
    c.srcPitch = 32;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = array;
    c.WidthInBytes = 32;
    c.Height = 4;
    cuMemcpy2D(&c);
    CUDA_MEMCPY2D back = {};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = array;
    back.srcXInBytes = 12;
    back.srcY = 1;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = out;
    back.WidthInBytes = 8;
    back.Height = 2;
    cuMemcpy2D(&back);
    printf("corner: %g %g %g %g\n", out[0], out[1], out[2], out[3]);
    CUDA_RESOURCE_DESC of = {};
    of.resType = CU_RESOURCE_TYPE_ARRAY;
    of.res.array.hArray = array;
    CUDA_TEXTURE_DESC how = {};
    how.filterMode = CU_TR_FILTER_MODE_LINEAR;
    how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    CUtexObject t;
    cuTexObjectCreate(&t, &of, &how, NULL);
    cudaMallocManaged(&y, 8);
    fetch<<<1, 1>>>(t, y);
    cudaDeviceSynchronize();
    printf("texture: %g %g\n", y[0], y[1]);
    back.srcY = 3;
    printf("beyond: %d\n", cuMemcpy2D(&back));
    cuTexObjectDestroy(t);
    cuArrayDestroy(array);
    cudaFree(y);
}
