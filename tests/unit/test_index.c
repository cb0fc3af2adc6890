/* The index ops and x[...] against plain loops. Thousands of random subscripts are compared with a
 * reference that looks up one element at a time. Results of NumPy fix the rule for the position of
 * the axes of index arrays. */
#include "support/unit.h"
#include <math.h>
#include <string.h>
#include "support/layouts.h"

#define INTS(...) \
    ((ig_ints){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8})
#define I64S(...) \
    (int64_t[]) { __VA_ARGS__ }
static const ig_ints none = {NULL, 0};
static const int64_t nothing[1];
static const ig_ints scalar = {nothing, 0};

static ig_ints from; /* the shape of x, for the rules */
static const int64_t *at;

static ig_array *make(int layout, ig_ints shape)
{
    from = shape;
    return layout_make(layout, shape, IG_I32);
}

static ig_array *longs(ig_ints shape, const int64_t *data)
{
    return ig_from_data(data, shape, IG_I64);
}
static ig_array *floats(ig_ints shape, const float *data)
{
    return ig_from_data(data, shape, IG_F32);
}

static int64_t zero(const int64_t *i)
{
    (void)i;
    return 0;
}

static int64_t wrap(int64_t i, int64_t n) { return i < 0 ? i + n : i; }

/* Evaluating y fails: its index is outside of its axis. */
static void expect_outside(ig_array *y)
{
    assert_non_null(y);
    assert_int_equal(eval_and_wait(y), IG_ERR_INDEX);
    assert_non_null(ig_error(NULL));
}

/* ---- take and the like ---- */

static int64_t taken(const int64_t *i)
{
    return layout_number(I64S(i[0], wrap(at[2 * i[1] + i[2]], 3), i[3]), from);
}

static int64_t taken_one(const int64_t *i) { return layout_number(I64S(i[0], 2, i[1]), from); }

static void test_take(void **state)
{
    static const ig_dtype dtypes[] = {IG_I8, IG_I16, IG_I32, IG_I64};
    (void)state;
    at = (const int64_t[]){2, 0, -3, -1, 1, 1};
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(2, 3, 4));
        ig_array *index = ig_astype(longs(INTS(3, 2), at), dtypes[k]);
        layout_expect(ig_take(x, index, INTS(1)), INTS(2, 3, 2, 4), taken);
        layout_expect(ig_take(x, index, INTS(-2)), INTS(2, 3, 2, 4), taken);
        layout_expect(ig_take(x, ig_int(2), INTS(1)), INTS(2, 4), taken_one);
        layout_expect(ig_take(x, longs(INTS(0), at), INTS(0)), INTS(0, 3, 4), zero);
        layout_expect_data(ig_take(make(k, INTS(5)), longs(INTS(2), at), none), INTS(2),
                           I64S(2, 0));
        ig_array *u = ig_from_data((uint64_t[]){1, 0}, INTS(2), IG_U64);
        layout_expect_data(ig_take(make(k, INTS(2)), u, none), INTS(2), I64S(1, 0));
        layout_expect(ig_take(make(k, INTS(0, 2)), longs(INTS(0), at), INTS(0)), INTS(0, 2), zero);
    }
    expect_outside(ig_take(make(0, INTS(3)), longs(INTS(2), I64S(0, 3)), none));
    expect_outside(ig_take(make(0, INTS(3)), longs(INTS(2), I64S(-4, 0)), none));
    ig_array *far = ig_from_data((uint64_t[]){UINT64_MAX}, INTS(1), IG_U64);
    expect_outside(ig_take(make(0, INTS(3)), far, none));
}

static int64_t taken_first(const int64_t *i)
{
    return layout_number(I64S(wrap(at[i[0]], 67), i[1], i[2]), from);
}

static int64_t taken_middle(const int64_t *i)
{
    return layout_number(I64S(i[0], wrap(at[i[1]], 5), i[2]), from);
}

/* Enough rows for several tasks; the first bad index is named. */
static void test_take_rows(void **state)
{
    enum { N = 2000 };
    static int64_t index[N];
    (void)state;
    for (int64_t i = 0; i < N; i++)
        index[i] = i * 7919 % 134 - 67;
    for (int k = 0; k < LAYOUTS; k++) {
        at = index;
        layout_expect(ig_take(make(k, INTS(67, 5, 18)), longs(INTS(N), at), INTS(0)),
                      INTS(N, 5, 18), taken_first);
        at = (const int64_t[]){4, -5, 0, 2, -1, 1};
        layout_expect(ig_take(make(k, INTS(67, 5, 18)), longs(INTS(6), at), INTS(1)),
                      INTS(67, 6, 18), taken_middle);
    }
    index[1700] = -68;
    index[1200] = 67;
    ig_array *y = ig_take(make(0, INTS(67, 18)), longs(INTS(N), index), INTS(0));
    assert_int_equal(eval_and_wait(y), IG_ERR_INDEX);
    /* The CPU reports the first bad index, other devices any. */
    const bool cpu = strcmp(ig_device(), "cpu") == 0;
    layout_expect_error(IG_ERR_INDEX, cpu ? "index 67 is out" : "index ");
}

static int64_t along_rows(const int64_t *i)
{
    return layout_number(I64S(i[0], wrap(at[2 * i[0] + i[1]], 4)), from);
}

static int64_t along_shared(const int64_t *i)
{
    return layout_number(I64S(i[0], wrap(at[i[1]], 4)), from);
}

