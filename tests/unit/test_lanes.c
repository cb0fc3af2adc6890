/* The lane loops of every level that runs here: elementwise rows and conversions, against plain scalar C. */
#define LEVEL test
#include "engine/backend/cpu/lanes/lane_math.h"

#include "ingot/ops.h"
#include "each_level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* The expected results of rows with a far path. */
#undef m_sin
#undef m_cos
#undef m_tan
#undef m_remainder
#define m_sin(x) m_sin_full(x)
#define m_cos(x) m_cos_full(x)
#define m_tan(x) m_tan_full(x)
#define m_remainder(x, y) \
    _Generic((x), float \
             : vm_remainder_full_f32, double \
             : vm_remainder_full_f64, LANE_PICK_INT(remainder))(x, y)

static void map(int op, ig_dtype dtype, int64_t n, void *d, const void *a, const void *b,
                const void *c, int one)
{
    const map_loop loop = level->loop(op, dtype, one);
    if (loop)
        loop(n, d, a, b, c);
}

/* ---- inputs ---- */

static uint64_t state = 1;
static uint64_t next_random(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Bits that are special in some dtype, small numbers, and any bits. */
static uint64_t next_bits(ig_dtype dtype)
{
    static const double special[] = {
        0.0,  -0.0, 1,       -1,           0.5,   2,     -3,    1e-45, INFINITY, -INFINITY,
        NAN,  1e30, -1e30,   3e-39,        65504, 65520, 1e300, -2.5,  127.9,    255.5,
        1e10, -128, 32768.5, 4294967296.0, 1e19};
    const uint64_t r = next_random();
    uint64_t bits = r;
    const double number = r % 3 == 0 ? special[r / 3 % (sizeof special / sizeof *special)]
                                     : (double)(int64_t)(r >> 8) * 0x1p-50;
    if (dtype == IG_F64 && r % 8)
        memcpy(&bits, &number, 8);
    const float single = (float)number;
    if (dtype == IG_F32 && r % 8)
        memcpy(&bits, &single, 4);
    if (dtype != IG_F32 && dtype != IG_F64 && r % 4 == 0)
        bits = r / 4 % 9 - 4;
    if (dtype == IG_BOOL)
        bits = r & 1;
    return bits;
}

enum { MOST = 1024, GUARD = 64 };
static uint64_t mem_a[MOST + 1], mem_b[MOST + 1], mem_c[MOST + 1], mem_f[MOST + 1], mem_g[MOST + 1];
static uint64_t mem_d[MOST + 2 * GUARD], mem_e[MOST + 2 * GUARD];

static void fill(ig_dtype dtype, int64_t n, void *to)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = next_bits(dtype);
        memcpy((char *)to + (size_t)i * bytes, &bits, bytes);
    }
}

static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 15, 17, 33, 63, 129, 1000, 1023, 1024};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* ---- elementwise rows: the same expression, one element at a time ---- */

#define TEMPLATE "tests/unit/lanes_reference.inc"
#include "engine/backend/cpu/lanes/each_int.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

typedef struct lane_reference {
    int (*unary)(int op, int64_t n, void *d, const void *a);
    int (*binary)(int op, int64_t n, void *d, const void *a, const void *b);
    bool (*same)(int64_t n, int bytes, const void *x, const void *y);
} lane_reference;

static const lane_reference references[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) \
    [IG_##id] = {reference_unary_##lane, reference_binary_##lane, reference_same_##lane},
#include "base/dtype.def"
};

static int rows_checked;

/* An operand that is one value, against the same value in every lane. */
static void check_row_of_one(int op, ig_dtype dtype, int one)
{
    const lane_reference *ref = &references[dtype];
    const size_t bytes = ig_dtype_bytes(dtype);
    for (int s = 0; s < SIZES; s++) {
        const int64_t n = sizes[s];
        uint64_t *spread = one == MAP_ONE_A ? mem_a : mem_b;
        fill(dtype, n, mem_a);
        fill(dtype, n, mem_b);
        memcpy(mem_c, spread, bytes);
        for (int64_t i = 1; i < n; i++)
            memcpy((char *)spread + (size_t)i * bytes, mem_c, bytes);
        const int result = ref->binary(op, n, mem_e, mem_a, mem_b);
        if (!result)
            return;
        map(op, dtype, n, mem_d, one == MAP_ONE_A ? mem_c : mem_a, one == MAP_ONE_B ? mem_c : mem_b,
            NULL, one);
        if (!ref->same(n, result, mem_d, mem_e))
            fail_msg("%s of %s and one value on %s differs, n = %d", ig_op_at(op)->name,
                     ig_dtype_name(dtype), level->name, (int)n);
    }
}

