/* ig_verify: compares a graph on a device with the CPU in f64, node by node.
 *
 *   a copy of the graph, evaluated node by node  -> the result of each node   (alone)
 *   a copy of the graph, with the user's outputs -> the same results, fused   (fused)
 *   each node again, in f64 on the CPU, from the inputs that the device computed
 *
 * So an error is found in the node that causes it. Fused results must have the bits of the results computed
 * alone. The exception is a node that depends on a user's kernel: the kernel's atomic additions have no fixed
 * order, so an error bound is used instead. The first two runs start with memory full of NaN, so that an
 * element that is not written is found. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/text.h"
#include "engine/eval/engine.h"
#include "engine/ops/formula.h"
#include "engine/ops/grad.h"
#include "engine/ops/native_node.h"
#include "engine/ops/walk.h"
#include "engine/ops/complex.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A root of the graph: a node, or data. */
typedef struct checked {
    ig_array *at;
    ig_array *alone, *fused; /* its copies; for data: itself */
    ig_array *host;          /* the device's result */
    bool loose; /* depends on a user's kernel, so its bits may differ from run to run */
} checked;

typedef struct checker {
    walk w;
    checked *root; /* one for each place of the walk; at is NULL if the place is a view */
    const char *device;
    bool flushes; /* it may read and write subnormal f32 numbers as 0 */
    ig_verify_report *report;
} checker;

static checked *checked_of(const checker *c, const ig_array *x)
{
    return &c->root[walk_find(&c->w, x->root) - c->w.place];
}

static bool is_data(const ig_array *x) { return x->op == ARRAY_DATA; }

/* ---- copies ---- */

/* Returns the array that replaces a root when a node is rebuilt. */
typedef ig_array *(*stand_in)(const checked *r);

static ig_array *stand_alone(const checked *r) { return r->alone; }
static ig_array *stand_fused(const checked *r) { return r->fused; }
static ig_array *stand_host(const checked *r) { return r->host; }

/* Floats in f64, and their absolute values. */
static ig_array *stand_wide(const checked *r)
{
    return dtype_is_float((ig_dtype)r->host->dtype) ? build_cast(r->host, IG_F64) : r->host;
}
static ig_array *stand_size(const checked *r)
{
    return dtype_is_float((ig_dtype)r->host->dtype) ? ig_abs(build_cast(r->host, IG_F64)) : r->host;
}
/* Absolute values, and 0 for infinities and NaN. */
static ig_array *stand_ordinary(const checked *r)
{
    ig_array *size = stand_size(r);
    return dtype_is_float((ig_dtype)r->host->dtype)
               ? ig_where(ig_isfinite(size), size, ig_scalar(0, IG_F64))
               : size;
}
/* Absolute values of at least 1, and of at most 1. */
static ig_array *stand_above(const checked *r) { return ig_maximum(stand_size(r), ig_float(1)); }
/* Absolute values of at least twice the smallest normal f32. */
static ig_array *stand_lifted(const checked *r)
{
    return ig_maximum(stand_size(r), ig_float(0x1p-125));
}
/* Floats in f64, with zeros for numbers below the normal f32 numbers. */
static ig_array *stand_flushed(const checked *r)
{
    ig_array *x = stand_wide(r);
    return dtype_is_float((ig_dtype)r->host->dtype)
               ? ig_where(ig_less(ig_abs(x), ig_float(0x1p-126)), ig_multiply(x, ig_float(0)), x)
               : x;
}
static ig_array *stand_below(const checked *r) { return ig_minimum(stand_size(r), ig_float(1)); }

static ig_array *input_again(const checker *c, const ig_array *x, int i, stand_in stand)
{
    ig_array *in = x->in[i], *root = stand(checked_of(c, in));
    return in == in->root ? root : array_view(in->op, root, &in->view);
}

