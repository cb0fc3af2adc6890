/* Thrust's algorithms as loops of the host: see ingot_thrust.h, which includes this file. Sorts are stable. */
#ifndef INGOT_THRUST_ALGORITHMS_H
#define INGOT_THRUST_ALGORITHMS_H

#include <numeric>

namespace thrust
{
template <typename I> void ig_check(const I &) {}
template <typename T> void ig_check(T *p) { ig_check_pointer((const void *)p); }
template <typename T> void ig_check(const device_ptr<T> &p) { ig_check_pointer((const void *)p.at); }
/* Before an algorithm reads or writes through its iterators. */
template <typename... I> void ig_begin(const I &...i)
{
    ig_wait();
    (ig_check(i), ...);
}
template <typename I> using ig_value = typename std::iterator_traits<I>::value_type;
template <typename I> using ig_category = typename std::iterator_traits<I>::iterator_category;
#define IG_T template <typename
/* The same with a policy before the other arguments. */
#define IG_WITH_POLICY(name) \
    template <typename... A> auto name(const ig_policy &, A &&...a)->decltype(name(std::forward<A>(a)...)) \
    { \
        return name(std::forward<A>(a)...); \
    }

/* ---- elements one by one ---- */

IG_T I, typename F> I for_each(I from, I to, F f)
{
    ig_begin(from);
    for (; from != to; ++from)
        f(*from);
    return to;
}
IG_T I, typename N, typename F> I for_each_n(I from, N n, F f)
{
    ig_begin(from);
    for (; n > 0; --n, ++from)
        f(*from);
    return from;
}
IG_T I, typename O, typename F> O transform(I from, I to, O out, F f)
{
    ig_begin(from, out);
    for (; from != to; ++from, ++out)
        *out = f(*from);
    return out;
}
IG_T I, typename J, typename O, typename F> O transform(I from, I to, J other, O out, F f)
{
    ig_begin(from, other, out);
    for (; from != to; ++from, ++other, ++out)
        *out = f(*from, *other);
    return out;
}
IG_T I, typename O, typename F, typename P> O transform_if(I from, I to, O out, F f, P test)
{
    ig_begin(from, out);
    for (; from != to; ++from, ++out)
        if (test(*from))
            *out = f(*from);
    return out;
}
IG_T I, typename S, typename O, typename F, typename P> O transform_if(I from, I to, S stencil, O out, F f, P test)
{
    ig_begin(from, stencil, out);
    for (; from != to; ++from, ++stencil, ++out)
        if (test(*stencil))
            *out = f(*from);
    return out;
}
IG_T I, typename T> void fill(I from, I to, const T &value)
{
    ig_begin(from);
    for (; from != to; ++from)
        *from = value;
}
IG_T I, typename N, typename T> I fill_n(I from, N n, const T &value)
{
    ig_begin(from);
    for (; n > 0; --n, ++from)
        *from = value;
    return from;
}
IG_T I, typename T> void uninitialized_fill(I from, I to, const T &value) { thrust::fill(from, to, value); }
IG_T I, typename F> void generate(I from, I to, F f)
{
    ig_begin(from);
    for (; from != to; ++from)
        *from = f();
}
IG_T I, typename F> void tabulate(I from, I to, F f)
{
    ig_begin(from);
    for (ptrdiff_t n = 0; from != to; ++from, ++n)
        *from = f(n);
}
IG_T I, typename T> void sequence(I from, I to, T first, T step)
{
    ig_begin(from);
    for (ptrdiff_t n = 0; from != to; ++from, ++n)
        *from = (ig_value<I>)(first + step * (T)n);
}
IG_T I, typename T> void sequence(I from, I to, T first) { thrust::sequence(from, to, first, (T)1); }
IG_T I> void sequence(I from, I to) { thrust::sequence(from, to, (ig_value<I>)0, (ig_value<I>)1); }
IG_T I, typename O> O copy(I from, I to, O out)
{
    ig_begin(from, out);
    return std::copy(from, to, out);
}
IG_T I, typename N, typename O> O copy_n(I from, N n, O out)
{
    ig_begin(from, out);
    for (; n > 0; --n, ++from, ++out)
        *out = *from;
    return out;
}
IG_T I, typename O> O uninitialized_copy(I from, I to, O out) { return thrust::copy(from, to, out); }
IG_T I, typename O, typename P> O copy_if(I from, I to, O out, P test)
{
    ig_begin(from, out);
    for (; from != to; ++from)
        if (test(*from)) {
            *out = *from;
            ++out;
        }
    return out;
}
IG_T I, typename S, typename O, typename P> O copy_if(I from, I to, S stencil, O out, P test)
{
    ig_begin(from, stencil, out);
    for (; from != to; ++from, ++stencil)
        if (test(*stencil)) {
            *out = *from;
            ++out;
        }
    return out;
}
IG_T I, typename P> I remove_if(I from, I to, P test) { return thrust::copy_if(from, to, from, ig_not<P>{test}); }
IG_T I, typename S, typename P> I remove_if(I from, I to, S stencil, P test)
{
    return thrust::copy_if(from, to, stencil, from, ig_not<P>{test});
}
IG_T I, typename T> I remove(I from, I to, const T &value)
{
    return thrust::copy_if(from, to, from, [&value](const auto &x) { return !(x == value); });
}
IG_T I, typename O, typename P> O remove_copy_if(I from, I to, O out, P test)
{
    return thrust::copy_if(from, to, out, ig_not<P>{test});
}
IG_T I, typename O, typename T> O remove_copy(I from, I to, O out, const T &value)
{
    return thrust::copy_if(from, to, out, [&value](const auto &x) { return !(x == value); });
}
IG_T I, typename P, typename T> void replace_if(I from, I to, P test, const T &value)
{
    ig_begin(from);
    for (; from != to; ++from)
        if (test(*from))
            *from = value;
}
IG_T I, typename S, typename P, typename T> void replace_if(I from, I to, S stencil, P test, const T &value)
{
    ig_begin(from, stencil);
    for (; from != to; ++from, ++stencil)
        if (test(*stencil))
            *from = value;
}
IG_T I, typename T> void replace(I from, I to, const T &old, const T &value)
{
    thrust::replace_if(from, to, [&old](const auto &x) { return x == old; }, value);
}
IG_T I, typename O> O reverse_copy(I from, I to, O out)
{
    ig_begin(from, out);
    while (to != from) {
        *out = *--to;
        ++out;
    }
    return out;
}
IG_T I> void reverse(I from, I to)
{
    ig_begin(from);
    while (from != to && from != --to) {
        const ig_value<I> kept = *from;
        *from = (ig_value<I>)*to;
        *to = kept;
        ++from;
    }
}
IG_T I, typename J> J swap_ranges(I from, I to, J other)
{
    ig_begin(from, other);
    for (; from != to; ++from, ++other) {
        const ig_value<I> kept = *from;
        *from = (ig_value<I>)*other;
        *other = kept;
    }
    return other;
}
IG_T M, typename I, typename O> O gather(M from, M to, I in, O out)
{
    ig_begin(from, in, out);
    for (; from != to; ++from, ++out)
        *out = in[(ptrdiff_t)*from];
    return out;
}
IG_T I, typename M, typename O> void scatter(I from, I to, M map, O out)
{
    ig_begin(from, map, out);
    for (; from != to; ++from, ++map)
        out[(ptrdiff_t)*map] = *from;
}
IG_T I, typename M, typename S, typename O> void scatter_if(I from, I to, M map, S stencil, O out)
{
    ig_begin(from, map, stencil, out);
    for (; from != to; ++from, ++map, ++stencil)
        if (*stencil)
            out[(ptrdiff_t)*map] = *from;
}
IG_T I, typename O, typename F> O adjacent_difference(I from, I to, O out, F f)
{
    ig_begin(from, out);
    if (from == to)
        return out;
    ig_value<I> before = *from;
    for (*out = before, ++from, ++out; from != to; ++from, ++out) {
        const ig_value<I> x = *from;
        *out = f(x, before);
        before = x;
    }
    return out;
}
IG_T I, typename O> O adjacent_difference(I from, I to, O out)
{
    return thrust::adjacent_difference(from, to, out, minus<>());
}

/* ---- reductions ---- */

IG_T I, typename T, typename F> T reduce(I from, I to, T sum, F f)
{
    ig_begin(from);
    for (; from != to; ++from)
        sum = f(sum, *from);
    return sum;
}
IG_T I, typename T> T reduce(I from, I to, T sum) { return thrust::reduce(from, to, sum, plus<>()); }
IG_T I> ig_value<I> reduce(I from, I to) { return thrust::reduce(from, to, ig_value<I>(), plus<>()); }
IG_T I, typename U, typename T, typename F> T transform_reduce(I from, I to, U change, T sum, F f)
{
    ig_begin(from);
    for (; from != to; ++from)
        sum = f(sum, change(*from));
    return sum;
}
IG_T I, typename J, typename T, typename F, typename G> T inner_product(I from, I to, J other, T sum, F f, G g)
{
    ig_begin(from, other);
    for (; from != to; ++from, ++other)
        sum = f(sum, g(*from, *other));
    return sum;
}
IG_T I, typename J, typename T> T inner_product(I from, I to, J other, T sum)
{
    return thrust::inner_product(from, to, other, sum, plus<>(), multiplies<>());
}
IG_T K, typename V, typename L, typename W, typename E, typename F>
pair<L, W> reduce_by_key(K from, K to, V values, L keys_out, W out, E same, F f)
{
    ig_begin(from, values, keys_out, out);
    while (from != to) {
        const ig_value<K> key = *from;
        ig_value<V> sum = *values;
        for (++from, ++values; from != to && same(key, *from); ++from, ++values)
            sum = f(sum, *values);
        *keys_out = key;
        *out = sum;
        ++keys_out;
        ++out;
    }
    return {keys_out, out};
}
IG_T K, typename V, typename L, typename W, typename E>
pair<L, W> reduce_by_key(K from, K to, V values, L keys_out, W out, E same)
{
    return thrust::reduce_by_key(from, to, values, keys_out, out, same, plus<>());
}
IG_T K, typename V, typename L, typename W> pair<L, W> reduce_by_key(K from, K to, V values, L keys_out, W out)
{
    return thrust::reduce_by_key(from, to, values, keys_out, out, equal_to<>(), plus<>());
}
IG_T I, typename P> ptrdiff_t count_if(I from, I to, P test)
{
    ig_begin(from);
    ptrdiff_t n = 0;
    for (; from != to; ++from)
        n += test(*from) ? 1 : 0;
    return n;
}
IG_T I, typename T> ptrdiff_t count(I from, I to, const T &value)
{
    return thrust::count_if(from, to, [&value](const auto &x) { return x == value; });
}
IG_T I, typename F> pair<I, I> minmax_element(I from, I to, F less)
{
    ig_begin(from);
    I least = from, most = from;
    for (; from != to; ++from) {
        least = less(*from, *least) ? from : least;
        most = less(*most, *from) ? from : most;
    }
    return {least, most};
}
IG_T I> pair<I, I> minmax_element(I from, I to) { return thrust::minmax_element(from, to, less<>()); }
IG_T I, typename F> I min_element(I from, I to, F less) { return thrust::minmax_element(from, to, less).first; }
IG_T I> I min_element(I from, I to) { return thrust::minmax_element(from, to).first; }
IG_T I, typename F> I max_element(I from, I to, F less) { return thrust::minmax_element(from, to, less).second; }
IG_T I> I max_element(I from, I to) { return thrust::minmax_element(from, to).second; }

/* ---- searches ---- */

IG_T I, typename P> I find_if(I from, I to, P test)
{
    ig_begin(from);
    while (from != to && !test(*from))
        ++from;
    return from;
}
IG_T I, typename P> I find_if_not(I from, I to, P test) { return thrust::find_if(from, to, ig_not<P>{test}); }
IG_T I, typename T> I find(I from, I to, const T &value)
{
    return thrust::find_if(from, to, [&value](const auto &x) { return x == value; });
}
IG_T I, typename P> bool any_of(I from, I to, P test) { return thrust::find_if(from, to, test) != to; }
IG_T I, typename P> bool none_of(I from, I to, P test) { return thrust::find_if(from, to, test) == to; }
IG_T I, typename P> bool all_of(I from, I to, P test) { return thrust::find_if_not(from, to, test) == to; }
IG_T I, typename J, typename F> pair<I, J> mismatch(I from, I to, J other, F same)
{
    ig_begin(from, other);
    for (; from != to && same(*from, *other); ++other)
        ++from;
    return {from, other};
}
IG_T I, typename J> pair<I, J> mismatch(I from, I to, J other) { return thrust::mismatch(from, to, other, equal_to<>()); }
IG_T I, typename J, typename F> bool equal(I from, I to, J other, F same)
{
    return thrust::mismatch(from, to, other, same).first == to;
}
IG_T I, typename J> bool equal(I from, I to, J other) { return thrust::equal(from, to, other, equal_to<>()); }
IG_T I, typename F> I is_sorted_until(I from, I to, F less)
{
    ig_begin(from);
    if (from != to)
        for (I before = from++; from != to; before = from++)
            if (less(*from, *before))
                break;
    return from;
}
IG_T I> I is_sorted_until(I from, I to) { return thrust::is_sorted_until(from, to, less<>()); }
IG_T I, typename F> bool is_sorted(I from, I to, F less) { return thrust::is_sorted_until(from, to, less) == to; }
IG_T I> bool is_sorted(I from, I to) { return thrust::is_sorted_until(from, to) == to; }

/* The first place whose element fails the test; all after it fail too. */
IG_T I, typename P> I partition_point(I from, I to, P test)
{
    ig_begin(from);
    for (ptrdiff_t n = to - from; n > 0;) {
        const ptrdiff_t half = n / 2;
        const bool later = test(from[half]);
        from += later ? half + 1 : 0;
        n = later ? n - half - 1 : half;
    }
    return from;
}
#define IG_BOUND(name, condition) \
    IG_T I, typename T, typename F, typename = std::enable_if_t<!std::is_same<std::decay_t<T>, I>::value || \
                                                                !std::is_pointer<I>::value>> \
    auto name(I from, I to, const T &value, F less)->decltype(less(*from, value), I()) \
    { \
        return thrust::partition_point(from, to, [&](const auto &x) { return condition; }); \
    } \
    IG_T I, typename T> I name(I from, I to, const T &value) { return name(from, to, value, thrust::less<>()); } \
    IG_T I, typename V, typename O, typename F> O name(I from, I to, V values, V end, O out, F less) \
    { \
        for (; values != end; ++values, ++out) \
            *out = name(from, to, (ig_value<V>)*values, less) - from; \
        return out; \
    } \
    IG_T I, typename V, typename O, typename = ig_category<V>> O name(I from, I to, V values, V end, O out) \
    { \
        return name(from, to, values, end, out, thrust::less<>()); \
    }
IG_BOUND(lower_bound, less(x, value))
IG_BOUND(upper_bound, !less(value, x))
#undef IG_BOUND
IG_T I, typename T> bool binary_search(I from, I to, const T &value)
{
    const I at = thrust::lower_bound(from, to, value);
    return at != to && !(value < *at);
}
IG_T I, typename V, typename O> O binary_search(I from, I to, V values, V end, O out)
{
    for (; values != end; ++values, ++out)
        *out = thrust::binary_search(from, to, (ig_value<V>)*values);
    return out;
}

/* ---- scans; an output may be the input ---- */

IG_T I, typename O, typename T, typename F> O ig_scan(I from, I to, O out, T sum, F f, bool first, bool before)
{
    ig_begin(from, out);
    for (; from != to; ++from, ++out, first = false) {
        const T old = sum;
        sum = first ? (T)*from : (T)f(sum, *from);
        *out = before ? old : sum;
    }
    return out;
}
IG_T I, typename O, typename F> O inclusive_scan(I from, I to, O out, F f)
{
    return ig_scan(from, to, out, ig_value<I>(), f, true, false);
}
IG_T I, typename O, typename T, typename F> O inclusive_scan(I from, I to, O out, T init, F f)
{
    return ig_scan(from, to, out, init, f, false, false);
}
IG_T I, typename O> O inclusive_scan(I from, I to, O out) { return thrust::inclusive_scan(from, to, out, plus<>()); }
IG_T I, typename O, typename T, typename F> O exclusive_scan(I from, I to, O out, T init, F f)
{
    return ig_scan(from, to, out, init, f, false, true);
}
IG_T I, typename O, typename T> O exclusive_scan(I from, I to, O out, T init)
{
    return thrust::exclusive_scan(from, to, out, init, plus<>());
}
IG_T I, typename O> O exclusive_scan(I from, I to, O out) { return thrust::exclusive_scan(from, to, out, ig_value<I>()); }
IG_T I, typename O, typename U, typename F> O transform_inclusive_scan(I from, I to, O out, U change, F f)
{
    const transform_iterator<U, I> a(from, change), b(to, change);
    return thrust::inclusive_scan(a, b, out, f);
}
IG_T I, typename O, typename U, typename T, typename F>
O transform_exclusive_scan(I from, I to, O out, U change, T init, F f)
{
    const transform_iterator<U, I> a(from, change), b(to, change);
    return thrust::exclusive_scan(a, b, out, init, f);
}
IG_T K, typename V, typename O, typename T, typename E, typename F>
O ig_scan_by_key(K from, K to, V values, O out, T init, E same, F f, bool before)
{
    ig_begin(from, values, out);
    T sum = init;
    bool first = true;
    ig_value<K> key{};
    for (; from != to; ++from, ++values, ++out) {
        first = first || !same(key, *from);
        key = *from;
        const T x = *values, old = first ? init : sum;
        sum = first && !before ? x : (T)f(old, x);
        *out = before ? old : sum;
        first = false;
    }
    return out;
}
IG_T K, typename V, typename O, typename E, typename F>
O inclusive_scan_by_key(K from, K to, V values, O out, E same, F f)
{
    return ig_scan_by_key(from, to, values, out, ig_value<V>(), same, f, false);
}
IG_T K, typename V, typename O, typename E> O inclusive_scan_by_key(K from, K to, V values, O out, E same)
{
    return thrust::inclusive_scan_by_key(from, to, values, out, same, plus<>());
}
IG_T K, typename V, typename O> O inclusive_scan_by_key(K from, K to, V values, O out)
{
    return thrust::inclusive_scan_by_key(from, to, values, out, equal_to<>(), plus<>());
}
IG_T K, typename V, typename O, typename T, typename E, typename F>
O exclusive_scan_by_key(K from, K to, V values, O out, T init, E same, F f)
{
    return ig_scan_by_key(from, to, values, out, init, same, f, true);
}
IG_T K, typename V, typename O, typename T> O exclusive_scan_by_key(K from, K to, V values, O out, T init)
{
    return thrust::exclusive_scan_by_key(from, to, values, out, init, equal_to<>(), plus<>());
}
IG_T K, typename V, typename O> O exclusive_scan_by_key(K from, K to, V values, O out)
{
    return thrust::exclusive_scan_by_key(from, to, values, out, ig_value<V>());
}

/* ---- sorted sequences ---- */

IG_T I, typename F> void stable_sort(I from, I to, F less)
{
    ig_begin(from);
    std::vector<ig_value<I>> all(from, to);
    std::stable_sort(all.begin(), all.end(), less);
    std::copy(all.begin(), all.end(), from);
}
IG_T I> void stable_sort(I from, I to) { thrust::stable_sort(from, to, less<>()); }
IG_T I, typename F> void sort(I from, I to, F less) { thrust::stable_sort(from, to, less); }
IG_T I> void sort(I from, I to) { thrust::stable_sort(from, to, less<>()); }
IG_T K, typename V, typename F> void stable_sort_by_key(K from, K to, V values, F less)
{
    ig_begin(from, values);
    const std::vector<ig_value<K>> keys(from, to);
    const std::vector<ig_value<V>> old(values, values + (to - from));
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), (size_t)0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(keys[a], keys[b]); });
    for (const size_t i : order) {
        *from = (ig_value<K>)keys[i];
        *values = (ig_value<V>)old[i];
        ++from;
        ++values;
    }
}
IG_T K, typename V> void stable_sort_by_key(K from, K to, V values)
{
    thrust::stable_sort_by_key(from, to, values, less<>());
}
IG_T K, typename V, typename F> void sort_by_key(K from, K to, V values, F less)
{
    thrust::stable_sort_by_key(from, to, values, less);
}
IG_T K, typename V> void sort_by_key(K from, K to, V values) { thrust::stable_sort_by_key(from, to, values, less<>()); }
IG_T I, typename O, typename E> O unique_copy(I from, I to, O out, E same)
{
    ig_begin(from, out);
    while (from != to) {
        const ig_value<I> kept = *from;
        for (++from; from != to && same(kept, *from);)
            ++from;
        *out = kept;
        ++out;
    }
    return out;
}
IG_T I, typename O> O unique_copy(I from, I to, O out) { return thrust::unique_copy(from, to, out, equal_to<>()); }
IG_T I, typename E> I unique(I from, I to, E same) { return thrust::unique_copy(from, to, from, same); }
IG_T I> I unique(I from, I to) { return thrust::unique_copy(from, to, from, equal_to<>()); }
IG_T K, typename V, typename L, typename W> pair<L, W> unique_by_key_copy(K from, K to, V values, L keys_out, W out)
{
    return thrust::reduce_by_key(from, to, values, keys_out, out, equal_to<>(), project1st<>());
}
IG_T K, typename V> pair<K, V> unique_by_key(K from, K to, V values)
{
    return thrust::unique_by_key_copy(from, to, values, from, values);
}
/* By a function of std::, on copies of the two sequences. */
#define IG_OF_TWO(name) \
    IG_T I, typename J, typename O, typename F> O name(I from, I to, J other, J end, O out, F less) \
    { \
        ig_begin(from, other, out); \
        const std::vector<ig_value<I>> a(from, to); \
        const std::vector<ig_value<J>> b(other, end); \
        std::vector<ig_value<I>> made; \
        std::name(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(made), less); \
        return std::copy(made.begin(), made.end(), out); \
    } \
    IG_T I, typename J, typename O> O name(I from, I to, J other, J end, O out) \
    { \
        return name(from, to, other, end, out, thrust::less<>()); \
    }