static void check_row(int op, ig_dtype dtype, bool in_place)
{
    const lane_reference *ref = &references[dtype];
    for (int s = 0; s < SIZES; s++) {
        const int64_t n = sizes[s];
        fill(dtype, n, mem_a);
        fill(dtype, n, mem_b);
        memset(mem_d, 0xAB, sizeof mem_d);
        memset(mem_e, 0xAB, sizeof mem_e);
        char *d = (char *)(mem_d + GUARD), *e = (char *)(mem_e + GUARD);
        int bytes = ref->unary(op, n, e, mem_a);
        if (!bytes)
            bytes = ref->binary(op, n, e, mem_a, mem_b);
        if (!bytes || (in_place && bytes != (int)ig_dtype_bytes(dtype)))
            return;
        if (in_place)
            memcpy(d, mem_a, (size_t)n * ig_dtype_bytes(dtype));
        map(op, dtype, n, d, in_place ? (const void *)d : mem_a, mem_b, NULL, 0);
        if (!ref->same(n, bytes, d, e))
            fail_msg("%s of %s on %s differs, n = %d", ig_op_at(op)->name, ig_dtype_name(dtype),
                     level->name, (int)n);
        const size_t done = (size_t)n * (size_t)bytes;
        assert_memory_equal(d + done, e + done, 64);
        assert_memory_equal(mem_d, mem_e, GUARD * 8);
        rows_checked++;
    }
    if (ig_op_at(op)->n_params == 2 && !in_place) {
        check_row_of_one(op, dtype, MAP_ONE_A);
        check_row_of_one(op, dtype, MAP_ONE_B);
    }
}

static void check_rows(void)
{
    static const ig_dtype lanes[] = {IG_I8,  IG_I16, IG_I32, IG_I64, IG_U8, IG_BOOL,
                                     IG_U16, IG_U32, IG_U64, IG_F32, IG_F64};
    for (int op = 0; op < LANE_ROWS; op++)
        for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) {
            check_row(op, lanes[i], false);
            check_row(op, lanes[i], true);
        }
    assert_true(rows_checked > 50 * 2 * SIZES);
}

static void test_rows(void **s)
{
    (void)s;
    on_each_level(check_rows);
}

/* ---- runs of rows: compared with separate rows ---- */

/* Fills x with n lanes, all the same if one is set. */
static void fill_operand(ig_dtype dtype, int64_t n, void *x, bool one)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    fill(dtype, n, x);
    for (int64_t i = 1; i < n && one; i++)
        memcpy((char *)x + (size_t)i * bytes, x, bytes);
}

static int runs_checked;

/* A run compared with its rows one after another, also if the result overwrites the first operand. */
static void check_run(int rows, int code, ig_dtype dtype, bool in_place)
{
    static const int ops[] = {
        [RUN_ADD] = OP_add,           [RUN_SUBTRACT] = OP_subtract, [RUN_FROM] = OP_subtract,
        [RUN_MULTIPLY] = OP_multiply, [RUN_MAXIMUM] = OP_maximum,   [RUN_MINIMUM] = OP_minimum};
    void *const other[RUN_MOST] = {mem_b, mem_c, mem_f, mem_g};
    const run_loop run = level->run(rows, code, dtype);
    for (int s = 0; s < SIZES && run; s++) {
        const int64_t n = sizes[s];
        const void *x[RUN_MOST + 1] = {in_place ? mem_d : mem_a};
        fill_operand(dtype, n, mem_a, false);
        memcpy(mem_d, mem_a, sizeof mem_a);
        memcpy(mem_e, mem_a, sizeof mem_a);
        for (int r = 0; r < rows; r++) {
            const int row = code >> r * RUN_BITS;
            const bool turned = (row & RUN_KIND) == RUN_FROM;
            x[r + 1] = other[r];
            fill_operand(dtype, n, other[r], row & RUN_ONE);
            map(ops[row & RUN_KIND], dtype, n, mem_e, turned ? other[r] : mem_e,
                turned ? mem_e : other[r], NULL, 0);
        }
        run(n, mem_d, x);
        if (!references[dtype].same(n, (int)ig_dtype_bytes(dtype), mem_d, mem_e))
            fail_msg("run %x of %d rows of %s on %s differs, n = %d", (unsigned)code, rows,
                     ig_dtype_name(dtype), level->name, (int)n);
        runs_checked++;
    }
}

