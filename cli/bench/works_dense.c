/* Works limited by arithmetic: matrix products, attention, convolution, a transformer block.
 *
 * A product y = a @ b is checked with Freivalds' algorithm: y r = a (b r) for a random vector r, in double or
 * in integers. This reads every element once. Some elements are also computed. */
#include "bench/works.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- products of matrices ----------------------------------------------------------------------- */

/* One product of n x n matrices ("n"), or many ("count x n"). */
typedef struct product {
    int64_t count, n;
} product;

static product product_of(const job *j)
{
    return j->dims[1] ? (product){j->dims[0], j->dims[1]} : (product){1, j->dims[0]};
}

static void matmul_cost(job *j)
{
    product p = product_of(j);
    double elements_of_one = (double)(p.count * p.n * p.n);
    j->flops = 2 * elements_of_one * (double)p.n;
    j->bytes = 3 * elements_of_one * (double)ig_dtype_bytes(j->dtype);
    j->memory_bytes = j->bytes;
    j->extent = (double)p.n;
}

static bool matmul_make(job *j)
{
    product p = product_of(j);
    bool whole = ig_isdtype(j->dtype, "integral");
    double low = whole ? -128 : -1, high = whole ? 128 : 1;
    const int64_t all[] = {p.count, p.n, p.n};
    ig_ints shape = p.count == 1 ? (ig_ints){all + 1, 2} : (ig_ints){all, 3};
    return job_keep(j, 0, job_uniform(j, 0, shape, low, high)) &&
           job_keep(j, 1, job_uniform(j, 1, shape, low, high));
}

static ig_array *matmul_build(job *j) { return ig_matmul(j->in[0], j->in[1]); }

/* The three matrices of one product. */
typedef struct trio {
    const void *a, *b, *y;
    int64_t n, from; /* from: the first element of each */
    ig_dtype dtype;
} trio;

/* The error bound of a signed sum of n results: the rounding of each result and of the sums that it is made of.
 * Elements of a and b are uniform in [-1, 1), so a result is about sqrt(n) / 3. */
static double rounding(ig_dtype dtype, int64_t n)
{
    ig_finfo info;
    ig_finfo_of(dtype, &info);
    double sum_eps = dtype == IG_F64 ? info.eps : 0x1p-22;
    return (info.eps / 2 + sum_eps * sqrt((double)n)) * sqrt((double)n) / 3;
}

/* out = m r */
static void times(const void *m, const trio *t, const double *r, double *out)
{
    for (int64_t i = 0; i < t->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < t->n; k++)
            sum += element(m, t->dtype, t->from + i * t->n + k) * r[k];
        out[i] = sum;
    }
}

static bool check_product(const trio *t, uint64_t *draws, str *why)
{
    int64_t n = t->n;
    double *r = heap_get(sizeof *r * (size_t)(4 * n)), *br = r + n, *left = br + n,
           *right = left + n;
    for (int64_t i = 0; i < n; i++)
        r[i] = check_draw(draws) >> 63 ? 1 : -1;
    times(t->b, t, r, br);
    times(t->a, t, br, right);
    times(t->y, t, r, left);
    bool fine = true;
    double tolerance = 3 * sqrt((double)n) * rounding(t->dtype, n);
    for (int64_t i = 0; i < n && fine; i++)
        fine = check_close(why, "by the vector of the check, row", i, left[i], right[i], tolerance);
    for (int k = 0; k < 64 && fine; k++) {
        int64_t i = (int64_t)(check_draw(draws) % (uint64_t)n);
        int64_t c = (int64_t)(check_draw(draws) % (uint64_t)n);
        double sum = 0;
        for (int64_t l = 0; l < n; l++)
            sum += element(t->a, t->dtype, t->from + i * n + l) *
                   element(t->b, t->dtype, t->from + l * n + c);
        fine = check_close(why, "element", i * n + c, element(t->y, t->dtype, t->from + i * n + c),
                           sum, 8 * rounding(t->dtype, n));
    }
    free(r);
    return fine;
}