static int64_t along_repeated(const int64_t *i) { return wrap(at[2 * i[0] + i[1]], 4); }
static int64_t gathered(const int64_t *i)
{
    return layout_number(I64S(wrap(at[2 * i[0] + i[1]], 3), i[1]), from);
}

static void test_along(void **state)
{
    (void)state;
    static const int64_t columns[] = {3, -1, 0, 2, -4, 1}, rows[] = {2, -3, 0, 1};
    for (int k = 0; k < LAYOUTS; k++) {
        at = columns;
        ig_array *index = longs(INTS(3, 2), at), *x = make(k, INTS(3, 4));
        layout_expect(ig_take_along_axis(x, index, -1), INTS(3, 2), along_rows);
        layout_expect(ig_take_along_axis(x, longs(INTS(1, 2), at), 1), INTS(3, 2), along_shared);
        layout_expect(ig_take_along_axis(make(k, INTS(1, 4)), index, 1), INTS(3, 2),
                      along_repeated);
        x = make(k, INTS(3, 4));
        at = rows;
        layout_expect(ig_gather(x, longs(INTS(2, 2), rows), 0), INTS(2, 2), gathered);
    }
    expect_outside(ig_gather(make(0, INTS(3, 4)), longs(INTS(1, 1), I64S(3)), 0));
    expect_outside(ig_take_along_axis(make(0, INTS(3, 4)), longs(INTS(1, 1), I64S(-5)), 1));
}

static void test_scatter(void **state)
{
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        int64_t set[12], sum[12];
        const int64_t index[] = {2, 0, -1, 0, -1, 1}, updates[] = {10, 20, 30, 40, 50, 60};
        for (int64_t i = 0; i < 12; i++)
            set[i] = sum[i] = i;
        for (int i = 0; i < 6; i++) { /* axis 0: rows of 2 */
            int64_t place = wrap(index[i], 3) * 4 + i % 2;
            set[place] = updates[i];
            sum[place] += updates[i];
        }
        ig_array *x = make(k, INTS(3, 4)), *in = longs(INTS(3, 2), index);
        ig_array *u = ig_astype(longs(INTS(3, 2), updates), IG_I32);
        layout_expect_data(ig_scatter(x, in, u, 0), INTS(3, 4), set);
        layout_expect_data(ig_scatter_add(x, in, u, -2), INTS(3, 4), sum);
        ig_array *t = ig_matrix_transpose(x), *ti = ig_matrix_transpose(in);
        ig_array *y = ig_scatter_add(t, ti, ig_matrix_transpose(u), 1);
        layout_expect_data(ig_matrix_transpose(y), INTS(3, 4), sum);
        layout_expect_data(ig_scatter(make(k, INTS(4)), longs(INTS(2), I64S(1, -1)), ig_int(9), 0),
                           INTS(4), I64S(0, 9, 2, 9));
        y = ig_scatter(make(k, INTS(2)), longs(INTS(0), index), longs(INTS(0), updates), 0);
        layout_expect_data(y, INTS(2), I64S(0, 1));
        assert_int_equal(ig_dtype_of(y), IG_I32);
    }
    expect_outside(ig_scatter(make(0, INTS(3)), longs(INTS(1), I64S(3)), ig_int(0), 0));
    expect_outside(ig_scatter_add(make(0, INTS(3)), longs(INTS(1), I64S(-4)), ig_int(0), 0));
}

/* ---- order ---- */

static void test_sort(void **state)
{
    (void)state;
    const float n = NAN;
    ig_array *x = floats(INTS(2, 4), (float[]){3, n, 1, 1, -INFINITY, 0, n, n});
    ig_array *up = ig_sort(x, -1, false, true), *down = ig_sort(x, 1, true, true);
    const float *u = ig_data(up), *d = ig_data(down);
    assert_true(u[0] == 1 && u[1] == 1 && u[2] == 3 && isnan(u[3]));
    assert_true(u[4] == -INFINITY && u[5] == 0 && isnan(u[6]) && isnan(u[7]));
    assert_true(d[0] == 3 && d[1] == 1 && d[2] == 1 && isnan(d[3]));
    layout_expect_data(ig_argsort(x, -1, false, true), INTS(2, 4), I64S(2, 3, 0, 1, 0, 1, 2, 3));
    layout_expect_data(ig_argsort(x, -1, true, true), INTS(2, 4), I64S(0, 2, 3, 1, 1, 0, 2, 3));
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *y = ig_remainder(ig_multiply(make(k, INTS(3, 4)), ig_int(5)), ig_int(7));
        /* 0 5 3 1 | 6 4 2 0 | 5 3 1 6 */
        layout_expect_data(ig_sort(y, 0, false, true), INTS(3, 4),
                           I64S(0, 3, 1, 0, 5, 4, 2, 1, 6, 5, 3, 6));
        layout_expect_data(ig_argsort(y, 0, true, true), INTS(3, 4),
                           I64S(1, 0, 0, 2, 2, 1, 1, 0, 0, 2, 2, 1));
        layout_expect_data(ig_sort(y, -1, true, false), INTS(3, 4),
                           I64S(5, 3, 1, 0, 6, 4, 2, 0, 6, 5, 3, 1));
        layout_expect(ig_sort(make(k, INTS(0, 3)), 0, false, true), INTS(0, 3), zero);
        layout_expect(ig_argsort(make(k, INTS(3, 0)), 1, false, true), INTS(3, 0), zero);
    }
}

