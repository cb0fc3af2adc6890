// N bodies: tiles of positions in shared memory, float4 with mass in w, a leapfrog of several steps.
/* expect:
256 bodies, 10 steps
energy drift below 1e-3: yes
momentum stays: yes
close to the host: yes
*/
#include <cmath>
#include <cstdio>
#include <vector>

#define EPS2 0.01f

__device__ float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai)
{
    float3 r;
    r.x = bj.x - bi.x;
    r.y = bj.y - bi.y;
    r.z = bj.z - bi.z;
    float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + EPS2;
    float invDist = rsqrtf(distSqr);
    float s = bj.w * invDist * invDist * invDist;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

__device__ float3 tile_calculation(float4 myPosition, float3 accel)
{
    extern __shared__ float4 shPosition[];
    for (int i = 0; i < blockDim.x; i++)
        accel = bodyBodyInteraction(myPosition, shPosition[i], accel);
    return accel;
}

__global__ void accelerations(const float4 *X, float4 *A, int N)
{
    extern __shared__ float4 shPosition[];
    float3 acc = {0.0f, 0.0f, 0.0f};
    int gtid = blockIdx.x * blockDim.x + threadIdx.x;
    float4 myPosition = X[gtid];
    for (int i = 0, tile = 0; i < N; i += blockDim.x, tile++) {
        int idx = tile * blockDim.x + threadIdx.x;
        shPosition[threadIdx.x] = X[idx];
        __syncthreads();
        acc = tile_calculation(myPosition, acc);
        __syncthreads();
    }
    A[gtid] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

__global__ void kick_drift(float4 *x, float4 *v, const float4 *a, float kick, float drift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 vi = v[i], xi = x[i];
    vi.x += a[i].x * kick, vi.y += a[i].y * kick, vi.z += a[i].z * kick;
    xi.x += vi.x * drift, xi.y += vi.y * drift, xi.z += vi.z * drift;
    v[i] = vi;
    x[i] = xi;
}

static double energy(const std::vector<float4> &x, const std::vector<float4> &v)
{
    double e = 0;
    for (size_t i = 0; i < x.size(); i++) {
        e += 0.5 * x[i].w * (v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z);
        for (size_t j = 0; j < i; j++) {
            double dx = x[i].x - x[j].x, dy = x[i].y - x[j].y, dz = x[i].z - x[j].z;
            e -= x[i].w * x[j].w / sqrt(dx * dx + dy * dy + dz * dz + EPS2);
        }
    }
    return e;
}

static void host_step(std::vector<float4> &x, std::vector<float4> &v, float dt, bool first)
{
    std::vector<float4> a(x.size());
    for (size_t i = 0; i < x.size(); i++) {
        double s[3] = {0, 0, 0};
        for (size_t j = 0; j < x.size(); j++) {
            double d[3] = {x[j].x - x[i].x, x[j].y - x[i].y, x[j].z - x[i].z};
            double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + EPS2, w = x[j].w / (r2 * sqrt(r2));
            for (int k = 0; k < 3; k++)
                s[k] += d[k] * w;
        }
        a[i] = make_float4(s[0], s[1], s[2], 0);
    }
    for (size_t i = 0; i < x.size(); i++) {
        float kick = first ? dt / 2 : dt;
        v[i].x += a[i].x * kick, v[i].y += a[i].y * kick, v[i].z += a[i].z * kick;
        x[i].x += v[i].x * dt, x[i].y += v[i].y * dt, x[i].z += v[i].z * dt;
    }
}

int main()
{
    const int n = 256, threads = 64, steps = 10;
    const float dt = 0.001f;
    std::vector<float4> x(n), v(n);
    unsigned s = 7;
    auto uniform = [&s] { return (s = s * 1664525u + 1013904223u) / 4294967296.0f * 2 - 1; };
    for (int i = 0; i < n; i++) {
        x[i] = make_float4(uniform(), uniform(), uniform(), 1.0f / n);
        v[i] = make_float4(0.1f * uniform(), 0.1f * uniform(), 0.1f * uniform(), 0);
    }
    auto hx = x, hv = v;
    const double e0 = energy(x, v);
    double p0[3] = {0, 0, 0}, p1[3] = {0, 0, 0};
    for (auto &w : v)
        p0[0] += w.x, p0[1] += w.y, p0[2] += w.z;
    float4 *dx, *dv, *da;
    cudaMalloc(&dx, n * sizeof(float4));
    cudaMalloc(&dv, n * sizeof(float4));
    cudaMalloc(&da, n * sizeof(float4));
    cudaMemcpy(dx, x.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
    for (int step = 0; step < steps; step++) {
        accelerations<<<n / threads, threads, threads * sizeof(float4)>>>(dx, da, n);
        kick_drift<<<n / threads, threads>>>(dx, dv, da, step ? dt : dt / 2, dt);
        host_step(hx, hv, dt, step == 0);
    }
    accelerations<<<n / threads, threads, threads * sizeof(float4)>>>(dx, da, n);
    kick_drift<<<n / threads, threads>>>(dx, dv, da, dt / 2, 0.0f);
    cudaMemcpy(x.data(), dx, n * sizeof(float4), cudaMemcpyDeviceToHost);
    cudaMemcpy(v.data(), dv, n * sizeof(float4), cudaMemcpyDeviceToHost);
    for (auto &w : v)
        p1[0] += w.x, p1[1] += w.y, p1[2] += w.z;
    bool close = true, momentum = true;
    for (int i = 0; i < n; i++)
        close &= fabs(x[i].x - hx[i].x) + fabs(x[i].y - hx[i].y) + fabs(x[i].z - hx[i].z) < 1e-5;
    for (int k = 0; k < 3; k++)
        momentum &= fabs(p1[k] - p0[k]) < 1e-4;
    printf("%d bodies, %d steps\n", n, steps);
    printf("energy drift below 1e-3: %s\n", fabs(energy(x, v) / e0 - 1) < 1e-3 ? "yes" : "no");
    printf("momentum stays: %s\n", momentum ? "yes" : "no");
    printf("close to the host: %s\n", close ? "yes" : "no");
}