/* 8-bit integers wrap, so the check is modulo 256; r is odd, so a single wrong element never cancels. */
static bool check_product_i8(const trio *t, uint64_t *draws, str *why)
{
    int64_t n = t->n;
    const int8_t *a = t->a, *b = t->b, *y = t->y;
    uint8_t *r = heap_get((size_t)(2 * n)), *br = r + n;
    bool fine = true;
    for (int64_t i = 0; i < n; i++)
        r[i] = (uint8_t)(check_draw(draws) >> 56 | 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            br[i] = (uint8_t)(br[i] + b[i * n + k] * r[k]);
    for (int64_t i = 0; i < n && fine; i++) {
        uint8_t left = 0, right = 0;
        for (int64_t k = 0; k < n; k++) {
            left = (uint8_t)(left + y[i * n + k] * r[k]);
            right = (uint8_t)(right + a[i * n + k] * br[k]);
        }
        fine = check_close(why, "by the vector of the check, modulo 256, row", i, left, right, 0);
    }
    free(r);
    return fine;
}

static bool matmul_check(job *j, ig_array *y, str *why)
{
    product p = product_of(j);
    uint64_t draws = j->seed;
    trio t = {ig_data(j->in[0]), ig_data(j->in[1]), ig_data(y), p.n, 0, j->dtype};
    bool whole = j->dtype == IG_I8, fine = t.a && t.b && t.y;
    for (int64_t i = 0; i < p.count && fine; i++, t.from += p.n * p.n)
        fine = (whole ? check_product_i8 : check_product)(&t, &draws, why);
    if (fine && whole)
        job_answer(j, t.y, (size_t)ig_size(y));
    return fine;
}

/* ---- attention: heads x tokens x width ---------------------------------------------------------- */

static void attention_cost(job *j)
{
    double heads = (double)j->dims[0], tokens = (double)j->dims[1], width = (double)j->dims[2];
    j->flops = 4 * heads * tokens * tokens * width;
    j->bytes = 4 * 4 * heads * tokens * width;
    j->memory_bytes = j->bytes + 4 * heads * tokens * tokens;
    j->extent = tokens;
}

static bool attention_make(job *j)
{
    ig_ints shape = {j->dims, 3};
    return job_keep(j, 0, job_uniform(j, 0, shape, -1, 1)) &&
           job_keep(j, 1, job_uniform(j, 1, shape, -1, 1)) &&
           job_keep(j, 2, job_uniform(j, 2, shape, -1, 1));
}

static ig_array *attention_build(job *j)
{
    return ig_scaled_dot_product_attention(j->in[0], j->in[1], j->in[2], NULL, false, 0);
}

static bool attention_check(job *j, ig_array *y, str *why)
{
    int64_t heads = j->dims[0], tokens = j->dims[1], width = j->dims[2];
    double *in[3] = {0}, *out = heap_get(sizeof *out * (size_t)width), *got = elements(y);
    bool fine = got != NULL;
    for (int i = 0; i < 3 && fine; i++)
        fine = (in[i] = elements(j->in[i])) != NULL;
    for (int64_t r = 0; r < heads * tokens && fine; r++) {
        int64_t head = r / tokens * tokens * width, at = r * width;
        reference_attention(in[0] + at, in[1] + head, in[2] + head, tokens, width, width, out);
        for (int64_t i = 0; i < width && fine; i++)
            fine = check_close(why, "element", at + i, got[at + i], out[i], 2e-6);
    }
    for (int i = 0; i < 3; i++)
        free(in[i]);
    free(out);
    free(got);
    return fine;
}

/* ---- convolution: batch x channels x side, 3 x 3, same number of channels ---------------------------- */

static void conv_cost(job *j)
{
    double batch = (double)j->dims[0], channels = (double)j->dims[1], side = (double)j->dims[2];
    j->flops = 2 * batch * side * side * channels * channels * 9;
    j->bytes = 4 * (2 * batch * side * side * channels + channels * channels * 9);
    j->memory_bytes = j->bytes;
    j->extent = batch;
}

static bool conv_make(job *j)
{
    int64_t c = j->dims[1], side = j->dims[2];
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(j->dims[0], c, side, side), -1, 1)) &&
           job_keep(j, 1, job_uniform(j, 1, IG_SHAPE(c, c, 3, 3), -1, 1));
}

