/* Builds a graph with copies of nodes, in memory of its own. No array outside of it refers to its nodes, so they are plain
 * copies of the structs and are not counted. Copies stand right before the first node that reads them. */
#include "engine/graph/recompute_copy.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* A piece of memory for structs; pieces are freed together. */
typedef struct recompute_room {
    struct recompute_room *next;
    size_t used, bytes;
} recompute_room;

static void *room_get(recompute_room **r, size_t bytes)
{
    enum { PIECE = 1 << 18, ALIGN = 64 };
    const size_t head = (sizeof(recompute_room) + ALIGN - 1) / ALIGN * ALIGN;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!*r || (*r)->used + bytes > (*r)->bytes) {
        const size_t room = head + (bytes > PIECE ? bytes : PIECE);
        recompute_room *piece = memory_get(room);
        if (!piece)
            return NULL;
        *piece = (recompute_room){*r, head, room};
        *r = piece;
    }
    void *at = (unsigned char *)*r + (*r)->used;
    (*r)->used += bytes;
    return at;
}

typedef struct copier {
    const graph *g;
    const recomputed *from;
    const bool *again, *late;
    int round;
    ig_array **plain,
        **copy; /* of each node: the struct that stands for it, and its copy; or NULL */
    bool *read,
        *read_copy;    /* of each node: whether a node of the new graph reads it, or its copy */
    int *stack, *next; /* nodes whose copies are being made, and the next input of each node */
    recomputed *out;
} copier;

/* The node that input j of node i reads, or -1 for a leaf. */
static int source_of(const copier *c, int i, int j)
{
    const ig_array *root = c->g->node[i]->in[j]->root;
    return root->data ? -1 : c->g->same[root->index];
}

/* Finds what the outputs depend on. If only late nodes read a node, nothing reads it once they read its copy. */
static void find_read(const copier *c)
{
    const graph *g = c->g;
    for (int i = 0; i < g->n_out; i++)
        c->read[g->same[g->out[i]->index]] = true;
    for (int i = g->n_node - 1; i >= 0; i--)
        for (int j = 0; j < g->node[i]->n_in; j++) {
            const int s = source_of(c, i, j);
            if (s < 0 || !(c->read[i] || c->read_copy[i]))
                continue;
            if (c->again[s] && (c->read_copy[i] || c->late[i]))
                c->read_copy[s] = true;
            if (!c->again[s] || (c->read[i] && !c->late[i]))
                c->read[s] = true;
        }
}

/* What an input of a node becomes: reads the copy of a node that is computed again, if `late`. */
static ig_array *input_of(const copier *c, ig_array *y, bool late)
{
    const ig_array *root = y->root;
    if (root->data)
        return y;
    const int node = c->g->same[root->index];
    ig_array *to = late && c->again[node] ? c->copy[node] : c->plain[node];
    if (y == root)
        return to;
    ig_array *seen = room_get(&c->out->room, sizeof *seen);
    if (seen) {
        memcpy(seen, y, sizeof *seen);
        seen->root = to;
    }
    return seen;
}

/* Appends a node like node i; copy: it is computed again. */
static ig_array *append(copier *c, int i, bool copy)
{
    recomputed *out = c->out;
    graph *g = &out->g;
    const ig_array *x = c->g->node[i];
    const size_t list = (size_t)x->n_in * sizeof *x->in;
    ig_array *y = room_get(&out->room, sizeof *y);
    ig_array **in = y && x->n_in > INPUTS_FEW ? room_get(&out->room, list) : NULL;
    if (!y || (x->n_in > INPUTS_FEW && !in))
        return NULL;
    memcpy(y, x, sizeof *y);
    y->root = y;
    y->in = in ? in : y->in_few;
    for (int j = 0; j < x->n_in; j++)
        if (!(y->in[j] = input_of(c, x->in[j], copy || c->late[i])))
            return NULL;
    if (copy)
        y->attr.copy = (uint16_t)(UINT16_MAX - c->round);
    y->index = g->n_node;
    g->node[g->n_node] = y;
    g->same[g->n_node] = g->n_node;
    out->origin[g->n_node] = c->from ? c->from->origin[i] : i;
    out->copied[g->n_node] = copy || (c->from && c->from->copied[i]);
    out->n_copied += out->copied[g->n_node++];
    return y;
}

