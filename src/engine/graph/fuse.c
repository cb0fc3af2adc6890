/* Fusing: decides which nodes run as one program, and which are stored or recomputed.
 *
 * Nodes are visited in order. A map node joins the group of an input that it reads element by element
 * (at the same linear index), before or after the core of that group. The depth of a group counts the group boundaries
 * on the way to it. A node joins only a group of the same depth, and every edge between two groups leads to a greater
 * depth. So no cycle can arise, and groups of one depth can be joined. A group without a core that no other group has
 * read yet may also move to the depth of the node that reads it. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/graph.h"
#include "engine/ops/formula.h"
#include <limits.h>
#include <string.h>

enum { GROUP_MOST = 128 }; /* nodes of one program: limits the registers of a tape */

typedef enum role { ROLE_NONE, ROLE_PRE, ROLE_CORE, ROLE_POST } role;

typedef struct fuser {
    const graph *g;
    const schedule_rules *rules;
    group *group;
    int n_group, room_group;
    int *group_of; /* of each node, before groups were joined: see group_at */
    unsigned char *role_of;
    int *joined_to;         /* of each group: itself, or the group that absorbed it */
    int *next;              /* of each node: the next member of its group, or -1 */
    unsigned char *readers; /* of each node: which nodes read it, see reader */
} fuser;

/* READ_TWICE: several nodes read it, or it is an output. READ_BY_OTHERS: not only reductions read it. */
enum reader { READ_ONCE = 1, READ_TWICE = 2, READ_BY_OTHERS = 4 };

/* True if x goes on a tape with others: a map node, not an assembly. */
static bool node_is_map(const ig_array *x)
{
    return x->op != OP_assemble && node_program(x) == PROGRAM_MAP;
}

static int group_at(const fuser *f, int node)
{
    int i = f->group_of[node];
    while (f->joined_to[i] != i)
        i = f->joined_to[i];
    return i;
}

static int64_t node_size(const fuser *f, int node) { return view_size(&f->g->node[node]->view); }

/* The node that input j of x reads, or -1 for a leaf. */
static int source_of(const fuser *f, const ig_array *x, int j)
{
    const ig_array *root = x->in[j]->root;
    return root->data ? -1 : f->g->same[root->index];
}

/* True if y shows all elements of its root, in the same linear order. */
static bool node_is_full_view(const ig_array *y)
{
    return y == y->root || (y->view.offset == 0 && view_is_contiguous(&y->view) &&
                            view_size(&y->view) == view_size(&y->root->view));
}

/* True if x reads a single element of its j-th input for all of its elements. */
static bool node_is_repeated(const ig_array *x, int j)
{
    return x->in[j]->view.ndim == 0 && x->view.ndim > 0;
}

/* True if map node x reads its j-th input at the index that it computes. Exceptions: the key of bits, and the table of
 * read. */
static bool node_reads_elementwise(const ig_array *x, int j)
{
    return !(x->op == OP_bits || (x->op == OP_read && j == 1));
}

/* The node whose shape is the space of part r of the group. */
static int space_like(const group *g, role r) { return r == ROLE_PRE ? g->pre_like : g->core; }

/* True if every input of x can be read in the shape of the part's space. */
static bool fits_space(const fuser *f, const ig_array *x, const group *g, role r)
{
    const view *space = &f->g->node[space_like(g, r)]->view;
    view v;
    if (view_same_shape(&x->view, space))
        return true;
    for (int j = 0; j < x->n_in; j++)
        if (x->op != OP_bits && !node_is_repeated(x, j) &&
            !view_reshape(&x->in[j]->view, space->ndim, space->shape, &v))
            return false;
    return true;
}

/* The multiplications of a matrix product of floats; 0 for any other contraction, and for a narrow product, which may
 * belong to attention. */
