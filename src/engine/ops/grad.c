/* All gradients: one rule for each op that a node can have. The rules of elementwise rows are in ops.def. Ops
 * that are built from other ops need no rule, and ops that return integers or bool have no gradient.
 *
 * In a rule, g is the gradient of the node y, and x, or x1 and x2, are its inputs, broadcast to one
 * shape. Where two inputs tie (maximum), the second one gets the gradient, so the gradient of relu at 0
 * is 0. */
#include "base/memory.h"
#include "engine/ops/contract.h"
#include "engine/ops/formula.h"
#include "engine/ops/grad.h"
#include "engine/ops/index.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ig_array *mul(ig_array *a, ig_array *b) { return ig_multiply(a, b); }
static ig_array *scaled(ig_array *a, double factor)
{
    return ig_multiply(a, build_beside(a, factor));
}
static ig_array *plus(ig_array *a, double number) { return ig_add(a, build_beside(a, number)); }
static ig_array *zero_unless(ig_array *condition, ig_array *a)
{
    return ig_where(condition, a, build_beside(a, 0));
}

/* x / y, and 0 where y, which is not smaller than x, is 0. */
static ig_array *part_of(ig_array *x, ig_array *y)
{
    return ig_divide(x, ig_where(ig_equal(y, ig_float(0)), ig_float(1), y));
}

/* x2 * x1^(x2 - 1), the derivative of x1^x2 by x1. Any x1 to the power 0 is 1, so the derivative is 0 there; it is left out
 * only where x1 is 0 or NaN, because it depends on x2 elsewhere. A number as the power is reduced here, so derivatives
 * of polynomials end. */
static ig_array *power_slope(ig_array *x1, ig_array *x2)
{
    const void *number = x2->is_number ? array_number_of(x2) : NULL;
    const double power = number ? dtype_fetch((ig_dtype)x2->dtype, number) : 0;
    if (number && power == 0)
        return build_beside(x1, 0);
    if (number && power == 1)
        return build_beside(x1, 1);
    if (number)
        return mul(x2, power == 2 ? x1 : ig_pow(x1, build_beside(x1, power - 1)));
    ig_array *some =
        ig_logical_or(ig_not_equal(x2, ig_float(0)), ig_greater(ig_abs(x1), ig_float(0)));
    ig_array *safe = ig_where(some, x1, build_beside(x1, 1));
    return zero_unless(some, mul(x2, ig_pow(safe, plus(x2, -1))));
}

/* a / b. The gradient of a mean divides two numbers; their quotient is computed here and needs no program. */
static ig_array *quotient(ig_array *a, ig_array *b)
{
    if (!a || !a->is_fixed || !b->is_fixed || a->dtype != b->dtype)
        return ig_divide(a, b);
    const ig_dtype dtype = (ig_dtype)a->dtype;
    const double x = dtype_fetch(dtype, &a->number), y = dtype_fetch(dtype, &b->number);
    return dtype == IG_F32   ? build_scalar((double)((float)x / (float)y), dtype)
           : dtype == IG_F64 ? build_scalar(x / y, dtype)
                             : ig_divide(a, b);
}

static ig_array *zeros_like(const ig_array *x)
{
    return build_fill(0, (ig_dtype)x->dtype, x->view.ndim, x->view.shape);
}

/* ---- elementwise: the formulas of ops.def ---- */

/* From the column "gradient" of ops.def: the formula, and whether there is one. */
#define RULE_DIFF(dx) dx
#define RULE2_DIFF(dx1, dx2) (i == 0 ? (dx1) : (dx2))
#define RULE_FLAT NULL
#define RULE2_FLAT NULL
#define RULE_NONE NULL
#define RULE2_NONE NULL
#define HAS_DIFF(...) 1
#define HAS_FLAT 1
#define HAS_NONE 0

