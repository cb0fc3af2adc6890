/* An element of a product has the same bits on every path that may compute it: in tiles of any size, among any other rows
 * and columns, packed or read in place, in parts of its sum, by any number of threads. They are the bits of the definition in
 * lanes/gemm.h, except on levels with matrix instructions for bf16. All tests run on each level that the machine supports,
 * or only on IG_CPU_LEVEL. */
#include "support/blocks.h"
#include "support/contract.h"

#include "engine/backend/cpu/contract/tile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the definition ---- */

static bool has_fma(void) { return strcmp(cpu_level_now()->name, "sse2") != 0; }

static bool is_defined(const work *w)
{
    return w->p.dtype != IG_BF16 || w->p.math == IG_MATH_SAME ||
           cpu_level_now()->gemm->of[IG_BF16].group == 1;
}

/* The sum of points [from, to) of k; x and y are the first elements of two rows. */
static double block_sum(const work *w, int64_t x, int64_t y, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++) {
        const double a = dtype_fetch(w->p.dtype, work_at(w, IN0, x + i));
        const double b = dtype_fetch(w->p.dtype, work_at(w, IN1, y + i));
        if (w->p.dtype == IG_F64)
            sum = has_fma() ? fma(a, b, sum) : sum + a * b;
        else /* products of f32 are exact in f64 */
            sum = has_fma() ? fmaf((float)a, (float)b, (float)sum)
                            : (float)((float)sum + (float)(a * b));
    }
    return sum;
}

static void define_float(const work *w, int64_t x, int64_t y, void *to)
{
    const int64_t k = w->p.extent[3], most = cpu_contract_k(w->p.dtype, w->p.math);
    const int64_t blocks = (k + most - 1) / most, size = (k + blocks - 1) / blocks;
    double all = 0;
    for (int64_t i = 0; i < k; i += size) {
        const double sum = block_sum(w, x, y, i, i + size < k ? i + size : k);
        all = i == 0 ? sum : w->p.dtype == IG_F64 ? all + sum : (double)((float)all + (float)sum);
    }
    dtype_store(w->result, to, all);
}

static void define_int(const work *w, int64_t x, int64_t y, void *to)
{
    const size_t bytes = ig_dtype_bytes(w->p.dtype);
    uint64_t sum = 0;
    for (int64_t i = 0; i < w->p.extent[3]; i++) {
        uint64_t a = 0, b = 0;
        memcpy(&a, work_at(w, IN0, x + i), bytes);
        memcpy(&b, work_at(w, IN1, y + i), bytes);
        sum += w->p.dtype == IG_I8 ? (uint64_t)((int8_t)a * (int8_t)b) : a * b;
    }
    memcpy(to, &sum, ig_dtype_bytes(w->result)); /* little endian */
}

static void define_all(const work *w, char *to)
{
    const int64_t *extent = w->p.extent, bytes = (int64_t)ig_dtype_bytes(w->result);
    for (int64_t i = 0; i < w->p.post.size; i++, to += bytes) {
        const int64_t n = i % extent[2], row = i / extent[2], batch = row / extent[1];
        const int64_t x = row * extent[3], y = (batch * extent[2] + n) * extent[3];
        if (dtype_is_float(w->p.dtype))
            define_float(w, x, y, to);
        else
            define_int(w, x, y, to);
    }
}

/* ---- ways to compute ---- */

/* In tiles of about this size, one after another. */
static void run_tiles(work *w, int64_t rows, int64_t columns)
{
    contraction c;
    worker_state s;
    contraction_set(&c, &w->p);
    const int64_t mr = c.thin < 0 ? c.kernel->mr : 1, nr = c.thin < 0 ? c.kernel->nr : 1;
    c.straight = c.straight && rows % mr == 0;
    c.m = cut_at_most(c.m.extent, rows + mr - 1, mr);
    if (!c.small)
        c.n = cut_at_most(c.n.extent, columns + nr - 1, nr);
    c.straight = c.straight && c.m.extent % c.m.size == 0;
    c.round = c.m.parts;
    c.bindings = w->bindings;
    contraction_layout(&c);
    char *memory = malloc(c.at.bytes + 64);
    assert_non_null(memory);
    cpu_fault_clear(&c.fault);
    worker_start(&s, &c, &c.fault, memory + (64 - (uintptr_t)memory % 64) % 64);
    for (int64_t i = 0; i < c.batches * c.m.parts * c.n.parts; i++) {
        const int64_t part = i / c.n.parts % c.m.parts;
        tile_run(&c, &s, i / c.n.parts / c.m.parts, part * c.m.size, cut_length(&c.m, part),
                 i % c.n.parts);
    }
    free(memory);
}

