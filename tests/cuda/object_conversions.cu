// Objects as operands and arguments: conversions, operators, lambdas and templates. Each case runs
// on the device and, compiled by the host's compiler, on the host; what they record is the same.
/* expect:
8 cases, 0 differ
*/
#include "cases.h"

namespace converting
{
struct C {
    int v;
    HD C(int a) : v(a * 2) {}
};
HD int f(C c) { return c.v; }
HD void test(Out &o)
{
    C c = 2;
    o.put(c.v);
    o.put(f(5));
    c = 7;
    o.put(c.v);
}
} // namespace converting

namespace operators
{
struct C {
    int v;
    HD operator int() const { return v; }
    HD explicit operator bool() const { return v > 3; }
};
HD void test(Out &o)
{
    C c{5};
    int x = c;
    o.put(x + c);
    if (c)
        o.put(1);
    o.put(c ? 7 : 8);
}
} // namespace operators

namespace numbers
{
struct H {
    float f;
    HD H(float f) : f(f) {}
    HD operator float() const { return f; }
};
HD H mul(H a, H b) { return float(a) * float(b); }
HD void test(Out &o)
{
    H h(2.5f);
    float s = h + 1.0f;
    o.put((int)(s * 10));
    s += h;
    o.put((int)(s * 10));
    o.put((int)mul(h, 2.0f));
    o.put(h > 2.0f);
    float q = -h;
    o.put((int)q);
    int i = (int)h;
    o.put(i);
    o.put((int)(float)(h * h));
    double dd = h;
    o.put((int)dd);
    o.put(h ? 1 : 2);
    int arr[4] = {1, 2, 3, 4};
    struct I {
        int k;
        HD operator int() const { return k; }
    } ix{2};
    o.put(arr[ix]);
    switch (ix) {
    case 2: o.put(55);
    }
}
} // namespace numbers

namespace mixed_operands
{
struct V {
    float x;
    HD V(float x) : x(x) {}
};
HD V operator+(V a, V b) { return V(a.x + b.x); }
HD V operator*(float s, const V &v) { return V(s * v.x); }
HD bool operator==(const V &a, const V &b) { return a.x == b.x; }
enum K { K0, K1 };
HD void test(Out &o)
{
    V a(1);
    o.put((int)(a + 2.f).x);
    o.put((int)(3.f + a).x);
    o.put((int)(2 * a).x);
    o.put(a == 1.f);
    o.put(K1 + 2);
    V v = 3;
    v = 4.f;
    o.put((int)v.x);
}
} // namespace mixed_operands

namespace overloads
{
struct S {
    int v;
    HD S(int v) : v(v) {}
};
HD int f(S) { return 1; }
HD int f(double) { return 2; }
HD int g(const S &s, int k = 3) { return s.v + k; }
HD S mk(int k) { return k + 1; }
HD void test(Out &o)
{
    o.put(f(1));
    o.put(f(S(1)));
    o.put(g(4));
    o.put(mk(6).v);
    S arr[3] = {1, 2, 3};
    o.put(arr[2].v);
    S z = {8};
    o.put(z.v);
    struct P {
        S a, b;
    } p = {1, 2};
    o.put(p.a.v + p.b.v);
}
} // namespace overloads

namespace chosen
{
struct C {
    int v;
    HD C(int v) : v(v) {}
    HD C(const C &c) : v(c.v + 1) {}
};
HD void test(Out &o)
{
    C a(1), b(10);
    bool k = a.v > 0;
    C c = k ? a : b;
    o.put(c.v);
    C d = k ? C(5) : b;
    o.put(d.v);
    C e = (o.put(7), b);
    o.put(e.v);
}
} // namespace chosen

namespace captured
{
struct C {
    int v;
    HD C(int v) : v(v) {}
    HD C(const C &c) : v(c.v + 1) {}
};
HD void test(Out &o)
{
    C c(1);
    auto f = [c](int k) { return c.v + k; };
    o.put(f(10));
    auto g = f;
    o.put(g(10));
    auto h = [&c] { return c.v; };
    o.put(h());
}
} // namespace captured

namespace templates
{
template <typename T> struct Arr {
    T d[4];
    int n;
    HD Arr() : n(0) {}
    HD Arr(const Arr &o) : n(o.n)
    {
        for (int i = 0; i < n; i++)
            d[i] = o.d[i];
    }
    HD ~Arr() { n = -1; }
    HD void push(const T &t) { d[n++] = t; }
    HD T &operator[](int i) { return d[i]; }
    template <typename U> HD Arr &operator=(const Arr<U> &o)
    {
        n = o.n;
        for (int i = 0; i < n; i++)
            d[i] = (T)o.d[i];
        return *this;
    }
};
template <typename T> HD T total(Arr<T> a)
{
    T s = 0;
    for (int i = 0; i < a.n; i++)
        s += a[i];
    return s;
}
HD void test(Out &o)
{
    Arr<int> a;
    a.push(3);
    a.push(4);
    o.put(total(a));
    Arr<int> b = a;
    b[0] = 9;
    o.put(total(b));
    o.put(total(a));
    a = b;
    o.put(total(a));
    Arr<float> f;
    f = b;
    o.put((int)total(f));
}
} // namespace templates

#define CASES(X) \
    X(converting) \
    X(operators) X(numbers) X(mixed_operands) X(overloads) X(chosen) X(captured) X(templates)

#include "run_cases.h"

int main() { return run_cases(); }
