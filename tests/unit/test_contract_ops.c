/* matmul, tensordot, vecdot, outer and einsum against plain loops over all letters, in every layout
 * and several dtypes, to the last bit; and their error messages. */
#include "support/unit.h"
#include "support/layouts.h"
#include "support/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 8 };

static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16, IG_I32, IG_U8, IG_I64};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* Layouts and dtypes of the c-th case: every STEP-th pair of them if kernels compile slowly, but all of them over all
 * cases. */
enum { STEP = 12 };
static int first_of(size_t c) { return (int)(c % (size_t)every(STEP)); }

/* ---- the reference: "ij,jk->ik" by loops; a length 1 stands for any ---- */

typedef struct loops {
    const char *term[OPERANDS + 1]; /* of the operands, then of the result */
    int n;
    int64_t length[128];
    char letter[128];
    int n_letter;
} loops;

/* Element of s at the letters' indices. */
static double value_at(const sample *s, const char *term, const int64_t *index)
{
    int64_t at = 0;
    for (int a = 0; a < s->ndim; a++)
        at = at * s->shape[a] + (s->shape[a] == 1 ? 0 : index[(int)term[a]]);
    return s->v[at];
}

static void loops_set(loops *l, const char *plain, const sample *s, int n)
{
    *l = (loops){.n = n};
    l->term[0] = plain;
    for (int i = 0; i < n; i++) {
        const char *c = l->term[i];
        for (int a = 0; a < s[i].ndim; a++, c++) {
            assert_true(*c >= 'A');
            if (!memchr(l->letter, *c, (size_t)l->n_letter)) {
                l->letter[l->n_letter++] = *c;
                l->length[(int)*c] = 1;
            }
            if (l->length[(int)*c] == 1)
                l->length[(int)*c] = s[i].shape[a];
        }
        l->term[i + 1] = c + (i + 1 < n ? 1 : 2);
        assert_int_equal(*c, i + 1 < n ? ',' : '-');
    }
}

/* Advances to the next index of all letters; false after the last. */
static bool loops_next(const loops *l, int64_t *index)
{
    for (int i = l->n_letter - 1; i >= 0; i--) {
        if (++index[(int)l->letter[i]] < l->length[(int)l->letter[i]])
            return true;
        index[(int)l->letter[i]] = 0;
    }
    return false;
}

/* Integers of this dtype wrap. */
static double wrapped(double v, ig_dtype dtype)
{
    const int bits = (int)ig_dtype_bytes(dtype) * 8;
    if (ig_isdtype(dtype, "real floating") || bits == 64)
        return v;
    const double range = ldexp(1, bits), low = ig_isdtype(dtype, "signed integer") ? -range / 2 : 0;
    return v - floor((v - low) / range) * range;
}

/* Compares y with sums of products of the samples, as `plain` ("ij,jk->ik") defines them. */
static void expect_sums(const char *what, ig_array *y, const char *plain, const sample *s, int n)
{
    loops l;
    loops_set(&l, plain, s, n);
    const char *out = l.term[n];
    int64_t shape[IG_MAX_NDIM], size = 1, index[128] = {0}, all = 1;
    const int ndim = (int)strlen(out);
    for (int a = 0; a < ndim; a++)
        size *= shape[a] = l.length[(int)out[a]];
    for (int i = 0; i < l.n_letter; i++)
        all *= l.length[(int)l.letter[i]];
    double *want = calloc((size_t)size + 1, sizeof *want);
    assert_non_null(want);
    if (all > 0) {
        do {
            double product = 1;
            for (int i = 0; i < n; i++)
                product *= value_at(&s[i], l.term[i], index);
            int64_t at = 0;
            for (int a = 0; a < ndim; a++)
                at = at * shape[a] + index[(int)out[a]];
            want[at] += product;
        } while (loops_next(&l, index));
    }
    const ig_dtype dtype = ig_dtype_of(s[0].x);
    for (int64_t i = 0; i < size; i++)
        want[i] = wrapped(want[i], dtype);
    sample_expect(what, y, (ig_ints){shape, ndim}, dtype, want);
    free(want);
}

/* Samples of the shapes in text, one digit for each length, a space between operands; "." has no
 * axes. Returns how many. */
static int make_samples(const char *text, int layout, ig_dtype dtype, sample *s)
{
    int n = 0;
    while (*text) {
        int64_t shape[IG_MAX_NDIM];
        int ndim = 0;
        for (; *text && *text != ' '; text++)
            if (*text != '.')
                shape[ndim++] = *text - '0';
        s[n] = sample_make((layout + n) % SAMPLE_LAYOUTS, (ig_ints){shape, ndim}, dtype);
        n++;
        text += *text == ' ';
    }
    return n;
}

/* ---- einsum ---- */

