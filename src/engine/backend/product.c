/* Contractions as matrix products; see product.h. */
#include "engine/backend/product.h"

#include "engine/ops/ops.h"

#include <string.h>

/* Axes [first, first + n) of a view. */
static view part_of(const view *v, int first, int n)
{
    view part = {.ndim = n};
    for (int i = 0; i < n; i++) {
        part.shape[i] = v->shape[first + i];
        part.stride[i] = v->stride[first + i];
    }
    return part;
}

/* The stride of a group of axes that can be merged into one axis; -1 if it cannot, or if it is negative. */
static int64_t stride_of(const view *v, int first, int n)
{
    view part = part_of(v, first, n);
    view *all[1] = {&part};
    view_collapse(all, 1);
    return part.ndim == 0 ? 0 : part.ndim == 1 && part.stride[0] >= 0 ? part.stride[0] : -1;
}

/* Sets the matrix of rows x k. The stride of an axis of length 1 does not matter. */
static bool matrix_set(product_side *s, int64_t rows, int64_t k, int64_t row_stride,
                       int64_t k_stride)
{
    if (row_stride < 0 || k_stride < 0)
        return false;
    if ((k_stride == 1 || k == 1) && (row_stride >= k || rows == 1)) {
        s->k_inner = true;
        s->ld = rows == 1 ? k : row_stride;
        return true;
    }
    if ((row_stride == 1 || rows == 1) && (k_stride >= rows || k == 1)) {
        s->k_inner = false;
        s->ld = k == 1 ? rows : k_stride;
        return true;
    }
    return false;
}

/* Merges the batch axes into at most two, of the same lengths for both operands. */
static bool batches_set(product *c, const program *p)
{
    view part[2] = {part_of(&p->in[0].v, 0, p->ndim[0]), part_of(&p->in[1].v, 0, p->ndim[0])};
    view *both[2] = {&part[0], &part[1]};
    view_collapse(both, 2);
    const int n = part[0].ndim;
    if (n > 2)
        return false;
    c->batch = n > 0 ? part[0].shape[n - 1] : 1;
    c->outer = n > 1 ? part[0].shape[0] : 1;
    for (int i = 0; i < 2; i++) {
        c->side[i].batch = n > 0 ? part[i].stride[n - 1] : 0;
        c->side[i].outer = n > 1 ? part[i].stride[0] : 0;
        if (c->side[i].batch < 0 || c->side[i].outer < 0)
            return false;
    }
    return true;
}

/* Merges a batch into one product, if its rows are adjacent and multiplied by the same matrix: a linear layer. */
static void batches_join(product *c)
{
    product_side *a = &c->side[0];
    const product_side *b = &c->side[1];
    const bool same = (c->batch == 1 || b->batch == 0) && (c->outer == 1 || b->outer == 0);
    const bool follow = (c->batch == 1 || a->batch == c->m * a->ld) &&
                        (c->outer == 1 || a->outer == c->batch * c->m * a->ld);
    if (!same || !follow || !a->k_inner)
        return;
    c->m *= c->batch * c->outer;
    c->batch = c->outer = 1;
    a->batch = a->outer = 0;
}

/* True if the operand has one value for each of n columns, contiguously. */
static bool is_row(const operand *o, const tape *t, int64_t n)
{
    view v = o->v;
    view *all[1] = {&v};
    (void)t;
    view_collapse(all, 1);
    if (v.ndim == 1 && v.shape[0] == n)
        return v.stride[0] == 1;
    return v.ndim == 2 && v.stride[0] == 0 && v.shape[1] == n && v.stride[1] == 1;
}

/* Reads the start of the epilogue: CORE, rounding, optionally a bias and rounding. *out: the register of the value.
 * Returns the index of the first instruction after it. */
static int product_read(product *c, const program *p, int *out)
{
    const tape *t = &p->post;
    int value = -1, row = -1, row_operand = -1, i = 0, end = 0;
    const tape_inst *in = t->inst;
    for (; i < t->n_inst; i++) {
        if (in[i].code == TAPE_CORE)
            value = in[i].dst;
        else if (in[i].code == TAPE_ROUND && in[i].a == value && in[i].to == c->out)
            value = in[i].dst;
        else if (in[i].code == TAPE_LOAD && row < 0 && t->operand[in[i].operand].dtype == c->out &&
                 is_row(&t->operand[in[i].operand], t, c->n)) {
            row = in[i].dst;
            row_operand = in[i].operand;
            continue; /* the loaded row may be something else than a bias */
        } else if (in[i].code == TAPE_MAP && in[i].op == OP_add && c->bias_slot < 0 && row >= 0 &&
                   row != value &&
                   ((in[i].a == value && in[i].b == row) || (in[i].a == row && in[i].b == value))) {
            value = in[i].dst;
            c->bias_slot = t->operand[row_operand].slot;
            c->bias_offset = t->operand[row_operand].v.offset;
        } else
            break;
        end = i + 1;
    }
    *out = value;
    return end;
}

/* The operand of instruction i, if it stores the register contiguously in the product's dtype; else NULL. */
static const operand *stored(const product *c, const tape *t, int i, int value)
{
    const tape_inst *in = &t->inst[i];
    const operand *o = in->operand >= 0 ? &t->operand[in->operand] : NULL;
    return in->code == TAPE_STORE && in->a == value && o->dtype == c->out &&
                   view_is_contiguous(&o->v)
               ? o
               : NULL;
}

