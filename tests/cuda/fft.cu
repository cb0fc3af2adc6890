// A radix-2 FFT of 256 points in shared memory: float2 as complex numbers, bit reversal by __brev, sincospif.
/* expect:
peaks: 5 (128, 0) 40 (0, -64) 216 (0, 64) 251 (128, 0)
as a plain sum: yes
back again: yes
*/
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

typedef float2 Complex;
static __device__ __host__ inline Complex operator+(Complex a, Complex b) { return make_float2(a.x + b.x, a.y + b.y); }
static __device__ __host__ inline Complex operator-(Complex a, Complex b) { return make_float2(a.x - b.x, a.y - b.y); }
static __device__ __host__ inline Complex operator*(Complex a, Complex b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static __device__ __host__ inline Complex &operator*=(Complex &a, float s)
{
    a.x *= s;
    a.y *= s;
    return a;
}

template <int LOG, bool INVERSE> __global__ void fft(Complex *data)
{
    constexpr int N = 1 << LOG;
    __shared__ Complex s[N];
    Complex *mine = data + blockIdx.x * N;
    for (unsigned i = threadIdx.x; i < N; i += blockDim.x)
        s[__brev(i) >> (32 - LOG)] = mine[i];
    __syncthreads();
    for (int half = 1; half < N; half *= 2) {
        for (int i = threadIdx.x; i < N / 2; i += blockDim.x) {
            const int k = i % half, at = i / half * 2 * half + k;
            Complex w;
            sincospif((INVERSE ? 1.0f : -1.0f) * k / half, &w.y, &w.x);
            const Complex a = s[at], b = w * s[at + half];
            s[at] = a + b;
            s[at + half] = a - b;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        Complex v = s[i];
        if (INVERSE)
            v *= 1.0f / N;
        mine[i] = v;
    }
}

int main()
{
    const int n = 256, batch = 3;
    std::vector<Complex> h(n * batch), f(n * batch);
    for (int i = 0; i < n * batch; i++)
        h[i] = i < n ? make_float2(cosf(2 * M_PI * 5 * i / n) + 0.5f * sinf(2 * M_PI * 40 * i / n), 0) : make_float2((i * 37 % 19) - 9, i % 5);
    Complex *d;
    cudaMalloc(&d, h.size() * sizeof(Complex));
    cudaMemcpy(d, h.data(), h.size() * sizeof(Complex), cudaMemcpyHostToDevice);
    fft<8, false><<<batch, 64>>>(d);
    cudaMemcpy(f.data(), d, h.size() * sizeof(Complex), cudaMemcpyDeviceToHost);
    printf("peaks:");
    for (int k = 0; k < n; k++)
        if (hypotf(f[k].x, f[k].y) > 10)
            printf(" %d (%.0f, %.0f)", k, fabsf(f[k].x) < 0.1f ? 0.0 : f[k].x, fabsf(f[k].y) < 0.1f ? 0.0 : f[k].y);
    double worst = 0, back = 0;
    for (int b = 0; b < batch; b++)
        for (int k = 0; k < n; k += 7) {
            std::complex<double> sum = 0;
            for (int i = 0; i < n; i++)
                sum += std::complex<double>(h[b * n + i].x, h[b * n + i].y) * std::polar(1.0, -2 * M_PI * i * k / n);
            worst = fmax(worst, abs(sum - std::complex<double>(f[b * n + k].x, f[b * n + k].y)));
        }
    fft<8, true><<<batch, 64>>>(d);
    cudaMemcpy(f.data(), d, h.size() * sizeof(Complex), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < h.size(); i++)
        back = fmax(back, hypot(f[i].x - h[i].x, f[i].y - h[i].y));
    printf("\nas a plain sum: %s\nback again: %s\n", worst < 1e-3 ? "yes" : "no", back < 1e-5 ? "yes" : "no");
}