#define UNARY(name, accepts, result, expr, ulp, domain, gradient, ...) \
    static ig_array *d_##name(pull *p, int i) \
    { \
        ig_array *const g = p->g, *const y = p->node, *const x = y->in[0]; \
        (void)i, (void)g, (void)x; \
        return RULE_##gradient; \
    }
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, ...) \
    static ig_array *d_##name(pull *p, int i) \
    { \
        ig_array *const g = p->g, *const y = p->node; \
        ig_array *const x1 = y->in[0], *const x2 = y->in[1]; \
        (void)i, (void)g, (void)x1, (void)x2; \
        return RULE2_##gradient; \
    }
#include "engine/ops/rows/elementwise.def"

static ig_array *d_where(pull *p, int i)
{
    ig_array *const zero = build_beside(p->g, 0), *const condition = p->node->in[0];
    return i == 1 ? ig_where(condition, p->g, zero) : ig_where(condition, zero, p->g);
}

/* The gradient moves back to the device of the input. */
static ig_array *d_to_device(pull *p, int i)
{
    const char *from = p->node->in[i]->root->device;
    return from ? ig_to_device(p->g, from) : p->g;
}

static ig_array *d_astype(pull *p, int i) { return ig_astype(p->g, p->node->in[i]->dtype); }

/* ---- reduce: the node does not have the trailing axes of its input ---- */

/* a, which has the shape of the node, repeated along the axes that the node folded. */
static ig_array *unfold(const pull *p, ig_array *a)
{
    if (!a)
        return NULL;
    const view *in = &p->node->in[0]->view;
    view v = a->view;
    for (int k = v.ndim; k < in->ndim; k++)
        axis_insert(&v, k, in->shape[k], 0);
    return array_view(OP_broadcast_to, a, &v);
}

static ig_array *d_sum(pull *p, int i)
{
    (void)i;
    return unfold(p, p->g);
}

/* For each element, the product of all earlier elements along the last axis. */
static ig_array *prod_before(ig_array *x)
{
    ig_array *y = x ? ig_cumulative_prod(x, IG_AXES(-1), x->dtype, true) : NULL;
    if (!y)
        return NULL;
    view v = y->view;
    v.shape[v.ndim - 1]--;
    return array_view(OP_slice, y, &v);
}

/* The product of all other elements, computed as the product of the earlier times the product of the later elements.
 * So zeros need no special case. */
static ig_array *d_prod(pull *p, int i)
{
    ig_array *x = p->node->in[i];
    const int kept = p->node->view.ndim;
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, (size_t)kept * sizeof *shape);
    shape[kept] = 1;
    for (int a = kept; a < x->view.ndim; a++)
        shape[kept] *= x->view.shape[a];
    const ig_ints last = IG_AXES(-1);
    ig_array *row = build_reshape(OP_reshape, x, kept + 1, shape);
    ig_array *others = mul(prod_before(row), ig_flip(prod_before(ig_flip(row, last)), last));
    return mul(unfold(p, p->g), ig_reshape(others, ig_shape(x)));
}

/* A list of axes of an operand. */
typedef struct axis_list {
    int axis[IG_MAX_NDIM], n;
} axis_list;

/* v with only the axes in l. */
static void see_axes(view *v, const axis_list *l)
{
    const view whole = *v;
    v->ndim = l->n;
    for (int a = 0; a < l->n; a++) {
        v->shape[a] = whole.shape[l->axis[a]];
        v->stride[a] = whole.stride[l->axis[a]];
    }
}

static ig_array *in_order(ig_array *a, const axis_list *l)
{
    if (!a)
        return NULL;
    view v = a->view;
    see_axes(&v, l);
    return array_view(OP_permute_dims, a, &v);
}

/* Elements that tie for the largest share the gradient. The result has the axis order of x in memory, so
 * windows that do not overlap are not materialized. */
