// Attention with an online softmax: one warp for each query, causal mask, two passes against one.
/* opencl: IG-WARP
expect:
online and plain agree: yes
and with the host: yes
the first query takes the first value: yes
*/
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int D = 32;

__device__ __forceinline__ float warpReduceSum(float val)
{
    for (int offset = 16; offset > 0; offset /= 2)
        val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
    return val;
}

// q, k, v and out are (heads, t, D); a warp has a query, a lane one of its D elements.
__global__ void attention_online(const float *q, const float *k, const float *v, float *out, int t, float scale)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    const int head = blockIdx.y;
    if (warp >= t)
        return;
    const size_t base = (size_t)head * t * D;
    const float mine = q[base + warp * D + lane] * scale;
    float m = -FLT_MAX, l = 0.0f, acc = 0.0f;
    for (int j = 0; j <= warp; ++j) {
        const float s = warpReduceSum(mine * k[base + j * D + lane]);
        const float m_new = fmaxf(m, s), correction = expf(m - m_new), p = expf(s - m_new);
        l = l * correction + p;
        acc = acc * correction + p * v[base + j * D + lane];
        m = m_new;
    }
    out[base + warp * D + lane] = acc / l;
}

// One block for each query: scores in dynamic shared memory.
__global__ void attention_plain(const float *q, const float *k, const float *v, float *out, int t, float scale)
{
    extern __shared__ float scores[];
    __shared__ float sum;
    const int i = blockIdx.x;
    const size_t base = (size_t)blockIdx.y * t * D;
    for (int j = threadIdx.x; j <= i; j += blockDim.x) {
        float s = 0;
        for (int d = 0; d < D; d++)
            s += q[base + i * D + d] * k[base + j * D + d];
        scores[j] = s * scale;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float m = scores[0];
        for (int j = 1; j <= i; j++)
            m = max(m, scores[j]);
        sum = 0;
        for (int j = 0; j <= i; j++)
            sum += scores[j] = exp(scores[j] - m);
    }
    __syncthreads();
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float o = 0;
        for (int j = 0; j <= i; j++)
            o += scores[j] * v[base + j * D + d];
        out[base + i * D + d] = o / sum;
    }
}

int main()
{
    const int heads = 2, t = 37, n = heads * t * D;
    std::vector<float> h(3 * n), a(n), b(n);
    for (int i = 0; i < 3 * n; i++)
        h[i] = sinf(i * 0.37f) * 2;
    float *d, *o;
    cudaMalloc(&d, h.size() * sizeof(float));
    cudaMalloc(&o, n * sizeof(float));
    cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
    const float scale = 1.0f / sqrtf(D);
    attention_online<<<dim3((t * 32 + 127) / 128, heads), 128>>>(d, d + n, d + 2 * n, o, t, scale);
    cudaMemcpy(a.data(), o, n * sizeof(float), cudaMemcpyDeviceToHost);
    attention_plain<<<dim3(t, heads), 64, t * sizeof(float)>>>(d, d + n, d + 2 * n, o, t, scale);
    cudaMemcpy(b.data(), o, n * sizeof(float), cudaMemcpyDeviceToHost);
    double worst = 0, host = 0;
    for (int z = 0; z < heads; z++)
        for (int i = 0; i < t; i++) {
            std::vector<double> w(i + 1);
            double sum = 0;
            const float *q = &h[(z * t + i) * D];
            for (int j = 0; j <= i; j++) {
                double s = 0;
                for (int x = 0; x < D; x++)
                    s += (double)q[x] * h[n + (z * t + j) * D + x];
                sum += w[j] = exp(s * scale);
            }
            for (int x = 0; x < D; x++) {
                double e = 0;
                for (int j = 0; j <= i; j++)
                    e += w[j] / sum * h[2 * n + (z * t + j) * D + x];
                host = fmax(host, fabs(e - a[(z * t + i) * D + x]));
            }
        }
    for (int i = 0; i < n; i++)
        worst = fmax(worst, fabs(a[i] - b[i]));
    printf("online and plain agree: %s\n", worst < 1e-5 ? "yes" : "no");
    printf("and with the host: %s\n", host < 1e-5 ? "yes" : "no");
    printf("the first query takes the first value: %s\n", a[5] == h[2 * n + 5] ? "yes" : "no");
    cudaFree(d);
    cudaFree(o);
}
