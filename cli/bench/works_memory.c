/* Works limited by memory: elementwise ops, copies, reductions, norms, pooling, random numbers.
 *
 * The elementwise works use only correctly rounded ops, so every correct device gives the same bits. They
 * are computed again in plain float and compared bit by bit. */
#include "bench/works.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shared helpers: n elements, or rows x width ------------------------------------------------ */

static int64_t count_of(const job *j)
{
    int64_t n = 1;
    for (int i = 0; i < WORK_DIMS && j->dims[i]; i++)
        n *= j->dims[i];
    return n;
}

static ig_ints shape_of(const job *j) { return (ig_ints){j->dims, j->dims[1] ? 2 : 1}; }

/* Sets the cost from the arrays read and written, the arrays held, and the operations per element. */
static void cost_arrays(job *j, double arrays, double held, double operations)
{
    j->flops = operations * (double)count_of(j);
    double bytes = (double)(count_of(j) * (int64_t)ig_dtype_bytes(j->dtype));
    j->bytes = arrays * bytes;
    j->memory_bytes = held * bytes;
    j->extent = (double)count_of(j);
}

static bool make_inputs(job *j, int n, double low)
{
    for (int i = 0; i < n; i++)
        if (!job_keep(j, i, job_uniform(j, i, shape_of(j), low, 1)))
            return false;
    return true;
}

static bool make_one(job *j) { return make_inputs(j, 1, -1); }
static bool make_one_positive(job *j) { return make_inputs(j, 1, 0); }
static bool make_two(job *j) { return make_inputs(j, 2, -1); }
static bool make_three(job *j) { return make_inputs(j, 3, -1); }

/* Compares y bit by bit with f of each element of up to three f32 inputs. */
static bool check_map(job *j, ig_array *y, float (*f)(float, float, float), str *why)
{
    int64_t n = ig_size(y);
    const float *in[3] = {0}, *got = ig_data(y);
    float *expected = heap_get(sizeof *expected * (size_t)n);
    bool fine = got != NULL;
    for (int i = 0; i < 3 && fine; i++)
        fine = (in[i] = ig_data(j->in[j->in[i] ? i : 0])) != NULL;
    for (int64_t i = 0; i < n && fine; i++)
        expected[i] = f(in[0][i], in[1][i], in[2][i]);
    fine = fine && check_same(why, got, expected, IG_F32, n);
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)n);
    free(expected);
    return fine;
}

/* ---- chains ------------------------------------------------------------------------------------- */

enum { CHAIN_OPS = 6 };

static void chain_cost(job *j) { cost_arrays(j, 4, 4, CHAIN_OPS); }
/* x * y; + z; abs; sqrt; - x; max: each op reads its operands and writes its result. */
static void unfused_cost(job *j) { cost_arrays(j, 16, 5, CHAIN_OPS); }

static ig_array *chain_op(job *j, int i, ig_array *t)
{
    ig_array *x = j->in[0], *y = j->in[1], *z = j->in[2];
    switch (i) {
    case 0: return ig_multiply(x, y);
    case 1: return ig_add(t, z);
    case 2: return ig_abs(t);
    case 3: return ig_sqrt(t);
    case 4: return ig_subtract(t, x);
    default: return ig_maximum(t, y);
    }
}
static float chain_element(float x, float y, float z)
{
    float t = sqrtf(fabsf(x * y + z)) - x;
    return t > y ? t : y;
}

static ig_array *chain_build(job *j)
{
    ig_array *t = NULL;
    for (int i = 0; i < CHAIN_OPS; i++)
        t = chain_op(j, i, t);
    return t;
}

/* Each op is evaluated before the next one is built, and its operands are released. */
static ig_array *unfused_build(job *j)
{
    ig_array *t = NULL;
    for (int i = 0; i < CHAIN_OPS; i++) {
        ig_array *next = ig_scope_begin() == IG_OK ? chain_op(j, i, t) : NULL;
        bool fine = next && ig_eval(&next, 1) == IG_OK;
        if (fine)
            ig_scope_forget(next);
        ig_scope_end();
        ig_release(t);
        t = fine ? next : NULL;
        if (!t)
            return NULL;
    }
    return t;
}

