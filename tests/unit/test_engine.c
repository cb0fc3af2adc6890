/* The whole engine: neither fusing nor the number of threads changes a bit, the budget holds, a failed allocation does
 * no harm, fork after use works, scopes do not leak. */
#include "base/memory.h"
#include "support/unit.h"
#include "ingot.h"
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t state = 1;

/* Under sanitizers and emulators: every k-th case only. */
static int sparse(int k) { return getenv("IG_TEST_QUICK") ? k : 1; }

static uint32_t pick(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static ig_array *random_array(ig_ints shape, ig_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.n; i++)
        n *= shape.v[i];
    double *values = malloc((size_t)(n + 1) * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = ((double)pick(2001) - 1000) / 250;
    ig_array *x = ig_astype(ig_from_data(values, shape, IG_F64), dtype);
    free(values);
    return x;
}

static void *bytes_of(ig_array *x, size_t *size)
{
    *size = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    void *at = malloc(*size + 1);
    if (ig_read(x, at, *size) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return at;
}

/* ---- fused against one by one ---- */

/* softmax(a @ b.T) @ a: a chain whose scores exist only by rows, unless they are evaluated. */
static ig_array *attention(ig_array *a, ig_array *b, bool eager)
{
    ig_array *scores = ig_matmul(a, ig_matrix_transpose(b));
    if (eager)
        assert_int_equal(ig_eval(&scores, 1), IG_OK);
    ig_array *e = ig_exp(ig_subtract(scores, ig_max(scores, IG_AXES(-1), true)));
    if (eager)
        assert_int_equal(ig_eval(&e, 1), IG_OK);
    ig_array *sum = ig_sum(e, IG_AXES(-1), IG_DTYPE_NONE, true);
    return ig_divide(ig_matmul(e, a), sum);
}

/* A random graph over arrays of one shape (and reductions of it), the same for the same seed. With
 * eager, every op is evaluated as soon as it is built. */
static ig_array *random_graph(uint64_t seed, ig_dtype dtype, bool eager)
{
    enum { N = 24 };
    ig_array *x[N];
    state = seed;
    const bool wide = pick(4) == 0; /* rows around the length of a block */
    const int64_t shape[] = {1 + pick(5), 1 + pick(wide ? 6 : 40), 1 + pick(wide ? 1100 : 70)};
    for (int i = 0; i < 3; i++)
        x[i] = random_array((ig_ints){shape, 3}, dtype);
    for (int i = 3; i < N; i++) {
        ig_array *a = x[pick((uint32_t)i)], *b = x[pick((uint32_t)i)];
        int64_t axis = pick(3);
        switch (pick(15)) {
        case 0: x[i] = ig_add(a, b); break;
        case 1: x[i] = ig_subtract(a, b); break;
        case 2: x[i] = ig_multiply(a, ig_float(0.37)); break;
        case 3: x[i] = ig_tanh(a); break;
        case 4: x[i] = ig_exp(ig_negative(ig_abs(a))); break;
        case 5: x[i] = ig_where(ig_less(a, b), a, ig_sqrt(ig_abs(b))); break;
        case 6: x[i] = ig_subtract(a, ig_max(b, (ig_ints){&axis, 1}, true)); break;
        case 7: x[i] = ig_add(a, ig_mean(b, (ig_ints){&axis, 1}, true)); break;
        case 8: x[i] = ig_multiply(a, ig_flip(b, (ig_ints){&axis, 1})); break;
        case 9:
            x[i] = ig_tanh(ig_sum(ig_multiply(a, b), (ig_ints){&axis, 1}, IG_DTYPE_NONE, true));
            break;
        case 10:
            x[i] = ig_reshape(ig_tanh(ig_reshape(a, IG_SHAPE(-1))), (ig_ints){shape, 3});
            break;
        case 11: x[i] = ig_softmax(a, (ig_ints){&axis, 1}); break;
        case 12:
            x[i] =
                ig_tanh(ig_add(ig_matmul(ig_matmul(a, ig_matrix_transpose(b)), a), ig_float(0.1)));
            break;
        case 13: x[i] = attention(a, b, eager); break;
        default: x[i] = ig_astype(ig_astype(a, IG_F64), dtype); break;
        }
        assert_non_null(x[i]);
        if (ig_ndim(x[i]) < 3 || ig_dim(x[i], 0) != shape[0] || ig_dim(x[i], 1) != shape[1] ||
            ig_dim(x[i], 2) != shape[2])
            x[i] = ig_broadcast_to(x[i], (ig_ints){shape, 3});
        if (eager)
            assert_int_equal(ig_eval(&x[i], 1), IG_OK);
    }
    return ig_concat((ig_array *[]){x[N - 1], x[N - 2], x[N - 3]}, 3, IG_AXES(0));
}

static void fusing_changes_no_bit(void **unused)
{
    (void)unused;
    const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16};
    for (uint64_t seed = 1; seed <= 120; seed += (uint64_t)(sparse(7) * every(3))) {
        ig_dtype dtype = dtypes[seed % 4];
        size_t n, m;
        ig_scope_begin();
        void *fused = bytes_of(random_graph(seed, dtype, false), &n);
        void *single = bytes_of(random_graph(seed, dtype, true), &m);
        assert_int_equal(n, m);
        if (memcmp(fused, single, n) != 0)
            fail_msg("graph %d (%s): fused and unfused results differ", (int)seed,
                     ig_dtype_name(dtype));
        free(fused);
        free(single);
        ig_scope_end();
    }
}

/* x, evaluated if eager is set. */
static ig_array *step(ig_array *x, bool eager)
{
    if (eager)
        assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

/* The steps of a layer_norm, and squares of differences and products that only their sums need. */
static ig_array *norms(ig_array *x, ig_array *w, bool eager)
{
    ig_array *mean = step(ig_mean(x, IG_AXES(-1), true), eager);
    ig_array *c = step(ig_subtract(x, mean), eager);
    ig_array *square = step(ig_square(c), eager);
    ig_array *scale = step(ig_rsqrt(ig_mean(square, IG_AXES(-1), true)), eager);
    ig_array *y = step(ig_multiply(step(ig_multiply(c, scale), eager), w), eager);
    ig_array *far = step(ig_square(step(ig_subtract(w, y), eager)), eager);
    ig_array *near = step(ig_multiply(w, x), eager);
    ig_array *sums[] = {ig_sum(far, IG_AXES(-1), IG_DTYPE_NONE, true),
                        ig_sum(near, IG_AXES(-1), IG_DTYPE_NONE, true)};
    y = step(ig_subtract(w, step(ig_add(y, w), eager)), eager);
    return ig_add(y, ig_add(step(sums[0], eager), step(sums[1], eager)));
}

/* Differences and products that are cheaper to recompute than to store, one computed from another, and one viewed in
 * another shape; and the run of four rows at the end of a norm. */
static ig_array *centred(ig_array *x, ig_array *w, bool eager)
{
    const ig_ints last = IG_AXES(-1), wide = IG_SHAPE(25, -1);
    ig_array *scaled = step(ig_multiply(x, w), eager);
    ig_array *mean = step(ig_mean(scaled, last, true), eager);
    ig_array *y = step(ig_subtract(scaled, mean), eager);
    ig_array *size = step(ig_sum(step(ig_multiply(y, y), eager), last, IG_DTYPE_NONE, true), eager);
    ig_array *norm = step(ig_multiply(step(ig_multiply(y, size), eager), w), eager);
    norm = step(ig_add(norm, w), eager);
    ig_array *sums =
        step(ig_sum(step(ig_multiply(norm, scaled), eager), last, IG_DTYPE_NONE, true), eager);
    ig_array *folded = step(ig_subtract(ig_reshape(y, wide), ig_reshape(norm, wide)), eager);
    ig_array *again = step(ig_multiply(sums, scaled), eager);
    return ig_add(ig_reshape(folded, ig_shape(x)), again);
}

static void check_same(ig_array *fused, ig_array *single)
{
    size_t n, m;
    void *a = bytes_of(fused, &n), *b = bytes_of(single, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

/* Longer and more rows than in the random graphs. In strict mode, products inside of attention may be added in another
 * order than separate products. */
static void many_rows_change_no_bit(void **unused)
{
    (void)unused;
    assert_int_equal(ig_set_math(IG_MATH_SAME), IG_OK);
    static const int64_t widths[] = {7, 33, 100, 1000, 1024, 1500};
    const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16};
    for (int d = 0; d < 3; d++) {
        ig_scope_begin();
        state = 5;
        ig_array *a = random_array(IG_SHAPE(2, 300, 17), dtypes[d]);
        check_same(attention(a, a, false), attention(a, a, true));
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            ig_array *x = random_array(IG_SHAPE(50, widths[i]), dtypes[d]);
            ig_array *w = random_array(IG_SHAPE(widths[i]), dtypes[d]);
            check_same(norms(x, w, false), norms(x, w, true));
            check_same(centred(x, w, false), centred(x, w, true));
        }
        ig_scope_end();
    }
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
}

static void threads_change_no_bit(void **unused)
{
    (void)unused;
    const int counts[] = {1, 2, 3, 8};
    for (uint64_t seed = 200; seed < 230; seed += (uint64_t)sparse(7)) {
        void *first = NULL;
        size_t n = 0;
        for (int i = 0; i < 4; i++) {
            size_t m;
            ig_scope_begin();
            ig_set_threads(counts[i]);
            void *now = bytes_of(random_graph(seed, seed % 2 ? IG_F32 : IG_F16, false), &m);
            if (first) {
                assert_int_equal(n, m);
                assert_memory_equal(first, now, n);
                free(now);
            } else {
                first = now;
                n = m;
            }
            ig_scope_end();
        }
        free(first);
    }
    /* Long rows, split over tasks. */
    const int64_t side = getenv("IG_TEST_QUICK") ? 100 : 300;
    double sums[4];
    for (int i = 0; i < 4; i++) {
        ig_scope_begin();
        ig_set_threads(counts[i]);
        ig_array *x = ig_normal(ig_key(3, NULL), IG_SHAPE(side * 1000), IG_F32, NULL, NULL);
        ig_array *y =
            ig_matmul(ig_reshape(x, IG_SHAPE(side, 1000)), ig_reshape(x, IG_SHAPE(1000, side)));
        sums[i] = ig_item(ig_sum(x, IG_NONE, IG_DTYPE_NONE, false)) +
                  ig_item(ig_sum(y, IG_NONE, IG_DTYPE_NONE, false));
        ig_scope_end();
        assert_true(sums[i] == sums[0]);
    }
    ig_set_threads(0);
}

/* ---- memory ---- */

/* Bytes of arrays on the current device. */
static uint64_t bytes_used(void)
{
    ig_memory_info m = {0};
    assert_int_equal(ig_device_memory(NULL, &m), IG_OK);
    return m.used;
}

static void the_budget_holds(void **unused)
{
    (void)unused;
    ig_status code;
    ig_scope_begin();
    ig_array *x = ig_zeros(IG_SHAPE(1000, 1000), IG_F32);
    ig_array *y = ig_exp(x);
    ig_set_device_memory_limit(NULL, bytes_used() + 1000000);
    assert_int_equal(ig_eval(&y, 1), IG_ERR_MEMORY);
    const char *message = ig_error(&code);
    assert_int_equal(code, IG_ERR_MEMORY);
    assert_non_null(strstr(message, "this evaluation needs "));
    assert_non_null(strstr(message, "3.8 MiB"));
    assert_false(ig_is_evaluated(y));
    ig_set_device_memory_limit(NULL, 0);
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    assert_true(ig_item(ig_max(y, IG_NONE, false)) == 1);
    ig_scope_end();
}

/* A dying input gives its buffer to the result. */
static void donation_saves_a_buffer(void **unused)
{
    (void)unused;
    const int64_t n = 1 << 20;
    ig_scope_begin();
    ig_array *x = ig_scope_forget(ig_arange(0, (double)n, 1, IG_F32));
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    uint64_t before = ig_memory_used();
    for (int i = 0; i < 3; i++) {
        ig_scope_begin();
        ig_array *y = ig_scope_forget(ig_add(x, ig_scalar(1, IG_F32)));
        ig_release(x);
        ig_scope_end();
        assert_int_equal(ig_eval(&y, 1), IG_OK);
        x = y;
        assert_true(ig_memory_used() <= before + 64);
    }
    assert_true(ig_item(ig_max(x, IG_NONE, false)) == (double)n + 2);
    ig_release(x);
    /* An array that is still held keeps its values. */
    ig_array *a = ig_arange(0, 100, 1, IG_F32);
    ig_eval(&a, 1);
    ig_array *b = ig_add(a, ig_float(5));
    ig_eval(&b, 1);
    assert_true(ig_item(ig_max(a, IG_NONE, false)) == 99);
    ig_scope_end();
}

/* ---- devices ---- */

/* One op cannot mix arrays of two devices, and results of the null device cannot be read. */
static void results_stay_on_their_device(void **unused)
{
    (void)unused;
    float read[100];
    ig_scope_begin();
    ig_array *x = ig_arange(0, 100, 1, IG_F32), *out = NULL;
    const char *device = ig_device();
    assert_string_equal(ig_array_device(x), device);
    assert_int_equal(ig_set_device("null"), IG_OK);
    ig_array *y = ig_add(ig_arange(0, 100, 1, IG_F32), ig_float(1));
    assert_string_equal(ig_array_device(y), "null");
    assert_null(ig_add(x, y));
    const char *message = ig_error(NULL);
    assert_non_null(strstr(message, "'null'"));
    assert_non_null(strstr(message, device));
    assert_non_null(strstr(message, "to_device"));
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    assert_int_equal(ig_read(y, read, sizeof read), IG_ERR_DEVICE);
    ig_error(NULL);
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_array *back = ig_to_device(y, "cpu");
    assert_int_equal(ig_eval(&back, 1), IG_ERR_DEVICE);
    ig_error(NULL);
    /* A number fits any device. */
    assert_string_equal(ig_array_device(ig_add(x, ig_float(1))), device);
    ig_compiled *plan = ig_compile(&x, 1, 0, (ig_array *[]){ig_add(x, ig_float(1))}, 1);
    assert_non_null(plan);
    assert_int_equal(ig_run(plan, &y, &out), IG_ERR_DEVICE);
    ig_error(NULL);
    assert_int_equal(ig_run(plan, &x, &out), IG_OK);
    assert_true(ig_item(ig_max(out, IG_NONE, false)) == 100);
    ig_compiled_free(plan);
    ig_scope_end();
}

/* ---- nodes stored for later ---- */

static void arrays_of_outer_scopes_are_stored(void **unused)
{
    (void)unused;
    ig_scope_begin();
    ig_array *key = ig_key(1, NULL);
    ig_array *x = ig_normal(key, IG_SHAPE(1000), IG_F32, NULL, NULL),
             *seen = ig_reshape(x, IG_SHAPE(10, 100));
    ig_array *inner = ig_exp(x), *outer = ig_multiply(inner, ig_float(2));
    assert_false(ig_is_evaluated(x));
    double first = 0;
    for (int step = 0; step < 3; step++) {
        ig_scope_begin();
        ig_array *h = ig_tanh(seen), *loss = ig_sum(h, IG_NONE, IG_DTYPE_NONE, false);
        const double value = ig_item(loss);
        first = step ? first : value;
        assert_true(value == first);
        assert_true(ig_is_evaluated(x));
        assert_false(ig_is_evaluated(h)); /* of the innermost scope: fused */
        ig_scope_end();
    }
    ig_scope_begin();
    ig_item(ig_sum(outer, IG_NONE, IG_DTYPE_NONE, false));
    assert_true(ig_is_evaluated(outer));
    assert_false(ig_is_evaluated(inner)); /* no array of the innermost scope reads it */
    ig_scope_end();
    /* In one scope only requested arrays are stored. */
    ig_array *y = ig_exp(outer), *sum = ig_sum(y, IG_NONE, IG_DTYPE_NONE, false);
    assert_int_equal(ig_eval(&sum, 1), IG_OK);
    assert_false(ig_is_evaluated(y));
    ig_scope_end();
}

/* y = exp(x) + 1, which the caller owns; nothing holds exp(x). */
static ig_array *owned(ig_array *x)
{
    ig_scope_begin();
    ig_array *y = ig_scope_forget(ig_add(ig_exp(x), ig_float(1)));
    ig_scope_end();
    return y;
}

static void arrays_that_the_caller_owns_are_stored(void **unused)
{
    (void)unused;
    enum { N = 1 << 16 };
    ig_scope_begin();
    ig_array *x = ig_zeros(IG_SHAPE(N), IG_F32), *grad = NULL;
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    ig_array *y = owned(x);
    const uint64_t before = bytes_used();
    ig_array *loss = ig_sum(ig_square(y), IG_NONE, IG_DTYPE_NONE, false);
    assert_true(ig_item(loss) == 4.0 * N);
    assert_true(ig_is_evaluated(y));
    assert_in_range(bytes_used() - before, 4 * N, 4 * N + 4096); /* y, but not exp(x) */
    assert_int_equal(ig_grad(loss, &x, 1, &grad), IG_OK);        /* it still has its history */
    assert_true(ig_item(ig_max(grad, IG_NONE, false)) == 4);
    /* Once released, it is an ordinary intermediate result. */
    ig_array *z = owned(x);
    ig_array *sum = ig_sum(z, IG_NONE, IG_DTYPE_NONE, false);
    ig_release(z);
    const uint64_t now = bytes_used();
    assert_true(ig_item(sum) == 2.0 * N);
    assert_in_range(bytes_used() - now, 0, 4096);
    ig_release(y);
    ig_scope_end();
}

static void scopes_do_not_leak(void **unused)
{
    (void)unused;
    ig_shutdown();
    int64_t before = memory_live();
    uint64_t used = ig_memory_used();
    for (int i = 0; i < 50; i++) {
        ig_scope_begin();
        ig_array *x = ig_ones(IG_SHAPE(10, 10), IG_F32);
        ig_scope_begin();
        ig_array *y = ig_scope_forget(ig_add(ig_matmul(x, ig_exp(x)), ig_float(1)));
        ig_scope_end();
        assert_true(ig_item(ig_mean(y, IG_NONE, false)) > 0);
        ig_release(y);
        assert_null(ig_add(x, ig_ones(IG_SHAPE(3, 10), IG_F32)));
        assert_null(ig_exp(ig_add(x, ig_ones(IG_SHAPE(3, 10), IG_F32))));
        assert_non_null(ig_error(NULL));
        ig_scope_end();
    }
    ig_shutdown();
    assert_int_equal(memory_live(), before);
    assert_int_equal(ig_memory_used(), used);
}

/* A chain of 100,000 nodes is built, evaluated and freed without deep recursion. */
static void deep_graphs_are_fine(void **unused)
{
    (void)unused;
    ig_scope_begin();
    ig_array *x = ig_zeros(IG_SHAPE(2), IG_F32), *one = ig_scalar(1, IG_F32);
    for (int i = 0; i < 100000; i++)
        x = ig_add(x, one);
    assert_true(ig_item(ig_max(x, IG_NONE, false)) == 100000);
    ig_scope_end();
    ig_shutdown();
}

/* ---- the n-th allocation fails ---- */

/* Uses much of the library; returns false at the first failure. */
static bool script(void)
{
    bool fine = ig_scope_begin() == IG_OK;
    if (!fine)
        return false;
    ig_array *x = ig_normal(ig_key(1, NULL), IG_SHAPE(6, 8), IG_F32, NULL, NULL),
             *sum = ig_float(0);
    for (int i = 0; i < 20 && fine; i++) {
        ig_array *w = ig_reshape(ig_arange(0, 8 * (i + 1), 1, IG_F32), IG_SHAPE(8, -1));
        ig_array *h = ig_gelu(ig_matmul(x, w), NULL), *parts[4];
        h = ig_layer_norm(h, NULL, NULL, IG_AXES(-1), 1e-5);
        int n = ig_split(ig_concat((ig_array *[]){h, h}, 2, IG_AXES(0)), IG_SHAPE(4), 0, parts, 4);
        ig_array *order = ig_argsort(h, -1, false, true);
        ig_array *y = ig_take_along_axis(h, order, -1);
        y = ig_add(ig_sum(y, IG_NONE, IG_DTYPE_NONE, false),
                   n ? ig_mean(parts[3], IG_NONE, false) : NULL);
        y = ig_add(y, ig_sum(ig_softmax(h, IG_AXES(-1)), IG_NONE, IG_DTYPE_NONE, false));
        sum = ig_add(sum, y);
        char *plan = ig_explain(&sum, 1);
        fine = plan && ig_eval(&sum, 1) == IG_OK;
        ig_free(plan);
    }
    fine = fine && !isnan(ig_item(sum));
    ig_scope_end();
    return fine;
}

static void any_allocation_may_fail(void **unused)
{
    (void)unused;
    only_on_cpu("each failure would compile all kernels again; grad/test_pass has fewer");
    ig_set_threads(1);
    assert_true(script());
    ig_shutdown();
    int64_t live = memory_live(), before = memory_count();
    assert_true(script());
    int64_t count = memory_count() - before;
    ig_shutdown();
    assert_int_equal(memory_live(), live);
    if (count < 2000)
        fail_msg("the script makes only %lld allocations", (long long)count);
    for (int64_t n = 1; n <= count; n += sparse(17)) {
        memory_fail_at(n);
        bool fine = script();
        memory_fail_at(0);
        ig_status code = IG_OK;
        const char *message = ig_error(&code);
        ig_shutdown();
        if (fine || !message || code != IG_ERR_MEMORY)
            fail_msg("allocation %lld failed, but the script says %s: %s", (long long)n,
                     fine ? "fine" : "failed", message ? message : "no message");
        if (memory_live() != live)
            fail_msg("allocation %lld failed, and %lld blocks leaked", (long long)n,
                     (long long)(memory_live() - live));
    }
    assert_true(script());
    ig_shutdown();
    ig_set_threads(0);
}

/* ---- errors ---- */

static void errors_stay_until_read(void **unused)
{
    (void)unused;
    ig_status code;
    ig_scope_begin();
    ig_array *x = ig_ones(IG_SHAPE(2, 3), IG_F32);
    assert_null(ig_sum(x, IG_AXES(7), IG_DTYPE_NONE, false));
    assert_null(ig_matmul(x, x));
    const char *message = ig_error(&code);
    assert_non_null(strstr(message, "sum: axis 7"));
    assert_int_equal(code, IG_ERR_SHAPE);
    assert_null(ig_error(&code));
    assert_int_equal(code, IG_OK);
    /* A failed argument is not treated as an absent one. */
    assert_null(ig_layer_norm(x, ig_matmul(x, x), NULL, IG_AXES(-1), 1e-5));
    assert_non_null(ig_error(NULL));
    /* An index out of bounds fails during evaluation, and the next call works. */
    ig_array *bad = ig_take(x, ig_scalar(5, IG_I64), IG_AXES(0));
    assert_non_null(bad);
    assert_int_equal(eval_and_wait(bad), IG_ERR_INDEX);
    assert_non_null(strstr(ig_error(NULL), "index 5"));
    assert_true(ig_item(ig_sum(x, IG_NONE, IG_DTYPE_NONE, false)) == 6);
    ig_array *out[2];
    assert_int_equal(ig_call("sofmax", NULL, 0, out, 2), 0);
    assert_non_null(strstr(ig_error(NULL), "'softmax'"));
    ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = x},
                     {.name = "axxes", .kind = IG_ARG_INT, .u.i = 0}};
    assert_int_equal(ig_call("sum", args, 2, out, 2), 0);
    assert_non_null(strstr(ig_error(NULL), "no argument 'axxes'"));
    ig_scope_end();
}

