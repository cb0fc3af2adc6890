/* Emitting tapes: map nodes become instructions, inputs from outside become operands, and nodes that other groups
 * load are stored at the end of the tape. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/emit.h"
#include "engine/ops/formula.h"
#include <limits.h>
#include <string.h>

/* A group has at most 128 nodes, each stored at most once. */
enum { GROUP_OPERANDS_MOST = (FORMULA_INPUTS + 1) * 128 };

static ig_status inst_add(tape_writer *w, tape_inst inst)
{
    tape *t = w->t;
    if (t->n_reg > INT16_MAX - 8 ||
        !memory_room(&t->inst, t->n_inst, &w->room_inst, sizeof *t->inst))
        return IG_ERR_MEMORY;
    t->inst[t->n_inst++] = inst;
    return IG_OK;
}

static const tape_inst nothing = {.operand = -1, .dst = -1, .a = -1, .b = -1, .c = -1};

/* Adds an instruction that computes a value; *value is its number. */
static ig_status value_add(tape_writer *w, tape_inst inst, int *value)
{
    inst.dst = (int16_t)w->t->n_reg;
    TRY(inst_add(w, inst));
    *value = w->t->n_reg++;
    return IG_OK;
}

/* The view in the shape and axis order of the tape's space. */
static void to_space(const tape_writer *w, const view *from, view *to)
{
    view v = *from;
    if (from->ndim == 0)
        view_broadcast(from, w->shape->ndim, w->shape->shape, &v);
    else if (!view_same_shape(from, w->shape))
        view_reshape(from, w->shape->ndim, w->shape->shape, &v);
    if (w->permuted)
        view_permute(&v, w->grp->perm, to);
    else
        *to = v;
}

static int slot_of_root(const tape_writer *w, const ig_array *root)
{
    return root->data ? -1 - root->index : w->slot_of[w->g->same[root->index]];
}

/* The number of the operand, which is added if it is new; -1 on failure. */
static int operand_add(tape_writer *w, operand o)
{
    tape *t = w->t;
    for (int i = 0; i < t->n_operand; i++) {
        const operand *p = &t->operand[i];
        if (p->slot == o.slot && p->dtype == o.dtype && p->axis_len == o.axis_len &&
            p->axis_stride == o.axis_stride && p->first_index == o.first_index &&
            view_equal(&p->v, &o.v))
            return i;
    }
    if (t->n_operand == INT16_MAX ||
        !memory_room(&t->operand, t->n_operand, &w->room_operand, sizeof *t->operand))
        return -1;
    t->operand[t->n_operand] = o;
    return t->n_operand++;
}

static ig_status emit_node(tape_writer *w, int node);
static ig_status round_half(tape_writer *w, ig_dtype dtype, int *value);

/* The value of y on this tape: computed, recomputed or loaded. */
static ig_status value_of(tape_writer *w, const ig_array *y, int *value)
{
    int node = y->root->data ? -1 : w->g->same[y->root->index];
    if (node >= 0 && w->value_of[node] < 0 && w->slot_of[node] < 0)
        TRY(emit_node(w, node)); /* not stored: recompute it here */
    if (node >= 0 && w->value_of[node] >= 0) {
        *value = w->value_of[node];
        return IG_OK;
    }
    operand there = {.slot = slot_of_root(w, y->root), .dtype = (ig_dtype)y->dtype};
    const bool packed = array_is_packed(y);
    there.stored = packed ? y->root->data->stored : there.stored;
    to_space(w, &y->view, &there.v);
    int o = operand_add(w, there);
    if (o < 0)
        return IG_ERR_MEMORY;
    tape_inst load = nothing;
    load.code = packed ? TAPE_UNPACK : TAPE_LOAD;
    load.dtype = load.to = packed ? IG_F32 : (uint8_t)y->dtype;
    load.operand = (int16_t)o;
    for (int i = 0; i < w->t->n_inst; i++)
        if (w->t->inst[i].code == load.code && w->t->inst[i].operand == o &&
            w->t->inst[i].a < 0) { /* blocks of halves: the next instruction rounds */
            *value = w->t->inst[i + (packed && dtype_is_half(there.dtype))].dst;
            return IG_OK;
        }
    TRY(value_add(w, load, value));
    return packed ? round_half(w, there.dtype, value) : IG_OK;
}

