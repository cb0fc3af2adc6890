/* The CPU device on handmade programs: tapes through all kinds of views, reductions in their stated order for any
 * number of threads, and faults. */
#include "cpu_programs.h"

/* ---- maps ---- */

/* d = a * b + c through views of one shape, checked point by point. */
static void check_views(view a, view b, view d, ig_dtype dtype)
{
    const int64_t n = view_size(&d);
    const int64_t room = 2 * n + 40000;
    float *x = floats(room), *y = floats(room), *z = calloc((size_t)room, sizeof *z);
    bench *w = bench_new(PROGRAM_MAP, dtype);
    tape *t = &w->p.pre;
    space(t, d.ndim, d.shape);
    const int ra = load(t, 0, IG_F32, a), rb = load(t, 1, IG_F32, b);
    const int rm = map(t, OP_multiply, IG_F32, ra, rb, -1);
    const int rs = map(t, OP_subtract, IG_F32, rm, ra, -1);
    store(t, rs, 2, IG_F32, d);
    bind(w, 0, x);
    bind(w, 1, y);
    bind(w, 2, z);
    assert_int_equal(run(w), IG_OK);
    for (int64_t i = 0; i < n; i++) {
        const float want = x[view_at(&a, i)] * y[view_at(&b, i)] - x[view_at(&a, i)];
        assert_true(memcmp(&z[view_at(&d, i)], &want, 4) == 0);
    }
    free(x);
    free(y);
    free(z);
    free(w);
}

static void test_views(void **s)
{
    static const int64_t shapes[][3] = {{1, 1, 1},  {3, 5, 7},    {2, 3, 1500}, {2, 1025, 3},
                                        {40, 1, 9}, {1, 30, 513}, {7, 11, 64},  {1, 1, 5000}};
    (void)s;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        const int64_t *n = shapes[k];
        const view p = packed(3, n);
        view row = p, column = p, one = p, turned = p, back = p, apart = p;
        row.stride[0] = row.stride[1] = 0; /* the same for all rows */
        column.stride[2] = 0;
        column.stride[1] = 1;
        column.stride[0] = n[1];
        one.stride[0] = one.stride[1] = one.stride[2] = 0;
        one.offset = 3;
        turned.stride[0] = 1;
        turned.stride[1] = n[0];
        turned.stride[2] = n[0] * n[1];
        back.stride[2] = -1;
        back.stride[1] = -n[2];
        back.stride[0] = -n[1] * n[2];
        back.offset = n[0] * n[1] * n[2] + 4;
        for (int i = 0; i < 3; i++)
            apart.stride[i] *= 2;
        const view some[] = {p, row, column, one, turned, back, apart};
        for (int a = 0; a < 7; a++)
            for (int b = 0; b < 7; b++)
                check_views(some[a], some[b], p, IG_F32);
        check_views(turned, p, turned, IG_F32);
        check_views(row, back, back, IG_F32);
        check_views(one, one, apart, IG_F32);
    }
}

/* Results of 32 MiB and more are written past the caches: from points, from rows that repeat and end within a cache
 * line, from columns, tiles and single elements. */
static void test_large_views(void **s)
{
    const int64_t many[] = {1 << 20, 8}, rows[] = {8400, 1001}, square[] = {2900, 2900};
    const view short_rows = packed(2, many), p = packed(2, rows), tiles = packed(2, square);
    view repeated = short_rows, row = p, column = p, apart = p, later = p, turned = tiles;
    (void)s;
    repeated.stride[0] = row.stride[0] = 0;
    column.stride[1] = 0;
    column.stride[0] = 1;
    apart.stride[0] *= 2;
    apart.stride[1] = 2;
    later.offset = 3;
    turned.stride[0] = 1;
    turned.stride[1] = square[0];
    check_views(short_rows, repeated, short_rows, IG_F32);
    check_views(row, column, later, IG_F32);
    check_views(apart, p, later, IG_F32);
    check_views(tiles, turned, tiles, IG_F32);
}