/* The top k along any axis equal the beginning of a full descending argsort. */
static void test_topk(void **state)
{
    const int64_t size[] = {9, 17, 6};
    (void)state;
    for (int k = 0; k < LAYOUTS; k++)
        for (int axis = 0; axis < 3; axis++)
            for (int64_t n = 0; n <= size[axis]; n++) {
                ig_scope_begin();
                ig_array *y =
                    ig_remainder(ig_multiply(make(k, INTS(9, 17, 6)), ig_int(37)), ig_int(11));
                ig_array *order = ig_argsort(y, axis, true, true), *out[2];
                order = ig_take(order, ig_arange(0, (double)n, 1, IG_I64), IG_AXES(axis));
                assert_int_equal(ig_topk(y, n, axis, out), 2);
                assert_true(ig_item(ig_all(ig_equal(out[1], order), none, false)) == 1);
                ig_array *largest = ig_take_along_axis(y, order, axis);
                assert_true(ig_item(ig_all(ig_equal(out[0], largest), none, false)) == 1);
                ig_scope_end();
            }
}

static void test_searchsorted(void **state)
{
    (void)state;
    ig_array *x1 = longs(INTS(5), I64S(1, 3, 3, 3, 8)),
             *x2 = longs(INTS(2, 3), I64S(0, 1, 3, 4, 8, 9));
    layout_expect_data(ig_searchsorted(x1, x2, "left", NULL), INTS(2, 3), I64S(0, 0, 1, 4, 4, 5));
    layout_expect_data(ig_searchsorted(x1, x2, "right", NULL), INTS(2, 3), I64S(0, 1, 4, 4, 5, 5));
    ig_array *mixed = longs(INTS(5), I64S(3, 8, 1, 3, 3)),
             *sorter = ig_argsort(mixed, 0, false, true);
    layout_expect_data(ig_searchsorted(mixed, x2, "left", sorter), INTS(2, 3),
                       I64S(0, 0, 1, 4, 4, 5));
    layout_expect_data(ig_searchsorted(x1, floats(scalar, (float[]){3.5f}), "left", NULL), scalar,
                       I64S(4));
    layout_expect_data(ig_searchsorted(longs(INTS(0), nothing), x2, "right", NULL), INTS(2, 3),
                       I64S(0, 0, 0, 0, 0, 0));
    layout_expect_data(
        ig_searchsorted(ig_flip(ig_negative(x1), none), ig_negative(x2), "left", NULL), INTS(2, 3),
        I64S(5, 4, 1, 1, 0, 0));
}

/* ---- results whose size depends on data ---- */

static void test_masks(void **state)
{
    ig_array *out[3];
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = make(k, INTS(3, 4)), *odd = ig_equal(ig_remainder(x, ig_int(5)), ig_int(2));
        layout_expect_data(ig_mask_select(x, odd), INTS(2), I64S(2, 7));
        assert_int_equal(ig_nonzero(odd, out, 3), 2);
        layout_expect_data(out[0], INTS(2), I64S(0, 1));
        layout_expect_data(out[1], INTS(2), I64S(2, 3));
        ig_array *rows = ig_from_data((uint8_t[]){1, 0, 1}, INTS(3), IG_BOOL);
        layout_expect_data(ig_mask_select(x, rows), INTS(2, 4), I64S(0, 1, 2, 3, 8, 9, 10, 11));
        layout_expect(ig_mask_select(x, ig_less(x, ig_int(0))), INTS(0), zero);
        layout_expect_data(ig_mask_select(make(k, INTS(2)), ig_bool(true)), INTS(1, 2), I64S(0, 1));
        layout_expect(ig_mask_select(make(k, INTS(2)), ig_bool(false)), INTS(0, 2), zero);
        x = make(k, INTS(0, 3));
        layout_expect(ig_mask_select(x, ig_equal(x, x)), INTS(0), zero);
        assert_int_equal(ig_nonzero(x, out, 3), 2);
        layout_expect(out[1], INTS(0), zero);
    }
    assert_int_equal(ig_nonzero(floats(INTS(3), (float[]){0, -0.5f, NAN}), out, 3), 1);
    layout_expect_data(out[0], INTS(2), I64S(1, 2));
}

