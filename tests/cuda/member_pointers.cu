// Pointers to members of a struct and of its base: in variables, arrays, templates and shared memory.
/* expect:
2.5 5 4 1.5 12.5 0 7.5 21
1.5 3 4 11.5 12.5 1 7.5 31
*/
#include <cstdio>
struct base { short s; float w; };
struct particle : base { float x, y; int n; float v[3]; };
template <class T, class F> __device__ F pick(const T *p, F T::*m) { return p->*m; }
template <class T, class F> __device__ void bump(T &p, F T::*m, F by) { p.*m += by; }
__global__ void k(particle *p, float *out, int which)
{
    float particle::*m = which ? &particle::x : &particle::y;
    __shared__ particle s[2];
    out[0] = p->*m;
    out[1] = (*p).*m * 2;
    out[2] = pick(p, &particle::n);
    bump(*p, m, 10.0f);
    out[3] = p->x;
    out[4] = p->y;
    out[5] = m == &particle::x;
    s[0] = *p;
    bump(s[0], &particle::w, 0.5f);
    out[6] = s[0].*&particle::w;
    float particle::*all[] = {&particle::x, &particle::y, &particle::w};
    float sum = 0;
    for (auto a : all)
        sum += p->*a;
    out[7] = sum;
}
int main()
{
    particle *p;
    float *o;
    cudaMallocManaged(&p, sizeof *p);
    cudaMallocManaged(&o, 80);
    *p = {{3, 7.0f}, 1.5f, 2.5f, 4};
    for (int w = 0; w < 2; w++) {
        k<<<1, 1>>>(p, o, w);
        printf("%s", cudaDeviceSynchronize() ? "error" : "");
        for (int i = 0; i < 8; i++)
            printf("%g%s", o[i], i == 7 ? "\n" : " ");
    }
    cudaFree(p);
    cudaFree(o);
}