/* A program without elements does nothing; a program without axes has one element. */
static void test_no_points(void **s)
{
    (void)s;
    bench *w = bench_new(PROGRAM_MAP, IG_F32);
    const int64_t none[2] = {3, 0};
    space(&w->p.pre, 2, none);
    store(&w->p.pre, load(&w->p.pre, 0, IG_F32, packed(2, none)), 1, IG_F32, packed(2, none));
    assert_int_equal(run(w), IG_OK);
    free(w);
    w = bench_new(PROGRAM_MAP, IG_F32);
    float x = 2, y = 0;
    space(&w->p.pre, 0, NULL);
    const int r = load(&w->p.pre, 0, IG_F32, packed(0, NULL));
    store(&w->p.pre, map(&w->p.pre, OP_square, IG_F32, r, -1, -1), 1, IG_F32, packed(0, NULL));
    bind(w, 0, &x);
    bind(w, 1, &y);
    assert_int_equal(run(w), IG_OK);
    assert_true(y == 4);
    free(w);
}

/* A rounding that a store repeats is removed, unless something else needs it; the results are the same. */
static void test_roundings_of_stores(void **s)
{
    enum { N = 3000 };
    (void)s;
    float *x = floats(N);
    for (int used = 0; used < 2; used++) {
        uint16_t half[N];
        float twice[N];
        bench *w = bench_new(PROGRAM_MAP, IG_F32);
        tape *t = &w->p.pre;
        space(t, 1, (int64_t[]){N});
        const int r = load(t, 0, IG_F32, line(N));
        const int rounded = add_inst(
            t, (tape_inst){.code = TAPE_ROUND, .dtype = IG_BF16, .to = IG_BF16, .a = (int16_t)r});
        store(t, rounded, 1, IG_BF16, line(N));
        const int before = used ? rounded : r;
        store(t, map(t, OP_add, IG_F32, before, before, -1), 2, IG_F32, line(N));
        bind(w, 0, x);
        bind(w, 1, half);
        bind(w, 2, twice);
        const int n = t->n_inst;
        assert_int_equal(run(w), IG_OK);
        assert_int_equal(t->n_inst, used ? n : n - 1);
        for (int i = 0; i < N; i++) {
            uint16_t want;
            dtype_store(IG_BF16, &want, x[i]);
            assert_int_equal(half[i], want);
            assert_true(twice[i] == 2 * (used ? dtype_fetch(IG_BF16, &want) : (double)x[i]));
        }
        free(w);
    }
    free(x);
}

/* A buffer that is read and written through one view, and read by others after the first result. */
static void test_in_place(void **s)
{
    enum { N = 100000 };
    (void)s;
    float *x = floats(N), *old = malloc(N * sizeof *old), *other = malloc(N * sizeof *other);
    memcpy(old, x, N * sizeof *old);
    for (int order = 0; order < 2; order++) {
        memcpy(x, old, N * sizeof *old);
        bench *w = bench_new(PROGRAM_MAP, IG_F32);
        tape *t = &w->p.pre;
        space(t, 1, (int64_t[]){N});
        const int r = load(t, 0, IG_F32, line(N));
        const int twice = map(t, OP_add, IG_F32, r, r, -1);
        const int square = map(t, OP_square, IG_F32, r, -1, -1);
        store(t, order ? square : twice, 0, IG_F32, line(N));
        store(t, order ? twice : square, 1, IG_F32, line(N));
        bind(w, 0, x);
        bind(w, 1, other);
        assert_int_equal(run(w), IG_OK);
        for (int i = 0; i < N; i++) {
            assert_true((order ? other : x)[i] == old[i] + old[i]);
            assert_true((order ? x : other)[i] == old[i] * old[i]);
        }
        free(w);
    }
    free(x);
    free(old);
    free(other);
}

