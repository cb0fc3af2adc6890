// Thrust in host code: vectors, iterators, algorithms, functors, placeholders and lambdas, with kernels on the same memory.
/* expect:
sum 36 36 72
saxpy 2 5 8 11
sorted 9 8 5 3 1
by key 1:c 2:b 2:d 5:a
scans 1 3 6 10, 0 1 3 6, 10 11 13 16
kept 0 2 4 6 8, 5 left
unique 1 2 3 1, reduced 1:3 2:3 1:4
kernel 0 1 4 9 16
found at 3, least 1 at 4, most 9 at 0
zip 11 22 33
dot 32, norm 5
counted 3, all yes, any no
permuted 40 10 30
bounds 2 4, there yes, merged 1 2 2 3 4 4
histogram 3 1 2
lambda 1 4 9, captured 13
inside 4
pairs 1 2
distance 4, reversed 4 3 2 1
managed 45 9
*/
#include <cmath>
#include <cstdio>
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

struct saxpy {
    const float a;
    saxpy(float x) : a(x) {}
    __host__ __device__ float operator()(const float &x, const float &y) const { return a * x + y; }
};
struct square {
    __device__ float operator()(float x) const { return x * x; }
};
struct is_even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct add_parts {
    template <typename T> __host__ __device__ void operator()(T t)
    {
        thrust::get<2>(t) = thrust::get<0>(t) + thrust::get<1>(t);
    }
};
struct in_circle {
    __host__ __device__ float operator()(unsigned seed) const
    {
        thrust::default_random_engine rng(seed);
        thrust::uniform_real_distribution<float> u(0, 1);
        rng.discard(seed);
        float n = 0;
        for (int i = 0; i < 4; i++) {
            const float x = u(rng), y = u(rng);
            n += x * x + y * y <= 2 ? 1.0f : 0.0f;
        }
        return n;
    }
};

__global__ void squares(int *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * x[i];
}

template <typename V> static void print(const char *name, const V &v, const char *end = "\n")
{
    printf("%s", name);
    for (size_t i = 0; i < v.size(); i++)
        printf(" %g", (double)v[i]);
    printf("%s", end);
}