static const struct einsum_case {
    const char *text, *plain, *shapes;
} einsum_cases[] = {
    {"ij,jk->ik", "ij,jk->ik", "23 34"},
    {"ij,jk", "ij,jk->ik", "53 37"},
    {"ij,jk->ki", "ij,jk->ki", "23 34"},
    {" i j , j k -> i k ", "ij,jk->ik", "23 34"},
    {"ba,cb", "ba,cb->ac", "23 42"},
    {"Ba,aC", "Ba,aC->BC", "23 34"},
    {"i,i", "i,i->", "5 5"},
    {"i,i->i", "i,i->i", "5 5"},
    {"i,j", "i,j->ij", "5 3"},
    {"i,j->ji", "i,j->ji", "5 3"},
    {"ii", "ii->", "44"},
    {"ii->i", "ii->i", "44"},
    {"iii->i", "iii->i", "333"},
    {"iij->j", "iij->j", "332"},
    {"ij->", "ij->", "34"},
    {"ij->j", "ij->j", "34"},
    {"ji", "ji->ij", "34"},
    {"kji->jik", "kji->jik", "234"},
    {"ij,kl->", "ij,kl->", "23 45"},
    {"ij,kl->ki", "ij,kl->ki", "23 45"},
    {"ii,ij->j", "ii,ij->j", "33 34"},
    {"bij,bjk->bik", "bij,bjk->bik", "423 435"},
    {"bij,jk->bik", "bij,jk->bik", "423 35"},
    {"bij,bkj->bik", "bij,bkj->bik", "423 453"},
    {"...ij,...jk->...ik", "abij,abjk->abik", "2345 2353"},
    {"...ij,jk", "bij,jk->bik", "423 35"},
    {"ij...,jk...->ik...", "ijb,jkb->ikb", "234 354"},
    {"...,...", "ab,ab->ab", "23 23"},
    {"...->...", "ab->ab", "23"},
    {"i...->...", "ia->a", "23"},
    {"...i->i...", "abi->iab", "234"},
    {"ij...,j...->i...", "ijab,jab->iab", "2345 345"},
    {"i,ij,j", "i,ij,j->", "3 34 4"},
    {"ij,jk,kl->il", "ij,jk,kl->il", "23 34 45"},
    {"ij,jk,kl,lm,mn->in", "ij,jk,kl,lm,mn->in", "22 23 32 24 43"},
    {"a,b,c,d->dcba", "a,b,c,d->dcba", "2 3 4 5"},
    {"ijk,ilm,njm,nlk,abc->", "ijk,ilm,njm,nlk,abc->", "222 223 423 422 212"},
    {"bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk", "2343 2543"},
    {"ea,fb,abcd,gc,hd->efgh", "ea,fb,abcd,gc,hd->efgh", "23 23 3322 42 22"},
    {"ij,ij->ij", "ij,ij->ij", "13 23"},
    {"ij,jk->ik", "ij,jk->ik", "21 34"},
    {"ij,ij->", "ij,ij->", "31 14"},
    {"i,i->", "i,i->", "1 1"},
    {"...i,...i->...", "abi,bi->ab", "213 43"},
    {"ij,jk->ik", "ij,jk->ik", "20 03"},
    {"ij,jk->ik", "ij,jk->ik", "03 32"},
    {"ij->i", "ij->i", "30"},
    {",->", ",->", ". ."},
    {"->", "->", "."},
    {",i", ",i->i", ". 3"},
    {"zz,zA->A", "zz,zA->A", "33 32"},
};

static void test_einsum(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof einsum_cases / sizeof *einsum_cases; c++)
        for (int k = first_of(c); k < SAMPLE_LAYOUTS * DTYPES; k += every(STEP)) {
            const struct einsum_case *e = &einsum_cases[c];
            sample s[OPERANDS];
            ig_array *x[OPERANDS];
            /* The plain loops must be exact too: five operands need the longer dtypes. */
            const ig_dtype dtype = dtypes[k % DTYPES];
            ig_scope_begin();
            const int n = make_samples(e->shapes, k / DTYPES, dtype, s);
            for (int i = 0; i < n; i++)
                x[i] = s[i].x;
            if (n <= 3 || dtype == IG_F64 || dtype == IG_I64)
                expect_sums(e->text, ig_einsum(e->text, x, n), e->plain, s, n);
            for (int i = 0; i < n; i++)
                sample_free(&s[i]);
            ig_scope_end();
        }
}

/* Views stay views: nothing is computed for a transpose or a diagonal. */
static void test_einsum_views(void **state)
{
    (void)state;
    sample s = sample_make(0, IG_SHAPE(4, 4), IG_F32);
    assert_true(ig_is_evaluated(ig_einsum("ij->ji", &s.x, 1)));
    assert_true(ig_is_evaluated(ig_einsum("ii->i", &s.x, 1)));
    sample_free(&s);
    ig_array *many[40];
    for (int i = 0; i < 40; i++)
        many[i] = ig_full(IG_SHAPE(2), ig_int(1), IG_I32);
    char text[200] = "a";
    for (int i = 1; i < 40; i++)
        strcat(text, ",a");
    assert_true(ig_item(ig_einsum(strcat(text, "->"), many, 40)) == 2);
    ig_array *mixed[2] = {ig_full(IG_SHAPE(2), ig_int(3), IG_I32), ig_float(0.5)};
    assert_int_equal(ig_dtype_of(ig_einsum("i,->i", mixed, 2)), IG_F32);
}