static double product_work(const ig_array *x)
{
    enum { NARROW = 128 };
    const uint8_t *n = x->attr.ndim;
    if (x->op != OP_contract || !dtype_is_float((ig_dtype)x->in[0]->dtype) || n[2] > 1 || n[3] != 1)
        return 0;
    const view *a = &x->in[0]->view, *b = &x->in[1]->view;
    /* The rows may be several adjacent axes, such as the texts and tokens of a batch. */
    for (int i = n[0]; i + 1 < n[0] + n[1]; i++)
        if (a->stride[i] != a->shape[i + 1] * a->stride[i + 1] && a->shape[i] > 1)
            return 0;
    const int64_t k = a->shape[a->ndim - 1], columns = n[2] ? b->shape[b->ndim - 2] : 1;
    return k <= NARROW || columns <= NARROW ? 0 : (double)view_size(&x->view) * (double)k;
}

/* True if y has one value for each column. */
static bool is_row(const ig_array *y)
{
    const view *v = &y->view;
    for (int i = 0; i < v->ndim - 1; i++)
        if (v->stride[i] && v->shape[i] > 1)
            return false;
    return v->ndim > 0 && v->stride[v->ndim - 1] == 1;
}

/* True if input i of x is a number, or a value of the group. */
static bool is_simple_input(const fuser *f, const ig_array *x, int i, int gi)
{
    const int s = source_of(f, x, i);
    return s < 0 ? x->in[i]->root->is_number : group_at(f, s) == gi;
}

/* True if map node x, whose dtype differs from the product of group gi, is converted back to `dtype` by map nodes that
 * only use values of the group and numbers. Storing x itself would take more memory than storing the product. */
static bool returns_to(const fuser *f, const ig_array *x, ig_dtype dtype, int gi)
{
    enum { WINDOW = 64 };
    bool open[WINDOW] = {true}, used[WINDOW] = {false}; /* of nodes from x on */
    const int first = x->index;
    for (int y = first + 1; y < f->g->n_node; y++) {
        const ig_array *next = f->g->node[y];
        bool reads = false, simple = true;
        for (int i = 0; i < next->n_in; i++) {
            const int at = source_of(f, next, i) - first;
            const bool here = at >= 0 && at < WINDOW && open[at];
            if (here)
                used[at] = reads = true;
            simple = simple && node_reads_elementwise(next, i) &&
                     (here || is_simple_input(f, next, i, gi));
        }
        if (!reads)
            continue;
        if (!simple || y - first >= WINDOW || node_program(next) != PROGRAM_MAP ||
            view_size(&next->view) != view_size(&x->view))
            return false;
        open[y - first] = next->dtype != dtype;
    }
    for (int i = 0; i < WINDOW; i++)
        if (open[i] && !used[i])
            return false; /* a result */
    return true;
}

/* True if the device's native kernel can apply x as an epilogue of a half-precision product. */
static bool is_simple_epilogue(const fuser *f, const ig_array *x, const ig_array *core, int gi)
{
    const ig_dtype dtype = (ig_dtype)core->dtype;
    if (!f->rules->half_epilogues || !dtype_is_half(dtype) || x->op == OP_bits || x->op == OP_iota)
        return false;
    for (int i = 0; i < x->n_in; i++)
        if (!node_reads_elementwise(x, i) || !is_simple_input(f, x, i, gi))
            return false;
    return x->dtype == dtype || returns_to(f, x, dtype, gi);
}

/* True if x must not join the epilogue of the group's core through input j: native code of the device computes the
 * core, and adds at most a bias. */
static bool is_left_alone(const fuser *f, const ig_array *x, int j, int gi)
{
    const group *g = &f->group[gi];
    const ig_array *core = g->core >= 0 ? f->g->node[g->core] : NULL;
    if (!core || f->rules->plain_product == 0 || f->g->math == IG_MATH_SAME ||
        product_work(core) < (double)f->rules->plain_product)
        return false;
    const bool is_bias = x->op == OP_add && source_of(f, x, j) == g->core &&
                         x->in[0]->root != x->in[1]->root && x->in[1 - j]->dtype == core->dtype &&
                         is_row(x->in[1 - j]);
    return !is_bias && !is_simple_epilogue(f, x, core, gi);
}

static int nodes_most(const fuser *f)
{
    return f->rules->group_nodes ? f->rules->group_nodes : GROUP_MOST;
}

/* True if x is recomputed to save memory, and the group is not: x would be computed, and stored, with the values that it is
 * computed from. */
static bool is_too_early(const ig_array *x, const group *g)
{
    return x->attr.copy && x->attr.copy != g->copy;
}

