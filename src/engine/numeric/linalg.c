/* Matrices as arrays, checks and gradients of linear algebra: see linalg.h. */
#include "engine/numeric/linalg.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

ig_status linalg_floats(op_id op, ig_array **x, int n, ig_dtype *dtype)
{
    if (!complex_any(x, n))
        return composite_floats(op, x, n, dtype);
    TRY(infer_dtype(op, x, n, dtype));
    for (int i = 0; i < n; i++)
        if (!(x[i] = complex_cast(x[i], *dtype)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

ig_status linalg_matrix(op_id op, const ig_array *x, bool square)
{
    char have[400];
    const int ndim = x->view.ndim;
    if (ndim < 2 || (square && x->view.shape[ndim - 1] != x->view.shape[ndim - 2]))
        FAIL(IG_ERR_SHAPE, "%s takes %s matrices, or stacks of them, but got shape %s",
             op_rows[op].name, square ? "square" : "whole",
             view_shape_text(ndim, x->view.shape, have));
    return IG_OK;
}

ig_array *linalg_round(ig_array *y, ig_dtype dtype)
{
    return array_is_complex(y)       ? complex_cast(y, dtype)
           : dtype_is_complex(dtype) ? build_cast(y, dtype_part(dtype))
                                     : build_cast(y, dtype);
}

ig_array *matrix_part(ig_array *x, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    if (!x)
        return NULL;
    int64_t start[IG_MAX_NDIM] = {0}, stop[IG_MAX_NDIM];
    const int n = x->view.ndim;
    memcpy(stop, x->view.shape, sizeof stop);
    start[n - 2] = r0;
    stop[n - 2] = r1;
    start[n - 1] = c0;
    stop[n - 1] = c1;
    return ig_slice(x, (ig_ints){start, n}, (ig_ints){stop, n}, IG_NONE);
}

ig_array *matrix_adjoint(ig_array *x)
{
    ig_array *t = ig_matrix_transpose(x);
    return array_is_complex(t) ? ig_conj(t) : t;
}

static ig_array *join(ig_array *a, ig_array *b, int axis)
{
    return a && b ? ig_concat((ig_array *const[]){a, b}, 2, IG_AXES(axis)) : NULL;
}

ig_array *matrix_above(ig_array *a, ig_array *b) { return join(a, b, -2); }

static ig_array *apart(ig_array *x)
{
    view *dst = memory_get(sizeof *dst);
    if (!dst)
        return NULL;
    view_contiguous(dst, x->view.ndim, x->view.shape);
    ig_array *y =
        build_assemble(OP_assemble, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, dst, 1);
    if (y)
        y->attr.apart = true;
    return y;
}

ig_array *matrix_apart(ig_array *x)
{
    ig_array *part[2];
    const int n = x ? complex_flatten(&x, 1, false, part) : 0;
    for (int i = 0; i < n; i++)
        if (!(part[i] = apart(part[i])))
            return NULL;
    return n == 0 ? NULL : n == 2 ? complex_make((pair){part[0], part[1]}) : part[0];
}

/* A matrix of real numbers for each one of x, in the dtype of x. */
static ig_array *for_each(const ig_array *x, ig_array *matrix)
{
    if (!matrix)
        return NULL;
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, sizeof shape);
    shape[x->view.ndim - 2] = matrix->view.shape[0];
    shape[x->view.ndim - 1] = matrix->view.shape[1];
    return build_cast(ig_broadcast_to(matrix, (ig_ints){shape, x->view.ndim}), (ig_dtype)x->dtype);
}

static ig_dtype real_dtype(const ig_array *x)
{
    const ig_dtype dtype = (ig_dtype)x->dtype;
    return dtype_is_complex(dtype) ? dtype_part(dtype) : dtype;
}

ig_array *matrix_zeros(const ig_array *x, int64_t rows, int64_t columns)
{
    return x ? for_each(x, ig_zeros(IG_SHAPE(rows, columns), real_dtype(x))) : NULL;
}

ig_array *matrix_blocks(ig_array *a, ig_array *b, ig_array *c, ig_array *d)
{
    if (!a || !c || !d)
        return NULL;
    if (!b)
        b = matrix_zeros(d, matrix_rows(a), matrix_columns(d));
    return join(join(a, b, -1), join(c, d, -1), -2);
}

ig_array *matrix_reorder(ig_array *x, ig_array *order)
{
    if (!x || !order)
        return NULL;
    if (order->view.ndim == 1)
        return ig_take(x, order, IG_AXES(-2));
    ig_array *both[] = {x, ig_expand_dims(order, IG_AXES(-1))};
    return both[1] && matrix_broadcast(OP_take, both, 2) == IG_OK
               ? ig_take_along_axis(both[0], both[1], -2)
               : NULL;
}

ig_array *matrix_eye(const ig_array *x, int64_t rows, int64_t columns)
{
    return x ? for_each(x, ig_eye(rows, columns, 0, real_dtype(x))) : NULL;
}

bool matrix_is_empty(const ig_array *x) { return view_size(&x->view) == 0; }

ig_status matrix_broadcast(op_id op, ig_array **x, int n)
{
    ig_array *one[LINALG_INPUTS] = {0};
    int64_t shape[IG_MAX_NDIM];
    int ndim;
    for (int i = 0; i < n; i++) {
        if (!(one[i] = build_fill(0, IG_F32, x[i]->view.ndim - 2, x[i]->view.shape)))
            return IG_ERR_MEMORY;
    }
    TRY(infer_broadcast(op, one, n, &ndim, shape));
    for (int i = 0; i < n; i++) {
        shape[ndim] = matrix_rows(x[i]);
        shape[ndim + 1] = matrix_columns(x[i]);
        if (!(x[i] = ig_broadcast_to(x[i], (ig_ints){shape, ndim + 2})))
            return IG_ERR_SHAPE;
    }
    return IG_OK;
}

ig_array *matrix_sum_to(ig_array *x, const ig_array *like)
{
    int64_t axes[IG_MAX_NDIM];
    const int more = x ? x->view.ndim - like->view.ndim : 0;
    int n = 0;
    for (int i = 0; x && i < x->view.ndim; i++)
        if (i < more || (like->view.shape[i - more] == 1 && x->view.shape[i] != 1))
            axes[n++] = i;
    if (n == 0)
        return x;
    x = ig_sum(x, (ig_ints){axes, n}, IG_DTYPE_NONE, true);
    return ig_reshape(x, (ig_ints){like->view.shape, like->view.ndim});
}

/* ---- checks ---- */

ig_array *linalg_zero(ig_array *bad, check_row row, ig_dtype dtype)
{
    if (!bad)
        return NULL;
    const int64_t length = CHECK_LENGTH + row;
    const int lead = bad->view.ndim - 1;
    ig_array *matrix = ig_multiply(build_iota(lead, bad->view.shape),
                                   build_scalar_int((int64_t)1 << CHECK_PLACE_BITS, IG_I64));
    ig_array *place = ig_astype(ig_argmax(bad, IG_AXES(-1), false), IG_I64);
    place = ig_add(ig_add(place, matrix), build_scalar_int(length, IG_I64));
    ig_array *index = ig_where(ig_any(bad, IG_AXES(-1), false), place, build_scalar_int(0, IG_I64));
    return ig_take(build_fill(0, dtype, 1, &length), index, IG_AXES(0));
}

ig_array *linalg_check(ig_array *x, ig_array *bad, check_row row)
{
    if (!x)
        return NULL;
    const ig_dtype dtype =
        dtype_is_complex((ig_dtype)x->dtype) ? dtype_part((ig_dtype)x->dtype) : (ig_dtype)x->dtype;
    ig_array *zero = linalg_zero(bad, row, dtype);
    zero = ig_expand_dims(ig_expand_dims(zero, IG_AXES(-1)), IG_AXES(-1));
    return ig_subtract(x, zero);
}

ig_array *diagonal_zeros(ig_array *a)
{
    ig_array *d = ig_diagonal(a, 0);
    return d ? ig_equal(d, build_scalar(0, IG_F32)) : NULL;
}

/* ---- gradients ---- */

typedef struct attached {
    linalg_rule *rule;
    int64_t number[LINALG_NUMBERS];
    int n_in, result, part; /* the result, and its part, that this is the gradient of */
    bool is_complex;        /* the result */
    bool complex_in[LINALG_INPUTS];
} attached;

/* The gradient of an input as the gradients of its parts; NULL parts: zero. */
static void split_gradient(ig_array *grad, bool is_complex, ig_array **parts)
{
    if (!is_complex) {
        parts[0] = array_is_complex(grad) ? ig_real(grad) : grad;
        return;
    }
    const pair p = complex_parts(grad);
    parts[0] = p.re;
    parts[1] = p.im ? ig_negative(p.im) : NULL;
}

static ig_status pull_attached(void *context, ig_array *const *inputs, int n, ig_array *out,
                               ig_array *g, ig_array **grads)
{
    const attached *a = context;
    ig_array *in[LINALG_INPUTS], *gs[LINALG_RESULTS] = {0}, *made[LINALG_INPUTS] = {0};
    (void)n;
    (void)out;
    for (int i = 0, k = 0; i < a->n_in; i++) {
        in[i] = a->complex_in[i] ? complex_make((pair){inputs[k], inputs[k + 1]}) : inputs[k];
        k += 1 + a->complex_in[i];
        if (!in[i])
            return IG_ERR_MEMORY;
    }
    ig_array *zero = a->is_complex ? ig_zeros_like(g, (ig_dtype)g->dtype) : NULL;
    gs[a->result] = !a->is_complex ? g
                    : a->part      ? complex_make((pair){zero, ig_negative(g)})
                                   : complex_make((pair){g, zero});
    if (!gs[a->result])
        return IG_ERR_MEMORY;
    TRY(a->rule(in, a->number, gs, made));
    for (int i = 0, k = 0; i < a->n_in; i++) {
        if (made[i])
            split_gradient(made[i], a->complex_in[i], grads + k);
        k += 1 + a->complex_in[i];
    }
    return IG_OK;
}

static ig_array *attach_part(ig_array *x, ig_array *const *flat, int n_flat, const attached *a)
{
    attached *own = x ? memory_get(sizeof *own) : NULL;
    if (!own)
        return NULL;
    *own = *a;
    return ig_custom_grad(x, flat, n_flat, pull_attached, own, memory_free);
}

int linalg_attach(ig_array **out, int n, ig_array *const *in, int n_in, linalg_rule *rule,
                  const int64_t *number)
{
    ig_array *flat[2 * LINALG_INPUTS];
    attached a = {.rule = rule, .n_in = n_in};
    if (number)
        memcpy(a.number, number, sizeof a.number);
    for (int i = 0; i < n_in; i++)
        a.complex_in[i] = array_is_complex(in[i]);
    const int n_flat = complex_flatten(in, n_in, false, flat);
    for (int i = 0; i < n; i++) {
        a.result = i;
        a.part = 0;
        a.is_complex = array_is_complex(out[i]);
        if (!a.is_complex) {
            out[i] = attach_part(out[i], flat, n_flat, &a);
        } else {
            const pair p = complex_parts(out[i]);
            ig_array *re = attach_part(p.re, flat, n_flat, &a);
            a.part = 1;
            out[i] = complex_make((pair){re, attach_part(p.im, flat, n_flat, &a)});
        }
        if (!out[i])
            return 0;
    }
    return n;
}
