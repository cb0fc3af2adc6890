/* The move ops against plain loops: every element of x encodes its position, so each result shows
 * where its elements came from. All layouts; 0-d, empty and 16-d arrays; codes and texts of
 * errors. */
#include "support/unit.h"
#include <string.h>
#include "support/layouts.h"

#define INTS(...) \
    ((ig_ints){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8})
static const ig_ints none = {NULL, 0};
static const int64_t nothing[1];
static const ig_ints scalar = {nothing, 0};

/* Inputs of the rules: the shape of x, and up to four numbers. */
static ig_ints from;
static int64_t p[4];

static ig_array *make(int layout, ig_ints shape)
{
    from = shape;
    return layout_make(layout, shape, IG_I32);
}

static int64_t number(int64_t a, int64_t b, int64_t c)
{
    return layout_number((const int64_t[]){a, b, c}, from);
}

static int64_t same(const int64_t *i) { return layout_number(i, from); }

static int64_t modulo(int64_t a, int64_t n) { return ((a % n) + n) % n; }

/* ---- broadcasting ---- */

static int64_t repeated(const int64_t *i) { return i[1]; }
static int64_t across(const int64_t *i) { return i[0]; }
static int64_t along(const int64_t *i) { return i[1]; }
static int64_t depth(const int64_t *i) { return i[2]; }
static int64_t zero(const int64_t *i)
{
    (void)i;
    return 0;
}

static void test_broadcast(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        layout_expect(ig_broadcast_to(make(k, INTS(3, 1)), INTS(2, 3, 4)), INTS(2, 3, 4), repeated);
        layout_expect(ig_broadcast_to(make(k, INTS(3, 4)), INTS(3, 4)), INTS(3, 4), NULL);
        layout_expect(ig_broadcast_to(make(k, INTS(1)), INTS(0, 5)), INTS(0, 5), zero);
        ig_array *out[3], *in[3] = {make(k, INTS(3, 1)), make(k, INTS(4)), make(k, scalar)};
        assert_int_equal(ig_broadcast_arrays(in, 3, out), 3);
        layout_expect(out[0], INTS(3, 4), across);
        layout_expect(out[1], INTS(3, 4), along);
        layout_expect(out[2], INTS(3, 4), zero);
    }
    layout_expect(ig_broadcast_to(ig_int(0), scalar), scalar, zero);
}

static void test_meshgrid(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *out[3], *in[3] = {make(k, INTS(2)), make(k, INTS(3)), make(k, INTS(4))};
        assert_int_equal(ig_meshgrid(in, 3, "ij", out), 3);
        layout_expect(out[0], INTS(2, 3, 4), across);
        layout_expect(out[1], INTS(2, 3, 4), along);
        layout_expect(out[2], INTS(2, 3, 4), depth);
        assert_int_equal(ig_meshgrid(in, 3, "xy", out), 3);
        layout_expect(out[0], INTS(3, 2, 4), along);
        layout_expect(out[1], INTS(3, 2, 4), across);
        layout_expect(out[2], INTS(3, 2, 4), depth);
        assert_int_equal(ig_meshgrid(in, 1, "xy", out), 1);
        layout_expect(out[0], INTS(2), across);
        in[1] = make(k, scalar);
        assert_int_equal(ig_meshgrid(in, 2, "ij", out), 2);
        layout_expect(out[1], INTS(2, 1), zero);
    }
}

/* ---- axes ---- */

static int64_t flipped(const int64_t *i)
{
    int64_t at[3];
    for (int a = 0; a < from.n; a++)
        at[a] = p[a] ? from.v[a] - 1 - i[a] : i[a];
    return layout_number(at, from);
}

static void test_flip(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3, 4));
        memcpy(p, (int64_t[]){1, 1, 1}, 24);
        layout_expect(ig_flip(x, none), from, flipped);
        memcpy(p, (int64_t[]){0, 1, 0}, 24);
        layout_expect(ig_flip(x, INTS(1)), from, flipped);
        memcpy(p, (int64_t[]){1, 0, 1}, 24);
        layout_expect(ig_flip(x, INTS(-1, 0)), from, flipped);
        layout_expect(ig_flip(x, (ig_ints){nothing, 0}), from, NULL);
        layout_expect(ig_flip(make(k, INTS(0, 3)), none), INTS(0, 3), zero);
        layout_expect(ig_flip(make(k, scalar), none), scalar, zero);
    }
}