static ig_array *node_again(const checker *c, const ig_array *x, ig_dtype dtype, stand_in stand)
{
    ig_array *few[3], **in = x->n_in <= 3 ? few : memory_get((size_t)x->n_in * sizeof *in);
    bool ok = in != NULL;
    for (int i = 0; i < x->n_in && ok; i++)
        ok = (in[i] = input_again(c, x, i, stand)) != NULL;
    ig_array *y = ok ? replay_node(x, dtype, in) : NULL;
    if (in != few)
        memory_free(in);
    return y;
}

/* ---- results of the device ---- */

static ig_status find_roots(checker *c, ig_array *const *arrays, int n)
{
    for (int i = 0; i < n; i++) {
        if (!arrays[i])
            FAIL(IG_ERR_ARGUMENT, "verify: array %d of %d is NULL", i, n);
        TRY(walk_from(&c->w, arrays[i]));
    }
    c->root = memory_new((size_t)(c->w.n + 1) * sizeof *c->root);
    if (!c->root)
        return IG_ERR_MEMORY;
    for (int i = 0; i < c->w.n; i++) {
        ig_array *x = c->w.place[i].at;
        if (x != x->root)
            continue;
        c->root[i].at = x;
        if (is_data(x))
            c->root[i].alone = c->root[i].fused = x;
    }
    return IG_OK;
}

/* The i-th root in graph order; NULL if that position is a view. */
static checked *in_order(const checker *c, int i)
{
    checked *r = &c->root[c->w.order[i]];
    return r->at ? r : NULL;
}

static ig_status copy_graph(const checker *c)
{
    for (int i = 0; i < c->w.n_order; i++) {
        checked *r = in_order(c, i);
        if (!r || is_data(r->at))
            continue;
        const ig_dtype dtype = (ig_dtype)r->at->dtype;
        r->alone = node_again(c, r->at, dtype, stand_alone);
        r->fused = node_again(c, r->at, dtype, stand_fused);
        if (!r->alone || !r->fused)
            return IG_ERR_MEMORY;
    }
    return IG_OK;
}

/* Evaluates the nodes of the first copy one by one, and the outputs of the second together. */
static ig_status run_copies(checker *c, ig_array *const *arrays, int n)
{
    ig_array **results = memory_get((size_t)(n + 1) * sizeof *results);
    ig_status status = results ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < n && status == IG_OK; i++)
        results[i] = checked_of(c, arrays[i])->fused;
    for (int i = 0; i < c->w.n_order && status == IG_OK; i++)
        if (in_order(c, i))
            status = engine_eval_filled(&in_order(c, i)->alone, 1);
    if (status == IG_OK)
        status = engine_eval_filled(results, n);
    memory_free(results);
    return status;
}

/* Copies results to host memory. */
static ig_status fetch(const checker *c)
{
    for (int i = 0; i < c->w.n_order; i++) {
        checked *r = in_order(c, i);
        if (!r)
            continue;
        const void *data = ig_data(r->alone);
        const size_t bytes = (size_t)view_size(&r->at->view) * ig_dtype_bytes(r->at->dtype);
        if (!data && bytes)
            return IG_ERR_DEVICE;
        r->host = ig_from_data(data, ig_shape(r->at), (ig_dtype)r->at->dtype);
        if (!r->host)
            return IG_ERR_MEMORY;
    }
    return IG_OK;
}

/* ---- bounds ---- */

typedef enum error_bound_kind {
    BOUND_EXACT, /* the f64 result, rounded */
    BOUND_ULP,   /* a number of ulp of the result, or of size */
    BOUND_STEPS, /* of a formula: size is what the roundings of its ops may add up to, in units of eps */
    BOUND_SUM,      /* a sum of a reduction: size is the sum of absolute values */
    BOUND_RUNNING,  /* a running sum: size as for BOUND_SUM */
    BOUND_IN_ORDER, /* a sum of `terms` terms, one after another */
    BOUND_PRODUCT,  /* a product of `terms` factors */
    BOUND_KERNEL,   /* a user's kernel: its sums are unknown, so relative to its largest result */
    BOUND_NATIVE,   /* native code for halves: size is the sum of its terms */
} error_bound_kind;