static void test_unique(void **state)
{
    ig_array *out[4];
    (void)state;
    for (int k = 0; k < LAYOUTS; k++) {
        ig_array *x = ig_remainder(ig_multiply(make(k, INTS(2, 4)), ig_int(3)), ig_int(5));
        /* 0 3 1 4 | 2 0 3 1 */
        assert_int_equal(ig_unique_all(x, out), 4);
        layout_expect_data(out[0], INTS(5), I64S(0, 1, 2, 3, 4));
        assert_int_equal(ig_dtype_of(out[0]), IG_I32);
        layout_expect_data(out[1], INTS(5), I64S(0, 2, 4, 1, 3));
        layout_expect_data(out[2], INTS(2, 4), I64S(0, 3, 1, 4, 2, 0, 3, 1));
        layout_expect_data(out[3], INTS(5), I64S(2, 2, 1, 2, 1));
        assert_int_equal(ig_unique_counts(x, out), 2);
        layout_expect_data(out[1], INTS(5), I64S(2, 2, 1, 2, 1));
        assert_int_equal(ig_unique_inverse(x, out), 2);
        layout_expect_data(out[1], INTS(2, 4), I64S(0, 3, 1, 4, 2, 0, 3, 1));
        layout_expect_data(ig_unique_values(x), INTS(5), I64S(0, 1, 2, 3, 4));
        assert_int_equal(ig_unique_all(make(k, INTS(0, 2)), out), 4);
        layout_expect(out[0], INTS(0), zero);
        layout_expect(out[2], INTS(0, 2), zero);
        assert_int_equal(ig_unique_all(make(k, scalar), out), 4);
        layout_expect_data(out[0], INTS(1), I64S(0));
        layout_expect_data(out[2], scalar, I64S(0));
    }
    ig_array *x = floats(INTS(6), (float[]){NAN, 2, -0.0f, NAN, 0, 2});
    assert_int_equal(ig_unique_all(x, out), 4);
    layout_expect_data(out[1], INTS(4), I64S(2, 1, 0, 3));
    layout_expect_data(out[2], INTS(6), I64S(2, 1, 0, 3, 0, 1));
    layout_expect_data(out[3], INTS(4), I64S(2, 2, 1, 1));
}

/* ---- x[...] : a reference that looks up one element at a time ---- */

enum { MOST_ITEMS = 8, MOST_ELEMENTS = 64 };

/* An item as the reference sees it: index arrays, each for one axis (a mask becomes several). */
typedef struct ref_index {
    int axis; /* of x */
    int ndim;
    int64_t shape[3], data[MOST_ELEMENTS];
} ref_index;

typedef struct reference {
    ig_ints x;
    /* The result's axes: from a slice (axis of x, first, step), or new (axis -1). */
    int n_basic, basic_axis[IG_MAX_NDIM];
    int64_t first[IG_MAX_NDIM], step[IG_MAX_NDIM], length[IG_MAX_NDIM];
    int64_t fixed[IG_MAX_NDIM]; /* index of the axes that integers fix */
    ref_index index[MOST_ITEMS];
    int n_index, lead; /* axes of the result before those of the index arrays */
    int ndim, joint;   /* axes of the result; how many of them the index arrays make */
    int64_t shape[IG_MAX_NDIM];
} reference;

static reference ref;

/* The element of a broadcast index array at the joint axes i. */
static int64_t ref_at(const ref_index *r, const int64_t *i)
{
    int64_t n = 0;
    for (int a = 0; a < r->ndim; a++) {
        int64_t k = r->shape[a] == 1 ? 0 : i[ref.joint - r->ndim + a];
        n = n * r->shape[a] + k;
    }
    return wrap(r->data[n], r->axis < 0 ? 1 : ref.x.v[r->axis]);
}

static int64_t ref_rule(const int64_t *i)
{
    int64_t source[IG_MAX_NDIM];
    memcpy(source, ref.fixed, sizeof source);
    for (int b = 0; b < ref.n_basic; b++) {
        int64_t k = i[b < ref.lead ? b : b + ref.joint];
        if (ref.basic_axis[b] >= 0)
            source[ref.basic_axis[b]] = ref.first[b] + k * ref.step[b];
    }
    for (int k = 0; k < ref.n_index; k++)
        if (ref.index[k].axis >= 0)
            source[ref.index[k].axis] = ref_at(&ref.index[k], i + ref.lead);
    return layout_number(source, ref.x);
}

/* The shape of the result: the joint axes at lead. */
static void ref_shape(void)
{
    int64_t joint[3] = {1, 1, 1};
    ref.joint = 0;
    for (int k = 0; k < ref.n_index; k++)
        if (ref.index[k].ndim > ref.joint)
            ref.joint = ref.index[k].ndim;
    for (int k = 0; k < ref.n_index; k++)
        for (int a = 0; a < ref.index[k].ndim; a++)
            if (ref.index[k].shape[a] != 1)
                joint[ref.joint - ref.index[k].ndim + a] = ref.index[k].shape[a];
    ref.ndim = 0;
    for (int b = 0; b <= ref.n_basic; b++) {
        for (int a = 0; b == ref.lead && a < ref.joint; a++)
            ref.shape[ref.ndim++] = joint[a];
        if (b < ref.n_basic)
            ref.shape[ref.ndim++] = ref.length[b];
    }
}

/* ---- drawing items ---- */

static uint64_t seed = 1;

static int64_t draw(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n > 0 ? (int64_t)((seed >> 33) % (uint64_t)n) : 0;
}

static void add_basic(int axis, int64_t first, int64_t step, int64_t length)
{
    ref.basic_axis[ref.n_basic] = axis;
    ref.first[ref.n_basic] = first;
    ref.step[ref.n_basic] = step;
    ref.length[ref.n_basic++] = length;
}

/* A slice with bounds around the axis, some of them omitted. */
static ig_index draw_slice(int axis)
{
    int64_t n = ref.x.v[axis], step = draw(5) - 2, start = draw(2 * n + 5) - n - 2;
    int64_t stop = draw(2 * n + 5) - n - 2, count = 0, first = 0;
    ig_index item = {IG_INDEX_SLICE, start, stop, step ? step : 1, NULL};
    step = item.step;
    bool from_end = draw(3) == 0, to_end = draw(3) == 0, by_one = step == 1 && draw(2);
    for (int64_t k = 0; k < n; k++) { /* in the order of the step */
        int64_t i = step > 0 ? k : n - 1 - k, low = wrap(start, n), high = wrap(stop, n);
        bool after = from_end || (step > 0 ? i >= low : i <= low);
        bool before = to_end || (step > 0 ? i < high : i > high);
        if (!after || !before)
            continue;
        if (count == 0)
            first = i;
        if ((i - first) % step == 0)
            count++;
    }
    item.start = from_end ? INT64_MIN : start;
    item.stop = to_end ? INT64_MIN : stop;
    item.step = by_one ? INT64_MIN : step;
    add_basic(axis, first, step, count);
    return item;
}