/* f16 is computed in f32 and rounded where the tape says so; casts convert lanes. */
static void test_half_and_casts(void **s)
{
    enum { N = 2500 };
    (void)s;
    static uint16_t x[2 * N], y[N];
    static int64_t big[N];
    static uint8_t truth[N];
    for (int i = 0; i < 2 * N; i++)
        dtype_store(IG_F16, &x[i], next_float());
    bench *w = bench_new(PROGRAM_MAP, IG_F16);
    tape *t = &w->p.pre;
    view every_second = line(N);
    every_second.stride[0] = 2;
    space(t, 1, (int64_t[]){N});
    const int a = load(t, 0, IG_F16, every_second);
    const int m = map(t, OP_multiply, IG_F32, a, a, -1);
    const int r = add_inst(
        t, (tape_inst){.code = TAPE_ROUND, .dtype = IG_F32, .to = IG_F16, .a = (int16_t)m});
    const int sum = map(t, OP_add, IG_F32, r, a, -1);
    store(t, sum, 1, IG_F16, line(N));
    const int index = add_inst(t, (tape_inst){.code = TAPE_IOTA, .dtype = IG_I64});
    const int square = map(t, OP_pow, IG_I64, index, index, -1);
    const int half = add_inst(
        t, (tape_inst){.code = TAPE_CAST, .dtype = IG_I64, .to = IG_F16, .a = (int16_t)index});
    const int whole = add_inst(
        t, (tape_inst){.code = TAPE_CAST, .dtype = IG_F16, .to = IG_I64, .a = (int16_t)half});
    const int both = map(t, OP_subtract, IG_I64, square, whole, -1);
    store(t, both, 2, IG_I64, line(N));
    const int yes = add_inst(
        t, (tape_inst){.code = TAPE_CAST, .dtype = IG_F16, .to = IG_BOOL, .a = (int16_t)half});
    store(t, yes, 3, IG_BOOL, line(N));
    bind(w, 0, x);
    bind(w, 1, y);
    bind(w, 2, big);
    bind(w, 3, truth);
    assert_int_equal(run(w), IG_OK);
    for (int i = 0; i < N; i++) {
        const double v = dtype_fetch(IG_F16, &x[2 * i]);
        uint16_t product, want, rounded;
        dtype_store(IG_F16, &product, v * v);
        dtype_store(IG_F16, &want, dtype_fetch(IG_F16, &product) + v);
        assert_int_equal(y[i], want);
        dtype_store(IG_F16, &rounded, i);
        uint64_t power = 1;
        for (int k = 0; k < i; k++)
            power *= (uint64_t)i;
        assert_true((uint64_t)big[i] == power - (uint64_t)dtype_fetch(IG_F16, &rounded));
        assert_int_equal(truth[i], i != 0);
    }
    free(w);
}

/* ---- reads, random bits ---- */

static void test_read(void **s)
{
    enum { ROWS = 700, COLUMNS = 13, TABLE = 50 };
    (void)s;
    static double table[TABLE * COLUMNS], out[ROWS * COLUMNS];
    static int64_t index[ROWS];
    for (int i = 0; i < TABLE * COLUMNS; i++)
        table[i] = i;
    for (int i = 0; i < ROWS; i++)
        index[i] = (int64_t)(next_random() % (2 * TABLE)) - TABLE;
    for (int bad = 0; bad < 2; bad++) {
        bench *w = bench_new(PROGRAM_MAP, IG_F64);
        tape *t = &w->p.pre;
        const int64_t shape[2] = {ROWS, COLUMNS};
        view rows = packed(2, shape), base = packed(2, shape);
        rows.stride[0] = 1;
        rows.stride[1] = 0;
        base.stride[0] = 0;
        space(t, 2, shape);
        const int r = load(t, 0, IG_I64, rows);
        const int o = add_operand(t, 1, IG_F64, base);
        t->operand[o].axis_len = TABLE;
        t->operand[o].axis_stride = COLUMNS;
        const int v = add_inst(
            t, (tape_inst){
                   .code = TAPE_READ, .dtype = IG_F64, .operand = (int16_t)o, .a = (int16_t)r});
        store(t, v, 2, IG_F64, packed(2, shape));
        bind(w, 0, index);
        bind(w, 1, table);
        bind(w, 2, out);
        if (bad) {
            index[300] = TABLE;
            index[600] = -TABLE - 1;
            for (int k = 0; k < THREAD_COUNTS; k++) {
                pool_set_threads(thread_counts[k]);
                assert_int_equal(run(w), IG_ERR_INDEX);
                ig_status code;
                const char *text = ig_error(&code);
                assert_int_equal(code, IG_ERR_INDEX);
                assert_non_null(strstr(text, "index 50 is out of bounds for an axis of length 50"));
            }
            pool_set_threads(0);
        } else {
            assert_int_equal(run(w), IG_OK);
            for (int i = 0; i < ROWS * COLUMNS; i++) {
                const int64_t k =
                    index[i / COLUMNS] < 0 ? index[i / COLUMNS] + TABLE : index[i / COLUMNS];
                assert_true(out[i] == (double)(k * COLUMNS + i % COLUMNS));
            }
        }
        free(w);
    }
}