/* Three f16 operands round once: in between, 2049 is not 2048. */
static void test_einsum_half(void **state)
{
    (void)state;
    ig_array *x[3] = {ig_full(IG_SHAPE(2049), ig_int(1), IG_F16),
                      ig_full(IG_SHAPE(2049), ig_int(1), IG_F16),
                      ig_full(IG_SHAPE(2), ig_float(0.5), IG_F16)};
    ig_array *y = ig_einsum("i,i,j->", x, 3);
    assert_int_equal(ig_dtype_of(y), IG_F16);
    assert_true(ig_item(y) == 2048); /* 2049 * 1, to even */
    x[2] = ig_from_data((const uint16_t[]){0x3c00, 0x3400}, IG_SHAPE(2), IG_F16); /* 1, 0.25 */
    assert_true(ig_item(ig_einsum("i,i,j->", x, 3)) == 2562); /* 2561.25, not 2560 */
}

/* ---- products ---- */

static void expect_product(const char *name, const char *plain, const char *shapes, int layout,
                           ig_dtype dtype, ig_ints axes)
{
    sample s[2];
    ig_array *y;
    ig_scope_begin();
    assert_int_equal(make_samples(shapes, layout, dtype, s), 2);
    if (strcmp(name, "matmul") == 0)
        y = ig_matmul(s[0].x, s[1].x);
    else if (strcmp(name, "outer") == 0)
        y = ig_outer(s[0].x, s[1].x);
    else if (strcmp(name, "vecdot") == 0)
        y = ig_vecdot(s[0].x, s[1].x, (int)axes.v[0]);
    else
        y = ig_tensordot(s[0].x, s[1].x, axes);
    char what[100];
    snprintf(what, sizeof what, "%s %s %s layout %d", name, shapes, ig_dtype_name(dtype), layout);
    expect_sums(what, y, plain, s, 2);
    sample_free(&s[0]);
    sample_free(&s[1]);
    ig_scope_end();
}

static void test_products(void **state)
{
    (void)state;
    const struct {
        const char *name, *plain, *shapes;
        ig_ints axes;
    } cases[] = {
        {"matmul", "ij,jk->ik", "23 34", {0}},
        {"matmul", "ij,jk->ik", "11 11", {0}},
        {"matmul", "ij,jk->ik", "99 99", {0}},
        {"matmul", "j,jk->k", "3 34", {0}},
        {"matmul", "ij,j->i", "23 3", {0}},
        {"matmul", "j,j->", "5 5", {0}},
        {"matmul", "bij,bjk->bik", "523 534", {0}},
        {"matmul", "bij,jk->bik", "523 34", {0}},
        {"matmul", "ij,bjk->bik", "23 534", {0}},
        {"matmul", "abij,bjk->abik", "2123 534", {0}},
        {"matmul", "abij,abjk->abik", "2123 1534", {0}},
        {"matmul", "j,bjk->bk", "3 534", {0}},
        {"matmul", "bij,j->bi", "523 3", {0}},
        {"matmul", "ij,jk->ik", "03 34", {0}},
        {"matmul", "ij,jk->ik", "20 04", {0}},
        {"matmul", "ij,jk->ik", "23 30", {0}},
        {"matmul", "bij,bjk->bik", "023 034", {0}},
        {"matmul", "bij,bjk->bik", "023 134", {0}},
        {"matmul", "abcdefghijkl,abcdefghijlm->abcdefghijkm", "111211111123 111211111132", {0}},
        {"vecdot", "ai,ai->a", "23 23", IG_AXES(-1)},
        {"vecdot", "ia,ia->a", "23 23", IG_AXES(0)},
        {"vecdot", "abi,bi->ab", "234 34", IG_AXES(-1)},
        {"vecdot", "aib,ib->ab", "234 34", IG_AXES(1)},
        {"vecdot", "aib,ib->ab", "231 34", IG_AXES(-2)},
        {"vecdot", "i,i->", "7 7", IG_AXES(0)},
        {"vecdot", "ai,ai->a", "20 20", IG_AXES(-1)},
        {"outer", "i,j->ij", "5 7", {0}},
        {"outer", "i,j->ij", "0 7", {0}},
        {"tensordot", "ab,cd->abcd", "23 45", IG_AXES(0)},
        {"tensordot", "ab,bc->ac", "23 34", IG_AXES(1)},
        {"tensordot", "abc,bcd->ad", "234 345", IG_AXES(2)},
        {"tensordot", "ab,ab->", "23 23", IG_AXES(2)},
        {"tensordot", "ab,ca->bc", "23 42", IG_AXES(0, 1)},
        {"tensordot", "abc,dca->bd", "234 542", IG_AXES(2, -3, 1, -1)},
        {"tensordot", "a,b->ab", "3 4", {(const int64_t[]){0}, 0}},
        {"tensordot", ",a->a", ". 4", IG_AXES(0)},
        {"tensordot", "abc,bcd->ad", "203 034", IG_AXES(2)},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int k = first_of(c); k < SAMPLE_LAYOUTS * DTYPES; k += every(STEP))
            expect_product(cases[c].name, cases[c].plain, cases[c].shapes, k / DTYPES,
                           dtypes[k % DTYPES], cases[c].axes);
}

