// Initialization of objects by C++'s rules. Each case runs on the device and, compiled by the host's compiler, on
// the host; the values are the same.
/* expect:
66 cases, 0 differ
*/
#include <cstdio>
#include <cstring>

#define HD __host__ __device__

struct Out {
    float v[24];
    int n;
    HD void operator()(float x) { v[n++] = x; }
};

struct One {
    int v;
    HD One() : v(7) {}
    HD explicit One(int a) : v(a * 10) {}
};
struct Holds {
    One a;
    int x = 3;
};
struct Derived : One {
    int y = 4;
};
struct Deeper : Derived {
    One more[2];
    float f = 0.5f;
};
struct Values {
    int n = 5;
    float g = 2.5f;
    short s[3] = {1, 2};
};
struct Plain {
    int a, b;
};
struct Mixed {
    Plain p;
    Values v;
    Plain q = {8, 9};
};
struct Sibling {
    int n = 4;
    int m = n * 2;
    int k = twice();
    HD int twice() const { return n + m; }
};
struct Order {
    int a, b, c;
    HD Order(int x) : c(x), b(x + 1), a(b == x + 1 ? 1 : 2) { c += 100; }
};
struct Delegates {
    int a = 1, b = 2;
    HD Delegates() : Delegates(30) { b++; }
    HD Delegates(int x) : a(x) {}
};
struct Inherits : One {
    using One::One;
    int z = 12;
};
struct InheritsValue : One {
    using One::One;
    int z = v + 1;
};
struct Scaled {
    int v;
    constexpr HD Scaled(int a = 6) : v(a * 2) {}
};
struct ScaledPair {
    Scaled a, b;
    int c = 4;
};
struct ScaledMembers {
    Scaled s = 3, t[2] = {1, 2};
    ScaledPair p = {5};
    HD ScaledMembers() {}
    HD ScaledMembers(int x) : s{x}, t{x} {}
};
struct TwoBases : Holds, Values {
    One last{5};
};
struct ConstMembers {
    const int n;
    const float w[3];
    HD ConstMembers(int k) : n(k), w{1.5f, 2.5f, 3.5f} {}
};
struct ArrayMember {
    int a[4];
    One o[2];
    HD ArrayMember() : a{1, 2} {}
};
struct ArrayDefault {
    int a[3] = {4, 5, 6};
    int last;
    HD ArrayDefault(int x) : last(x) {}
};
struct EmptyBase {
    HD int id() const { return 77; }
};
struct OnEmpty : EmptyBase {
    int x;
    HD OnEmpty() : EmptyBase(), x(6) {}
};
template <typename T, int N> struct Vec {
    T v[N];
    HD Vec() { for (int i = 0; i < N; i++) v[i] = T(i + 1); }
    HD explicit Vec(T x) { for (T &e : v) e = x; }
    HD T sum() const { T s = 0; for (int i = 0; i < N; i++) s += v[i]; return s; }
};
template <typename T> struct Pair {
    T first{}, second = T(9);
};
struct Nested {
    struct Inner {
        int i = 21;
        One o;
    };
    Inner one, many[2];
};
union Either {
    int i = 0x3f800000;
    float f;
};
struct Anonymous {
    int tag = 2;
    union {
        int i;
        float f;
    };
    struct {
        int p, q;
    };
    HD Anonymous() : i(41), q(3) { p = 1; }
};
struct Defaulted {
    int a = 14;
    One o;
    Defaulted() = default;
    HD Defaulted(int x) : a(x) {}
};
class Counter {
  public:
    HD Counter() {}
    HD int next() { return ++count; }

  private:
    int count = 100;
};
enum class Colour { red = 3, green };
struct Enums {
    Colour c = Colour::green;
    bool yes = true;
    char letter = 'x';
    unsigned long long big = 1ull << 40;
};
struct Matrix {
    float m[2][3] = {{1, 2, 3}, {4}};
    One corner[2][2];
};
struct Wide {
    Vec<float, 3> at;
    Vec<float, 3> speed{2.0f};
};
struct Computed {
    static constexpr int size = 6;
    int n = size * 2 + int(sizeof(Plain));
};
struct Bits {
    unsigned char a = 0xf0, b = ~a & 0xff;
    float half = 1.0f / 2;
};
HD int twice(int x) { return 2 * x; }
struct Calls {
    int a = twice(8);
    int b = twice(a);
};
struct Explicit {
    int n;
    HD explicit Explicit(float d) : n(int(d * 4)) {}
    HD Explicit(int i) : n(i) {}
};
struct OptionalArg {
    int a, b;
    HD OptionalArg(int x = 6, int y = 8) : a(x), b(y) {}
};
struct HoldsOptional {
    OptionalArg o[3];
    OptionalArg p{1};
};