static outcome unfused_run(job *j, double *aside_s, str *why)
{
    (void)aside_s;
    (void)why;
    ig_release(unfused_build(j));
    return OUTCOME_FINE; /* the caller checks for library errors */
}

static bool chain_check(job *j, ig_array *y, str *why)
{
    return check_map(j, y, chain_element, why);
}

static bool unfused_check(job *j, ig_array *y, str *why)
{
    y = unfused_build(j);
    bool fine = y && check_map(j, y, chain_element, why);
    ig_release(y);
    return fine;
}

/* ---- copy and triad ----------------------------------------------------------------------------- */

static void copy_cost(job *j) { cost_arrays(j, 2, 3, 0); }
static void triad_cost(job *j) { cost_arrays(j, 3, 3, 2); }

/* Concatenating the halves moves every element and computes nothing. */
static ig_array *copy_build(job *j)
{
    int64_t half = j->dims[0] / 2;
    ig_array *parts[] = {ig_slice(j->in[0], IG_SHAPE(half), IG_SHAPE(2 * half), IG_NONE),
                         ig_slice(j->in[0], IG_SHAPE(0), IG_SHAPE(half), IG_NONE)};
    return ig_concat(parts, 2, IG_AXES(0));
}

static bool copy_check(job *j, ig_array *y, str *why)
{
    int64_t n = j->dims[0], half = n / 2;
    const float *x = ig_data(j->in[0]), *got = ig_data(y);
    bool fine = x && got && check_same(why, got, x + half, IG_F32, half) &&
                check_same(why, got + half, x, IG_F32, half);
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)n);
    return fine;
}

static ig_array *triad_build(job *j)
{
    return ig_add(j->in[0], ig_multiply(j->in[1], ig_float(3)));
}
static float triad_element(float x, float y, float z)
{
    (void)z;
    return x + y * 3;
}
static bool triad_check(job *j, ig_array *y, str *why)
{
    return check_map(j, y, triad_element, why);
}

/* ---- sums --------------------------------------------------------------------------------------- */

static void sum_cost(job *j) { cost_arrays(j, 1, 1, 1); }

static ig_array *sum_build(job *j) { return ig_sum(j->in[0], IG_NONE, IG_DTYPE_NONE, false); }

static bool sum_check(job *j, ig_array *y, str *why)
{
    const void *x = ig_data(j->in[0]);
    double sum = 0;
    for (int64_t i = 0; x && i < j->dims[0]; i++)
        sum += element(x, j->dtype, i);
    double relative = j->dtype == IG_F64 ? 1e-12 : 1e-6;
    return x && check_close(why, "the sum, element", 0, ig_item(y), sum, relative * sum);
}

static void scan_cost(job *j) { cost_arrays(j, 2, 2, 1); }

static bool scan_make(job *j)
{
    return j->dtype == IG_I32 ? job_keep(j, 0, job_uniform(j, 0, shape_of(j), -1000, 1000))
                              : make_inputs(j, 1, 0);
}

static ig_array *scan_build(job *j)
{
    return ig_cumulative_sum(j->in[0], IG_NONE, j->dtype, false);
}

static bool scan_check(job *j, ig_array *y, str *why)
{
    const void *x = ig_data(j->in[0]), *got = ig_data(y);
    bool fine = x && got, whole = j->dtype == IG_I32;
    int32_t wrapped = 0;
    double sum = 0;
    for (int64_t i = 0; i < j->dims[0] && fine; i++) {
        double expected = sum += element(x, j->dtype, i);
        if (whole) /* integers wrap */
            expected = wrapped = (int32_t)((uint32_t)wrapped + ((const uint32_t *)x)[i]);
        fine = check_close(why, "element", i, element(got, j->dtype, i), expected,
                           whole ? 0 : 2e-6 * expected);
    }
    if (fine && whole)
        job_answer(j, got, sizeof(int32_t) * (size_t)j->dims[0]);
    return fine;
}