static ig_array *conv_build(job *j)
{
    return ig_conv2d(j->in[0], j->in[1], NULL, IG_NONE, IG_SHAPE(1, 1), IG_NONE, 1);
}

/* Convolution is linear in its filters: a signed sum of output channels equals the convolution with the same
 * signed sum of filters. */
static bool conv_check(job *j, ig_array *y, str *why)
{
    int64_t batch = j->dims[0], c = j->dims[1], side = j->dims[2], places = side * side;
    double *x = elements(j->in[0]), *w = elements(j->in[1]), *got = elements(y);
    double *sign = heap_get(sizeof *sign * (size_t)(c + 9 * c)), *filter = sign + c;
    uint64_t draws = j->seed;
    for (int64_t o = 0; o < c && w; o++) {
        sign[o] = check_draw(&draws) >> 63 ? 1 : -1;
        for (int64_t k = 0; k < 9 * c; k++)
            filter[k] += sign[o] * w[o * 9 * c + k];
    }
    bool fine = x && w && got;
    for (int64_t i = 0; i < batch * places && fine; i++) {
        int64_t b = i / places, at = i % places;
        double sum = 0;
        for (int64_t o = 0; o < c; o++)
            sum += sign[o] * got[(b * c + o) * places + at];
        fine =
            check_close(why, "channels with the signs of the check, place", i, sum,
                        reference_conv(x + b * c * places, filter, c, side, at / side, at % side),
                        3 * sqrt((double)c) * rounding(IG_F32, 9 * c));
    }
    free(x);
    free(w);
    free(got);
    free(sign);
    return fine;
}

/* ---- a transformer block: tokens x width, heads of 64, four times as wide between ------------------ */

static void block_cost(job *j)
{
    double tokens = (double)j->dims[0], width = (double)j->dims[1];
    j->flops = 2 * tokens * width * width * 12 + 4 * tokens * tokens * width;
    j->bytes = 4 * (12 * width * width + 2 * tokens * width);
    j->memory_bytes = j->bytes + 4 * 16 * tokens * width;
    j->extent = tokens;
}

static ig_array *block_build(job *j)
{
    ig_model *m = j->state;
    int64_t width = j->dims[1];
    ig_array *x = j->in[0];
    ig_array *y = ig_nn_attention(m, "attention", x, NULL, width / 64, NULL, false);
    x = ig_nn_layer_norm(m, "norm1", ig_add(x, y), 1e-12);
    y = ig_gelu(ig_nn_linear(m, "up", x, 4 * width, true), NULL);
    y = ig_nn_linear(m, "down", y, width, true);
    return ig_nn_layer_norm(m, "norm2", ig_add(x, y), 1e-12);
}

static bool block_make(job *j)
{
    j->state = ig_model_new(job_key(j, 1));
    return j->state &&
           job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(1, j->dims[0], j->dims[1]), -1, 1)) &&
           block_build(j); /* creates the parameters */
}

static void block_free(void *state) { ig_model_free(state); }

/* x = layer_norm(x + y). A new layer has weight 1 and bias 0. */
static void add_and_norm(double *x, const double *y, int64_t n)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; i++)
        mean += (x[i] += y[i]) / (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] - mean) / sqrt(variance + 1e-12);
}

