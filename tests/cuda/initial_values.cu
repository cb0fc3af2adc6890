// The initial values of __device__ and __constant__ variables: constants of all kinds, default values of members,
// constexpr constructors, and pointers to other variables, strings and functions' tables.
/* opencl: IG-PTRMEM
expect:
3 4 5 6
5 2.5 5 2.5
14 7 21
pi 3.14159 e 2.71828
red green blue
7 40 9 41
1 -> 2 -> 3 -> 1
six 6
matrix 1 4 9 16
host 5 2.5 3
*/
#include <cstdio>

constexpr int w[4] = {1, 2, 3, 4};
struct P {
    int a, b;
};
constexpr P cp = {4, 5};
constexpr P table[2] = {{1, 2}, {3, 6}};
__device__ int q = w[2];
__device__ P dp = cp;
__constant__ int last = table[1].b;

struct Values {
    int n = 5;
    float g = 2.5f;
};
__device__ Values dv;
__constant__ Values cv[3];

struct Point {
    int x, y;
    constexpr Point() : x(0), y(0) {}
    constexpr __host__ __device__ Point(int a, int b) : x(a * 2), y(b) {}
    constexpr __host__ __device__ int sum() const { return x + y; }
};
constexpr Point origin(7, 7);
__device__ Point point = origin;
__constant__ int sum = Point(7, 7).sum();

struct Named {
    char name[8];
    double value;
};
__constant__ Named numbers[] = {{"pi", 3.14159}, {"e", 2.71828}};
__constant__ const char *names[] = {"red", "green", "blue"};

__device__ int numbers_of[4] = {7, 8, 9, 10};
__device__ int *first = numbers_of, *third = &numbers_of[2];
__device__ P pair = {40, 41};
__device__ int *inside = &pair.b;
__device__ P *whole = &pair;

struct Node {
    int v;
    Node *next;
};
__device__ Node two = {2, nullptr};
__device__ Node one = {1, &two};
__device__ Node three = {3, &one};

template <int N> struct Squares {
    int v[N];
    constexpr Squares() : v()
    {
        for (int i = 0; i < N; i++)
            v[i] = (i + 1) * (i + 1);
    }
};
__constant__ Squares<4> squares;

__global__ void show()
{
    printf("%d %d %d %d\n", q, dp.a, dp.b, last);
    printf("%d %g %d %g\n", dv.n, dv.g, cv[2].n, cv[2].g);
    printf("%d %d %d\n", point.x, point.y, sum);
    printf("%s %g %s %g\n", numbers[0].name, numbers[0].value, numbers[1].name, numbers[1].value);
    printf("%s %s %s\n", names[0], names[1], names[2]);
    printf("%d %d %d %d\n", *first, whole->a, *third, *inside);
    two.next = &three;
    printf("%d -> %d -> %d -> %d\n", one.v, one.next->v, one.next->next->v,
           one.next->next->next->v);
}
__global__ void show_rest()
{
    printf("six %d\n", (int)sizeof("hello"));
    printf("matrix %d %d %d %d\n", squares.v[0], squares.v[1], squares.v[2], squares.v[3]);
}

int main()
{
    show<<<1, 1>>>();
    cudaDeviceSynchronize();
    show_rest<<<1, 1>>>();
    cudaDeviceSynchronize();
    Values v;
    int n;
    cudaMemcpyFromSymbol(&v, dv, sizeof v);
    cudaMemcpyFromSymbol(&n, q, sizeof n);
    printf("host %d %g %d\n", v.n, v.g, n);
}
