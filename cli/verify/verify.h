/* Checks every op x dtype x layout on the device of the calling thread, against exact references or bit by bit
 * against another device: the options and the report. Nothing here prints.
 *
 * A case is one problem of a plan in one layout. It is identified by op, dtype and name. "plain.3.transposed" is the
 * third problem with unrelated inputs, transposed in memory. "special.7" is the seventh special value. "refused" is a
 * dtype that must not be accepted. Names do not depend on which other cases are run, but quick problems differ from
 * full ones. */
#ifndef CLI_VERIFY_VERIFY_H
#define CLI_VERIFY_VERIFY_H

#include "verify/plan.h"

enum { DTYPES = IG_F64 + 1, CASE_NAME = 48 };

/* Selects the checks of an op. */
typedef struct verify_scope {
    const char *name;      /* name of the only case to run, or NULL */
    unsigned dtypes;       /* one bit per dtype; 0: all */
    bool quick;            /* fewer and smaller problems */
    uint64_t seed;         /* of the random numbers */
    const char *reference; /* the device whose bits are expected; NULL: exact references */
    bool batches;          /* the kernels of a dtype are compiled together */
    bool flushes;          /* the device flushes subnormal f32 and bf16, and is allowed to */
    bool (*stop)(void);
} verify_scope;

/* The outcome for an op in one dtype. Error figures include the errors of correct results. */
typedef struct tally {
    int64_t cases, failed;
    int64_t refused; /* cases that the device does not support; not failed */
    int64_t flushed; /* elements accepted only because the device flushes subnormal numbers */
    double ulp;      /* worst, for results whose bound is in ulp */
    double relative; /* worst, relative to the result; for sums, to the largest result */
    double bound;    /* worst, as a multiple of the error bound; above 1 is wrong */
} tally;

typedef struct failure {
    ig_dtype dtype;
    char name[CASE_NAME];
    char *text; /* what is wrong, in one line; NULL: no failure */
} failure;

typedef struct op_report {
    const ig_op *op;
    tally by_dtype[DTYPES]; /* by the dtype of the inputs */
    failure first;          /* the first failure found */
} op_report;

/* ---- cases.c ---- */

/* Checks everything in scope of op. False if it was stopped before the end. */
bool verify_op(const ig_op *op, const verify_scope *scope, op_report *r);
void verify_free(op_report *r);
/* The sum over dtypes, with the worst errors. */
tally verify_total(const op_report *r);
void tally_add(tally *to, const tally *t);
/* Adds the members of x as JSON. */
void tally_json(str *t, const tally *x);

/* Whether the op accepts the dtype on the calling thread's device. */
typedef enum taking {
    TAKING_NONE, /* no argument has that dtype */
    TAKING_NATIVE,
    TAKING_REFUSED /* *why is the reason; release it with free */
} taking;
taking verify_taking(const ig_op *op, ig_dtype dtype, char **why);

/* The name of an op that has a plan or special value but is not in the op table; NULL if there is none. */
const char *verify_stray(void);

/* ---- run.c ---- */

/* The evaluations of a case. The stored intermediate results of an evaluation, and so its kernels, depend on the open
 * scopes: results that donate are evaluated after their scopes have ended. */
typedef enum ahead_what { AHEAD_RESULTS, AHEAD_DONATED, AHEAD_GRADIENTS, AHEAD_KINDS } ahead_what;

/* Results of cases that are collected to compile their kernels together (ahead.c). */
typedef struct ahead {
    ahead_what what;
    ig_array **array; /* n_array results of n_case cases; case i has counts[i] */
    int *counts;
    int n_array, n_case, room;
    int open_scopes; /* scopes of these cases that are still open */
} ahead;

/* The state of a run: what to run, and the report. */
typedef struct run {
    const verify_scope *scope;
    op_report *report;
    ig_dtype dtype; /* under test */
    ahead *ahead;   /* if not NULL: results are collected here instead of checked */
} run;

/* True if the scope includes the case of that name. */
bool run_wants(const run *r, const char *name);
/* Counts a failure of the case; the text is formatted as in printf. */
void run_fail(run *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void run_pass(run *r);
/* Counts a case that the device does not support. */
void run_refuse(run *r);
/* Counts n elements that are accepted only because the device flushes subnormal numbers. */
void run_flushed(run *r, int64_t n);
/* True if flushing explains the difference: got and want differ by less than the smallest normal number. */
bool run_may_flush(const run *r, ig_dtype d, real got, real want);

/* For same.c: stores the inputs of p in x in that layout and calls the op, lazily. Returns the number of results. */
int run_call(const problem *p, int layout, ig_array **x, ig_array **y);
/* True if in that layout only the results may hold the inputs. */
bool run_donates(int layout);

/* Runs p in all layouts that its mode allows. */
void run_problem(run *r, const problem *p);
/* Checks that p is refused with IG_ERR_DTYPE and a message that names the op. */
void run_refused(run *r, const problem *p);
/* Calls the op of p and tests whether its results can be computed. Returns IG_OK, or the reason with the library's
 * error pending. */
ig_status run_try(const problem *p);

/* ---- ahead.c ---- */

/* Adds the results of a case and takes ownership of them. The case's scope may stay open until ahead_compile. */
void ahead_add(ahead *a, ig_array *const *y, int n, bool scope_is_open);
/* Compiles the kernels of all added results and releases the results. */
void ahead_compile(ahead *a);

/* ---- same.c ---- */

/* Runs a case on the calling thread's device and on scope->reference, and compares their bits. */
void run_same(run *r, const problem *p, int layout, const char *name);
/* Adds the gradients that run_same will compare to r->ahead. Evaluates the results first, as run_same does, because
 * otherwise the gradients would have other kernels. */
void same_ahead(run *r, const problem *p, int layout);

/* ---- special.c ---- */

/* Checks all rows for the op and dtype of r. */
void special_check(run *r);
const char *special_stray(void);

#endif