enum { LAUNCHED, FUSED, KEPT, TILES, WAYS };

static void run_way(work *w, int way)
{
    for (int64_t i = 0; i < w->p.extent[2]; i++) /* x + -0 is x */
        if (dtype_is_float(w->result))
            dtype_store(w->result,
                        (char *)w->buf[BIAS].data + i * (int64_t)ig_dtype_bytes(w->result), -0.0);
        else
            memset(w->buf[BIAS].data, 0, w->buf[BIAS].bytes);
    w->buf[IN0].reads = w->buf[IN1].reads = way == KEPT ? 3 : 0; /* their panels are kept */
    work_run(w, (int)(1 + random_below(4)), way == FUSED);
    if (way == TILES) {
        memset(w->buf[OUT].data, 0x55, w->buf[OUT].bytes);
        backend_cpu.compile(&backend_cpu, &w->p);
        run_tiles(w, 1 + random_below(40), 1 + random_below(90));
        backend_cpu.discard(&w->p);
    }
    buffer_forget(&w->buf[IN0]);
    buffer_forget(&w->buf[IN1]);
}

/* ---- cases ---- */

/* A part of an extent: all of it, one, few or some. */
static void pick_part(int64_t all, int64_t *first, int64_t *n)
{
    const int64_t dice = random_below(4);
    *n = dice == 0 ? all : dice == 1 ? 1 : 1 + random_below(dice == 2 && all > 9 ? 9 : all);
    *first = random_below(all - *n + 1);
}

/* Computes some rows and columns and compares them with those of `right`, the whole result. */
static void check_part(const work *all, const char *right)
{
    work w = *all;
    int64_t first[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        int64_t axis = w.p.ndim[0], at, n;
        view *v = &w.p.in[side].v;
        pick_part(v->shape[axis], &at, &n);
        const int64_t each = w.p.extent[1 + side] / v->shape[axis];
        v->offset += at * v->stride[axis];
        v->shape[axis] = n;
        first[side] = at * each;
        w.p.extent[1 + side] = n * each;
    }
    view_contiguous(&w.operand[0].v, 3, w.p.extent);
    w.operand[1].v = w.operand[0].v;
    w.operand[1].v.stride[0] = w.operand[1].v.stride[1] = 0;
    memcpy(w.p.post.shape, w.operand[0].v.shape, sizeof w.p.post.shape);
    w.p.post.size = view_size(&w.operand[0].v);
    work_buffer(&w, OUT, w.result, w.p.post.size);
    work_buffer(&w, BIAS, w.result, w.p.extent[2]);
    const int way = (int)random_below(WAYS);
    run_way(&w, way);
    const int64_t *n = w.p.extent, bytes = (int64_t)ig_dtype_bytes(w.result);
    for (int64_t i = 0; i < n[0] * n[1]; i++) {
        const int64_t row = i / n[1] * all->p.extent[1] + first[0] + i % n[1];
        const char *from = right + (row * all->p.extent[2] + first[1]) * bytes;
        if (memcmp((char *)w.buf[OUT].data + i * n[2] * bytes, from, (size_t)(n[2] * bytes)) != 0)
            fail_msg("%s, math %d, %lld x (%lld, %lld, %lld): rows from %lld and columns from "
                     "%lld, %lld x %lld, by way %d: "
                     "row %lld has other bits",
                     ig_dtype_name(w.p.dtype), (int)w.p.math, (long long)n[0],
                     (long long)all->p.extent[1], (long long)all->p.extent[2], (long long)n[3],
                     (long long)first[0], (long long)first[1], (long long)n[1], (long long)n[2],
                     way, (long long)i);
    }
    free(w.buf[OUT].data);
    free(w.buf[BIAS].data);
}

