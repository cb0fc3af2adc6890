/* Emitting: a fused group becomes a program. Map nodes become instructions, inputs from outside become
 * operands, and nodes that other groups load are stored at the end of the tape. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "ops/formula.h"
#include <limits.h>
#include <string.h>

/* A group has at most 128 nodes, each stored at most once. */
enum { GROUP_OPERANDS_MOST = (FORMULA_INPUTS + 1) * 128 };

/* A tape that is being written. */
typedef struct writer {
    const graph *g;
    schedule *s;
    tape *t;
    int room_inst, room_operand;
    const int *slot_of; /* of each stored node; else -1 */
    const group *grp;
    const view *shape; /* the space, with axes in the order of the nodes */
    bool permuted;
    int *value_of; /* of each node that this tape has computed; else -1 */
    text *label;
    int64_t ops;
} writer;

static slot slot_new(slot_kind kind, int leaf, int node, int64_t size)
{
    return (slot){.kind = kind,
                  .index = leaf,
                  .node = node,
                  .shares = -1,
                  .bytes = size,
                  .first = -1,
                  .last = -1,
                  .from = -1,
                  .until = -1};
}

static int slot_add(schedule *s, slot entry)
{
    if (!graph_room(&s->slot, s->n_slot, &s->room_slot, sizeof *s->slot))
        return -1;
    s->slot[s->n_slot] = entry;
    return s->n_slot++;
}

static int64_t bytes_of(const ig_array *x)
{
    return view_size(&x->view) * (int64_t)ig_dtype_bytes(x->dtype);
}

static ig_status inst_add(writer *w, tape_inst inst)
{
    tape *t = w->t;
    if (t->n_reg > INT16_MAX - 8 ||
        !graph_room(&t->inst, t->n_inst, &w->room_inst, sizeof *t->inst))
        return IG_ERR_MEMORY;
    t->inst[t->n_inst++] = inst;
    return IG_OK;
}

static const tape_inst nothing = {.operand = -1, .dst = -1, .a = -1, .b = -1, .c = -1};

/* Adds an instruction that computes a value; *value is its number. */
static ig_status value_add(writer *w, tape_inst inst, int *value)
{
    inst.dst = (int16_t)w->t->n_reg;
    TRY(inst_add(w, inst));
    *value = w->t->n_reg++;
    return IG_OK;
}

/* The view in the shape and axis order of the tape's space. */
static void to_space(const writer *w, const view *from, view *to)
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

static int slot_of_root(const writer *w, const ig_array *root)
{
    return root->data ? -1 - root->index : w->slot_of[w->g->same[root->index]];
}

/* The number of the operand, which is added if it is new; -1 on failure. */
static int operand_add(writer *w, operand o)
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
        !graph_room(&t->operand, t->n_operand, &w->room_operand, sizeof *t->operand))
        return -1;
    t->operand[t->n_operand] = o;
    return t->n_operand++;
}

static ig_status emit_node(writer *w, int node);

/* The value of y on this tape: computed, recomputed or loaded. */
static ig_status value_of(writer *w, const ig_array *y, int *value)
{
    int node = y->root->data ? -1 : w->g->same[y->root->index];
    if (node >= 0 && w->value_of[node] < 0 && w->slot_of[node] < 0)
        TRY(emit_node(w, node)); /* not stored: recomputed here */
    if (node >= 0 && w->value_of[node] >= 0) {
        *value = w->value_of[node];
        return IG_OK;
    }
    operand there = {.slot = slot_of_root(w, y->root), .dtype = (ig_dtype)y->dtype};
    to_space(w, &y->view, &there.v);
    int o = operand_add(w, there);
    if (o < 0)
        return IG_ERR_MEMORY;
    for (int i = 0; i < w->t->n_inst; i++)
        if (w->t->inst[i].code == TAPE_LOAD && w->t->inst[i].operand == o) {
            *value = w->t->inst[i].dst;
            return IG_OK;
        }
    tape_inst load = nothing;
    load.code = TAPE_LOAD;
    load.dtype = load.to = (uint8_t)y->dtype;
    load.operand = (int16_t)o;
    return value_add(w, load, value);
}

