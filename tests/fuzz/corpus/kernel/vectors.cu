__device__ float3 operator*(float s, float3 v) { return make_float3(s * v.x, s * v.y, s * v.z); }
__device__ float4 &operator+=(float4 &a, const float4 &b) { a.x += b.x; a.y += b.y; return a; }
__global__ void made(float4 *f, int2 *i, uchar4 *c, double2 *d, longlong2 *l)
{
    f[0] = make_float4(1, i[0].x, 3, f[1].w);
    i[1] = make_int2(c[0].x, 2);
    c[1] = make_uchar4(1, 2, 3, 300);
    d[0] = make_double2(f[0].x, 1);
    l[0].y = d[0].x;
    f[2].z += 2;
}
__global__ void cast(float *x, int n)
{
    float4 v = reinterpret_cast<float4 *>(x)[n];
    v = *(const float4 *)(x + 4);
    reinterpret_cast<float2 &>(x[8]) = make_float2(v.x, v.y);
    float3 w = 2.0f * make_float3(1, 2, 3);
    x[0] = w.z;
}
__global__ void operated(float4 *x) { x[0] += x[1]; x[2] = x[3]; }
