/* Series of instructions in registers: the loops of each level against plain C, and random graphs that convert between bytes,
 * i32 and f32, fused and node by node. Products of bytes with panels that a buffer keeps, too. */
#include "each_level.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static int64_t draw(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

/* ---- loops ---- */

enum { LANES = 300, ROOM = LANES + 16 };

typedef union lane {
    int32_t i;
    uint32_t u;
    float f;
} lane;

static lane drawn_lane(void)
{
    static const float special[] = {0.5f,  -0.5f,    1.5f,      255.5f, -128.5f, 3e9f,
                                    -3e9f, INFINITY, -INFINITY, NAN,    -0.0f,   0x1p23f};
    const int kind = (int)draw(4);
    return kind == 0   ? (lane){.f = special[draw(sizeof special / sizeof *special)]}
           : kind == 1 ? (lane){.i = (int32_t)draw(1000) - 500}
           : kind == 2 ? (lane){.f = (float)(draw(200001) - 100000) / 128}
                       : (lane){.u = (uint32_t)draw(INT64_C(1) << 31) * 2u};
}

static int32_t saturated(float x, int32_t low, int32_t high)
{
    return x != x ? 0 : x <= (float)low ? low : x >= (float)high ? high : (int32_t)x;
}

static float extreme(bool least, float x, float y)
{
    if (x != x || y != y)
        return NAN;
    if (x == y)
        return signbit(x) == least ? x : y;
    return (x < y) == least ? x : y;
}

static lane plain_op(int code, lane v, lane y, int32_t shift, float zero)
{
    const lane moved = {.u = v.u + (uint32_t)shift};
    switch (code & ~SERIES_ONE) {
    case SERIES_INT_ADD: return (lane){.u = v.u + y.u};
    case SERIES_INT_SUBTRACT: return (lane){.u = v.u - y.u};
    case SERIES_INT_FROM: return (lane){.u = y.u - v.u};
    case SERIES_INT_MULTIPLY: return (lane){.u = v.u * y.u};
    case SERIES_XOR: return (lane){.i = v.i ^ shift};
    case SERIES_SHIFT: return moved;
    case SERIES_ADD: return (lane){.f = v.f + y.f};
    case SERIES_SUBTRACT: return (lane){.f = v.f - y.f};
    case SERIES_FROM: return (lane){.f = y.f - v.f};
    case SERIES_MULTIPLY: return (lane){.f = v.f * y.f};
    case SERIES_DIVIDE: return (lane){.f = v.f / y.f};
    case SERIES_MAXIMUM: return (lane){.f = extreme(false, v.f, y.f)};
    case SERIES_MINIMUM: return (lane){.f = extreme(true, v.f, y.f)};
    case SERIES_FLOAT: return (lane){.f = (float)v.i};
    case SERIES_ROUND: return (lane){.f = rintf(v.f)};
    case SERIES_U8: return (lane){.i = saturated(v.f, 0, 255)};
    case SERIES_I8: return (lane){.i = saturated(v.f, -128, 127)};
    case SERIES_WRAP_U8: return (lane){.i = (uint8_t)v.u};
    case SERIES_WRAP_I8: return (lane){.i = (int8_t)v.u};
    case SERIES_SCALE: return (lane){.f = (float)moved.i * y.f};
    case SERIES_QUANTIZE_U8: return (lane){.i = saturated(rintf(v.f) + zero, 0, 255)};
    case SERIES_QUANTIZE_I8: return (lane){.i = saturated(rintf(v.f) + zero, -128, 127)};
    default: return v;
    }
}

static bool same_lane(lane x, lane y) { return x.u == y.u || (x.f != x.f && y.f != y.f); }

static int drawn_code(void)
{
    const int n = SERIES_QUANTIZE_I8 - SERIES_INT_ADD + 1, code = SERIES_INT_ADD + (int)draw(n);
    if (code == SERIES_GET_SCALE)
        return SERIES_SCALE;
    return code < SERIES_FLOAT && draw(2) ? code | SERIES_ONE : code;
}