/* Element i of a permuted array: axis a of x is axis p[a] of the result. */
static int64_t permuted(const int64_t *i) { return number(i[p[0]], i[p[1]], i[p[2]]); }

static void test_permute(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3, 4));
        memcpy(p, (int64_t[]){1, 2, 0}, 24);
        layout_expect(ig_permute_dims(x, INTS(2, 0, 1)), INTS(4, 2, 3), permuted);
        layout_expect(ig_permute_dims(x, INTS(-1, 0, -2)), INTS(4, 2, 3), permuted);
        layout_expect(ig_moveaxis(x, INTS(2), INTS(0)), INTS(4, 2, 3), permuted);
        memcpy(p, (int64_t[]){2, 0, 1}, 24);
        layout_expect(ig_moveaxis(x, INTS(0), INTS(-1)), INTS(3, 4, 2), permuted);
        memcpy(p, (int64_t[]){2, 1, 0}, 24);
        layout_expect(ig_moveaxis(x, INTS(0, 1), INTS(-1, -2)), INTS(4, 3, 2), permuted);
        memcpy(p, (int64_t[]){0, 2, 1}, 24);
        layout_expect(ig_matrix_transpose(x), INTS(2, 4, 3), permuted);
        layout_expect(ig_moveaxis(x, scalar, scalar), INTS(2, 3, 4), NULL);
    }
    layout_expect(ig_permute_dims(make(0, scalar), scalar), scalar, zero);
}

static int64_t rows_apart(const int64_t *i) { return number(i[0], i[2], 0); }

static void test_expand_squeeze(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3));
        ig_array *y = ig_expand_dims(x, INTS(1));
        layout_expect(y, INTS(2, 1, 3), rows_apart);
        layout_expect(ig_squeeze(y, INTS(-2)), INTS(2, 3), NULL);
        layout_expect(ig_expand_dims(x, INTS(-1)), INTS(2, 3, 1), NULL);
        y = ig_expand_dims(x, INTS(0, -1, 2));
        layout_expect(y, INTS(1, 2, 1, 3, 1), NULL);
        layout_expect(ig_squeeze(y, INTS(4, 0)), INTS(2, 1, 3), rows_apart);
        layout_expect(ig_squeeze(y, scalar), INTS(1, 2, 1, 3, 1), NULL);
        layout_expect(ig_expand_dims(make(k, scalar), INTS(0)), INTS(1), zero);
    }
}

static int64_t on_diagonal(const int64_t *i)
{
    int64_t row = i[1] + (p[0] < 0 ? -p[0] : 0), col = i[1] + (p[0] > 0 ? p[0] : 0);
    return number(i[0], row, col);
}

static void test_diagonal(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        for (p[0] = -5; p[0] <= 6; p[0]++) {
            int64_t n = 0;
            for (int64_t row = 0; row < 3; row++)
                n += row + p[0] >= 0 && row + p[0] < 4;
            layout_expect(ig_diagonal(make(k, INTS(2, 3, 4)), p[0]), INTS(2, n), on_diagonal);
        }
        layout_expect(ig_diagonal(make(k, INTS(2, 2)), INT64_MIN), INTS(0), zero);
        layout_expect(ig_diagonal(make(k, INTS(2, 2)), INT64_MAX), INTS(0), zero);
        layout_expect(ig_diagonal(make(k, INTS(0, 2)), 0), INTS(0), zero);
    }
}

static void test_reshape(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3, 4)), *y;
        layout_expect(ig_reshape(x, INTS(4, 6)), INTS(4, 6), NULL);
        layout_expect(ig_reshape(x, INTS(-1)), INTS(24), NULL);
        layout_expect(ig_reshape(x, INTS(3, -1, 2)), INTS(3, 4, 2), NULL);
        for (int copy = 0; copy < 2; copy++) {
            ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = x},
                             {.kind = IG_ARG_INTS, .u.ints = INTS(24)},
                             {.name = "copy", .kind = IG_ARG_BOOL, .u.b = copy}};
            int n = ig_call("reshape", args, 3, &y, 1);
            if (copy || k == 0)
                layout_expect(n ? y : NULL, INTS(24), NULL);
            else if (k >= 2)
                layout_expect_error(IG_ERR_ARGUMENT, "reshape: x's strides cannot say");
        }
        layout_expect(ig_reshape(make(k, INTS(0, 3)), INTS(3, 0, 2)), INTS(3, 0, 2), zero);
        layout_expect(ig_reshape(make(k, INTS(0, 3)), INTS(-1, 3)), INTS(0, 3), zero);
        layout_expect(ig_reshape(make(k, INTS(1, 1)), scalar), scalar, zero);
        layout_expect(ig_reshape(make(k, scalar), INTS(1, -1)), INTS(1, 1), zero);
    }
}