static ig_status round_half(tape_writer *w, ig_dtype dtype, int *value)
{
    if (!dtype_is_half(dtype))
        return IG_OK;
    tape_inst inst = nothing;
    inst.code = TAPE_ROUND;
    inst.dtype = IG_F32;
    inst.to = (uint8_t)dtype;
    inst.a = (int16_t)*value;
    return value_add(w, inst, value);
}

/* The array that a table's elements are read from: the table, or halves that are converted after the read. */
static const ig_array *table_of(const tape_writer *w, const ig_array *from)
{
    const int node = from->root->data ? -1 : w->g->same[from->root->index];
    return node < 0 || w->slot_of[node] >= 0 ? from : w->g->node[node]->in[0];
}

/* read and bits have one input that is not read element by element. */
static ig_status emit_table(tape_writer *w, const ig_array *x, tape_inst *inst)
{
    const ig_array *from = x->in[x->n_in - 1], *there = table_of(w, from);
    operand table = {.slot = slot_of_root(w, there->root),
                     .dtype = (ig_dtype)there->dtype,
                     .v = from->view,
                     .axis_len = x->attr.axis_len,
                     .axis_stride = x->attr.axis_stride,
                     .first_index = x->attr.first_index};
    inst->code = x->op == OP_bits ? TAPE_BITS : TAPE_READ;
    if (there != from)
        inst->dtype = inst->to = there->dtype;
    if (array_is_packed(from)) {
        inst->code = TAPE_UNPACK;
        inst->dtype = inst->to = IG_F32;
        table.stored = from->root->data->stored;
    }
    if (x->op == OP_read) {
        int index;
        to_space(w, &from->view, &table.v);
        TRY(value_of(w, x->in[0], &index));
        inst->a = (int16_t)index;
    }
    int o = operand_add(w, table);
    inst->operand = (int16_t)o;
    return o < 0 ? IG_ERR_MEMORY : IG_OK;
}

static ig_status emit_map_row(tape_writer *w, const ig_array *x, tape_inst *inst)
{
    int v[3] = {-1, -1, -1};
    for (int j = 0; j < x->n_in; j++)
        TRY(value_of(w, x->in[j], &v[j]));
    inst->a = (int16_t)v[0];
    inst->b = (int16_t)v[1];
    inst->c = (int16_t)v[2];
    if (x->op == OP_astype) {
        inst->code = TAPE_CAST;
        inst->dtype = x->in[0]->dtype;
    } else {
        inst->code = TAPE_MAP;
        inst->op = x->op;
        inst->dtype = (uint8_t)dtype_lane((ig_dtype)x->in[x->n_in - 1]->dtype);
    }
    return IG_OK;
}

/* An instruction for each op of a formula, as if each were a node. */
static ig_status emit_formula(tape_writer *w, const ig_array *x, int *value)
{
    const formula_row *row = &formula_rows[x->attr.fold];
    int v[FORMULA_INPUTS + FORMULA_OPS];
    for (int j = 0; j < row->n_in; j++)
        TRY(value_of(w, x->in[j], &v[j]));
    for (int k = 0; k < row->n_ops; k++) {
        const formula_op *f = &row->ops[k];
        tape_inst inst = nothing;
        inst.code = TAPE_MAP;
        inst.op = (uint16_t)f->op;
        inst.dtype = inst.to = x->dtype;
        inst.a = (int16_t)v[f->a];
        inst.b = (int16_t)(f->b < 0 ? -1 : v[f->b]);
        TRY(value_add(w, inst, &v[row->n_in + k]));
        w->ops++;
        text_add(w->label, " %s", op_rows[f->op].name);
    }
    *value = v[row->n_in + row->n_ops - 1];
    return IG_OK;
}

/* One map node. */
static ig_status emit_node(tape_writer *w, int node)
{
    const ig_array *x = w->g->node[node];
    tape_inst inst = nothing;
    int value;
    inst.to = inst.dtype = x->dtype;
    if (x->op == OP_astype && x->in[0]->dtype == x->dtype) { /* a copy: the value itself */
        TRY(value_of(w, x->in[0], &w->value_of[node]));
        text_add(w->label, " copy");
        return IG_OK;
    }
    if (x->op == OP_formula)
        return emit_formula(w, x, &w->value_of[node]);
    if (x->op == OP_iota)
        inst.code = TAPE_IOTA;
    else if (x->op == OP_bits || x->op == OP_read)
        TRY(emit_table(w, x, &inst));
    else
        TRY(emit_map_row(w, x, &inst));
    TRY(value_add(w, inst, &value));
    if (inst.code == TAPE_READ && inst.to != x->dtype) {
        tape_inst cast = nothing;
        cast.code = TAPE_CAST;
        cast.dtype = inst.to;
        cast.to = x->dtype;
        cast.a = (int16_t)value;
        TRY(value_add(w, cast, &value));
    }
    if (inst.code == TAPE_UNPACK ||
        (inst.code == TAPE_MAP && x->op != OP_where && op_rows[x->op].result != RESULT_TRUTH))
        TRY(round_half(w, (ig_dtype)x->dtype, &value));
    w->value_of[node] = value;
    w->ops++;
    text_add(w->label, " %s", op_rows[x->op].name);
    return IG_OK;
}

