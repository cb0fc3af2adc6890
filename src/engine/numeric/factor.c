/* Nodes of kernels/factor.cu, and the same computations on the CPU: see factor.h. */
#include "engine/numeric/factor.h"

#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/lanes/factor.h"
#include "engine/custom/library.h"
#include "engine/numeric/dense.h"
#include "engine/ops/complex.h"

#include <string.h>

_Static_assert((int)FACTOR_PANEL <= (int)FACTOR_QR_WIDE, "a panel of qr fits its kernel");

enum { PARTS_MOST = 2, ARGS = 16, COLUMNS = 64 }; /* COLUMNS: of a block of substitute */

static int64_t column_tasks(int64_t columns) { return (columns + COLUMNS - 1) / COLUMNS; }

/* ---- on the CPU ---- */

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

static void run_core(factor_kind kind, int type, void *const *at)
{
    enum { PIECES = 64, LANES = 16 }; /* LANES: matrices that a loop takes together, or more */
    const int64_t tasks = *(const int *)at[0], some = (tasks + PIECES - 1) / PIECES;
    const int64_t each = tasks < LANES ? some : (some + LANES - 1) / LANES * LANES;
    loop_tasks t = {cpu_level_now()->factor->run[kind][type], at, tasks, each};
    pool_run((tasks + each - 1) / each, run_some, &t);
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

/* The parameters of a kernel, in order. */
static int64_t number_at(void *const **at) { return *(const int *)*(*at)++; }

static dense_at matrix_at(void *const **at, const dense *d, int64_t ld)
{
    dense_at x = {.ld = ld};
    x.re = *(*at)++;
    x.im = d->parts == 2 ? *(*at)++ : NULL;
    return x;
}

static ig_status core_cholesky(int type, void *const *at)
{
    void *const *next = at;
    stack s = {.d = dense_of(type), .kind = FACTOR_CHOLESKY, .count = number_at(&next)};
    s.m = s.n = number_at(&next);
    s.a = matrix_at(&next, &s.d, s.n);
    s.x = matrix_at(&next, &s.d, s.n);
    if (s.n > FACTOR_BASE)
        return run_stack(&s);
    run_core(FACTOR_CHOLESKY, type, at);
    return IG_OK;
}

static ig_status core_lu(int type, void *const *at)
{
    void *const *next = at;
    stack s = {.d = dense_of(type), .kind = FACTOR_LU, .count = number_at(&next)};
    s.m = number_at(&next);
    s.n = number_at(&next);
    s.a = matrix_at(&next, &s.d, s.n);
    s.x = matrix_at(&next, &s.d, s.n);
    s.pivot = *next++;
    s.order = *next++;
    if (s.m > FACTOR_BASE || s.n > FACTOR_BASE) {
        copy_all(&s, s.a);
        return run_stack(&s);
    }
    run_core(FACTOR_LU, type, at);
    return IG_OK;
}

static ig_status core_substitute(int type, void *const *at)
{
    void *const *all = at;
    stack s = {.d = dense_of(type), .kind = FACTOR_SUBSTITUTE, .count = number_at(&at)};
    s.m = number_at(&at);
    s.n = number_at(&at);
    s.count /= column_tasks(s.n);
    s.upper = number_at(&at) != 0;
    s.unit = number_at(&at) != 0;
    s.a = matrix_at(&at, &s.d, s.m);
    const dense_at b = matrix_at(&at, &s.d, s.n);
    s.x = matrix_at(&at, &s.d, s.n);
    if (s.d.parts == 1 && s.count > 1 && s.m <= FACTOR_BASE && s.n <= FACTOR_FEW) {
        run_core(FACTOR_SUBSTITUTE, type, all);
        return IG_OK;
    }
    copy_all(&s, b);
    return run_stack(&s);
}

#define CORE(name, kind, type) \
    static ig_status core_##name##_##type(void *const *at) { return core_##name(type, at); }
#define CORES(name, kind) \
    CORE(name, kind, FACTOR_F32) \
    CORE(name, kind, FACTOR_F64) CORE(name, kind, FACTOR_C64) CORE(name, kind, FACTOR_C128)

static ig_status core_order(int type, void *const *at)
{
    run_core(FACTOR_ORDER, type, at);
    return IG_OK;
}

static ig_status core_qr(int type, void *const *at)
{
    void *const *next = at;
    stack s = {.d = dense_of(type), .kind = FACTOR_QR, .count = number_at(&next)};
    s.m = number_at(&next);
    s.n = number_at(&next);
    s.a = matrix_at(&next, &s.d, s.n);
    s.x = matrix_at(&next, &s.d, s.n);
    s.r = matrix_at(&next, &s.d, s.n);
    s.t = matrix_at(&next, &s.d, s.n);
    if (s.d.step->qr && s.m > FACTOR_BASE)
        return run_stack(&s);
    run_core(FACTOR_QR, type, at);
    return IG_OK;
}

CORES(cholesky, FACTOR_CHOLESKY)
CORES(lu, FACTOR_LU)
CORES(order, FACTOR_ORDER)
CORES(qr, FACTOR_QR)
CORES(substitute, FACTOR_SUBSTITUTE)

/* ---- calls ---- */

static library_build build_cholesky, build_lu, build_order, build_qr, build_substitute, build_less;

#define KERNEL(name, type, axes, all) \
    [type] = {.file = "factor.cu", \
              .try_core = core_##name##_##type, \
              .build = build_##name, \
              .own_axes = axes, \
              .writes_all = all}
#define KERNELS(kind, name, axes, all) \
    [kind] = {KERNEL(name, FACTOR_F32, axes, all), KERNEL(name, FACTOR_F64, axes, all), \
              KERNEL(name, FACTOR_C64, axes, all), KERNEL(name, FACTOR_C128, axes, all)}
static const library_kernel kernels[FACTOR_KINDS][FACTOR_TYPES] = {
    KERNELS(FACTOR_CHOLESKY, cholesky, 2, true),
    KERNELS(FACTOR_LU, lu, 2, true),
    KERNELS(FACTOR_ORDER, order, 1, true),
    KERNELS(FACTOR_QR, qr, 2, false),
    KERNELS(FACTOR_SUBSTITUTE, substitute, 2, true),
    [FACTOR_LESS] = {
        {.file = "factor.cu", .build = build_less, .own_axes = 2, .writes_all = true},
        {.file = "factor.cu", .build = build_less, .own_axes = 2, .writes_all = true}}};

/* A call under construction: numbers, input arrays and shapes of results, in the order of the kernel's parameters. */
typedef struct call {
    ig_arg arg[ARGS];
    int64_t shape[ARGS][IG_MAX_NDIM];
    int n;
} call;

static void add_number(call *c, int64_t value)
{
    c->arg[c->n++] = (ig_arg){.kind = IG_ARG_INT, .u.i = value};
}

static void add_arrays(call *c, ig_array *const *x, int n)
{
    for (int i = 0; i < n; i++)
        c->arg[c->n++] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x[i]};
}