/* Longer than a tile, a strip and a block. */
static void test_large(void **state)
{
    (void)state;
    for (int layout = 0; layout < SAMPLE_LAYOUTS; layout++) {
        sample s[2] = {sample_make(layout, IG_SHAPE(133, 301), IG_F32),
                       sample_make((layout + 1) % SAMPLE_LAYOUTS, IG_SHAPE(301, 67), IG_F32)};
        expect_sums("large", ig_matmul(s[0].x, s[1].x), "ij,jk->ik", s, 2);
        sample_free(&s[0]);
        sample_free(&s[1]);
    }
}

/* A separate value, not fused with later ops. */
static ig_array *alone(ig_array *x)
{
    assert_non_null(ig_eval_one(x));
    return x;
}

static ig_array *random_array(int64_t key, ig_ints shape)
{
    return alone(ig_normal(ig_key(key, NULL), shape, IG_F32, NULL, NULL));
}

/* An epilogue with a row, a column, a matrix and a scalar, for rows that are cut into several tiles. The weight is
 * longer than a block of k, and no size is a multiple of a tile. */
static void test_epilogue_of_parts(void **state)
{
    (void)state;
    const int64_t widths[] = {70, 1000, 1501, 2600};
    const bool cpu = strcmp(ig_device(), "cpu") == 0;
    ig_set_math(cpu ? IG_MATH_STRICT : IG_MATH_SAME); /* libraries of devices may round
                                                       * differently */
    for (int i = 0; i < 4; i++) {
        const int64_t n = widths[i];
        ig_array *x = random_array(1, IG_SHAPE(41, 300)), *w = random_array(2, IG_SHAPE(n, 300));
        ig_array *row = random_array(3, IG_SHAPE(n)), *column = random_array(4, IG_SHAPE(41, 1));
        ig_array *matrix = random_array(5, IG_SHAPE(41, n));
        ig_array *product = ig_tensordot(x, w, IG_AXES(-1, 1));
        ig_array *fused = ig_gelu(
            ig_add(ig_add(product, row), ig_multiply(ig_multiply(matrix, column), ig_float(0.5))),
            "none");
        ig_array *halves = alone(ig_multiply(alone(ig_multiply(matrix, column)), ig_float(0.5)));
        ig_array *sums = alone(ig_add(alone(ig_tensordot(x, w, IG_AXES(-1, 1))), row));
        ig_array *apart = ig_gelu(alone(ig_add(sums, halves)), "none");
        assert_memory_equal(ig_data(alone(fused)), ig_data(alone(apart)), (size_t)(41 * n * 4));
    }
    ig_set_math(IG_MATH_STRICT);
}

/* Products of an array with itself, of which the CPU computes one half, have the bits of products with a copy. Short tests
 * take every seventh case, which has every side, depth and dtype. Gang takes long for each element, and its kernels need
 * no large sides. */
static void test_products_with_itself(void **state)
{
    (void)state;
    const int step = getenv("IG_TEST_QUICK") ? 7 : 1,
              part = strcmp(ig_device(), "gang") == 0 ? 4 : 1;
    const ig_dtype kinds[] = {IG_F32, IG_F64, IG_F16, IG_BF16, IG_I32, IG_I8};
    const int64_t sides[] = {127, 128, 150, 333, 520}, deep[] = {1, 17, 300, 1100};
    const bool cpu = strcmp(ig_device(), "cpu") == 0;
    ig_set_math(cpu ? IG_MATH_STRICT : IG_MATH_SAME);
    for (int i = 0; i < 5 * 4 * 6; i += step) {
        const int64_t n = sides[i % 5] / part, k = (deep[i / 5 % 4] + part - 1) / part;
        const ig_dtype dtype = kinds[i / 20];
        const bool turned = i % 2, stacked = i % 3 == 0 && k < 1000, fused = i % 4 == 3;
        const int64_t shape[] = {stacked ? 3 : 1, turned ? k : n, turned ? n : k};
        ig_array *wide = random_array(i, (ig_ints){shape, 3});
        ig_array *x = alone(ig_astype(ig_multiply(wide, ig_float(3)), dtype));
        ig_array *copy = alone(ig_multiply(x, ig_full(IG_SHAPE(1), ig_int(1), dtype)));
        ig_array *added = alone(ig_astype(random_array(99, IG_SHAPE(n, n)), dtype));
        ig_array *y[2];
        for (int other = 0; other < 2; other++) {
            ig_array *z = other ? copy : x;
            y[other] = turned ? ig_matmul(ig_matrix_transpose(x), z)
                              : ig_matmul(x, ig_matrix_transpose(z));
            y[other] = alone(fused ? ig_add(y[other], added) : y[other]);
        }
        assert_memory_equal(ig_data(y[0]), ig_data(y[1]),
                            (size_t)(shape[0] * n * n) * ig_dtype_bytes(dtype));
    }
    ig_set_math(IG_MATH_STRICT);
}