/* Numbers whose products are subnormal. */
static void make_tiny(work *w)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(w->p.dtype);
    for (int slot = IN0; slot <= IN1; slot++)
        for (char *x = w->buf[slot].data; x < (char *)w->buf[slot].data + w->buf[slot].bytes;
             x += bytes)
            dtype_store(w->p.dtype, x, ldexp(dtype_fetch(w->p.dtype, x), -66));
}

/* Compares parts of the product in several layouts with the definition, or with the whole product if there is none. */
static void check_case(work *all, const int *ndim, const int64_t *shape)
{
    enum { PARTS = 5, COPIES = 2 };
    char *right = malloc(all->buf[OUT].bytes);
    assert_non_null(right);
    run_way(all, LAUNCHED);
    memcpy(right, all->buf[OUT].data, all->buf[OUT].bytes);
    if (is_defined(all))
        define_all(all, right);
    else
        check_values(all, 100);
    assert_memory_equal(right, all->buf[OUT].data, all->buf[OUT].bytes);
    for (int i = 0; i < PARTS; i++)
        check_part(all, right);
    for (int copy = 0; copy < COPIES; copy++) {
        work w;
        work_make(&w, all->p.dtype, ndim, shape, (layout)random_below(STILL),
                  (layout)random_below(STILL));
        w.p.math = all->p.math;
        work_copy_inputs(&w, all);
        for (int i = 0; i < PARTS; i++)
            check_part(&w, right);
        work_free(&w);
    }
    free(right);
}

/* A length: often small, sometimes more than a tile. */
static int64_t pick_length(void)
{
    static const int64_t most[] = {1, 8, 40, 130, 300};
    return 1 + random_below(most[random_below(5)]);
}

/* Random products; at most `most` multiplications. */
static void check_random(ig_dtype dtype, int64_t most)
{
    int64_t shape[5] = {1 + (random_below(4) == 0) * random_below(3), pick_length(), pick_length(),
                        pick_length(), 1};
    if (random_below(3) == 0) /* some blocks of k */
        shape[3] = 250 + random_below(900);
    else if (random_below(2))
        shape[4] = 1 + random_below(7);
    while (shape[0] * shape[1] * shape[2] * shape[3] * shape[4] > most)
        shape[1 + random_below(2)] /= 2;
    for (int i = 1; i < 3; i++)
        shape[i] += shape[i] == 0;
    const int ndim[4] = {1, 1, 1, 2};
    work w;
    wide_sums = dtype != IG_I8 || random_below(2);
    work_make(&w, dtype, ndim, shape, PLAIN, random_below(2) ? PLAIN : REVERSED);
    w.p.math = random_below(3) ? IG_MATH_STRICT : IG_MATH_SAME;
    if (shape[0] > 1 && random_below(2)) /* one matrix for all batches */
        w.p.in[1].v.stride[0] = 0;
    if ((dtype == IG_F32 || dtype == IG_BF16) && random_below(4) == 0)
        make_tiny(&w);
    check_case(&w, ndim, shape);
    work_free(&w);
}

/* x @ x.T, of which half is computed */
static void check_symmetric(ig_dtype dtype)
{
    const int64_t n = 128 + random_below(20), shape[4] = {1, n, n, 1 + random_below(9)};
    const int ndim[4] = {1, 1, 1, 1};
    work w;
    work_make(&w, dtype, ndim, shape, random_below(2) ? PLAIN : REVERSED, PLAIN);
    w.p.in[1].slot = IN0;
    w.p.in[1].v = w.p.in[0].v;
    free(w.buf[IN1].data);
    w.buf[IN1].data = malloc(w.buf[IN0].bytes); /* for the definition */
    memcpy(w.buf[IN1].data, w.buf[IN0].data, w.buf[IN0].bytes);
    check_case(&w, ndim, shape);
    work_free(&w);
}

