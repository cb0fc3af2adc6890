/* The public functions. Complex arrays are replaced by their parts. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "engine/ops/complex.h"
#include "engine/ops/grad.h"
#include <stdio.h>

/* ---- checks ---- */

static ig_status check_arrays(const char *who, const char *what, ig_array *const *x, int n)
{
    TRY(require_list(who, what, x, n));
    for (int i = 0; i < n; i++)
        if (!x[i])
            return ig_failed() ? IG_ERR_ARGUMENT
                               : ig_fail(IG_ERR_ARGUMENT, "%s: %s %d is NULL", who, what, i);
    return IG_OK;
}

/* Fails unless y has the dtype of x, and its shape after the first `skip` axes. */
static ig_status check_like(const char *who, const char *what, int i, const ig_array *x,
                            const char *other, const ig_array *y, int skip)
{
    char have[400], want[400];
    bool same = x->dtype == y->dtype && y->view.ndim == x->view.ndim + skip;
    for (int a = 0; same && a < x->view.ndim; a++)
        same = x->view.shape[a] == y->view.shape[a + skip];
    if (same)
        return IG_OK;
    const int axes = y->view.ndim < skip ? 0 : y->view.ndim - skip;
    FAIL(IG_ERR_SHAPE, "%s: %s %d is %s%s, but %s is %s%s", who, what, i,
         ig_dtype_name((ig_dtype)x->dtype), view_shape_text(x->view.ndim, x->view.shape, have),
         other, ig_dtype_name((ig_dtype)y->dtype),
         view_shape_text(axes, y->view.shape + y->view.ndim - axes, want));
}

/* ---- lists of parts ---- */

/* The lists that make a loop_spec, with complex arrays as parts; all in one block. */
typedef struct flat {
    ig_array **in, **operand, **out, **result, **made;
    int n_in, n_out;
} flat;

static ig_status flat_new(flat *f, int n_in, int n_out)
{
    *f = (flat){0};
    f->in = memory_new((size_t)(4 * n_in + 6 * n_out + 6) * sizeof *f->in);
    if (!f->in)
        return IG_ERR_MEMORY;
    f->operand = f->in + 2 * n_in;
    f->out = f->operand + 2 * n_in;
    f->result = f->out + 2 * n_out + 2;
    f->made = f->result + 2 * n_out + 2;
    return IG_OK;
}

/* Adds inputs; returns how many parts they have. */
static int flat_inputs(flat *f, ig_array *const *in, ig_array *const *given, int n)
{
    const int parts = complex_flatten(in, n, false, f->in + f->n_in);
    complex_flatten(given, n, false, f->operand + f->n_in);
    f->n_in += parts;
    return parts;
}

static int flat_outputs(flat *f, ig_array *const *out, int n)
{
    const int parts = complex_flatten(out, n, false, f->out + f->n_out);
    f->n_out += parts;
    return parts;
}

static bool is_whole(ig_array *const *x, int n)
{
    bool whole = true;
    for (int i = 0; i < n; i++)
        whole = whole && x[i];
    return whole;
}

/* ---- scan ---- */

static ig_status check_scan(const ig_scan_call *c)
{
    static const char who[] = "scan";
    TRY(check_arrays(who, "carry", c->carry, c->n_carry));
    TRY(check_arrays(who, "next", c->next, c->n_carry));
    TRY(check_arrays(who, "init", c->init, c->n_carry));
    TRY(check_arrays(who, "x", c->x, c->n_x));
    TRY(check_arrays(who, "xs", c->xs, c->n_x));
    TRY(check_arrays(who, "y", c->y, c->n_y));
    if (c->length < 0)
        FAIL(IG_ERR_ARGUMENT, "scan: the length is %lld, but must not be negative",
             (long long)c->length);
    for (int i = 0; i < c->n_carry; i++) {
        TRY(check_like(who, "carry", i, c->carry[i], "its next value", c->next[i], 0));
        TRY(check_like(who, "carry", i, c->carry[i], "its first value", c->init[i], 0));
    }
    for (int i = 0; i < c->n_x; i++) {
        TRY(check_like(who, "x", i, c->x[i], "a row of its array", c->xs[i], 1));
        if (c->xs[i]->view.shape[0] != c->length)
            FAIL(IG_ERR_SHAPE, "scan: array %d has %lld rows, but there are %lld steps", i,
                 (long long)c->xs[i]->view.shape[0], (long long)c->length);
    }
    for (int i = 0; i < c->n_y; i++)
        if (c->y[i]->view.ndim == IG_MAX_NDIM)
            FAIL(IG_ERR_SHAPE, "scan: y %d has %d axes, so it cannot be stacked", i, IG_MAX_NDIM);
    return IG_OK;
}

