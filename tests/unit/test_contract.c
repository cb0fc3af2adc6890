/* The contraction core against a reference that sums in twice the precision (exactly for integers), over every dtype and
 * odd layouts, on each level that the machine supports, or only on IG_CPU_LEVEL. (test_contract_bits: bits that must not
 * depend on threads, layouts and fusion.) */
#include "support/contract.h"

#include <math.h>
#include <stdlib.h>

enum { DTYPES = CONTRACT_DTYPES };
static const ig_dtype *const dtypes = contract_dtypes;

static void check_matrix(ig_dtype dtype, int64_t m, int64_t n, int64_t k, layout how0, layout how1,
                         int64_t most)
{
    work w;
    work_make(&w, dtype, (const int[]){0, 1, 1, 1}, (const int64_t[]){m, n, k}, how0, how1);
    work_run(&w, 2, false);
    check_values(&w, most);
    work_free(&w);
}

static void test_random_layouts(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 1, 2, 3, 5, 7, 8, 13, 17};
    for (int i = 0; i < 200 / step(4) * DTYPES; i++) {
        int ndim[4], total = 0;
        int64_t shape[12];
        for (int g = 0; g < 4; g++)
            for (int j = ndim[g] = (int)random_below(g == 0 ? 2 : 3); j > 0; j--)
                shape[total++] = lengths[random_below(10)];
        work w;
        work_make(&w, dtypes[i % DTYPES], ndim, shape, ANY, ANY);
        work_run(&w, 1 + i % 3, false);
        check_values(&w, 300);
        work_free(&w);
    }
}

/* Products of i8 whose sums are i32: any layout, and lengths around the sizes of tiles and groups. */
static void test_bytes_summed_in_i32(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 3, 8, 13, 31, 33, 64, 70},
                         deep[] = {1, 7, 64, 65, 300, 1100};
    wide_sums = true;
    for (int a = 0; a < ANY; a++)
        for (int b = 0; b < ANY; b++)
            check_matrix(IG_I8, 37, 53, 41, (layout)a, (layout)b, 500);
    for (int i = 0; i < 48; i++)
        for (int k = i % step(3); k < 6; k += step(3))
            check_matrix(IG_I8, lengths[i % 8], lengths[i / 6], deep[k], (layout)(i % ANY), PLAIN,
                         300);
    wide_sums = false;
}

static void test_transposes(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++)
        for (int a = 0; a < ANY; a++)
            for (int b = (i + a) % step(2); b < ANY; b += step(2))
                check_matrix(dtypes[i], 37, 53, 41, (layout)a, (layout)b, 500);
}

static void test_sizes_around_blocks(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},      {1, 1, 1000},   {1, 1000, 1},  {1000, 1, 1},
                                       {1, 300, 600},  {300, 1, 600},  {8, 12, 256},  {9, 13, 257},
                                       {127, 61, 255}, {64, 60, 512},  {129, 5, 513}, {513, 17, 31},
                                       {17, 1025, 31}, {600, 1100, 3}, {70, 50, 769}, {5, 3, 5003},
                                       {1, 1, 0},      {4, 6, 0},      {0, 5, 5},     {5, 0, 5}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int i = (int)s % step(3); i < DTYPES; i += step(3))
            check_matrix(dtypes[i], sizes[s][0], sizes[s][1], sizes[s][2], s % 2 ? PLAIN : REVERSED,
                         s % 3 ? REVERSED : PLAIN, 200);
}

static void test_few_rows(void **state)
{
    (void)state;
    static const int64_t ks[] = {1, 3, 9, 16, 49, 256, 257, 530};
    for (int i = 0; i < 8 * 9 * DTYPES; i += step(7)) {
        const int64_t k = ks[i % 8], few = 1 + i / 8 % 9, many = (i % 3 ? 133 : 7) + i % 5;
        const ig_dtype dtype = dtypes[i / 72];
        for (int how = 0; how < 4; how++) {
            const layout a = how & 1 ? REVERSED : PLAIN, b = how & 2 ? REVERSED : PLAIN;
            check_matrix(dtype, few, many, k, a, b, 60);
            check_matrix(dtype, many, few, k, a, b, 60);
        }
    }
}

static void test_rows_of_one(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 5000}, {33, 1, 1, 64}, {1500, 1, 1, 3},
                                        {3, 1, 1, 700},  {5, 1, 3, 300}, {5, 2, 1, 300}};
    for (int i = 0; i < 6 * DTYPES; i++) {
        work w;
        work_make(&w, dtypes[i % DTYPES], (const int[]){1, 1, 1, 1}, shapes[i / DTYPES], PLAIN,
                  i % 2 ? PLAIN : REVERSED);
        work_run(&w, 2, false);
        check_values(&w, 300);
        work_free(&w);
    }
}

static void test_batches(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++)
        for (int side = 0; side < 3; side++) {
            work w;
            work_shape(&w, dtypes[i], (const int[]){2, 1, 1, 1},
                       (const int64_t[]){3, 5, 9, 21, 34});
            layout_axes(&w.p.in[0].v, PLAIN);
            layout_axes(&w.p.in[1].v, REVERSED);
            if (side < 2) /* one matrix for all batches */
                w.p.in[side].v.stride[0] = w.p.in[side].v.stride[1] = 0;
            work_fill(&w);
            work_run(&w, 3, false);
            check_values(&w, 1000);
            work_free(&w);
        }
}

typedef struct image {
    int64_t batch, channels, height, width, filters, kernel, stride, dilation;
    bool channels_last;
} image;

/* A convolution: b is the batch, m the filters, n (row, column), k (channel, row, column) or, with
 * the channels last, (row, column, channel). */
