// Thrust as its examples use it: run lengths, strided ranges, zipped sorts, statistics, streams and device-only functors.
/* expect:
(a,3)(b,5)(c,1)(d,2)(e,9)(f,2)
dot 14 14 14
rows 15 15
1/6 1/8 3/7 3/9, 4 unique
least 1 most 3
10 30 50 70, then 0 20 0 40
mean 10 variance 30 of 4 in [4, 16]
9 4 1, 0 1 5 14
1.5 2.5 3, 4 elements
*/
#include <cstdio>
#include <iostream>
#include <iterator>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

typedef thrust::tuple<float, float, float> float_3;
struct dot_product {
    __host__ __device__ float operator()(const float_3 &a, const float_3 &b) const
    {
        return thrust::get<0>(a) * thrust::get<0>(b) + thrust::get<1>(a) * thrust::get<1>(b) +
               thrust::get<2>(a) * thrust::get<2>(b);
    }
};
struct row_of {
    int columns;
    __host__ __device__ explicit row_of(int n) : columns(n) {}
    __host__ __device__ int operator()(int i) const { return i / columns; }
};
struct by_both {
    __host__ __device__ bool operator()(const thrust::tuple<int, int> &a, const thrust::tuple<int, int> &b) const
    {
        return thrust::get<0>(a) < thrust::get<0>(b) ||
               (thrust::get<0>(a) == thrust::get<0>(b) && thrust::get<1>(a) < thrust::get<1>(b));
    }
};
struct times {
    ptrdiff_t by;
    __device__ ptrdiff_t operator()(ptrdiff_t i) const { return by * i; }
};
struct moments {
    float n, least, most, mean, m2;
};
struct one_value {
    __host__ __device__ moments operator()(float x) const { return {1, x, x, x, 0}; }
};
struct join {
    __host__ __device__ moments operator()(const moments &x, const moments &y) const
    {
        const float n = x.n + y.n, delta = y.mean - x.mean;
        return {n, thrust::min(x.least, y.least), thrust::max(x.most, y.most), x.mean + delta * y.n / n,
                x.m2 + y.m2 + delta * delta * x.n * y.n / n};
    }
};

int main()
{
    const char text[] = "aaabbbbbcddeeeeeeeeeff";
    thrust::device_vector<char> input(text, text + sizeof text - 1), letters(input.size());
    thrust::device_vector<int> lengths(input.size());
    const auto end = thrust::reduce_by_key(input.begin(), input.end(), thrust::constant_iterator<int>(1), letters.begin(),
                                           lengths.begin()).first;
    for (int i = 0; i < end - letters.begin(); i++)
        std::cout << "(" << letters[i] << "," << lengths[i] << ")";
    std::cout << std::endl;

    thrust::device_vector<float> x(3, 1.0f), y(3, 2.0f), z(3, 3.0f), r(3);
    const auto first = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin(), z.begin()));
    thrust::transform(first, first + 3, first, r.begin(), dot_product());
    printf("dot %g %g %g\n", (float)r[0], (float)r[1], (float)r[2]);

    thrust::device_vector<int> values(6, 5), sums(2), rows(2);
    const auto row = thrust::make_transform_iterator(thrust::counting_iterator<int>(0), row_of(3));
    thrust::reduce_by_key(row, row + 6, values.begin(), rows.begin(), sums.begin(), thrust::equal_to<int>(), thrust::plus<int>());
    printf("rows %d %d\n", (int)sums[0], (int)sums[1]);

    const int keys[] = {3, 1, 3, 1}, others[] = {9, 8, 7, 6};
    thrust::device_vector<int> a(keys, keys + 4), b(others, others + 4);
    const auto both = thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin()));
    thrust::sort(both, both + 4, by_both());
    printf("%d/%d %d/%d %d/%d %d/%d, %d unique\n", (int)a[0], (int)b[0], (int)a[1], (int)b[1], (int)a[2], (int)b[2], (int)a[3],
           (int)b[3], (int)(thrust::unique(both, both + 4) - both));
    const auto ends = thrust::minmax_element(a.begin(), a.end());
    printf("least %d most %d\n", (int)*ends.first, (int)*ends.second);

    thrust::device_vector<int> data(8);
    for (int i = 0; i < 8; i++)
        data[i] = 10 * (i + 1);
    const auto even = thrust::make_permutation_iterator(
        data.begin(), thrust::make_transform_iterator(thrust::counting_iterator<ptrdiff_t>(0), times{2}));
    thrust::host_vector<int> got(even, even + 4);
    printf("%d %d %d %d, then", got[0], got[1], got[2], got[3]);
    thrust::fill(even, even + 4, 0);
    for (int i = 0; i < 4; i++)
        printf(" %d", (int)data[i]);
    const float some[] = {4, 7, 13, 16};
    thrust::device_vector<float> sample(some, some + 4);
    const moments all = thrust::transform_reduce(sample.begin(), sample.end(), one_value(), moments{0, 1e30f, -1e30f, 0, 0}, join());
    printf("\nmean %g variance %g of %g in [%g, %g]\n", all.mean, all.m2 / (all.n - 1), all.n, all.least, all.most);

    cudaStream_t stream;
    cudaStreamCreate(&stream);
    thrust::device_vector<int> s(3);
    thrust::transform(thrust::cuda::par.on(stream), thrust::counting_iterator<int>(1), thrust::counting_iterator<int>(4), s.begin(),
                      [] __device__(int i) { return i * i; });
    thrust::device_vector<int> before(4);
    s.push_back(0);
    thrust::exclusive_scan(thrust::cuda::par.on(stream), s.begin(), s.end(), before.begin(), 0);
    s.pop_back();
    thrust::sort(thrust::device, s.begin(), s.end(), [] __device__(int p, int q) { return p > q; });
    thrust::host_vector<int> h = s;
    printf("%d %d %d, %d %d %d %d\n", h[0], h[1], h[2], (int)before[0], (int)before[1], (int)before[2], (int)before[3]);
    cudaStreamDestroy(stream);

    thrust::host_vector<float> from(2, 1.5f);
    thrust::device_vector<float> to(from.begin(), from.end());
    to.insert(to.begin() + 1, 2.5f);
    to.push_back(3);
    float raw[4];
    cudaMemcpy(raw, thrust::raw_pointer_cast(&to[0]), sizeof raw, cudaMemcpyDeviceToHost);
    printf("%g %g %g, %d elements\n", raw[0], raw[1], raw[3], (int)to.size());
}