static ig_status round_half(writer *w, ig_dtype dtype, int *value)
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

/* read and bits have one input that is not read element by element. */
static ig_status emit_table(writer *w, const ig_array *x, tape_inst *inst)
{
    const ig_array *from = x->in[x->n_in - 1];
    operand table = {.slot = slot_of_root(w, from->root),
                     .dtype = (ig_dtype)from->dtype,
                     .v = from->view,
                     .axis_len = x->attr.axis_len,
                     .axis_stride = x->attr.axis_stride,
                     .first_index = x->attr.first_index};
    inst->code = x->op == OP_bits ? TAPE_BITS : TAPE_READ;
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

static ig_status emit_map_row(writer *w, const ig_array *x, tape_inst *inst)
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
static ig_status emit_formula(writer *w, const ig_array *x, int *value)
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
static ig_status emit_node(writer *w, int node)
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
    if (inst.code == TAPE_MAP && x->op != OP_where && op_rows[x->op].result != RESULT_TRUTH)
        TRY(round_half(w, (ig_dtype)x->dtype, &value));
    w->value_of[node] = value;
    w->ops++;
    text_add(w->label, " %s", op_rows[x->op].name);
    return IG_OK;
}

static ig_status emit_store(writer *w, int node)
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
static void finish_tape(writer *w)
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

/* The next tape must not use the values of the node and of its inputs. */
static void forget_values(const writer *w, int node)
{
    const ig_array *x = w->g->node[node];
    w->value_of[node] = -1;
    for (int j = 0; j < x->n_in; j++)
        if (!x->in[j]->root->data)
            w->value_of[w->g->same[x->in[j]->root->index]] = -1;
}

/* The tape of a list of map nodes. core (or -1) is a node whose value the tape starts with; result
 * (or NULL) is an array whose value the tape must leave in t->result. */
static ig_status emit_tape(writer *w, const int *nodes, int n, int core, const ig_array *result)
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
    for (int i = 0; i < n; i++)
        forget_values(w, nodes[i]);
    return IG_OK;
}

/* ---- programs ---- */

/* What all groups share while they are emitted. */
typedef struct emitter {
    const graph *g;
    schedule *s;
    int *slot_of, *value_of;
} emitter;

static program *program_add(emitter *e, program_kind kind)
{
    schedule *s = e->s;
    if (!graph_room(&s->program, s->n_program, &s->room_program, sizeof *s->program))
        return NULL;
    program *p = &s->program[s->n_program++];
    *p = (program){.kind = kind, .pre.result = -1, .post.result = -1};
    return p;
}

static writer writer_for(emitter *e, tape *t, const view *shape, text *label)
{
    return (writer){.g = e->g,
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
    int64_t n = (int64_t)ig_dtype_bytes(o->dtype), whole = s->slot[o->slot].bytes;
    for (int i = 0; i < o->v.ndim; i++)
        n *= o->v.stride[i] || table ? o->v.shape[i] : 1;
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
            p->bytes_read += operand_bytes(s, o, inst->code == TAPE_READ);
    }
}

static ig_status finish_program(const schedule *s, program *p, text *label)
{
    count_tape(s, p, &p->pre);
    count_tape(s, p, &p->post);
    p->label = text_take(label);
    return p->label ? IG_OK : IG_ERR_MEMORY;
}

/* An operand outside of tapes. */
static operand plain_operand(const emitter *e, const ig_array *y)
{
    const ig_array *root = y->root;
    return (operand){.slot = root->data ? -1 - root->index : e->slot_of[e->g->same[root->index]],
                     .dtype = (ig_dtype)y->dtype,
                     .v = y->view};
}