static void fork_after_use(void **unused)
{
    (void)unused;
    if (strcmp(ig_device(), "gang") != 0)
        only_on_cpu(
            "a driver does not work in a child of fork; test_opencl_arrays has its message");
    if (getenv("IG_TEST_EMULATED")) /* qemu-user cannot start threads in a child of fork */
        skip();
    ig_scope_begin();
    ig_set_threads(3);
    ig_array *x = ig_normal(ig_key(5, NULL), IG_SHAPE(300, 400), IG_F32, NULL, NULL);
    double want =
        ig_item(ig_sum(ig_matmul(x, ig_matrix_transpose(x)), IG_NONE, IG_DTYPE_NONE, false));
    pid_t child = fork();
    if (child == 0) {
        alarm(240);
        ig_array *y = ig_normal(ig_key(5, NULL), IG_SHAPE(300, 400), IG_F32, NULL, NULL);
        double got =
            ig_item(ig_sum(ig_matmul(y, ig_matrix_transpose(y)), IG_NONE, IG_DTYPE_NONE, false));
        _exit(got == want ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ig_set_threads(0);
    ig_scope_end();
}

/* Each thread has its own scopes, errors and device; evaluations take turns. */
static void *side_by_side(void *seed)
{
    double total = 0;
    for (int i = 0; i < 20; i++) {
        ig_scope_begin();
        ig_array *x =
            ig_normal(ig_key((uint64_t)(intptr_t)seed, NULL), IG_SHAPE(64, 64), IG_F32, NULL, NULL);
        total += ig_item(ig_sum(ig_softmax(ig_matmul(x, x), IG_AXES(-1)), IG_NONE, IG_F64, false));
        if (ig_reshape(x, IG_SHAPE(3)) || !ig_error(NULL))
            total = -1;
        ig_scope_end();
    }
    ig_scope_end();
    return (void *)(intptr_t)(fabs(total - 20 * 64) < 1e-2);
}

static void threads_work_side_by_side(void **unused)
{
    (void)unused;
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, side_by_side, (void *)i), 0);
    for (int i = 0; i < 4; i++) {
        void *fine = NULL;
        pthread_join(threads[i], &fine);
        assert_non_null(fine);
    }
}