/* The part of group gi that map node x can join because of input j; ROLE_NONE if it cannot. */
static role can_join(const fuser *f, const ig_array *x, int j, int gi)
{
    const group *g = &f->group[gi];
    int source = source_of(f, x, j);
    if (!node_reads_elementwise(x, j) || node_is_repeated(x, j) || !node_is_full_view(x->in[j]) ||
        g->n_node >= nodes_most(f) || is_too_early(x, g))
        return ROLE_NONE;
    role r = f->role_of[source] == ROLE_PRE ? ROLE_PRE : ROLE_POST;
    if (g->core >= 0) {
        const ig_array *core = f->g->node[g->core];
        if (core->op == OP_assemble || !program_kinds[node_program(core)].has_epilogue)
            return ROLE_NONE;
    }
    if (r == ROLE_POST && is_left_alone(f, x, j, gi))
        return ROLE_NONE;
    if (r == ROLE_PRE && g->permuted && (x->op == OP_bits || x->op == OP_iota))
        return ROLE_NONE;
    if (view_size(&x->view) != node_size(f, space_like(g, r)) || !fits_space(f, x, g, r))
        return ROLE_NONE;
    /* All inputs from this group must come from the same part, element by element. */
    for (int i = 0; i < x->n_in; i++) {
        int s = source_of(f, x, i);
        if (s < 0 || group_at(f, s) != gi)
            continue;
        role other = f->role_of[s] == ROLE_PRE ? ROLE_PRE : ROLE_POST;
        if (other != r || !node_reads_elementwise(x, i) || node_is_repeated(x, i) ||
            !node_is_full_view(x->in[i]))
            return ROLE_NONE;
    }
    return r;
}

static int new_group(fuser *f, int depth)
{
    if (f->n_group == f->room_group) {
        int room = f->room_group;
        if (!memory_room(&f->joined_to, f->n_group, &room, sizeof *f->joined_to) ||
            !memory_room(&f->group, f->n_group, &f->room_group, sizeof *f->group))
            return -1;
    }
    f->joined_to[f->n_group] = f->n_group;
    f->group[f->n_group] = (group){.core = -1, .depth = depth, .pre_like = -1, .members = -1};
    return f->n_group++;
}

static void put_node(fuser *f, int node, int gi, role r)
{
    group *g = &f->group[gi];
    const ig_array *x = f->g->node[node];
    f->group_of[node] = gi;
    f->role_of[node] = (unsigned char)r;
    f->next[node] = g->members;
    g->members = node;
    g->n_node++;
    g->copy = x->attr.copy ? x->attr.copy : g->copy;
    if (r == ROLE_CORE)
        g->core = node;
    if (r == ROLE_PRE && g->pre_like < 0)
        g->pre_like = node;
    if (r == ROLE_PRE && (x->op == OP_bits || x->op == OP_iota))
        g->linear = true;
}

/* True if all nodes of group a, which has no core, can be computed in the shape of part r of group b. */
static bool group_fits(const fuser *f, const group *a, const group *b, role r)
{
    if (node_size(f, a->pre_like) != node_size(f, space_like(b, r)))
        return false;
    for (int i = a->members; i >= 0; i = f->next[i])
        if (!fits_space(f, f->g->node[i], b, r))
            return false;
    return true;
}

/* Joins group `from`, which has no core, to part r of group `into`, if the spaces are the same. */
static bool join_groups(fuser *f, int from, int into, role r)
{
    group *a = &f->group[from], *b = &f->group[into];
    if (a->core >= 0 || a->pre_like < 0 || a->n_node + b->n_node > nodes_most(f) ||
        !group_fits(f, a, b, r) || (r == ROLE_PRE && b->permuted && a->linear))
        return false;
    for (int i = a->members, after; i >= 0; i = after) {
        after = f->next[i];
        f->role_of[i] = (unsigned char)r;
        f->next[i] = b->members;
        b->members = i;
    }
    b->n_node += a->n_node;
    b->copy = b->copy ? b->copy : a->copy;
    b->linear = b->linear || (r == ROLE_PRE && a->linear);
    b->read = b->read || a->read;
    f->joined_to[from] = into;
    return true;
}