static ig_array *d_extreme(pull *p, int i)
{
    ig_array *x = p->node->in[i], *most = unfold(p, p->node);
    int64_t axes[IG_MAX_NDIM];
    const int n = p->node->attr.ndim[0];
    for (int k = 0; k < n; k++)
        axes[k] = k - n;
    ig_array *chosen = ig_equal(x, most);
    ig_array *many = ig_sum(ig_astype(chosen, x->dtype), (ig_ints){axes, n}, x->dtype, false);
    ig_array *share = unfold(p, ig_divide(p->g, many));
    axis_list l;
    l.n = view_axes_by_stride(&x->view, l.axis);
    bool turned = false;
    for (int a = 1; a < l.n; a++)
        turned = turned || l.axis[a] < l.axis[a - 1];
    if (!turned || !view_is_injective(&x->view))
        return zero_unless(chosen, share);
    see_axes(&p->seen, &l);
    return zero_unless(ig_equal(in_order(x, &l), in_order(most, &l)), in_order(share, &l));
}

/* ---- scans, along the last axis ---- */

/* For each element, the sum from it to the end. */
static ig_array *sum_behind(ig_array *x)
{
    const ig_ints last = IG_AXES(-1);
    ig_array *back = ig_flip(x, last);
    return ig_flip(ig_cumulative_sum(back, last, x ? x->dtype : 0, false), last);
}

static ig_array *d_cumulative_sum(pull *p, int i)
{
    (void)i;
    return sum_behind(p->g);
}

/* x[i + by] along the last axis; 0 past the end. */
static ig_array *ahead(ig_array *x, int64_t by)
{
    if (!x)
        return NULL;
    int64_t width[2 * IG_MAX_NDIM] = {0};
    view v = x->view;
    const int last = v.ndim - 1;
    v.offset += by * v.stride[last];
    v.shape[last] -= by;
    width[2 * last + 1] = by;
    return ig_pad(array_view(OP_slice, x, &v), (ig_ints){width, 2 * v.ndim}, "constant", NULL);
}

/* The products of the earlier elements, times rest[i] = g[i] + x[i + 1] * rest[i + 1]. The recurrence is solved by
 * combining pairs, pairs of pairs, and so on. It has no division, so zeros need no special case. */
static ig_array *d_cumulative_prod(pull *p, int i)
{
    ig_array *x = p->node->in[i], *rest = p->g, *factor = NULL;
    const int64_t n = x->view.shape[x->view.ndim - 1];
    for (int64_t by = 1; by < n; by *= 2) {
        factor = by == 1 ? ahead(x, 1) : mul(factor, ahead(factor, by / 2));
        rest = ig_add(rest, mul(factor, ahead(rest, by)));
    }
    return mul(prod_before(x), rest);
}

/* Each result is the latest element so far that equals the extreme. */
static ig_array *d_cumulative_extreme(pull *p, int i)
{
    ig_array *x = p->node->in[i];
    const int64_t n = x->view.shape[x->view.ndim - 1];
    ig_array *own = ig_where(ig_equal(x, p->node), build_iota(1, &n), ig_int(0));
    ig_array *at = ig_cumulative_max(own, IG_AXES(-1));
    return ig_scatter_add(zeros_like(x), at, p->g, -1);
}

static ig_array *d_sort(pull *p, int i)
{
    ig_array *x = p->node->in[i];
    ig_array *at = ig_argsort(x, -1, p->node->attr.descending, true);
    return ig_scatter(zeros_like(x), at, p->g, -1);
}

/* ---- reads and writes at computed indices ---- */

/* A node that reads g at the positions where node reads or writes: the same view, moved by the same index. */
static ig_array *read_like(const ig_array *node, ig_array *index, ig_array *g, const view *at)
{
    if (!g)
        return NULL;
    ig_array *in[2] = {index, grad_see(g, at)};
    node_attr attr = {.axis_len = node->attr.axis_len, .axis_stride = node->attr.axis_stride};
    return array_node(OP_read, g->dtype, at->ndim, at->shape, in, 2, &attr);
}

