// Textures: coordinates, address modes, linear filters, formats, layers, cubes and three dimensions, compared with a
// plain definition on the host. Texels are small integers and fractions are multiples of 1/16, so all sums are exact.
/* expect:
formats: 0 differ
modes: 0 differ
layers: 0 differ
cube: 0 differ
volume: 0 differ
fetch: 0 differ
invalid: 26 27 20
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

enum { W = 7, H = 5, D = 4, N = 512 };

static unsigned seed = 1;
static unsigned draw(unsigned n) { return (seed = seed * 1664525u + 1013904223u) / 65536 % n; }

template <typename T> __global__ void read_2d(cudaTextureObject_t t, const float4 *at, T *out)
{
    const float4 p = at[threadIdx.x + blockIdx.x * blockDim.x];
    out[threadIdx.x + blockIdx.x * blockDim.x] = tex2D<T>(t, p.x, p.y);
}
__global__ void read_layer(cudaTextureObject_t t, const float4 *at, float *out)
{
    const float4 p = at[threadIdx.x + blockIdx.x * blockDim.x];
    tex2DLayered(&out[threadIdx.x + blockIdx.x * blockDim.x], t, p.x, p.y, (int)p.z);
}
__global__ void read_cube(cudaTextureObject_t t, const float4 *at, float *out)
{
    const float4 p = at[threadIdx.x + blockIdx.x * blockDim.x];
    out[threadIdx.x + blockIdx.x * blockDim.x] = texCubemap<float>(t, p.x, p.y, p.z);
}
__global__ void read_3d(cudaTextureObject_t t, const float4 *at, float *out)
{
    const float4 p = at[threadIdx.x + blockIdx.x * blockDim.x];
    out[threadIdx.x + blockIdx.x * blockDim.x] = tex3D<float>(t, p.x, p.y, p.z);
}
__global__ void fetch(cudaTextureObject_t t, int *out)
{
    const int i = threadIdx.x;
    out[i] = tex1Dfetch<int>(t, i);
}

static float4 *points, *d_points;
static void *d_out;

// The texel index along a dimension, or -1 for the border.
static int index(int i, int n, int mode, bool normalized)
{
    if (mode == cudaAddressModeBorder)
        return i < 0 || i >= n ? -1 : i;
    if (normalized && mode == cudaAddressModeWrap)
        return ((i % n) + n) % n;
    if (normalized && mode == cudaAddressModeMirror) {
        i = ((i % (2 * n)) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    }
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

struct source {
    const float *texels; // of H x W, or D planes of it
    int w, h, d, mode;
    bool linear, normalized;
};
static float texel(const source &s, int i, int j, int k)
{
    i = index(i, s.w, s.mode, s.normalized);
    j = index(j, s.h, s.mode, s.normalized);
    k = index(k, s.d, s.mode, s.normalized);
    return i < 0 || j < 0 || k < 0 ? 0 : s.texels[(k * s.h + j) * s.w + i];
}
// z selects a plane, or is filtered if `solid`.
static float sample(const source &s, float x, float y, float z, bool solid)
{
    if (s.normalized)
        x *= s.w, y *= s.h, z *= solid ? s.d : 1;
    if (!s.linear)
        return texel(s, (int)floorf(x), (int)floorf(y), (int)floorf(z));
    const int i = (int)floorf(x - 0.5f), j = (int)floorf(y - 0.5f), k = (int)floorf(solid ? z - 0.5f : z);
    const float a = x - 0.5f - i, b = y - 0.5f - j, c = solid ? z - 0.5f - k : 0;
    float sum = 0;
    for (int n = 0; n < 8; n++)
        if (!(n & 4) || c)
            sum += (n & 1 ? a : 1 - a) * (n & 2 ? b : 1 - b) * (n & 4 ? c : 1 - c) * texel(s, i + (n & 1), j + (n >> 1 & 1), k + (n >> 2));
    return sum;
}

static void scatter(int w, int h, int d, bool normalized, bool planes)
{
    for (int i = 0; i < N; i++) {
        points[i].x = ((int)draw(16 * w * 4) - 16 * w - 16 * w / 2) / 16.0f + 1 / 32.0f;
        points[i].y = ((int)draw(16 * h * 4) - 16 * h - 16 * h / 2) / 16.0f + 1 / 32.0f;
        points[i].z = planes ? draw(d) : ((int)draw(16 * d * 4) - 16 * d - 16 * d / 2) / 16.0f + 1 / 32.0f;
        if (normalized)
            points[i].x /= w, points[i].y /= h, points[i].z /= planes ? 1 : d;
    }
    cudaMemcpy(d_points, points, N * sizeof *points, cudaMemcpyHostToDevice);
}

static cudaTextureObject_t object(cudaArray_t array, int mode, bool linear, bool normalized, int read_mode)
{
    cudaResourceDesc r;
    cudaTextureDesc t;
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    for (int i = 0; i < 3; i++)
        t.addressMode[i] = (cudaTextureAddressMode)mode;
    t.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    t.readMode = (cudaTextureReadMode)read_mode;
    t.normalizedCoords = normalized;
    cudaTextureObject_t made = 0;
    const cudaError_t e = cudaCreateTextureObject(&made, &r, &t, NULL);
    if (e)
        printf("%s\n", cudaGetErrorString(e));
    return made;
}

template <typename T> static int one_format(int parts)
{
    T texels[W * H * 4];
    int wrong = 0;
    for (int i = 0; i < W * H * parts; i++)
        texels[i] = (T)draw(100);
    const int bits = 8 * sizeof(T);
    const cudaChannelFormatDesc d = cudaCreateChannelDesc<T>();
    const cudaChannelFormatDesc all = {bits, parts > 1 ? bits : 0, parts > 2 ? bits : 0, parts > 2 ? bits : 0, d.f};
    cudaArray_t array;
    cudaMallocArray(&array, &all, W, H);
    cudaMemcpy2DToArray(array, 0, 0, texels, W * parts * sizeof(T), W * parts * sizeof(T), H, cudaMemcpyHostToDevice);
    const cudaTextureObject_t t = object(array, cudaAddressModeClamp, false, false, cudaReadModeElementType);
    scatter(W, H, 1, false, true);
    T *out = (T *)malloc(N * sizeof(T) * 4);
    if (parts == 1)
        read_2d<T><<<N / 64, 64>>>(t, d_points, (T *)d_out);
    else if constexpr (sizeof(T) == 1)
        read_2d<uchar4><<<N / 64, 64>>>(t, d_points, (uchar4 *)d_out);
    else if constexpr (sizeof(T) == 4)
        read_2d<float2><<<N / 64, 64>>>(t, d_points, (float2 *)d_out);
    cudaMemcpy(out, d_out, N * sizeof(T) * parts, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < parts; c++) {
            const int x = index((int)floorf(points[i].x), W, 1, false), y = index((int)floorf(points[i].y), H, 1, false);
            wrong += out[i * parts + c] != texels[(y * W + x) * parts + c];
        }
    T back[W * H * 4];
    cudaMemcpy2DFromArray(back, W * parts * sizeof(T), array, 0, 0, W * parts * sizeof(T), H, cudaMemcpyDeviceToHost);
    wrong += memcmp(back, texels, sizeof(T) * W * H * parts) != 0;
    free(out);
    cudaDestroyTextureObject(t);
    cudaFreeArray(array);
    return wrong;
}

static int compare(const source &s, bool solid)
{
    static float out[N];
    int wrong = 0;
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++)
        wrong += fabsf(out[i] - sample(s, points[i].x, points[i].y, points[i].z, solid)) > 1e-3f;
    return wrong;
}

int main()
{
    float texels[6 * 8 * 8 * 2];
    int wrong = 0;
    points = (float4 *)malloc(N * sizeof *points);
    cudaMalloc(&d_points, N * sizeof *points);
    cudaMalloc(&d_out, N * 16);
    for (float &x : texels)
        x = draw(64);

    wrong = one_format<float>(1) + one_format<float>(2) + one_format<unsigned char>(1) + one_format<unsigned char>(4) +
            one_format<signed char>(1) + one_format<short>(1) + one_format<unsigned short>(1) + one_format<int>(1) + one_format<unsigned>(1);
    printf("formats: %d differ\n", wrong);

    // A wrapped or mirrored coordinate needs a size that is a power of two to be exact.
    const cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    wrong = 0;
    cudaMallocArray(&array, &d, 8, 4);
    cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 4, cudaMemcpyHostToDevice);
    for (int mode = 0; mode < 4; mode++)
        for (int how = 0; how < 4; how++) {
            const source s = {texels, 8, 4, 1, mode, (how & 1) != 0, (how & 2) != 0};
            if (!s.normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
                continue;
            const cudaTextureObject_t t = object(array, mode, s.linear, s.normalized, cudaReadModeElementType);
            scatter(8, 4, 1, s.normalized, true);
            read_2d<float><<<N / 64, 64>>>(t, d_points, (float *)d_out);
            wrong += compare(s, false);
            cudaDestroyTextureObject(t);
        }
    cudaFreeArray(array);
    printf("modes: %d differ\n", wrong);

    const cudaMemcpyKind to_device = cudaMemcpyHostToDevice;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels, W * sizeof(float), W, H);
    copy.extent = make_cudaExtent(W, H, D);
    copy.kind = to_device;
    cudaMalloc3DArray(&array, &d, make_cudaExtent(W, H, D), cudaArrayLayered);
    copy.dstArray = array;
    cudaMemcpy3D(&copy);
    source s = {texels, W, H, D, cudaAddressModeClamp, true, false};
    cudaTextureObject_t t = object(array, s.mode, true, false, cudaReadModeElementType);
    scatter(W, H, D, false, true);
    read_layer<<<N / 64, 64>>>(t, d_points, (float *)d_out);
    printf("layers: %d differ\n", compare(s, false));
    cudaDestroyTextureObject(t);
    cudaFreeArray(array);

    // Faces are +x, -x, +y, -y, +z, -z; each point is the center of a texel of one.
    copy.srcPtr = make_cudaPitchedPtr(texels, 8 * sizeof(float), 8, 8);
    copy.extent = make_cudaExtent(8, 8, 6);
    cudaMalloc3DArray(&array, &d, copy.extent, cudaArrayCubemap);
    copy.dstArray = array;
    cudaMemcpy3D(&copy);
    t = object(array, cudaAddressModeClamp, false, true, cudaReadModeElementType);
    for (int i = 0; i < N; i++) {
        const int face = i % 6;
        const float u = (i / 6 % 8 + 0.5f) / 4 - 1, v = (i / 48 % 8 + 0.5f) / 4 - 1;
        const float4 at[6] = {{1, -v, -u}, {-1, -v, u}, {u, 1, v}, {u, -1, -v}, {u, -v, 1}, {-u, -v, -1}};
        points[i] = at[face];
    }
    cudaMemcpy(d_points, points, N * sizeof *points, to_device);
    read_cube<<<N / 64, 64>>>(t, d_points, (float *)d_out);
    static float out[N];
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += out[i] != texels[i % 6 * 64 + i / 48 % 8 * 8 + i / 6 % 8];
    printf("cube: %d differ\n", wrong);
    cudaDestroyTextureObject(t);
    cudaFreeArray(array);

    wrong = 0;
    copy.srcPtr = make_cudaPitchedPtr(texels, 8 * sizeof(float), 8, 4);
    copy.extent = make_cudaExtent(8, 4, 2);
    cudaMalloc3DArray(&array, &d, copy.extent);
    copy.dstArray = array;
    cudaMemcpy3D(&copy);
    for (int mode = 0; mode < 4; mode++)
        for (int linear = 0; linear < 2; linear++) {
            const source solid = {texels, 8, 4, 2, mode, linear != 0, true};
            t = object(array, mode, linear != 0, true, cudaReadModeElementType);
            scatter(8, 4, 2, true, false);
            read_3d<<<N / 64, 64>>>(t, d_points, (float *)d_out);
            wrong += compare(solid, true);
            cudaDestroyTextureObject(t);
        }
    printf("volume: %d differ\n", wrong);

    int numbers[64], *d_numbers, got[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i * i;
    cudaMalloc(&d_numbers, sizeof numbers);
    cudaMemcpy(d_numbers, numbers, sizeof numbers, to_device);
    cudaResourceDesc r = {};
    cudaTextureDesc how = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = d_numbers;
    r.res.linear.desc = cudaCreateChannelDesc<int>();
    r.res.linear.sizeInBytes = sizeof numbers;
    cudaCreateTextureObject(&t, &r, &how, NULL);
    fetch<<<1, 64>>>(t, (int *)d_out);
    cudaMemcpy(got, d_out, sizeof got, cudaMemcpyDeviceToHost);
    printf("fetch: %d differ\n", memcmp(got, numbers, sizeof got) != 0);
    cudaDestroyTextureObject(t);

    how.filterMode = cudaFilterModeLinear;
    const int linear = cudaCreateTextureObject(&t, &r, &how, NULL);
    how.filterMode = cudaFilterModePoint;
    how.readMode = cudaReadModeNormalizedFloat;
    const int normal = cudaCreateTextureObject(&t, &r, &how, NULL);
    const cudaChannelFormatDesc odd = {12, 0, 0, 0, cudaChannelFormatKindSigned};
    cudaArray_t none;
    printf("invalid: %d %d %d\n", linear, normal, cudaMallocArray(&none, &odd, 8, 8));
    cudaFreeArray(array);
    cudaFree(d_numbers);
    cudaFree(d_points);
    cudaFree(d_out);
    free(points);
}