/* ---- rows: softmax and layer norm ---------------------------------------------------------------- */

/* Softmax: max, subtract, exp, sum, multiply. Layer norm: two sums and six operations per element. */
static void softmax_cost(job *j) { cost_arrays(j, 2, 2, 5); }
static void norm_cost(job *j) { cost_arrays(j, 2, 2, 8); }

static ig_array *softmax_build(job *j) { return ig_softmax(j->in[0], IG_AXES(-1)); }

/* Every row must add up to 1, and every 64th row is also computed. */
static bool softmax_check(job *j, ig_array *y, str *why)
{
    int64_t rows = j->dims[0], width = j->dims[1];
    const float *x = ig_data(j->in[0]), *got = ig_data(y);
    bool fine = x && got;
    for (int64_t r = 0; r < rows && fine; r++, x += width, got += width) {
        double all = 0, sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)got[i];
        fine = check_close(why, "the sum of row", r, sum, 1, 1e-5);
        if (r % 64)
            continue;
        for (int64_t i = 0; i < width; i++)
            all += exp((double)x[i]);
        for (int64_t i = 0; i < width && fine; i++) {
            double expected = exp((double)x[i]) / all;
            fine = check_close(why, "element", r * width + i, (double)got[i], expected,
                               2e-6 * expected);
        }
    }
    return fine;
}

static bool norm_make(job *j)
{
    return make_one(j) && job_keep(j, 1, job_uniform(j, 1, IG_SHAPE(j->dims[1]), 1, 2)) &&
           job_keep(j, 2, job_uniform(j, 2, IG_SHAPE(j->dims[1]), -1, 1));
}

static ig_array *norm_build(job *j)
{
    return ig_layer_norm(j->in[0], j->in[1], j->in[2], IG_AXES(-1), 1e-5);
}

static bool norm_check(job *j, ig_array *y, str *why)
{
    int64_t rows = j->dims[0], width = j->dims[1];
    const float *x = ig_data(j->in[0]), *w = ig_data(j->in[1]), *b = ig_data(j->in[2]);
    const float *got = ig_data(y);
    bool fine = x && w && b && got;
    for (int64_t r = 0; r < rows && fine; r++, x += width, got += width) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < width; i++)
            mean += (double)x[i] / (double)width;
        for (int64_t i = 0; i < width; i++)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)width;
        double scale = 1 / sqrt(variance + 1e-5);
        for (int64_t i = 0; i < width && fine; i++)
            fine = check_close(why, "element", r * width + i, (double)got[i],
                               ((double)x[i] - mean) * scale * (double)w[i] + (double)b[i], 1e-5);
    }
    return fine;
}

/* ---- pooling: batch x channels x side, the largest of 2 x 2 ---------------------------------------- */

static void pool_cost(job *j)
{
    double n = (double)(j->dims[0] * j->dims[1] * j->dims[2] * j->dims[2]);
    j->flops = 0.75 * n;
    j->bytes = 4 * n * 1.25;
    j->memory_bytes = j->bytes;
    j->extent = n;
}

static bool pool_make(job *j)
{
    int64_t side = j->dims[2];
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(j->dims[0], j->dims[1], side, side), -1, 1));
}

static ig_array *pool_build(job *j)
{
    return ig_max_pool2d(j->in[0], IG_SHAPE(2, 2), IG_NONE, IG_NONE, IG_NONE, false);
}