/* Computes one token of the block in row, which holds its input. Returns false if the library failed. */
static bool block_row(const ig_model *m, const double *x, int64_t tokens, int64_t width,
                      double *row)
{
    double *q = reference_linear(m, "attention.query", row, 1, width, width);
    double *k = reference_linear(m, "attention.key", x, tokens, width, width);
    double *v = reference_linear(m, "attention.value", x, tokens, width, width);
    double *mixed = heap_get(sizeof *mixed * (size_t)width), *y = NULL, *up = NULL, *down = NULL;
    for (int64_t h = 0; h < width && q && k && v; h += 64)
        reference_attention(q + h, k + h, v + h, tokens, 64, width, mixed + h);
    if (q && k && v && (y = reference_linear(m, "attention.out", mixed, 1, width, width))) {
        add_and_norm(row, y, width);
        up = reference_linear(m, "up", row, 1, width, 4 * width);
    }
    for (int64_t i = 0; up && i < 4 * width; i++)
        up[i] = up[i] * erfc(-up[i] / sqrt(2)) / 2;
    if (up && (down = reference_linear(m, "down", up, 1, 4 * width, width)))
        add_and_norm(row, down, width);
    bool fine = down != NULL;
    double *all[] = {q, k, v, mixed, y, up, down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return fine;
}

/* One token is computed; all tokens have mean 0 and variance 1. */
static bool block_check(job *j, ig_array *y, str *why)
{
    int64_t tokens = j->dims[0], width = j->dims[1];
    double *x = elements(j->in[0]), *got = elements(y),
           *row = heap_get(sizeof *row * (size_t)width);
    uint64_t draws = j->seed;
    int64_t at = (int64_t)(check_draw(&draws) % (uint64_t)tokens) * width;
    bool fine = x && got;
    for (int64_t t = 0; t < tokens && fine; t++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < width; i++) {
            sum += got[t * width + i];
            squares += got[t * width + i] * got[t * width + i];
        }
        fine = check_close(why, "the sum of token", t, sum, 0, 1e-2) &&
               check_close(why, "the sum of squares of token", t, squares, (double)width, 1e-2);
    }
    if (fine) {
        memcpy(row, x + at, sizeof *row * (size_t)width);
        fine = block_row(j->state, x, tokens, width, row);
    }
    for (int64_t i = 0; i < width && fine; i++)
        fine = check_close(why, "element", at + i, got[at + i], row[i], 2e-5);
    free(x);
    free(got);
    free(row);
    return fine;
}

/* ---- the rows ----------------------------------------------------------------------------------- */

#define MATMUL matmul_cost, matmul_make, matmul_build, NULL, matmul_check, NULL

const work works_dense[] = {
    {"matmul", "compute", "*256 512 *1024 *2048 4096 8192", "f32", "a @ b, uniform in [-1, 1)",
     MATMUL, false},
    {"matmul", "compute", "256 512 *1024 2048 4096 8192", "f64 f16 bf16",
     "a @ b, uniform in [-1, 1)", MATMUL, false},
    {"matmul", "compute", "256 512 *1024 2048 4096 8192", "i8",
     "a @ b, bytes that wrap, uniform in [-128, 128)", MATMUL, false},
    {"matmul_batched", "compute", "*1024x32 256x128", "f32",
     "many small products a[i] @ b[i], uniform in [-1, 1)", MATMUL, false},
    {"attention", "compute", "*12x128x64 12x1024x64", "f32",
     "softmax(q k.T / sqrt(width)) v, heads x tokens x width, uniform in [-1, 1)", attention_cost,
     attention_make, attention_build, NULL, attention_check, NULL, false},
    {"conv", "compute", "*1x64x56 8x64x56", "f32",
     "3 x 3 convolution to as many channels, batch x channels x side, uniform in [-1, 1)",
     conv_cost, conv_make, conv_build, NULL, conv_check, NULL, false},
    {"transformer", "compute", "*128x768", "f32",
     "a block of DistilBERT's shape, tokens x width, 12 heads, 3072 between, new parameters",
     block_cost, block_make, block_build, NULL, block_check, block_free, false},
    {"matmul_threads", "scaling", "*1024", "f32", "a @ b over threads, uniform in [-1, 1)", MATMUL,
     true},
    {0}};
