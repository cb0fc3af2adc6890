/* Works with data-dependent access: sort, gather, scatter. All are checked exactly. */
#include "bench/works.h"

#include <stdlib.h>

static void sort_cost(job *j)
{
    j->memory_bytes = 16 * (double)j->dims[0];
    j->extent = (double)j->dims[0];
}

static bool sort_make(job *j)
{
    bool whole = j->dtype == IG_I32;
    double most = whole ? 0x1p31 : 1;
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(j->dims[0]), -most, whole ? most - 1 : most));
}

static ig_array *sort_build(job *j) { return ig_sort(j->in[0], -1, false, true); }

/* A digest of the elements that does not depend on their order. */
static uint64_t bag(const uint32_t *x, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t state = x[i];
        sum += check_draw(&state);
    }
    return sum;
}

static bool sort_check(job *j, ig_array *y, str *why)
{
    int64_t n = j->dims[0];
    const void *x = ig_data(j->in[0]), *got = ig_data(y);
    bool fine = x && got;
    for (int64_t i = 1; i < n && fine; i++) {
        double left = element(got, j->dtype, i - 1), here = element(got, j->dtype, i);
        fine = left <= here;
        if (!fine)
            str_printf(why, "element %lld is %.9g, after %.9g; expected them in order",
                       (long long)i, here, left);
    }
    uint64_t before = fine ? bag(x, n) : 0, after = fine ? bag(got, n) : 0;
    if (before != after) {
        str_printf(why,
                   "it is in order, but other elements than before: their sum of hashes is %llx, "
                   "expected %llx",
                   (unsigned long long)after, (unsigned long long)before);
        fine = false;
    }
    if (fine)
        job_answer(j, got, sizeof(uint32_t) * (size_t)n);
    return fine;
}

/* ---- gather and scatter: n elements at n random positions-------------------------------------------- */

static void index_cost(job *j)
{
    j->bytes = 12 * (double)j->dims[0];
    j->memory_bytes = 16 * (double)j->dims[0];
    j->extent = (double)j->dims[0];
}

static bool index_make(job *j)
{
    int64_t n = j->dims[0];
    ig_array *places = ig_randint(ig_key(job_key(j, 1), NULL), IG_SHAPE(n), 0, n, IG_I32);
    double low = j->dtype == IG_I32 ? -1000 : -1;
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(n), low, -low)) && job_keep(j, 1, places);
}

static ig_array *gather_build(job *j) { return ig_take(j->in[0], j->in[1], IG_AXES(0)); }

static bool gather_check(job *j, ig_array *y, str *why)
{
    int64_t n = j->dims[0];
    const uint32_t *x = ig_data(j->in[0]), *got = ig_data(y);
    const int32_t *places = ig_data(j->in[1]);
    uint32_t *expected = heap_get(sizeof *expected * (size_t)n);
    bool fine = x && got && places;
    for (int64_t i = 0; i < n && fine; i++)
        expected[i] = x[places[i]];
    fine = fine && check_same(why, got, expected, j->dtype, n);
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)n);
    free(expected);
    return fine;
}

static ig_array *scatter_build(job *j)
{
    ig_array *zeros = ig_zeros(IG_SHAPE(j->dims[0]), j->dtype);
    return ig_scatter_add(zeros, j->in[1], j->in[0], 0);
}

static bool scatter_check(job *j, ig_array *y, str *why)
{
    int64_t n = j->dims[0];
    const int32_t *x = ig_data(j->in[0]), *got = ig_data(y), *places = ig_data(j->in[1]);
    int32_t *expected = heap_get(sizeof *expected * (size_t)n);
    bool fine = x && got && places;
    for (int64_t i = 0; i < n && fine; i++)
        expected[places[i]] += x[i];
    fine = fine && check_same(why, got, expected, IG_I32, n);
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)n);
    free(expected);
    return fine;
}

const work works_index[] = {
    {"sort", "memory", "*1M 16M", "f32 i32", "uniform in [-1, 1), or in all of i32", sort_cost,
     sort_make, sort_build, NULL, sort_check, NULL, false},
    {"gather", "memory", "*4M", "f32", "x at as many random places", index_cost, index_make,
     gather_build, NULL, gather_check, NULL, false},
    {"scatter_add", "memory", "*4M", "i32", "x added at as many random places", index_cost,
     index_make, scatter_build, NULL, scatter_check, NULL, false},
    {0}};