/* Integers of a shape that broadcasts with (2, 3): (), (3,), (1,), (2, 1), (2, 3). */
static ig_index draw_array(int axis)
{
    static const int64_t shapes[][3] = {{0}, {1, 3}, {1, 1}, {2, 2, 1}, {2, 2, 3}};
    ref_index *r = &ref.index[ref.n_index++];
    const int64_t *s = shapes[draw(5)];
    *r = (ref_index){.axis = axis, .ndim = (int)s[0], .shape = {s[1], s[2]}};
    int64_t n = ref.x.v[axis];
    for (int i = 0; i < 6; i++)
        r->data[i] = draw(2 * n) - n;
    return (ig_index){.kind = IG_INDEX_ARRAY,
                      .array = ig_from_data(r->data, (ig_ints){r->shape, r->ndim}, IG_I64)};
}

/* A mask over `axes` axes with `count` true elements. */
static ig_index draw_mask(int axis, int axes, int64_t count)
{
    uint8_t holds[MOST_ELEMENTS] = {0};
    ig_ints shape = {ref.x.v + axis, axes};
    int64_t size = 1, i[IG_MAX_NDIM] = {0}, n = 0;
    for (int a = 0; a < axes; a++)
        size *= shape.v[a];
    for (int64_t k = 0; k < count && k < size; k++)
        holds[(k * 5 + 1) % size] = 1;
    for (int64_t k = 0; k < size; k++)
        n += holds[k];
    ref_index *r = &ref.index[ref.n_index];
    ref.n_index += axes ? axes : 1;
    for (int a = 0; a < axes || a == 0; a++)
        r[a] = (ref_index){.axis = axes ? axis + a : -1, .ndim = 1, .shape = {n}};
    for (int64_t k = 0, found = 0; k < size; k++, layout_next(i, shape))
        if (holds[k]) {
            for (int a = 0; a < axes; a++)
                r[a].data[found] = i[a];
            found++;
        }
    return (ig_index){.kind = IG_INDEX_ARRAY, .array = ig_from_data(holds, shape, IG_BOOL)};
}

static ig_index draw_int(int axis, bool has_array)
{
    int64_t n = ref.x.v[axis], i = draw(2 * n) - n;
    ref.fixed[axis] = wrap(i, n);
    if (has_array)
        ref.index[ref.n_index++] = (ref_index){.axis = axis, .data = {i}};
    return (ig_index){.kind = IG_INDEX_INT, .start = i};
}

/* Draws items for x, and fills ref; -1 if there are too many. kind: 0 integer, 1 slice, 2 new axis,
 * 3 rest, 4 array, 5 mask. */
static int draw_items(ig_index *items, bool arrays)
{
    int axis = 0, n = 0, run = 0; /* run: 0 none yet, 1 inside, 2 after one */
    bool rest = false;
    int want = (int)draw(ref.x.n + 1), used = want;
    while (n < MOST_ITEMS - 1 && want > 0) {
        int kind = (int)draw(arrays ? 6 : 4);
        if (kind == 3 && rest)
            continue;
        bool is_index = kind >= 4 || (kind == 0 && arrays);
        if (is_index && run != 1) {
            ref.lead = run == 2 ? 0 : ref.n_basic;
            run = 1;
        } else if (!is_index && run == 1) {
            run = 2;
        }
        if (kind == 2) {
            add_basic(-1, 0, 1, 1);
            items[n++] = (ig_index){.kind = IG_INDEX_NEWAXIS};
            continue;
        }
        if (kind == 3) {
            for (int a = 0; a < ref.x.n - used; a++, axis++)
                add_basic(axis, 0, 1, ref.x.v[axis]);
            items[n++] = (ig_index){.kind = IG_INDEX_REST};
            rest = true;
            continue;
        }
        int axes = kind == 5 && want > 1 ? 1 + (int)draw(2) : 1;
        items[n++] = kind == 0   ? draw_int(axis, arrays)
                     : kind == 1 ? draw_slice(axis)
                     : kind == 4 ? draw_array(axis)
                                 : draw_mask(axis, axes, draw(2) ? 1 : 3);
        axis += axes;
        want -= axes;
    }
    for (; axis < ref.x.n; axis++)
        add_basic(axis, 0, 1, ref.x.v[axis]);
    return want > 0 ? -1 : n;
}

/* True if some item is an array and all joint shapes agree. */
static bool drawn_is_valid(const ig_index *items, int n, bool arrays)
{
    bool has = false;
    for (int k = 0; k < n; k++)
        has = has || items[k].kind == IG_INDEX_ARRAY;
    if (has != arrays)
        return false;
    for (int k = 0; k < ref.n_index; k++) {
        const ref_index *r = &ref.index[k];
        for (int a = 0; a < r->ndim; a++) {
            int place = r->ndim - a; /* 1: the last */
            if (r->shape[a] != 1 && r->shape[a] != (place == 1 ? 3 : 2))
                return false;
        }
    }
    return true;
}