IG_OF_TWO(merge)
IG_OF_TWO(set_union)
IG_OF_TWO(set_intersection)
IG_OF_TWO(set_difference)
IG_OF_TWO(set_symmetric_difference)
#undef IG_OF_TWO
IG_T I, typename P> I stable_partition(I from, I to, P test)
{
    ig_begin(from);
    const std::vector<ig_value<I>> all(from, to);
    const I middle = std::copy_if(all.begin(), all.end(), from, test);
    std::copy_if(all.begin(), all.end(), middle, ig_not<P>{test});
    return middle;
}
IG_T I, typename P> I partition(I from, I to, P test) { return thrust::stable_partition(from, to, test); }
IG_T I, typename O, typename Q, typename P> pair<O, Q> partition_copy(I from, I to, O yes, Q no, P test)
{
    ig_begin(from, yes, no);
    for (; from != to; ++from)
        if (test(*from)) {
            *yes = *from;
            ++yes;
        } else {
            *no = *from;
            ++no;
        }
    return {yes, no};
}
IG_T I, typename G> void shuffle(I from, I to, G &&g)
{
    ig_begin(from);
    std::vector<ig_value<I>> all(from, to);
    std::shuffle(all.begin(), all.end(), g);
    std::copy(all.begin(), all.end(), from);
}
using std::advance;
using std::distance;