/* Copies `from` to the view `to` of a slot. */
static ig_status emit_copy(emitter *e, const ig_array *from, int slot_to, const view *to,
                           const char *name)
{
    program *p = program_add(e, PROGRAM_MAP);
    if (!p)
        return IG_ERR_MEMORY;
    text label = {0};
    int value;
    writer w = writer_for(e, &p->pre, &from->view, &label);
    text_add(&label, " %s", name);
    ig_status status = value_of(&w, from, &value);
    tape_inst store = nothing;
    store.code = TAPE_STORE;
    store.dtype = store.to = from->dtype;
    if (status == IG_OK) {
        store.a = (int16_t)value;
        operand o = {.slot = slot_to, .dtype = (ig_dtype)from->dtype, .v = *to};
        store.operand = (int16_t)operand_add(&w, o);
        status = store.operand < 0 ? IG_ERR_MEMORY : inst_add(&w, store);
    }
    if (status == IG_OK)
        finish_tape(&w);
    ig_status finished = finish_program(e->s, p, &label);
    return status != IG_OK ? status : finished;
}

static ig_status emit_assemble(emitter *e, const ig_array *x, int node)
{
    for (int i = 0; i < x->n_in; i++)
        if (view_size(&x->in[i]->view) > 0)
            TRY(emit_copy(e, x->in[i], e->slot_of[node], &x->attr.dst[i], "assemble"));
    return IG_OK;
}

static ig_status emit_write(emitter *e, const ig_array *x, int node)
{
    TRY(emit_copy(e, x->in[0], e->slot_of[node], &x->view, "copy"));
    program *p = program_add(e, PROGRAM_WRITE);
    if (!p)
        return IG_ERR_MEMORY;
    text label = {0};
    p->dtype = (ig_dtype)x->dtype;
    p->add = x->attr.add;
    p->in[0] = plain_operand(e, x->in[1]);
    p->in[1] = plain_operand(e, x->in[2]);
    p->out = (operand){.slot = e->slot_of[node],
                       .dtype = p->dtype,
                       .v = *x->attr.dst,
                       .axis_len = x->attr.axis_len,
                       .axis_stride = x->attr.axis_stride};
    p->bytes_read = operand_bytes(e->s, &p->in[0], false) + operand_bytes(e->s, &p->in[1], false);
    p->bytes_written = operand_bytes(e->s, &p->in[1], false);
    text_add(&label, x->attr.add ? " scatter_add" : " scatter");
    return finish_program(e->s, p, &label);
}

/* scan, sort, argsort, searchsorted: views in, one contiguous array out. */
static ig_status emit_rows(emitter *e, const ig_array *x, int node, program_kind kind)
{
    program *p = program_add(e, kind);
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
        p->in[i] = plain_operand(e, x->in[i]);
        p->bytes_read += operand_bytes(e->s, &p->in[i], false);
    }
    p->out = (operand){.slot = e->slot_of[node], .dtype = (ig_dtype)x->dtype, .v = x->view};
    p->bytes_written = bytes_of(x);
    p->flops = kind == PROGRAM_SCAN ? view_size(v) : 0;
    text_add(&label, " %s", op_rows[x->op].name);
    return finish_program(e->s, p, &label);
}

/* ---- user kernels ---- */

/* True if x and y are results of one launch: the same kernel, with the same inputs. */
static bool is_same_launch(const graph *g, const ig_array *x, const ig_array *y)
{
    const node_kernel *a = x->attr.kernel, *b = y->attr.kernel;
    bool same = b && x->attr.copy == y->attr.copy && x->n_in == y->n_in && a->n_key == b->n_key &&
                memcmp(a->key, b->key, (size_t)a->n_key * sizeof *a->key) == 0;
    for (int i = 0; i < x->n_in && same; i++) {
        const ig_array *p = x->in[i], *q = y->in[i];
        const bool leaf = p->root->data || q->root->data;
        same = view_equal(&p->view, &q->view) &&
               (leaf ? p->root == q->root : g->same[p->root->index] == g->same[q->root->index]);
    }
    return same;
}

