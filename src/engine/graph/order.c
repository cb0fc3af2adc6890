/* Order and key: which nodes are computed, in which order, which are stored for the caller, which are
 * equal, and the bytes that describe the structure of the whole graph. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/graph.h"
#include <string.h>

/* Makes room for n elements; the content is lost. */
static bool at_least(void *array_pointer, size_t n, size_t *room, size_t element_bytes)
{
    void *at;
    if (n <= *room)
        return true;
    memcpy(&at, array_pointer, sizeof at);
    void *bigger = memory_get(2 * n * element_bytes);
    if (!bigger)
        return false;
    memory_free(at);
    memcpy(array_pointer, &bigger, sizeof bigger);
    *room = 2 * n;
    return true;
}

/* ---- order ---- */

static ig_status visit_leaf(graph *g, ig_array *x)
{
    if (x->mark == g->epoch)
        return IG_OK;
    if (!memory_room(&g->leaf, g->n_leaf, &g->room_leaf, sizeof *g->leaf))
        return IG_ERR_MEMORY;
    x->mark = g->epoch;
    x->index = -1 - g->n_leaf;
    g->leaf[g->n_leaf++] = x;
    return IG_OK;
}

/* See ig_missing. */
static _Thread_local const ig_array *missing;

const ig_array *ig_missing(void)
{
    const ig_array *x = missing;
    missing = NULL;
    return x;
}

static ig_status push(graph *g, ig_array *x, int *depth)
{
    if (array_is_donated(x)) {
        missing = x;
        FAIL(IG_ERR_ARGUMENT,
             "eval: an array that this needs has no elements. Inside vmap and jit an array stands "
             "for many, so its elements cannot be read: use where(condition, x1, x2) and ops of "
             "whole arrays. Or it was donated to an earlier evaluation: evaluate arrays that "
             "depend on it in that evaluation, or before");
    }
    if (!memory_room(&g->stack, *depth, &g->room_stack, sizeof *g->stack))
        return IG_ERR_MEMORY;
    x->mark = g->epoch;
    x->index = 0;
    g->stack[(*depth)++] = x;
    return IG_OK;
}

/* Depth first without recursion. While x is on the stack, x->index is the next input to visit. */
static ig_status visit(graph *g, ig_array *from)
{
    int depth = 0;
    if (from->mark != g->epoch)
        TRY(push(g, from, &depth));
    while (depth) {
        ig_array *x = g->stack[depth - 1];
        if (x->index < x->n_in) {
            ig_array *y = x->in[x->index++]->root;
            if (y->data)
                TRY(visit_leaf(g, y));
            else if (y->mark != g->epoch)
                TRY(push(g, y, &depth));
            continue;
        }
        if (!memory_room(&g->node, g->n_node, &g->room_node, sizeof *g->node))
            return IG_ERR_MEMORY;
        x->index = g->n_node;
        g->node[g->n_node++] = x;
        depth--;
    }
    return IG_OK;
}

/* The number of references to y's root that end when a node with input y dies: the node's own reference, or the references
 * of a view that nothing else holds and of the views that it was made from. Each view refers to its root and to in[0]. */
static int root_references(const ig_array *y)
{
    int n = 0;
    for (; y != y->root; y = y->in[0], n++)
        if (atomic_load(&y->refs) != 1 || y->n_in == 0)
            return n;
    return n + 1;
}

/* A leaf is donated if all references to it come from nodes that die. Outputs drop their inputs unless they
 * keep their history; any other node dies if all references to it come from nodes that die. */