static void *cancel_until(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
        ig_cancel();
        usleep(500);
    }
    return NULL;
}

/* A cancelled evaluation fails. The array can be evaluated later; a donated one is lost. */
static void evaluations_can_be_cancelled(void **unused)
{
    (void)unused;
    only_on_cpu("a kernel that was launched cannot be stopped, and these are large");
    enum { SIDE = 1200 };
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *a = ig_ones(IG_SHAPE(SIDE, SIDE), IG_F32), *donated = ig_add(a, ig_int(1));
    assert_int_equal(ig_eval((ig_array *[]){a, donated}, 2), IG_OK);
    ig_array *x = ig_matmul(a, ig_matmul(a, a)), *y = ig_exp(ig_matmul(donated, a));
    atomic_bool stop = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_until, &stop), 0);
    const ig_status status = ig_eval(&x, 1);
    ig_status code;
    const char *why = ig_error(&code);
    const ig_status donating = ig_eval_donating(&y, 1, &donated, 1);
    ig_error(NULL);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(status, IG_ERR_CANCELLED);
    assert_int_equal(code, IG_ERR_CANCELLED);
    assert_string_equal(why, "the evaluation was cancelled");
    assert_int_equal(donating, IG_ERR_CANCELLED);
    assert_null(ig_data(donated));
    assert_true(ig_failed());
    ig_error(NULL);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    assert_true(((const float *)ig_data(x))[SIDE + 1] == (float)SIDE * SIDE);
    ig_scope_end();
}