/* ---- parts ---- */

static int64_t sliced(const int64_t *i) { return number(p[0] + i[0] * p[1], i[1], 0); }

/* Python's rule, one element at a time: the number of elements, and the first. */
static int64_t slice_length(int64_t start, int64_t stop, int64_t step, int64_t n, int64_t *first)
{
    int64_t count = 0;
    int64_t at = start < 0 ? start + n : start, to = stop < 0 ? stop + n : stop;
    if (step > 0) {
        at = at < 0 ? 0 : at;
        to = to > n ? n : to;
    } else {
        at = at > n - 1 ? n - 1 : at;
        to = to < -1 ? -1 : to;
    }
    *first = at;
    while (step > 0 ? at < to : at > to) {
        count++;
        at += step;
    }
    return count;
}

static void test_slice(void **state)
{
    static const int64_t bounds[] = {INT64_MIN, -6, -5, -4, -1, 0, 1, 3, 4, 5, INT64_MAX};
    enum { BOUNDS = sizeof bounds / sizeof *bounds };
    (void)state;
    for (int64_t n = 0; n < 6; n++)
        for (int c = 0; c < BOUNDS * BOUNDS * 7; c++) {
            int64_t start = bounds[c % BOUNDS], stop = bounds[c / BOUNDS % BOUNDS];
            int64_t step = c / (BOUNDS * BOUNDS) - 3;
            if (step == 0)
                continue;
            ig_scope_begin();
            ig_array *x = make(c % LAYOUTS, INTS(n, 2));
            int64_t length = slice_length(start, stop, step, n, &p[0]);
            p[1] = step;
            layout_expect(ig_slice(x, INTS(start), INTS(stop), INTS(step)), INTS(length, 2),
                          sliced);
            ig_scope_end();
        }
    ig_array *x = make(0, INTS(4, 5));
    p[0] = 3, p[1] = -1;
    layout_expect(ig_slice(x, INTS(3), INTS(2), INTS(INT64_MIN + 1)), INTS(1, 5), sliced);
    layout_expect(ig_slice(x, scalar, scalar, none), INTS(4, 5), NULL);
}

static int64_t updated(const int64_t *i)
{
    for (int64_t k = 0; k < 2; k++)
        if (i[0] == p[0] + k * p[1] && i[1] >= 1 && i[1] < 4)
            return 3 * k + i[1] - 1;
    return same(i);
}

static void test_slice_update(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++)
        for (int64_t step = -2; step <= 2; step++) {
            if (step == 0)
                continue;
            ig_array *u = make(3 - k, INTS(2, 3)), *x = make(k, INTS(5, 4));
            p[0] = 2, p[1] = step;
            layout_expect(ig_slice_update(x, u, INTS(2, 1), INTS(step, 1)), from, updated);
            layout_expect(ig_slice_update(x, u, INTS(-3, -3), INTS(step, 1)), from, updated);
            layout_expect(ig_slice_update(x, make(k, INTS(0, 4)), INTS(9), none), INTS(5, 4), NULL);
        }
    ig_array *x = make(0, scalar);
    layout_expect(ig_slice_update(ig_add(x, ig_int(5)), x, scalar, none), scalar, zero);
}

static int64_t part_of(const int64_t *i) { return number(i[0], i[1] + p[0], 0); }

static void test_split(void **state)
{
    ig_array *out[8];
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(3, 6));
        assert_int_equal(ig_split(x, INTS(3), 1, out, 8), 3);
        for (int j = 0; j < 3; j++) {
            p[0] = 2 * j;
            layout_expect(out[j], INTS(3, 2), part_of);
        }
        static const int64_t starts[] = {0, 2, 5, 5, 6, 6};
        assert_int_equal(ig_split(x, INTS(2, -1, 5, 9), -1, out, 8), 5);
        for (int j = 0; j < 5; j++) {
            p[0] = starts[j];
            layout_expect(out[j], INTS(3, starts[j + 1] - starts[j]), part_of);
        }
        assert_int_equal(ig_split(x, INTS(3), 1, out, 2), 0);
        ig_error(NULL);
    }
}