static void work_convolution(work *w, ig_dtype dtype, const image *im)
{
    const int64_t span = (im->kernel - 1) * im->dilation;
    const int64_t h = (im->height - span - 1) / im->stride + 1;
    const int64_t v = (im->width - span - 1) / im->stride + 1;
    const int64_t first[] = {im->batch, im->filters, h, v, im->channels, im->kernel, im->kernel};
    const int64_t last[] = {im->batch, im->filters, h, v, im->kernel, im->kernel, im->channels};
    work_shape(w, dtype, (const int[]){1, 1, 2, 3}, im->channels_last ? last : first);
    layout_axes(&w->p.in[0].v, PLAIN);
    w->p.in[0].v.stride[0] = 0;
    const int64_t c = im->channels_last ? im->channels : 1; /* from one column to the next */
    const int64_t line = im->width * c, plane = im->height * im->width;
    int64_t *s = w->p.in[1].v.stride;
    s[0] = plane * im->channels;
    s[1] = im->stride * line;
    s[2] = im->stride * c;
    int64_t *k = s + 3;
    if (!im->channels_last)
        *k++ = plane;
    *k++ = im->dilation * line;
    *k++ = im->dilation * c;
    if (im->channels_last)
        *k++ = 1;
    work_fill(w);
}

static void test_windows(void **state)
{
    (void)state;
    static const image images[] = {
        {2, 3, 11, 13, 5, 3, 1, 1, false}, {2, 3, 11, 13, 5, 3, 1, 1, true},
        {1, 4, 30, 31, 9, 5, 2, 1, false}, {1, 40, 9, 10, 8, 3, 1, 2, true},
        {3, 1, 28, 28, 8, 3, 1, 1, false}, {1, 17, 5, 5, 1, 5, 1, 1, true},
        {3, 1, 28, 29, 1, 3, 1, 1, false}, {2, 1, 60, 60, 3, 7, 1, 1, false},
        {1, 2, 9, 140, 2, 3, 1, 1, false}, {2, 1, 30, 31, 1, 3, 2, 1, false}};
    for (size_t s = 0; s < sizeof images / sizeof images[0]; s++)
        for (int i = 0; i < DTYPES; i++) {
            work w;
            work_convolution(&w, dtypes[i], &images[s]);
            work_run(&w, 2, false);
            check_values(&w, 500);
            work_free(&w);
        }
}

static void test_special_values(void **state)
{
    (void)state;
    static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0};
    for (int i = 0; i < DTYPES * 40; i++) {
        const int64_t m = i < DTYPES * 20 ? 13 : 2;
        const ig_dtype dtype = dtypes[i % DTYPES];
        if (!dtype_is_float(dtype))
            continue;
        work w;
        work_make(&w, dtype, (const int[]){0, 1, 1, 1}, (const int64_t[]){m, 21, 17}, PLAIN,
                  i % 2 ? PLAIN : REVERSED);
        const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
        for (int j = 0; j < 5; j++) {
            dtype_store(dtype, (char *)w.buf[IN0].data + random_below(m * 17) * bytes,
                        specials[random_below(4)]);
            dtype_store(dtype, (char *)w.buf[IN1].data + random_below(21 * 17) * bytes,
                        specials[random_below(4)]);
        }
        work_run(&w, 1, false);
        for (int64_t j = 0; j < m * 21; j++) {
            double right = 0;
            for (int64_t k = 0; k < 17; k++)
                right += dtype_fetch(dtype, work_at(&w, IN0, j / 21 * 17 + k)) *
                         dtype_fetch(dtype, work_at(&w, IN1, j % 21 * 17 + k));
            const double value = dtype_fetch(dtype, (char *)w.buf[OUT].data + j * bytes);
            assert_true(isnan(right) ? isnan(value) : isinf(right) == isinf(value));
            if (isinf(right))
                assert_true(right == value);
        }
        work_free(&w);
    }
}

static void test_no_k_gives_zeros_and_no_output_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++) {
        work w;
        work_make(&w, dtypes[i], (const int[]){1, 1, 1, 2}, (const int64_t[]){2, 9, 30, 4, 0},
                  PLAIN, PLAIN);
        work_run(&w, 2, false);
        const char *out = w.buf[OUT].data;
        for (size_t j = 0; j < w.buf[OUT].bytes; j++)
            assert_int_equal(out[j], 0);
        work_free(&w);
        work_make(&w, dtypes[i], (const int[]){1, 1, 1, 1}, (const int64_t[]){0, 9, 30, 4}, PLAIN,
                  PLAIN);
        work_run(&w, 2, false);
        work_free(&w);
    }
}

/* From 2^24 on, adding ones does not change a running f32 sum; a sum by blocks of k loses only the ones of a block. */
static void test_long_sums_stay_accurate(void **state)
{
    (void)state;
    enum { K = 10000, LOST = 512 };
    work w;
    work_make(&w, IG_F32, (const int[]){0, 1, 1, 1}, (const int64_t[]){2, 3, K}, PLAIN, PLAIN);
    for (int i = 0; i < 2 * K; i++)
        ((float *)w.buf[IN0].data)[i] = i % K ? 1 : 0x1p24f;
    for (int i = 0; i < 3 * K; i++)
        ((float *)w.buf[IN1].data)[i] = 1;
    work_run(&w, 1, false);
    for (int i = 0; i < 6; i++) {
        const float value = ((const float *)w.buf[OUT].data)[i];
        assert_true(value <= 0x1p24f + K && value >= 0x1p24f + K - LOST);
    }
    work_free(&w);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_layouts),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_bytes_summed_in_i32),
        cmocka_unit_test(test_sizes_around_blocks),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_rows_of_one),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_no_k_gives_zeros_and_no_output_nothing),
        cmocka_unit_test(test_long_sums_stay_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_on_levels(run_all); }