/* Appends the copy of a node after the copies that it reads. Without recursion. */
static ig_status append_copies(copier *c, int node)
{
    int depth = 0;
    if (c->copy[node])
        return IG_OK;
    c->stack[depth++] = node;
    while (depth) {
        const int i = c->stack[depth - 1];
        bool waits = false;
        while (c->next[i] < c->g->node[i]->n_in && !waits) {
            const int s = source_of(c, i, c->next[i]++);
            if (s >= 0 && c->again[s] && !c->copy[s]) {
                c->stack[depth++] = s;
                waits = true;
            }
        }
        if (waits)
            continue;
        if (!c->copy[i] && !(c->copy[i] = append(c, i, true)))
            return IG_ERR_MEMORY;
        depth--;
    }
    return IG_OK;
}

static ig_status append_all(copier *c)
{
    const graph *g = c->g;
    for (int i = 0; i < g->n_node; i++) {
        if (!c->read[i])
            continue;
        for (int j = 0; j < g->node[i]->n_in && c->late[i]; j++) {
            const int s = source_of(c, i, j);
            if (s >= 0 && c->again[s])
                TRY(append_copies(c, s));
        }
        if (!(c->plain[i] = append(c, i, false)))
            return IG_ERR_MEMORY;
    }
    for (int i = 0; i < g->n_out; i++)
        c->out->g.out[i] = c->plain[g->same[g->out[i]->index]];
    return IG_OK;
}

ig_status recompute_copy(const graph *g, const recomputed *from, const bool *again,
                         const bool *late, int round, recomputed *out)
{
    const size_t n = (size_t)g->n_node + 1, all = 2 * n;
    recompute_room *scratch = NULL;
    copier c = {.g = g, .from = from, .again = again, .late = late, .round = round, .out = out};
    c.plain = room_get(&scratch, 2 * n * sizeof *c.plain);
    c.stack = room_get(&scratch, 2 * n * sizeof *c.stack);
    c.read = room_get(&scratch, 2 * n);
    out->g = *g;
    out->g.n_node = 0;
    out->g.node = room_get(&out->room, all * sizeof *out->g.node);
    out->g.same = room_get(&out->room, all * sizeof *out->g.same);
    out->g.out = room_get(&out->room, ((size_t)g->n_out + 1) * sizeof *out->g.out);
    out->origin = room_get(&out->room, all * sizeof *out->origin);
    out->copied = room_get(&out->room, all);
    ig_status status = IG_ERR_MEMORY;
    if (c.plain && c.stack && c.read && out->g.node && out->g.same && out->g.out && out->origin &&
        out->copied) {
        c.copy = c.plain + n;
        c.next = c.stack + n;
        c.read_copy = c.read + n;
        memset(c.read, 0, 2 * n);
        memset(c.plain, 0, 2 * n * sizeof *c.plain);
        memset(c.next, 0, n * sizeof *c.next);
        find_read(&c);
        status = append_all(&c);
    }
    while (scratch) {
        recompute_room *after = scratch->next;
        memory_free(scratch);
        scratch = after;
    }
    return status;
}

void recompute_free(recomputed *r)
{
    while (r->room) {
        recompute_room *after = r->room->next;
        memory_free(r->room);
        r->room = after;
    }
    *r = (recomputed){0};
}

/* ---- for people ---- */

static const char *name_of(const ig_array *x)
{
    return x->op == OP_kernel                    ? x->attr.kernel->name
           : x->attr.fold && x->op != OP_argsort ? op_rows[x->attr.fold].name
                                                 : op_rows[x->op].name;
}

void recompute_text(const recomputed *r, const graph *first, text *t)
{
    bool any = false;
    for (int i = 0; i < r->g.n_node; i++) {
        const char *name = name_of(first->node[r->origin[i]]);
        int count = 0;
        bool earlier = !r->copied[i];
        for (int k = 0; k < r->g.n_node && !earlier; k++) {
            const bool same = r->copied[k] && name_of(first->node[r->origin[k]]) == name;
            earlier = same && k < i;
            count += same;
        }
        if (!earlier)
            text_add(t, "%s %d %s", any ? "," : "", count, name);
        any = any || !earlier;
    }
}