/* clang-format off */
IG_WITH_POLICY(for_each) IG_WITH_POLICY(for_each_n) IG_WITH_POLICY(transform) IG_WITH_POLICY(transform_if)
IG_WITH_POLICY(fill) IG_WITH_POLICY(fill_n) IG_WITH_POLICY(uninitialized_fill) IG_WITH_POLICY(generate)
IG_WITH_POLICY(tabulate) IG_WITH_POLICY(sequence) IG_WITH_POLICY(copy) IG_WITH_POLICY(copy_n)
IG_WITH_POLICY(uninitialized_copy) IG_WITH_POLICY(copy_if) IG_WITH_POLICY(remove_if) IG_WITH_POLICY(remove)
IG_WITH_POLICY(remove_copy_if) IG_WITH_POLICY(remove_copy) IG_WITH_POLICY(replace_if) IG_WITH_POLICY(replace)
IG_WITH_POLICY(reverse_copy) IG_WITH_POLICY(reverse) IG_WITH_POLICY(swap_ranges) IG_WITH_POLICY(gather)
IG_WITH_POLICY(scatter) IG_WITH_POLICY(scatter_if) IG_WITH_POLICY(adjacent_difference) IG_WITH_POLICY(reduce)
IG_WITH_POLICY(transform_reduce) IG_WITH_POLICY(inner_product) IG_WITH_POLICY(reduce_by_key) IG_WITH_POLICY(count_if)
IG_WITH_POLICY(count) IG_WITH_POLICY(minmax_element) IG_WITH_POLICY(min_element) IG_WITH_POLICY(max_element)
IG_WITH_POLICY(find_if) IG_WITH_POLICY(find_if_not) IG_WITH_POLICY(find) IG_WITH_POLICY(any_of)
IG_WITH_POLICY(none_of) IG_WITH_POLICY(all_of) IG_WITH_POLICY(mismatch) IG_WITH_POLICY(equal)
IG_WITH_POLICY(is_sorted_until) IG_WITH_POLICY(is_sorted) IG_WITH_POLICY(partition_point)
IG_WITH_POLICY(lower_bound) IG_WITH_POLICY(upper_bound) IG_WITH_POLICY(binary_search)
IG_WITH_POLICY(inclusive_scan) IG_WITH_POLICY(exclusive_scan) IG_WITH_POLICY(transform_inclusive_scan)
IG_WITH_POLICY(transform_exclusive_scan) IG_WITH_POLICY(inclusive_scan_by_key) IG_WITH_POLICY(exclusive_scan_by_key)
IG_WITH_POLICY(stable_sort) IG_WITH_POLICY(sort) IG_WITH_POLICY(stable_sort_by_key) IG_WITH_POLICY(sort_by_key)
IG_WITH_POLICY(unique_copy) IG_WITH_POLICY(unique) IG_WITH_POLICY(unique_by_key_copy) IG_WITH_POLICY(unique_by_key)
IG_WITH_POLICY(merge) IG_WITH_POLICY(set_union) IG_WITH_POLICY(set_intersection) IG_WITH_POLICY(set_difference)
IG_WITH_POLICY(set_symmetric_difference) IG_WITH_POLICY(stable_partition) IG_WITH_POLICY(partition)
IG_WITH_POLICY(partition_copy) IG_WITH_POLICY(shuffle)
/* clang-format on */
#undef IG_WITH_POLICY
#undef IG_T
} // namespace thrust

#endif
