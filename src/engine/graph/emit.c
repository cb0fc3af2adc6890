/* Emitting: a fused group becomes a program, and every node that is stored gets a slot. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/emit.h"
#include <string.h>

/* ---- programs ---- */

static slot slot_new(slot_kind kind, int leaf, int node, int64_t size)
{
    return (slot){.kind = kind,
                  .index = leaf,
                  .node = node,
                  .shares = -1,
                  .bytes = size,
                  .first = -1,
                  .last = -1,
                  .written = -1,
                  .from = -1,
                  .until = -1};
}

static int slot_add(schedule *s, slot entry)
{
    if (!memory_room(&s->slot, s->n_slot, &s->room_slot, sizeof *s->slot))
        return -1;
    s->slot[s->n_slot] = entry;
    return s->n_slot++;
}

int64_t graph_bytes(const ig_array *x)
{
    return view_size(&x->view) * (int64_t)ig_dtype_bytes(x->dtype);
}

int graph_temporary(schedule *s, int64_t bytes)
{
    return slot_add(s, slot_new(SLOT_TEMP, -1, -1, bytes));
}

program *graph_program(emitter *e, program_kind kind)
{
    schedule *s = e->s;
    if (!memory_room(&s->program, s->n_program, &s->room_program, sizeof *s->program))
        return NULL;
    program *p = &s->program[s->n_program++];
    *p = (program){.kind = kind, .pre.result = -1, .post.result = -1};
    return p;
}

static tape_writer writer_for(emitter *e, tape *t, const view *shape, text *label)
{
    return (tape_writer){.g = e->g,
                         .s = e->s,
                         .t = t,
                         .slot_of = e->slot_of,
                         .shape = shape,
                         .value_of = e->value_of,
                         .label = label};
}

/* Bytes of memory that an operand touches: broadcast and overlapping elements count once. A table that is
 * read at computed indices counts each read, up to its size. */
static int64_t operand_bytes(const schedule *s, const operand *o, bool table)
{
    int64_t n = 1, whole = s->slot[o->slot].bytes;
    for (int i = 0; i < o->v.ndim; i++)
        n *= o->v.stride[i] || table ? o->v.shape[i] : 1;
    n = storage_bytes(o->stored, o->dtype, n);
    return n < whole ? n : whole;
}

static void count_tape(const schedule *s, program *p, const tape *t)
{
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        const operand *o = inst->operand < 0 ? NULL : &t->operand[inst->operand];
        if (o && inst->code == TAPE_STORE)
            p->bytes_written += operand_bytes(s, o, false);
        else if (o)
            p->bytes_read += operand_bytes(s, o, inst->code == TAPE_READ || inst->a >= 0);
    }
}

ig_status graph_finish(const schedule *s, program *p, text *label)
{
    count_tape(s, p, &p->pre);
    count_tape(s, p, &p->post);
    p->label = text_take(label);
    return p->label ? IG_OK : IG_ERR_MEMORY;
}

operand graph_operand(const emitter *e, const ig_array *y)
{
    const ig_array *root = y->root;
    return (operand){.slot = root->data ? -1 - root->index : e->slot_of[e->g->same[root->index]],
                     .dtype = (ig_dtype)y->dtype,
                     .stored = array_is_packed(y) ? root->data->stored : (storage){0},
                     .v = y->view};
}

ig_status graph_plain(emitter *e, const ig_array *y, operand *out)
{
    *out = graph_operand(e, y);
    if (storage_is_plain(out->stored))
        return IG_OK;
    out->stored = (storage){0};
    view_contiguous(&out->v, y->view.ndim, y->view.shape);
    out->slot = graph_temporary(e->s, graph_bytes(y));
    return out->slot < 0 ? IG_ERR_MEMORY : graph_copy(e, y, out->slot, &out->v, "unpack");
}

ig_status graph_copy(emitter *e, const ig_array *from, int slot_to, const view *to,
                     const char *name)
{
    program *p = graph_program(e, PROGRAM_MAP);
    if (!p)
        return IG_ERR_MEMORY;
    text label = {0};
    const operand there = {.slot = slot_to, .dtype = (ig_dtype)from->dtype, .v = *to};
    tape_writer w = writer_for(e, &p->pre, &from->view, &label);
    text_add(&label, " %s", name);
    const ig_status status = graph_tape_copy(&w, from, &there);
    const ig_status finished = graph_finish(e->s, p, &label);
    return status != IG_OK ? status : finished;
}