static ig_status find_donated(graph *g)
{
    size_t n = (size_t)(g->n_node + g->n_leaf);
    if (!at_least(&g->scratch, n + 1, &g->room_scratch, sizeof *g->scratch) ||
        !at_least(&g->donated, (size_t)g->n_leaf + 1, &g->room_donated, sizeof *g->donated))
        return IG_ERR_MEMORY;
    int *references = g->scratch, *of_leaf = references + g->n_node;
    memset(references, 0, n * sizeof *references);
    for (int i = 0; i < g->n_out; i++)
        if (!array_keeps_history(g->out[i]))
            references[g->out[i]->index] = -1; /* it drops its inputs in any case */
    for (int i = g->n_node - 1; i >= 0; i--) {
        const ig_array *x = g->node[i];
        if (references[i] >= 0 && references[i] != atomic_load(&x->refs))
            continue;
        for (int j = 0; j < x->n_in; j++) {
            const ig_array *y = x->in[j];
            int *count =
                y->root->data ? &of_leaf[-1 - y->root->index] : &references[y->root->index];
            if (*count >= 0)
                *count += root_references(y);
        }
    }
    for (int i = 0; i < g->n_leaf; i++)
        g->donated[i] = !array_is_packed(g->leaf[i]) &&
                        of_leaf[i] == atomic_load(&g->leaf[i]->refs) &&
                        atomic_load(&g->leaf[i]->data->refs) == 1 && !g->leaf[i]->data->foreign &&
                        !g->leaf[i]->data->borrowed;
    return IG_OK;
}

/* Counts the references to each node that come from nodes of the graph. read receives whether a node of scope `level` or an inner one reads the node. */
static void count_references(const graph *g, int level, int *count, bool *read)
{
    for (int i = 0; i < g->n_node; i++) {
        const ig_array *x = g->node[i];
        for (int j = 0; j < x->n_in; j++) {
            const ig_array *y = x->in[j];
            if (y->root->data)
                continue;
            count[y->root->index] += root_references(y);
            read[y->root->index] = read[y->root->index] || x->level >= level;
        }
    }
}

/* True if x may be held beyond the evaluation: it belongs to an outer scope, or to no scope. */
static bool may_be_held(const ig_array *x, int level) { return x->level < level || !x->scope; }

/* Marks the nodes that depend on a donated leaf: they cannot be computed again after this evaluation, so no caller may need
 * them later. */
static void mark_spent(const graph *g, bool *spent)
{
    for (int i = 0; i < g->n_node; i++) {
        const ig_array *x = g->node[i];
        spent[i] = false;
        for (int j = 0; j < x->n_in && !spent[i]; j++) {
            const ig_array *root = x->in[j]->root;
            spent[i] = root->data ? g->donated[-1 - root->index] : spent[root->index];
        }
    }
}

ig_status graph_keep(graph *g)
{
    const int level = scope_level();
    bool any = false;
    for (int i = 0; i < g->n_node && !any; i++)
        any = may_be_held(g->node[i], level);
    if (!any)
        return IG_OK;
    const size_t n = (size_t)g->n_node, words = 2 * n / sizeof(int) + 1;
    if (!at_least(&g->scratch, n + words, &g->room_scratch, sizeof *g->scratch))
        return IG_ERR_MEMORY;
    int *count = g->scratch;
    bool *read = (bool *)(count + n), *spent = read + n;
    memset(count, 0, (n + words) * sizeof *count);
    count_references(g, level, count, read);
    mark_spent(g, spent);
    for (int i = 0; i < g->n_out; i++)
        read[g->out[i]->index] = false; /* stored anyway */
    for (int i = 0; i < g->n_node; i++) {
        ig_array *x = g->node[i];
        const bool held = x->scope ? x->level < level : atomic_load(&x->refs) > count[i];
        if (!held || !read[i] || spent[i])
            continue;
        if (!memory_room(&g->out, g->n_out, &g->room_out, sizeof *g->out))
            return IG_ERR_MEMORY;
        g->out[g->n_out++] = x;
    }
    return IG_OK;
}

void graph_donate(graph *g, ig_array *const *arrays, int n, graph_donation how)
{
    for (int i = 0; i < n; i++) {
        const ig_array *x = arrays[i]->root;
        if (x->data && x->mark == g->epoch && !array_is_packed(x))
            g->donated[-1 - x->index] = (unsigned char)how;
    }
}

uint32_t graph_epoch(void)
{
    static uint32_t last;
    return ++last;
}

ig_status graph_order(graph *g, ig_array *const *arrays, int n)
{
    g->epoch = graph_epoch();
    g->n_node = g->n_leaf = g->n_out = 0;
    for (int i = 0; i < n; i++) {
        ig_array *x = arrays[i]->root;
        if (x->data)
            continue;
        bool asked = false;
        for (int j = 0; j < g->n_out && !asked; j++)
            asked = g->out[j] == x;
        if (asked)
            continue;
        TRY(visit(g, x));
        if (!memory_room(&g->out, g->n_out, &g->room_out, sizeof *g->out))
            return IG_ERR_MEMORY;
        g->out[g->n_out++] = x;
    }
    g->n_asked = g->n_out;
    return find_donated(g);
}