/* n results with the leading axes of x, then rows, then columns unless they are 0. */
static void add_results(call *c, const ig_array *x, int lead, int64_t rows, int64_t columns, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t *shape = c->shape[c->n];
        memcpy(shape, x->view.shape, (size_t)lead * sizeof *shape);
        shape[lead] = rows;
        shape[lead + 1] = columns;
        c->arg[c->n++] = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {shape, lead + 1 + (columns > 0)}};
    }
}

static int64_t stack_size(const ig_array *x, int lead)
{
    int64_t n = 1;
    for (int i = 0; i < lead; i++)
        n *= x->view.shape[i];
    return n;
}

/* A power of 2 that suits matrices of `wide` columns. */
static uint32_t threads_for(int64_t wide) { return wide <= 8 ? 32 : wide <= 16 ? 64 : 256; }

/* tasks blocks, whose number the kernel gets first. */
static int launch(factor_kind kind, const ig_array *x, bool z, call *c, uint32_t threads,
                  const int64_t *number, ig_array **out)
{
    static const char *const names[FACTOR_KINDS] = {"cholesky", "lu",         "order",
                                                    "qr",       "substitute", "less"};
    const bool wide = x->dtype == IG_F64;
    const char *const defines[] = {wide ? "T=double" : "T=float", z ? "Z=1" : "Z=0"};
    const ig_module_options options = {.size = sizeof options, .defines = defines, .n_defines = 2};
    const int type = z ? (wide ? FACTOR_C128 : FACTOR_C64) : wide ? FACTOR_F64 : FACTOR_F32;
    const ig_kernel_call one = {.options = &options,
                                .kernel = names[kind],
                                .args = c->arg,
                                .n_args = c->n,
                                .grid = {(uint32_t)c->arg[0].u.i, 1, 1},
                                .block = {threads, 1, 1}};
    return library_call(&kernels[kind][type], &one, number, out, LIBRARY_RESULTS);
}

/* The builders. number[0]: elements are complex, so each matrix is two arrays. */

static int build_cholesky(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[0] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t n = in[0]->view.shape[lead];
    call c = {0};
    add_number(&c, stack_size(in[0], lead));
    add_number(&c, n);
    add_arrays(&c, in, parts);
    add_results(&c, in[0], lead, n, n, parts);
    return launch(FACTOR_CHOLESKY, in[0], number[0], &c, threads_for(n), number, out);
}

static int build_lu(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[0] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t m = in[0]->view.shape[lead], n = in[0]->view.shape[lead + 1];
    call c = {0};
    add_number(&c, stack_size(in[0], lead));
    add_number(&c, m);
    add_number(&c, n);
    add_arrays(&c, in, parts);
    add_results(&c, in[0], lead, m, n, parts);
    add_results(&c, in[0], lead, m < n ? m : n, 0, 1);
    add_results(&c, in[0], lead, m, 0, 1);
    return launch(FACTOR_LU, in[0], number[0], &c, threads_for(n < m ? m : n), number, out);
}