/* A node that writes, or adds, updates to x at the positions of view and index. */
static ig_array *write_like(const ig_array *node, ig_array *x, ig_array *index, ig_array *updates,
                            const view *at, bool add)
{
    view *dst = x && updates ? memory_get(sizeof *dst) : NULL;
    if (!dst)
        return NULL;
    *dst = *at;
    node_attr attr = {.add = add,
                      .axis_len = node->attr.axis_len,
                      .axis_stride = node->attr.axis_stride,
                      .dst = dst};
    ig_array *in[3] = {x, index, updates};
    return array_node(OP_write, x->dtype, x->view.ndim, x->view.shape, in, 3, &attr);
}

static ig_array *d_read(pull *p, int i)
{
    ig_array *const index = p->node->in[0], *const root = p->node->in[i]->root;
    const view at = p->seen;
    p->seen = root->view;
    return write_like(p->node, zeros_like(root), index, p->g, &at, true);
}

/* The last of several writes to an element wins. The winner is found by writing the number of each update in the
 * same way. */
static ig_array *d_write(pull *p, int i)
{
    const ig_array *node = p->node;
    const view *at = node->attr.dst;
    ig_array *const index = node->in[1], *const updates = node->in[2];
    if (i == 0 && node->attr.add)
        return p->g;
    if (i == 0)
        return write_like(node, p->g, index, zeros_like(updates), at, false);
    ig_array *mine = read_like(node, index, p->g, at);
    if (node->attr.add)
        return mine;
    ig_array *number = build_iota(updates->view.ndim, updates->view.shape);
    ig_array *nobody = build_fill(-1, IG_I64, node->view.ndim, node->view.shape);
    ig_array *winner = write_like(node, nobody, index, number, at, false);
    return zero_unless(ig_equal(read_like(node, index, winner, at), number), mine);
}

/* g with zeros in the regions that parts after the i-th overwrote. */
static ig_array *without_later(ig_array *g, const ig_array *node, int i)
{
    const int n = node->n_in - i;
    view *dst = memory_get((size_t)n * sizeof *dst);
    ig_array **part = memory_get((size_t)n * sizeof *part), *y = NULL;
    ig_array *zero = build_scalar(0, g->dtype);
    if (dst && part && zero) {
        dst[0] = node->view;
        part[0] = g;
        for (int k = 1; k < n; k++) {
            dst[k] = node->attr.dst[i + k];
            part[k] = build_broadcast(OP_assemble, zero, dst[k].ndim, dst[k].shape);
        }
        y = build_assemble(OP_assemble, g->dtype, node->view.ndim, node->view.shape, part, dst, n);
    } else {
        memory_free(dst);
    }
    memory_free(part);
    return y;
}

/* The gradient of a part is g in the region that the part was copied to, except where later parts overwrote it. */
static ig_array *d_assemble(pull *p, int i)
{
    const ig_array *node = p->node;
    const view *in = &node->in[i]->view;
    int64_t written = 0;
    for (int k = 0; k < node->n_in; k++)
        written += view_size(&node->attr.dst[k]);
    const bool covered = i + 1 < node->n_in && written != view_size(&node->view);
    ig_array *g = covered ? without_later(p->g, node, i) : p->g;
    ig_array *mine = g ? grad_see(g, &node->attr.dst[i]) : NULL;
    return build_reshape(OP_reshape, mine, in->ndim, in->shape);
}

/* ---- contract: out[b, m, n] = sum over k of x[0][b, m, k] * x[1][b, n, k] ---- */

static void list_axes(axis_list *l, int first, int count)
{
    for (int i = 0; i < count; i++)
        l->axis[l->n++] = first + i;
}

/* Batch axes along which the operand is broadcast, as a weight is, are summed by the contraction. */
static void split_batch(const view *in, int b, axis_list *kept, axis_list *summed)
{
    for (int a = 0; a < b; a++)
        list_axes(in->stride[a] == 0 && in->shape[a] > 1 ? summed : kept, a, 1);
}

