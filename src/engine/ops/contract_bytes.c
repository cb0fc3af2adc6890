/* Products of bytes: i32 operands of a contraction that are converted bytes (i8 or u8), minus a zero point or not, as in
 * quantized networks. Processors have instructions that sum products of bytes in i32, so the node multiplies i8, and the
 * zero points are taken off its sums:
 *
 *   sum of (x - p) * (y - q)  =  sum of x * y  -  p * sum of y  -  q * (sum of x - k * p)
 *
 * u8 becomes i8 by turning its highest bit, which subtracts 128, so its zero point is 128 less. All of this is exact
 * modulo 2^32, as the product of the i32 operands is. */
#include "base/error.h"
#include "engine/ops/contract.h"
#include "engine/ops/window.h"

enum { TURN = 128 }; /* turning the highest bit of u8 subtracts this */

/* The origin of x: the bytes' conversion to i32, and the zero point that is subtracted from it (NULL: none). */
typedef struct origin {
    const ig_array *widened; /* NULL: x is something else */
    ig_array *zero;
} origin;

static bool is_waiting(const ig_array *made, op_id op)
{
    return made->op == op && made->dtype == IG_I32 && !made->data;
}

/* All elements of the root, in their order. */
static bool is_whole(const ig_array *x)
{
    return x->view.offset == 0 && view_is_contiguous(&x->view) &&
           view_size(&x->view) == view_size(&x->root->view);
}

static origin origin_of(const ig_array *x)
{
    const ig_array *made = x->root;
    origin o = {NULL, NULL};
    if (is_waiting(made, OP_subtract) && is_whole(made->in[0]) &&
        view_same_shape(&made->in[0]->view, &made->view)) {
        o.zero = made->in[1];
        made = made->in[0]->root;
    }
    if (is_waiting(made, OP_astype) &&
        (made->in[0]->dtype == IG_I8 || made->in[0]->dtype == IG_U8) &&
        view_is_contiguous(&made->in[0]->view))
        o.widened = made;
    return o;
}

/* The bytes of an array as i8. */
static ig_array *turned(ig_array *x)
{
    if (x->dtype == IG_I8)
        return x;
    return ig_astype(ig_bitwise_xor(x, build_scalar_int(TURN, IG_U8)), IG_I8);
}

/* x as i8: its view, on the bytes that it was converted from. */
static ig_array *raw_of(op_id op, const ig_array *x, const origin *o)
{
    ig_array *from = turned(o->widened->in[0]);
    view v = x->view;
    if (!from)
        return NULL;
    v.offset += from->view.offset;
    return array_view(op, from, &v);
}

/* True if the zero point is one for all elements. */
static bool is_single(const ig_array *zero)
{
    for (int i = 0; i < zero->view.ndim; i++)
        if (zero->view.shape[i] > 1 && zero->view.stride[i] != 0)
            return false;
    return true;
}

/* Finds the axis of the contiguous root with this step and length; -1: none. */
static int axis_with(const view *root, int64_t step, int64_t length)
{
    for (int i = 0; i < root->ndim; i++)
        if (root->stride[i] == step && root->shape[i] == length)
            return i;
    return -1;
}

/* The view of the zero point for the first `rows` axes of x, of length 1 where it is the same. False if it varies along
 * the other axes, or in another way than by axes of x. */
static bool zero_view(const ig_array *x, const ig_array *zero, int rows, view *v)
{
    const view *root = &x->root->view;
    const bool single = is_single(zero);
    *v = (view){.ndim = rows, .offset = zero->view.offset};
    if (!single && x->view.offset != 0)
        return false;
    for (int i = 0; i < x->view.ndim; i++) {
        const int64_t length = x->view.shape[i], step = x->view.stride[i];
        int64_t own = 0;
        if (!single && length > 1 && step != 0) {
            const int axis = axis_with(root, step, length);
            if (axis < 0 || (i >= rows && zero->view.stride[axis] != 0))
                return false;
            own = zero->view.stride[axis];
        }
        if (i < rows) {
            v->shape[i] = own ? length : 1;
            v->stride[i] = own;
        }
    }
    return true;
}

bool contract_is_bytes(const ig_array *x, int rows)
{
    const origin o = origin_of(x);
    view v;
    return o.widened && (!o.zero || zero_view(x, o.zero, rows, &v));
}

/* One side: bytes and the zero point that belongs to them, in the axes of the result or 0-d; NULL: 0. */
typedef struct byte_side {
    ig_array *raw, *zero;
} byte_side;

/* A view of (b..., own...) as (b..., m..., n...): the other side's axes have length 1. */
static view view_beside(const view *v, contract_axes a, int side)
{
    view w = *v;
    w.ndim = a.b + a.m + a.n;
    const int own = side == 0 ? a.m : a.n, first = side == 0 ? a.b : a.b + a.m;
    for (int i = a.b; i < w.ndim; i++) {
        const bool mine = i >= first && i < first + own;
        w.shape[i] = mine ? v->shape[a.b + i - first] : 1;
        w.stride[i] = mine ? v->stride[a.b + i - first] : 0;
    }
    return w;
}

