// Structs as parameters and in memory, with methods and operators for both sides.
/* expect:
host 3 4 device 6 8
body 0: 1.5 2.5 3.5 mass 2
many 496
union 1065353216
*/
#include <cstdio>

struct Vec {
    float x, y;
    __host__ __device__ Vec(float a, float b) : x(a), y(b) {}
    __host__ __device__ Vec operator+(const Vec &o) const { return Vec(x + o.x, y + o.y); }
};
struct Body {
    float3 at;
    float mass;
    __device__ void move(float3 by)
    {
        at.x += by.x;
        at.y += by.y;
        at.z += by.z;
    }
};
struct Many {
    int v[100];
};
union Bits {
    float f;
    int i;
};

__global__ void sum(Vec a, Vec b, float *out)
{
    Vec c = a + b;
    out[0] = c.x;
    out[1] = c.y;
}
__global__ void step(Body *b, float3 by)
{
    b[threadIdx.x].move(by);
}
__global__ void many(Many m, Bits b, int *out)
{
    int s = 0;
    for (int i = 0; i < 32; i++)
        s += m.v[i];
    out[0] = s;
    out[1] = b.i;
}

int main()
{
    Vec h = Vec(1, 2) + Vec(2, 2);
    float *d, r[2];
    cudaMalloc(&d, sizeof r);
    sum<<<1, 1>>>(h, h, d);
    cudaMemcpy(r, d, sizeof r, cudaMemcpyDeviceToHost);
    printf("host %g %g device %g %g\n", h.x, h.y, r[0], r[1]);
    Body b[2] = {{make_float3(1, 2, 3), 2}, {make_float3(0, 0, 0), 1}}, *db;
    cudaMalloc(&db, sizeof b);
    cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    step<<<1, 2>>>(db, make_float3(0.5f, 0.5f, 0.5f));
    cudaMemcpy(b, db, sizeof b, cudaMemcpyDeviceToHost);
    printf("body 0: %g %g %g mass %g\n", b[0].at.x, b[0].at.y, b[0].at.z, b[0].mass);
    Many m;
    Bits bits;
    int *out, got[2];
    for (int i = 0; i < 100; i++)
        m.v[i] = i;
    bits.f = 1;
    cudaMalloc(&out, sizeof got);
    many<<<1, 1>>>(m, bits, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    printf("many %d\nunion %d\n", got[0], got[1]);
}
