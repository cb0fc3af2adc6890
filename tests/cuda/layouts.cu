/* opencl: IG-LAYOUT
expect:
tail padding: 8 8 12, sums 10 13 10
members: 5 8
private: 16 14, sum 6
*/
/* Structs whose members lie in the tail padding of a base have one layout on the host and in kernels. */
#include <cstdio>
#include <cstring>

struct counted {
    int n;
    char c;
    __host__ __device__ counted(int n_ = 1, char c_ = 2) : n(n_), c(c_) {}
};
struct derived : counted {
    char d;
};
struct plain {
    int n;
    char c;
};
struct with_value : plain {
    char d = 3;
};
struct plain_derived : plain {
    char d;
};
class hidden {
    int wide;
    char narrow;

  public:
    __host__ __device__ void set(int v) { wide = v, narrow = (char)v; }
    __host__ __device__ int sum() const { return wide + narrow; }
};
struct deep : hidden, derived {
    char e;
};

__global__ void sum_derived(const derived *x, int *out) { *out = x->n + x->c + x->d; }
__global__ void sum_value(with_value x, int *out) { *out = x.n + x.c + x.d; }
__global__ void sum_plain(const plain_derived *x, int *out) { *out = x->n + x->c + x->d; }
__global__ void sum_deep(const deep *x, int *out) { *out = x->sum() + x->n + x->d + x->e; }

template <typename T> T *managed()
{
    void *p;
    cudaMallocManaged(&p, sizeof(T));
    memset(p, 0, sizeof(T));
    return (T *)p;
}

int main()
{
    int *out = managed<int>();
    derived *a = managed<derived>();
    a->n = 5, a->c = 2, a->d = 3;
    sum_derived<<<1, 1>>>(a, out);
    cudaDeviceSynchronize();
    const int first = *out;
    with_value b;
    b.n = 7, b.c = 3;
    sum_value<<<1, 1>>>(b, out);
    cudaDeviceSynchronize();
    const int second = *out;
    plain_derived *c = managed<plain_derived>();
    c->n = 5, c->c = 2, c->d = 3;
    sum_plain<<<1, 1>>>(c, out);
    cudaDeviceSynchronize();
    printf("tail padding: %zu %zu %zu, sums %d %d %d\n", sizeof(derived), sizeof(counted),
           sizeof(plain_derived), first, second, *out);
    printf("members: %d %d\n", (int)((char *)&a->d - (char *)a), (int)((char *)&c->d - (char *)c));
    deep *d = managed<deep>();
    d->set(1), d->n = 1, d->d = 1, d->e = 2;
    sum_deep<<<1, 1>>>(d, out);
    cudaDeviceSynchronize();
    printf("private: %zu %d, sum %d\n", sizeof(deep), (int)((char *)&d->e - (char *)d), *out);
}