/* One block runs on one thread. It never ends on its own, and is not stuck, because it changes memory. */
static void a_long_block_can_be_cancelled(void **unused)
{
    (void)unused;
    only_on_cpu("a kernel that was launched cannot be stopped");
    static const char source[] = "__global__ void spin(const float *x, float *y) { for (int i = 0; "
                                 "x[0] == 0; i++) y[0] = i; }";
    assert_int_equal(ig_scope_begin(), IG_OK);
    const ig_arg args[] = {
        {.name = "x", .kind = IG_ARG_ARRAY, .u.array = ig_zeros(IG_SHAPE(1), IG_F32)},
        {.name = "y", .kind = IG_ARG_INTS, .u.ints = IG_SHAPE(1)}};
    ig_array *y = NULL;
    assert_int_equal(
        ig_kernel(&(ig_kernel_call){.source = source, .kernel = "spin", .args = args, .n_args = 2},
                  &y, 1),
        1);
    atomic_bool stop = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_until, &stop), 0);
    const ig_status status = ig_eval(&y, 1);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(status, IG_ERR_CANCELLED);
    ig_error(NULL);
    assert_false(ig_is_evaluated(y));
    ig_scope_end();
}

/* The first result overwrites its input, which nothing else holds. After a cancelled run it must not be computed from
 * the overwritten input. */
