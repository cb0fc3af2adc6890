template <typename T> struct Base {
    T v;
    __device__ T get(int i) const { return v + i; }
    template <typename U> __device__ U as(U u) const { return u + (U)v; }
};
template <typename T> struct Derived : Base<T> {
    using Base<T>::v;
    using Base<T>::get;
    using Base<T>::as;
    __device__ T get() const { return v; }
    __device__ T as() const { return v * 10; }
};
struct A { __device__ int f(int x) const { return x; } };
struct B { __device__ int f(float x) const { return 100; } };
struct C : A, B { using A::f; using B::f; };
struct D : C { using C::f; __device__ int f(const char *) const { return 5; } };
__global__ void k(float *out) {
    Derived<float> d;
    d.v = 4;
    out[0] = d.get();
    out[1] = d.get(3);
    out[2] = d.as(2);
    out[3] = d.as();
    C c;
    out[4] = c.f(1);
    out[5] = c.f(1.0f);
    D e;
    out[6] = e.f(2);
    out[7] = e.f(2.0f) + e.f("x");
}