/* In mode same, products of bf16 are summed as those of f32 and rounded once, also where the CPU has matrix
 * instructions. Sums of large products show the order: some are infinite on the way. */
static void test_same_sums_of_bf16(void **state)
{
    (void)state;
    const int64_t deep[] = {5, 300, 1100};
    ig_set_math(IG_MATH_SAME);
    for (int i = 0; i < 6; i++) {
        const ig_ints left = IG_SHAPE(40, deep[i / 2]), right = IG_SHAPE(deep[i / 2], 35);
        ig_array *scale = ig_float(i % 2 ? 0x1p63 : 1);
        ig_array *x = alone(ig_astype(ig_multiply(random_array(1, left), scale), IG_BF16));
        ig_array *y = alone(ig_astype(ig_multiply(random_array(2, right), scale), IG_BF16));
        ig_array *sums = alone(ig_matmul(ig_astype(x, IG_F32), ig_astype(y, IG_F32)));
        ig_array *have = alone(ig_astype(ig_matmul(x, y), IG_F32));
        ig_array *want = alone(ig_astype(ig_astype(sums, IG_BF16), IG_F32));
        ig_array *alike =
            ig_logical_or(ig_equal(have, want), ig_logical_and(ig_isnan(have), ig_isnan(want)));
        assert_true(ig_item(ig_all(alike, IG_NONE, false)) == 1);
    }
    ig_set_math(IG_MATH_STRICT);
}

/* Mixed dtypes; fused epilogues change nothing. */
static void test_dtypes(void **state)
{
    (void)state;
    ig_array *i = ig_full(IG_SHAPE(2, 3), ig_int(2), IG_I32),
             *b = ig_full(IG_SHAPE(3, 2), ig_bool(1), IG_BOOL);
    ig_array *h = ig_full(IG_SHAPE(3, 2), ig_float(0.5), IG_F16);
    assert_int_equal(ig_dtype_of(ig_matmul(i, b)), IG_I32);
    assert_true(ig_item(ig_sum(ig_matmul(i, b), IG_NONE, IG_DTYPE_NONE, false)) == 24);
    assert_int_equal(ig_dtype_of(ig_matmul(i, h)), IG_F16);
    assert_int_equal(ig_dtype_of(ig_matmul(h, ig_astype(i, IG_BF16))), IG_F32);
    sample s[2] = {sample_make(2, IG_SHAPE(7, 9), IG_F16), sample_make(0, IG_SHAPE(9, 5), IG_F16)};
    ig_array *product = ig_matmul(s[0].x, s[1].x), *copy = ig_matmul(s[0].x, s[1].x);
    ig_array *fused = ig_exp(ig_add(product, ig_float(0.1)));
    assert_int_equal(ig_eval(&copy, 1), IG_OK);
    ig_array *apart = ig_exp(ig_add(copy, ig_float(0.1)));
    assert_true(ig_item(ig_all(ig_equal(fused, apart), IG_NONE, false)) == 1);
    sample_free(&s[0]);
    sample_free(&s[1]);
}

/* ---- errors ---- */

static ig_array *ones(ig_ints shape) { return ig_ones(shape, IG_F32); }

static void expect_fail(ig_array *y, ig_status code, const char *text)
{
    assert_null(y);
    layout_expect_error(code, text);
}

