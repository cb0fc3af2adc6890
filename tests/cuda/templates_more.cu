// Templates: constructors, packs in any place, SFINAE, templates as parameters, specializations, tables that are
// computed at compile time; conversions and iterators. Each case runs on the device and on the host; what they record is the same.
/* opencl: IG-AS
expect:
9 cases, 0 differ
*/
#include "cases.h"
#include <type_traits>
#include <utility>

namespace ctor_template
{
struct V {
    float x, y;
    template <typename T> HD V(T a, T b) : x((float)a), y((float)b) {}
    template <typename U> HD explicit V(const U &u) : x((float)u.a), y((float)u.b) {}
    HD V() : x(0), y(0) {}
};
struct P {
    int a, b;
};
template <typename T> struct W {
    T v;
    HD W() : v() {}
    HD W(T v) : v(v) {}
    template <typename U> HD W(const W<U> &o) : v((T)o.v) {}
};
HD void test(Out &o)
{
    V v(1, 2), w(P{3, 4}), z{1.5f, 2.5f};
    o.put((int)(v.x + 10 * v.y + 100 * w.x + 1000 * w.y));
    o.put((int)(z.x * 2));
    W<int> i(7);
    W<float> f = i;
    W<double> g(f);
    o.put((int)f.v + (int)g.v);
    auto u = V(5, 6);
    o.put((int)u.y);
}
} // namespace ctor_template

namespace pack_first
{
template <typename... Ts, typename U> HD int f(U u, Ts... ts)
{
    return (int)u + (0 + ... + (int)ts);
}
template <typename... A> struct L {
};
template <typename... A, typename... B> HD int both(L<A...>, L<B...>)
{
    return (int)(sizeof...(A) * 10 + sizeof...(B));
}
template <int... Is> struct Seq {
};
template <int... Is, typename T> HD int at(Seq<Is...>, const T *x) { return (0 + ... + x[Is]); }
HD void test(Out &o)
{
    o.put(f(1, 2, 3.5f));
    o.put(both(L<int, float>(), L<char, int, long>()));
    int x[5] = {1, 2, 3, 4, 5};
    o.put(at(Seq<0, 2, 4>(), x));
}
} // namespace pack_first

namespace index_sequence
{
template <size_t... Is> HD int pick(const int *x, std::index_sequence<Is...>)
{
    return ((x[Is] * (int)(Is + 1)) + ...);
}
template <int N> HD int all(const int *x) { return pick(x, std::make_index_sequence<N>()); }
HD void test(Out &o)
{
    int x[5] = {1, 2, 3, 4, 5};
    o.put(all<5>(x));
    o.put(all<2>(x));
}
} // namespace index_sequence

namespace sfinae
{
template <typename T, typename = void> struct has_size {
    static constexpr bool value = false;
};
template <typename T> struct has_size<T, std::void_t<decltype(std::declval<T>().size())>> {
    static constexpr bool value = true;
};
struct A {
    HD int size() const { return 5; }
};
struct B {
};
template <typename T> HD typename std::enable_if<std::is_integral<T>::value, int>::type kind(T)
{
    return 1;
}
template <typename T>
HD typename std::enable_if<std::is_floating_point<T>::value, int>::type kind(T)
{
    return 2;
}
template <typename T, std::enable_if_t<has_size<T>::value, int> = 0> HD int size_of(const T &t)
{
    return t.size();
}
template <typename T, std::enable_if_t<!has_size<T>::value, int> = 0> HD int size_of(const T &)
{
    return -1;
}
template <typename T> HD auto len(const T &t) -> decltype(t.size()) { return t.size() + 1; }

template <typename T> HD int what()
{
    if constexpr (std::is_same_v<T, float>)
        return 1;
    else if constexpr (std::is_pointer_v<T>)
        return 2;
    else
        return 3;
}
HD void test(Out &o)
{
    o.put(has_size<A>::value * 10 + has_size<B>::value);
    o.put(kind(3) * 10 + kind(2.f));
    o.put(size_of(A()) * 10 + size_of(B()));
    o.put(len(A()));
    o.put(what<float>() * 100 + what<int *>() * 10 + what<char>());
}
} // namespace sfinae

namespace tuple
{
template <typename... T> struct Tuple;
template <> struct Tuple<> {
};
template <typename H, typename... T> struct Tuple<H, T...> : Tuple<T...> {
    H head;
    HD Tuple(H h, T... t) : Tuple<T...>(t...), head(h) {}
};
template <int I, typename T> struct Elem;
template <typename H, typename... T> struct Elem<0, Tuple<H, T...>> {
    using type = H;
    HD static type get(const Tuple<H, T...> &t) { return t.head; }
};
template <int I, typename H, typename... T> struct Elem<I, Tuple<H, T...>> {
    using type = typename Elem<I - 1, Tuple<T...>>::type;
    HD static type get(const Tuple<H, T...> &t) { return Elem<I - 1, Tuple<T...>>::get(t); }
};
template <int I, typename... T> HD typename Elem<I, Tuple<T...>>::type get(const Tuple<T...> &t)
{
    return Elem<I, Tuple<T...>>::get(t);
}
template <typename... T> HD Tuple<T...> make(T... t) { return Tuple<T...>(t...); }
HD void test(Out &o)
{
    auto t = make(1, 2.5f, 'a');
    o.put(get<0>(t));
    o.put((int)(get<1>(t) * 2));
    o.put(get<2>(t));
}
} // namespace tuple