static bool pool_check(job *j, ig_array *y, str *why)
{
    int64_t side = j->dims[2], half = side / 2, n = ig_size(y);
    const float *x = ig_data(j->in[0]), *got = ig_data(y);
    bool fine = x && got;
    for (int64_t i = 0; i < n && fine; i++) {
        const float *at = x + i / half * 2 * side + i % half * 2;
        float most = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[side], at[side + 1]));
        fine = check_close(why, "element", i, (double)got[i], (double)most, 0);
    }
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)n);
    return fine;
}

/* ---- random numbers ----------------------------------------------------------------------------- */

static void random_cost(job *j) { j->extent = (double)count_of(j); }

static ig_array *random_build(job *j)
{
    return ig_mean(job_uniform(j, 0, shape_of(j), 0, 1), IG_NONE, false);
}

/* Some random words are compared bit by bit, and the mean is compared with the mean of all numbers in double. */
static bool random_check(job *j, ig_array *y, str *why)
{
    enum { WORDS = 1 << 20 };
    uint64_t key = job_key(j, 0);
    int64_t n = count_of(j);
    uint32_t *words = heap_get(sizeof *words * WORDS), block[4];
    double sum = 0;
    for (int64_t i = 0; i < n; i += 4) {
        philox_block(key, (uint64_t)(i / 4), block);
        for (int k = 0; k < 4 && i + k < n; k++)
            sum += (double)philox_unit(block[k]);
        if (i < WORDS)
            memcpy(words + i, block, sizeof block);
    }
    const uint32_t *got = ig_data(ig_bits(ig_key(key, NULL), IG_SHAPE(WORDS), IG_U32));
    bool fine = got && check_same(why, got, words, IG_U32, WORDS) &&
                check_close(why, "the mean, element", 0, ig_item(y), sum / (double)n, 1e-6);
    if (fine)
        job_answer(j, words, sizeof *words * WORDS);
    free(words);
    return fine;
}

/* ---- the rows ----------------------------------------------------------------------------------- */

#define CHAIN chain_cost, make_three, chain_build, NULL, chain_check, NULL

const work works_memory[] = {
    {"chain", "memory", "*64K *1M *16M", "f32",
     "max(sqrt(abs(x * y + z)) - x, y), fused, uniform in [-1, 1)", CHAIN, false},
    {"chain_unfused", "memory", "1M *16M", "f32", "the same, op by op", unfused_cost, make_three,
     NULL, unfused_run, unfused_check, NULL, false},
    {"copy", "memory", "*16M 128M", "f32", "both halves of x, exchanged", copy_cost, make_one,
     copy_build, NULL, copy_check, NULL, false},
    {"triad", "memory", "*16M 128M", "f32", "x + 3 y, uniform in [-1, 1)", triad_cost, make_two,
     triad_build, NULL, triad_check, NULL, false},
    {"sum", "memory", "64K 1M *16M 128M", "f32 f64", "the sum of uniform in [0, 1)", sum_cost,
     make_one_positive, sum_build, NULL, sum_check, NULL, false},
    {"cumulative_sum", "memory", "*16M", "f32 i32",
     "running sums of uniform in [0, 1), or of integers in [-1000, 1000)", scan_cost, scan_make,
     scan_build, NULL, scan_check, NULL, false},
    {"softmax", "memory", "*16000x1000", "f32", "of each row, uniform in [-1, 1)", softmax_cost,
     make_one, softmax_build, NULL, softmax_check, NULL, false},
    {"layer_norm", "memory", "*16000x1000", "f32", "of each row, with weight and bias", norm_cost,
     norm_make, norm_build, NULL, norm_check, NULL, false},
    {"max_pool", "memory", "*8x64x112", "f32", "the largest of 2 x 2, batch x channels x side",
     pool_cost, pool_make, pool_build, NULL, pool_check, NULL, false},
    {"random_mean", "memory", "*10000x10000", "f32", "the mean of uniform in [0, 1) by Philox",
     random_cost, NULL, random_build, NULL, random_check, NULL, false},
    {"chain_threads", "scaling", "*16M", "f32", "chain over threads", CHAIN, true},
    {0}};