static bool side_set(op_id op, const ig_array *x, contract_axes a, int side, byte_side *s)
{
    const origin o = origin_of(x);
    const bool is_turned = o.widened->in[0]->dtype == IG_U8;
    view v;
    *s = (byte_side){raw_of(op, x, &o), NULL};
    if (o.zero) {
        zero_view(x, o.zero, a.b + (side == 0 ? a.m : a.n), &v);
        v = view_beside(&v, a, side);
        s->zero = o.zero->view.ndim == 0 ? o.zero : array_view(op, o.zero, &v);
        if (is_turned)
            s->zero = ig_subtract(s->zero, build_scalar_int(TURN, IG_I32));
    } else if (is_turned) {
        s->zero = build_scalar_int(-TURN, IG_I32);
    }
    return s->raw && (s->zero || !(o.zero || is_turned));
}

/* (b..., 1..., k...) of ones, where n-th operands are (b..., n..., k...) as v shows x. */
static ig_array *ones_for(op_id op, ig_array *x, const view *v, contract_axes a)
{
    view row = {.ndim = a.k, .offset = v->offset}, w = {.ndim = a.b + a.m + a.k};
    for (int i = 0; i < a.k; i++) {
        row.shape[i] = v->shape[a.b + a.n + i];
        row.stride[i] = v->stride[a.b + a.n + i];
    }
    ig_array *some = array_view(op, x, &row);
    ig_array *ones = ig_astype(ig_equal(some, some), IG_I8);
    if (!ones)
        return NULL;
    for (int i = 0; i < w.ndim; i++) {
        const int at = i - a.b - a.m;
        w.shape[i] = i < a.b ? v->shape[i] : at < 0 ? 1 : row.shape[at];
        w.stride[i] = at < 0 ? 0 : ones->view.stride[at];
    }
    return array_view(op, ones, &w);
}

/* The sums of a side's bytes over k, in the axes of the result. Equal batches are summed once. The sums of a matrix in
 * memory, such as a weight, are its product with ones, which reads the panels that are kept of it. Others are a
 * reduction, which becomes a part of the program that computes the bytes. */
static ig_array *side_sums(op_id op, const byte_side *s, contract_axes a, int side)
{
    view v = s->raw->view;
    int64_t axes[IG_MAX_NDIM];
    for (int i = 0; i < a.b; i++)
        if (v.stride[i] == 0 && v.shape[i] > 1)
            v.shape[i] = 1;
    for (int i = 0; i < a.k; i++)
        axes[i] = v.ndim - a.k + i;
    ig_array *raw = array_view(op, s->raw, &v);
    if (raw && side == 1 && raw->root->data && view_size(&v) > 0)
        return contract_node(op, (ig_array *const[2]){ones_for(op, raw, &v, a), raw},
                             (contract_axes){a.b, a.m, a.n, a.k}, IG_I32);
    ig_array *sums = ig_sum(raw, (ig_ints){axes, a.k}, IG_I32, false);
    if (!sums)
        return NULL;
    v = view_beside(&sums->view, a, side);
    return array_view(op, sums, &v);
}

ig_array *contract_bytes(op_id op, ig_array *const x[2], contract_axes a)
{
    byte_side s[2];
    for (int i = 0; i < 2; i++)
        if (!side_set(op, x[i], a, i, &s[i]))
            return NULL;
    int64_t k = 1;
    for (int i = 0; i < a.k; i++)
        k *= x[0]->view.shape[a.b + a.m + i];
    ig_array *y = contract_node(op, (ig_array *const[2]){s[0].raw, s[1].raw}, a, IG_I32);
    if (s[0].zero)
        y = ig_subtract(y, ig_multiply(s[0].zero, side_sums(op, &s[1], a, 1)));
    if (s[1].zero) {
        ig_array *sums = side_sums(op, &s[0], a, 0);
        if (s[0].zero) {
            ig_array *all = build_scalar_int((int32_t)(uint32_t)k, IG_I32);
            sums = ig_subtract(sums, ig_multiply(s[0].zero, all));
        }
        y = ig_subtract(y, ig_multiply(s[1].zero, sums));
    }
    return y;
}

ig_array *contract_pad(op_id op, ig_array *x, const windows *w)
{
    const origin o = x->dtype == IG_I32 ? origin_of(x) : (origin){NULL, NULL};
    ig_array *from = o.widened ? o.widened->in[0] : NULL;
    const ig_array *made = o.zero ? o.zero->root : NULL;
    /* The zero point must be a byte of the same dtype, because the border has its value. */
    if (!from || (made && !(is_waiting(made, OP_astype) && made->in[0]->dtype == from->dtype &&
                            view_size(&made->view) == 1 && view_size(&made->in[0]->view) == 1)))
        return window_pad(x, w, BORDER_ZERO);
    ig_array *raw = raw_of(op, x, &o);
    ig_array *border = made ? turned(ig_reshape(made->in[0], IG_SCALAR))
                            : build_scalar_int(from->dtype == IG_U8 ? -TURN : 0, IG_I8);
    ig_array *padded = raw && border ? window_pad_with(raw, w, border) : NULL;
    if (!padded || (!made && from->dtype == IG_I8))
        return ig_astype(padded, IG_I32);
    return ig_subtract(ig_astype(padded, IG_I32), ig_astype(border, IG_I32));
}