/* Reads an epilogue that consists of a store, optionally after a bias. False for any other epilogue. */
static bool epilogue_read(product *c, const program *p)
{
    const tape *t = &p->post;
    int value;
    const int i = product_read(c, p, &value);
    const operand *o = i == t->n_inst - 1 ? stored(c, t, i, value) : NULL;
    if (!o)
        return false;
    c->out_slot = o->slot;
    c->out_offset = o->v.offset;
    return true;
}

/* True if the register is the value, or is written by an instruction in [first, end). */
static bool is_known(const tape *t, int first, int end, int value, int reg)
{
    if (reg < 0 || reg == value)
        return true;
    for (int i = first; i < end; i++)
        if (t->inst[i].code != TAPE_STORE && t->inst[i].dst == reg)
            return true;
    return false;
}

/* True if an instruction computes only with numbers and known registers. */
static bool is_simple(const tape *t, const bool *by_value, const product_epilogue *e, int i)
{
    const tape_inst *in = &t->inst[i];
    if (in->code == TAPE_LOAD) {
        const operand *o = &t->operand[in->operand];
        for (int k = 0; k < o->v.ndim; k++)
            if (o->v.stride[k] && o->v.shape[k] > 1)
                return false;
        return by_value[o->slot] && ig_dtype_bytes(o->dtype) <= 4;
    }
    return (in->code == TAPE_MAP || in->code == TAPE_CAST || in->code == TAPE_ROUND) &&
           in->dtype != IG_F64 && in->to != IG_F64 && is_known(t, e->first, i, e->value, in->a) &&
           is_known(t, e->first, i, e->value, in->b) && is_known(t, e->first, i, e->value, in->c);
}

bool product_epilogue_of(const program *p, const bool *by_value, product *c, product_epilogue *e)
{
    const tape *t = &p->post;
    product with_bias = *c;
    *e = (product_epilogue){.kept_slot = -1};
    e->first = product_read(&with_bias, p, &e->value);
    const int last = t->n_inst - 1;
    if (e->first >= last || t->inst[last].code != TAPE_STORE)
        return false;
    /* A product of halves has been rounded, so the epilogue gets the value that it would load. */
    const tape_inst *before = &t->inst[e->first - 1];
    if (dtype_is_half(c->out) && before->code != TAPE_ROUND &&
        !(before->code == TAPE_CORE && before->dtype == c->out))
        return false;
    for (int i = e->first; i < last; i++) {
        const operand *kept = e->kept_slot < 0 ? stored(c, t, i, e->value) : NULL;
        if (kept) {
            e->kept_slot = kept->slot;
            e->kept_offset = kept->v.offset;
        } else if (!is_simple(t, by_value, e, i))
            return false;
    }
    e->result = t->inst[last].a;
    const operand *o = stored(c, t, last, e->result);
    if (!o || !is_known(t, e->first, last, -1, e->result))
        return false;
    /* The store rounds, so the last rounding is left out. */
    const tape_inst *from = &t->inst[last - 1];
    if ((from->code == TAPE_ROUND || from->code == TAPE_CAST) && from->dst == e->result &&
        from->dtype == IG_F32 && from->to == c->out)
        e->result = from->a;
    with_bias.out_slot = o->slot;
    with_bias.out_offset = o->v.offset;
    *c = with_bias;
    return true;
}

bool product_of(const program *p, product *c)
{
    if (p->kind != PROGRAM_CONTRACT || p->chain != 1 || p->post.n_inst == 0 ||
        p->post.inst[0].code != TAPE_CORE)
        return false;
    const int b = p->ndim[0], m = p->ndim[1], n = p->ndim[2], k = p->ndim[3];
    *c = (product){.in = p->dtype,
                   .out = (ig_dtype)p->post.inst[0].dtype,
                   .m = p->extent[1],
                   .n = p->extent[2],
                   .k = p->extent[3],
                   .out_slot = -1,
                   .bias_slot = -1};
    const bool floats =
        dtype_is_float(c->in) && (c->out == c->in || (dtype_is_half(c->in) && c->out == IG_F32));
    if (!floats || p->extent[0] < 1 || c->m < 1 || c->n < 1 || c->k < 1 || !batches_set(c, p))
        return false;
    for (int i = 0; i < 2; i++) {
        const view *v = &p->in[i].v;
        c->side[i].slot = p->in[i].slot;
        c->side[i].offset = v->offset;
        if (!matrix_set(&c->side[i], i ? c->n : c->m, c->k, stride_of(v, b, i ? n : m),
                        stride_of(v, b + (i ? n : m), k)))
            return false;
    }
    batches_join(c);
    if (!epilogue_read(c, p)) {
        c->out_slot = c->bias_slot = -1;
        c->out_offset = c->bias_offset = 0;
    }
    return true;
}

int64_t product_alignment(int64_t offset, int64_t stride, ig_dtype dtype)
{
    const int64_t size = (int64_t)ig_dtype_bytes(dtype);
    int64_t alignment = 16;
    while ((offset * size) % alignment || (stride * size) % alignment)
        alignment /= 2;
    return alignment;
}
