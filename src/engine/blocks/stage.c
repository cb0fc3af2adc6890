/* The blocks of a stage, and what is computed for each.
 *
 * Parts of a row. The order of a fold is a tree over chunks of CUT_CHUNK elements (backend/cpu/reduce/reduce.c), so a
 * part of 2^k chunks is a subtree, and joining the parts' values in the tree's order gives the bits of the whole row. A
 * sum of floats is a pair, the sum and its rounding error. A product adds the sums of blocks of k in
 * order (backend_product_k), so a part continues the sum of the parts before it, one such block at a time. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/integer.h"
#include <string.h>

bool stage_carries(const stage *s)
{
    return s->join == CUT_ORDERED || s->join == CUT_CARRY || s->join == CUT_UPDATE;
}

/* ---- boxes ---- */

int64_t stage_tiles(const stage *s)
{
    const view *v = &s->root[0]->view;
    int64_t n = 1;
    for (int i = 0; i < v->ndim; i++)
        n *= ceil_div(v->shape[i], s->tile[i]);
    return n;
}

int64_t stage_row(const stage *s)
{
    const ig_array *x = s->root[0];
    if (s->join == CUT_UPDATE)
        return table_row(x);
    const view *v = &x->in[0]->view;
    int64_t n = 1;
    for (int i = node_cut_of(x).in[0].row; i < v->ndim; i++)
        n *= v->shape[i];
    return n;
}

/* The block of k of a product whose order is fixed; 0: it is not, or does not matter. */
static int64_t fixed_k(const ig_array *root)
{
    const ig_dtype dtype = (ig_dtype)root->in[0]->dtype;
    return dtype_is_float(dtype) ? backend_product_k(engine_device_of(root), dtype, ig_math_mode())
                                 : 0;
}

int64_t stage_unit(const stage *s)
{
    const int64_t row = stage_row(s);
    if (s->join == CUT_UPDATE)
        return 1;
    if (s->join == CUT_CARRY)
        return scan_unit(s->root[0]);
    if (s->join == CUT_TREE)
        return CUT_CHUNK;
    const int64_t fixed = fixed_k(s->root[0]);
    return product_block(row, fixed ? fixed : PRODUCT_K);
}

int64_t stage_parts(const stage *s) { return s->part ? ceil_div(stage_row(s), s->part) : 1; }

box stage_tile(const stage *s, int64_t nth)
{
    const view *v = &s->root[0]->view;
    box b = {.lo = {0}};
    for (int i = v->ndim - 1; i >= 0; i--) {
        const int64_t n =
            v->shape[i] ? ceil_div(v->shape[i], s->tile[i]) : 1; /* the tile is empty */
        b.lo[i] = nth % n * s->tile[i];
        b.hi[i] = b.lo[i] + s->tile[i] < v->shape[i] ? b.lo[i] + s->tile[i] : v->shape[i];
        nth /= n;
    }
    return b;
}

box stage_block(const stage *s, int64_t tile, int64_t part)
{
    box b = stage_tile(s, tile);
    const int last = s->root[0]->view.ndim - 1;
    if (s->join == CUT_CARRY) {
        b.lo[last] = part * s->part;
        b.hi[last] = b.lo[last] + s->part < b.hi[last] ? b.lo[last] + s->part : b.hi[last];
    }
    return b;
}

int64_t stage_want(const stage *s, int64_t tile, int64_t part, box *want)
{
    const ig_array *x = s->root[0];
    const box b = stage_block(s, tile, part);
    if (s->join == CUT_APART || s->join == CUT_MERGE) {
        for (int i = 0; i < s->work.n_end; i++)
            want[i] = b;
        return 0;
    }
    const int64_t row = stage_row(s), from = part * s->part;
    const int64_t to = from + s->part < row ? from + s->part : row;
    if (x->op == OP_write) {
        table_want(s, &b, from, to, want);
        return 0;
    }
    const node_cut c = node_cut_of(x);
    int64_t skip = 0;
    for (int i = 0; i < s->work.n_end; i++) {
        const view *v = &s->work.end[i].in->view;
        const int first = c.in[i > 0].row;
        want[i] = node_cut_box(&c, i, &b, v);
        if (first < v->ndim)
            skip = from - box_of_range(v->shape, first, v->ndim, from, to, &want[i]);
    }
    return skip;
}

/* ---- what a part computes ---- */

/* x with its axes from `kept` on as one, and elements [skip, skip + n) of it. */
static ig_array *row_part(ig_array *x, int kept, int64_t skip, int64_t n)
{
    int64_t shape[IG_MAX_NDIM];
    if (!x)
        return NULL;
    memcpy(shape, x->view.shape, sizeof shape);
    shape[kept] = 1;
    for (int i = kept; i < x->view.ndim; i++)
        shape[kept] = i == kept ? x->view.shape[i] : shape[kept] * x->view.shape[i];
    ig_array *row = build_reshape(OP_reshape, x, kept + 1, shape);
    if (!row || (skip == 0 && n == shape[kept]))
        return row;
    view v = row->view;
    v.offset += skip * v.stride[kept];
    v.shape[kept] = n;
    return array_view(OP_slice, row, &v);
}

static int64_t part_length(const stage *s, int64_t part)
{
    const int64_t left = stage_row(s) - part * s->part;
    return left < s->part ? left : s->part;
}