HD Holds make_holds() { return Holds{}; }
HD Values make_values(int n) { return {n}; }
HD int sum_values(Values v) { return v.n + int(v.g * 2) + v.s[1]; }

#define CASES(X) \
    X(One a; o(a.v)) \
    X(One a[3]; for (auto &e : a) o(e.v)) \
    X(One a[2][3]; for (auto &r : a) for (auto &e : r) o(e.v)) \
    X(One a = One(); One b{}; One c(2); One d{3}; o(a.v); o(b.v); o(c.v); o(d.v)) \
    X(One a[3] = {One(1), One(2)}; for (auto &e : a) o(e.v)) \
    X(Holds h; o(h.a.v); o(h.x)) \
    X(Holds h{}; o(h.a.v); o(h.x)) \
    X(Holds h = {One(4)}; o(h.a.v); o(h.x)) \
    X(Holds h[4]; for (auto &e : h) o(e.a.v + e.x)) \
    X(Holds h[3] = {{One(1), 2}}; for (auto &e : h) o(e.a.v + e.x)) \
    X(o(Holds().a.v); o(Holds{}.x); o(make_holds().a.v)) \
    X(Derived d; o(d.v); o(d.y)) \
    X(Derived d{}; o(d.v); o(d.y)) \
    X(Derived d[2]; o(d[1].v); o(d[1].y)) \
    X(Deeper d; o(d.v); o(d.y); o(d.more[0].v); o(d.more[1].v); o(d.f)) \
    X(Deeper d[2]; o(d[1].v); o(d[1].more[1].v); o(d[1].f)) \
    X(Values v; o(v.n); o(v.g); for (int i = 0; i < 3; i++) o(v.s[i])) \
    X(Values v[3]; o(v[2].n); o(v[2].g); o(v[2].s[1])) \
    X(Values v[3] = {}; o(v[2].n); o(v[0].g); o(v[2].s[2])) \
    X(Values v[2] = {{1}, {2, 3}}; o(v[0].n); o(v[0].g); o(v[1].g); o(v[1].s[0])) \
    X(Values v = {1, 2, {7, 8, 9}}; o(v.n); o(v.g); o(v.s[2])) \
    X(o(sum_values({})); o(sum_values({1})); o(sum_values(make_values(20)))) \
    X(Mixed m{}; o(m.p.a); o(m.p.b); o(m.v.n); o(m.v.s[1]); o(m.q.b)) \
    X(Mixed m = {{1, 2}}; o(m.p.b); o(m.v.g); o(m.q.a)) \
    X(Mixed m[2] = {{{1}}}; o(m[0].p.b); o(m[1].p.a); o(m[1].v.n); o(m[1].q.b)) \
    X(Sibling s; o(s.n); o(s.m); o(s.k)) \
    X(Sibling s[2]; o(s[1].m); o(s[1].k)) \
    X(Order d(5); o(d.b); o(d.c)) \
    X(Delegates d; o(d.a); o(d.b)) \
    X(Delegates d[2]; o(d[1].a); o(d[1].b); Delegates e(4); o(e.a); o(e.b)) \
    X(Inherits i; o(i.v); o(i.z)) \
    X(Inherits i(3); o(i.v); o(i.z)) \
    X(Inherits i[2]; o(i[1].v); o(i[1].z)) \
    X(TwoBases t; o(t.a.v); o(t.x); o(t.n); o(t.g); o(t.last.v)) \
    X(TwoBases t[2]; o(t[1].a.v); o(t[1].s[1]); o(t[1].last.v)) \
    X(ConstMembers c(8); o(c.n); o(c.w[0]); o(c.w[2])) \
    X(ArrayMember a; o(a.a[0]); o(a.a[1]); o(a.a[3]); o(a.o[1].v)) \
    X(ArrayDefault a(9); o(a.a[0]); o(a.a[2]); o(a.last)) \
    X(OnEmpty e; o(e.x); o(e.id())) \
    X(Vec<float, 4> v; o(v.sum()); Vec<float, 4> w(2); o(w.sum())) \
    X(Vec<int, 3> v[2]; o(v[0].sum()); o(v[1].v[2])) \
    X(Pair<int> p; o(p.first); o(p.second); Pair<float> q = {1.5f}; o(q.first); o(q.second)) \
    X(Pair<One> p; o(p.first.v); o(p.second.v)) \
    X(Nested n; o(n.one.i); o(n.one.o.v); o(n.many[1].i); o(n.many[1].o.v)) \
    X(Nested n{}; o(n.one.i); o(n.many[0].o.v)) \
    X(Nested::Inner n[2] = {{1}}; o(n[0].i); o(n[0].o.v); o(n[1].i)) \
    X(Either e; o(e.i); Either f[2]; o(f[1].i)) \
    X(Anonymous a; o(a.tag); o(a.i); o(a.p); o(a.q)) \
    X(Anonymous a[2]; o(a[1].tag); o(a[1].i); o(a[1].q)) \
    X(Defaulted d; o(d.a); o(d.o.v); Defaulted e(2); o(e.a); o(e.o.v)) \
    X(Defaulted d[2]; o(d[1].a); Defaulted e{}; o(e.o.v)) \
    X(Counter c; o(c.next()); o(c.next()); Counter d[2]; o(d[1].next())) \
    X(Enums e; o(int(e.c)); o(e.yes); o(e.letter); o(float(e.big))) \
    X(Matrix m; o(m.m[0][2]); o(m.m[1][0]); o(m.m[1][1]); o(m.corner[1][1].v)) \
    X(Wide w; o(w.at.sum()); o(w.speed.sum()); Wide x[2]; o(x[1].speed.v[2])) \
    X(Computed c; o(c.n); o(Computed().n)) \
    X(Bits b; o(b.a); o(b.b); o(b.half)) \
    X(Calls c; o(c.a); o(c.b); Calls d[2]; o(d[1].b)) \
    X(Explicit e(2.5f); o(e.n); Explicit f(3); o(f.n); Explicit g = 4; o(g.n)) \
    X(HoldsOptional h; o(h.o[2].a); o(h.o[2].b); o(h.p.a); o(h.p.b)) \
    X(const Holds h; o(h.a.v); const Values v[2]; o(v[1].n); static const Plain t[2] = {{1, 2}, {3, 4}}; o(t[1].b)) \
    X(InheritsValue i(3); o(i.v); o(i.z); InheritsValue j; o(j.z)) \
    X(Scaled s[3] = {1, 2}; Scaled t[2][2] = {3, 4, 5}; for (auto &e : s) o(e.v); for (auto &r : t) o(r[0].v + 100 * r[1].v)) \
    X(ScaledPair p = {1, 2}; ScaledPair q[2] = {{1}, {2, Scaled(3), 9}}; o(p.b.v); o(p.c); o(q[0].b.v); o(q[1].b.v + q[1].c)) \
    X(ScaledMembers m; ScaledMembers n(7); o(m.s.v); o(m.t[1].v); o(m.p.a.v + m.p.b.v); o(n.s.v); o(n.t[0].v); o(n.t[1].v)) \
    X(o(sizeof("hello")); o(sizeof "ab\0c"); const char s[] = "xyz"; o(sizeof s); o("abc"[1]))

enum { N = 66 };

#define BODY(...) \
    { \
        Out &o = out[i++]; \
        o.n = 0; \
        __VA_ARGS__; \
    }

HD void run_all(Out *out)
{
    int i = 0;
    CASES(BODY)
}

__global__ void run(Out *out) { run_all(out); }

int main()
{
    static Out host[N], device[N];
    Out *d;
    cudaMalloc(&d, sizeof device);
    cudaMemset(d, 0xff, sizeof device);
    run<<<1, 1>>>(d);
    if (cudaMemcpy(device, d, sizeof device, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 1;
    run_all(host);
    int differ = 0;
    for (int i = 0; i < N; i++) {
        bool same = host[i].n == device[i].n && host[i].n > 0;
        for (int k = 0; same && k < host[i].n; k++)
            same = host[i].v[k] == device[i].v[k];
        differ += !same;
        if (!same) {
            printf("case %d:", i);
            for (int k = 0; k < host[i].n; k++)
                printf(" %g (%g)", device[i].v[k], host[i].v[k]);
            printf("\n");
        }
    }
    printf("%d cases, %d differ\n", N, differ);
    cudaFree(d);
}
