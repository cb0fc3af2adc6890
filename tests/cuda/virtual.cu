// Virtual functions: each case runs on the device and, compiled by the host's compiler, on the host; what they
// record is the same.
/* opencl: IG-NEW
expect:
19 cases, 0 differ
*/
#include "cases.h"
#include <new>

namespace basic
{
struct Shape {
    int tag;
    HD Shape(int t) : tag(t) {}
    HD virtual int area() const = 0;
    HD virtual int sides() const { return 0; }
    HD virtual ~Shape() {}
};
struct Circle : Shape {
    int r;
    HD Circle(int r) : Shape(1), r(r) {}
    HD int area() const override { return 3 * r * r; }
};
class Square final : public Shape
{
    int a;

  public:
    HD Square(int a) : Shape(2), a(a) {}
    HD virtual int area() const override { return a * a; }
    HD int sides() const final { return 4; }
};
HD int look(const Shape &s) { return s.area() * 100 + s.sides() * 10 + s.tag; }
HD void test(Out &o)
{
    Shape *all[4];
    for (int i = 0; i < 4; i++)
        all[i] = i % 2 ? (Shape *)new Circle(i) : new Square(i + 1);
    for (Shape *s : all)
        o.put(look(*s));
    for (int i = 0; i < 4; i++)
        delete all[i];
    Circle c(5);
    o.put(look(c));
    o.put((int)sizeof(Circle) * 100 + (int)sizeof(Square));
}
} // namespace basic

namespace levels
{
struct A {
    HD virtual int f() { return 1; }
    HD virtual int g() { return 10 + f(); }
};
struct B : A {
    HD int f() { return 2; }
};
struct C : B {
    int v = 7;
    HD int g() override { return B::g() * 100 + v; }
};
struct D : C {
    HD int f() override { return 4 + A::f() + this->C::f(); }
};
HD void call(Out &o, A *a)
{
    o.put(a->f());
    o.put(a->g());
    o.put(a->A::g());
}
HD void test(Out &o)
{
    A a;
    B b;
    C c;
    D d;
    call(o, &a);
    call(o, &b);
    call(o, &c);
    call(o, &d);
    A *p = new D;
    call(o, p);
    delete (D *)p;
}
} // namespace levels

namespace built
{
struct A {
    Out *o;
    HD A(Out *o) : o(o) { o->put(name()); }
    HD virtual int name() { return 1; }
    HD virtual ~A() { o->put(10 + name()); }
};
struct B : A {
    HD B(Out *o) : A(o) { o->put(name()); }
    HD int name() override { return 2; }
    HD ~B() { o->put(20 + name()); }
};
struct C : B {
    HD C(Out *o) : B(o) { o->put(name()); }
    HD int name() override { return 3; }
    HD ~C() override { o->put(30 + name()); }
};
HD void test(Out &o)
{
    {
        C c(&o);
        A &a = c;
        o.put(a.name());
    }
    A *p = new C(&o);
    o.put(p->name());
    delete p;
    alignas(8) char room[sizeof(C)];
    A *q = new (room) B(&o);
    o.put(q->name());
    q->~A();
}
} // namespace built

namespace slices
{
struct A {
    int x = 1;
    HD virtual int f() const { return x; }
};
struct B : A {
    int y = 5;
    HD int f() const override { return 100 * x + y; }
};
HD int by_value(A a)
{
    A &r = a;
    return r.f();
}
HD void test(Out &o)
{
    B b;
    b.x = 3;
    A a = b, c;
    A &ra = a, &rb = b, &rc = c;
    o.put(ra.f());
    o.put(rb.f());
    o.put(by_value(b));
    rc = b;
    o.put(rc.f());
    rb = c; /* assigns the base alone */
    o.put(rb.f());
    B e = b, *p = &e;
    e.y = 8;
    o.put(static_cast<A *>(p)->f());
    struct Holder {
        B b;
        A a[2];
    } h;
    h.b.x = 4;
    Holder k = h;
    A *parts[3] = {&k.b, &k.a[0], &k.a[1]};
    for (A *part : parts)
        o.put(part->f());
}
} // namespace slices

namespace several
{
struct A {
    int a = 1;
    HD virtual int fa() { return a; }
    HD virtual ~A() {}
};
struct B {
    int b = 2;
    HD virtual int fb() { return b; }
    HD virtual int both() { return 50 + b; }
    HD virtual ~B() {}
};
struct P {
    int p = 9;
};
struct C : P, A, B {
    Out *o;
    int c = 3;
    HD C(Out *o) : o(o) {}
    HD int fa() override { return 10 * a + c; }
    HD int fb() override { return 100 * b + c; }
    HD ~C() { o->put(77); }
};
struct D : C {
    using C::C;
    HD int both() override { return fa() + fb() + p; }
};
HD void test(Out &o)
{
    C c(&o);
    A *pa = &c;
    B *pb = &c;
    o.put(pa->fa());
    o.put(pb->fb());
    o.put(pb->both());
    o.put((int)((char *)pb - (char *)pa));
    o.put(static_cast<C *>(pb)->c);
    o.put(static_cast<C *>(pb) == static_cast<C *>(pa));
    B *none = (C *)nullptr;
    o.put(none == nullptr);
    B *heap = new D(&o);
    o.put(heap->both());
    o.put(heap->fb());
    delete heap;
    o.put((int)sizeof(C));
}
} // namespace several

