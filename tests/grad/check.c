/* See check.h. */
#include "grad/check.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 40 };
static int64_t passed, failed;
static struct context {
    const row *r;
    const char *doing, *how;
} now;

void check_begin(const row *r, const char *doing, const char *how)
{
    now = (struct context){r, doing, how};
}

void check_fail(const char *format, ...)
{
    va_list args;
    if (++failed > SHOWN)
        return;
    printf("FAILED %s: %s, %s, %s: ", now.r->op,
           now.r->example ? now.r->example->call : "its columns", now.doing, now.how);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

void check_that(bool fine, const char *what)
{
    const char *error = ig_error(NULL);
    if (fine)
        passed++;
    else
        check_fail("%s: %s", what, error ? error : "no error");
}

void check_close(const char *what, int k, const double *have, const double *want, int64_t n,
                 double tol)
{
    double largest = 1, worst = 0;
    int64_t at = 0;
    /* Of repeated elements, quotients such as a correlation may not exist. */
    const bool may_be_nan = strstr(now.how, "repeated") != NULL;
    for (int64_t i = 0; i < n; i++) {
        if (may_be_nan && isnan(have[i]) && isnan(want[i]))
            continue;
        const double off = fabs(have[i] - want[i]);
        largest = fmax(largest, fabs(want[i]));
        if (!isnan(worst) && !(off <= worst)) { /* a NaN stays the worst */
            worst = off;
            at = i;
        }
    }
    if (worst <= tol * largest)
        passed++;
    else
        check_fail("%s %d at %lld is %.12g, not %.12g", what, k, (long long)at, have[at], want[at]);
}

void check_array(const char *what, int k, ig_array *x, const double *want, int64_t n, double tol)
{
    double *v = reals(n);
    if (ig_size(x) != n || !array_read(x, v, n))
        check_that(false, what);
    else
        check_close(what, k, v, want, n, tol);
    free(v);
}

void check_refused(ig_status status, ig_status code, const char *text)
{
    ig_status have;
    const char *error = ig_error(&have);
    if (status == code && have == code && strstr(error, text) && !strchr(error, '\n'))
        passed++;
    else
        check_fail("%s \"%s\", not %s \"... %s ...\"", ig_status_name(have), error ? error : "",
                   ig_status_name(code), text);
}

/* Every op has a row. */
static void check_names(void)
{
    for (int i = 0; i < ig_op_count(); i++) {
        bool known = false;
        for (int k = 0; row_at(k); k++)
            known = known ||
                    (row_at(k)->kind != ROW_COUNT && strcmp(row_at(k)->op, ig_op_at(i)->name) == 0);
        if (!known && ++failed)
            printf("FAILED %s has no example in the op table that says whether it has a gradient\n",
                   ig_op_at(i)->name);
    }
}

int check_rows(int argc, char **argv, void (*run)(const row *r))
{
    const char *only = argc == 3 && strcmp(argv[1], "--op") == 0 ? argv[2] : NULL;
    int part = 1, parts = 1, chosen = 0;
    if (argc == 3 && strcmp(argv[1], "--part") == 0 &&
        (sscanf(argv[2], "%d/%d", &part, &parts) != 2 || part < 1 || part > parts)) {
        printf("--part K/N: the K-th of N parts\n");
        return 2;
    }
    ig_set_threads(1);
    check_names();
    for (int k = 0; row_at(k); k++) {
        const row *r = row_at(k);
        if (k % parts == part - 1 && (!only || strcmp(only, r->op) == 0)) {
            if (r->kind != ROW_COUNT)
                run(r);
            chosen++;
        }
    }
    if (!chosen && ++failed)
        printf("FAILED there is no op '%s'\n", only ? only : "");
    ig_shutdown();
    if (failed > SHOWN)
        printf("... and %lld more\n", (long long)(failed - SHOWN));
    printf("%lld passed, %lld failed\n", (long long)passed, (long long)failed);
    return failed != 0;
}

bool check_quick(void) { return getenv("IG_TEST_QUICK") != NULL; }

double *reals(int64_t n)
{
    double *v = calloc((size_t)n + 1, sizeof *v);
    if (!v)
        abort();
    return v;
}