static ig_status emit_assemble(emitter *e, const ig_array *x, int node)
{
    for (int i = 0; i < x->n_in; i++)
        if (view_size(&x->in[i]->view) > 0)
            TRY(graph_copy(e, x->in[i], e->slot_of[node], &x->attr.dst[i], "assemble"));
    return IG_OK;
}

static ig_status emit_write(emitter *e, const ig_array *x, int node)
{
    operand in[2];
    TRY(graph_copy(e, x->in[0], e->slot_of[node], &x->view, "copy"));
    for (int i = 0; i < 2; i++)
        TRY(graph_plain(e, x->in[1 + i], &in[i]));
    program *p = graph_program(e, PROGRAM_WRITE);
    if (!p)
        return IG_ERR_MEMORY;
    text label = {0};
    p->dtype = (ig_dtype)x->dtype;
    p->add = x->attr.add;
    memcpy(p->in, in, sizeof in);
    p->out = (operand){.slot = e->slot_of[node],
                       .dtype = p->dtype,
                       .v = *x->attr.dst,
                       .axis_len = x->attr.axis_len,
                       .axis_stride = x->attr.axis_stride};
    p->bytes_read = operand_bytes(e->s, &p->in[0], false) + operand_bytes(e->s, &p->in[1], false);
    p->bytes_written = operand_bytes(e->s, &p->in[1], false);
    text_add(&label, x->attr.add ? " scatter_add" : " scatter");
    return graph_finish(e->s, p, &label);
}

/* scan, sort, argsort, searchsorted: views in, one contiguous array out. */
static ig_status emit_rows(emitter *e, const ig_array *x, int node, program_kind kind)
{
    operand in[2];
    for (int i = 0; i < x->n_in; i++)
        TRY(graph_plain(e, x->in[i], &in[i]));
    program *p = graph_program(e, kind);
    if (!p)
        return IG_ERR_MEMORY;
    text label = {0};
    const view *v = &x->in[0]->view;
    p->dtype = (ig_dtype)x->in[0]->dtype;
    p->fold = x->attr.fold;
    p->descending = x->attr.descending;
    p->right = x->attr.right;
    p->inner = v->ndim ? v->shape[v->ndim - 1] : 1;
    p->outer = p->inner ? view_size(v) / p->inner : 0;
    p->kept = x->view.ndim ? x->view.shape[x->view.ndim - 1] : 1;
    for (int i = 0; i < x->n_in; i++) {
        p->in[i] = in[i];
        p->bytes_read += operand_bytes(e->s, &p->in[i], false);
    }
    p->out = (operand){.slot = e->slot_of[node], .dtype = (ig_dtype)x->dtype, .v = x->view};
    p->bytes_written = graph_bytes(x);
    p->flops = kind == PROGRAM_SCAN ? view_size(v) : 0;
    text_add(&label, " %s", op_rows[x->op].name);
    return graph_finish(e->s, p, &label);
}

/* ---- fused groups ---- */

/* The core of a reduction or contraction. */
static void describe_core(emitter *e, program *p, const ig_array *x)
{
    p->dtype = (ig_dtype)x->in[0]->dtype;
    p->fold = x->attr.fold;
    if (p->kind != PROGRAM_CONTRACT) {
        p->outer = view_size(&x->view);
        p->inner = 1;
        const view *v = &x->in[0]->view;
        for (int i = v->ndim - x->attr.ndim[0]; i < v->ndim; i++)
            p->inner *= v->shape[i];
        p->first = program_is_span(p) ? v->offset : 0;
        p->flops += p->outer * p->inner;
        return;
    }
    p->math = e->g->math;
    p->symmetric = x->attr.symmetric;
    memcpy(p->ndim, x->attr.ndim, sizeof p->ndim);
    const int nb = p->ndim[0], nm = p->ndim[1], nn = p->ndim[2], nk = p->ndim[3];
    const int64_t *a = x->in[0]->view.shape, *b = x->in[1]->view.shape;
    const int64_t *from[4] = {a, a + nb, b + nb, a + nb + nm};
    const int count[4] = {nb, nm, nn, nk};
    for (int k = 0; k < 4; k++) {
        p->extent[k] = 1;
        for (int i = 0; i < count[k]; i++)
            p->extent[k] *= from[k][i];
    }
    for (int i = 0; i < 2; i++) {
        p->in[i] = graph_operand(e, x->in[i]);
        p->bytes_read += operand_bytes(e->s, &p->in[i], false);
    }
    p->flops += 2 * p->extent[0] * p->extent[1] * p->extent[2] * p->extent[3];
}