/* Overlapping windows: convolutions of groups with few channels */
static void check_windows(ig_dtype dtype)
{
    const int64_t side = 1 + random_below(4), step = 1 + random_below(2);
    const int64_t high = 1 + random_below(20), wide = 1 + random_below(40);
    const int64_t line = (wide - 1) * step + side + random_below(3);
    const int64_t plane = ((high - 1) * step + side) * line;
    const int64_t shape[6] = {1 + random_below(3), 1 + random_below(4), high, wide, side, side};
    const int ndim[4] = {1, 1, 2, 2};
    work w;
    work_shape(&w, dtype, ndim, shape);
    layout_axes(&w.p.in[0].v, PLAIN);
    const int64_t stride[] = {plane, step * line, step, line, 1};
    memcpy(w.p.in[1].v.stride, stride, sizeof stride);
    work_fill(&w);
    check_case(&w, ndim, shape);
    work_free(&w);
}

static void test_paths(void **state)
{
    (void)state;
    enum { ROUNDS = 12 };
    const int64_t most = getenv("IG_TEST_EMULATED") ? 20000 : 100000;
    for (int i = 0; i < CONTRACT_DTYPES; i++) {
        const ig_dtype dtype = contract_dtypes[i];
        const int rounds = (dtype_is_float(dtype) ? 3 * ROUNDS : ROUNDS) / step(3);
        for (int round = 0; round < rounds; round++) {
            check_random(dtype, most);
            wide_sums = true;
            if (round % 6 == 0)
                check_symmetric(dtype);
            if (round % 3 == 0)
                check_windows(dtype);
            wide_sums = false;
        }
    }
}

/* Panels that are kept with their buffer: only those of large matrices are. */
static void test_kept_panels(void **state)
{
    (void)state;
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_BF16, IG_I8};
    const int ndim[4] = {0, 1, 1, 1};
    for (int i = 0; i < 4; i++) {
        const int64_t shape[3] = {1 + random_below(12), 300 + random_below(40),
                                  450 + random_below(100)};
        work w;
        wide_sums = true;
        work_make(&w, dtypes[i], ndim, shape, PLAIN, PLAIN);
        run_way(&w, LAUNCHED);
        char *plain = malloc(w.buf[OUT].bytes);
        assert_non_null(plain);
        memcpy(plain, w.buf[OUT].data, w.buf[OUT].bytes);
        for (int times = 0; times < 6; times++) {
            run_way(&w, KEPT);
            assert_memory_equal(plain, w.buf[OUT].data, w.buf[OUT].bytes);
            check_part(&w, plain);
        }
        free(plain);
        work_free(&w);
        wide_sums = false;
    }
}

/* Parts of sums: a product of arrays that are read in blocks */
static void test_parts_of_sums(void **state)
{
    (void)state;
    static const ig_dtype dtypes[] = {IG_BF16, IG_F16, IG_F32, IG_F64};
    for (int i = 0; i < 24 / step(2); i++) {
        const int64_t m = 1 + below(60), n = 1 + below(60), k = 1 + below(i % 3 ? 300 : 2500);
        const int64_t chunk[2][2] = {{1 + below(m), 1 + below(k)}, {1 + below(n), 1 + below(k)}};
        char most[32];
        snprintf(most, sizeof most, "%lld", (long long)(100 + below(4 * (m + n) * k)));
        ig_scope_begin();
        ig_array *x = drawn(2 * i, IG_SHAPE(m, k), dtypes[i % 4]),
                 *y = drawn(2 * i + 1, IG_SHAPE(n, k), dtypes[i % 4]);
        size_t bytes, other;
        char *plain = elements(ig_tensordot(x, y, IG_AXES(-1, 1)), &bytes);
        setenv("IG_BLOCK_BYTES", most, 1);
        ig_array *in_blocks =
            ig_tensordot(source_of(x, chunk[0]), source_of(y, chunk[1]), IG_AXES(-1, 1));
        char *text = ig_explain(&in_blocks, 1), *blocked = elements(in_blocks, &other);
        unsetenv("IG_BLOCK_BYTES");
        assert_int_equal(bytes, other);
        if (memcmp(plain, blocked, bytes) != 0)
            fail_msg("(%lld, %lld) by (%lld, %lld) %s in blocks of %s bytes: other bits\n%s",
                     (long long)m, (long long)k, (long long)n, (long long)k,
                     ig_dtype_name(dtypes[i % 4]), most, text ? text : "");
        ig_free(text);
        free(plain);
        free(blocked);
        ig_scope_end();
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_kept_panels),
        cmocka_unit_test_setup_teardown(test_parts_of_sums, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_on_levels(run_all); }
