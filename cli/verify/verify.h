/* Checks every op x dtype x layout on the device of the calling thread, against exact references or bit by bit
 * against another device: the options and the report. Nothing here prints.
 *
 * A case is one problem of a plan in one layout. Op, dtype and the name of the case identify it:
 * "plain.3.transposed" is the third problem with unrelated inputs that are transposed in memory,
 * "special.7" the seventh special value, "refused" a dtype that must not be accepted. Names do not depend on
 * which other cases are run, but quick problems differ from full ones. */
#ifndef CLI_VERIFY_VERIFY_H
#define CLI_VERIFY_VERIFY_H

#include "verify/plan.h"

enum { DTYPES = IG_F64 + 1, CASE_NAME = 48 };

/* What is to be checked of an op. */
typedef struct verify_scope {
    const char *name;      /* of the only case, or NULL */
    unsigned dtypes;       /* a bit for each; 0: all */
    bool quick;            /* fewer and smaller problems */
    uint64_t seed;         /* of the numbers drawn */
    const char *reference; /* the device whose bits results must have; NULL: exact references */
    bool batches;          /* kernels of a dtype are compiled together */
    bool flushes; /* the device makes 0 of f32 and bf16 below the normal numbers, and may */
    bool (*stop)(void);
} verify_scope;

/* What was seen of an op in one dtype. Errors are those of right results, too. */
typedef struct tally {
    int64_t cases, failed;
    int64_t refused; /* cases, not failed, that the device says it cannot do */
    int64_t flushed; /* elements that are right only because the device flushes subnormal numbers */
    double ulp;      /* worst, of results whose bound is a number of ulp */
    double relative; /* worst: to the result; where many numbers add up, to the largest result */
    double bound;    /* worst, in units of what it may be: above 1 is wrong */
} tally;

typedef struct failure {
    ig_dtype dtype;
    char name[CASE_NAME];
    char *text; /* what is wrong, in one line; NULL: nothing is */
} failure;

typedef struct op_report {
    const ig_op *op;
    tally by_dtype[DTYPES]; /* of the inputs */
    failure first;          /* that was found */
} op_report;

/* ---- cases.c ---- */

/* Checks all that scope asks for of op. False if stopped before the end. */
bool verify_op(const ig_op *op, const verify_scope *scope, op_report *r);
void verify_free(op_report *r);
/* The sum over dtypes; errors are the worst. */
tally verify_total(const op_report *r);
void tally_add(tally *to, const tally *t);
/* Adds its members as JSON. */
void tally_json(str *t, const tally *x);

/* Whether the op takes the dtype on the calling thread's device. */
typedef enum taking {
    TAKING_NONE, /* it has no argument of that dtype */
    TAKING_NATIVE,
    TAKING_REFUSED /* *why is the reason: release with free */
} taking;
taking verify_taking(const ig_op *op, ig_dtype dtype, char **why);

/* The op of a plan, or of a special value, that the op table does not have; NULL: there is none. */
const char *verify_stray(void);

/* ---- run.c ---- */

/* Which evaluations of the cases. Which intermediate results an evaluation stores, and so its kernels, depends on the scopes
 * that are open: results that donate are evaluated after their scopes have ended. */
typedef enum ahead_what { AHEAD_RESULTS, AHEAD_DONATED, AHEAD_GRADIENTS, AHEAD_KINDS } ahead_what;

/* Results of cases that wait for their kernels (ahead.c). */
typedef struct ahead {
    ahead_what what;
    ig_array **array; /* n_array, of n_case cases, each with counts[i] of them */
    int *counts;
    int n_array, n_case, room;
    int open_scopes; /* of the cases */
} ahead;

/* What a run goes by: where it counts, and what it is to run. */
typedef struct run {
    const verify_scope *scope;
    op_report *report;
    ig_dtype dtype; /* under test */
    ahead *ahead;   /* not NULL: cases are put there instead */
} run;

/* True if the scope has the case of that name. */
bool run_wants(const run *r, const char *name);
/* Counts a failure of that case; text in the manner of printf. */
void run_fail(run *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void run_pass(run *r);
/* Counts a case that the device says it cannot do. */
void run_refuse(run *r);
/* Counts n elements that are right only because the device flushes subnormal numbers. */
void run_flushed(run *r, int64_t n);
/* Whether got stands for want on a device that flushes: they differ by less than a normal number. */
bool run_may_flush(const run *r, ig_dtype d, real got, real want);

/* For same.c: lays out the inputs of p in x and calls the op, lazily; how many results it has. */
int run_call(const problem *p, int layout, ig_array **x, ig_array **y);
/* True if nothing but the results may hold the inputs in that layout. */
bool run_donates(int layout);

/* Runs p in the layouts that its mode allows. */
void run_problem(run *r, const problem *p);
/* Checks that p is refused with IG_ERR_DTYPE and a message that names the op. */
void run_refused(run *r, const problem *p);
/* Calls the op of p and asks whether its results can be computed; IG_OK, or why not, with the library's error
 * waiting. */
ig_status run_try(const problem *p);

/* ---- ahead.c ---- */

/* Adds the results of a case, which are owned from then on. Its scope may be open until ahead_compile. */
void ahead_add(ahead *a, ig_array *const *y, int n, bool scope_is_open);
/* Compiles the kernels of all of them and releases them. */
void ahead_compile(ahead *a);

/* ---- same.c ---- */

/* Runs a case on the device of the calling thread and on scope->reference, and compares bits. */
void run_same(run *r, const problem *p, int layout, const char *name);
/* Puts the gradients of a case that run_same will compare into r->ahead. Evaluates the results, as run_same does, because
 * gradients have other kernels where the results are not evaluated. */
void same_ahead(run *r, const problem *p, int layout);

/* ---- special.c ---- */

/* All rows of the op and dtype of r. */
void special_check(run *r);
const char *special_stray(void);

#endif
