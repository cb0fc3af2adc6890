// Control flow, types and memory that every language has to say. Written for tests/test_translate.py.
#include <cuda_fp16.h>

struct pair { float first; int second; };
struct __align__(16) cell { float3 at; unsigned char kind; bool open; short steps[3]; pair pairs[2]; };
union bits { float number; unsigned word; };
enum color { RED, GREEN = 5, BLUE };

__constant__ float weights[4] = {0.25f, 0.5f, 1.0f, -2.0f};
__device__ int counter = 3;
__device__ __half portion = 0.375f;
__device__ cell board[2];
static const int primes[] = {2, 3, 5, 7};

__device__ float dot(const float *a, const float *b, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

__device__ void swap(float &a, float &b)
{
    float kernel = a;
    a = b;
    b = kernel;
}

__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }

__device__ int *slot(int *base, int i) { return base + 2 * i; }

__global__ void control(const float *x, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, found = -1;
    if (i >= n)
        return;
    for (int k = 0, step = 1; k < n; k += step) {
        if (x[k] < 0)
            continue;
        else if (x[k] > 100)
            break;
        found = k;
    }
    switch (found & 7) {
    case RED: out[i] = 1; break;
    case GREEN: {
        int twice = 2 * found;
        out[i] = twice;
    }
    case BLUE: out[i]++; break;
    default: out[i] = primes[found & 3];
    }
    do {
        found >>= 1;
    } while (found > 0 && out[i] != found);
    *slot(out, i) = found ? found : ~i;
}

__global__ void memory(cell *cells, pair p, float4 *v, size_t n, bool flag)
{
    __shared__ cell near[4];
    __shared__ float rows[3][8];
    __shared__ int count;
    __shared__ __align__(16) char local[3];
    const int t = threadIdx.x;
    if (t == 0)
        count = local[2] = 0;
    __syncthreads();
    cell c = cells[t];
    c.at = c.at + make_float3(1, 2, p.first);
    c.open = flag || c.open;
    c.steps[t % 3] -= p.second;
    near[t & 3] = c;
    rows[t % 3][t & 7] = dot(&v[t].x, weights, 4);
    atomicAdd(&count, 1);
    __syncthreads();
    float4 w = v[t];
    swap(w.x, w.w);
    float *lanes = &w.y;
    lanes[1] = rows[1][2] + dot(weights, rows[0], 4);
    v[t] = w;
    bits b = {w.x};
    unsigned long long big = (unsigned long long)b.word << 32 | n;
    cells[t] = near[(t + 1) & 3];
    cells[t].kind = (unsigned char)(big >> 40);
    board[t & 1].pairs[1] = {w.z, atomicAdd(&counter, count)};
}

template <typename T, int N> __global__ void smooth(const T *__restrict__ in, T *__restrict__ out, int n)
{
    extern __shared__ unsigned char raw[];
    T *tile = reinterpret_cast<T *>(raw);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    T sum = 0;
#pragma unroll
    for (int k = -N; k <= N; k++) {
        int j = (int)threadIdx.x + k;
        if (j >= 0 && j < (int)blockDim.x && i + k < n)
            sum += tile[j];
    }
    out[i] = sum / T(2 * N + 1);
}

__device__ float block_max(float x)
{
    __shared__ float all[256];
    int t = threadIdx.x;
    all[t] = x;
    __syncthreads();
    for (int w = blockDim.x >> 1; w; w >>= 1) {
        if (t < w)
            all[t] = fmaxf(all[t], all[t + w]);
        __syncthreads();
    }
    float r = all[0];
    __syncthreads();
    return r;
}

__global__ void softmax(float *x, int rows, int n)
{
    int row = blockIdx.x;
    if (row >= rows || (int)threadIdx.x >= n)
        return;
    float *mine = x + (size_t)row * n;
    float most = block_max(mine[threadIdx.x]);
    mine[threadIdx.x] = __expf(mine[threadIdx.x] - most);
    if (__syncthreads_or(mine[threadIdx.x] > 1.0f))
        mine[0] = -1;
}

__global__ void messages(int n)
{
    int i = threadIdx.x + blockIdx.y * 3;
    portion = __float2half(2.0f) * portion;
    printf("thread %d of %d: %g %s\n", i, n, 0.5f * i, "words");
    assert(i < n);
}