typedef struct error_bound {
    error_bound_kind kind;
    ig_dtype dtype; /* of the result */
    ig_dtype adds;  /* the dtype of its sums */
    int64_t terms;
    double ulp;
    ig_array *want;    /* f64 for floats */
    ig_array *flushed; /* the same, from inputs without subnormal numbers; NULL: not allowed */
    ig_array *size;    /* computed from absolute values; NULL: not needed */
    ig_array *above, *below; /* products of the factors above 1, and of those below */
    ig_array *lifted;        /* size, from factors of at least twice the smallest normal number */
    ig_array *reach;         /* of a kernel: the sum of the absolute values of all inputs */
    ig_array *ordinary;      /* the same of the finite ones */
    bool flushes;            /* bf16 instructions read subnormal numbers as 0 */
} error_bound;

/* True if size is needed. */
static bool adds_up(const error_bound *b)
{
    return b->kind == BOUND_SUM || b->kind == BOUND_RUNNING || b->kind == BOUND_IN_ORDER ||
           b->kind == BOUND_NATIVE;
}

/* The most additions that one of n values takes part in: in its lane, then joining lanes and chunks. */
static double fold_depth(double n)
{
    const double lanes = 32, chunk = fmin(n, 1024);
    return n < 1 ? 0
                 : ceil(chunk / lanes) - 1 + ceil(log2(fmin(chunk, lanes))) +
                       ceil(log2(ceil(n / 1024)));
}

/* The dtype in which f16 and bf16 are computed. */
static ig_dtype computed_in(ig_dtype d) { return dtype_is_half(d) ? IG_F32 : d; }

static int64_t last_axes(const ig_array *x, int n)
{
    int64_t size = 1;
    for (int a = x->view.ndim - n; a < x->view.ndim; a++)
        size *= x->view.shape[a];
    return size;
}

static void bound_of_fold(error_bound *b, const ig_array *x, int n_axes)
{
    b->terms = last_axes(x->in[0], n_axes);
    const error_bound_kind sum = node_program(x) == PROGRAM_REDUCE ? BOUND_SUM : BOUND_RUNNING;
    b->kind = x->attr.fold == OP_sum ? sum : x->attr.fold == OP_prod ? BOUND_PRODUCT : BOUND_EXACT;
}

/* The error bound of a node. Integer results are exact. */
static error_bound bound_of(const ig_array *x)
{
    const ig_dtype d = (ig_dtype)x->dtype;
    error_bound b = {.kind = BOUND_EXACT, .dtype = d, .adds = computed_in(d)};
    if (!dtype_is_float(d))
        return b;
    switch (node_program(x)) {
    case PROGRAM_KERNEL:
        b.kind = dtype_is_half(d) && x->attr.kernel->native && !x->attr.kernel->native->many
                     ? BOUND_NATIVE
                     : BOUND_KERNEL;
        break;
    case PROGRAM_REDUCE: bound_of_fold(&b, x, x->attr.ndim[0]); break;
    case PROGRAM_SCAN: bound_of_fold(&b, x, 1); break;
    case PROGRAM_CONTRACT:
        b.kind = BOUND_IN_ORDER;
        b.terms = last_axes(x->in[0], x->attr.ndim[3]);
        b.flushes = d == IG_BF16;
        break;
    case PROGRAM_WRITE: /* each addition is rounded to the dtype */
        b.kind = x->attr.add ? BOUND_IN_ORDER : BOUND_EXACT;
        b.terms = view_size(&x->in[1]->view);
        b.adds = d;
        break;
    case PROGRAM_MAP:
        if (x->op == OP_formula) {
            b.kind = BOUND_STEPS;
            break;
        }
        b.ulp = op_ulps[x->op] > 0 && dtype_is_half(d) ? 1 : op_ulps[x->op];
        if (x->op == OP_astype && ig_dtype_bytes(x->in[0]->dtype) == 8 &&
            !dtype_is_float(x->in[0]->dtype))
            b.ulp = 0.51; /* the conversion to f64 has already rounded it once */
        b.kind = b.ulp > 0 ? BOUND_ULP : BOUND_EXACT;
        break;
    default: break;
    }
    return b;
}