enum { BITS_FROM = 5 }; /* the first index */

static void test_bits(void **s)
{
    enum { N = 70001 };
    (void)s;
    static uint32_t first[N], other[N];
    uint32_t key[8] = {1, 9, 2, 9, 3, 9, 4, 9};
    const uint32_t straight[4] = {1, 2, 3, 4};
    for (int k = 0; k < THREAD_COUNTS; k++) {
        bench *w = bench_new(PROGRAM_MAP, IG_U32);
        tape *t = &w->p.pre;
        view v = line(4);
        v.stride[0] = 2;
        space(t, 1, (int64_t[]){N});
        const int o = add_operand(t, 0, IG_U32, v);
        t->operand[o].first_index = BITS_FROM;
        store(t, add_inst(t, (tape_inst){.code = TAPE_BITS, .to = IG_U32, .operand = (int16_t)o}),
              1, IG_U32, line(N));
        bind(w, 0, key);
        bind(w, 1, k ? other : first);
        pool_set_threads(thread_counts[k]);
        assert_int_equal(run(w), IG_OK);
        assert_memory_equal(first, k ? other : first, sizeof first);
        free(w);
    }
    pool_set_threads(0);
    cpu_level_now()->bits(IG_U32, straight, 4, BITS_FROM + 70000, 1, other);
    assert_int_equal(first[70000], other[0]);
}

/* ---- reductions: the order, written down once more ---- */

static float join_sum(float x, float y) { return x + y; }
static float join_max(float x, float y) { return x != x || y != y ? NAN : x > y ? x : y; }

typedef float (*join_fn)(float x, float y);

/* The fold of a row of n values, `step` apart. */
static float reference_chunk(join_fn join, float identity, const float *x, int64_t step, int64_t n)
{
    float lane[FOLD_LANES];
    for (int j = 0; j < FOLD_LANES; j++)
        lane[j] = identity;
    for (int64_t i = 0; i < n; i++)
        lane[i % FOLD_LANES] = join(lane[i % FOLD_LANES], x[i * step]);
    for (int half = FOLD_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] = join(lane[j], lane[j + half]);
    return lane[0];
}

static float reference_row(join_fn join, float identity, const float *x, int64_t step, int64_t n)
{
    float value[64];
    int64_t stands_for[64];
    int depth = 0;
    for (int64_t i = 0; i < n; i += TAPE_BLOCK) {
        const int64_t len = n - i < TAPE_BLOCK ? n - i : TAPE_BLOCK;
        value[depth] = reference_chunk(join, identity, x + i * step, step, len);
        stands_for[depth++] = 1;
        for (; depth > 1 && stands_for[depth - 1] == stands_for[depth - 2]; depth--) {
            value[depth - 2] = join(value[depth - 2], value[depth - 1]);
            stands_for[depth - 2] *= 2;
        }
    }
    for (; depth > 1; depth--)
        value[depth - 2] = join(value[depth - 2], value[depth - 1]);
    return depth ? value[0] : 0;
}

/* Folds the rows of x, viewed through v, a view of (outer, inner), into out; the post tape negates. plain: the pre tape
 * only loads. */
