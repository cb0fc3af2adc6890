// Pointers to functions: tables in device, constant and shared memory, arguments of kernels that the host reads from
// a symbol, objects that hold them.
/* expect:
apply 1 2 3 32 no error
apply -2 -1 0 29 no error
all -4 -2 0 58 no error
constant -10 0 2 60 no error
smem -50 -5 7 55 no error
functor -42 3 15 63 no error
pointer -41 4 16 64 no error
reducer 4523 4523 4523 4523 no error
*/
#include <cstdio>
#include <vector>
typedef float (*func_t)(float, float);
__device__ float addf(float a, float b) { return a + b; }
__device__ float subf(float a, float b) { return a - b; }
__device__ float mulf(float a, float b) { return a * b; }
__device__ func_t p_add = addf, p_sub = subf;
__device__ func_t table[3] = {addf, subf, mulf};
__constant__ func_t ctable[] = {mulf, addf};
struct Ops {
    const char *name;
    func_t f;
    int k;
};
__device__ Ops ops[] = {{"add", addf, 1}, {"sub", &subf, 2}};
template <typename F> __global__ void apply_f(float *x, F f, float y)
{
    x[threadIdx.x] = f(x[threadIdx.x], y);
}
__global__ void apply(float *x, func_t f, float y) { x[threadIdx.x] = (*f)(x[threadIdx.x], y); }
__global__ void apply_all(float *x, func_t *fs, int n)
{
    for (int i = 0; i < n; i++)
        x[threadIdx.x] = fs[i](x[threadIdx.x], 2);
}
__global__ void constant(float *x)
{
    x[threadIdx.x] = ctable[threadIdx.x & 1](x[threadIdx.x], 3) +
                     ops[threadIdx.x % 2].f(1, ops[threadIdx.x % 2].k);
}
__global__ void smem(float *x)
{
    __shared__ func_t sf[3];
    if (threadIdx.x < 3)
        sf[threadIdx.x] = table[2 - threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = sf[threadIdx.x % 3](x[threadIdx.x], 5);
}
struct Functor {
    func_t f;
    float b;
    __device__ float operator()(float a, float y) const { return f(a, y) + b; }
};
template <class T> class Reducer
{
    T (*op)(T, T);
    T init;

  public:
    __host__ __device__ Reducer(T (*o)(T, T), T i) : op(o), init(i) {}
    __device__ T run(const T *x, int n) const
    {
        T r = init;
        for (int i = 0; i < n; i++)
            r = op(r, x[i]);
        return r;
    }
};
__global__ void red(float *x, Reducer<float> r)
{
    float v = r.run(x, 32);
    __syncthreads();
    x[threadIdx.x] = v;
}
void show(const char *n, float *x)
{
    cudaDeviceSynchronize();
    printf("%s %g %g %g %g %s\n", n, x[0], x[1], x[2], x[31],
           cudaGetErrorString(cudaGetLastError()));
}
int main()
{
    float *x;
    cudaMallocManaged(&x, 32 * 4);
    for (int i = 0; i < 32; i++)
        x[i] = i;
    func_t h, s;
    cudaMemcpyFromSymbol(&h, p_add, sizeof h);
    cudaMemcpyFromSymbol(&s, p_sub, sizeof(func_t));
    apply<<<1, 32>>>(x, h, 1);
    show("apply", x);
    apply<<<1, 32>>>(x, s, 3);
    show("apply", x);
    func_t all[3];
    cudaMemcpyFromSymbol(all, table, sizeof all);
    func_t *d;
    cudaMalloc(&d, sizeof all);
    cudaMemcpy(d, all, sizeof all, cudaMemcpyHostToDevice);
    apply_all<<<1, 32>>>(x, d, 3);
    show("all", x);
    constant<<<1, 32>>>(x);
    show("constant", x);
    smem<<<1, 32>>>(x);
    show("smem", x);
    apply_f<<<1, 32>>>(x, Functor{h, 7}, 1);
    show("functor", x);
    apply_f<<<1, 32>>>(x, h, 1);
    show("pointer", x);
    red<<<1, 32>>>(x, Reducer<float>(h, 0));
    show("reducer", x);
}