/* Marks the other groups that the node reads. */
static void mark_read(fuser *f, int node)
{
    for (int j = 0; j < f->g->node[node]->n_in; j++) {
        const int s = source_of(f, f->g->node[node], j);
        if (s >= 0 && group_at(f, s) != group_at(f, node))
            f->group[group_at(f, s)].read = true;
    }
}

/* The depth of x, given which of its inputs can be fused. */
static int depth_of(const fuser *f, const ig_array *x, const role *join)
{
    int depth = 0;
    for (int j = 0; j < x->n_in; j++) {
        int s = source_of(f, x, j);
        if (s < 0)
            continue;
        int d = f->group[group_at(f, s)].depth + (join[j] == ROLE_NONE);
        depth = d > depth ? d : depth;
    }
    return depth;
}

static void find_readers(const fuser *f)
{
    const graph *g = f->g;
    for (int i = 0; i < g->n_node; i++)
        for (int j = 0; j < g->node[i]->n_in && g->same[i] == i; j++) {
            const int s = source_of(f, g->node[i], j);
            if (s < 0)
                continue;
            f->readers[s] |= f->readers[s] & READ_ONCE ? READ_TWICE : READ_ONCE;
            if (node_program(g->node[i]) != PROGRAM_REDUCE)
                f->readers[s] |= READ_BY_OTHERS;
        }
    for (int i = 0; i < g->n_out; i++)
        f->readers[g->same[g->out[i]->index]] |= READ_TWICE | READ_BY_OTHERS;
}

/* True if the node would be stored by the program of a core, only to be reduced, while its inputs of that program are stored anyway:
 * the square of a gradient. The reduction computes it instead. */
static bool belongs_to_reduction(const fuser *f, const ig_array *x, int node, int gi)
{
    if (f->group[gi].core < 0 || f->readers[node] & READ_BY_OTHERS || !f->readers[node])
        return false;
    for (int j = 0; j < x->n_in; j++) {
        const int s = source_of(f, x, j);
        if (s >= 0 && group_at(f, s) == gi && !(f->readers[s] & READ_TWICE))
            return false;
    }
    return true;
}

/* True if group gi can be computed after other groups of its depth, whose values its epilogue then reads: no group reads it so far.
 * An example is silu(x @ a) * (x @ b). */
static bool can_wait(const fuser *f, int gi, role part)
{
    const group *g = &f->group[gi];
    return part == ROLE_POST && g->core >= 0 && !g->read &&
           node_program(f->g->node[g->core]) == PROGRAM_CONTRACT;
}

static ig_status fuse_map(fuser *f, int node)
{
    const ig_array *x = f->g->node[node];
    role join[FORMULA_INPUTS] = {ROLE_NONE};
    for (int j = 0; j < x->n_in; j++) {
        int s = source_of(f, x, j);
        if (s >= 0)
            join[j] = can_join(f, x, j, group_at(f, s));
    }
    int depth = depth_of(f, x, join), target = -1;
    role part = ROLE_PRE;
    /* Among the groups of this depth prefer one with a core: an epilogue costs no extra pass. */
    for (int j = 0; j < x->n_in; j++) {
        int gi = join[j] == ROLE_NONE ? -1 : group_at(f, source_of(f, x, j));
        if (gi >= 0 && f->group[gi].depth == depth && (target < 0 || f->group[target].core < 0)) {
            target = gi;
            part = join[j];
        }
    }
    if (target >= 0 && belongs_to_reduction(f, x, node, target)) {
        depth = f->group[target].depth + 1;
        target = -1;
    }
    for (int j = 0; j < x->n_in && target >= 0; j++) {
        int s = source_of(f, x, j);
        int gi = s < 0 ? target : group_at(f, s);
        if (gi == target || f->group[gi].depth != depth || join_groups(f, gi, target, part))
            continue;
        target = can_wait(f, target, part) ? target : -1;
        depth++;
    }
    if (target >= 0)
        f->group[target].depth = depth;
    if (target < 0) {
        target = new_group(f, depth);
        part = ROLE_PRE;
    }
    if (target < 0)
        return IG_ERR_MEMORY;
    put_node(f, node, target, part);
    for (int j = 0; j < x->n_in; j++) {
        const int gi = join[j] == ROLE_NONE ? target : group_at(f, source_of(f, x, j));
        if (gi != target && !f->group[gi].read)
            join_groups(f, gi, target, part);
    }
    mark_read(f, node);
    return IG_OK;
}

