// Surfaces: positions in bytes, values of all sizes, what a boundary mode does outside; a texture reads what was written.
/* expect:
written: 1 2 3 4
doubled: 2 4 6 8
outside: 0 4 0
layers: 100 203
volume: 107
back: 14
*/
#include <stdio.h>
#include <string.h>

__global__ void fill(cudaSurfaceObject_t s, int w)
{
    const int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite((float)(y * w + x + 1), s, x * (int)sizeof(float), y);
}
__global__ void twice(cudaSurfaceObject_t s)
{
    const int x = threadIdx.x * sizeof(float2), y = threadIdx.y;
    float2 v = surf2Dread<float2>(s, x, y);
    v.x *= 2;
    v.y *= 2;
    surf2Dwrite(v, s, x, y, cudaBoundaryModeTrap);
}
__global__ void read(cudaTextureObject_t t, float *out, int w)
{
    const int x = threadIdx.x, y = threadIdx.y;
    out[y * w + x] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}
__global__ void outside(cudaSurfaceObject_t s, float *out)
{
    out[0] = surf2Dread<float>(s, -4, 0, cudaBoundaryModeZero);
    surf2Dread(&out[1], s, 4, -3, cudaBoundaryModeClamp);
    surf2Dwrite(9.0f, s, 4, 5, cudaBoundaryModeZero);
    out[2] = surf2Dread<float>(s, 4, 5, cudaBoundaryModeZero);
}
__global__ void layers(cudaSurfaceObject_t s)
{
    surf2DLayeredwrite((unsigned char)(100 + threadIdx.z * 100 + threadIdx.x), s, threadIdx.x, threadIdx.y, threadIdx.z);
}
__global__ void volume(cudaSurfaceObject_t s, int *out)
{
    surf3Dwrite((int)(100 + threadIdx.x + 2 * threadIdx.y + 4 * threadIdx.z), s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
    __syncthreads();
    *out = surf3Dread<int>(s, 4, 1, 1);
}

static cudaSurfaceObject_t surface(cudaArray_t a)
{
    cudaResourceDesc r;
    cudaSurfaceObject_t s = 0;
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    cudaCreateSurfaceObject(&s, &r);
    return s;
}

int main()
{
    const int w = 4, h = 3;
    float out[w * h], *d_out;
    cudaArray_t a;
    cudaMalloc(&d_out, sizeof out);
    cudaChannelFormatDesc d = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaMallocArray(&a, &d, w, h, cudaArraySurfaceLoadStore);
    cudaSurfaceObject_t s = surface(a);
    fill<<<1, dim3(w, h)>>>(s, w);
    cudaMemcpyFromArray(out, a, 0, 0, sizeof out, cudaMemcpyDeviceToHost);
    printf("written: %g %g %g %g\n", out[0], out[1], out[2], out[3]);
    twice<<<1, dim3(w / 2, h)>>>(s);
    cudaResourceDesc r;
    cudaTextureDesc how;
    cudaTextureObject_t t;
    memset(&r, 0, sizeof r);
    memset(&how, 0, sizeof how);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    cudaCreateTextureObject(&t, &r, &how, NULL);
    read<<<1, dim3(w, h)>>>(t, d_out, w);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    printf("doubled: %g %g %g %g\n", out[0], out[1], out[2], out[3]);
    outside<<<1, 1>>>(s, d_out);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    printf("outside: %g %g %g\n", out[0], out[1], out[2]);
    cudaDestroyTextureObject(t);
    cudaDestroySurfaceObject(s);

    unsigned char bytes[2][h][w];
    cudaArray_t pages, solid;
    d = cudaCreateChannelDesc<unsigned char>();
    cudaMalloc3DArray(&pages, &d, make_cudaExtent(w, h, 2), cudaArrayLayered | cudaArraySurfaceLoadStore);
    s = surface(pages);
    layers<<<1, dim3(w, h, 2)>>>(s);
    cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof copy);
    copy.srcArray = pages;
    copy.dstPtr = make_cudaPitchedPtr(bytes, w, w, h);
    copy.extent = make_cudaExtent(w, h, 2);
    copy.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&copy);
    printf("layers: %d %d\n", bytes[0][2][0], bytes[1][1][3]);
    cudaDestroySurfaceObject(s);

    int number, *d_number = (int *)d_out;
    d = cudaCreateChannelDesc<int>();
    cudaMalloc3DArray(&solid, &d, make_cudaExtent(2, 2, 2), cudaArraySurfaceLoadStore);
    s = surface(solid);
    volume<<<1, dim3(2, 2, 2)>>>(s, d_number);
    cudaMemcpy(&number, d_number, sizeof number, cudaMemcpyDeviceToHost);
    printf("volume: %d\n", number);
    cudaDestroySurfaceObject(s);

    cudaArray_t b;
    d = cudaCreateChannelDesc<float>();
    cudaMallocArray(&b, &d, w, h);
    cudaMemcpy2DArrayToArray(b, 0, 0, a, 2 * sizeof(float), 1, 2 * sizeof(float), 2);
    cudaMemcpy2DFromArray(out, 2 * sizeof(float), b, 0, 0, 2 * sizeof(float), 2, cudaMemcpyDeviceToHost);
    printf("back: %g\n", out[0]);
    cudaFreeArray(a);
    cudaFreeArray(b);
    cudaFreeArray(pages);
    cudaFreeArray(solid);
    cudaFree(d_out);
}