static int64_t unstacked(const int64_t *i) { return number(i[0], p[0], i[1]); }
static int64_t stacked(const int64_t *i)
{
    return layout_number((const int64_t[]){i[0], i[2]}, from) + 10 * i[1];
}

static void test_stack(void **state)
{
    ig_array *out[8];
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3, 4));
        assert_int_equal(ig_unstack(x, -2, out, 8), 3);
        for (int64_t j = 0; j < 3; j++) {
            p[0] = j;
            layout_expect(out[j], INTS(2, 4), unstacked);
        }
        layout_expect(ig_stack(out, 3, 1), INTS(2, 3, 4), NULL);
        x = make(k, INTS(2, 3));
        ig_array *in[] = {x, ig_add(x, ig_int(10)), ig_add(x, ig_int(20))};
        layout_expect(ig_stack(in, 3, 1), INTS(2, 3, 3), stacked);
        layout_expect(ig_stack(in, 3, -2), INTS(2, 3, 3), stacked);
        layout_expect(ig_stack(in, 1, 2), INTS(2, 3, 1), NULL);
        layout_expect(ig_stack((ig_array *[]){make(k, scalar)}, 1, 0), INTS(1), zero);
        layout_expect(ig_stack((ig_array *[]){make(k, INTS(0, 2))}, 1, 0), INTS(1, 0, 2), zero);
    }
}

static int64_t joined(const int64_t *i)
{
    int64_t at[3] = {i[0], i[1] - (i[1] < p[0] ? 0 : p[0]), i[2]};
    int64_t length = i[1] < p[0] ? p[0] : p[1];
    return layout_number(at, INTS(2, length, 3));
}

static void test_concat(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *in[] = {make(k, INTS(2, 1, 3)), make(k, INTS(2, 0, 3)),
                          make(3 - k, INTS(2, 4, 3))};
        p[0] = 1, p[1] = 4;
        layout_expect(ig_concat(in, 3, INTS(1)), INTS(2, 5, 3), joined);
        layout_expect(ig_concat(in, 3, INTS(-2)), INTS(2, 5, 3), joined);
        layout_expect(ig_concat(in, 1, INTS(0)), INTS(2, 1, 3), NULL);
        in[1] = make(k, scalar);
        layout_expect_data(ig_concat(in, 2, none), INTS(7), (int64_t[]){0, 1, 2, 3, 4, 5, 0});
    }
    ig_array *a = layout_make(0, INTS(2), IG_I8), *b = layout_make(0, INTS(2), IG_U8);
    ig_array *c = layout_make(0, INTS(1), IG_F32);
    ig_array *ab = ig_concat((ig_array *[]){a, b}, 2, INTS(0));
    assert_int_equal(ig_dtype_of(ab), IG_I16);
    layout_expect_data(ab, INTS(4), (int64_t[]){0, 1, 0, 1});
    assert_int_equal(ig_dtype_of(ig_concat((ig_array *[]){a, c}, 2, INTS(0))), IG_F32);
    assert_int_equal(ig_dtype_of(ig_stack((ig_array *[]){ig_int(1), ig_float(2)}, 2, 0)), IG_F32);
}

/* ---- borders, rolls, repeats ---- */