/* True if y is its root with permuted axes; perm receives the order. */
static bool find_permutation(const ig_array *y, int *perm)
{
    const view *v = &y->view, *r = &y->root->view;
    unsigned used = 0;
    if (v->ndim != r->ndim || v->offset != 0)
        return false;
    for (int i = 0; i < v->ndim; i++) {
        int at = -1;
        for (int k = 0; k < r->ndim && at < 0; k++)
            if (!(used >> k & 1) && r->shape[k] == v->shape[i] &&
                (r->stride[k] == v->stride[i] || r->shape[k] == 1))
                at = k;
        if (at < 0)
            return false;
        used |= 1u << at;
        perm[i] = at;
    }
    return true;
}

/* True if x reduces y, a range of its root's elements, to one value. */
static bool is_span(const ig_array *x, const ig_array *y)
{
    const int64_t n = view_size(&y->view);
    return view_size(&x->view) == 1 && n > 0 && y->view.offset >= 0 &&
           view_is_contiguous(&y->view) && y->view.offset + n <= view_size(&y->root->view);
}

/* True if a node of the group reads at computed places: each of them is checked, also those whose values are not used. */
static bool reads_places(const fuser *f, const group *g)
{
    for (int i = g->members; i >= 0; i = f->next[i])
        if (f->g->node[i]->op == OP_read)
            return true;
    return false;
}

/* True if a reduction can take the group that it reads as its pre part. */
static bool take_pre(fuser *f, int node, int gi)
{
    const ig_array *y = f->g->node[node]->in[0];
    group *g = &f->group[gi];
    if (g->core >= 0 || g->n_node >= nodes_most(f) || is_too_early(f->g->node[node], g))
        return false;
    if (node_is_full_view(y))
        return true;
    if (is_span(f->g->node[node], y) && !reads_places(f, g))
        return g->span = true;
    if (g->linear || !view_same_shape(&y->root->view, &f->g->node[g->pre_like]->view) ||
        !find_permutation(y, g->perm))
        return false;
    g->permuted = true;
    return true;
}

static ig_status fuse_core(fuser *f, int node)
{
    const ig_array *x = f->g->node[node];
    const program_kind k = node_program(x);
    int s = x->n_in == 1 ? source_of(f, x, 0) : -1, target = -1;
    if ((k == PROGRAM_REDUCE || k == PROGRAM_ARGREDUCE) && s >= 0 && f->role_of[s] == ROLE_PRE &&
        take_pre(f, node, group_at(f, s)))
        target = group_at(f, s);
    if (target < 0) {
        int depth = 0;
        for (int j = 0; j < x->n_in; j++) {
            int i = source_of(f, x, j);
            int d = i < 0 ? 0 : f->group[group_at(f, i)].depth + 1;
            depth = d > depth ? d : depth;
        }
        target = new_group(f, depth);
    }
    if (target < 0)
        return IG_ERR_MEMORY;
    put_node(f, node, target, ROLE_CORE);
    mark_read(f, node);
    return IG_OK;
}

static bool may_fail(const fuser *f, const group *g)
{
    return (g->core >= 0 && program_kinds[node_program(f->g->node[g->core])].may_fail) ||
           reads_places(f, g);
}

/* The order of groups: by depth. Within a depth, groups that may fail come first, since no leaf is
 * overwritten before all of them have run, and groups that wait come last. */
enum { RANKS = 3 };
static int rank_of(const group *g)
{
    return RANKS * g->depth + (g->waits ? 2 : g->may_fail ? 0 : 1);
}

/* Sorts the groups that were not joined to another by rank; returns how many. order has room for
 * (RANKS + 1) * n_group + 1: the rest is scratch. */
