/* Counts the checks of rows, and reports those that fail. */
#ifndef TESTS_GRAD_CHECK_H
#define TESTS_GRAD_CHECK_H

#include "grad/rows.h"

/* What the next checks are about: a row, what is done with it, and how its inputs lie. */
void check_begin(const row *r, const char *doing, const char *how);

void check_fail(const char *format, ...) IG_PRINTF(1, 2);
/* Reads the library's error, too, and shows it if it is not fine. */
void check_that(bool fine, const char *what);
/* have and want, n numbers each, differ by at most tol of the largest that is wanted, or of 1. */
void check_close(const char *what, int k, const double *have, const double *want, int64_t n,
                 double tol);
/* x has n elements, and they are close to want. */
void check_array(const char *what, int k, ig_array *x, const double *want, int64_t n, double tol);
/* The library refused, by status and error, in one line that has text in it. */
void check_refused(ig_status status, ig_status code, const char *text);

/* Calls run for each row, or only those of the op after --op, or only every N-th from the K-th on after --part K/N. Prints "N
 * passed, N failed".
 * Returns what main must return. */
int check_rows(int argc, char **argv, void (*run)(const row *r));

/* IG_TEST_QUICK is set. */
bool check_quick(void);

/* n zeros; free them. */
double *reals(int64_t n);

#endif