static ig_status emit_store(tape_writer *w, int node)
{
    const ig_array *x = w->g->node[node];
    if (w->slot_of[node] < 0)
        return IG_OK;
    operand o = {.slot = w->slot_of[node], .dtype = (ig_dtype)x->dtype};
    to_space(w, &x->view, &o.v);
    tape_inst inst = nothing;
    inst.code = TAPE_STORE;
    inst.dtype = inst.to = x->dtype;
    inst.a = (int16_t)w->value_of[node];
    inst.operand = (int16_t)operand_add(w, o);
    return inst.operand < 0 ? IG_ERR_MEMORY : inst_add(w, inst);
}

/* Merges axes that are adjacent in all operands. */
static void finish_tape(tape_writer *w)
{
    tape *t = w->t;
    view space, *all[GROUP_OPERANDS_MOST + 1];
    int n = 0;
    view_contiguous(&space, w->shape->ndim, w->shape->shape);
    if (w->permuted) {
        view v;
        view_permute(&space, w->grp->perm, &v);
        view_contiguous(&space, v.ndim, v.shape);
    }
    t->size = view_size(&space);
    bool whole = t->n_operand <= GROUP_OPERANDS_MOST;
    all[n++] = &space;
    for (int i = 0; i < t->n_operand && whole; i++) {
        bool key = false;
        for (int k = 0; k < t->n_inst; k++)
            key = key || (t->inst[k].code == TAPE_BITS && t->inst[k].operand == i);
        if (!key)
            all[n++] = &t->operand[i].v;
    }
    if (whole)
        view_collapse(all, n);
    t->ndim = space.ndim;
    memcpy(t->shape, space.shape, sizeof t->shape);
}

/* The next tape must not use the value of y, nor the values from which it was recomputed. */
static void forget_value(const tape_writer *w, const ig_array *y)
{
    const int node = y->root->data ? -1 : w->g->same[y->root->index];
    if (node < 0 || w->value_of[node] < 0)
        return;
    w->value_of[node] = -1;
    const ig_array *x = w->g->node[node];
    for (int j = 0; j < x->n_in; j++)
        forget_value(w, x->in[j]);
}

ig_status graph_tape(tape_writer *w, const int *nodes, int n, int core, const ig_array *result)
{
    w->t->result = -1;
    if (core >= 0) {
        const ig_array *x = w->g->node[core];
        tape_inst inst = nothing;
        inst.code = TAPE_CORE;
        inst.dtype = inst.to = x->dtype;
        TRY(value_add(w, inst, &w->value_of[core]));
        TRY(round_half(w, (ig_dtype)x->dtype, &w->value_of[core]));
    }
    for (int i = 0; i < n; i++)
        TRY(emit_node(w, nodes[i]));
    if (result)
        TRY(value_of(w, result, &w->t->result));
    if (core >= 0)
        TRY(emit_store(w, core));
    for (int i = 0; i < n; i++)
        TRY(emit_store(w, nodes[i]));
    finish_tape(w);
    if (core >= 0)
        w->value_of[core] = -1;
    for (int i = n - 1; i >= 0; i--)
        forget_value(w, w->g->node[nodes[i]]);
    if (result)
        forget_value(w, result);
    return IG_OK;
}

ig_status graph_tape_copy(tape_writer *w, const ig_array *from, const operand *to)
{
    int value;
    TRY(value_of(w, from, &value));
    tape_inst store = nothing;
    store.code = TAPE_STORE;
    store.dtype = store.to = from->dtype;
    store.a = (int16_t)value;
    store.operand = (int16_t)operand_add(w, *to);
    if (store.operand < 0)
        return IG_ERR_MEMORY;
    TRY(inst_add(w, store));
    finish_tape(w);
    return IG_OK;
}
