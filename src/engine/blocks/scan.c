/* Running folds along rows that are cut into parts.
 *
 * backend/cpu/reduce/scan.c states the order: an element is (R + C) + (B + P), with the fold R of the ranges before it, C of
 * the chunks before it in its range, and B + P of the elements up to it in its chunk. A part begins at a chunk, so R and C
 * of its first element are all that it needs of the parts before it. Three ways lead to the bits of the whole row:
 *
 *   elements  where the order makes no difference, the last result is put before the part's elements
 *   chunks    B + P are running folds of the chunks, and R and C are joined one after the other
 *   ranges    a range whose first element is R, and whose others are the identity, is put before the part's ranges */
#include "engine/blocks/blocks.h"

#include "base/memory.h"
#include <string.h>

static bool has_order(const ig_array *root)
{
    const uint16_t fold = root->attr.fold;
    return (fold == OP_sum || fold == OP_prod) && dtype_is_float((ig_dtype)root->dtype);
}

int64_t scan_unit(const ig_array *root)
{
    return root->view.ndim < IG_MAX_NDIM ? CUT_CHUNK
                                         : CUT_RANGE; /* chunks need one axis more than the root */
}

/* Elements [first, first + n) of the last axis. */
static ig_array *piece(ig_array *x, int64_t first, int64_t n)
{
    if (!x)
        return NULL;
    view v = x->view;
    v.offset += first * v.stride[v.ndim - 1];
    v.shape[v.ndim - 1] = n;
    return array_view(OP_slice, x, &v);
}

/* A copy of x: a view would keep all of its root. */
static ig_array *copy_of(ig_array *x)
{
    view *dst = x ? memory_get(sizeof *dst) : NULL;
    if (!dst)
        return NULL;
    view_contiguous(dst, x->view.ndim, x->view.shape);
    return build_assemble(OP_assemble, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, dst, 1);
}

static ig_array *scan_like(const ig_array *root, ig_array *x)
{
    return x ? array_node(root->op, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, 1,
                          &root->attr)
             : NULL;
}

static ig_array *join(const ig_array *root, ig_array *x, ig_array *y)
{
    return root->attr.fold == OP_sum ? ig_add(x, y) : ig_multiply(x, y);
}

/* n elements per row of x that change nothing. */
static ig_array *none(const ig_array *root, const ig_array *x, int64_t n)
{
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, sizeof shape);
    shape[x->view.ndim - 1] = n;
    return build_fill(root->attr.fold == OP_sum ? -0.0 : 1, (ig_dtype)x->dtype, x->view.ndim,
                      shape);
}

static ig_array *concat(ig_array *const *parts, int n)
{
    for (int i = 0; i < n; i++)
        if (!parts[i])
            return NULL;
    return ig_concat(parts, n, IG_AXES(-1));
}

/* carry: the last result. */
static int by_elements(const ig_array *root, ig_array *x, ig_array *carry, ig_array **out)
{
    const int64_t n = x->view.shape[x->view.ndim - 1], skip = carry ? 1 : 0;
    ig_array *y = scan_like(root, carry ? concat((ig_array *[]){carry, x}, 2) : x);
    out[0] = piece(y, skip, n);
    out[1] = copy_of(piece(y, skip + n - 1, 1));
    return out[0] && out[1] ? 2 : 0;
}

/* carry: R. An identity after the last range has the next R as its result. */
static int by_ranges(const ig_array *root, ig_array *x, ig_array *carry, ig_array **out)
{
    const int64_t n = x->view.shape[x->view.ndim - 1], skip = carry ? CUT_RANGE : 0;
    ig_array *row =
        carry ? concat((ig_array *[]){carry, none(root, x, CUT_RANGE - 1), x, none(root, x, 1)}, 4)
              : concat((ig_array *[]){x, none(root, x, 1)}, 2);
    ig_array *y = scan_like(root, row);
    out[0] = piece(y, skip, n);
    out[1] = copy_of(piece(y, skip + n, 1));
    return out[0] && out[1] ? 2 : 0;
}

/* carry: R and C, along the last axis. ends: the part's last chunk is the last of its range. */
static int by_chunks(const ig_array *root, ig_array *x, ig_array *carry, bool ends, ig_array **out)
{
    const int last = x->view.ndim - 1;
    const int64_t n = x->view.shape[last], chunks = (n + CUT_CHUNK - 1) / CUT_CHUNK;
    ig_array *r = carry ? piece(carry, 0, 1) : none(root, x, 1), *before[CUT_RANGE / CUT_CHUNK];
    ig_array *c = carry ? piece(carry, 1, 1) : none(root, x, 1);
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, sizeof shape);
    shape[last] = chunks;
    shape[last + 1] = CUT_CHUNK;
    if (n < chunks * CUT_CHUNK)
        x = concat((ig_array *[]){x, none(root, x, chunks * CUT_CHUNK - n)}, 2);
    ig_array *y = scan_like(root, build_reshape(OP_reshape, x, last + 2, shape));
    shape[last + 1] = 1;
    ig_array *total = build_reshape(OP_reshape, piece(y, CUT_CHUNK - 1, 1), last + 1, shape);
    for (int64_t k = 0; k < chunks; k++) {
        before[k] = join(root, r, c);
        c = join(root, c, piece(total, k, 1));
    }
    ig_array *all = chunks > 1 ? concat(before, (int)chunks) : before[0];
    y = all ? join(root, build_reshape(OP_reshape, all, last + 2, shape), y) : NULL;
    shape[last] = chunks * CUT_CHUNK;
    out[0] = y ? piece(build_reshape(OP_reshape, y, last + 1, shape), 0, n) : NULL;
    if (ends) {
        r = join(root, r, c);
        c = none(root, x, 1);
    }
    out[1] = concat((ig_array *[]){r, c}, 2);
    return out[0] && out[1] ? 2 : 0;
}

int scan_build(const stage *s, int64_t part, ig_array *x, ig_array *carry, ig_array **out)
{
    const ig_array *root = s->root[0];
    if (x && dtype_is_half((ig_dtype)x->dtype))
        x = build_cast(x, IG_F32);
    const int n = !x                 ? 0
                  : !has_order(root) ? by_elements(root, x, carry, out)
                  : s->part < CUT_RANGE
                      ? by_chunks(root, x, carry, (part + 1) * s->part % CUT_RANGE == 0, out)
                      : by_ranges(root, x, carry, out);
    out[0] = n ? build_cast(out[0], (ig_dtype)root->dtype) : NULL;
    return out[0] ? n : 0;
}