/* ---- the key ---- */

/* Makes room for n more bytes and returns where they go; NULL on failure. */
static unsigned char *more(byte_list *b, size_t n)
{
    if (b->used + n >= b->room) {
        size_t room = 2 * b->room + n + 1024;
        unsigned char *at = memory_resize(b->at, room);
        if (!at)
            return NULL;
        b->at = at;
        b->room = room;
    }
    return b->at + b->used;
}

static unsigned char *put(unsigned char *at, const void *from, size_t n)
{
    memcpy(at, from, n);
    return at + n;
}

static unsigned char *put_view(unsigned char *at, const view *v)
{
    const int64_t head[2] = {v->ndim, v->offset};
    at = put(at, head, sizeof head);
    for (int i = 0; i < v->ndim; i++) { /* a loop: memcpy takes longer for so few elements */
        const int64_t axis[2] = {v->shape[i], v->stride[i]};
        at = put(at, axis, sizeof axis);
    }
    return at;
}

/* Upper bounds in bytes: a view, a number, and a node without its views. */
enum {
    VIEW_BYTES = (3 + 2 * IG_MAX_NDIM) * sizeof(int64_t),
    NODE_BYTES = (6 + IG_MAX_NDIM) * sizeof(int64_t)
};

/* For a root, whose view is contiguous. Its ndim is written elsewhere. */
static unsigned char *put_shape(unsigned char *at, const view *v)
{
    for (int i = 0; i < v->ndim; i++)
        at = put(at, &v->shape[i], sizeof v->shape[i]);
    return at;
}

static int n_dst_of(const ig_array *x)
{
    return !x->attr.dst ? 0 : x->op == OP_assemble ? x->n_in : 1;
}

/* Appends everything in which two nodes with the same inputs can differ, as whole words. Most nodes have no numbers,
 * and read whole roots. */
