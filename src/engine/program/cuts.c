/* How nodes and programs are cut: see cuts.h. */
#include "engine/program/cuts.h"

#include "engine/ops/ops.h"

#include <string.h>

const cut_rule cut_rules[PROGRAM_KINDS] = {
    [PROGRAM_MAP] = {CUT_APART, {SEES_SAME, SEES_SAME}},
    [PROGRAM_REDUCE] = {CUT_TREE, {SEES_ROWS}},
    [PROGRAM_ARGREDUCE] = {CUT_TREE, {SEES_ROWS}},
    [PROGRAM_CONTRACT] = {CUT_ORDERED, {SEES_LEFT, SEES_RIGHT}},
    [PROGRAM_KERNEL] = {CUT_APART,
                        {SEES_ALL}}, /* unless the library's kernel allows more: kernel_cuts */
    [PROGRAM_SCAN] = {CUT_CARRY, {SEES_LINES}},
    [PROGRAM_SORT] = {CUT_MERGE, {SEES_LINES}},
    [PROGRAM_ARGSORT] = {CUT_MERGE, {SEES_LINES}},
    [PROGRAM_SEARCH] = {CUT_UPDATE, {SEES_ROW, SEES_SAME}},
    [PROGRAM_WRITE] = {CUT_UPDATE, {SEES_ALL}},
};

program_kind node_program(const ig_array *x)
{
    switch (x->op) {
    case OP_write: return PROGRAM_WRITE;
    case OP_contract: return PROGRAM_CONTRACT;
    case OP_kernel: return PROGRAM_KERNEL;
    case OP_sort: return PROGRAM_SORT;
    case OP_argsort: return PROGRAM_ARGSORT;
    case OP_searchsorted: return PROGRAM_SEARCH;
    case OP_argmax:
    case OP_argmin: return PROGRAM_ARGREDUCE;
    case OP_cumulative_sum:
    case OP_cumulative_prod:
    case OP_cumulative_max:
    case OP_cumulative_min: return PROGRAM_SCAN;
    default: return op_rows[x->op].cls == CLASS_REDUCE ? PROGRAM_REDUCE : PROGRAM_MAP;
    }
}

/* ---- nodes ---- */

node_cut node_cut_whole(void)
{
    const cut_input all = {.row = IG_MAX_NDIM};
    return (node_cut){.join = CUT_APART, .in = {all, all}};
}

static cut_input input_cuts(const ig_array *x, int i, cut_sees sees)
{
    const int ndim = x->view.ndim, none = IG_MAX_NDIM, nb = x->attr.ndim[0], nm = x->attr.ndim[1];
    const int last = i < x->n_in ? x->in[i]->view.ndim - 1 : 0;
    switch (sees) {
    case SEES_SAME: return (cut_input){.shared = ndim, .row = none};
    case SEES_ROWS: return (cut_input){.shared = ndim, .row = ndim};
    case SEES_LINES: return (cut_input){.shared = ndim - 1, .row = ndim - 1};
    case SEES_ROW: return (cut_input){.row = last};
    case SEES_LEFT: return (cut_input){.shared = nb + nm, .row = nb + nm};
    case SEES_RIGHT: {
        const int shared = nb + x->attr.ndim[2];
        return (cut_input){.shared = shared, .from = nb, .skip = nm, .row = shared};
    }
    default: return (cut_input){.row = none};
    }
}

/* True if all inputs of a kernel have the stacks of its result. */
static bool is_stack(const ig_array *x)
{
    const int stacks = x->attr.kernel->stacks;
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i]->view.ndim < stacks ||
            memcmp(x->in[i]->view.shape, x->view.shape, (size_t)stacks * sizeof(int64_t)) != 0)
            return false;
    return x->n_in > 0;
}

/* A kernel of the library computes the matrices of a stack one by one, or counts along its first input's last axis. */
static node_cut kernel_cuts(const ig_array *x)
{
    node_cut c = node_cut_whole();
    if (is_stack(x))
        c.free = c.in[0].shared = c.in[1].shared = x->attr.kernel->stacks;
    if (x->attr.kernel->sums) {
        c.join = CUT_UPDATE;
        c.in[0].row = x->in[0]->view.ndim - 1;
    }
    return c;
}

node_cut node_cut_of(const ig_array *x)
{
    const cut_rule *kind = &cut_rules[node_program(x)];
    const bool lines = kind->in[0] == SEES_LINES;
    if (x->op == OP_kernel)
        return kernel_cuts(x);
    node_cut c = {.join = kind->join, .free = x->view.ndim - lines};
    for (int i = 0; i < 2; i++)
        c.in[i] = input_cuts(x, i, kind->in[i]);
    if (x->op ==
        OP_read) { /* the indexed axis is a row: parts of it fill the elements whose index lies in them */
        c.join = CUT_UPDATE;
        c.in[1] = input_cuts(x, 1, SEES_ROWS);
    } else if (x->op == OP_bits) {
        c.in[0] = input_cuts(x, 0, SEES_ALL); /* the key */
    }
    return c;
}

box node_cut_box(const node_cut *c, int i, const box *part, const view *v)
{
    const cut_input *in = &c->in[i > 0];
    box b = box_whole(v->ndim, v->shape);
    for (int a = 0; a < v->ndim && a < in->shared; a++) {
        const int at = a < in->from ? a : a + in->skip;
        if (v->shape[a] == 1) /* it may be the same for all of the result's axis */
            continue;
        b.lo[a] = part->lo[at];
        b.hi[a] = part->hi[at];
    }
    return b;
}

/* ---- programs ---- */

/* The group of axes, b or m, whose points are the rows of a contraction. */
static int contract_group(const program *p) { return p->extent[0] > 1 ? 0 : 1; }

const operand *program_operand(const program *p, int i)
{
    const program_kind_row *kind = &program_kinds[p->kind];
    return i == 2 ? (kind->core_output ? &p->out : NULL) : i < kind->core_inputs ? &p->in[i] : NULL;
}

int64_t program_rows(const program *p)
{
    switch (p->kind) {
    case PROGRAM_MAP: return p->pre.ndim ? p->pre.shape[0] : 0;
    case PROGRAM_SEARCH: return p->in[1].v.ndim ? p->in[1].v.shape[0] : 0;
    case PROGRAM_CONTRACT: return p->ndim[contract_group(p)] ? p->extent[contract_group(p)] : 0;
    case PROGRAM_KERNEL:
    case PROGRAM_WRITE: return 0;
    default: return p->outer;
    }
}

int program_row_axis(const program *p, int i)
{
    const cut_sees sees = i == 2 ? SEES_SAME : cut_rules[p->kind].in[i];
    switch (sees) {
    case SEES_SAME:
    case SEES_LINES: return p->kind == PROGRAM_WRITE ? -1 : 0;
    case SEES_LEFT: return contract_group(p) ? p->ndim[0] : 0;
    case SEES_RIGHT: return contract_group(p) ? -1 : 0;
    default: return -1;
    }
}

void program_set_rows(program *p, int64_t n)
{
    if (p->kind == PROGRAM_CONTRACT)
        p->extent[contract_group(p)] = n;
    else if (p->kind != PROGRAM_MAP && p->kind != PROGRAM_SEARCH)
        p->outer = n;
}
