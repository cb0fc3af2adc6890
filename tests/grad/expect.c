/* See expect.h. */
#include "grad/expect.h"
#include "base/memory.h"
#include "grad/rows.h"
#include <math.h>
#include <stdlib.h>

ig_array *numbers_of(const double *v, size_t n)
{
    return ig_from_data(v, IG_SHAPE((int64_t)n), IG_F64);
}

void expect_fine(ig_status status, int line)
{
    if (status != IG_OK)
        fail_msg("line %d: %s", line, ig_error(NULL));
}

void expect_numbers(ig_array *x, const double *want, size_t n, int line)
{
    double have[64];
    assert_true(n <= 64);
    if ((size_t)ig_size(x) != n || !array_read(x, have, (int64_t)n)) {
        const char *error = ig_error(NULL);
        fail_msg("line %d: %lld numbers, not %zu: %s", line, (long long)ig_size(x), n,
                 error ? error : "no error");
    }
    for (size_t i = 0; i < n; i++) {
        const bool same = have[i] == want[i] || (isnan(have[i]) && isnan(want[i]));
        if (!same && !(fabs(have[i] - want[i]) <= 1e-12 * fmax(1, fabs(want[i]))))
            fail_msg("line %d: number %zu is %.17g, not %.17g", line, i, have[i], want[i]);
    }
}

void expect_same(ig_array *x, ig_array *want)
{
    assert_non_null(x);
    assert_non_null(want);
    assert_int_equal(ig_size(x), ig_size(want));
    ig_array *off = ig_max(ig_abs(ig_subtract(x, want)), IG_NONE, false);
    const double most = ig_item(off), size = ig_item(ig_max(ig_abs(want), IG_NONE, false));
    if (!(most <= 1e-9 * fmax(1, size)))
        fail_msg("arrays differ by %g: %s", most, isnan(most) ? ig_error(NULL) : "");
}

ig_array *total(ig_array *x) { return ig_sum(x, IG_NONE, IG_DTYPE_NONE, false); }

ig_array *grad_of(ig_array *loss, ig_array *x)
{
    ig_array *d = NULL;
    if (ig_grad(loss, &x, 1, &d) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    assert_non_null(d);
    return d;
}

void expect_failures_are_clean(bool (*script)(void))
{
    ig_set_threads(1);
    setenv("IG_CACHE", "off", 1); /* a compiler allocates when it is first used */
    assert_true(script());
    ig_shutdown();
    unsetenv("IG_CACHE");
    const int64_t live = memory_live(), before = memory_count();
    assert_true(script());
    const int64_t count = memory_count() - before;
    ig_shutdown();
    const int64_t tries = getenv("IG_DEVICE") ? 50 : 2000; /* each try opens the device again */
    for (int64_t n = 1; n <= count; n += 1 + count / tries) {
        memory_fail_at(n);
        const bool fine = script();
        memory_fail_at(0);
        ig_status code = IG_OK;
        const char *message = ig_error(&code);
        ig_shutdown();
        const bool spared =
            fine && !message && getenv("IG_DEVICE"); /* a kernel is compiled again */
        if (!spared && (fine || !message || code != IG_ERR_MEMORY))
            fail_msg("allocation %lld of %lld failed, but the script says %s: %s", (long long)n,
                     (long long)count, fine ? "fine" : "failed", message ? message : "no message");
        if (memory_live() != live)
            fail_msg("allocation %lld failed, and %lld blocks leaked", (long long)n,
                     (long long)(memory_live() - live));
    }
    ig_set_threads(0);
}