static bool takes_one(int code) { return code & SERIES_ONE || code >= SERIES_SCALE; }

static bool takes_int(int code)
{
    const int kind = code & ~SERIES_ONE;
    return kind < SERIES_ADD || kind == SERIES_FLOAT ||
           (kind >= SERIES_WRAP_U8 && kind <= SERIES_SCALE);
}

static void check_series(void)
{
    static lane x[SERIES_MOST][ROOM], got[ROOM];
    static uint8_t bytes[2][ROOM];
    const int64_t n = 1 + draw(draw(4) ? 100 : LANES);
    const int n_op = 3 + (int)draw(8), start = (int)draw(3);
    series_op op[SERIES_MOST];
    for (int i = 0; i < ROOM; i++)
        bytes[0][i] = (uint8_t)draw(256);
    for (int k = 0; k < n_op; k++)
        for (int i = 0; i < ROOM; i++)
            x[k][i] = drawn_lane();
    op[0] = (series_op){SERIES_GET + start, start ? 1 : 4, start ? (void *)bytes[0] : (void *)x[0],
                        NULL, 0};
    for (int k = 1; k < n_op - 2; k++) {
        static const float zeros[] = {0, 3, 128, -128, -5, 0.5f, 1e9f, -0x1p20f, NAN};
        enum { ZEROS = sizeof zeros / sizeof *zeros };
        const int code = drawn_code();
        op[k] = (series_op){code, code < SERIES_FLOAT ? 4 : 0, x[k],
                            draw(3) ? &zeros[draw(ZEROS)] : NULL, drawn_lane().i};
    }
    memset(got, 0x55, sizeof got);
    memset(bytes[1], 0x55, sizeof bytes[1]);
    op[n_op - 2] = (series_op){SERIES_PUT, 4, got, NULL, 0};
    op[n_op - 1] = (series_op){SERIES_PUT_BYTES, 1, bytes[1], NULL, (int32_t)draw(256)};
    level->series(n, n_op, op);
    for (int64_t i = 0; i < n; i++) {
        lane v = start == 0   ? x[0][i]
                 : start == 1 ? (lane){.i = bytes[0][i]}
                              : (lane){.i = (int8_t)bytes[0][i]};
        bool was_nan = false; /* whose bits differ from level to level */
        for (int k = 1; k < n_op - 2; k++) {
            was_nan |= v.f != v.f && takes_int(op[k].code);
            v = plain_op(op[k].code, v, x[k][takes_one(op[k].code) ? 0 : i], op[k].shift,
                         op[k].y ? *(const float *)op[k].y : 0);
        }
        if (was_nan)
            continue;
        if (!same_lane(v, got[i]))
            fail_msg("level %s: lane %lld of %lld", level->name, (long long)i, (long long)n);
        assert_true(v.f != v.f || bytes[1][i] == (uint8_t)(v.i ^ op[n_op - 1].shift));
    }
    assert_true(got[n].u == 0x55555555 && bytes[1][n] == 0x55);
}

static void series_of_each_level(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3000; i++)
        on_each_level(check_series);
}

/* ---- graphs ---- */

typedef struct graph {
    int64_t shape[3];
    int ndim;
    bool separately; /* each node is evaluated by itself */
    ig_array *out[4];
    int n_out;
} graph;

static ig_array *node(const graph *g, ig_array *x)
{
    if (!x || (g->separately && ig_eval(&x, 1) != IG_OK))
        fail_msg("%s", ig_error(NULL));
    return x;
}

/* Numbers of dtype in a shape that broadcasts with the graph's: all, one for each row, for each row of the last two axes, or
 * one. */
