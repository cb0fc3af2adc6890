/* Counts the checks of rows, and reports failures. */
#ifndef TESTS_GRAD_CHECK_H
#define TESTS_GRAD_CHECK_H

#include "grad/rows.h"

/* The subject of the next checks: a row, the operation, and the layout of its inputs. */
void check_begin(const row *r, const char *doing, const char *how);

void check_fail(const char *format, ...) IG_PRINTF(1, 2);
/* Also reads the library's error, and shows it if `fine` is false. */
void check_that(bool fine, const char *what);
/* have and want, n numbers each, differ by at most tol times the largest wanted number, or times 1. */
void check_close(const char *what, int k, const double *have, const double *want, int64_t n,
                 double tol);
/* x has n elements, and they are close to want. */
void check_array(const char *what, int k, ig_array *x, const double *want, int64_t n, double tol);
/* The library failed with this code, and its message is one line that contains text. */
void check_refused(ig_status status, ig_status code, const char *text);

/* Calls run for each row, for the rows of the op after --op, or for every N-th row starting at the K-th after --part
 * K/N. Prints "N passed, N failed". Returns the exit status for main. */
int check_rows(int argc, char **argv, void (*run)(const row *r));

/* IG_TEST_QUICK is set. */
bool check_quick(void);

/* n zeros; free them. */
double *reals(int64_t n);

#endif
