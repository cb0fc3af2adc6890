/* kernels/factor.cu on the CPU: stacks of small matrices by loops of lanes/factor.c, large matrices by blocks (dense.h). */
#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/dense.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <assert.h>
#include <string.h>

typedef struct loop_tasks {
    factor_loop *run;
    void *const *at;
    int64_t tasks, each;
} loop_tasks;

static void run_some(void *context, int64_t i, int worker)
{
    const loop_tasks *t = context;
    const int64_t from = i * t->each, to = from + t->each;
    (void)worker;
    t->run(t->at, from, to < t->tasks ? to : t->tasks);
}

static int type_of(const cpu_kernel_call *c)
{
    const bool wide = cpu_call_dtype(c) == IG_F64, z = c->complex;
    return z ? (wide ? FACTOR_C128 : FACTOR_C64) : wide ? FACTOR_F64 : FACTOR_F32;
}

static ig_status run_loop_of(factor_kind kind, const cpu_kernel_call *c)
{
    enum { PIECES = 64, LANES = 16 }; /* LANES: matrices that a loop takes together, or more */
    const int64_t tasks = cpu_call_int(c, 0), some = (tasks + PIECES - 1) / PIECES;
    const int64_t each = tasks < LANES ? some : (some + LANES - 1) / LANES * LANES;
    loop_tasks t = {cpu_level_now()->factor->run[kind][type_of(c)], c->at, tasks, each};
    pool_run((tasks + each - 1) / each, run_some, &t);
    return IG_OK;
}

/* A stack of matrices of at most FACTOR_BASE rows and columns is computed by loops of lanes/factor.c, one matrix after the
 * other; a larger matrix by blocks. */
typedef struct stack {
    dense d;
    factor_kind kind;
    bool upper, unit;
    int64_t count, m,
        n;         /* matrices, and the shape of each; for FACTOR_SUBSTITUTE of its right side */
    dense_at a, x; /* x is the result; for FACTOR_SUBSTITUTE a is the triangular matrix */
    dense_at r, t; /* of FACTOR_QR */
    int *pivot, *order;
    _Atomic ig_status status;
} stack;

static dense_at matrix_of(const stack *s, dense_at x, int64_t i, int64_t rows)
{
    return dense_shift(&s->d, x, i * rows, 0);
}

static void run_matrix(void *context, int64_t i, int worker)
{
    stack *s = context;
    const dense_at a = matrix_of(s, s->a, i, s->m), x = matrix_of(s, s->x, i, s->m);
    (void)worker;
    const ig_status status =
        s->kind == FACTOR_CHOLESKY ? dense_cholesky(&s->d, s->n, a, x)
        : s->kind == FACTOR_LU
            ? dense_lu(&s->d, s->m, s->n, x, s->pivot + i * (s->m < s->n ? s->m : s->n),
                       s->order + i * s->m)
        : s->kind == FACTOR_QR ? dense_qr(&s->d, s->m, s->n, a, x, matrix_of(s, s->r, i, s->n),
                                          matrix_of(s, s->t, i, s->n))
                               : dense_substitute(&s->d, s->m, s->n, s->upper, s->unit, a, x);
    if (status != IG_OK)
        s->status = status;
}

/* Copies parts of a right side or matrix that is then computed in place. */
typedef struct copy {
    char *to;
    const char *from;
    int64_t bytes;
} copy;

enum { COPY_BYTES = 1 << 18 };

static void copy_some(void *context, int64_t task, int worker)
{
    const copy *c = context;
    const int64_t at = task * COPY_BYTES, left = c->bytes - at;
    (void)worker;
    memcpy(c->to + at, c->from + at, (size_t)(left < COPY_BYTES ? left : COPY_BYTES));
}

static void copy_all(const stack *s, dense_at from)
{
    for (int64_t part = 0; part < s->d.parts; part++) {
        copy c = {part ? s->x.im : s->x.re, part ? from.im : from.re,
                  s->count * s->m * s->n * s->d.size};
        pool_run((c.bytes + COPY_BYTES - 1) / COPY_BYTES, copy_some, &c);
    }
}

