// Copies, moves, assignments and destructors of objects by C++'s rules. Each case runs
// on the device and, compiled by the host's compiler, on the host; what they record is the same.
/* expect:
22 cases, 0 differ
*/
#include "cases.h"

namespace scope_end
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) { o->put(v); }
    HD ~G() { o->put(-v); }
};
HD void test(Out &o)
{
    G a(&o, 1);
    {
        G b(&o, 2);
        o.put(10);
    }
    o.put(20);
}
} // namespace scope_end

namespace returns
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) {}
    HD ~G() { o->put(-v); }
};
HD int f(Out &o, int k)
{
    G a(&o, 1);
    if (k) {
        G b(&o, 2);
        return 5;
    }
    G c(&o, 3);
    return 6;
}
HD void test(Out &o)
{
    o.put(f(o, 0));
    o.put(f(o, 1));
}
} // namespace returns

namespace loops
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) {}
    HD ~G() { o->put(-v); }
};
HD void test(Out &o)
{
    for (int i = 1; i < 6; i++) {
        G a(&o, i);
        if (i == 2)
            continue;
        if (i == 4)
            break;
        o.put(i * 10);
    }
}
} // namespace loops

namespace temporary
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) {}
    HD ~G() { o->put(-v); }
    HD int get() { return v; }
};
HD void test(Out &o)
{
    o.put(G(&o, 3).get());
    o.put(99);
}
} // namespace temporary

namespace members
{
struct G {
    Out *o;
    int v;
    HD G() : o(0), v(0) {}
    HD ~G()
    {
        if (o)
            o->put(-v);
    }
};
struct H {
    G a;
    G b[2];
    HD H(Out *o)
    {
        a.o = b[0].o = b[1].o = o;
        a.v = 1;
        b[0].v = 2;
        b[1].v = 3;
    }
};
HD void test(Out &o)
{
    H h(&o);
    o.put(7);
}
} // namespace members

namespace copies
{
struct C {
    int v;
    HD C(int a) : v(a) {}
    HD C(const C &x) : v(x.v + 1) {}
    HD C &operator=(const C &x)
    {
        v = x.v + 100;
        return *this;
    }
};
HD int f(C c) { return c.v; }
HD void test(Out &o)
{
    C a(1);
    C b(a);
    C c = b;
    o.put(b.v);
    o.put(c.v);
    o.put(f(c));
    a = c;
    o.put(a.v);
    C d{a};
    o.put(d.v);
}
} // namespace copies

namespace copied_members
{
struct C {
    int v;
    HD C(int a = 0) : v(a) {}
    HD C(const C &x) : v(x.v + 1) {}
};
struct D {
    C c;
    int w;
};
HD void test(Out &o)
{
    D d;
    d.c.v = 4;
    d.w = 5;
    D e = d;
    o.put(e.c.v);
    o.put(e.w);
    C arr[2] = {C(1), C(2)};
    C z = arr[1];
    o.put(z.v);
    auto l = [=]() { return z.v; };
    o.put(l());
}
} // namespace copied_members

namespace assigned_members
{
struct C {
    int v;
    HD C &operator=(const C &x)
    {
        v = x.v + 100;
        return *this;
    }
};
struct D {
    C c;
    int w;
};
HD void test(Out &o)
{
    D d;
    d.c.v = 4;
    d.w = 5;
    D e;
    e = d;
    o.put(e.c.v);
    o.put(e.w);
}
} // namespace assigned_members

namespace counted
{
struct R {
    int *c;
    HD R(int *c) : c(c) { ++*c; }
    HD R(const R &r) : c(r.c) { ++*c; }
    HD ~R() { --*c; }
};
HD R mk(int *c)
{
    R r(c);
    return r;
}
HD void take(R r, Out &o) { o.put(*r.c); }
HD void test(Out &o)
{
    int &n = o.v[59];
    n = 0;
    {
        R a = mk(&n);
        o.put(n);
        R b = a;
        o.put(n);
        take(b, o);
        o.put(n);
    }
    o.put(n);
}
} // namespace counted