static int by_rank(const fuser *f, int *order)
{
    int *first = order + f->n_group,
        n = 0; /* where each rank begins; no depth is n_group or more */
    memset(first, 0, (size_t)(RANKS * f->n_group + 1) * sizeof *first);
    for (int i = 0; i < f->n_group; i++)
        if (f->joined_to[i] == i)
            first[rank_of(&f->group[i]) + 1]++;
    for (int d = 1; d < RANKS * f->n_group + 1; d++)
        first[d] += first[d - 1];
    for (int i = 0; i < f->n_group; i++)
        if (f->joined_to[i] == i) {
            order[first[rank_of(&f->group[i])]++] = i;
            n++;
        }
    return n;
}

/* True if g is recomputed to save memory, or reads only recomputed groups. */
static bool is_copied(const fuser *f, const group *g)
{
    bool reads = false, others = false;
    for (int i = g->members; i >= 0; i = f->next[i]) {
        if (f->g->node[i]->attr.copy)
            return true;
        for (int j = 0; j < f->g->node[i]->n_in; j++) {
            const int s = source_of(f, f->g->node[i], j);
            const group *from = s < 0 ? g : &f->group[group_at(f, s)];
            reads = reads || from != g;
            others = others || (from != g && !from->copied);
        }
    }
    return reads && !others;
}

static bool is_assembly(const fuser *f, const group *g)
{
    return g->core >= 0 && f->g->node[g->core]->op == OP_assemble;
}

/* Delays groups that would only occupy memory: a group that is recomputed, or an assembly (padding for a convolution),
 * runs just before the first group that reads it. order: from by_rank. */
static void postpone(fuser *f, const int *order, int n)
{
    for (int k = 0; k < n; k++) {
        group *g = &f->group[order[k]];
        g->latest = INT_MAX;
        g->copied = is_copied(f, g);
        g->waits = g->copied || is_assembly(f, g);
    }
    for (int k = n - 1; k >= 0; k--) {
        group *g = &f->group[order[k]];
        if (g->waits && g->latest != INT_MAX)
            g->depth = g->latest;
        for (int i = g->members; i >= 0; i = f->next[i])
            for (int j = 0; j < f->g->node[i]->n_in; j++) {
                const int s = source_of(f, f->g->node[i], j);
                group *from = s < 0 ? g : &f->group[group_at(f, s)];
                if (from != g && from->latest >= g->depth)
                    from->latest = g->depth - 1;
            }
    }
}

/* Writes the members of each group into one shared list, and packs the groups in the order of ranks. */
static ig_status collect(fuser *f, fusion *out)
{
    int n = f->g->n_node;
    group *sorted = out->group = memory_new((size_t)(f->n_group + 1) * sizeof *sorted);
    out->members = memory_get((size_t)(n + 1) * sizeof *out->members);
    int *position = memory_get((size_t)(f->n_group + 1) * sizeof *position);
    int *order = memory_get((size_t)((RANKS + 1) * f->n_group + 1) * sizeof *order);
    if (!sorted || !out->members || !position || !order) {
        memory_free(position);
        memory_free(order);
        return IG_ERR_MEMORY;
    }
    for (int i = 0; i < f->n_group; i++)
        f->group[i].may_fail = may_fail(f, &f->group[i]);
    const int n_left = out->n_group = by_rank(f, order);
    postpone(f, order, n_left);
    by_rank(f, order);
    for (int k = 0; k < n_left; k++) {
        position[order[k]] = k;
        sorted[k] = f->group[order[k]];
    }
    memory_free(order);
    int *at = out->members;
    for (int k = 0; k < n_left; k++) { /* each group's share of the list */
        sorted[k].pre = at;
        sorted[k].post = at + sorted[k].n_node;
        at += sorted[k].n_node;
    }
    for (int i = 0; i < n; i++) {
        if (f->g->same[i] != i || f->role_of[i] == ROLE_CORE)
            continue;
        group *g = &sorted[position[group_at(f, i)]];
        if (f->role_of[i] == ROLE_PRE)
            g->pre[g->n_pre++] = i;
        else
            *--g->post = i, g->n_post++;
    }
    for (int k = 0; k < n_left; k++) { /* post grew downwards: put it in order */
        int *post = sorted[k].post, m = sorted[k].n_post;
        for (int i = 0; i < m / 2; i++) {
            int t = post[i];
            post[i] = post[m - 1 - i], post[m - 1 - i] = t;
        }
    }
    memory_free(position);
    return IG_OK;
}

/* ---- recomputation: values that are cheaper to recompute than to store and load ---- */