static void a_cancelled_run_leaves_no_wrong_input(void **unused)
{
    (void)unused;
    only_on_cpu("a kernel that was launched cannot be stopped, and these are large");
    enum { SIDE = 1200 };
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *a = ig_ones(IG_SHAPE(SIDE, SIDE), IG_F32);
    ig_array *x = ig_scope_forget(ig_add(a, ig_float(1)));
    assert_int_equal(ig_eval((ig_array *[]){a, x}, 2), IG_OK);
    ig_array *y = ig_scope_forget(ig_add(x, ig_float(1)));
    ig_release(x);
    ig_array *long_run = ig_matmul(a, ig_matmul(a, ig_matmul(a, a)));
    atomic_bool stop = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_until, &stop), 0);
    const ig_status status = ig_eval((ig_array *[]){y, long_run}, 2);
    ig_error(NULL);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(status, IG_ERR_CANCELLED);
    const float *data = ig_data(y);
    assert_true(!data || data[0] == 3);
    ig_error(NULL);
    ig_release(y);
    ig_scope_end();
}

/* Elements [from, to) of the last axis, unless that has one element. */
static ig_array *piece(ig_array *x, int64_t from, int64_t to)
{
    const ig_ints shape = ig_shape(x);
    if (shape.v[shape.n - 1] == 1)
        return x;
    const int64_t start[] = {0, from}, stop[] = {INT64_MAX, to};
    const int skip = shape.n == 1;
    return ig_eval_one(
        ig_slice(x, (ig_ints){start + skip, shape.n}, (ig_ints){stop + skip, shape.n}, IG_NONE));
}