int main()
{
    thrust::host_vector<int> h(8);
    thrust::sequence(h.begin(), h.end(), 1);
    thrust::device_vector<int> d = h;
    printf("sum %d %d %d\n", thrust::reduce(d.begin(), d.end()), thrust::reduce(h.begin(), h.end(), 0, thrust::plus<int>()),
           thrust::transform_reduce(d.begin(), d.end(), [] __host__ __device__(int x) { return 2 * x; }, 0, thrust::plus<int>()));

    thrust::device_vector<float> x(4), y(4, 2.0f);
    thrust::sequence(x.begin(), x.end());
    using namespace thrust::placeholders;
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), saxpy(2));
    thrust::transform(thrust::device, x.begin(), x.end(), y.begin(), y.begin(), 1.0f * _1 + _2);
    print("saxpy", y);

    const int some[] = {5, 3, 9, 1, 8};
    thrust::device_vector<int> s(some, some + 5);
    thrust::sort(s.begin(), s.end(), thrust::greater<int>());
    print("sorted", s);
    std::vector<int> keys = {5, 2, 1, 2};
    thrust::device_vector<int> k(keys.begin(), keys.end());
    thrust::device_vector<char> c(4);
    thrust::sequence(c.begin(), c.end(), 'a');
    thrust::stable_sort_by_key(k.begin(), k.end(), c.begin());
    printf("by key");
    for (int i = 0; i < 4; i++)
        printf(" %d:%c", (int)k[i], (char)c[i]);
    printf("\n");

    thrust::device_vector<int> a(4), b(4), e(4);
    thrust::inclusive_scan(d.begin(), d.begin() + 4, a.begin());
    thrust::exclusive_scan(d.begin(), d.begin() + 4, b.begin());
    thrust::exclusive_scan(d.begin(), d.begin() + 4, e.begin(), 10);
    print("scans", a, ",");
    print("", b, ",");
    print("", e);

    thrust::device_vector<int> all(10), kept(10);
    thrust::sequence(all.begin(), all.end());
    kept.resize(thrust::copy_if(all.begin(), all.end(), kept.begin(), is_even()) - kept.begin());
    all.erase(thrust::remove_if(all.begin(), all.end(), is_even()), all.end());
    print("kept", kept, ",");
    printf(" %d left\n", (int)all.size());

    const int runs[] = {1, 1, 1, 2, 3, 1};
    thrust::device_vector<int> u(runs, runs + 6), keys_out(6), sums(6);
    u.resize(thrust::unique(u.begin(), u.end()) - u.begin());
    print("unique", u, ", reduced");
    const int two[] = {1, 1, 1, 2, 1, 1, 1, 1};
    thrust::device_vector<int> t(two, two + 8), ones(8, 1);
    ones[3] = 3;
    auto ends = thrust::reduce_by_key(t.begin(), t.end(), ones.begin(), keys_out.begin(), sums.begin());
    for (int i = 0; i < ends.first - keys_out.begin(); i++)
        printf(" %d:%d", (int)keys_out[i], (int)sums[i]);
    printf("\n");

    thrust::device_vector<int> q(5);
    thrust::sequence(q.begin(), q.end());
    squares<<<1, 32>>>(thrust::raw_pointer_cast(q.data()), (int)q.size());
    print("kernel", q);
    printf("found at %d, least %d at %d, most %d at %d\n", (int)(thrust::find(q.begin(), q.end(), 9) - q.begin()),
           (int)*thrust::min_element(s.begin(), s.end()), (int)(thrust::min_element(s.begin(), s.end()) - s.begin()),
           (int)*thrust::max_element(s.begin(), s.end()), (int)(thrust::max_element(s.begin(), s.end()) - s.begin()));

    thrust::device_vector<int> p(3), r(3), z(3);
    thrust::sequence(p.begin(), p.end(), 1);
    thrust::sequence(r.begin(), r.end(), 10, 10);
    thrust::for_each(thrust::make_zip_iterator(thrust::make_tuple(p.begin(), r.begin(), z.begin())),
                     thrust::make_zip_iterator(thrust::make_tuple(p.end(), r.end(), z.end())), add_parts());
    print("zip", z);
    thrust::device_vector<float> v = std::vector<float>{3, 4};
    printf("dot %d, norm %g\n", thrust::inner_product(p.begin(), p.end(), thrust::make_counting_iterator(4), 0),
           std::sqrt(thrust::transform_reduce(v.begin(), v.end(), square(), 0.0f, thrust::plus<float>())));
    printf("counted %d, all %s, any %s\n", (int)thrust::count(t.begin(), t.begin() + 4, 1),
           thrust::all_of(p.begin(), p.end(), _1 > 0) ? "yes" : "no",
           thrust::any_of(p.begin(), p.end(), _1 > 3) ? "yes" : "no");

    const int map[] = {3, 0, 2};
    thrust::device_vector<int> m(map, map + 3), source(4), g(3);
    thrust::sequence(source.begin(), source.end(), 10, 10);
    thrust::gather(m.begin(), m.end(), source.begin(), g.begin());
    const bool same = thrust::equal(g.begin(), g.end(), thrust::make_permutation_iterator(source.begin(), m.begin()));
    print(same ? "permuted" : "wrong", g);

    const int in_order[] = {1, 2, 4, 4};
    thrust::device_vector<int> o(in_order, in_order + 4), both(6);
    const int more[] = {2, 3};
    thrust::device_vector<int> other(more, more + 2);
    thrust::merge(o.begin(), o.end(), other.begin(), other.end(), both.begin());
    printf("bounds %d %d, there %s,", (int)(thrust::lower_bound(o.begin(), o.end(), 3) - o.begin()),
           (int)(thrust::upper_bound(thrust::device, o.begin(), o.end(), 4) - o.begin()),
           thrust::binary_search(o.begin(), o.end(), 4) ? "yes" : "no");
    print(" merged", both);

    const int values[] = {0, 2, 0, 1, 2, 0};
    thrust::device_vector<int> w(values, values + 6), upper(3), bins(3);
    thrust::sort(w.begin(), w.end());
    thrust::counting_iterator<int> first(0);
    thrust::upper_bound(w.begin(), w.end(), first, first + 3, upper.begin());
    thrust::adjacent_difference(upper.begin(), upper.end(), bins.begin());
    print("histogram", bins);

    const int by = 10;
    thrust::transform(p.begin(), p.end(), z.begin(), [] __device__(int i) { return i * i; });
    print("lambda", z, ",");
    thrust::for_each(thrust::device, p.begin() + 2, p.end(), [=] __device__(int &i) { i += by; });
    printf(" captured %d\n", (int)p[2]);
    printf("inside %g\n", thrust::transform_reduce(thrust::make_counting_iterator(0), thrust::make_counting_iterator(16),
                                                   in_circle(), 0.0f, thrust::plus<float>()) / 16);
    thrust::pair<int, int> pair = thrust::make_pair(1, 2);
    printf("pairs %d %d\n", pair.first, pair.second);
    thrust::device_vector<int> back(a.size());
    thrust::sequence(a.begin(), a.end(), 1);
    thrust::reverse_copy(a.begin(), a.end(), back.begin());
    printf("distance %d,", (int)thrust::distance(a.begin(), a.end()));
    print(" reversed", back);

    int *raw;
    cudaMallocManaged(&raw, 10 * sizeof *raw);
    thrust::device_ptr<int> at(raw);
    thrust::fill(at, at + 10, 0);
    thrust::copy(thrust::make_counting_iterator(0), thrust::make_counting_iterator(10), at);
    printf("managed %d %d\n", thrust::reduce(thrust::device, raw, raw + 10), (int)at[9]);
    cudaFree(raw);
    return cudaGetLastError() != cudaSuccess;
}