static int64_t edge_at(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static int64_t mirror_at(int64_t i, int64_t n)
{
    while (n > 1 && (i < 0 || i >= n))
        i = i < 0 ? -i : 2 * (n - 1) - i;
    return n > 1 ? i : 0;
}

static int64_t (*border)(int64_t i, int64_t n);

static int64_t padded(const int64_t *i)
{
    int64_t row = i[0] - p[0], col = i[1] - p[2];
    if (border)
        return number(border(row, from.v[0]), border(col, from.v[1]), 0);
    bool inside = row >= 0 && row < from.v[0] && col >= 0 && col < from.v[1];
    return inside ? number(row, col, 0) : 7;
}

static void test_pad(void **state)
{
    static const int64_t widths[][4] = {{0, 0, 0, 0}, {1, 2, 0, 3}, {0, 1, 9, 7}, {2, 2, 2, 2}};
    static const int64_t shapes[][2] = {{3, 4}, {1, 2}, {5, 1}};
    static const char *const names[] = {"constant", "edge", "reflect"};
    int64_t (*const borders[])(int64_t, int64_t) = {NULL, edge_at, mirror_at};
    (void)state;
    for (int c = 0; c < LAYOUTS * 3 * 4 * 3; c++) {
        ig_scope_begin();
        const int64_t *s = shapes[c / (LAYOUTS * 3) % 3];
        memcpy(p, widths[c / (LAYOUTS * 9)], sizeof p);
        border = borders[c / LAYOUTS % 3];
        ig_array *x = make(c % LAYOUTS, (ig_ints){s, 2});
        ig_array *y = ig_pad(x, (ig_ints){p, 4}, names[c / LAYOUTS % 3], ig_int(7));
        layout_expect(y, INTS(s[0] + p[0] + p[1], s[1] + p[2] + p[3]), padded);
        if (p[0] == 2)
            layout_expect(ig_pad(x, INTS(2), names[c / LAYOUTS % 3], ig_int(7)),
                          INTS(s[0] + 4, s[1] + 4), padded);
        ig_scope_end();
    }
    border = NULL;
    memcpy(p, (int64_t[]){1, 2, 1, 2}, sizeof p);
    layout_expect(ig_pad(make(1, INTS(0, 2)), INTS(1, 2), "constant", ig_int(7)), INTS(3, 5),
                  padded);
    layout_expect(ig_pad(make(0, scalar), INTS(3), "constant", NULL), scalar, zero);
    layout_expect(ig_pad(make(0, INTS(1)), INTS(1), "constant", NULL), INTS(3), zero);
    ig_array *b = ig_pad(layout_make(0, INTS(2), IG_BOOL), INTS(1), "constant", ig_bool(true));
    assert_int_equal(ig_dtype_of(b), IG_BOOL);
    layout_expect_data(b, INTS(4), (int64_t[]){1, 0, 1, 1});
}

static int64_t rolled(const int64_t *i)
{
    return number(modulo(i[0] - p[0], 3), modulo(i[1] - p[1], 4), 0);
}

static int64_t rolled_flat(const int64_t *i) { return modulo(same(i) - p[0], 12); }

static void test_roll(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(3, 4));
        for (p[0] = -5; p[0] <= 5; p[0]++) {
            layout_expect(ig_roll(x, INTS(p[0]), none), from, rolled_flat);
            p[1] = 3;
            layout_expect(ig_roll(x, INTS(p[0], 3), INTS(0, 1)), from, rolled);
            layout_expect(ig_roll(x, INTS(1, p[0], 2), INTS(-1, 0, 1)), from, rolled);
            p[1] = p[0];
            layout_expect(ig_roll(x, INTS(p[0]), INTS(0, -1)), from, rolled);
        }
        layout_expect(ig_roll(make(k, INTS(0, 2)), INTS(1), INTS(0)), INTS(0, 2), zero);
        layout_expect(ig_roll(make(k, scalar), INTS(5), none), scalar, zero);
    }
}

static int64_t stretched(const int64_t *i) { return number(i[0] / p[0], i[1] / p[1], i[2] / p[2]); }
static int64_t tiled(const int64_t *i) { return number(i[0] % p[0], i[1] % p[1], i[2] % p[2]); }
static int64_t tiled_front(const int64_t *i) { return number(i[1] % 2, i[2] % 3, 0); }
static int64_t divided(const int64_t *i) { return i[0] / 2; }

static void test_repeat_tile(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3, 4));
        memcpy(p, (int64_t[]){1, 3, 1}, 24);
        layout_expect(ig_repeat(x, ig_int(3), INTS(1)), INTS(2, 9, 4), stretched);
        memcpy(p, (int64_t[]){1, 1, 2}, 24);
        layout_expect(ig_repeat(x, ig_int(2), INTS(-1)), INTS(2, 3, 8), stretched);
        layout_expect(ig_repeat(x, ig_int(2), none), INTS(48), divided);
        layout_expect(ig_repeat(x, ig_int(0), INTS(0)), INTS(0, 3, 4), zero);
        layout_expect(ig_repeat(make(k, scalar), ig_int(2), none), INTS(2), zero);
        ig_array *counts = ig_from_data((int32_t[]){2, 0, 1}, INTS(3), IG_I32);
        layout_expect_data(ig_repeat(make(k, INTS(2, 3)), counts, INTS(1)), INTS(2, 3),
                           (int64_t[]){0, 0, 2, 3, 3, 5});
        from = INTS(2, 3, 4);
        memcpy(p, (int64_t[]){2, 3, 4}, 24);
        layout_expect(ig_tile(x, INTS(2, 1, 3)), INTS(4, 3, 12), tiled);
        layout_expect(ig_tile(x, INTS(2)), INTS(2, 3, 8), tiled);
        layout_expect(ig_tile(x, scalar), INTS(2, 3, 4), tiled);
        layout_expect(ig_tile(x, INTS(2, 0, 1)), INTS(4, 0, 4), tiled);
        layout_expect(ig_tile(make(k, INTS(2, 3)), INTS(2, 1, 2)), INTS(2, 2, 6), tiled_front);
        layout_expect(ig_tile(make(k, scalar), INTS(3)), INTS(3), zero);
    }
}