enum { NATIVE_INPUTS = 8 };

/* The definition of a node of halves, computed in f64, and the sums of the absolute values of its terms. */
static ig_status define_wide(const checker *c, const ig_array *x, error_bound *b)
{
    ig_array *in[NATIVE_INPUTS], *size[NATIVE_INPUTS];
    node_native n = *x->attr.kernel->native;
    const int result = (int)x->attr.result;
    n.dtype = IG_F64;
    for (int i = 0; i < x->n_in && i < NATIVE_INPUTS; i++) {
        in[i] = input_again(c, x, i, stand_wide);
        size[i] = n.size ? in[i] : input_again(c, x, i, stand_size);
        if (!in[i] || !size[i])
            return IG_ERR_MEMORY;
    }
    b->want = n.define(&n, in, result);
    b->size = (n.size ? n.size : n.define)(&n, size, result);
    return ig_eval((ig_array *[]){b->want, b->size}, 2);
}

/* The definition of a node that native code computes; or, if other results are as right, what the device computed. */
static ig_array *defined_again(const checker *c, const ig_array *x)
{
    ig_array *in[NATIVE_INPUTS];
    const node_native *n = x->attr.kernel->native;
    if (n->many)
        return checked_of(c, x)->host;
    for (int i = 0; i < x->n_in && i < NATIVE_INPUTS; i++)
        if (!(in[i] = input_again(c, x, i, stand_host)))
            return NULL;
    return n->define(n, in, (int)x->attr.result);
}

/* What the rounding of each op of a formula changes in its result, to first order and added up, in units of eps. */
static ig_array *size_of_steps(const checker *c, const ig_array *x)
{
    ig_array *in[FORMULA_INPUTS], *steps[FORMULA_OPS], *slopes[FORMULA_OPS];
    const formula_row *row = &formula_rows[x->attr.fold];
    for (int i = 0; i < row->n_in; i++)
        if (!(in[i] = input_again(c, x, i, stand_wide)))
            return NULL;
    ig_array *y = formula_steps((formula)x->attr.fold, in, IG_F64, steps);
    if (ig_grad(ig_sum(y, IG_NONE, IG_F64, false), steps, row->n_ops, slopes) != IG_OK)
        return NULL;
    ig_array *size = ig_scalar(0, IG_F64);
    for (int k = 0; k < row->n_ops; k++) {
        const double ulp = fmax(op_ulps[row->ops[k].op], 0.5);
        size = ig_add(size, ig_multiply(ig_abs(ig_multiply(slopes[k], steps[k])), ig_float(ulp)));
    }
    return size;
}

/* The sum of all inputs that are floats, in f64. */
static ig_array *sum_of_inputs(const checker *c, const ig_array *x, stand_in stand)
{
    ig_array *sum = ig_scalar(0, IG_F64);
    for (int i = 0; i < x->n_in; i++)
        if (dtype_is_float((ig_dtype)x->in[i]->dtype))
            sum = ig_add(sum, ig_sum(input_again(c, x, i, stand), IG_NONE, IG_F64, false));
    return sum;
}

/* The reference of a kernel is the same kernel on the CPU, or the definition. */
static ig_status compute_kernel_bound(const checker *c, const ig_array *x, error_bound *b)
{
    if (b->kind == BOUND_NATIVE) {
        TRY(define_wide(c, x, b));
    } else {
        ig_array *same =
            x->attr.kernel->native ? defined_again(c, x) : node_again(c, x, b->dtype, stand_host);
        b->want = b->kind == BOUND_KERNEL ? build_cast(same, IG_F64) : same;
        TRY(ig_eval(&b->want, 1));
        if (b->kind != BOUND_KERNEL)
            return IG_OK;
    }
    b->reach = sum_of_inputs(c, x, stand_size);
    b->ordinary = sum_of_inputs(c, x, stand_ordinary);
    return ig_eval((ig_array *[]){b->reach, b->ordinary}, 2);
}