namespace covariant
{
struct A {
    int v;
    HD A(int v) : v(v) {}
    HD virtual A *copy() const { return new A(v); }
    HD virtual A &self() { return *this; }
    HD virtual int kind() const { return 1; }
    HD virtual ~A() {}
};
struct B : A {
    HD B(int v) : A(v) {}
    HD B *copy() const override { return new B(v + 1); }
    HD B &self() override
    {
        v += 10;
        return *this;
    }
    HD int kind() const override { return 2; }
};
HD void test(Out &o)
{
    B b(5);
    A *a = &b, *c = a->copy();
    o.put(c->v * 10 + c->kind());
    A *d = c->copy();
    o.put(d->self().v * 10 + d->self().kind());
    delete c;
    delete d;
}
} // namespace covariant

namespace overloads
{
struct A {
    HD virtual int f(int x) { return x; }
    HD virtual int f(float x) { return (int)(x * 2); }
    HD virtual int f(int x) const { return -x; }
    HD virtual int g(int x = 4) { return x; }
};
struct B : A {
    using A::f;
    HD int f(float x) override { return (int)(x * 3); }
    HD int f(int x) const override { return -2 * x; }
    HD int g(int x = 9) override { return 10 * x; }
};
HD void test(Out &o)
{
    B b;
    A &a = b;
    const A &c = b;
    o.put(a.f(3));
    o.put(a.f(3.0f));
    o.put(c.f(3));
    o.put(a.g());
    o.put(b.g());
    o.put(b.f(3));
}
} // namespace overloads

namespace templates
{
template <typename T> struct Op {
    HD virtual T apply(T a, T b) const = 0;
    HD virtual ~Op() {}
};
template <typename T> struct Add : Op<T> {
    HD T apply(T a, T b) const override { return a + b; }
};
template <typename T, int K> struct Scaled : Add<T> {
    HD T apply(T a, T b) const override { return K * Add<T>::apply(a, b); }
};
template <typename T> HD T fold(const Op<T> &op, const T *x, int n)
{
    T r = x[0];
    for (int i = 1; i < n; i++)
        r = op.apply(r, x[i]);
    return r;
}
HD void test(Out &o)
{
    const int x[4] = {1, 2, 3, 4};
    const float y[3] = {0.5f, 1.5f, 2.5f};
    o.put(fold<int>(Add<int>(), x, 4));
    o.put(fold<int>(Scaled<int, 3>(), x, 4));
    o.put((int)fold<float>(Scaled<float, 2>(), y, 3));
    Op<int> *p = new Scaled<int, 5>;
    o.put(p->apply(1, 2));
    delete p;
}
} // namespace templates

namespace composite
{
struct Node {
    HD virtual int value() const = 0;
    HD virtual ~Node() {}
};
struct Number : Node {
    int v;
    HD Number(int v) : v(v) {}
    HD int value() const override { return v; }
};
struct Sum : Node {
    Node *a, *b;
    HD Sum(Node *a, Node *b) : a(a), b(b) {}
    HD int value() const override { return a->value() + b->value(); }
    HD ~Sum() override
    {
        delete a;
        delete b;
    }
};
struct Product : Sum {
    HD Product(Node *a, Node *b) : Sum(a, b) {}
    HD int value() const override { return a->value() * b->value(); }
};
HD void test(Out &o)
{
    Node *n = new Sum(new Product(new Number(3), new Sum(new Number(4), new Number(5))),
                      new Product(new Number(6), new Number(7)));
    o.put(n->value());
    delete n;
}
} // namespace composite

namespace state
{
struct Counter {
    int n = 0;
    HD virtual void step(int &total, int by)
    {
        n++;
        total += by;
    }
};
struct Twice : Counter {
    HD void step(int &total, int by) override
    {
        Counter::step(total, by);
        Counter::step(total, by);
    }
};
struct Log : Twice {
    int last = -1;
    HD void step(int &total, int by) override
    {
        last = by;
        Twice::step(total, by + 1);
    }
};
HD void drive(Counter &c, int &total)
{
    for (int i = 0; i < 5; i++)
        c.step(total, i);
}
HD void test(Out &o)
{
    int total = 0;
    Counter a;
    Twice b;
    Log c;
    drive(a, total);
    drive(b, total);
    drive(c, total);
    o.put(total);
    o.put(a.n * 10000 + b.n * 100 + c.n);
    o.put(c.last);
}
} // namespace state