/* True if the program of another result of the same launch has been emitted. */
static bool is_launched(const schedule *s, int result)
{
    for (int i = 0; i < s->n_program; i++)
        if (s->program[i].kind == PROGRAM_KERNEL && tape_touches(&s->program[i].post, result))
            return true;
    return false;
}

/* True if native code can read the view by its strides: see node_native.strided. */
static bool is_readable(const view *v, ig_dtype dtype)
{
    enum { AXES = 4, ALIGNED = 16 };
    const int64_t size = (int64_t)ig_dtype_bytes(dtype);
    if (v->ndim < 1 || v->ndim > AXES || v->stride[v->ndim - 1] != 1 ||
        v->offset * size % ALIGNED != 0)
        return false;
    for (int i = 0; i < v->ndim - 1; i++)
        if (v->shape[i] > 1 && (v->stride[i] < 1 || v->stride[i] * size % ALIGNED != 0))
            return false;
    return true;
}

/* A kernel gets pointers, so its inputs are contiguous and aligned for its widest vectors. */
static ig_status kernel_input(emitter *e, const node_kernel *k, const ig_array *y, operand *out)
{
    enum { ALIGNED = 64 };
    *out = plain_operand(e, y);
    if (k->native && k->native->strided && (ig_dtype)y->dtype == k->native->dtype &&
        is_readable(&y->view, (ig_dtype)y->dtype))
        return IG_OK;
    if (view_is_contiguous(&y->view) &&
        y->view.offset * (int64_t)ig_dtype_bytes(y->dtype) % ALIGNED == 0)
        return IG_OK;
    view_contiguous(&out->v, y->view.ndim, y->view.shape);
    out->slot = slot_add(e->s, slot_new(SLOT_TEMP, -1, -1, bytes_of(y)));
    return out->slot < 0 ? IG_ERR_MEMORY : emit_copy(e, y, out->slot, &out->v, "copy");
}

/* The slots of all results, with their initial content. An unused result needs memory, too. */
static ig_status kernel_results(emitter *e, const ig_array *x, operand *results)
{
    const node_kernel *k = x->attr.kernel;
    for (int i = 0; i < k->n_result; i++)
        results[i].slot = -1;
    for (int i = 0; i < e->g->n_node; i++) {
        const ig_array *y = e->g->node[i];
        if (e->g->same[i] == i && y->op == OP_kernel && is_same_launch(e->g, x, y))
            results[y->attr.result] =
                (operand){.slot = e->slot_of[i], .dtype = (ig_dtype)y->dtype, .v = y->view};
    }
    for (int i = 0; i < k->n_result; i++) {
        if (results[i].slot < 0)
            results[i].slot = slot_add(e->s, slot_new(SLOT_TEMP, -1, -1, k->result[i].bytes));
        if (results[i].slot < 0)
            return IG_ERR_MEMORY;
        const ig_array *from = k->result[i].from < 0 ? NULL : x->in[k->result[i].from];
        view whole;
        if (from && view_size(&from->view) > 0) {
            view_contiguous(&whole, from->view.ndim, from->view.shape);
            TRY(emit_copy(e, from, results[i].slot, &whole, "copy"));
        }
    }
    return IG_OK;
}

static ig_status kernel_operands(emitter *e, const ig_array *x, operand *inputs, operand *results)
{
    const node_kernel *k = x->attr.kernel;
    TRY(kernel_results(e, x, results));
    for (int i = 0; i < x->n_in; i++)
        inputs[i].slot = -1;
    for (int i = 0; i < k->n_result; i++)
        if (k->result[i].from >= 0)
            inputs[k->result[i].from] = results[i];
    for (int i = 0; i < x->n_in; i++)
        if (inputs[i].slot < 0)
            TRY(kernel_input(e, k, x->in[i], &inputs[i]));
    return IG_OK;
}

