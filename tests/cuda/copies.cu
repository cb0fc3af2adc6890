// Synchronous copies and fills: when one returns, the host may read what it wrote and overwrite what it read, for
// every kind of host memory, and work of earlier calls in all streams that wait for the default stream is done.
/* expect:
pageable: 0 0 0 0 0 0
cudaMallocHost: 0 0 0 0 0 0
cudaHostAlloc: 0 0 0 0 0 0
cudaHostRegister: 0 0 0 0 0 0
cudaMallocManaged: 0 0 0 0 0 0
stream: 0
fill: 0 0
*/
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

const int columns = 1000, rows = 60, n = columns * rows;
const size_t bytes = n * sizeof(float);
__device__ float inside[n];

__global__ void add(const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void add_inside(float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        inside[i] += c[i];
}

// Takes a while, so that a copy that does not wait for it reads old values.
__global__ void slow(float *c)
{
    unsigned x = 1;
    for (int i = 0; i < 20000; i++)
        x = x * 1664525u + 1013904223u;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        c[i] = x ? (float)i : 0;
}

static void begin(float *a, float *b, float *c)
{
    for (int i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = 2;
        c[i] = -1;
    }
}

static void clear(float *a) // the copy has read it
{
    for (int i = 0; i < n; i++)
        a[i] = -7;
}

static int wrong(const float *c)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += c[i] != (float)i + 2;
    return count;
}

static void copy(float *to, const float *from, int how, cudaMemcpyKind kind)
{
    const size_t pitch = columns * sizeof(float);
    if (how == 0)
        cudaMemcpy(to, from, bytes, kind);
    else if (how == 1)
        cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
    else if (how == 2)
        cudaMemcpy2D(to, pitch, from, pitch, pitch, rows, kind);
    else {
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr((void *)from, pitch, pitch, rows / 2);
        p.dstPtr = make_cudaPitchedPtr(to, pitch, pitch, rows / 2);
        p.extent = make_cudaExtent(pitch, rows / 2, 2);
        p.kind = kind;
        cudaMemcpy3D(&p);
    }
}

// The numbers of wrong elements: of four kinds of copies, of a variable, and of copies from the host to the host.
static void check(const char *name, float *a, float *b, float *c)
{
    float *d[3];
    for (int i = 0; i < 3; i++)
        cudaMalloc(&d[i], bytes);
    printf("%s:", name);
    for (int how = 0; how < 4; how++) {
        begin(a, b, c);
        copy(d[0], a, how, cudaMemcpyHostToDevice);
        clear(a);
        copy(d[1], b, how, cudaMemcpyHostToDevice);
        clear(b);
        add<<<(n + 255) / 256, 256>>>(d[0], d[1], d[2]);
        copy(c, d[2], how, cudaMemcpyDeviceToHost);
        printf(" %d", wrong(c));
    }
    begin(a, b, c);
    cudaMemcpyToSymbol(inside, a, bytes);
    clear(a);
    cudaMemcpy(d[1], b, bytes, cudaMemcpyHostToDevice);
    clear(b);
    add_inside<<<(n + 255) / 256, 256>>>(d[1]);
    cudaMemcpyFromSymbol(c, inside, bytes);
    printf(" %d", wrong(c));
    begin(a, b, c);
    for (int i = 0; i < n; i++)
        a[i] += 2;
    cudaMemcpy(c, a, bytes, cudaMemcpyHostToHost);
    printf(" %d\n", wrong(c));
    for (int i = 0; i < 3; i++)
        cudaFree(d[i]);
}

// A copy waits for a stream that waits for the default stream, and a kernel of that stream for an earlier copy.
static void check_stream(float *a, float *b, float *c)
{
    float *d[3];
    cudaStream_t s;
    cudaStreamCreate(&s);
    for (int i = 0; i < 3; i++)
        cudaMalloc(&d[i], bytes);
    begin(a, b, c);
    slow<<<1, 128, 0, s>>>(d[0]);
    cudaMemcpy(d[1], b, bytes, cudaMemcpyHostToDevice);
    add<<<(n + 255) / 256, 256, 0, s>>>(d[0], d[1], d[2]);
    cudaMemcpy(c, d[2], bytes, cudaMemcpyDeviceToHost);
    printf("stream: %d\n", wrong(c));
    cudaStreamDestroy(s);
    for (int i = 0; i < 3; i++)
        cudaFree(d[i]);
}

// The host may read a fill of pinned or managed memory at once.
static int check_fill(float *c)
{
    int count = 0;
    clear(c);
    slow<<<1, 128>>>(c);
    cudaMemset(c, 0, bytes);
    for (int i = 0; i < n; i++)
        count += c[i] != 0;
    return count;
}

int main()
{
    float *x[5][3];
    for (int i = 0; i < 3; i++) {
        x[0][i] = (float *)malloc(bytes);
        cudaMallocHost(&x[1][i], bytes);
        cudaHostAlloc(&x[2][i], bytes, cudaHostAllocMapped);
        x[3][i] = (float *)malloc(bytes);
        cudaHostRegister(x[3][i], bytes, cudaHostRegisterDefault);
        cudaMallocManaged(&x[4][i], bytes);
    }
    check("pageable", x[0][0], x[0][1], x[0][2]);
    check("cudaMallocHost", x[1][0], x[1][1], x[1][2]);
    check("cudaHostAlloc", x[2][0], x[2][1], x[2][2]);
    check("cudaHostRegister", x[3][0], x[3][1], x[3][2]);
    check("cudaMallocManaged", x[4][0], x[4][1], x[4][2]);
    check_stream(x[1][0], x[1][1], x[1][2]);
    printf("fill: %d", check_fill(x[1][2]));
    printf(" %d\n", check_fill(x[4][2]));
    if (cudaGetLastError() != cudaSuccess)
        printf("an error\n");
    for (int i = 0; i < 3; i++) {
        free(x[0][i]);
        cudaFreeHost(x[1][i]);
        cudaFreeHost(x[2][i]);
        cudaHostUnregister(x[3][i]);
        free(x[3][i]);
        cudaFree(x[4][i]);
    }
    return 0;
}