namespace structs
{
struct V {
    float x, y, z;
};
struct Field {
    HD virtual V at(V p) const { return p; }
    HD virtual V operator()(float t) const { return V{t, t, t}; }
};
struct Turn : Field {
    float k;
    HD Turn(float k) : k(k) {}
    HD V at(V p) const override { return V{-p.y * k, p.x * k, p.z}; }
    HD V operator()(float t) const override { return V{t * k, 0, 1}; }
};
HD void test(Out &o)
{
    Turn t(2);
    Field f;
    Field *all[2] = {&f, &t};
    for (int i = 0; i < 2; i++) {
        V v = all[i]->at(V{1, 2, 3}), w = (*all[i])(4);
        o.put((int)(v.x * 100 + v.y * 10 + v.z));
        o.put((int)(w.x * 100 + w.y * 10 + w.z));
    }
}
} // namespace structs

namespace pointers
{
typedef int (*op_t)(int, int);
using unary = float (*)(float);
HD int add(int a, int b) { return a + b; }
HD int mul(int a, int b) { return a * b; }
HD int sub(int a, int b) { return a - b; }
template <int N> HD int scaled(int a, int b) { return N * a + b; }
HD float half_of(float x) { return x / 2; }
HD float square(float x) { return x * x; }
HD int apply(op_t f, int a, int b) { return f(a, b); }
template <typename F> HD int any(F f, int a, int b) { return f(a, b); }
HD op_t pick(int i) { return i == 0 ? add : i == 1 ? mul : sub; }
struct Machine {
    op_t f;
    unary g;
    int k;
    HD int run(int x) const { return f ? f(x, k) + (int)g(8.0f) : -1; }
};
HD void test(Out &o)
{
    op_t table[] = {add, &mul, sub, scaled<3>, scaled<-2>};
    for (int i = 0; i < 5; i++)
        o.put(table[i](7, 3));
    o.put(apply(mul, 4, 5));
    o.put(any(sub, 4, 5));
    o.put(any(&add, 4, 5));
    for (int i = 0; i < 3; i++)
        o.put(pick(i)(10, 4));
    op_t f = add, g = nullptr;
    o.put(f == add);
    o.put(f != mul);
    o.put(g == nullptr);
    g = &mul;
    o.put((*g)(6, 7));
    o.put((**g)(6, 7));
    o.put(g ? 1 : 0);
    Machine m = {sub, square, 2}, n = m;
    o.put(m.run(9));
    n.g = half_of;
    n.f = pick(1);
    o.put(n.run(9));
    n.f = 0;
    o.put(n.run(9));
}
} // namespace pointers

namespace overloaded
{
HD int f(int x) { return x + 1; }
HD int f(float x) { return (int)(x * 10); }
HD int f(int x, int y) { return x * y; }
template <typename T> HD T twice(T x) { return x + x; }
struct S {
    HD static int triple(int x) { return 3 * x; }
};
HD int call(int (*g)(int), int x) { return g(x); }
HD int call2(int (*g)(int, int), int x) { return g(x, x); }
HD void test(Out &o)
{
    int (*a)(int) = f;
    int (*b)(float) = f;
    o.put(a(4));
    o.put(b(1.5f));
    o.put(call(f, 9));
    o.put(call2(f, 9));
    o.put(call(twice, 6));
    o.put(call(twice<int>, 7));
    o.put(call(S::triple, 5));
    o.put(call(&S::triple, 6));
    o.put(((int (*)(float))f)(2.5f));
}
} // namespace overloaded

namespace callbacks
{
struct Data {
    int sum;
};
typedef void (*visit_t)(void *, int);
HD void each(const int *x, int n, visit_t visit, void *context)
{
    for (int i = 0; i < n; i++)
        visit(context, x[i]);
}
HD void add(void *context, int x) { ((Data *)context)->sum += x; }
HD void most(void *context, int x)
{
    Data *d = (Data *)context;
    d->sum = x > d->sum ? x : d->sum;
}
HD bool less(const int &a, const int &b) { return a < b; }
HD bool more(const int &a, const int &b) { return a > b; }
HD void sort(int *x, int n, bool (*before)(const int &, const int &))
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && before(x[k], x[k - 1]); k--) {
            int t = x[k];
            x[k] = x[k - 1];
            x[k - 1] = t;
        }
}
HD void test(Out &o)
{
    int x[5] = {4, -1, 7, 3, 3};
    Data d = {0}, e = {-100};
    each(x, 5, add, &d);
    each(x, 5, most, &e);
    o.put(d.sum);
    o.put(e.sum);
    sort(x, 5, less);
    o.put(x[0] * 100 + x[4]);
    sort(x, 5, more);
    o.put(x[0] * 100 + x[4]);
}
} // namespace callbacks