static ig_status emit_kernel(emitter *e, const ig_array *x, int node)
{
    const node_kernel *k = x->attr.kernel;
    if (is_launched(e->s, e->slot_of[node]))
        return IG_OK;
    operand *inputs = memory_new((size_t)(x->n_in + 1) * sizeof *inputs);
    operand *results = memory_new((size_t)(k->n_result + 1) * sizeof *results);
    ig_status status = inputs && results ? kernel_operands(e, x, inputs, results) : IG_ERR_MEMORY;
    program *p = status == IG_OK ? program_add(e, PROGRAM_KERNEL) : NULL;
    if (!p) {
        memory_free(inputs);
        memory_free(results);
        return IG_ERR_MEMORY;
    }
    text label = {0};
    p->kernel = node_kernel_retain(x->attr.kernel);
    p->pre.operand = inputs;
    p->pre.n_operand = x->n_in;
    p->post.operand = results;
    p->post.n_operand = k->n_result;
    for (int i = 0; i < x->n_in; i++)
        p->bytes_read += bytes_of(x->in[i]);
    for (int i = 0; i < k->n_result; i++)
        p->bytes_written += k->result[i].bytes;
    text_add(&label, " %s", k->label);
    return finish_program(e->s, p, &label);
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
        p->flops += p->outer * p->inner;
        return;
    }
    p->math = e->g->math;
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
        p->in[i] = plain_operand(e, x->in[i]);
        p->bytes_read += operand_bytes(e->s, &p->in[i], false);
    }
    p->flops += 2 * p->extent[0] * p->extent[1] * p->extent[2] * p->extent[3];
}

static ig_status emit_fused(emitter *e, const group *grp, program_kind kind)
{
    const graph *g = e->g;
    program *p = program_add(e, kind);
    if (!p)
        return IG_ERR_MEMORY;
    const ig_array *x = grp->core >= 0 ? g->node[grp->core] : NULL;
    bool reduces = kind == PROGRAM_REDUCE || kind == PROGRAM_ARGREDUCE;
    text label = {0};
    ig_status status = IG_OK;
    if (grp->n_pre || reduces) {
        const view *shape = grp->n_pre ? &g->node[grp->pre_like]->view : &x->in[0]->view;
        writer w = writer_for(e, &p->pre, shape, &label);
        w.grp = grp;
        w.permuted = grp->permuted;
        status = emit_tape(&w, grp->pre, grp->n_pre, -1, reduces ? x->in[0] : NULL);
        p->flops += w.ops * p->pre.size;
    }
    if (x && status == IG_OK) {
        describe_core(e, p, x);
        text_add(&label, " %s", op_rows[x->op].name);
        writer w = writer_for(e, &p->post, &x->view, &label);
        status = emit_tape(&w, grp->post, grp->n_post, grp->core, NULL);
        p->flops += w.ops * p->post.size;
    }
    ig_status finished = finish_program(e->s, p, &label);
    return status != IG_OK ? status : finished;
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
    case PROGRAM_KERNEL: return emit_kernel(e, x, grp->core);
    case PROGRAM_SCAN:
    case PROGRAM_SORT:
    case PROGRAM_ARGSORT:
    case PROGRAM_SEARCH: return emit_rows(e, x, grp->core, kind);
    default: return emit_fused(e, grp, kind);
    }
}

/* Slots: leaves first, so that the slot of a leaf is its number; then every node that is stored. */
static ig_status add_slots(emitter *e, const bool *stored)
{
    const graph *g = e->g;
    for (int i = 0; i < g->n_leaf; i++)
        if (slot_add(e->s, slot_new(SLOT_LEAF, i, -1, (int64_t)g->leaf[i]->data->bytes)) < 0)
            return IG_ERR_MEMORY;
    for (int i = 0; i < g->n_node; i++) {
        e->slot_of[i] = -1;
        if (stored[i] &&
            (e->slot_of[i] = slot_add(e->s, slot_new(SLOT_TEMP, -1, i, bytes_of(g->node[i])))) < 0)
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
