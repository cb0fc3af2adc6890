// Bit-fields: their layout, reads and writes are the host's. Each case runs on the device and on the host.
/* opencl: IG-LAYOUT
expect:
100 sums are equal
5 cases, 0 differ
*/
#include "cases.h"
#include <cstring>

namespace values
{
struct B {
    unsigned a : 3, b : 5;
    int c : 4;
    unsigned : 0;
    unsigned long long d : 40;
    unsigned e : 1;
    bool f : 1;
    signed char g : 3;
};
HD void test(Out &o)
{
    B b = {5, 17, -3, 0x123456789aull, 1, true, -4};
    o.put(b.a * 1000 + b.b);
    o.put(b.c);
    b.a += 6;
    b.c--;
    b.b = 33;
    o.put(b.a * 100 + b.b * 10 + b.c);
    o.put((int)(b.d >> 20));
    b.d *= 3;
    o.put((int)(b.d >> 16));
    o.put(b.e + b.f * 2 + b.g * 4);
    o.put((int)sizeof(B));
    o.put(b.a - 7 < 0);
    int old = b.a++ + 10 * ++b.b;
    o.put(old * 100 + b.a * 10 + b.b);
    o.put((b.a = 13));
    b.c = 7;
    o.put(b.c++ + b.c);
    b.f = 0;
    o.put(b.f ? 1 : 2);
    B arr[3] = {{1, 2, 3}, {4}}, copy = arr[0];
    copy.b ^= 31;
    o.put(arr[0].b * 10 + arr[1].a + copy.b * 100 + arr[2].c);
}
} // namespace values

namespace layouts
{
struct C {
    char x;
    unsigned f : 8;
    unsigned short g : 4;
    unsigned char h : 2, : 3, i : 1;
};
struct D {
    unsigned a : 20, b : 20;
    char c;
    unsigned d : 9;
    short e;
};
struct E {
    long long a : 33;
    int b : 31;
    int c : 1;
};
template <typename T> HD int bytes(const T &t)
{
    const unsigned char *p = (const unsigned char *)&t;
    int sum = 0;
    for (int i = 0; i < (int)sizeof t; i++)
        sum = sum * 31 + p[i];
    return sum;
}
HD void test(Out &o)
{
    C c;
    memset(&c, 0, sizeof c);
    c.x = 2;
    c.f = 300;
    c.g = 7;
    c.h = 3;
    c.i = 1;
    o.put(bytes(c));
    C k = c;
    k.h++;
    o.put(k.f + k.g * 1000 + k.h * 10000 + k.i * 100000 + k.x);
    D d;
    memset(&d, 0, sizeof d);
    d.a = 0xfedcb;
    d.b = 0x12345;
    d.c = 'c';
    d.d = 257;
    d.e = -2;
    o.put(bytes(d));
    E e;
    memset(&e, 0, sizeof e);
    e.a = -5;
    e.b = -6;
    e.c = -1;
    o.put(bytes(e));
    o.put((int)(e.a * 100 + e.b * 10 + e.c));
    o.put((int)(sizeof(C) * 10000 + sizeof(D) * 100 + sizeof(E)));
}
} // namespace layouts

namespace unions
{
union U {
    struct {
        unsigned lo : 16, hi : 16;
    } p;
    struct {
        unsigned mantissa : 23, exponent : 8, sign : 1;
    } f;
    unsigned w;
    float x;
};
HD void test(Out &o)
{
    U u;
    u.w = 0x12345678;
    o.put((int)u.p.hi);
    u.p.lo = 0xffff;
    o.put((int)(u.w & 0xfffff));
    u.x = -6.5f;
    o.put(u.f.exponent);
    o.put(u.f.sign);
    u.f.exponent++;
    u.f.sign = 0;
    o.put((int)u.x);
}
} // namespace unions

namespace classes
{
enum Kind : unsigned { NONE, SOME, ALL };
class Packed
{
    unsigned id : 12;
    Kind kind : 2;
    bool on : 1;

  public:
    HD Packed(unsigned i, Kind k) : id(i), kind(k), on(true) {}
    HD int key() const { return (int)(id * 10 + kind) * 2 + on; }
    HD void next()
    {
        id = id + 1;
        kind = kind == SOME ? ALL : NONE;
        on = !on;
    }
};
HD int least(const int &a, const int &b) { return a < b ? a : b; }
struct S {
    int a : 6;
    int b : 6;
};
HD void test(Out &o)
{
    Packed p(4095, SOME), q(7, ALL);
    o.put(p.key());
    p.next();
    o.put(p.key());
    o.put(q.key());
    S s = {-17, 30};
    o.put(least(s.a, s.b));
    S *r = &s;
    r->a -= 20;
    o.put(r->a);
    auto x = r->b;
    o.put(x * 2);
    switch (s.b) {
    case 30: o.put(1); break;
    default: o.put(2);
    }
}
} // namespace classes

namespace memory
{
struct Cell {
    unsigned char alive : 1, age : 7;
};
HD void test(Out &o)
{
    Cell cells[8];
    for (int i = 0; i < 8; i++) {
        cells[i].alive = i % 3 == 0;
        cells[i].age = (unsigned char)(i * 40);
    }
    for (int i = 0; i < 8; i++)
        o.put(cells[i].alive * 1000 + cells[i].age);
    o.put((int)sizeof cells);
}
} // namespace memory

#define CASES(X) X(values) X(layouts) X(unions) X(classes) X(memory)

struct Item {
    unsigned rank : 7, group : 9;
    unsigned long long total : 48;
};
__constant__ Item first = {100, 400, 1ull << 40};

__global__ void sums(Item *items, Item by_value)
{
    const int i = threadIdx.x;
    items[i].rank += first.rank;
    items[i].group = i * 5;
    items[i].total = first.total + by_value.total * i;
}

#include "run_cases.h"

int main()
{
    Item *items, by_value = {};
    int equal = 0;
    cudaMallocManaged(&items, 100 * sizeof *items);
    for (int i = 0; i < 100; i++)
        items[i] = Item{(unsigned)i, 0, 0};
    by_value.total = 3;
    sums<<<1, 100>>>(items, by_value);
    cudaDeviceSynchronize();
    for (unsigned i = 0; i < 100; i++)
        equal += items[i].rank == (i + 100) % 128 && items[i].group == i * 5 % 512 &&
                 items[i].total == (1ull << 40) + 3 * i;
    cudaFree(items);
    printf("%d sums are equal\n", equal);
    return run_cases();
}