static void check_runs(void)
{
    runs_checked = 0;
    for (int rows = 2; rows <= RUN_MOST; rows++)
        for (int code = 0; code < 1 << rows * RUN_BITS; code++)
            for (int i = 0; i < 4; i++)
                check_run(rows, code, i & 1 ? IG_F64 : IG_F32, i & 2);
    assert_true(runs_checked >= (7 * 8 + 4 + 15) * 4 * SIZES);
}

static void test_runs(void **s)
{
    (void)s;
    on_each_level(check_runs);
}

static int sums_checked;

static void check_sum(int first, int second, ig_dtype dtype, bool keeps, int one)
{
    const sum_loop sum = level->sum_of(first, second, dtype, keeps, one);
    const size_t bytes = ig_dtype_bytes(dtype);
    for (int s = 0; s < SIZES && sum; s++) {
        const int64_t n = sizes[s];
        double total[2] = {0};
        fill_operand(dtype, n, mem_a, false);
        fill_operand(dtype, n, mem_b, one);
        map(first, dtype, n, mem_e, mem_a, mem_b, NULL, 0);
        memset(mem_d, 0, sizeof mem_d);
        sum(n, &total[0], mem_d, mem_a, mem_b);
        assert_true(!keeps || references[dtype].same(n, (int)bytes, mem_d, mem_e));
        if (second != NO_ROW)
            map(second, dtype, n, mem_e, mem_e, NULL, NULL, 0);
        level->fold(OP_sum, dtype, 1, n, &total[1], mem_e);
        if (!references[dtype].same(1, (int)bytes, &total[0], &total[1]))
            fail_msg("the sum of %s of %s on %s differs, n = %d", ig_op_at(first)->name,
                     ig_dtype_name(dtype), level->name, (int)n);
        sums_checked++;
    }
}

/* Columns that are folded side by side have the bits of rows. */
static void check_columns(void)
{
    enum { COLUMNS = 37, ROWS = 70, BYTES = 8 };
    static const int ops[] = {OP_sum, OP_max, OP_min};
    static _Alignas(8) char a[ROWS * COLUMNS * BYTES], found[COLUMNS * BYTES], row[ROWS * BYTES];
    for (int i = 0; i < 2 * 3 * ROWS; i++) {
        const ig_dtype dtype = i % 2 ? IG_F64 : IG_F32;
        const size_t bytes = ig_dtype_bytes(dtype);
        const int op = ops[i / 2 % 3], len = i / 6 + 1;
        _Alignas(8) char want[BYTES];
        fill_operand(dtype, (int64_t)len * COLUMNS, a, false);
        assert_true(level->fold_columns(op, dtype, COLUMNS, len, found, a, COLUMNS));
        for (size_t c = 0; c < COLUMNS; c++) {
            for (size_t r = 0; r < (size_t)len; r++)
                memcpy(row + r * bytes, a + (r * COLUMNS + c) * bytes, bytes);
            level->fold(op, dtype, 1, len, want, row);
            if (!references[dtype].same(1, (int)bytes, want, found + c * bytes))
                fail_msg("%s of %d rows of %s on %s: column %d differs", ig_op_at(op)->name, len,
                         ig_dtype_name(dtype), level->name, (int)c);
        }
    }
}

static void test_columns(void **s)
{
    (void)s;
    on_each_level(check_columns);
}

static void check_sums(void)
{
    static const int second[] = {NO_ROW, OP_square};
    sums_checked = 0;
    for (int first = 0; first < LANE_ROWS; first++)
        for (int i = 0; i < 8; i++) {
            check_sum(first, second[i & 1], IG_F32, i & 2, i & 4 ? MAP_ONE_B : 0);
            check_sum(first, second[i & 1], IG_F64, i & 2, i & 4 ? MAP_ONE_B : 0);
        }
    assert_int_equal(sums_checked, 6 * 2 * SIZES);
}

static void test_sums(void **s)
{
    (void)s;
    on_each_level(check_sums);
}

static int pairs_checked;