/* number[1]: the rows. */
static int build_order(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int lead = in[0]->view.ndim - 1;
    call c = {0};
    add_number(&c, stack_size(in[0], lead));
    add_number(&c, number[1]);
    add_number(&c, in[0]->view.shape[lead]);
    add_arrays(&c, in, 1);
    add_results(&c, in[0], lead, number[1], 0, 1);
    return launch(FACTOR_ORDER, in[0], false, &c, 32, number, out);
}

static int build_qr(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[0] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t m = in[0]->view.shape[lead], n = in[0]->view.shape[lead + 1];
    call c = {0};
    add_number(&c, stack_size(in[0], lead));
    add_number(&c, m);
    add_number(&c, n);
    add_arrays(&c, in, parts);
    add_results(&c, in[0], lead, m, n, parts);
    add_results(&c, in[0], lead, n, n, 2 * parts);
    return launch(FACTOR_QR, in[0], number[0], &c, threads_for(m), number, out);
}

/* number[1], number[2]: upper, unit. */
static int build_substitute(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[0] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t n = in[0]->view.shape[lead], columns = in[parts]->view.shape[lead + 1];
    call c = {0};
    add_number(&c, stack_size(in[0], lead) * column_tasks(columns));
    add_number(&c, n);
    add_number(&c, columns);
    add_number(&c, number[1]);
    add_number(&c, number[2]);
    add_arrays(&c, in, 2 * parts);
    add_results(&c, in[0], lead, n, columns, parts);
    return launch(FACTOR_SUBSTITUTE, in[0], number[0], &c, COLUMNS, number, out);
}

/* number[1]: down. */
static int build_less(const int64_t *number, ig_array *const *in, ig_array **out)
{
    enum { SIDE = 64, THREADS = 256 }; /* of the kernel */
    const int lead = in[0]->view.ndim - 2;
    const int64_t m = in[0]->view.shape[lead], n = in[0]->view.shape[lead + 1];
    call c = {0};
    add_number(&c, stack_size(in[0], lead) * ((m + SIDE - 1) / SIDE) * ((n + SIDE - 1) / SIDE));
    add_number(&c, m);
    add_number(&c, n);
    add_number(&c, in[1]->view.shape[lead + 1]);
    add_number(&c, number[1]);
    add_arrays(&c, in, 3);
    add_results(&c, in[0], lead, m, n, 1);
    return launch(FACTOR_LESS, in[0], false, &c, THREADS, number, out);
}

/* ---- matrices ---- */

/* The parts of x, complex or not; their number, 0 if x is NULL. */
static int parts_of(ig_array *x, ig_array **parts)
{
    return x ? complex_flatten(&x, 1, false, parts) : 0;
}

/* The array of parts, as many as there are. */
static ig_array *whole(ig_array *const *part, bool z)
{
    return z ? complex_make((pair){part[0], part[1]}) : part[0];
}

ig_array *factor_cholesky(ig_array *a)
{
    ig_array *in[PARTS_MOST], *out[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {array_is_complex(a)};
    return parts_of(a, in) && build_cholesky(number, in, out) ? whole(out, number[0]) : NULL;
}

int factor_lu(ig_array *a, ig_array *out[3])
{
    ig_array *in[PARTS_MOST], *made[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {array_is_complex(a)};
    const int parts = parts_of(a, in);
    if (!parts || !build_lu(number, in, made))
        return 0;
    out[0] = whole(made, number[0]);
    out[1] = made[parts];
    out[2] = made[parts + 1];
    return out[0] ? 3 : 0;
}

ig_array *factor_order(ig_array *pivots, int64_t m)
{
    ig_array *out[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {0, m};
    return pivots && build_order(number, &pivots, out) ? out[0] : NULL;
}

int factor_qr(ig_array *a, ig_array *out[3])
{
    ig_array *in[PARTS_MOST], *made[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {array_is_complex(a)};
    const int parts = parts_of(a, in);
    if (!parts || !build_qr(number, in, made))
        return 0;
    for (int i = 0; i < 3; i++)
        if (!(out[i] = whole(made + i * parts, number[0])))
            return 0;
    return 3;
}

ig_array *factor_substitute(ig_array *a, ig_array *b, bool upper, bool unit)
{
    ig_array *in[2 * PARTS_MOST], *out[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {array_is_complex(a), upper, unit};
    const int parts = parts_of(a, in);
    return parts && parts_of(b, in + parts) && build_substitute(number, in, out)
               ? whole(out, number[0])
               : NULL;
}

ig_array *factor_less(ig_array *c, ig_array *a, ig_array *b, bool down)
{
    ig_array *in[] = {c, a, b}, *out[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {0, down};
    return c && a && b && build_less(number, in, out) ? out[0] : NULL;
}