static void append_axes(axis_list *l, const axis_list *more)
{
    for (int i = 0; i < more->n; i++)
        l->axis[l->n++] = more->axis[i];
}

/* The gradient of operand i is g contracted with the other operand, over the axes that only the other one
 * has. The result has the axis order of operand i in memory. */
static ig_array *pull_operand(pull *p, int i, ig_array *g)
{
    ig_array *mine = p->node->in[i], *other = p->node->in[1 - i];
    const uint8_t *axes = p->node->attr.ndim; /* b, m, n, k */
    const int b = axes[0], own = axes[1 + i], others = axes[2 - i], k = axes[3];
    axis_list kept = {.n = 0}, summed = {.n = 0};
    split_batch(&mine->view, b, &kept, &summed);
    axis_list of_g = kept, of_other = kept, of_mine = kept;
    /* Summed batch axes come before the other summed axes in both, so the sum reads memory forward. */
    list_axes(&of_g, i == 0 ? b : b + others, own);
    append_axes(&of_g, &summed);
    list_axes(&of_g, i == 0 ? b + own : b, others);
    list_axes(&of_other, b + others, k);
    append_axes(&of_other, &summed);
    list_axes(&of_other, b, others);
    const int64_t *stride = mine->view.stride + b;
    const bool turned = own && k && llabs(stride[own - 1]) < llabs(stride[own + k - 1]);
    list_axes(&of_mine, turned ? b + own : b, turned ? k : own);
    list_axes(&of_mine, turned ? b : b + own, turned ? own : k);
    see_axes(&p->seen, &of_mine);
    ig_array *x[2];
    x[turned] = build_permute(OP_permute_dims, g, of_g.axis);
    x[!turned] = build_permute(OP_permute_dims, other, of_other.axis);
    const contract_axes groups = {kept.n, turned ? k : own, turned ? own : k, others + summed.n};
    return contract_node(OP_matmul, x, groups, mine->dtype);
}

static ig_array *d_contract(pull *p, int i)
{
    ig_array *g = build_cast(p->g, p->node->in[i]->dtype);
    return g ? pull_operand(p, i, g) : NULL;
}

/* ---- the table ---- */

static ig_array *d_formula(pull *p, int i)
{
    ig_array *grads[FORMULA_INPUTS], *y = formula_by_ops(p->node);
    if (!y || grad_of_definition(y, p->g, p->node->in, p->node->n_in, grads) != IG_OK)
        return NULL;
    return grads[i];
}

static const grad_rule rules[OP_CORE_COUNT] = {
#define UNARY(name, accepts, result, expr, ulp, domain, gradient, ...) \
    [OP_##name] = HAS_##gradient ? d_##name : NULL,
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, ...) \
    [OP_##name] = HAS_##gradient ? d_##name : NULL,
#include "engine/ops/rows/elementwise.def"
    [OP_where] = d_where,
    [OP_formula] = d_formula,
    [OP_astype] = d_astype,
    [OP_to_device] = d_to_device,
    [OP_sum] = d_sum,
    [OP_prod] = d_prod,
    [OP_max] = d_extreme,
    [OP_min] = d_extreme,
    [OP_cumulative_sum] = d_cumulative_sum,
    [OP_cumulative_prod] = d_cumulative_prod,
    [OP_cumulative_max] = d_cumulative_extreme,
    [OP_cumulative_min] = d_cumulative_extreme,
    [OP_sort] = d_sort,
    [OP_read] = d_read,
    [OP_write] = d_write,
    [OP_assemble] = d_assemble,
    [OP_contract] = d_contract,
};

grad_rule grad_rule_of(const ig_array *node)
{
    return node->op < OP_CORE_COUNT ? rules[node->op] : NULL;
}
