struct Counter {
    int n;
    __device__ Counter(int a) : n(a) {}
    __device__ Counter(int a, int b) : n(a * b) {}
    __device__ int operator()(int x) { return n += x; }
    __device__ void add(int x) { n += x; }
};
struct Loud : Counter {
    using Counter::Counter;
    using Counter::operator();
    using Counter::add;
    __device__ int operator()(int x, int y) { return (*this)(x) * y; }
    __device__ void add(float x) { add((int)(x * 2)); }
};
__global__ void k(float *out) {
    Loud l(3), m(2, 5);
    out[0] = l(1);
    out[1] = l(1, 10);
    l.add(2.5f);
    out[2] = l.n;
    l.add(2);
    out[3] = l.n; out[4] = m.n;
}
