/* Gradients of norms that compute what they need again. See norm.h. */
#include "engine/ops/norm.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/composite.h"
#include "engine/ops/formula.h"

typedef enum norm_input { NORM_X, NORM_ROOT, NORM_MORE, NORM_INPUTS = 5 } norm_input;

/* Where the inputs after NORM_ROOT are (0: absent), and the axes of the rows. */
typedef struct norm_context {
    int mean, weight, bias;
    bool in_row[IG_MAX_NDIM];
} norm_context;

/* x in the shape of like, for a formula. Halves stay halves: a formula reads them. */
static ig_array *spread(const ig_array *like, ig_dtype fine, ig_array *x)
{
    if (x && !dtype_is_half((ig_dtype)x->dtype))
        x = build_cast(x, fine);
    return x ? build_broadcast(OP_formula, x, like->view.ndim, like->view.shape) : NULL;
}

/* One element for each element of a row, in the shape of x. */
static ig_array *spread_row(const norm_context *c, const ig_array *x, ig_dtype fine, ig_array *w)
{
    int64_t shape[IG_MAX_NDIM];
    for (int a = 0; a < x->view.ndim; a++)
        shape[a] = c->in_row[a] ? x->view.shape[a] : 1;
    return spread(x, fine, ig_reshape(w, (ig_ints){shape, x->view.ndim}));
}

/* The sum, or the mean, over the axes of rows; or the sum over all others. */
static ig_array *over(const norm_context *c, ig_array *y, bool rows)
{
    int64_t axis[IG_MAX_NDIM], n = 0, length = 1;
    for (int a = 0; y && a < y->view.ndim; a++)
        if (c->in_row[a] == rows) {
            axis[n++] = a;
            length *= y->view.shape[a];
        }
    if (!y || n == 0)
        return y;
    y = ig_sum(y, (ig_ints){axis, (int)n}, IG_DTYPE_NONE, rows);
    return rows ? ig_divide(y, ig_scalar((double)length, (ig_dtype)y->dtype)) : y;
}

static ig_status pull_norm(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                           ig_array **grads)
{
    const norm_context *c = context;
    const ig_dtype fine = (ig_dtype)in[NORM_ROOT]->dtype;
    ig_array *const zero = ig_scalar(0, fine), *const one = ig_scalar(1, fine);
    ig_array *const x = spread(in[NORM_X], fine, in[NORM_X]);
    ig_array *const root = spread(x, fine, in[NORM_ROOT]);
    ig_array *const mean = c->mean ? spread(x, fine, in[c->mean]) : zero;
    ig_array *const w = c->weight ? spread_row(c, x, fine, in[c->weight]) : one;
    (void)n;
    (void)out;
    g = spread(in[NORM_X], fine, g);
    if (!x || !root || !mean || !w || !g)
        return error_waiting(IG_ERR_MEMORY);
    ig_array *along =
        over(c, build_formula(FORMULA_NORM_ALONG, (ig_array *[]){g, x, mean, root, w}), true);
    ig_array *level =
        c->mean ? spread(x, fine,
                         over(c, build_formula(FORMULA_NORM_LEVEL, (ig_array *[]){g, w}), true))
                : zero;
    along = spread(x, fine, along);
    grads[NORM_X] = along && level
                        ? build_formula(FORMULA_NORM_GRADIENT,
                                        (ig_array *[]){g, x, mean, root, w, level, along})
                        : NULL;
    if (c->weight)
        grads[c->weight] = over(
            c, build_formula(FORMULA_NORM_ALONG, (ig_array *[]){g, x, mean, root, one}), false);
    if (c->bias)
        grads[c->bias] = over(c, build_cast(g, fine), false);
    const bool fine_all =
        grads[NORM_X] && (!c->weight || grads[c->weight]) && (!c->bias || grads[c->bias]);
    return fine_all ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static bool is_array(const ig_array *x)
{
    return !x || (x->view.ndim > 0 && dtype_is_float((ig_dtype)x->dtype));
}

ig_array *norm_recomputed(op_id op, ig_array *y, const norm_parts *p, ig_ints axis)
{
    if (!y || !is_array(p->x) || !is_array(p->weight) || !is_array(p->bias))
        return y;
    int axes[IG_MAX_NDIM], k = infer_axes(op, axis, p->x->view.ndim, axes), n = NORM_MORE;
    norm_context *c = memory_new(sizeof *c);
    ig_array *in[NORM_INPUTS] = {p->x, p->root};
    if (!c)
        return NULL;
    for (int i = 0; i < k; i++)
        c->in_row[axes[i]] = true;
    ig_array *const more[3] = {p->mean, p->weight, p->bias};
    int *const place[3] = {&c->mean, &c->weight, &c->bias};
    for (int i = 0; i < 3; i++)
        if (more[i]) {
            *place[i] = n;
            in[n++] = more[i];
        }
    return ig_custom_grad(y, in, n, pull_norm, c, memory_free);
}