static void reduce_of(bool plain, int fold, const float *x, view v, float *out)
{
    bench *w = bench_new(PROGRAM_REDUCE, IG_F32);
    w->p.fold = (uint16_t)fold;
    w->p.outer = v.shape[0];
    w->p.inner = v.shape[1];
    view out_view = line(w->p.outer);
    view_collapse((view *[]){&v}, 1);
    space(&w->p.pre, v.ndim, v.shape);
    const int r = load(&w->p.pre, 0, IG_F32, v);
    w->p.pre.result = plain ? r : map(&w->p.pre, OP_positive, IG_F32, r, -1, -1);
    space(&w->p.post, 1, out_view.shape);
    const int c = core(&w->p.post, IG_F32);
    store(&w->p.post, map(&w->p.post, OP_negative, IG_F32, c, -1, -1), 1, IG_F32, out_view);
    bind(w, 0, (void *)x);
    bind(w, 1, out);
    assert_int_equal(run(w), IG_OK);
    free(w);
}

static void reduce(int fold, const float *x, view v, float *out)
{
    reduce_of(false, fold, x, v, out);
}

/* Contiguous rows; strided rows; and strided rows without one column, so that they are not adjacent. */
static void check_reduce_of(bool plain, int64_t outer, int64_t inner, const float *x)
{
    float *got = malloc((size_t)outer * sizeof *got + 1);
    float *want = malloc((size_t)outer * sizeof *want + 1);
    const int64_t shape[2] = {outer, inner};
    for (int turned = 0; turned < (outer > 1 ? 3 : 2); turned++) {
        view v = packed(2, shape);
        if (turned) {
            v.stride[0] = 1;
            v.stride[1] = outer;
        }
        if (turned == 2)
            v.shape[0] = --outer;
        for (int64_t o = 0; o < outer; o++)
            want[o] = -reference_row(join_sum, -0.0f, x + o * v.stride[0], v.stride[1], inner);
        for (int k = 0; k < THREAD_COUNTS; k++) {
            pool_set_threads(thread_counts[k]);
            reduce_of(plain, OP_sum, x, v, got);
            for (int64_t o = 0; o < outer; o++)
                if (memcmp(&got[o], &want[o], 4) != 0)
                    fail_msg("sum (%d, %d) turned %d threads %d at %d: %a, not %a", (int)outer,
                             (int)inner, turned, thread_counts[k], (int)o, got[o], want[o]);
        }
        reduce_of(plain, OP_max, x, v, got);
        for (int64_t o = 0; o < outer && inner > 0; o++)
            assert_true(got[o] == -reference_row(join_max, -INFINITY, x + o * v.stride[0],
                                                 v.stride[1], inner));
    }
    pool_set_threads(0);
    free(got);
    free(want);
}

static void check_reduce(int64_t outer, int64_t inner, const float *x)
{
    check_reduce_of(false, outer, inner, x);
    check_reduce_of(true, outer, inner, x);
}

static void test_reduce_order(void **s)
{
    (void)s;
    float *x = floats(1000003);
    static const int64_t lengths[] = {0,    1,    2,    3,    5,    16,   31,   32,   33,
                                      63,   64,   65,   100,  500,  1000, 1023, 1024, 1025,
                                      2047, 2048, 2049, 3000, 3072, 4096, 5000};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        check_reduce(1, lengths[k], x);
        check_reduce(7, lengths[k], x);
        check_reduce(193, lengths[k], x);
    }
    for (int64_t n = 6; n < 200; n += 7)
        check_reduce(3, n, x);
    check_reduce(1, 1000003, x);
    check_reduce(3, 333333, x);
    check_reduce(333333, 3, x);
    check_reduce(1000, 1000, x);
    check_reduce(600, 1500, x);
    check_reduce(5000, 200, x);
    check_reduce(9001, 111, x);
    check_reduce(130, 7000, x);
    check_reduce(0, 5, x);
    free(x);
}

/* A sum of -0.0 is -0.0; an empty sum is +0. */
static void test_reduce_zero(void **s)
{
    (void)s;
    float x[5] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f}, got = 1;
    reduce(OP_sum, x, packed(2, (int64_t[]){1, 5}), &got);
    assert_true(got == 0 && !signbit(got));
    reduce(OP_sum, x, packed(2, (int64_t[]){1, 0}), &got);
    assert_true(got == 0 && signbit(got)); /* the post tape negates */
    reduce(OP_prod, x, packed(2, (int64_t[]){1, 0}), &got);
    assert_true(got == -1);
    x[3] = NAN;
    reduce(OP_max, x, packed(2, (int64_t[]){1, 5}), &got);
    assert_true(got != got);
}