namespace moves
{
struct M {
    int v;
    HD M(int v) : v(v) {}
    HD M(M &&m) : v(m.v) { m.v = -1; }
    HD M &operator=(M &&m)
    {
        v = m.v;
        m.v = -2;
        return *this;
    }
};
HD void test(Out &o)
{
    M a(3);
    M b(static_cast<M &&>(a));
    o.put(a.v);
    o.put(b.v);
    M c(0);
    c = static_cast<M &&>(b);
    o.put(b.v);
    o.put(c.v);
}
} // namespace moves

namespace reference_member
{
struct C {
    int &r;
    HD C(int &x) : r(x) {}
    HD void inc() { r++; }
};
HD void test(Out &o)
{
    int &x = o.v[59];
    x = 3;
    C c(x);
    c.inc();
    o.put(x);
}
} // namespace reference_member

namespace copies_and_moves
{
struct M {
    int v;
    HD M(int v) : v(v) {}
    HD M(const M &m) : v(m.v + 10) {}
    HD M(M &&m) : v(m.v + 100) { m.v = -1; }
    HD M &operator=(const M &m)
    {
        v = m.v + 1000;
        return *this;
    }
    HD M &operator=(M &&m)
    {
        v = m.v + 2000;
        m.v = -2;
        return *this;
    }
};
HD int by(M m) { return m.v; }
HD void test(Out &o)
{
    M a(1);
    M b(a);
    M c = a;
    o.put(b.v);
    o.put(c.v);
    M d(std::move(a));
    o.put(a.v);
    o.put(d.v);
    o.put(by(b));
    o.put(by(std::move(b)));
    o.put(by(M(5)));
    c = d;
    o.put(c.v);
    c = M(3);
    o.put(c.v);
    c = std::move(d);
    o.put(c.v);
    o.put(d.v);
}
} // namespace copies_and_moves

namespace derived
{
struct B {
    int v;
    HD B(int v = 0) : v(v) {}
    HD B(const B &b) : v(b.v + 1) {}
    HD B &operator=(const B &b)
    {
        v = b.v + 10;
        return *this;
    }
};
struct D : B {
    int w;
    HD D(int a, int b) : B(a), w(b) {}
};
struct E : B {
    int w;
    HD E(int a) : B(a), w(a) {}
    HD E(const E &e) : B(e), w(e.w + 5) {}
};
HD void test(Out &o)
{
    D d(1, 2);
    D e = d;
    o.put(e.v);
    o.put(e.w);
    D f(7, 8);
    f = d;
    o.put(f.v);
    o.put(f.w);
    E x(3);
    E y = x;
    o.put(y.v);
    o.put(y.w);
    B &r = f;
    r = B(4);
    o.put(f.v);
}
} // namespace derived

namespace temporaries
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) { o->put(v); }
    HD ~G() { o->put(-v); }
    HD G(const G &g) : o(g.o), v(g.v + 50) { o->put(v); }
};
HD int two(const G &a, const G &b) { return a.v + b.v; }
HD void test(Out &o)
{
    o.put(G(&o, 1).v);
    const G &r = G(&o, 3);
    o.put(r.v);
    int x = G(&o, 4).v;
    o.put(x);
    if (G(&o, 5).v > 3)
        o.put(77);
    for (int i = 0; i < G(&o, 2).v; i++)
        o.put(i);
    G(&o, 9);
    o.put(8);
}
} // namespace temporaries

namespace early_return
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v)
    {
        if (v == 2)
            return;
        o->put(v);
    }
    HD ~G()
    {
        if (v == 1)
            return;
        o->put(-v);
    }
};
struct H {
    G a, b;
    HD H(Out *o) : a(o, 1), b(o, 5) { o->put(100); }
    HD ~H()
    {
        if (b.v == 5)
            return;
        b.o->put(200);
    }
};
HD void test(Out &o)
{
    H h(&o);
    G g(&o, 2);
}
} // namespace early_return

namespace paths
{
struct G {
    int *p;
    HD G(int *p) : p(p) { ++*p; }
    HD ~G() { *p += 10; }
};
HD int f(int *p, int k)
{
    G g(p);
    if (k == 1)
        return *p;
    for (int i = 0; i < 3; i++) {
        G h(p);
        if (i == k)
            break;
        if (i == 1)
            continue;
        *p += 100;
    }
    return *p;
}
HD void test(Out &o)
{
    for (int k = 0; k < 4; k++) {
        int &n = o.v[59];
        n = 0;
        o.put(f(&n, k));
        o.put(n);
    }
}
} // namespace paths