namespace ttp
{
template <typename T> struct Plus {
    HD T operator()(T a, T b) const { return a + b; }
};
template <typename T> struct Max {
    HD T operator()(T a, T b) const { return a > b ? a : b; }
};
template <template <typename> class Op, typename T> HD T reduce(const T *x, int n)
{
    Op<T> op;
    T r = x[0];
    for (int i = 1; i < n; i++)
        r = op(r, x[i]);
    return r;
}
template <typename T, int N> struct Arr {
    T v[N];
};
template <template <typename, int> class C, typename T, int N> HD int count(const C<T, N> &)
{
    return N;
}
template <template <typename...> class H, typename... A> struct Apply {
    using type = H<A...>;
};
template <typename A, typename B> struct Two {
    A a;
    B b;
};
HD void test(Out &o)
{
    int x[4] = {3, 9, 2, 1};
    o.put(reduce<Plus>(x, 4));
    o.put(reduce<Max>(x, 4));
    Arr<int, 6> a;
    o.put(count(a));
    Apply<Two, int, float>::type t = {3, 1.5f};
    o.put(t.a + (int)t.b);
}
} // namespace ttp

namespace partial
{
template <typename T, int N> struct Vec {
    static constexpr int kind = 0;
};
template <typename T> struct Vec<T, 1> {
    static constexpr int kind = 1;
};
template <int N> struct Vec<float, N> {
    static constexpr int kind = 2;
};
template <> struct Vec<float, 1> {
    static constexpr int kind = 3;
};
template <typename T> struct Vec<T *, 4> {
    static constexpr int kind = 4;
};
template <typename T> HD T zero() { return T(0); }
template <> HD float zero<float>() { return 0.5f; }
template <typename T> HD int f(T) { return 1; }
template <typename T> HD int f(T *) { return 2; }
template <> HD int f(int *) { return 3; }
HD void test(Out &o)
{
    o.put(Vec<int, 2>::kind * 10000 + Vec<int, 1>::kind * 1000 + Vec<float, 3>::kind * 100 +
          Vec<float, 1>::kind * 10 + Vec<int *, 4>::kind);
    o.put((int)(zero<float>() * 2) + zero<int>());
    int i = 0;
    float g = 0;
    o.put(f(1) * 100 + f(&g) * 10 + f(&i));
}
} // namespace partial

namespace tables
{
struct Table {
    int v[16];
    constexpr HD Table() : v()
    {
        for (int i = 0; i < 16; i++)
            v[i] = i * i % 7;
    }
    constexpr HD int operator[](int i) const { return v[i]; }
};
constexpr HD unsigned crc(unsigned c)
{
    for (int k = 0; k < 8; k++)
        c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    return c;
}
template <int N> struct Crc {
    unsigned t[N];
    constexpr Crc() : t{}
    {
        for (int i = 0; i < N; i++)
            t[i] = crc(i);
    }
};
__constant__ const Crc<32> dev_table{};
static constexpr int primes[] = {2, 3, 5, 7, 11};
constexpr int sum()
{
    int s = 0;
    for (int p : primes)
        s += p;
    return s;
}
HD void test(Out &o)
{
    constexpr Table t;
    o.put(t[3] * 100 + t[5]);
    constexpr Crc<16> c{};
    o.put((int)(c.t[9] >> 4));
    o.put(sum());
    int r = 0;
    for (int p : primes)
        r = r * 3 + p;
    o.put(r);
}
} // namespace tables

namespace conversions
{
struct Deg {
    float v;
    HD operator float() const { return v * 2; }
    HD explicit operator bool() const { return v != 0; }
};
struct Ptr {
    int *p;
    HD operator int *() const { return p; }
    HD int &operator*() const { return *p; }
    HD int *operator->() const { return p; }
    HD explicit operator bool() const { return p; }
};

struct It {
    int i;
    HD bool operator!=(const It &o) const { return i != o.i; }
    HD It &operator++()
    {
        i++;
        return *this;
    }
    HD int operator*() const { return i * i; }
};
struct Range {
    int a, b;
    HD It begin() const { return It{a}; }
    HD It end() const { return It{b}; }
};
HD void test(Out &o)
{
    Deg d{3};
    float f = d;
    o.put((int)(f + d));
    o.put(d ? 1 : 0);
    int x = 5;
    Ptr p{&x};
    int *q = p;
    *p += 1;
    o.put(*q);
    if (p)
        o.put(p[0]);
    int s = 0;
    for (int v : Range{1, 5})
        s += v;
    o.put(s);
    Range r{2, 4};
    for (auto v : r)
        o.put(v);
}
} // namespace conversions

#define CASES(X) \
    X(ctor_template) \
    X(pack_first) X(index_sequence) X(sfinae) X(tuple) X(ttp) X(partial) X(tables) X(conversions)

#include "run_cases.h"

int main() { return run_cases(); }