static void test_errors(void **state)
{
    (void)state;
    ig_array *a = ones(IG_SHAPE(2, 3)), *v = ones(IG_SHAPE(3)), *c = ones(IG_SHAPE(4, 5));
    ig_array *truth = ig_full(IG_SHAPE(3, 3), ig_bool(true), IG_BOOL), *zero = ones(IG_SCALAR);
    expect_fail(ig_matmul(a, c), IG_ERR_SHAPE,
                "matmul: shapes (2, 3) and (4, 5) do not match: the last axis of x1 and the "
                "last but one of x2 have lengths 3 and 4");
    expect_fail(ig_matmul(c, v), IG_ERR_SHAPE,
                "matmul: shapes (4, 5) and (3,) do not match: the last axis of x1 and the axis of "
                "x2 have lengths 5 and 3");
    expect_fail(ig_matmul(ones(IG_SHAPE(2, 2, 3)), ones(IG_SHAPE(3, 3, 2))), IG_ERR_SHAPE,
                "matmul: shapes (2, 2, 3) and (3, 3, 2) do not match: leading axes");
    expect_fail(ig_matmul(zero, a), IG_ERR_SHAPE, "matmul: x1 has no axes");
    expect_fail(ig_matmul(a, zero), IG_ERR_SHAPE, "matmul: x2 has no axes");
    expect_fail(ig_matmul(truth, truth), IG_ERR_DTYPE, "matmul takes numbers, not bool");
    expect_fail(
        ig_matmul(ig_full(IG_SHAPE(1), ig_int(1), IG_U64), ig_full(IG_SHAPE(1), ig_int(1), IG_I64)),
        IG_ERR_DTYPE, "matmul: u64 and i64 have no common dtype");
    expect_fail(ig_matmul(NULL, a), IG_ERR_ARGUMENT, "matmul: x1 is NULL");
    expect_fail(ig_matmul(ig_matmul(a, c), a), IG_ERR_SHAPE, "matmul: shapes (2, 3) and (4, 5)");
    expect_fail(ig_vecdot(a, c, -1), IG_ERR_SHAPE, "vecdot: shapes (2, 3) and (4, 5)");
    expect_fail(ig_vecdot(a, v, 0), IG_ERR_SHAPE, "vecdot: axis 0 is not one that both have");
    expect_fail(ig_vecdot(a, v, 2), IG_ERR_SHAPE, "vecdot: axis 2 is out of range");
    expect_fail(ig_outer(a, v), IG_ERR_SHAPE, "outer: x1 has 2 dimensions");
    expect_fail(ig_tensordot(a, c, IG_AXES(3)), IG_ERR_ARGUMENT, "tensordot: axes is 3;");
    expect_fail(ig_tensordot(a, c, IG_AXES(-1)), IG_ERR_ARGUMENT, "tensordot: axes is -1;");
    expect_fail(ig_tensordot(a, c, IG_AXES(0, 1, 0)), IG_ERR_ARGUMENT, "tensordot: 3 axes are");
    expect_fail(ig_tensordot(a, c, IG_AXES(0, 2)), IG_ERR_SHAPE, "tensordot: axis 2 is out of");
    expect_fail(ig_tensordot(a, a, IG_AXES(0, 0, 0, 1)), IG_ERR_SHAPE,
                "tensordot: axis 0 is given");
    expect_fail(ig_tensordot(a, c, IG_AXES(1, 0)), IG_ERR_SHAPE,
                "tensordot: shapes (2, 3) and (4, 5) do not match: axis 1 of x1 and axis 0 of "
                "x2 have lengths 3 and 4");
    ig_array *wide = ones(IG_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1));
    expect_fail(ig_tensordot(wide, wide, IG_AXES(0)), IG_ERR_SHAPE, "tensordot: 18 dimensions");
    /* More products than an integer can count. */
    ig_array *huge = ig_broadcast_to(zero, IG_SHAPE(1, (int64_t)1 << 40));
    expect_fail(ig_tensordot(ig_broadcast_to(zero, IG_SHAPE((int64_t)1 << 20, (int64_t)1 << 40)),
                             huge, IG_AXES(1, 1)),
                IG_ERR_SHAPE, "tensordot: shape (1048576, 1099511627776)");
}

static void test_einsum_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shapes, *error;
        ig_status code;
    } cases[] = {
        {"ij,j!->i", "23 34", "einsum: 'ij,j!->i', position 4: expected a letter", IG_ERR_ARGUMENT},
        {"i.j", "23", "einsum: 'i.j', position 1: axes that are not named", IG_ERR_ARGUMENT},
        {"...i...", "23", "einsum: '...i...', position 4: '...' may appear once", IG_ERR_ARGUMENT},
        {"ij", "234", "einsum: 'ij', position 0: 2 letters for operand 0, which has 3 axes",
         IG_ERR_SHAPE},
        {"i,ijk", "2 23", "einsum: 'i,ijk', position 2: 3 letters for operand 1, which has 2 axes",
         IG_ERR_SHAPE},
        {"...ijk", "23", "einsum: '...ijk', position 0: 3 letters", IG_ERR_SHAPE},
        {"ij", "23 34", "einsum: 'ij' has 1 term for 2 operands", IG_ERR_ARGUMENT},
        {"ij,jk,kl", "23 34", "einsum: 'ij,jk,kl', position 5: more terms than the 2 operands",
         IG_ERR_ARGUMENT},
        {"ij->k", "23", "einsum: 'ij->k', position 4: the result has 'k', which no operand has",
         IG_ERR_ARGUMENT},
        {"ij->ii", "23", "einsum: 'ij->ii', position 4: the result has 'i', which appears",
         IG_ERR_ARGUMENT},
        {"ij->i->j", "23", "einsum: 'ij->i->j', position 5: nothing may follow", IG_ERR_ARGUMENT},
        {"ij->i,j", "23", "einsum: 'ij->i,j', position 5: nothing may follow", IG_ERR_ARGUMENT},
        {"...i->i", "23", "einsum: '...i->i', position 6: the operands have '...'",
         IG_ERR_ARGUMENT},
        {"ij,jk->ik", "23 44",
         "einsum: 'ij,jk->ik': 'j' has length 3 in operand 0 and 4 in operand 1", IG_ERR_SHAPE},
        {"...,...", "3 4", "einsum: '...,...': '...' has length 3 in operand 0", IG_ERR_SHAPE},
        {"ii", "23", "einsum: 'ii': 'i' has lengths 2 and 3 in operand 0", IG_ERR_SHAPE},
        {"ijklmnopqrstuvwxy", "2", "einsum: 'ijklmnopqrstuvwxy', position 16: more letters",
         IG_ERR_ARGUMENT},
        {"abcdefgh,ijklmnopq->abcdefghijklmnopq", "11111111 111111111",
         "einsum: 'abcdefgh,ijklmnopq->abcdefghijklmnopq', position 36: more letters",
         IG_ERR_ARGUMENT},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sample s[OPERANDS];
        ig_array *x[OPERANDS];
        const int n = make_samples(cases[c].shapes, 0, IG_F32, s);
        for (int i = 0; i < n; i++)
            x[i] = s[i].x;
        expect_fail(ig_einsum(cases[c].text, x, n), cases[c].code, cases[c].error);
        for (int i = 0; i < n; i++)
            sample_free(&s[i]);
    }
    ig_array *truth = ig_full(IG_SHAPE(3), ig_bool(true), IG_BOOL), *x = ones(IG_SHAPE(3));
    expect_fail(ig_einsum("i", &truth, 1), IG_ERR_DTYPE, "einsum takes numbers, not bool");
    expect_fail(ig_einsum("i", &truth, 0), IG_ERR_ARGUMENT, "einsum: give at least one array");
    expect_fail(ig_einsum("i", (ig_array *[]){NULL}, 1), IG_ERR_ARGUMENT, "einsum: array 0 of");
    assert_non_null(ig_einsum("i->", &x, 1)); /* and the next call works */
}