/* any and all of empty rows. */
static void test_reduce_empty_bool(void **s)
{
    (void)s;
    for (int fold = 0; fold < 2; fold++) {
        uint8_t got[3] = {9, 9, 9};
        bench *w = bench_new(PROGRAM_REDUCE, IG_BOOL);
        w->p.fold = fold ? OP_min : OP_max;
        w->p.outer = 3;
        space(&w->p.pre, 2, (int64_t[]){3, 0});
        w->p.pre.result = load(&w->p.pre, 0, IG_BOOL, packed(2, (int64_t[]){3, 0}));
        space(&w->p.post, 1, (int64_t[]){3});
        store(&w->p.post, core(&w->p.post, IG_BOOL), 1, IG_BOOL, line(3));
        bind(w, 0, got);
        bind(w, 1, got);
        assert_int_equal(run(w), IG_OK);
        for (int i = 0; i < 3; i++)
            assert_int_equal(got[i], fold);
        free(w);
    }
}

static void check_argreduce(int64_t outer, int64_t inner, const float *x)
{
    int64_t *got = malloc((size_t)outer * sizeof *got);
    for (int fold = 0; fold < 2; fold++) {
        bench *w = bench_new(PROGRAM_ARGREDUCE, IG_F32);
        w->p.fold = fold ? OP_min : OP_max;
        w->p.outer = outer;
        w->p.inner = inner;
        space(&w->p.pre, 1, (int64_t[]){outer * inner});
        w->p.pre.result = load(&w->p.pre, 0, IG_F32, line(outer * inner));
        space(&w->p.post, 1, &outer);
        store(&w->p.post, core(&w->p.post, IG_I64), 1, IG_I64, line(outer));
        bind(w, 0, (void *)x);
        bind(w, 1, got);
        assert_int_equal(run(w), IG_OK);
        for (int64_t o = 0; o < outer; o++) {
            const float *row = x + o * inner;
            int64_t best = 0;
            for (int64_t i = 1; i < inner && row[best] == row[best]; i++)
                if (row[i] != row[i] || (fold ? row[i] < row[best] : row[i] > row[best]))
                    best = i;
            assert_int_equal(got[o], best);
        }
        free(w);
    }
    free(got);
}

static void test_argreduce(void **s)
{
    (void)s;
    float *x = floats(200000);
    for (int i = 0; i < 200000; i++) /* ties */
        x[i] = floorf(x[i] * 20);
    check_argreduce(1, 200000, x);
    check_argreduce(19, 10000, x);
    check_argreduce(20000, 10, x);
    check_argreduce(150, 1023, x);
    check_argreduce(5, 1, x);
    for (int i = 0; i < 200000; i += 4999)
        x[i] = NAN;
    check_argreduce(19, 10000, x);
    check_argreduce(20000, 10, x);
    free(x);
}

/* ---- devices ---- */

static void test_devices(void **s)
{
    (void)s;
    ig_device_info info = {0};
    assert_ptr_equal(backend_find("cpu"), &backend_cpu);
    assert_ptr_equal(backend_find("null"), &backend_null);
    assert_null(backend_find("gpu"));
    assert_null(backend_at(backend_count()));
    for (int i = 0; i < backend_count(); i++) {
        assert_int_equal(backend_at(i)->describe(backend_at(i), &info), IG_OK);
        assert_string_equal(info.name, backend_at(i)->name);
    }
    assert_int_equal(backend_cpu.describe(&backend_cpu, &info), IG_OK);
    assert_non_null(strstr(info.levels, info.level));
    const uint64_t used = ig_memory_used();
    buffer *b = backend_null.alloc(&backend_null, (size_t)1 << 50);
    assert_non_null(b);
    assert_true(ig_memory_used() == used && !b->data);
    buffer_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_large_views),
        cmocka_unit_test(test_no_points),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_roundings_of_stores),
        cmocka_unit_test(test_half_and_casts),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_reduce_order),
        cmocka_unit_test(test_reduce_zero),
        cmocka_unit_test(test_reduce_empty_bool),
        cmocka_unit_test(test_argreduce),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