namespace composed
{
typedef int (*fn)(int);
HD int inc(int x) { return x + 1; }
HD int dbl(int x) { return 2 * x; }
HD int again(fn f, int n, int x)
{
    for (int i = 0; i < n; i++)
        x = f(x);
    return x;
}
struct Pipeline {
    fn stages[4];
    int n;
    HD void add(fn f) { stages[n++] = f; }
    HD int operator()(int x) const
    {
        for (int i = 0; i < n; i++)
            x = stages[i](x);
        return x;
    }
};
HD void test(Out &o)
{
    o.put(again(inc, 5, 1));
    o.put(again(dbl, 5, 1));
    Pipeline p = {};
    p.add(inc);
    p.add(dbl);
    p.add(dbl);
    o.put(p(3));
    p.add([](int x) { return x - 1; });
    o.put(p(3));
}
} // namespace composed

namespace rare
{
struct Base {
    HD virtual Base *next() { return nullptr; }
    HD virtual bool is(int k) const { return k == 0; }

  protected:
    HD virtual int secret() const { return 5; }

  public:
    HD int tell() const { return secret() + 1; }
};
struct Derived : public Base {
    Base other;
    HD Base *next() override { return &other; }
    HD bool is(int k) const override { return k == 1 || Base::is(k); }

  private:
    HD int secret() const override { return 50; }
};
HD int length(Base *b)
{
    int n = 0;
    for (; b; b = b->next())
        n++;
    return n;
}
HD void test(Out &o)
{
    Derived d;
    Base b;
    o.put(length(&d));
    o.put(length(&b));
    o.put(d.tell());
    o.put(b.tell());
    Base *p = &d;
    o.put(p->is(0) * 100 + p->is(1) * 10 + p->is(2));
    o.put(d.Base::is(1));
}
} // namespace rare

namespace declared
{
struct Item {
    int v;
    HD Item(int v);
    HD virtual int get() const;
    HD virtual ~Item() = default;
};
HD Item::Item(int v) : v(v) {}
HD int Item::get() const { return v; }
struct More : Item {
    HD More(int v);
    HD int get() const override;
};
HD More::More(int v) : Item(v * 2) {}
HD int More::get() const { return Item::get() + 1; }
HD void test(Out &o)
{
    More m(4);
    Item i(4), *p = &m;
    o.put(p->get());
    p = &i;
    o.put(p->get());
    Item *q = new More(10);
    o.put(q->get());
    delete q;
}
} // namespace declared

namespace lists
{
struct Item {
    Item *next = nullptr;
    int n;
    HD explicit Item(int n) : n(n) {}
    HD virtual int score() const { return n; }
    HD virtual ~Item() {}
};
struct Double : Item {
    HD explicit Double(int n) : Item(n) {}
    HD int score() const override { return 2 * n; }
};
struct Negative : Item {
    int k;
    HD Negative(int n, int k) : Item(n), k(k) {}
    HD int score() const override { return -n * k; }
};
HD void test(Out &o)
{
    Item *head = nullptr;
    for (int i = 0; i < 9; i++) {
        Item *made = i % 3 == 0   ? new Item(i)
                     : i % 3 == 1 ? static_cast<Item *>(new Double(i))
                                  : new Negative(i, 3);
        made->next = head;
        head = made;
    }
    int total = 0;
    for (Item *i = head; i; i = i->next) {
        total = total * 2 + i->score();
        o.put(i->score());
    }
    o.put(total);
    while (head) {
        Item *next = head->next;
        delete head;
        head = next;
    }
}
} // namespace lists

namespace empty_base
{
struct Tag {
};
struct Visitor {
    HD virtual void see(int x) = 0;
};
struct Adder : Tag, Visitor {
    int sum = 0;
    HD void see(int x) override { sum += x; }
};
struct Range {
    int from, to;
    HD void walk(Visitor &v) const
    {
        for (int i = from; i < to; i++)
            v.see(i);
    }
};
HD void test(Out &o)
{
    Adder a;
    Range{2, 7}.walk(a);
    o.put(a.sum);
    o.put((int)sizeof(Adder));
}
} // namespace empty_base

#define CASES(X) \
    X(basic) \
    X(levels) X(built) X(slices) X(several) X(covariant) X(overloads) X(templates) X(composite) \
        X(state) X(structs) X(pointers) X(overloaded) X(callbacks) X(composed) X(rare) X(declared) \
            X(lists) X(empty_base)

#include "run_cases.h"

int main() { return run_cases(); }