static ig_array *numbers(const graph *g, ig_dtype dtype, int kind)
{
    int64_t shape[3];
    for (int i = 0; i < g->ndim; i++)
        shape[i] = kind == 0 || (kind == 1 && i < g->ndim - 1) ||
                           (kind == 2 && (i == g->ndim - 2 || g->ndim < 2))
                       ? g->shape[i]
                       : 1;
    ig_array *x = ig_normal(ig_key((uint64_t)draw(1 << 30), NULL), (ig_ints){shape, g->ndim},
                            IG_F32, NULL, NULL);
    const double scale = dtype == IG_F32 ? (draw(2) ? 0.7 : 40) : dtype == IG_I32 ? 5000 : 300;
    x = ig_astype(ig_multiply(x, ig_float(scale)), dtype);
    if (ig_eval(&x, 1) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return x;
}

static ig_array *next_float(const graph *g, ig_array *x)
{
    ig_array *y = numbers(g, IG_F32, (int)draw(4));
    switch (draw(8)) {
    case 0: return ig_add(x, y);
    case 1: return ig_subtract(x, y);
    case 2: return ig_subtract(y, x);
    case 3: return ig_divide(x, y);
    case 4: return ig_maximum(x, y);
    case 5: return ig_minimum(y, x);
    case 6: return ig_round(x);
    default: return ig_multiply(x, y);
    }
}

/* The next node after x. */
static ig_array *next(const graph *g, ig_array *x)
{
    static const ig_dtype kinds[] = {IG_U8, IG_I8, IG_I32, IG_F32};
    const ig_dtype dtype = ig_dtype_of(x);
    if (draw(3) == 0)
        return ig_astype(x, kinds[draw(dtype == IG_F32 ? 2 : 4)]);
    if (dtype == IG_F32)
        return next_float(g, x);
    if (dtype != IG_I32)
        return ig_bitwise_xor(x, numbers(g, dtype, draw(4) ? 3 : (int)draw(4)));
    ig_array *y = numbers(g, IG_I32, (int)draw(4));
    const int64_t op = draw(4);
    return op == 0   ? ig_add(x, y)
           : op == 1 ? ig_subtract(x, y)
           : op == 2 ? ig_subtract(y, x)
                     : ig_multiply(x, y);
}

/* Sums of products of bytes, in i32. */
static ig_array *product(const graph *g)
{
    const graph sides[2] = {{{g->shape[0], g->shape[1]}, 2, false, {0}, 0},
                            {{g->shape[1], g->shape[2]}, 2, false, {0}, 0}};
    return ig_matmul(ig_astype(numbers(&sides[0], IG_I8, 0), IG_I32),
                     ig_astype(numbers(&sides[1], IG_I8, 0), IG_I32));
}

static graph drawn_graph(bool separately)
{
    static const ig_dtype kinds[] = {IG_U8, IG_I8, IG_I32, IG_F32};
    graph g = {.ndim = 1 + (int)draw(3), .separately = separately};
    for (int i = 0; i < 3; i++)
        g.shape[i] = 1 + draw(i == g.ndim - 1 ? (draw(4) ? 150 : 2500) : 12);
    ig_array *x;
    if (draw(2)) {
        for (int i = 0; i < 3; i++)
            g.shape[i] = 1 + draw(i == 2 ? (draw(4) ? 200 : 3000) : 40);
        x = product(&g);
        g.ndim = 2;
        g.shape[1] = g.shape[2];
    } else
        x = numbers(&g, kinds[draw(4)], 0);
    x = node(&g, x);
    ig_array *kept = x;
    for (int i = (int)draw(14) + 2; i > 0; i--) {
        x = node(&g, next(&g, x));
        if (draw(6) == 0 && g.n_out < 3)
            g.out[g.n_out++] = x;
        if (draw(5) == 0 && ig_dtype_of(kept) == ig_dtype_of(x) && ig_dtype_of(x) != IG_U8 &&
            ig_dtype_of(x) != IG_I8)
            x = node(&g, ig_add(x, kept));
        if (draw(4) == 0)
            kept = x;
        else if (draw(8) == 0)
            x = kept;
    }
    static const int64_t widths[] = {1, 0, 2, 1, 1, 2};
    if (draw(5) == 0) /* the rows are then not equally far apart */
        x = node(&g, ig_pad(x, (ig_ints){widths, 2 * g.ndim}, "constant", NULL));
    g.out[g.n_out++] = x;
    return g;
}

static bool same_elements(ig_array *x, ig_array *y)
{
    const int64_t n = ig_size(x), bytes = (int64_t)ig_dtype_bytes(ig_dtype_of(x));
    const char *a = ig_data(x), *b = ig_data(y);
    bool same = a && b && ig_dtype_of(x) == ig_dtype_of(y) && n == ig_size(y);
    if (same && ig_dtype_of(x) != IG_F32)
        return memcmp(a, b, (size_t)(n * bytes)) == 0;
    for (int64_t i = 0; i < n && same; i++)
        same = same_lane(((const lane *)(const void *)a)[i], ((const lane *)(const void *)b)[i]);
    return same;
}

static void fused_and_node_by_node(void **unused)
{
    (void)unused;
    for (int i = 0; i < 1500; i++) {
        ig_scope_begin();
        const uint64_t seed = state;
        const graph g = drawn_graph(false);
        if (ig_eval(g.out, g.n_out) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        const uint64_t after = state;
        state = seed;
        const graph want = drawn_graph(true);
        assert_true(state == after);
        if (ig_eval(want.out, want.n_out) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        for (int k = 0; k < g.n_out; k++)
            if (!same_elements(g.out[k], want.out[k])) {
                state = seed;
                const graph again = drawn_graph(false);
                fail_msg("output %d of graph %d: %s", k, i, ig_explain(again.out, again.n_out));
            }
        ig_scope_end();
    }
}

/* ---- kept panels: a matrix of bytes that is multiplied again and again ---- */

static ig_array *matrix(int64_t rows, int64_t columns, bool turned)
{
    const graph g = {{turned ? columns : rows, turned ? rows : columns}, 2, false, {0}, 0};
    ig_array *x = numbers(&g, draw(2) ? IG_I8 : IG_U8, 0);
    return turned ? ig_matrix_transpose(x) : x;
}

/* The same in i32, whose products have other kernels. */
static ig_array *widened(ig_array *x)
{
    ig_array *y = ig_astype(x, IG_I32);
    return ig_eval(&y, 1) == IG_OK ? y : NULL;
}

static void products_with_kept_panels(void **unused)
{
    (void)unused;
    for (int i = 0; i < 60; i++) {
        const int64_t m = 1 + draw(300), n = 1 + draw(300), k = 1 + draw(draw(2) ? 1500 : 300);
        const bool left = draw(2);
        ig_scope_begin();
        ig_array *kept = left ? matrix(m, k, draw(3) == 0) : matrix(k, n, draw(3) == 0);
        for (int round = 0; round < 5; round++) {
            ig_array *other = left ? matrix(k, n, draw(3) == 0) : matrix(m, k, draw(3) == 0);
            ig_array *x = left ? kept : other, *y = left ? other : kept;
            ig_array *got = ig_matmul(ig_astype(x, IG_I32), ig_astype(y, IG_I32));
            ig_array *want = ig_matmul(widened(x), widened(y));
            if (ig_eval(&got, 1) != IG_OK || ig_eval(&want, 1) != IG_OK)
                fail_msg("%s", ig_error(NULL));
            if (!same_elements(got, want))
                fail_msg("product %d, round %d: %lld x %lld x %lld", i, round, (long long)m,
                         (long long)k, (long long)n);
        }
        ig_scope_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_of_each_level),
        cmocka_unit_test(fused_and_node_by_node),
        cmocka_unit_test(products_with_kept_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