static ig_status emit_fused(emitter *e, const group *grp, program_kind kind)
{
    const graph *g = e->g;
    program *p = graph_program(e, kind);
    if (!p)
        return IG_ERR_MEMORY;
    const ig_array *x = grp->core >= 0 ? g->node[grp->core] : NULL;
    bool reduces = kind == PROGRAM_REDUCE || kind == PROGRAM_ARGREDUCE;
    text label = {0};
    ig_status status = IG_OK;
    if (grp->n_pre || reduces) {
        const view *shape = grp->n_pre ? &g->node[grp->pre_like]->view : &x->in[0]->view;
        tape_writer w = writer_for(e, &p->pre, shape, &label);
        w.grp = grp;
        w.permuted = grp->permuted;
        status = graph_tape(&w, grp->pre, grp->n_pre, -1, reduces ? x->in[0] : NULL);
        p->flops += w.ops * (grp->span ? view_size(&x->in[0]->view) : p->pre.size);
    }
    if (x && status == IG_OK) {
        describe_core(e, p, x);
        text_add(&label, " %s", op_rows[x->op].name);
        tape_writer w = writer_for(e, &p->post, &x->view, &label);
        status = graph_tape(&w, grp->post, grp->n_post, grp->core, NULL);
        p->flops += w.ops * p->post.size;
    }
    ig_status finished = graph_finish(e->s, p, &label);
    return status != IG_OK ? status : finished;
}

/* The pre part of a group, then its core and the rest. */
static ig_status emit_apart(emitter *e, const group *grp, program_kind kind)
{
    group pre = *grp, rest = *grp;
    pre.span = rest.span = false;
    pre.core = -1;
    pre.n_post = rest.n_pre = 0;
    TRY(emit_fused(e, &pre, PROGRAM_MAP));
    return emit_fused(e, &rest, kind);
}

static ig_status emit_group(emitter *e, const group *grp)
{
    if (grp->core < 0)
        return emit_fused(e, grp, PROGRAM_MAP);
    const ig_array *x = e->g->node[grp->core];
    const program_kind kind = node_program(x);
    switch (kind) {
    case PROGRAM_MAP: return emit_assemble(e, x, grp->core);
    case PROGRAM_WRITE: return emit_write(e, x, grp->core);
    case PROGRAM_KERNEL: return graph_kernel(e, x, grp->core);
    case PROGRAM_SCAN:
    case PROGRAM_SORT:
    case PROGRAM_ARGSORT:
    case PROGRAM_SEARCH: return emit_rows(e, x, grp->core, kind);
    default: break;
    }
    const bool apart = grp->span && e->slot_of[e->g->same[x->in[0]->root->index]] >= 0;
    return apart ? emit_apart(e, grp, kind) : emit_fused(e, grp, kind);
}

/* Slots: leaves first, so that the slot of a leaf is its number; then every node that is stored. */
static ig_status add_slots(emitter *e, const bool *stored)
{
    const graph *g = e->g;
    for (int i = 0; i < g->n_leaf; i++) {
        slot leaf = slot_new(SLOT_LEAF, i, -1, (int64_t)g->leaf[i]->data->bytes);
        leaf.is_number = g->leaf[i]->is_number;
        if (slot_add(e->s, leaf) < 0)
            return IG_ERR_MEMORY;
    }
    for (int i = 0; i < g->n_node; i++) {
        e->slot_of[i] = -1;
        if (stored[i] && (e->slot_of[i] = slot_add(
                              e->s, slot_new(SLOT_TEMP, -1, i, graph_bytes(g->node[i])))) < 0)
            return IG_ERR_MEMORY;
    }
    for (int i = 0; i < g->n_out; i++)
        e->s->slot[e->slot_of[g->same[g->out[i]->index]]].kind = SLOT_OUT;
    return IG_OK;
}

ig_status schedule_emit(const graph *g, const fusion *f, schedule *s)
{
    size_t n = (size_t)g->n_node + 1;
    int *memory = memory_get(2 * n * sizeof *memory);
    if (!memory)
        return IG_ERR_MEMORY;
    emitter e = {.g = g, .s = s, .slot_of = memory, .value_of = memory + n};
    memset(e.value_of, -1, n * sizeof *e.value_of);
    ig_status status = add_slots(&e, f->stored);
    for (int i = 0; i < f->n_group && status == IG_OK; i++) {
        const int first = s->n_program;
        status = emit_group(&e, &f->group[i]);
        for (int k = first; k < s->n_program; k++)
            s->program[k].may_fail = f->group[i].may_fail;
    }
    memory_free(memory);
    return status;
}
