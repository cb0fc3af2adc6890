// Options by Black and Scholes: floats with polynomials, erf and exp, against the host's doubles; __restrict__, SFU functions.
/* expect:
4000 options
call and put within 1e-4 of the host: yes
put-call parity: yes
fast functions within 1e-3: yes
*/
#include <cmath>
#include <cstdio>
#include <vector>

__device__ inline float cndGPU(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
    const float RSQRT2PI = 0.39894228040143267793994605993438f;
    float K = __fdividef(1.0f, (1.0f + 0.2316419f * fabsf(d)));
    float cnd = RSQRT2PI * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    if (d > 0)
        cnd = 1.0f - cnd;
    return cnd;
}

template <bool fast>
__launch_bounds__(128) __global__ void price(float2 *__restrict results, const float3 *__restrict options, float R, float V, int n)
{
    const int opt = blockDim.x * blockIdx.x + threadIdx.x;
    if (opt >= n)
        return;
    const float S = options[opt].x, X = options[opt].y, T = options[opt].z;
    float sqrtT = sqrtf(T), cnd1, cnd2, expRT;
    float d1 = (logf(S / X) + (R + 0.5f * V * V) * T) / (V * sqrtT), d2 = d1 - V * sqrtT;
    if (fast) {
        cnd1 = cndGPU(d1), cnd2 = cndGPU(d2);
        expRT = __expf(-R * T);
    } else {
        cnd1 = normcdff(d1), cnd2 = 0.5f * erfcf(-d2 * 0.70710678f);
        expRT = expf(-R * T);
    }
    results[opt] = make_float2(S * cnd1 - X * expRT * cnd2, X * expRT * (1.0f - cnd2) - S * (1.0f - cnd1));
}

static double cnd(double d) { return 0.5 * erfc(-d / sqrt(2.0)); }

int main()
{
    const int n = 4000;
    const float R = 0.02f, V = 0.30f;
    std::vector<float3> h(n);
    std::vector<float2> got(n), fast(n);
    unsigned s = 5347;
    auto rand01 = [&s] { return (s = s * 1664525u + 1013904223u) / 4294967296.0f; };
    for (auto &o : h)
        o = make_float3(5 + 25 * rand01(), 1 + 99 * rand01(), 0.25f + 9.75f * rand01());
    float3 *options;
    float2 *results;
    cudaMalloc(&options, n * sizeof(float3));
    cudaMalloc(&results, n * sizeof(float2));
    cudaMemcpy(options, h.data(), n * sizeof(float3), cudaMemcpyHostToDevice);
    price<false><<<(n + 127) / 128, 128>>>(results, options, R, V, n);
    cudaMemcpy(got.data(), results, n * sizeof(float2), cudaMemcpyDeviceToHost);
    price<true><<<(n + 127) / 128, 128>>>(results, options, R, V, n);
    cudaMemcpy(fast.data(), results, n * sizeof(float2), cudaMemcpyDeviceToHost);
    bool close = true, parity = true, near = true;
    for (int i = 0; i < n; i++) {
        const double S = h[i].x, X = h[i].y, T = h[i].z, e = exp(-R * T);
        const double d1 = (log(S / X) + (R + 0.5 * V * V) * T) / (V * sqrt(T)), d2 = d1 - V * sqrt(T);
        const double call = S * cnd(d1) - X * e * cnd(d2), put = X * e * cnd(-d2) - S * cnd(-d1);
        close &= fabs(got[i].x - call) < 1e-4 && fabs(got[i].y - put) < 1e-4;
        near &= fabs(fast[i].x - call) < 1e-3 && fabs(fast[i].y - put) < 1e-3;
        parity &= fabs((double)got[i].x - got[i].y - (S - X * e)) < 1e-4;
    }
    printf("%d options\ncall and put within 1e-4 of the host: %s\n", n, close ? "yes" : "no");
    printf("put-call parity: %s\nfast functions within 1e-3: %s\n", parity ? "yes" : "no", near ? "yes" : "no");
    return !(close && parity && near);
}
