/* expect:
12 4 8, sum 7
16, sum 12
2 8 8, sums 3 9
*/
/* Two empty bases of one type never share an address, which moves what holds the second one. */
#include <cstddef>
#include <cstdio>

struct base {
};
struct first : base {
    int a;
};
struct second : base {
    first x;
    int b;
};
struct both : first, second {
};
struct two : base {
    base m;
};
struct member : base {
    base m;
    int k;
};
struct many {
    base m[3];
    int k;
};

__global__ void sum_second(const second *x, int *out) { *out = x->x.a + x->b; }
__global__ void sum_both(both x, int *out) { *out = x.a + x.x.a + x.b; }
__global__ void size_two(two x, int *out) { *out = (int)sizeof(x) + 1; }
__global__ void sum_members(const member *x, many y, int *out) { *out = x->k + y.k; }

int main()
{
    int *out, sums[2];
    second *s;
    member *m;
    cudaMallocManaged(&out, sizeof *out);
    cudaMallocManaged(&s, sizeof *s);
    cudaMallocManaged(&m, sizeof *m);
    s->x.a = 3;
    s->b = 4;
    sum_second<<<1, 1>>>(s, out);
    cudaDeviceSynchronize();
    printf("%zu %zu %zu, sum %d\n", sizeof(second), offsetof(second, x), offsetof(second, b), *out);
    both t;
    t.a = 5;
    t.x.a = 3;
    t.b = 4;
    sum_both<<<1, 1>>>(t, out);
    cudaDeviceSynchronize();
    printf("%zu, sum %d\n", sizeof(both), *out);
    size_two<<<1, 1>>>(two(), out);
    cudaDeviceSynchronize();
    sums[0] = *out;
    m->k = 4;
    many y;
    y.k = 5;
    sum_members<<<1, 1>>>(m, y, out);
    cudaDeviceSynchronize();
    sums[1] = *out;
    printf("%zu %zu %zu, sums %d %d\n", sizeof(two), sizeof(member), sizeof(many), sums[0], sums[1]);
}