/* Computes the reference of the node and the terms of its bound on the CPU. */
static ig_status compute_bound(const checker *c, const ig_array *x, error_bound *b)
{
    if (x->op == OP_kernel)
        return compute_kernel_bound(c, x, b);
    const bool by_steps = x->op == OP_nextafter; /* steps depend on the dtype: not in f64 */
    const bool wide = dtype_is_float(b->dtype) && !by_steps;
    ig_array *all[6];
    int n = 0;
    all[n++] = b->want =
        node_again(c, x, wide ? IG_F64 : b->dtype, by_steps ? stand_host : stand_wide);
    if (adds_up(b))
        all[n++] = b->size = node_again(c, x, IG_F64, stand_size);
    if (c->flushes && !by_steps)
        all[n++] = b->flushed = node_again(c, x, wide ? IG_F64 : b->dtype, stand_flushed);
    if (b->flushes)
        all[n++] = b->lifted = node_again(c, x, IG_F64, stand_lifted);
    if (b->kind == BOUND_STEPS)
        all[n++] = b->size = size_of_steps(c, x);
    if (x->op == OP_gelu_erf)
        all[n++] = b->size = input_again(c, x, 0, stand_size);
    if (x->op == OP_logaddexp)
        all[n++] = b->size =
            ig_maximum(input_again(c, x, 0, stand_size), input_again(c, x, 1, stand_size));
    if (b->kind == BOUND_PRODUCT) {
        all[n++] = b->above = node_again(c, x, IG_F64, stand_above);
        all[n++] = b->below = node_again(c, x, IG_F64, stand_below);
    }
    return ig_eval(all, n);
}

/* ---- comparing ---- */

static double rounded(ig_dtype d, double v)
{
    uint64_t bits = 0;
    dtype_store(d, &bits, v);
    return dtype_fetch(d, &bits);
}

static double ulp_of(const ig_finfo *f, double v)
{
    v = isfinite(v) ? fmax(fabs(v), f->smallest_normal) : f->smallest_normal;
    return ldexp(f->eps, ilogb(v));
}

/* The elements of a bound, and the properties of its dtypes. */
typedef struct measure {
    const error_bound *b;
    ig_finfo f, adds;
    const double *want, *flushed, *size, *above, *below, *lifted;
    double largest; /* largest of want, for kernels whose sums are unknown */
    bool overflows; /* its sums may, in another order: its results or inputs are large */
    bool special;   /* its inputs have infinities or NaN: inf * 0 is NaN, or is left out */
} measure;

/* The allowed error of element i; infinite if partial results may overflow. */
static double allowance(const measure *m, int64_t i)
{
    const error_bound *b = m->b;
    const double want = fabs(m->want[i]), ulp = ulp_of(&m->f, want), n = (double)b->terms;
    const double size = m->size ? m->size[i] : 0;
    const double reference = b->dtype == IG_F64 ? 2 : 1; /* the reference has an error, too */
    if (adds_up(b) && (size > m->adds.max || isnan(size)))
        return INFINITY;
    if (b->kind == BOUND_PRODUCT &&
        (m->above[i] > m->adds.max || m->below[i] < m->adds.smallest_normal))
        return INFINITY;
    switch (b->kind) {
    case BOUND_STEPS: return isfinite(size) ? reference * m->adds.eps * size + ulp : INFINITY;
    case BOUND_ULP:
        return reference * b->ulp * ulp_of(&m->f, fmax(want, isfinite(size) ? size : 0));
    case BOUND_SUM: return reference * fold_depth(n) * m->adds.eps / 2 * size + ulp;
    case BOUND_RUNNING: return reference * (4 + 2 * log2(n + 1)) * m->adds.eps * size + ulp;
    case BOUND_IN_ORDER: /* products below the normal numbers are rounded to the smallest step */
        return reference * (n + 2) * m->adds.eps * size + ulp / 2 +
               n * (m->lifted ? 1 : m->adds.eps) * m->adds.smallest_normal +
               (m->lifted ? m->lifted[i] - size : 0);
    case BOUND_PRODUCT: return reference * n * m->adds.eps * want + ulp;
    case BOUND_KERNEL: /* 1024 roundings of sums, which in halves cancel as in a random walk */
        return (dtype_is_half(b->dtype) ? 16 : 1024) * m->f.eps * m->largest + ulp;
    case BOUND_NATIVE: /* each term has up to two factors that are rounded to a half; sums are f32 */
        return (m->f.eps + 1024 * m->adds.eps) * size + ulp;
    default: return 0;
    }
}