static void test_get_random(void **state)
{
    static const int64_t shapes[][4] = {{5, 4, 3, 6}, {3, 3, 4, 3}, {7, 3, 1, 2}, {1, 9, 3, 4}};
    (void)state;
    int tried = 0, with_arrays = 0;
    for (int c = 0; c < 6000; c++) {
        ig_index items[MOST_ITEMS];
        bool arrays = c % 3 != 0;
        ig_scope_begin();
        ref = (reference){.x = {shapes[draw(4)], 1 + (int)draw(4)}};
        int n = draw_items(items, arrays);
        if (n >= 0 && drawn_is_valid(items, n, arrays)) {
            ref_shape();
            ig_array *x = layout_make((int)draw(LAYOUTS), ref.x, IG_I32);
            layout_expect(ig_get(x, items, n), (ig_ints){ref.shape, ref.ndim}, ref_rule);
            tried++;
            with_arrays += arrays;
        }
        ig_scope_end();
    }
    assert_true(tried > 2500 && with_arrays > 1000);
}

#define INT(i) \
    { \
        .kind = IG_INDEX_INT, .start = (i) \
    }
#define ALL \
    { \
        IG_INDEX_SLICE, INT64_MIN, INT64_MIN, INT64_MIN, NULL \
    }
#define REST \
    { \
        .kind = IG_INDEX_REST \
    }
#define NEW \
    { \
        .kind = IG_INDEX_NEWAXIS \
    }
#define ARRAY(a) \
    { \
        .kind = IG_INDEX_ARRAY, .array = (a) \
    }

/* Shapes from NumPy 2. */
static void test_get_numpy(void **state)
{
    (void)state;
    ig_array *i = longs(INTS(2), I64S(0, 1)), *yes = ig_bool(true),
             *zero_d = longs(scalar, I64S(1));
    ig_array *mask = ig_from_data((uint8_t[]){1, 0, 1, 1, 1, 0}, INTS(2, 3), IG_BOOL);
    const struct {
        ig_index items[4];
        int n;
        ig_ints shape;
    } rows[] = {
        {{ALL, ARRAY(i), ARRAY(i)}, 3, INTS(5, 2)},
        {{ALL, ARRAY(i), REST, ARRAY(i)}, 4, INTS(2, 5)},
        {{INT(0), ALL, ARRAY(i)}, 3, INTS(2, 2)},
        {{ARRAY(i), ALL, INT(0)}, 3, INTS(2, 2)},
        {{INT(0), ARRAY(i)}, 2, INTS(2, 3)},
        {{ALL, INT(0), ARRAY(i)}, 3, INTS(5, 2)},
        {{ARRAY(i), NEW, ARRAY(i)}, 3, INTS(2, 1, 3)},
        {{NEW, ARRAY(i)}, 2, INTS(1, 2, 2, 3)},
        {{ARRAY(yes)}, 1, INTS(1, 5, 2, 3)},
        {{ALL, ARRAY(yes)}, 2, INTS(5, 1, 2, 3)},
        {{ARRAY(i), ARRAY(yes)}, 2, INTS(2, 2, 3)},
        {{ARRAY(yes), ALL, ARRAY(i)}, 3, INTS(2, 5, 3)},
        {{ALL, ARRAY(mask)}, 2, INTS(5, 4)},
        {{REST, ARRAY(mask)}, 2, INTS(5, 4)},
        {{ARRAY(zero_d)}, 1, INTS(2, 3)},
        {{INT(1), REST, ARRAY(zero_d)}, 3, INTS(2)},
        {{INT(0)}, 0, INTS(5, 2, 3)},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ig_array *y = ig_get(make(0, INTS(5, 2, 3)), rows[k].items, rows[k].n);
        assert_non_null(y);
        assert_int_equal(ig_ndim(y), rows[k].shape.n);
        for (int a = 0; a < rows[k].shape.n; a++)
            assert_int_equal(ig_dim(y, a), rows[k].shape.v[a]);
        assert_non_null(ig_data(y));
    }
    ig_array *y = ig_get(make(0, INTS(5, 2, 3)), (ig_index[]){ALL, ARRAY(mask)}, 2);
    layout_expect_data(ig_get(y, (ig_index[]){INT(1)}, 1), INTS(4), I64S(6, 8, 9, 10));
}

static void test_get_edges(void **state)
{
    (void)state;
    ig_array *s = make(0, scalar), *one = longs(INTS(1), I64S(0)), *many = longs(INTS(0), nothing);
    layout_expect(ig_get(s, (ig_index[]){REST}, 1), scalar, zero);
    layout_expect(ig_get(s, (ig_index[]){NEW, REST, NEW}, 3), INTS(1, 1), zero);
    layout_expect(ig_get(s, (ig_index[]){ARRAY(ig_bool(true))}, 1), INTS(1), zero);
    assert_int_equal(ig_dtype_of(ig_get(ig_float(0), (ig_index[]){NEW}, 1)), IG_F32);
    ig_array *e = make(3, INTS(0, 3));
    layout_expect(ig_get(e, (ig_index[]){ALL, INT(-1)}, 2), INTS(0), zero);
    layout_expect(ig_get(e, (ig_index[]){ARRAY(many), ARRAY(one)}, 2), INTS(0), zero);
    assert_true(ig_is_evaluated(ig_get(one, (ig_index[]){ALL}, 1)));
    ig_array *x = make(2, INTS(3, 4));
    expect_outside(ig_get(x, (ig_index[]){ARRAY(longs(INTS(1), I64S(3)))}, 1));
    for (int64_t bad = -5; bad <= 4; bad += 9) {
        ig_array *b = longs(INTS(1), &bad);
        expect_outside(ig_get(x, (ig_index[]){ARRAY(one), ARRAY(b)}, 2));
        expect_outside(ig_get(ig_flip(x, none), (ig_index[]){ARRAY(b), ARRAY(one)}, 2));
    }
}