/* A loop of two rows, also in place: differences from y whose magnitude is at most `reach`. */
static void check_pair(int first, int second, ig_dtype dtype, double reach, bool in_place)
{
    const map_loop both = level->pair(first, second, dtype, MAP_ONE_B);
    for (int s = 0; s < SIZES && both; s++) {
        const int64_t n = sizes[s];
        const size_t bytes = ig_dtype_bytes(dtype);
        dtype_store(dtype, mem_b, 3.5);
        for (int64_t i = 0; i < n; i++)
            dtype_store(dtype, (char *)mem_a + (size_t)i * bytes,
                        3.5 + reach * (double)(int64_t)next_random() * 0x1p-63);
        map(first, dtype, n, mem_e, mem_a, mem_b, NULL, MAP_ONE_B);
        map(second, dtype, n, mem_e, mem_e, NULL, NULL, 0);
        memcpy(mem_d, mem_a, (size_t)n * bytes);
        both(n, mem_d, in_place ? mem_d : mem_a, mem_b, NULL);
        if (!references[dtype].same(n, (int)bytes, mem_d, mem_e))
            fail_msg("%s and %s of %s on %s differ, n = %d", ig_op_at(first)->name,
                     ig_op_at(second)->name, ig_dtype_name(dtype), level->name, (int)n);
        pairs_checked++;
    }
}

static void check_pairs(void)
{
    static const double reach[] = {5, 80, 120, 2000};
    pairs_checked = 0;
    for (int i = 0; i < 16; i++)
        check_pair(OP_subtract, OP_exp, i & 1 ? IG_F64 : IG_F32, reach[i >> 2], i & 2);
    assert_int_equal(pairs_checked, 16 * SIZES);
}

static void test_pairs(void **s)
{
    (void)s;
    on_each_level(check_pairs);
}

/* Rows with a near path, if all arguments are within its reach: the results have the bits of m_NAME. */
static void check_near_row(int op, float reach_f32, double reach_f64)
{
    float *single = (float *)mem_a;
    double *wide = (double *)mem_b;
    for (int64_t i = 0; i < MOST; i++) {
        const double x = (double)(int64_t)next_random() * 0x1p-63;
        single[i] = (float)x * reach_f32;
        wide[i] = x * reach_f64;
        if (i % 4 == 0) { /* halves: between two powers */
            single[i] = rintf(2 * single[i]) / 2;
            wide[i] = rint(2 * wide[i]) / 2;
        }
    }
    single[0] = reach_f32, single[1] = -reach_f32;
    wide[0] = reach_f64, wide[1] = -reach_f64;
    map(op, IG_F32, MOST, mem_d, mem_a, NULL, NULL, 0);
    reference_unary_f32(op, MOST, mem_e, mem_a);
    assert_memory_equal(mem_d, mem_e, MOST * sizeof *single);
    map(op, IG_F64, MOST, mem_d, mem_b, NULL, NULL, 0);
    reference_unary_f64(op, MOST, mem_e, mem_b);
    assert_memory_equal(mem_d, mem_e, MOST * sizeof *wide);
}

static void check_near(void)
{
#define NEAR_ROW(name) check_near_row(OP_##name, vm_##name##_reach_f32, vm_##name##_reach_f64);
    for (int i = 0; i < 200; i++) {
        VM_NEAR(NEAR_ROW)
    }
}

static void test_near(void **s)
{
    (void)s;
    on_each_level(check_near);
}

static void check_where(void)
{
    for (int dtype = IG_BOOL; dtype < DTYPE_COUNT; dtype++) {
        const ig_dtype lane = dtype_lane((ig_dtype)dtype);
        const size_t bytes = ig_dtype_bytes(lane);
        fill(IG_BOOL, 777, mem_c);
        fill(lane, 777, mem_a);
        fill(lane, 777, mem_b);
        map(OP_where, (ig_dtype)dtype, 777, mem_d, mem_c, mem_a, mem_b, 0);
        for (size_t i = 0; i < 777; i++)
            assert_memory_equal((char *)mem_d + i * bytes,
                                (char *)(((uint8_t *)mem_c)[i] ? mem_a : mem_b) + i * bytes, bytes);
    }
}

static void test_where(void **s)
{
    (void)s;
    on_each_level(check_where);
}