/* Sums of values below this, of as many as a row may have, do not overflow. */
static double near_overflow(const ig_finfo *f) { return ldexp(f->max, -16); }

/* The error of got at element i, in units of the bound, if m->want is exact. */
static double error_exactly(const measure *m, int64_t i, double got)
{
    const double want = m->want[i];
    if (m->b->kind == BOUND_EXACT) {
        const double near = rounded(m->b->dtype, want);
        const double twice = rounded(m->b->dtype, rounded(computed_in(m->b->dtype), want));
        if (got == near || got == twice || (isnan(got) && isnan(near)))
            return 0;
        const double off = fabs(got - near) / ulp_of(&m->f, near);
        return isfinite(off) ? 1 + off : INFINITY;
    }
    const double tol = allowance(m, i);
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    if (m->overflows &&
        (!isfinite(got) || (!isfinite(want) && (m->special || fabs(got) > near_overflow(&m->f)))))
        return 0;
    if (isinf(tol)) /* a result must be infinite or NaN where the f64 result is */
        return isfinite(want) || !isfinite(got) ? 0 : INFINITY;
    if (isinf(got) && !isnan(want))
        return (got > 0) == (want > 0) && fabs(want) + tol > m->f.max ? 0 : INFINITY;
    const double off = fabs(got - want) / tol;
    return isnan(off) ? INFINITY : off;
}

/* The same. If the device flushes subnormal numbers, its inputs, and each partial result, may have been 0. */
static double error_of(const measure *m, int64_t i, double got)
{
    const double error = error_exactly(m, i, got);
    if (error <= 1 || !m->flushed)
        return error;
    measure again = *m;
    again.want = m->flushed;
    const double slack = (double)(m->b->terms + 1) * 0x1p-126;
    const double small = fmin(fabs(got - m->want[i]), fabs(got - m->flushed[i])) / slack;
    return fmin(error, fmin(error_exactly(&again, i, got), small < 1 ? small : INFINITY));
}

/* The worst element of a result. */
typedef struct worst {
    double error;
    int64_t at;
    double expected, got;
} worst;

static void find_largest(measure *m, int64_t n)
{
    double most = 0; /* also infinite */
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(m->want[i])); /* leaves out NaN */
        if (isfinite(m->want[i]))
            m->largest = fmax(m->largest, fabs(m->want[i]));
    }
    if (!m->b->reach)
        return;
    const double reach = *(const double *)ig_data(m->b->reach);
    const double ordinary = *(const double *)ig_data(m->b->ordinary);
    m->special = !isfinite(reach);
    m->overflows = m->special || most > near_overflow(&m->f) || reach > m->adds.max / 4;
    if (m->overflows) /* large values may cancel in every finite result */
        m->largest = fmax(m->largest, fmin(ordinary, m->f.max));
}

/* Adds the error of element i to the report. */
static void note(ig_verify_report *r, const measure *m, int64_t i, double got, double error)
{
    const bool by_element = m->b->kind <= BOUND_STEPS;
    const double off = fabs(got - m->want[i]), size = by_element ? fabs(m->want[i]) : m->largest;
    r->worst_bound = fmax(r->worst_bound, error);
    if (!isfinite(off) || error == 0)
        return;
    if (by_element)
        r->worst_ulp = fmax(r->worst_ulp, off / ulp_of(&m->f, m->want[i]));
    if (size >= m->f.smallest_normal)
        r->worst_relative = fmax(r->worst_relative, off / size);
}