/* ---- errors ---- */

#define FAILS(code, start, call) \
    do { \
        assert_false(call); \
        layout_expect_error(code, start); \
    } while (0)

static void test_errors(void **state)
{
    ig_array *x = make(0, INTS(2, 3)), *i = longs(INTS(2), I64S(0, 1)), *s = make(0, scalar),
             *out[4];
    ig_array *f = floats(INTS(2), (float[]){0, 1}), *e = make(0, INTS(0)), *b = ig_equal(i, i);
    ig_array *m = longs(INTS(2, 2), I64S(0, 0, 0, 0)), *wide = longs(INTS(1, 4), I64S(0, 0, 0, 0));
    (void)state;
    FAILS(IG_ERR_DTYPE, "take: indices must be integers, not f32", ig_take(x, f, INTS(0)));
    FAILS(IG_ERR_DTYPE, "take: indices must be integers, not bool", ig_take(x, b, INTS(0)));
    FAILS(IG_ERR_ARGUMENT, "take: x has 2 dimensions", ig_take(x, i, none));
    FAILS(IG_ERR_SHAPE, "take: axis 2", ig_take(x, i, INTS(2)));
    FAILS(IG_ERR_INDEX, "take: 2 elements are asked of an axis of length 0",
          ig_take(e, i, INTS(0)));
    FAILS(IG_ERR_SHAPE, "take_along_axis: indices have shape (2,)", ig_take_along_axis(x, i, 0));
    FAILS(IG_ERR_SHAPE, "take_along_axis: indices have shape (2, 2)", ig_take_along_axis(x, m, 0));
    FAILS(IG_ERR_SHAPE, "gather: indices have shape (1, 4)", ig_gather(x, wide, 0));
    FAILS(IG_ERR_SHAPE, "gather: axis -3", ig_gather(x, m, -3));
    FAILS(IG_ERR_DTYPE, "scatter: updates is f32, but x is i32", ig_scatter(e, i, f, 0));
    FAILS(IG_ERR_INDEX, "scatter: 2 elements are written", ig_scatter(e, i, i, 0));
    FAILS(IG_ERR_SHAPE, "scatter_add: shape (2,) does not",
          ig_scatter_add(f, longs(INTS(1), nothing), i, 0));
    FAILS(IG_ERR_DTYPE, "scatter_add takes numbers", ig_scatter_add(b, i, b, 0));
    FAILS(IG_ERR_SHAPE, "sort: axis -1", ig_sort(s, -1, false, true));
    FAILS(IG_ERR_SHAPE, "argsort: axis 2", ig_argsort(x, 2, false, true));
    FAILS(IG_ERR_SHAPE, "searchsorted: x1 has 2", ig_searchsorted(x, i, "left", NULL));
    FAILS(IG_ERR_ARGUMENT, "searchsorted: side is", ig_searchsorted(i, i, "middle", NULL));
    FAILS(IG_ERR_SHAPE, "searchsorted: sorter has shape (0,)", ig_searchsorted(i, i, "left", e));
    FAILS(IG_ERR_DTYPE, "searchsorted: indices must be", ig_searchsorted(i, i, "left", f));
    FAILS(IG_ERR_DTYPE, "mask_select: mask must be bool", ig_mask_select(x, i));
    FAILS(IG_ERR_SHAPE, "mask_select: the mask has shape (2,), but the axes from 0 on have (3,)",
          ig_mask_select(longs(INTS(3), I64S(0, 1, 2)), b));
    FAILS(IG_ERR_INDEX, "mask_select: 1 axis is", ig_mask_select(s, b));
    FAILS(IG_ERR_SHAPE, "nonzero: x has no axes", ig_nonzero(s, out, 4));
}