/* Integer operations that C leaves undefined. */
static void check_integers(void)
{
    int32_t d[8];
    map(OP_floor_divide, IG_I32, 8, d, (int32_t[]){7, -7, 7, -7, 5, INT32_MIN, 0, -1},
        (int32_t[]){2, 2, -2, -2, 0, -1, 0, INT32_MAX}, NULL, 0);
    assert_memory_equal(d, ((int32_t[]){3, -4, -4, 3, 0, INT32_MIN, 0, -1}), sizeof d);
    map(OP_remainder, IG_I32, 8, d, (int32_t[]){7, -7, 7, -7, 5, INT32_MIN, 0, -1},
        (int32_t[]){2, 2, -2, -2, 0, -1, 0, INT32_MAX}, NULL, 0);
    assert_memory_equal(d, ((int32_t[]){1, 1, -1, -1, 0, 0, 0, INT32_MAX - 1}), sizeof d);
    map(OP_pow, IG_I32, 8, d, (int32_t[]){3, -2, 2, 1, -1, -1, 0, 0},
        (int32_t[]){4, 3, 32, -5, -5, -4, -1, 0}, NULL, 0);
    assert_memory_equal(d, ((int32_t[]){81, -8, 0, 1, -1, 1, 0, 1}), sizeof d);
    map(OP_bitwise_left_shift, IG_I32, 8, d, (int32_t[]){1, 1, 1, -1, -1, 3, 1, 1},
        (int32_t[]){0, 31, 32, 1, 40, 30, -1, 33}, NULL, 0);
    assert_memory_equal(d, ((int32_t[]){1, INT32_MIN, 0, -2, 0, INT32_MIN | 1 << 30, 0, 0}),
                        sizeof d);
    map(OP_bitwise_right_shift, IG_I32, 8, d, (int32_t[]){-8, 8, -8, 8, -1, 1, -1, 1},
        (int32_t[]){1, 1, 32, 32, 31, 31, -1, -1}, NULL, 0);
    assert_memory_equal(d, ((int32_t[]){-4, 4, -1, 0, -1, 0, -1, 0}), sizeof d);
    map(OP_abs, IG_I32, 3, d, (int32_t[]){INT32_MIN, -3, 3}, NULL, NULL, 0);
    assert_memory_equal(d, ((int32_t[]){INT32_MIN, 3, 3}), 12);
    map(OP_multiply, IG_I32, 1, d, (int32_t[]){65536 * 3}, (int32_t[]){65536 * 5}, NULL, 0);
    assert_int_equal(d[0], 0);
    uint16_t w[2];
    map(OP_multiply, IG_U16, 2, w, (uint16_t[]){65535, 256}, (uint16_t[]){65535, 256}, NULL, 0);
    assert_int_equal(w[0], 1);
    assert_int_equal(w[1], 0);
    uint8_t u[2];
    map(OP_bitwise_right_shift, IG_U8, 2, u, (uint8_t[]){255, 255}, (uint8_t[]){7, 8}, NULL, 0);
    assert_int_equal(u[0], 1);
    assert_int_equal(u[1], 0);
}

static void test_integers(void **s)
{
    (void)s;
    on_each_level(check_integers);
}

/* ---- conversions ---- */

/* The 16-bit float nearest to x, by arithmetic: mantissa bits, lowest and highest exponent. */
static uint16_t nearest(long double x, int mantissa, int low, int high)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const uint16_t infinity = (uint16_t)((high - low + 2) << mantissa);
    if (x != x)
        return (uint16_t)(sign | infinity | 1 << (mantissa - 1));
    x = fabsl(x);
    if (x == 0)
        return sign;
    if (x > ldexpl(1, high + 1))
        return sign | infinity;
    int e = ilogbl(x) > low ? ilogbl(x) : low;
    const long double units = nearbyintl(ldexpl(x, mantissa - e));
    /* A carry from units into the exponent is correct. */
    const int64_t bits = ((int64_t)(e - low) << mantissa) + (int64_t)units;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static uint16_t nearest_f16(long double x) { return nearest(x, 10, -14, 15); }
static uint16_t nearest_bf16(long double x) { return nearest(x, 7, -126, 127); }

static double value_of_f16(uint16_t h)
{
    const int e = h >> 10 & 31, m = h & 1023;
    const double v = e == 31 ? (m ? NAN : INFINITY) : ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
    return h & 0x8000 ? -v : v;
}