/* Checks whether the sum is planned as a sum of i8, and has the same value as for i32 arrays in memory. */
static void check_bytes(ig_array *x, ig_array *y, bool planned)
{
    ig_array *z = ig_matmul(x, y);
    assert_int_equal(ig_dtype_of(z), IG_I32);
    char *plan = ig_explain(&z, 1);
    assert_non_null(plan);
    assert_int_equal(strstr(plan, "contract  i8") != NULL, planned);
    ig_free(plan);
    assert_int_equal(ig_eval((ig_array *[]){z}, 1), IG_OK);
    assert_int_equal(ig_eval((ig_array *[]){x, y}, 2), IG_OK);
    ig_array *right = ig_matmul(x, y); /* of what is i32 now */
    assert_true(ig_item(ig_all(ig_equal(z, right), IG_NONE, false)) == 1);
}

static ig_array *bytes(ig_ints shape, int64_t n)
{
    ig_array *x =
        ig_remainder(ig_multiply(ig_arange(0, (double)n, 1, IG_I32), ig_int(7919)), ig_int(256));
    ig_array *y = ig_reshape(ig_astype(ig_subtract(x, ig_int(128)), IG_I8), shape);
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    return y;
}

/* i8 inputs that are converted to i32 for a product are multiplied as i8, and summed in i32. */
static void test_bytes(void **state)
{
    (void)state;
    ig_array *a = bytes(IG_SHAPE(9, 300), 2700), *b = bytes(IG_SHAPE(300, 20), 6000);
    ig_array *batch = bytes(IG_SHAPE(3, 9, 40), 1080), *one = bytes(IG_SHAPE(40, 7), 280);
    ig_array *t = ig_matrix_transpose(b);
    check_bytes(ig_astype(a, IG_I32), ig_astype(b, IG_I32), true);
    check_bytes(ig_astype(a, IG_I32),
                ig_matrix_transpose(ig_astype(bytes(IG_SHAPE(20, 300), 6000), IG_I32)), true);
    check_bytes(ig_slice(ig_astype(a, IG_I32), IG_AXES(2, 10), IG_AXES(8, 110), IG_AXES(2, 1)),
                ig_slice(ig_astype(b, IG_I32), IG_AXES(100, 3), IG_AXES(200, 20), IG_AXES(1, 2)),
                true);
    check_bytes(ig_astype(batch, IG_I32), ig_astype(one, IG_I32), true);
    check_bytes(ig_astype(a, IG_I32), ig_matrix_transpose(ig_astype(t, IG_I32)),
                false); /* not in order */
    check_bytes(ig_astype(a, IG_I32), ig_full(IG_SHAPE(300, 4), ig_int(3), IG_I32), false);
}