/* With the maximum number of axes there is no room for an additional one. */
static int64_t last_halved(const int64_t *i)
{
    int64_t at[IG_MAX_NDIM];
    memcpy(at, i, sizeof at);
    at[15] = p[0] ? i[15] / 2 : i[15] % 3;
    return layout_number(at, from);
}

static void test_most_axes(void **state)
{
    int64_t shape[IG_MAX_NDIM] = {2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3},
            twice[IG_MAX_NDIM];
    ig_ints whole = {shape, 16}, wide = {twice, 16};
    (void)state;
    memcpy(twice, shape, sizeof shape);
    twice[15] = 6;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, whole);
        p[0] = 1;
        layout_expect(ig_repeat(x, ig_int(2), INTS(-1)), wide, last_halved);
        p[0] = 0;
        layout_expect(ig_tile(x, INTS(2)), wide, last_halved);
        assert_null(ig_expand_dims(x, INTS(0)));
        layout_expect_error(IG_ERR_SHAPE, "expand_dims: 17 dimensions");
        assert_null(ig_stack(&x, 1, 0));
        layout_expect_error(IG_ERR_SHAPE, "stack: the arrays have 16 dimensions");
    }
}

/* ---- properties of views ---- */

static void test_views_do_not_copy(void **state)
{
    (void)state;
    ig_array *x = make(0, INTS(2, 3, 4)), *two[2];
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    assert_true(ig_is_evaluated(ig_flip(x, none)));
    assert_true(ig_is_evaluated(ig_matrix_transpose(x)));
    assert_true(ig_is_evaluated(ig_moveaxis(x, INTS(0), INTS(2))));
    assert_true(ig_is_evaluated(ig_slice(ig_flip(x, none), INTS(1), INTS(2), none)));
    assert_true(ig_is_evaluated(ig_diagonal(x, 1)));
    assert_true(ig_is_evaluated(ig_broadcast_to(x, INTS(9, 2, 3, 4))));
    assert_true(ig_is_evaluated(ig_reshape(x, INTS(6, 4))));
    assert_true(ig_is_evaluated(ig_expand_dims(x, INTS(0))));
    assert_int_equal(ig_unstack(x, 0, two, 2), 2);
    assert_true(ig_is_evaluated(two[1]));
    assert_int_equal(ig_split(x, INTS(2), 2, two, 2), 2);
    assert_true(ig_is_evaluated(two[1]));
    /* A result is a separate handle, even if nothing changes. */
    assert_ptr_not_equal(ig_broadcast_to(x, INTS(2, 3, 4)), x);
    assert_ptr_not_equal(ig_roll(x, INTS(0), INTS(0)), x);
    assert_ptr_not_equal(ig_tile(x, INTS(1)), x);
}

/* ---- errors ---- */

#define FAILS(code, start, call) \
    do { \
        assert_false(call); \
        layout_expect_error(code, start); \
    } while (0)