static ig_status compare_floats(const error_bound *b, const void *data, int64_t n,
                                ig_verify_report *r, worst *found)
{
    measure m = {.b = b, .want = ig_data(b->want)};
    TRY(ig_finfo_of(b->dtype, &m.f));
    TRY(ig_finfo_of(b->adds, &m.adds));
    m.flushed = b->flushed ? ig_data(b->flushed) : NULL;
    m.size = b->size ? ig_data(b->size) : NULL;
    m.above = b->above ? ig_data(b->above) : NULL;
    m.lifted = b->lifted ? ig_data(b->lifted) : NULL;
    m.below = b->below ? ig_data(b->below) : NULL;
    if (b->kind > BOUND_ULP)
        find_largest(&m, n);
    const size_t width = ig_dtype_bytes(b->dtype);
    for (int64_t i = 0; i < n; i++) {
        const double got = dtype_fetch(b->dtype, (const char *)data + (size_t)i * width);
        const double error = error_of(&m, i, got);
        note(r, &m, i, got, error);
        if (error > found->error)
            *found = (worst){error, i, m.want[i], got};
    }
    return IG_OK;
}

/* Compares integers, and floats of the same dtype, bit by bit. NaNs are equal. other: also allowed, or NULL. */
static void compare_bits(ig_dtype dtype, const char *want, const char *other, const char *got,
                         int64_t n, worst *found)
{
    const size_t width = ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n && found->error == 0; i++) {
        const size_t at = (size_t)i * width;
        if (memcmp(want + at, got + at, width) == 0 ||
            (other && memcmp(other + at, got + at, width) == 0))
            continue;
        const double x = dtype_fetch(dtype, want + at), y = dtype_fetch(dtype, got + at);
        if (!(isnan(x) && isnan(y)))
            *found = (worst){INFINITY, i, x, y};
    }
}

static ig_status compare(const error_bound *b, ig_array *result, ig_verify_report *r, worst *found)
{
    const int64_t n = view_size(&result->view);
    const void *data = ig_data(result);
    if (!data && n)
        return IG_ERR_DEVICE;
    r->elements += n;
    if (b->want->dtype == IG_F64 && dtype_is_float(b->dtype))
        return compare_floats(b, data, n, r, found);
    compare_bits(b->dtype, ig_data(b->want), b->flushed ? ig_data(b->flushed) : NULL, data, n,
                 found);
    if (found->error > 0)
        r->worst_bound = INFINITY;
    return IG_OK;
}

/* Compares the fused result with the one that was computed alone. */
static ig_status compare_fused(const error_bound *b, const checked *r, ig_verify_report *report,
                               worst *found)
{
    const int64_t n = view_size(&r->at->view);
    if (r->loose)
        return compare(b, r->fused, report, found);
    const void *data = ig_data(r->fused);
    if (!data && n)
        return IG_ERR_DEVICE;
    report->elements += n;
    compare_bits(b->dtype, ig_data(r->host), NULL, data, n, found);
    if (found->error > 0)
        report->worst_bound = INFINITY;
    return IG_OK;
}

/* ---- the report ---- */

static void add_typed(text *t, const ig_array *x)
{
    char shape[400];
    text_add(t, "%s%s", ig_dtype_name((ig_dtype)x->dtype),
             view_shape_text(x->view.ndim, x->view.shape, shape));
}

static void tell(const checker *c, const ig_array *x, const worst *w, bool fused)
{
    ig_verify_report *r = c->report;
    text t = {0};
    int64_t at[IG_MAX_NDIM] = {0}, rest = w->at;
    char where[400];
    for (int a = x->view.ndim - 1; a >= 0; rest /= x->view.shape[a--])
        at[a] = rest % x->view.shape[a];
    text_add(&t, "operation %d, %s%s: ", r->node, x->attr.kernel ? "kernel " : "", r->op);
    add_typed(&t, x);
    for (int i = 0; i < x->n_in && i < 3; i++) {
        text_add(&t, i ? ", " : " of ");
        add_typed(&t, x->in[i]);
    }
    text_add(&t, "%s: element %s is %.17g on %s%s, expected %.17g", x->n_in > 3 ? ", ..." : "",
             view_shape_text(x->view.ndim, at, where), w->got, c->device,
             fused ? " when it is fused with others" : "", w->expected);
    if (isfinite(w->error))
        text_add(&t, ", %.3g x its bound", w->error);
    char *line = text_take(&t);
    snprintf(r->text, sizeof r->text, "%s", line ? line : r->op);
    ig_free(line);
}