/* Integers: a division by 0, and a negative power of 0. */
static void test_integer_faults(void **state)
{
    static const ig_dtype dtypes[] = {IG_I8, IG_I16, IG_I32, IG_I64, IG_U8, IG_U16, IG_U32, IG_U64};
    typedef ig_array *(*function)(ig_array *, ig_array *);
    static const function divides[] = {ig_floor_divide, ig_remainder, ig_fmod, ig_trunc_divide};
    (void)state;
    for (int d = 0; d < 8; d++) {
        ig_array *x = ig_astype(longs(INTS(2, 2), I64S(7, 6, 5, 4)), dtypes[d]);
        ig_array *y = ig_astype(longs(INTS(2, 2), I64S(1, 2, 0, 3)), dtypes[d]);
        for (int f = 0; f < 4; f++) {
            /* trunc_divide of signed integers takes their remainder first. */
            const bool quotient = f == 0 || (f == 3 && d >= 4);
            const char *text = quotient ? "floor_divide: an integer is divided by 0"
                                        : "remainder: an integer is divided by 0";
            assert_false(ig_data(ig_add(divides[f](x, y), ig_int(1))));
            layout_expect_error(IG_ERR_ARGUMENT, text);
            FAILS(IG_ERR_ARGUMENT, text, divides[f](x, ig_int(0)));
            assert_non_null(ig_data(divides[f](x, ig_maximum(y, ig_int(1)))));
            assert_non_null(ig_data(divides[f](make(0, INTS(0)), ig_int(0))));
        }
        assert_non_null(ig_data(ig_gcd(x, y)));
        assert_non_null(ig_data(ig_lcm(y, ig_int(0))));
        if (d >= 4)
            continue;
        assert_false(ig_data(ig_pow(y, ig_int(-1))));
        layout_expect_error(IG_ERR_ARGUMENT, "pow: the integer 0 has a negative power (on");
        assert_false(ig_data(ig_pow(y, ig_negative(x))));
        layout_expect_error(IG_ERR_ARGUMENT, "pow: the integer 0 has a negative power (on");
        /* The absolute value of the lowest integer does not fit. */
        ig_array *least =
            ig_astype(ig_bitwise_left_shift(ig_int(-1), ig_int((8 << d) - 1)), dtypes[d]);
        assert_true(ig_item(ig_gcd(ig_scalar(3, dtypes[d]), least)) == 1);
        assert_true(ig_item(ig_gcd(least, ig_scalar(12, dtypes[d]))) == 4);
        assert_true(ig_item(ig_equal(ig_floor_divide(least, ig_scalar(-1, dtypes[d])), least)));
        assert_true(ig_item(ig_remainder(least, ig_scalar(-1, dtypes[d]))) == 0);
    }
    assert_true(isinf(ig_item(ig_floor_divide(ig_float(1), ig_float(0)))));
}

/* Indices above the range of i64 are out of bounds. */
static void test_large_indices(void **state)
{
    static const uint64_t large[] = {(uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 1, INT64_MAX};
    (void)state;
    for (int i = 0; i < 4; i++) {
        ig_array *index = ig_from_data(&large[i], INTS(1), IG_U64), *x = make(0, INTS(3));
        ig_array *ways[] = {ig_take(x, index, INTS(0)),
                            ig_take_along_axis(x, index, 0),
                            ig_get(x, &(ig_index)ARRAY(index), 1),
                            ig_gather(x, index, 0),
                            ig_scatter(x, index, ig_astype(index, IG_I32), 0),
                            ig_scatter_add(x, index, ig_astype(index, IG_I32), 0)};
        for (int w = 0; w < 6; w++) {
            assert_false(ig_data(ways[w]));
            layout_expect_error(IG_ERR_INDEX, "index 9223372036854775807, or more, is out");
        }
    }
}

static void test_get_errors(void **state)
{
    ig_array *x = make(0, INTS(2, 3)), *i = longs(INTS(2), I64S(0, 1)),
             *f = floats(INTS(1), (float[]){0});
    ig_array *three = longs(INTS(3), I64S(0, 1, 1)), *b = ig_equal(three, three);
    ig_index still = ALL;
    (void)state;
    still.step = 0;
    FAILS(IG_ERR_INDEX, "get: index 2 is out of bounds for axis 0 of length 2",
          ig_get(x, (ig_index[]){INT(2)}, 1));
    FAILS(IG_ERR_INDEX, "get: index -4 is out of bounds for axis 1 of length 3",
          ig_get(x, (ig_index[]){ARRAY(i), INT(-4)}, 2));
    FAILS(IG_ERR_INDEX, "get: 3 axes are indexed, but x has 2",
          ig_get(x, (ig_index[]){INT(0), NEW, INT(0), ALL}, 4));
    FAILS(IG_ERR_INDEX, "get: '...' appears 2 times", ig_get(x, (ig_index[]){REST, REST}, 2));
    FAILS(IG_ERR_ARGUMENT, "get: the slice of axis 0 has step 0", ig_get(x, &still, 1));
    FAILS(IG_ERR_DTYPE, "get: indices must be integers", ig_get(x, (ig_index[]){ARRAY(f)}, 1));
    FAILS(IG_ERR_SHAPE, "get: the mask has shape (3,)", ig_get(x, (ig_index[]){ARRAY(b)}, 1));
    FAILS(IG_ERR_SHAPE, "take: shapes (2,) and (3,) do not broadcast",
          ig_get(x, (ig_index[]){ARRAY(i), ARRAY(three)}, 2));
    FAILS(IG_ERR_ARGUMENT, "get: the array of item 0 is NULL",
          ig_get(x, (ig_index[]){ARRAY(NULL)}, 1));
    FAILS(IG_ERR_ARGUMENT, "get: x is NULL", ig_get(NULL, &still, 1));
    ig_fail(IG_ERR_FILE, "first");
    assert_null(ig_get(NULL, &still, 1));
    layout_expect_error(IG_ERR_FILE, "first");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_take),          TEST(test_take_rows),  TEST(test_along),
        TEST(test_scatter),       TEST(test_sort),       TEST(test_topk),
        TEST(test_searchsorted),  TEST(test_masks),      TEST(test_unique),
        TEST(test_get_random),    TEST(test_get_numpy),  TEST(test_get_edges),
        TEST(test_errors),        TEST(test_get_errors), TEST(test_integer_faults),
        TEST(test_large_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