static void test_errors(void **state)
{
    ig_array *x = make(0, INTS(2, 3)), *y = make(0, INTS(4, 3)), *s = make(0, scalar), *out[8];
    ig_array *xy[] = {x, y};
    (void)state;
    FAILS(IG_ERR_SHAPE, "broadcast_to: shape (2, 3)", ig_broadcast_to(x, INTS(3, 3)));
    FAILS(IG_ERR_SHAPE, "broadcast_to: shape (2, 3)", ig_broadcast_to(x, INTS(3)));
    FAILS(IG_ERR_SHAPE, "broadcast_to: shape (-1, 3)", ig_broadcast_to(x, INTS(-1, 3)));
    FAILS(IG_ERR_SHAPE, "broadcast_arrays: shapes (2, 3) and (4, 3)",
          ig_broadcast_arrays(xy, 2, out));
    FAILS(IG_ERR_ARGUMENT, "broadcast_arrays: give at least", ig_broadcast_arrays(xy, 0, out));
    FAILS(IG_ERR_ARGUMENT, "concat: give at least", ig_concat(xy, 0, INTS(0)));
    FAILS(IG_ERR_SHAPE,
          "concat: array 1 has shape (4, 3), but array 0 has (2, 3); axis 1 is joined",
          ig_concat(xy, 2, INTS(1)));
    FAILS(IG_ERR_SHAPE, "concat: axis 2", ig_concat(xy, 2, INTS(2)));
    FAILS(IG_ERR_SHAPE, "concat: array 0 has no axis", ig_concat(&s, 1, INTS(0)));
    FAILS(IG_ERR_SHAPE, "stack: array 1 has shape (4, 3)", ig_stack(xy, 2, 0));
    FAILS(IG_ERR_SHAPE, "stack: axis 3", ig_stack(xy, 1, 3));
    FAILS(IG_ERR_SHAPE, "diagonal: x has 0 dimensions", ig_diagonal(s, 0));
    FAILS(IG_ERR_SHAPE, "expand_dims: axis 3", ig_expand_dims(x, INTS(3)));
    FAILS(IG_ERR_SHAPE, "expand_dims: axis -4", ig_expand_dims(x, INTS(-4)));
    FAILS(IG_ERR_SHAPE, "expand_dims: axis 0 is given twice", ig_expand_dims(x, INTS(0, -4)));
    FAILS(IG_ERR_SHAPE, "squeeze: axis 1 has length 3", ig_squeeze(x, INTS(1)));
    FAILS(IG_ERR_SHAPE, "squeeze: axis 2", ig_squeeze(x, INTS(2)));
    FAILS(IG_ERR_SHAPE, "flip: axis -3", ig_flip(x, INTS(-3)));
    FAILS(IG_ERR_SHAPE, "matrix_transpose: x has 0", ig_matrix_transpose(s));
    FAILS(IG_ERR_ARGUMENT, "meshgrid: indexing is", ig_meshgrid(&s, 1, "yx", out));
    FAILS(IG_ERR_SHAPE, "meshgrid: array 0 has 2", ig_meshgrid(xy, 2, "xy", out));
    FAILS(IG_ERR_SHAPE, "moveaxis: source has 1", ig_moveaxis(x, INTS(0), INTS(0, 1)));
    FAILS(IG_ERR_SHAPE, "moveaxis: axis 0 is given twice", ig_moveaxis(x, INTS(0, 0), INTS(0, 1)));
    FAILS(IG_ERR_SHAPE, "permute_dims: 1 axis is given, but x has 2", ig_permute_dims(x, INTS(0)));
    FAILS(IG_ERR_SHAPE, "permute_dims: axis 1 is given twice", ig_permute_dims(x, INTS(1, 1)));
}