/* True if x reads few distinct elements of its input j relative to its size: the input is broadcast along rows or
 * columns. */
static bool is_broadcast(const ig_array *x, int j)
{
    enum { REPEATS_LEAST = 8 };
    const ig_array *y = x->in[j];
    int64_t different = 1;
    for (int i = 0; i < y->view.ndim; i++)
        different *= y->view.stride[i] ? y->view.shape[i] : 1;
    return different <= view_size(&x->view) / REPEATS_LEAST;
}

/* True if map node x is one cheap step from at most one array, such as the difference of a row from its
 * mean, and all its inputs come from other groups. */
static bool is_one_step(const fuser *f, int node)
{
    const ig_array *x = f->g->node[node];
    int arrays = 0;
    if ((x->op != OP_add && x->op != OP_subtract && x->op != OP_multiply) || x->attr.copy ||
        dtype_is_half((ig_dtype)x->dtype))
        return false;
    for (int j = 0; j < x->n_in; j++) {
        const int s = source_of(f, x, j);
        if (s >= 0 && group_at(f, s) == group_at(f, node))
            return false;
        arrays += !is_broadcast(x, j);
    }
    return arrays <= 1;
}

/* True if x converts halves to a wider dtype: storing the halves takes less memory. */
static bool node_widens(const ig_array *x)
{
    return x->op == OP_astype && !x->attr.copy && dtype_is_half((ig_dtype)x->in[0]->dtype) &&
           dtype_is_float((ig_dtype)x->dtype) && !dtype_is_half((ig_dtype)x->dtype);
}

/* True if recomputing the node in this space is cheaper than storing and loading it. Its inputs must be in memory, not
 * recomputed themselves. */
static bool is_cheap(const fuser *f, int node, const view *space)
{
    const ig_array *x = f->g->node[node];
    view v;
    if (!is_one_step(f, node) && !node_widens(x))
        return false;
    for (int j = 0; j < x->n_in; j++) {
        const int s = source_of(f, x, j);
        if ((!node_is_repeated(x, j) &&
             !view_reshape(&x->in[j]->view, space->ndim, space->shape, &v)) ||
            (s >= 0 && is_one_step(f, s)))
            return false;
    }
    return true;
}

/* True if the node recomputes its j-th input, node s of another group. Of a table of converted halves, the halves are
 * read, and the values that were read are converted. */
static bool is_recomputed(const fuser *f, int node, int j, int s)
{
    const ig_array *x = f->g->node[node];
    const group *g = &f->group[group_at(f, node)];
    if (x->op == OP_read && j == 1)
        return node_widens(f->g->node[s]) && node_is_full_view(f->g->node[s]->in[0]) &&
               source_of(f, f->g->node[s], 0) >= 0;
    const program_kind kind = node_program(x);
    const bool folds = f->role_of[node] == ROLE_CORE &&
                       (kind == PROGRAM_REDUCE || kind == PROGRAM_ARGREDUCE) && g->pre_like < 0;
    if ((f->role_of[node] != ROLE_PRE && !folds) || !node_reads_elementwise(x, j) ||
        node_is_repeated(x, j) || !node_is_full_view(x->in[j]))
        return false;
    return is_cheap(f, s, folds ? &x->in[j]->view : &f->g->node[g->pre_like]->view);
}

/* Stores what a recomputed node reads: of converted halves, the halves. */
static void store_input(const fuser *f, const ig_array *x, int k, bool *stored)
{
    const int s = source_of(f, x, k);
    const ig_array *y = s < 0 ? NULL : f->g->node[s];
    if (y && node_widens(y) && node_is_full_view(x->in[k]) && node_is_full_view(y->in[0]))
        store_input(f, y, 0, stored);
    else if (y)
        stored[s] = true;
}

/* Stores outputs, nodes that another group reads without recomputing them, and what a recomputed node reads. */
static void find_stored(const fuser *f, bool *stored)
{
    const graph *g = f->g;
    for (int i = 0; i < g->n_node; i++)
        for (int j = 0; j < g->node[i]->n_in && g->same[i] == i; j++) {
            const int s = source_of(f, g->node[i], j);
            if (s < 0 || group_at(f, s) == group_at(f, i))
                continue;
            const ig_array *const x = g->node[s];
            const bool again = is_recomputed(f, i, j, s);
            stored[s] = stored[s] || !again;
            for (int k = 0; k < x->n_in && again; k++)
                store_input(f, x, k, stored);
        }
    for (int i = 0; i < g->n_out; i++)
        stored[g->same[g->out[i]->index]] = true;
}

