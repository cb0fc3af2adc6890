/* After an index out of bounds on a device that reports it late, exactly the arrays that depend on the failed launch are
 * invalid: random evaluations without a wait between them, compared with what the host knows of each array. OpenCL is PoCL,
 * CUDA the fake driver, Metal the simulator; missing ones are skipped. */
#include "support/cuda.h"
#include "support/metal.h"
#include "support/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8, ARRAYS = 40 };

static const char *const devices[] = {"opencl:0", "cuda:0", "metal:0"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static bool has_device(const char *name)
{
    if (strcmp(name, "metal:0") == 0 && !metal_runs())
        return false;
    const bool has = ig_set_device(name) == IG_OK;
    ig_error(NULL);
    return has;
}

/* An array, its values, and whether it depends on a bad index. */
typedef struct known {
    ig_array *x;
    float v[N];
    bool bad;
} known;

static ig_array *from_numbers(const float *v) { return ig_from_data(v, IG_SHAPE(N), IG_F32); }

/* Places 7, 6, ... 0; or one of them out of bounds. */
static ig_array *places(bool bad)
{
    int64_t at[N];
    for (int i = 0; i < N; i++)
        at[i] = bad && i == 5 ? N + 3 : N - 1 - i;
    return ig_from_data(at, IG_SHAPE(N), IG_I64);
}

static known sum_of(const known *a, const known *b)
{
    known y = {.x = ig_add(a->x, b->x), .bad = a->bad || b->bad};
    for (int i = 0; i < N; i++)
        y.v[i] = a->v[i] + b->v[i];
    return y;
}

static known taken(const known *a, bool bad)
{
    known y = {.x = ig_take(a->x, places(bad), IG_AXES(0)), .bad = a->bad || bad};
    for (int i = 0; i < N; i++)
        y.v[i] = a->v[N - 1 - i];
    return y;
}

static void check(known *a, const char *what, int i)
{
    float got[N];
    const ig_status status = ig_read(a->x, got, sizeof got);
    const char *said = ig_error(NULL);
    if ((status != IG_OK) != a->bad)
        fail_msg("%s, array %d: %s", what, i, a->bad ? "is readable" : said);
    if (a->bad)
        assert_non_null(strstr(said, "out of bounds"));
    for (int k = 0; k < N && !a->bad; k++)
        if (got[k] != a->v[k])
            fail_msg("%s, array %d: element %d is %g, not %g", what, i, k, (double)got[k],
                     (double)a->v[k]);
}

static unsigned draw(uint64_t *seed, unsigned most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % most;
}

/* One evaluation of three results that share inputs: a sum, elements by index, and a sum of these. */
static void evaluate(known *all, int *n, uint64_t *seed)
{
    const known *a = &all[draw(seed, (unsigned)*n)], *b = &all[draw(seed, (unsigned)*n)],
                *c = &all[draw(seed, (unsigned)*n)];
    known y[3];
    y[0] = sum_of(a, b);
    y[1] = taken(c, draw(seed, 8) == 0);
    y[2] = sum_of(&y[1], b);
    ig_array *x[] = {y[0].x, y[1].x, y[2].x};
    assert_int_equal(ig_eval(x, 3), IG_OK);
    for (int i = 0; i < 3; i++)
        all[(*n)++] = y[i];
}

static void check_random(const char *device, uint64_t seed)
{
    known all[ARRAYS + 3];
    int n = 0, bad = 0;
    ig_scope_begin();
    for (; n < 4; n++) {
        for (int i = 0; i < N; i++)
            all[n].v[i] = (float)(n * N + i);
        all[n].x = from_numbers(all[n].v);
        all[n].bad = false;
    }
    while (n < ARRAYS)
        evaluate(all, &n, &seed);
    for (int i = 0; i < n; i++)
        bad += all[i].bad;
    assert_int_equal(ig_synchronize(device), bad ? IG_ERR_INDEX : IG_OK);
    ig_error(NULL);
    for (int i = 0; i < n; i++)
        check(&all[i], device, i);
    ig_scope_end();
}

static void exactly_what_depends_is_invalid(void **unused)
{
    (void)unused;
    for (int d = 0; d < DEVICES; d++)
        for (uint64_t seed = 1; has_device(devices[d]) && seed <= 12; seed++)
            check_random(devices[d], seed);
    ig_shutdown();
}

/* More launches than there are records, of which two fail: the first failure is reported once. */
static void many_launches_are_told_apart(void **unused)
{
    enum { MANY = 600 };
    static known y[MANY];
    (void)unused;
    for (int d = 0; d < DEVICES; d++) {
        if (!has_device(devices[d]))
            continue;
        ig_scope_begin();
        known x = {.v = {3, 1, 4, 1, 5, 9, 2, 6}};
        x.x = from_numbers(x.v);
        for (int i = 0; i < MANY; i++) {
            y[i] = taken(&x, i == 40 || i == 500);
            assert_int_equal(ig_eval(&y[i].x, 1), IG_OK);
        }
        assert_int_equal(ig_synchronize(devices[d]), IG_ERR_INDEX);
        ig_error(NULL);
        assert_int_equal(ig_synchronize(devices[d]), IG_OK);
        for (int i = 0; i < MANY; i++)
            check(&y[i], devices[d], i);
        ig_scope_end();
    }
    ig_shutdown();
}

/* A loop that adds up elements of `a` by index; its result is their sum in each place. */
static known looped(const known *a, bool bad)
{
    known y = {.bad = a->bad || bad};
    const float zeros[N] = {0};
    ig_array *carry = ig_placeholder(IG_SHAPE(N), IG_F32),
             *at = ig_placeholder(IG_SHAPE(1), IG_I64);
    ig_array *next = ig_add(carry, ig_take(a->x, at, IG_AXES(0)));
    ig_array *zero = from_numbers(zeros), *all = ig_reshape(places(bad), IG_SHAPE(N, 1));
    const ig_scan_call call = {.size = sizeof call,
                               .carry = &carry,
                               .next = &next,
                               .n_carry = 1,
                               .x = &at,
                               .n_x = 1,
                               .init = &zero,
                               .xs = &all,
                               .length = N};
    assert_int_equal(ig_scan(&call, &y.x, NULL), IG_OK);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            y.v[i] += a->v[k];
    return y;
}

static void loops_fail_as_a_whole(void **unused)
{
    (void)unused;
    for (int d = 0; d < DEVICES; d++) {
        if (!has_device(devices[d]))
            continue;
        ig_scope_begin();
        known x = {.v = {3, 1, 4, 1, 5, 9, 2, 6}}, y[5];
        x.x = from_numbers(x.v);
        y[0] = looped(&x, false);
        y[1] = looped(&x, true);
        y[2] = sum_of(&y[0], &x);
        y[3] = sum_of(&y[1], &x);
        y[4] = taken(&x, false);
        for (int i = 0; i < 5; i += i ? 3 : 1) { /* 0; 1 to 3 together; 4 */
            ig_array *some[] = {y[1].x, y[2].x, y[3].x};
            if ((i == 1 ? ig_eval(some, 3) : ig_eval(&y[i].x, 1)) != IG_OK)
                fail_msg("%s, array %d: %s", devices[d], i, ig_error(NULL));
        }
        assert_int_equal(ig_synchronize(devices[d]), IG_ERR_INDEX);
        ig_error(NULL);
        for (int i = 0; i < 5; i++)
            check(&y[i], devices[d], i);
        ig_scope_end();
    }
    ig_shutdown();
}

/* A copy on the same device depends on what its source depends on, also if the fault is found later. */
static void copies_fail_with_their_source(void **unused)
{
    (void)unused;
    for (int d = 0; d < DEVICES; d++) {
        if (!has_device(devices[d]))
            continue;
        ig_scope_begin();
        float got[2];
        known x = {.v = {3, 1, 4, 1, 5, 9, 2, 6}};
        x.x = from_numbers(x.v);
        known y = taken(&x, true);
        assert_int_equal(ig_eval(&y.x, 1), IG_OK);
        ig_array *part = ig_slice(y.x, (ig_ints){(int64_t[]){1}, 1}, (ig_ints){(int64_t[]){3}, 1},
                                  (ig_ints){(int64_t[]){1}, 1});
        ig_array *moved = ig_to_device(part, devices[d]);
        assert_int_equal(ig_eval(&moved, 1), IG_OK);
        assert_int_equal(ig_synchronize(devices[d]), IG_ERR_INDEX);
        ig_error(NULL);
        assert_int_not_equal(ig_read(moved, got, sizeof got), IG_OK);
        assert_error(IG_ERR_DEVICE, "out of bounds");
        ig_scope_end();
    }
    ig_shutdown();
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    cuda_prepare(argv[0]);
    metal_prepare(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_what_depends_is_invalid),
        cmocka_unit_test(many_launches_are_told_apart),
        cmocka_unit_test(loops_fail_as_a_whole),
        cmocka_unit_test(copies_fail_with_their_source),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