/* Sums are computed in the dtype of lanes: halves would be rounded after each part. */
static ig_array *as_lanes(ig_array *x)
{
    return x && dtype_is_half((ig_dtype)x->dtype) ? build_cast(x, IG_F32) : x;
}

/* The root's reduction along the last axis of `row`. */
static ig_array *reduce_like(const ig_array *root, ig_array *row, ig_dtype dtype)
{
    node_attr attr = root->attr;
    attr.ndim[0] = 1;
    return row ? array_node(root->op, dtype, row->view.ndim - 1, row->view.shape, &row, 1, &attr)
               : NULL;
}

static int build_fold(const stage *s, int64_t part, int64_t skip, ig_array *x, ig_array **out)
{
    const ig_array *root = s->root[0];
    ig_array *row = row_part(as_lanes(x), root->view.ndim, skip, part_length(s, part));
    if (!row)
        return 0;
    if (node_program(root) == PROGRAM_ARGREDUCE) {
        const bool most = root->op == OP_argmax;
        ig_array *place = reduce_like(root, row, IG_I64);
        out[0] = ig_add(place, build_scalar_int(part * s->part, IG_I64));
        out[1] = most ? ig_max(row, IG_AXES(-1), false) : ig_min(row, IG_AXES(-1), false);
        return out[0] && out[1] ? 2 : 0;
    }
    const ig_dtype dtype = dtype_is_half((ig_dtype)root->dtype) ? IG_F32 : (ig_dtype)root->dtype;
    out[0] = reduce_like(root, row, dtype);
    return out[0] ? 1 : 0;
}

static ig_array *build_product(const stage *s, int64_t part, int64_t skip, ig_array *const *ends,
                               ig_array *sum)
{
    const ig_array *root = s->root[0];
    const int64_t n = part_length(s, part), block = fixed_k(root) ? stage_unit(s) : n;
    const ig_dtype dtype = dtype_is_half((ig_dtype)root->dtype) ? IG_F32 : (ig_dtype)root->dtype;
    node_attr attr = root->attr;
    attr.ndim[3] = 1;
    attr.symmetric = root->in[0]->root == root->in[1]->root &&
                     view_equal(&root->in[0]->view, &root->in[1]->view);
    for (int64_t at = 0; at < n; at += block) {
        ig_array *in[2];
        for (int i = 0; i < 2; i++) {
            const int kept = root->attr.ndim[0] + root->attr.ndim[1 + i];
            in[i] = row_part(ends[i], kept, skip + at, at + block < n ? block : n - at);
        }
        if (!in[0] || !in[1])
            return NULL;
        int64_t shape[IG_MAX_NDIM];
        const int nb = attr.ndim[0], nm = attr.ndim[1], nn = attr.ndim[2];
        memcpy(shape, in[0]->view.shape, (size_t)(nb + nm) * sizeof *shape);
        memcpy(shape + nb + nm, in[1]->view.shape + nb, (size_t)nn * sizeof *shape);
        ig_array *y = array_node(root->op, dtype, nb + nm + nn, shape, in, 2, &attr);
        sum = sum ? ig_add(sum, y) : y;
        if (!sum)
            return NULL;
    }
    return sum;
}

int stage_build(const stage *s, int64_t tile, int64_t part, int64_t skip, ig_array *const *ends,
                ig_array *sum, ig_array **out)
{
    if (s->join == CUT_TREE)
        return build_fold(s, part, skip, ends[0], out);
    if (s->join == CUT_ORDERED)
        return (out[0] = build_product(s, part, skip, ends, sum)) ? 1 : 0;
    if (s->join == CUT_CARRY)
        return scan_build(s, part, ends[0], sum, out);
    if (s->join == CUT_MERGE)
        return (out[0] = sort_build(s, ends)) ? 1 : 0;
    if (s->join == CUT_UPDATE)
        return (out[0] = table_build(s, tile, part, ends, sum)) ? 1 : 0;
    for (int i = 0; i < s->n_root; i++)
        out[i] = ends[i];
    return s->n_root;
}

int fold_join(const ig_array *root, ig_array *const *left, ig_array *const *right, ig_array **out)
{
    if (node_program(root) == PROGRAM_ARGREDUCE) {
        ig_array *x = left[1], *y = right[1];
        ig_array *better = root->op == OP_argmax ? ig_greater(y, x) : ig_less(y, x);
        if (dtype_is_float((ig_dtype)x->dtype)) /* the first NaN counts */
            better =
                ig_logical_or(better, ig_logical_and(ig_isnan(y), ig_logical_not(ig_isnan(x))));
        out[0] = ig_where(better, right[0], left[0]);
        out[1] = ig_where(better, y, x);
        return out[0] && out[1] ? 2 : 0;
    }
    switch (root->attr.fold) {
    case OP_sum: out[0] = ig_add(left[0], right[0]); break;
    case OP_prod: out[0] = ig_multiply(left[0], right[0]); break;
    default: {
        ig_array *both = ig_stack((ig_array *[]){left[0], right[0]}, 2, -1);
        out[0] = reduce_like(root, both, (ig_dtype)left[0]->dtype);
    }
    }
    return out[0] ? 1 : 0;
}

ig_array *stage_finish(const stage *s, int64_t tile, ig_array *const *made)
{
    if (s->join == CUT_UPDATE)
        return table_finish(s, tile, made[0]);
    return made[0] ? build_cast(made[0], (ig_dtype)s->root[0]->dtype) : NULL;
}