/* op of whole rows, and of pieces that are shorter than a block. */
static void check_long(ig_array *op(ig_array *, ig_array *), ig_array *x, ig_array *y)
{
    enum { PIECE = 700, PIECES = 80 };
    const int last = ig_ndim(x) - 1;
    const int64_t n = ig_shape(x).v[last];
    ig_array *pieces[PIECES];
    int count = 0;
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t end = at + PIECE < n ? at + PIECE : n;
        pieces[count++] = ig_eval_one(op(piece(x, at, end), piece(y, at, end)));
    }
    check_same(ig_eval_one(op(x, y)), ig_concat(pieces, count, IG_AXES(last)));
}

static void long_rows_change_no_bit(void **unused)
{
    static const int64_t shapes[][2] = {{1, 50001}, {3, 5000}, {2, 20011}, {40, 1025}};
    static ig_array *(*const ops[])(ig_array *, ig_array *) = {ig_add, ig_less, ig_atan2};
    (void)unused;
    for (int i = 0; i < 4 * 3 * 3; i++) {
        const int64_t *shape = shapes[i % 4];
        const ig_dtype dtype = i / 4 % 3 == 0 ? IG_F32 : i / 4 % 3 == 1 ? IG_F64 : IG_F16;
        ig_scope_begin();
        ig_array *key = ig_key(7, NULL), *x[4];
        const ig_ints each[] = {{shape, 2}, {shape + 1, 1}, IG_SHAPE(shape[0], 1), IG_SHAPE(1)};
        for (int k = 0; k < 4; k++)
            x[k] = ig_eval_one(ig_astype(ig_normal(key, each[k], IG_F32, NULL, NULL), dtype));
        for (int k = 0; k < 4; k++)
            check_long(ops[i / 12], x[0], x[k]);
        ig_scope_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fusing_changes_no_bit),
        cmocka_unit_test(long_rows_change_no_bit),
        cmocka_unit_test(many_rows_change_no_bit),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(the_budget_holds),
        cmocka_unit_test(donation_saves_a_buffer),
        cmocka_unit_test(results_stay_on_their_device),
        cmocka_unit_test(arrays_of_outer_scopes_are_stored),
        cmocka_unit_test(arrays_that_the_caller_owns_are_stored),
        cmocka_unit_test(scopes_do_not_leak),
        cmocka_unit_test(deep_graphs_are_fine),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(errors_stay_until_read),
        cmocka_unit_test(fork_after_use),
        cmocka_unit_test(threads_work_side_by_side),
        cmocka_unit_test(evaluations_can_be_cancelled),
        cmocka_unit_test(a_long_block_can_be_cancelled),
        cmocka_unit_test(a_cancelled_run_leaves_no_wrong_input),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