/* No step: the carries are the first ones. */
static ig_status scan_nothing(const ig_scan_call *c, ig_array **last, ig_array **ys)
{
    for (int i = 0; i < c->n_carry; i++)
        last[i] = c->init[i];
    for (int i = 0; i < c->n_y; i++) {
        const loop_result r = loop_result_of(c->y[i], 0);
        if (!(ys[i] = ig_zeros((ig_ints){r.shape, r.ndim}, r.dtype)))
            return error_waiting(IG_ERR_MEMORY);
    }
    return IG_OK;
}

ig_status ig_scan(const ig_scan_call *call, ig_array **last, ig_array **ys)
{
    ig_scan_call c;
    flat f;
    TRY(require_pointer("scan", "call", call));
    TRY(sized_read(SIZED(ig_scan_call, reverse), &c, call));
    TRY(check_scan(&c));
    TRY(require_list("scan", "last", last, c.n_carry));
    TRY(require_list("scan", "ys", ys, c.n_y));
    if (c.length == 0)
        return scan_nothing(&c, last, ys);
    TRY(flat_new(&f, c.n_carry + c.n_x, c.n_carry + c.n_y));
    loop_spec s = {.kind = LOOP_SCAN,
                   .length = c.length,
                   .reverse = c.reverse,
                   .in = f.in,
                   .operand = f.operand,
                   .out = f.out,
                   .n_body = 1};
    s.n_carry = flat_inputs(&f, c.carry, c.init, c.n_carry);
    s.n_x = flat_inputs(&f, c.x, c.xs, c.n_x);
    flat_outputs(&f, c.next, c.n_carry);
    flat_outputs(&f, c.y, c.n_y);
    s.n_out = f.n_out;
    const ig_status status = loop_build(&s, f.result, NULL);
    if (status == IG_OK) {
        complex_join(c.next, c.n_carry, false, f.result, last);
        complex_join(c.y, c.n_y, false, f.result + s.n_carry, ys);
    }
    memory_free(f.in);
    TRY(status);
    return is_whole(last, c.n_carry) && is_whole(ys, c.n_y) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* ---- while ---- */

static ig_status check_bool(const char *who, const char *what, const ig_array *x)
{
    char have[400];
    if (x->dtype != IG_BOOL || x->view.ndim)
        FAIL(IG_ERR_SHAPE, "%s: %s is %s%s, but must be one bool", who, what,
             ig_dtype_name((ig_dtype)x->dtype), view_shape_text(x->view.ndim, x->view.shape, have));
    return IG_OK;
}

ig_status ig_while(ig_array *more, ig_array *const *carry, ig_array *const *next,
                   ig_array *const *init, int n_carry, ig_array **last)
{
    static const char who[] = "while";
    flat f;
    TRY(check_arrays(who, "more", &more, 1));
    TRY(check_arrays(who, "carry", carry, n_carry));
    TRY(check_arrays(who, "next", next, n_carry));
    TRY(check_arrays(who, "init", init, n_carry));
    TRY(require_list(who, "last", last, n_carry));
    TRY(check_bool(who, "the condition", more));
    for (int i = 0; i < n_carry; i++) {
        TRY(check_like(who, "carry", i, carry[i], "its next value", next[i], 0));
        TRY(check_like(who, "carry", i, carry[i], "its first value", init[i], 0));
    }
    TRY(flat_new(&f, n_carry, n_carry + 1));
    loop_spec s = {.kind = LOOP_WHILE, .in = f.in, .operand = f.operand, .out = f.out, .n_body = 1};
    s.n_carry = flat_inputs(&f, carry, init, n_carry);
    flat_outputs(&f, next, n_carry);
    ig_status status = replay_with(&more, 1, f.in, f.operand, f.n_in, &s.head);
    if (status == IG_OK) /* whether there is a step after this one */
        status = replay_with(&more, 1, f.in, f.out, f.n_in, &f.out[f.n_out]);
    s.n_out = f.n_out + 1;
    if (status == IG_OK)
        status = loop_build(&s, f.result, NULL);
    if (status == IG_OK)
        complex_join(next, n_carry, false, f.result, last);
    memory_free(f.in);
    TRY(status);
    return is_whole(last, n_carry) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* ---- switch ---- */

static ig_status check_switch(const ig_array *index, ig_array *const *in, ig_array *const *operands,
                              int n_in, ig_array *const *outputs, int n_branch, int n_out)
{
    static const char who[] = "switch";
    char have[400], other[80];
    TRY(check_arrays(who, "in", in, n_in));
    TRY(check_arrays(who, "operand", operands, n_in));
    TRY(check_arrays(who, "output", outputs, n_branch * n_out));
    if (n_branch < 1 || (index->dtype == IG_BOOL && n_branch != 2))
        FAIL(IG_ERR_ARGUMENT, "switch: there are %d branches, but a %s needs %s", n_branch,
             n_branch < 1 ? "switch" : "bool", n_branch < 1 ? "at least one" : "two");
    if (index->view.ndim || dtype_is_float((ig_dtype)index->dtype) ||
        dtype_is_complex((ig_dtype)index->dtype))
        FAIL(IG_ERR_SHAPE, "switch: the index is %s%s, but must be one integer or bool",
             ig_dtype_name((ig_dtype)index->dtype),
             view_shape_text(index->view.ndim, index->view.shape, have));
    for (int i = 0; i < n_in; i++)
        TRY(check_like(who, "input", i, in[i], "its array", operands[i], 0));
    for (int b = 1; b < n_branch; b++)
        for (int i = 0; i < n_out; i++) {
            snprintf(other, sizeof other, "the result of branch %d", b);
            TRY(check_like(who, "result of the first branch", i, outputs[i], other,
                           outputs[b * n_out + i], 0));
        }
    return IG_OK;
}

ig_status ig_switch(ig_array *index, ig_array *const *in, ig_array *const *operands, int n_in,
                    ig_array *const *outputs, int n_branch, int n_out, ig_array **results)
{
    enum { MOST = 1 << 15 };
    flat f;
    if (n_branch < 0 || n_out < 0 || n_branch > MOST || n_out > MOST)
        FAIL(IG_ERR_ARGUMENT, "switch: %d branches with %d results; both must be 0 to %d", n_branch,
             n_out, MOST);
    TRY(check_arrays("switch", "index", &index, 1));
    TRY(check_switch(index, in, operands, n_in, outputs, n_branch, n_out));
    TRY(require_list("switch", "results", results, n_out));
    TRY(flat_new(&f, n_in, n_branch * n_out));
    loop_spec s = {.kind = LOOP_SWITCH,
                   .head = ig_astype(index, IG_I64),
                   .in = f.in,
                   .operand = f.operand,
                   .out = f.out,
                   .n_body = n_branch};
    s.n_given = flat_inputs(&f, in, operands, n_in);
    for (int b = 0; b < n_branch; b++)
        s.n_out = flat_outputs(&f, outputs + b * n_out, n_out);
    ig_status status = s.head ? loop_build(&s, f.result, NULL) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        complex_join(outputs, n_out, false, f.result, results);
    memory_free(f.in);
    TRY(status);
    return is_whole(results, n_out) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}