static bool same_half(uint16_t a, uint16_t b, uint16_t infinity)
{
    return a == b || ((a & 0x7fff) > infinity && (b & 0x7fff) > infinity);
}

static void check_half_exhaustive(void)
{
    static uint16_t in[1 << 16], out[1 << 16];
    static float wide[1 << 16];
    static double wider[1 << 16];
    for (int i = 0; i < 1 << 16; i++)
        in[i] = (uint16_t)i;
    level->convert(IG_F16, IG_F32, 1 << 16, wide, 1, in, 1);
    level->convert(IG_F16, IG_F64, 1 << 16, wider, 1, in, 1);
    level->convert(IG_F32, IG_F16, 1 << 16, out, 1, wide, 1);
    for (int i = 0; i < 1 << 16; i++) {
        const double v = value_of_f16((uint16_t)i);
        assert_true(v != v ? wide[i] != wide[i]
                           : v == wide[i] && !!signbit(v) == !!signbit(wide[i]));
        assert_true(v != v ? wider[i] != wider[i] : v == wider[i]);
        assert_true(same_half(out[i], in[i], 0x7c00));
    }
    level->convert(IG_BF16, IG_F32, 1 << 16, wide, 1, in, 1);
    level->convert(IG_F32, IG_BF16, 1 << 16, out, 1, wide, 1);
    for (int i = 0; i < 1 << 16; i++) {
        const uint32_t u = (uint32_t)i << 16;
        assert_memory_equal(&wide[i], &u, 4);
        assert_true(same_half(out[i], in[i], 0x7f80));
    }
}

/* Around every 16-bit float and every midpoint between two: where rounding matters. */
static void check_half_rounding(void)
{
    enum { N = 7 };
    for (int i = 0; i < 0x7c00; i++) {
        const double a = value_of_f16((uint16_t)i);
        const double b = i + 1 == 0x7c00 ? 65536 : value_of_f16((uint16_t)(i + 1));
        const double mid = (a + b) / 2;
        const double x[N] = {a,    nextafter(a, -1),    mid, nextafter(mid, 0), nextafter(mid, 1e9),
                             -mid, -nextafter(mid, 1e9)};
        float y[N], r[N];
        uint16_t got[N], got32[N];
        for (int k = 0; k < N; k++)
            y[k] = (float)x[k];
        level->convert(IG_F64, IG_F16, N, got, 1, x, 1);
        level->convert(IG_F32, IG_F16, N, got32, 1, y, 1);
        level->round(IG_F16, N, r, y);
        for (int k = 0; k < N; k++) {
            assert_int_equal(got[k], nearest_f16(x[k]));
            assert_int_equal(got32[k], nearest_f16(y[k]));
            assert_true(r[k] == value_of_f16(got32[k]));
        }
    }
    for (uint32_t i = 0; i < 0x7f80; i++) {
        const uint32_t u[4] = {i << 16, (i << 16) + 0x7fff, (i << 16) + 0x8000, (i << 16) + 0x8001};
        float y[4];
        double x[8];
        uint16_t got[8];
        memcpy(y, u, sizeof y);
        level->convert(IG_F32, IG_BF16, 4, got, 1, y, 1);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(got[k], nearest_bf16(y[k]));
            x[2 * k] = nextafter(y[k], 0);
            x[2 * k + 1] = -nextafter(y[k], 1e300);
        }
        level->convert(IG_F64, IG_BF16, 8, got, 1, x, 1);
        for (int k = 0; k < 8; k++)
            assert_int_equal(got[k], nearest_bf16(x[k]));
    }
}

static void test_half(void **s)
{
    (void)s;
    on_each_level(check_half_exhaustive);
    on_each_level(check_half_rounding);
}

/* One element to a dtype, by the rules of ig_astype in plain C: x holds integers exactly. */
static void convert_one(long double x, ig_dtype to, void *d)
{
    const uint16_t h = to == IG_F16 ? nearest_f16(x) : nearest_bf16(x);
    const float f = (float)x;
    const double g = (double)x;
    ig_iinfo info;
    if (to == IG_BOOL) {
        *(uint8_t *)d = x != 0;
    } else if (dtype_is_half(to)) {
        memcpy(d, &h, 2);
    } else if (to == IG_F32) {
        memcpy(d, &f, 4);
    } else if (to == IG_F64) {
        memcpy(d, &g, 8);
    } else {
        ig_iinfo_of(to, &info);
        uint64_t v = 0;
        if (x >= (long double)info.max)
            v = info.max;
        else if (x <= (long double)info.min)
            v = (uint64_t)info.min;
        else if (x == x)
            v = x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
        memcpy(d, &v, ig_dtype_bytes(to));
    }
}

