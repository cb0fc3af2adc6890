struct inner { char c; double d; };
struct outer {
    inner in[2];
    union { int i; float f; };
    float3 v;
    float4 w;
    const float *data;
    static constexpr int many = 4;
    enum kind { small, large };
};
__device__ outer make(float x) { outer o = {}; o.v = {x, 2, 3}; return o; }
__global__ void members(outer *o, outer by_value, int n)
{
    o->in[1].d = by_value.v.x;
    o[n].f = (*o).i + outer::many + outer::large;
    o[1] = by_value;
    by_value = make(3);
    o->v.z = make(2).w.x;
    o->data[3];
}
struct point { float x, y; int tags[2]; };
__global__ void braces(point *p)
{
    point a = {1, 2, {3, 4}}, b = {5, 6, 7, 8}, c{.y = 2}, d = a;
    p[0] = a; p[1] = b; p[2] = c; p[3] = d;
    p[4] = point{1, 2};
    p[5] = {3, 4};
    point many[2] = {{1}, {2, 3}};
    p[6] = many[1];
}
__global__ void sizes(unsigned long *n)
{
    n[0] = sizeof(outer); n[1] = sizeof(inner); n[2] = sizeof(float3); n[3] = alignof(float4);
    n[4] = sizeof(short3); n[5] = sizeof(point); n[6] = alignof(double2);
}