/* Storing a node takes all points of the pre part. If one of a group with a span is stored, the node that the core reads is
 * stored too: then the pre part is a separate program. */
static void store_spans(const graph *g, fusion *f)
{
    for (int k = 0; k < f->n_group; k++) {
        const group *grp = &f->group[k];
        bool any = false;
        for (int i = 0; i < grp->n_pre && grp->span; i++)
            any = any || f->stored[grp->pre[i]];
        if (any)
            f->stored[g->same[g->node[grp->core]->in[0]->root->index]] = true;
    }
}

/* Removes the nodes of a list that no other node of the group needs: all their readers recompute them. used: of each
 * node, whether the core or a later node of the group reads it. */
static int keep_needed(const fuser *f, const fusion *out, int *list, int n, bool *used)
{
    int first = n;
    for (int i = n - 1; i >= 0; i--) {
        const ig_array *x = f->g->node[list[i]];
        if (!out->stored[list[i]] && !used[list[i]])
            continue;
        for (int j = 0; j < x->n_in; j++) {
            const int s = source_of(f, x, j);
            if (s >= 0 && group_at(f, s) == group_at(f, list[i]))
                used[s] = true;
        }
        list[--first] = list[i];
    }
    memmove(list, list + first, (size_t)(n - first) * sizeof *list);
    return n - first;
}

static ig_status drop_unneeded(const fuser *f, fusion *out)
{
    bool *used = memory_new((size_t)f->g->n_node + 1);
    if (!used)
        return IG_ERR_MEMORY;
    for (int k = out->n_group - 1; k >= 0; k--) {
        group *g = &out->group[k];
        g->n_post = keep_needed(f, out, g->post, g->n_post, used);
        const ig_array *core = g->core < 0 ? NULL : f->g->node[g->core];
        for (int j = 0; core && j < core->n_in; j++)
            if (source_of(f, core, j) >= 0)
                used[source_of(f, core, j)] = true;
        g->n_pre = keep_needed(f, out, g->pre, g->n_pre, used);
    }
    int n = 0;
    for (int k = 0; k < out->n_group; k++)
        if (out->group[k].core >= 0 || out->group[k].n_pre)
            out->group[n++] = out->group[k];
    out->n_group = n;
    memory_free(used);
    return IG_OK;
}

void fusion_free(fusion *f)
{
    memory_free(f->group);
    memory_free(f->members);
    memory_free(f->stored);
    *f = (fusion){0};
}

ig_status schedule_fuse(const graph *g, const schedule_rules *rules, fusion *out)
{
    fuser f = {.g = g, .rules = rules};
    ig_status status = IG_ERR_MEMORY;
    *out = (fusion){.stored = memory_new((size_t)g->n_node + 1)};
    f.group_of = memory_new((size_t)(g->n_node + 1) * sizeof *f.group_of);
    f.role_of = memory_new((size_t)g->n_node + 1);
    f.next = memory_get((size_t)(g->n_node + 1) * sizeof *f.next);
    f.readers = memory_new((size_t)g->n_node + 1);
    if (out->stored && f.group_of && f.role_of && f.next && f.readers)
        status = IG_OK;
    if (status == IG_OK)
        find_readers(&f);
    for (int i = 0; i < g->n_node && status == IG_OK; i++)
        if (g->same[i] == i)
            status = node_is_map(g->node[i]) ? fuse_map(&f, i) : fuse_core(&f, i);
    if (status == IG_OK)
        status = collect(&f, out);
    if (status == IG_OK) {
        find_stored(&f, out->stored);
        store_spans(g, out);
        status = drop_unneeded(&f, out);
    }
    memory_free(f.group_of);
    memory_free(f.role_of);
    memory_free(f.next);
    memory_free(f.readers);
    memory_free(f.group);
    memory_free(f.joined_to);
    return status;
}