static void test_errors_of_copies(void **state)
{
    ig_array *x = make(0, INTS(2, 3)), *s = make(0, scalar), *out[8];
    ig_array *f = ig_from_data((float[]){1}, scalar, IG_F32);
    (void)state;
    FAILS(IG_ERR_ARGUMENT, "pad: unknown mode", ig_pad(x, INTS(1), "turn", NULL));
    FAILS(IG_ERR_ARGUMENT, "pad: pad_width has 3", ig_pad(x, INTS(1, 2, 3), "edge", NULL));
    FAILS(IG_ERR_ARGUMENT, "pad: -1 for axis 1", ig_pad(x, INTS(0, 0, -1, 0), "edge", NULL));
    FAILS(IG_ERR_SHAPE, "pad: axis 0 has length 0",
          ig_pad(make(0, INTS(0)), INTS(1), "edge", NULL));
    FAILS(IG_ERR_DTYPE, "pad: value is f32, but x is i32", ig_pad(x, INTS(1), "constant", f));
    FAILS(IG_ERR_SHAPE, "repeat: 3 repeats", ig_repeat(x, make(0, INTS(3)), INTS(0)));
    FAILS(IG_ERR_ARGUMENT, "repeat: -1 repeats", ig_repeat(x, ig_int(-1), INTS(0)));
    FAILS(IG_ERR_DTYPE, "repeat: indices must be", ig_repeat(x, f, INTS(0)));
    FAILS(IG_ERR_SHAPE, "reshape: 6 elements cannot have the shape (4, -1)",
          ig_reshape(x, INTS(4, -1)));
    FAILS(IG_ERR_SHAPE, "reshape: shape (-1, -1)", ig_reshape(x, INTS(-1, -1)));
    FAILS(IG_ERR_SHAPE, "reshape: shape (-2, -3) has a negative", ig_reshape(x, INTS(-2, -3)));
    FAILS(IG_ERR_SHAPE, "reshape: 0 elements cannot", ig_reshape(make(0, INTS(0)), INTS(0, -1)));
    FAILS(IG_ERR_ARGUMENT, "roll: 2 shifts for 0 axes", ig_roll(x, INTS(1, 2), none));
    FAILS(IG_ERR_ARGUMENT, "roll: 2 shifts for 1 axes", ig_roll(x, INTS(1, 2), INTS(0)));
    FAILS(IG_ERR_SHAPE, "roll: axis 2", ig_roll(x, INTS(1), INTS(2)));
    FAILS(IG_ERR_ARGUMENT, "slice: the step of axis 0 is 0",
          ig_slice(x, INTS(0), INTS(1), INTS(0)));
    FAILS(IG_ERR_ARGUMENT, "slice: start has 1 numbers, stop 2",
          ig_slice(x, INTS(0), INTS(1, 1), none));
    FAILS(IG_ERR_SHAPE, "slice: 3 axes", ig_slice(x, INTS(0, 0, 0), INTS(1, 1, 1), none));
    FAILS(IG_ERR_INDEX, "slice_update: 2 elements from 1 by 1 do not fit axis 0 of length 2",
          ig_slice_update(x, x, INTS(1), none));
    FAILS(IG_ERR_INDEX, "slice_update: 2 elements from 0 by -1",
          ig_slice_update(x, x, INTS(0), INTS(-1)));
    FAILS(IG_ERR_SHAPE, "slice_update: x has 2 axes", ig_slice_update(x, s, INTS(0), none));
    FAILS(IG_ERR_DTYPE, "slice_update: update is f32", ig_slice_update(s, f, scalar, none));
    FAILS(IG_ERR_SHAPE, "split: axis 1 has length 3", ig_split(x, INTS(2), 1, out, 8));
    FAILS(IG_ERR_SHAPE, "split: axis 0 has length 2", ig_split(x, INTS(0), 0, out, 8));
    FAILS(IG_ERR_ARGUMENT, "tile: -1", ig_tile(x, INTS(-1)));
    FAILS(IG_ERR_SHAPE, "tile: ", ig_tile(x, INTS(INT64_MAX, INT64_MAX)));
    FAILS(IG_ERR_ARGUMENT, "unstack: the axis has length 0",
          ig_unstack(make(0, INTS(0)), 0, out, 8));
    FAILS(IG_ERR_SHAPE, "unstack: axis 0", ig_unstack(s, 0, out, 8));
}

/* ---- many short rows, which are moved with a table of offsets ---- */

static int64_t turned(const int64_t *i)
{
    return layout_number((const int64_t[]){i[0], i[2], i[1], i[3]}, from);
}

static int64_t twice(const int64_t *i)
{
    return layout_number((const int64_t[]){i[0], i[1] % from.v[1]}, from);
}

static void test_short_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 3, 5, 16}; /* lengths of the last axis */
    for (int k = 0; k < LAYOUTS * 4; k++) {
        const int64_t n = rows[k / LAYOUTS];
        ig_array *x = make(k % LAYOUTS, INTS(23, 4, 9, n));
        ig_array *y = ig_negative(ig_permute_dims(x, INTS(0, 2, 1, 3)));
        layout_expect(ig_negative(y), INTS(23, 9, 4, n), turned);
        x = make(k % LAYOUTS, INTS(211, n));
        layout_expect(ig_concat((ig_array *[]){x, x}, 2, IG_AXES(1)), INTS(211, 2 * n), twice);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_broadcast),
        TEST(test_meshgrid),
        TEST(test_flip),
        TEST(test_permute),
        TEST(test_expand_squeeze),
        TEST(test_diagonal),
        TEST(test_reshape),
        TEST(test_slice),
        TEST(test_slice_update),
        TEST(test_split),
        TEST(test_stack),
        TEST(test_concat),
        TEST(test_pad),
        TEST(test_roll),
        TEST(test_repeat_tile),
        TEST(test_short_rows),
        TEST(test_most_axes),
        TEST(test_views_do_not_copy),
        TEST(test_errors),
        TEST(test_errors_of_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