static void fail_node(const checker *c, const ig_array *x, const worst *w, bool fused)
{
    ig_verify_report *r = c->report;
    if (r->failed++)
        return;
    r->node = r->nodes - 1;
    r->fused = fused;
    r->error = w->error;
    r->expected = w->expected;
    r->got = w->got;
    snprintf(r->op, sizeof r->op, "%s",
             x->attr.kernel ? x->attr.kernel->name : op_rows[x->op].name);
    tell(c, x, w, fused);
}

static bool is_loose(const checker *c, const ig_array *x)
{
    bool loose = x->op == OP_kernel;
    for (int i = 0; i < x->n_in && !loose; i++)
        loose = checked_of(c, x->in[i])->loose;
    return loose;
}

static ig_status check_node(const checker *c, checked *r)
{
    error_bound b = bound_of(r->at);
    worst alone = {0}, fused = {0};
    r->loose = is_loose(c, r->at);
    TRY(compute_bound(c, r->at, &b));
    c->report->nodes++;
    TRY(compare(&b, r->alone, c->report, &alone));
    if (r->fused->data)
        TRY(compare_fused(&b, r, c->report, &fused));
    if (alone.error > 1 || fused.error > 1)
        fail_node(c, r->at, alone.error > 1 ? &alone : &fused, alone.error <= 1);
    return IG_OK;
}

static ig_status check_all(const checker *c)
{
    for (int i = 0; i < c->w.n_order; i++) {
        checked *r = in_order(c, i);
        if (!r || is_data(r->at))
            continue;
        TRY(ig_scope_begin());
        ig_status status = check_node(c, r);
        ig_scope_end();
        TRY(status);
    }
    return IG_OK;
}

/* Complex arrays are verified as their parts. */
static ig_status verify_parts(ig_array *const *arrays, int n, ig_verify_report *report)
{
    ig_array **parts = memory_get((2 * (size_t)n + 1) * sizeof *parts);
    ig_status status = parts ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = ig_verify(parts, complex_flatten(arrays, n, false, parts), report);
    memory_free(parts);
    return status;
}

ig_status ig_verify(ig_array *const *arrays, int n, ig_verify_report *report)
{
    TRY(require_pointer("verify", "report", report));
    TRY(require_list("verify", "arrays", arrays, n));
    if (complex_any(arrays, n))
        return verify_parts(arrays, n, report);
    ig_verify_report own = {.node = -1};
    const char *before = array_device_now();
    checker c = {.device = n > 0 && arrays[0] ? ig_array_device(arrays[0]) : ig_device(),
                 .report = &own};
    c.flushes = !backend_find(c.device)->limits.subnormals;
    if (!backend_find(c.device)->computes)
        FAIL(IG_ERR_DEVICE, "verify: the device '%s' computes nothing that could be compared",
             c.device);
    TRY(ig_scope_begin());
    array_device_set(c.device); /* the device of copies without inputs */
    ig_status status = find_roots(&c, arrays, n);
    if (status == IG_OK)
        status = copy_graph(&c);
    if (status == IG_OK)
        status = run_copies(&c, arrays, n);
    array_device_set(backend_cpu.name); /* the device of the references */
    if (status == IG_OK)
        status = fetch(&c);
    if (status == IG_OK)
        status = check_all(&c);
    array_device_set(before);
    ig_scope_end();
    walk_free(&c.w);
    memory_free(c.root);
    const ig_status written = sized_write(SIZED(ig_verify_report, text), report, &own);
    return status == IG_OK ? written : status;
}