static long double element(ig_dtype dtype, const void *x)
{
    uint16_t h;
    uint64_t u = 0;
    memcpy(&u, x, ig_dtype_bytes(dtype));
    memcpy(&h, x, sizeof h);
    float f;
    double g;
    memcpy(&g, &u, 8);
    const uint32_t low = dtype == IG_BF16 ? (uint32_t)h << 16 : (uint32_t)u;
    memcpy(&f, &low, 4);
    const int spare = 64 - 8 * (int)ig_dtype_bytes(dtype);
    switch (dtype_kind_of(dtype)) {
    case DTYPE_KIND_FLOAT: return dtype == IG_F16 ? value_of_f16(h) : dtype == IG_F64 ? g : f;
    case DTYPE_KIND_SIGNED: return (long double)((int64_t)(u << spare) >> spare);
    default: return (long double)u;
    }
}

static void expect_converted(ig_dtype from, ig_dtype to, const void *x, const void *got)
{
    uint64_t want = 0, have = 0, raw = 0;
    const bool ints = !dtype_is_float(from) && !dtype_is_float(to) && to != IG_BOOL;
    const long double v = element(from, x);
    convert_one(v, to, &want);
    memcpy(&raw, x, ig_dtype_bytes(from));
    memcpy(&have, got, ig_dtype_bytes(to));
    if (ints) { /* wraps */
        const uint64_t whole = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
        want = 0;
        memcpy(&want, &whole, ig_dtype_bytes(to));
    }
    if (v != v && dtype_is_float(to)) {
        assert_true(element(to, got) != element(to, got));
        return;
    }
    if (have != want)
        fail_msg("%s to %s on %s: %llx gave %llx, not %llx", ig_dtype_name(from), ig_dtype_name(to),
                 level->name, (unsigned long long)raw, (unsigned long long)have,
                 (unsigned long long)want);
}

/* Every pair of dtypes, packed and strided. Needs long double to hold 64-bit integers. */
static void check_convert(void)
{
    for (int from = IG_BOOL; from < DTYPE_COUNT; from++) {
        for (int to = IG_BOOL; to < DTYPE_COUNT; to++) {
            const size_t in = ig_dtype_bytes((ig_dtype)from), out = ig_dtype_bytes((ig_dtype)to);
            for (int round = 0; round < 4; round++) {
                const int64_t as = round % 3 + 1, ds = round % 2 + 1, n = 300;
                fill((ig_dtype)from, as * n, mem_a);
                level->convert((ig_dtype)from, (ig_dtype)to, n, mem_d, ds, mem_a, as);
                for (int64_t i = 0; i < n; i++) {
                    const char *x = (char *)mem_a + (size_t)(i * as) * in;
                    const char *d = (char *)mem_d + (size_t)(i * ds) * out;
                    if (from == to)
                        assert_memory_equal(x, d, in);
                    else
                        expect_converted((ig_dtype)from, (ig_dtype)to, x, d);
                }
            }
        }
    }
}

static void test_convert(void **s)
{
    (void)s;
    on_each_level(check_convert);
}

/* Integers near the rounding boundaries of 16-bit floats. */
static void check_convert_int_to_half(void)
{
    for (int shift = 8; shift < 63; shift++) {
        for (int k = -2; k <= 2; k++) {
            const int64_t big = (int64_t)1 << shift;
            const int64_t x[4] = {big + k, big + big / 256 + k, big + 3 * (big / 256) + k,
                                  -(big + big / 2048 + k)};
            uint16_t got[4];
            level->convert(IG_I64, IG_BF16, 4, got, 1, x, 1);
            for (int i = 0; i < 4; i++)
                assert_int_equal(got[i], nearest_bf16((long double)x[i]));
            level->convert(IG_I64, IG_F16, 4, got, 1, x, 1);
            for (int i = 0; i < 4; i++)
                assert_int_equal(got[i], nearest_f16((long double)x[i]));
        }
    }
}

static void test_convert_int_to_half(void **s)
{
    (void)s;
    on_each_level(check_convert_int_to_half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_convert_int_to_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