static bool put_node(graph *g, const ig_array *x)
{
    enum { HAS_AXIS = 1, HAS_KERNEL = 2, HAS_MANY = 4 };
    const node_attr *a = &x->attr;
    const int n_dst = n_dst_of(x);
    const bool axis = a->axis_len || a->axis_stride;
    struct {
        uint16_t op, copy, fold;
        uint8_t dtype, flags;
        uint8_t ndim[4];
        uint8_t own_ndim, has;
        uint16_t n_in; /* HAS_MANY: its low bits */
    } head = {.op = x->op,
              .copy = a->copy,
              .fold = a->fold,
              .dtype = x->dtype,
              .flags = (uint8_t)(a->descending | a->right << 1 | a->add << 2 | a->symmetric << 7 |
                                 (x->op == OP_contract || a->kernel ? g->math << 3 : 0)),
              .own_ndim = (uint8_t)x->view.ndim,
              .has = (uint8_t)((axis ? HAS_AXIS : 0) | (a->kernel ? HAS_KERNEL : 0) |
                               (x->n_in > UINT16_MAX ? HAS_MANY : 0)),
              .n_in = (uint16_t)x->n_in};
    memcpy(head.ndim, a->ndim, sizeof head.ndim);
    const int64_t numbers[2] = {a->axis_len, a->axis_stride}; /* or another member of the union */
    const int64_t counts[2] = {x->n_in, a->kernel ? a->kernel->n_key : 0};
    const size_t kernel_bytes = a->kernel ? (size_t)a->kernel->n_key * sizeof *a->kernel->key : 0;
    const size_t views = (size_t)n_dst + (size_t)x->n_in; /* and their numbers */
    unsigned char *at = more(&g->key, NODE_BYTES + kernel_bytes + views * VIEW_BYTES);
    if (!at)
        return false;
    at = put_shape(put(at, &head, sizeof head), &x->view);
    if (axis)
        at = put(at, numbers, sizeof numbers);
    if (head.has & (HAS_KERNEL | HAS_MANY))
        at = put(at, counts, sizeof counts);
    if (a->kernel)
        at = put(at, a->kernel->key, kernel_bytes);
    for (int i = 0; i < n_dst; i++)
        at = put_view(at, &a->dst[i]);
    for (int i = 0; i < x->n_in; i++) {
        const ig_array *in = x->in[i], *root = in->root;
        const bool whole = in == root || view_equal(&in->view, &root->view);
        const int64_t number = root->data ? root->index : g->same[root->index];
        const int64_t word = number * 2 + whole;
        at = put(at, &word, sizeof word);
        if (!whole)
            at = put_view(at, &in->view);
    }
    g->key.used = (size_t)(at - g->key.at);
    return true;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

/* Hashes n bytes, a multiple of the word size. Two independent halves, so that their multiplications overlap. */
static uint64_t hash_of(const unsigned char *at, size_t n)
{
    uint64_t a = n, b = 0x9e3779b97f4a7c15u, w[2];
    for (; n >= 16; at += 16, n -= 16) {
        memcpy(w, at, 16);
        a = mix(a, w[0]);
        b = mix(b, w[1]);
    }
    if (n) {
        memcpy(w, at, 8);
        a = mix(a, w[0]);
    }
    return mix(a, b);
}

/* The bytes of each distinct node stay in the key. If a node's bytes equal an earlier node's bytes, they are
 * dropped. */
ig_status graph_key(graph *g)
{
    size_t slots = 16;
    while (slots < 2 * (size_t)g->n_node)
        slots *= 2;
    /* scratch: hash table (node or -1), then where each node's bytes begin. */
    size_t n = (size_t)g->n_node;
    if (!at_least(&g->scratch, slots + n + 1, &g->room_scratch, sizeof *g->scratch) ||
        !at_least(&g->same, n + 1, &g->room_same, sizeof *g->same))
        return IG_ERR_MEMORY;
    int *table = g->scratch, *begin = table + slots;
    memset(table, -1, slots * sizeof *table);
    g->key.used = 0;
    g->hash = 0;
    for (int i = 0; i < g->n_node; i++) {
        begin[i] = (int)g->key.used;
        if (!put_node(g, g->node[i]))
            return IG_ERR_MEMORY;
        size_t length = g->key.used - (size_t)begin[i];
        const unsigned char *mine = g->key.at + begin[i];
        const uint64_t hash = hash_of(mine, length);
        size_t at = hash & (slots - 1);
        for (; table[at] >= 0; at = (at + 1) & (slots - 1)) {
            int other = table[at], next = other + 1;
            size_t other_length = (size_t)begin[next] - (size_t)begin[other];
            if (other_length == length && memcmp(g->key.at + begin[other], mine, length) == 0)
                break;
        }
        g->same[i] = table[at] >= 0 ? table[at] : i;
        if (table[at] >= 0)
            g->key.used = (size_t)begin[i];
        else
            g->hash = mix(g->hash, hash);
        table[at] = g->same[i];
    }
    const size_t leaf_bytes = (5 + IG_MAX_NDIM) * sizeof(int64_t), rest = g->key.used;
    unsigned char *at =
        more(&g->key, (size_t)g->n_leaf * leaf_bytes + ((size_t)g->n_out + 3) * sizeof(int64_t));
    if (!at)
        return IG_ERR_MEMORY;
    for (int i = 0; i < g->n_leaf; i++) {
        const ig_array *x = g->leaf[i];
        const storage s = x->data->stored;
        const int64_t facts[5] = {x->dtype | (int64_t)s.format << 8 | (int64_t)s.block << 24,
                                  (int64_t)x->data->bytes, g->donated[i], x->is_number,
                                  x->view.ndim};
        at = put_shape(put(at, facts, sizeof facts), &x->view);
    }
    for (int i = 0; i < g->n_out; i++) {
        const int64_t node = g->same[g->out[i]->index];
        at = put(at, &node, sizeof node);
    }
    const int64_t counts[3] = {g->n_node, g->n_leaf, g->n_out};
    at = put(at, counts, sizeof counts);
    g->key.used = (size_t)(at - g->key.at);
    g->hash = mix(g->hash, hash_of(g->key.at + rest, g->key.used - rest));
    return IG_OK;
}

void graph_free(graph *g)
{
    memory_free(g->node);
    memory_free(g->leaf);
    memory_free(g->out);
    memory_free(g->same);
    memory_free(g->donated);
    memory_free(g->stack);
    memory_free(g->scratch);
    memory_free(g->key.at);
    *g = (graph){0};
}