namespace switches
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) {}
    HD ~G() { o->put(-v); }
};
HD void test(Out &o)
{
    for (int i = 0; i < 4; i++) {
        switch (i) {
        case 0: {
            G g(&o, 1);
            break;
        }
        case 1: {
            G g(&o, 2);
        }
        case 2: o.put(3); break;
        default: G z(&o, 4); o.put(9);
        }
    }
}
} // namespace switches

namespace results
{
struct G {
    Out *o;
    int v;
    HD G(Out *o, int v) : o(o), v(v) {}
    HD ~G() { o->put(-v); }
    HD G(const G &g) : o(g.o), v(g.v + 10) { o->put(v); }
};
HD G a(Out *o) { return G(o, 1); }
HD G b(Out *o)
{
    G g(o, 2);
    g.v = 3;
    return g;
}
HD G c(const G &g) { return g; }
HD G d(Out *o) { return a(o); }
HD void test(Out &o)
{
    a(&o);
    o.put(1000);
    G x = b(&o);
    o.put(x.v);
    G y = c(x);
    o.put(y.v);
    d(&o);
    o.put(c(b(&o)).v);
}
} // namespace results

namespace arrays
{
struct C {
    int v;
    HD C() : v(1) {}
    HD C(int v) : v(v) {}
    HD C(const C &c) : v(c.v + 1) {}
    HD ~C() {}
};
struct A {
    C c[3];
    int k;
};
HD int sum(A a) { return a.c[0].v + a.c[1].v * 10 + a.c[2].v * 100; }
HD void test(Out &o)
{
    A a;
    a.c[1].v = 5;
    a.k = 3;
    o.put(sum(a));
    A b = a;
    o.put(sum(b));
    o.put(b.k);
    C t[2] = {a.c[1], C(4)};
    o.put(t[0].v);
    o.put(t[1].v);
    A d = {{C(1), 2, 3}, 4};
    o.put(sum(d));
    b = d;
    o.put(sum(b));
}
} // namespace arrays

namespace owner
{
struct U {
    int *p;
    HD explicit U(int *p) : p(p) {}
    U(const U &) = delete;
    HD U(U &&o) : p(o.p) { o.p = nullptr; }
    HD ~U()
    {
        if (p)
            *p += 1;
    }
    HD int &operator*() { return *p; }
};
HD U make(int *p)
{
    U u(p);
    return u;
}
HD void sink(U u) { *u += 100; }
HD void test(Out &o)
{
    int &n = o.v[59];
    n = 0;
    {
        U a(&n);
        U b = std::move(a);
        o.put(a.p == nullptr);
        U c = make(&n);
        *c = 5;
        sink(std::move(c));
        o.put(n);
        o.put(c.p == nullptr);
    }
    o.put(n);
}
} // namespace owner

namespace guards
{
struct Guard {
    int &d;
    HD Guard(int &d) : d(d) { d++; }
    HD ~Guard() { d--; }
};
HD int f(int &d, int k)
{
    Guard g(d);
    return d + k;
}
HD void test(Out &o)
{
    int &d = o.v[59];
    d = 0;
    {
        Guard g(d);
        o.put(d);
        o.put(f(d, 3));
        o.put(d);
    }
    o.put(d);
}
} // namespace guards

namespace maybe_made
{
struct G {
    int v;
    int *n;
    HD G(int v, int *n) : v(v), n(n) {}
    HD ~G() { ++*n; }
};
HD void test(Out &o)
{
    int &n = o.v[59];
    n = 0;
    int x = n ? G(1, &n).v : G(2, &n).v;
    o.put(x);
    o.put(n);
}
} // namespace maybe_made

#define CASES(X) \
    X(scope_end) \
    X(returns) \
    X(loops) X(temporary) X(members) X(copies) X(copied_members) X(assigned_members) X(counted) \
        X(moves) X(reference_member) X(copies_and_moves) X(derived) X(temporaries) X(early_return) \
            X(paths) X(switches) X(results) X(arrays) X(owner) X(guards) X(maybe_made)

#include "run_cases.h"

int main() { return run_cases(); }