static ig_status run_stack(stack *s)
{
    if (s->count >= 2 * pool_threads())
        pool_run(s->count, run_matrix, s);
    else
        for (int64_t i = 0; i < s->count; i++)
            run_matrix(s, i, 0);
    return s->status == IG_OK ? IG_OK
                              : ig_fail(IG_ERR_MEMORY, "no memory for the blocks of a matrix");
}

/* ---- the kernels ---- */

/* The parameters from the first on, in order. */
typedef struct params {
    void *const *next;
} params;

static int64_t next_number(params *p) { return *(const int *)*p->next++; }

static dense_at next_matrix(params *p, const dense *d, int64_t ld)
{
    dense_at x = {.ld = ld};
    x.re = *p->next++;
    x.im = d->parts == 2 ? *p->next++ : NULL;
    return x;
}

ig_status cpu_kernel_cholesky(const cpu_kernel_call *c)
{
    params p = {c->at};
    stack s = {.d = dense_of(type_of(c)), .kind = FACTOR_CHOLESKY, .count = next_number(&p)};
    s.m = s.n = next_number(&p);
    s.a = next_matrix(&p, &s.d, s.n);
    s.x = next_matrix(&p, &s.d, s.n);
    return s.n > FACTOR_BASE ? run_stack(&s) : run_loop_of(FACTOR_CHOLESKY, c);
}

ig_status cpu_kernel_lu(const cpu_kernel_call *c)
{
    params p = {c->at};
    stack s = {.d = dense_of(type_of(c)), .kind = FACTOR_LU, .count = next_number(&p)};
    s.m = next_number(&p);
    s.n = next_number(&p);
    s.a = next_matrix(&p, &s.d, s.n);
    s.x = next_matrix(&p, &s.d, s.n);
    s.pivot = *p.next++;
    s.order = *p.next++;
    if (s.m <= FACTOR_BASE && s.n <= FACTOR_BASE)
        return run_loop_of(FACTOR_LU, c);
    copy_all(&s, s.a);
    return run_stack(&s);
}

ig_status cpu_kernel_order(const cpu_kernel_call *c) { return run_loop_of(FACTOR_ORDER, c); }

ig_status cpu_kernel_qr(const cpu_kernel_call *c)
{
    params p = {c->at};
    stack s = {.d = dense_of(type_of(c)), .kind = FACTOR_QR, .count = next_number(&p)};
    s.m = next_number(&p);
    s.n = next_number(&p);
    s.a = next_matrix(&p, &s.d, s.n);
    s.x = next_matrix(&p, &s.d, s.n);
    s.r = next_matrix(&p, &s.d, s.n);
    s.t = next_matrix(&p, &s.d, s.n);
    assert(s.n <= FACTOR_QR_WIDE);
    return s.d.step->qr && s.m > FACTOR_BASE ? run_stack(&s) : run_loop_of(FACTOR_QR, c);
}

ig_status cpu_kernel_substitute(const cpu_kernel_call *c)
{
    enum { COLUMNS = 64 }; /* of a task of the kernel */
    params p = {c->at};
    stack s = {.d = dense_of(type_of(c)), .kind = FACTOR_SUBSTITUTE, .count = next_number(&p)};
    s.m = next_number(&p);
    s.n = next_number(&p);
    s.count /= (s.n + COLUMNS - 1) / COLUMNS;
    s.upper = next_number(&p) != 0;
    s.unit = next_number(&p) != 0;
    s.a = next_matrix(&p, &s.d, s.m);
    const dense_at b = next_matrix(&p, &s.d, s.n);
    s.x = next_matrix(&p, &s.d, s.n);
    if (s.d.parts == 1 && s.count > 1 && s.m <= FACTOR_BASE && s.n <= FACTOR_FEW)
        return run_loop_of(FACTOR_SUBSTITUTE, c);
    copy_all(&s, b);
    return run_stack(&s);
}