/* Any bytes of i8 or u8, in memory. */
static ig_array *any_bytes(ig_ints shape, ig_dtype dtype)
{
    static int64_t key = 7;
    ig_array *x = ig_randint(ig_key(key++, NULL), shape, 0, 256, IG_I32);
    x = ig_astype(dtype == IG_I8 ? ig_subtract(x, ig_int(128)) : x, dtype);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

/* x in i32 minus a zero point: none, a number, an array of one, or one for each index of an axis. */
static ig_array *centred(ig_array *x, int how, ig_ints along)
{
    const ig_dtype dtype = ig_dtype_of(x);
    ig_array *wide = ig_astype(x, IG_I32);
    switch (how) {
    case 0: return wide;
    case 1: return ig_subtract(wide, ig_astype(ig_int(77), IG_I32));
    case 2: return ig_subtract(wide, ig_astype(any_bytes(IG_SCALAR, dtype), IG_I32));
    default: return ig_subtract(wide, ig_astype(any_bytes(along, dtype), IG_I32));
    }
}

/* Bytes of both kinds minus zero points of every kind are multiplied as i8: odd sizes, one row, batches. */
static void test_zero_points(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 33, 17},  {7, 5, 3},
                                       {9, 20, 64}, {13, 31, 70}, {2, 3, 1100}};
    static const ig_dtype kinds[] = {IG_I8, IG_U8};
    for (int i = 0; i < 4 * 16; i++) {
        const int64_t *size = sizes[i * 5 % 6], m = size[0], n = size[1], k = size[2];
        const ig_dtype a = kinds[i & 1], b = kinds[i >> 1 & 1];
        const int how_a = i >> 2 & 3, how_b = i >> 4 & 3;
        ig_scope_begin();
        ig_array *y = centred(any_bytes(IG_SHAPE(k, n), b), how_b, IG_SHAPE(n));
        ig_array *turned =
            ig_matrix_transpose(centred(any_bytes(IG_SHAPE(n, k), b), how_b, IG_SHAPE(n, 1)));
        check_bytes(centred(any_bytes(IG_SHAPE(m, k), a), how_a, IG_SHAPE(m, 1)), y, true);
        check_bytes(centred(any_bytes(IG_SHAPE(2, m, k), a), how_a, IG_SHAPE(m, 1)), turned, true);
        check_bytes(centred(any_bytes(IG_SHAPE(2, m, k), a), how_a, IG_SHAPE(2, m, 1)),
                    centred(any_bytes(IG_SHAPE(2, k, n), b), how_b, IG_SHAPE(2, 1, n)), true);
        ig_scope_end();
    }
    /* A zero point that varies along k, and a part of such an operand. */
    ig_array *x = centred(any_bytes(IG_SHAPE(6, 40), IG_U8), 3, IG_SHAPE(40));
    ig_array *y = any_bytes(IG_SHAPE(40, 9), IG_I8);
    check_bytes(x, centred(y, 0, IG_NONE), false);
    ig_array *rows = centred(any_bytes(IG_SHAPE(6, 40), IG_U8), 3, IG_SHAPE(6, 1));
    check_bytes(ig_slice(rows, IG_AXES(2, 0), IG_AXES(6, 40), IG_AXES(2, 1)),
                centred(y, 0, IG_NONE), false);
    ig_array *one = centred(any_bytes(IG_SHAPE(6, 40), IG_U8), 2, IG_NONE);
    check_bytes(ig_slice(one, IG_AXES(2, 0), IG_AXES(6, 40), IG_AXES(2, 1)), centred(y, 0, IG_NONE),
                true);
}

/* Convolutions of bytes: the border is the zero point. */
static void test_bytes_convolved(void **state)
{
    (void)state;
    static const ig_dtype kinds[] = {IG_I8, IG_U8};
    for (int i = 0; i < 4 * 3 * 4; i++) {
        const int how = i >> 2 & 3, groups = i % 3 == 2 ? 2 : 1, pad = i / 4 % 3;
        ig_scope_begin();
        ig_array *x =
            centred(any_bytes(IG_SHAPE(2, 6, 9, 7), kinds[i & 1]), how < 3 ? how : 2, IG_NONE);
        ig_array *w = centred(any_bytes(IG_SHAPE(10, 6 / groups, 3, 2), kinds[i >> 1 & 1]), how,
                              IG_SHAPE(10, 1, 1, 1));
        ig_array *y = ig_conv2d(x, w, NULL, IG_AXES(1 + pad % 2, 1), IG_AXES(pad, pad),
                                IG_AXES(1, 2), groups);
        char *plan = ig_explain(&y, 1);
        assert_non_null(plan);
        const bool planned = strstr(plan, "contract  i8") != NULL;
        ig_free(plan);
        assert_true(planned || how == 1 || (how == 3 && groups > 1));
        assert_int_equal(ig_eval((ig_array *[]){y}, 1), IG_OK);
        assert_int_equal(ig_eval((ig_array *[]){x, w}, 2), IG_OK);
        ig_array *right = ig_conv2d(x, w, NULL, IG_AXES(1 + pad % 2, 1), IG_AXES(pad, pad),
                                    IG_AXES(1, 2), groups);
        assert_true(ig_item(ig_all(ig_equal(y, right), IG_NONE, false)) == 1);
        ig_scope_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_einsum, begin, end),
        cmocka_unit_test_setup_teardown(test_einsum_views, begin, end),
        cmocka_unit_test_setup_teardown(test_einsum_half, begin, end),
        cmocka_unit_test_setup_teardown(test_products, begin, end),
        cmocka_unit_test_setup_teardown(test_large, begin, end),
        cmocka_unit_test_setup_teardown(test_epilogue_of_parts, begin, end),
        cmocka_unit_test_setup_teardown(test_products_with_itself, begin, end),
        cmocka_unit_test_setup_teardown(test_same_sums_of_bf16, begin, end),
        cmocka_unit_test_setup_teardown(test_dtypes, begin, end),
        cmocka_unit_test_setup_teardown(test_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_zero_points, begin, end),
        cmocka_unit_test_setup_teardown(test_bytes_convolved, begin, end),
        cmocka_unit_test_setup_teardown(test_errors, begin, end),
        cmocka_unit_test_setup_teardown(test_einsum_errors, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
