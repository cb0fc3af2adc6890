/* Constants of compiled computations. A computation that is compiled for several shapes of its inputs has the same
 * constants each time, such as weights with a scale folded into them. So they are kept in a table as long as a computation
 * uses them, by the structure of their graph and the identity of their leaves (buffer_serial). */
#include "engine/eval/constants.h"

#include "base/error.h"
#include "base/memory.h"
#include <string.h>

/* ---- the table ---- */

typedef struct constant {
    unsigned char *key; /* the graph's key, then a word for each leaf */
    size_t key_bytes;
    uint64_t hash;
    const char *device;
    buffer *data; /* NULL: not computed yet */
} constant;

/* Guarded by the engine's lock. */
static struct {
    constant *list;
    int n, room;
} table;

static void drop(int i)
{
    memory_free(table.list[i].key);
    buffer_release(table.list[i].data);
    table.list[i] = table.list[--table.n];
}

void constants_sweep_held(void)
{
    for (int i = table.n - 1; i >= 0; i--)
        if (!table.list[i].data || atomic_load(&table.list[i].data->refs) == 1)
            drop(i);
    if (table.n == 0) {
        memory_free(table.list);
        table.list = NULL;
        table.room = 0;
    }
}

void constants_sweep(void)
{
    engine_enter();
    constants_sweep_held();
    engine_leave();
}

/* Describes the node x: the same description, the same value. c->key is NULL on failure. */
static constant describe(graph *g, ig_array *x)
{
    constant c = {.device = x->device};
    if (graph_order(g, &x, 1) != IG_OK)
        return c;
    memset(g->donated, 0, (size_t)g->n_leaf * sizeof *g->donated);
    g->math = ig_math_mode();
    if (graph_key(g) != IG_OK)
        return c;
    const size_t words = (size_t)g->n_leaf * sizeof(uint64_t);
    c.key_bytes = g->key.used + words;
    c.hash = g->hash;
    if (!(c.key = memory_get(c.key_bytes)))
        return c;
    memcpy(c.key, g->key.at, g->key.used);
    for (int i = 0; i < g->n_leaf; i++) {
        const ig_array *leaf = g->leaf[i];
        const uint64_t word = leaf->is_number ? leaf->number : buffer_serial(leaf->data);
        memcpy(c.key + g->key.used + (size_t)i * sizeof word, &word, sizeof word);
    }
    return c;
}

static const constant *find(const constant *c)
{
    for (int i = 0; i < table.n; i++) {
        const constant *o = &table.list[i];
        if (o->data && o->hash == c->hash && o->device == c->device &&
            o->key_bytes == c->key_bytes && memcmp(o->key, c->key, c->key_bytes) == 0)
            return o;
    }
    return NULL;
}

/* Gives x the data of an equal constant, if there is one; otherwise adds *c, whose key it takes over, to the table. */
static ig_status share(constant *c, ig_array *x)
{
    const constant *same = find(c);
    if (same) {
        x->data = buffer_retain(same->data);
        array_drop_history(x);
        return IG_OK;
    }
    if (!memory_room(&table.list, table.n, &table.room, sizeof *table.list))
        return IG_ERR_MEMORY;
    table.list[table.n++] = *c;
    c->key = NULL;
    return IG_OK;
}

/* True if one of these rows has the data. Equal nodes that are evaluated together share it, and a buffer that two rows keep
 * would never be swept. */
static bool is_held(int from, int to, const buffer *data)
{
    for (int i = from; i < to; i++)
        if (table.list[i].data == data)
            return true;
    return false;
}

/* Evaluates the listed nodes, except those that the table has. The lock is held. All are described first, because a node
 * that has data is a leaf of others. */
static ig_status evaluate(engine *e, ig_array **list, int n, constant *described)
{
    int missing = 0;
    constants_sweep_held();
    const int first = table.n;
    for (int i = 0; i < n; i++)
        if (!(described[i] = describe(&e->g, list[i])).key)
            return error_waiting(IG_ERR_MEMORY);
    for (int i = 0; i < n; i++) {
        TRY(share(&described[i], list[i]));
        if (!list[i]->data)
            list[missing++] = list[i];
    }
    if (missing)
        TRY(engine_eval_held(e, list, missing));
    for (int i = 0; i < missing; i++)
        if (!is_held(first, first + i, list[i]->data))
            table.list[first + i].data = buffer_retain(list[i]->data);
    return IG_OK;
}

static ig_status evaluate_all(ig_array **list, int n)
{
    constant *described = memory_new((size_t)n * sizeof *described);
    if (!described)
        return IG_ERR_MEMORY;
    engine *e = engine_enter();
    const ig_status status = evaluate(e, list, n, described);
    if (status != IG_OK)
        constants_sweep_held();
    engine_leave();
    for (int i = 0; i < n; i++)
        memory_free(described[i].key);
    memory_free(described);
    return status;
}

/* ---- what is constant ---- */

static bool is_input(ig_array *const *inputs, int n, const ig_array *root)
{
    for (int i = 0; i < n; i++)
        if (inputs[i]->root == root)
            return true;
    return false;
}

/* Facts about the nodes of a graph. */
typedef struct facts {
    bool *varies;    /* it depends on an input; or it is listed already */
    int64_t *source; /* bytes of the leaves that it is computed from; a leaf may count twice */
    ig_array **list; /* constants that are worth computing now */
    int n;
} facts;

static int64_t bytes_of(const ig_array *root)
{
    return view_size(&root->view) * (int64_t)ig_dtype_bytes((ig_dtype)root->dtype);
}

static void facts_find(const graph *g, ig_array *const *inputs, int n_in, facts *f)
{
    for (int i = 0; i < g->n_node; i++)
        for (int j = 0; j < g->node[i]->n_in; j++) {
            const ig_array *from = g->node[i]->in[j]->root;
            const bool given = from->data && is_input(inputs, n_in, from);
            f->varies[i] = f->varies[i] || (from->data ? given : f->varies[from->index]);
            f->source[i] += from->data ? bytes_of(from) : f->source[from->index];
        }
}

/* True if a run would compute constant x for its reader more than once, or store it. A map that a map reads is fused, so
 * it takes no memory; it is computed now only if its result is not larger than its sources. */
static bool pays(const facts *f, const ig_array *x, const ig_array *reader)
{
    enum { FEW_BYTES = 1 << 16 };
    const int64_t bytes = bytes_of(x);
    return bytes <= FEW_BYTES || x->crosses || bytes <= f->source[x->index] ||
           node_program(x) != PROGRAM_MAP || node_program(reader) != PROGRAM_MAP;
}

static void list_one(facts *f, ig_array *x)
{
    f->varies[x->index] = true; /* so that it is listed once */
    f->list[f->n++] = x;
}

static void list_all(const graph *g, ig_array *const *results, int n_out, facts *f)
{
    for (int i = 0; i < g->n_node; i++)
        for (int j = 0; j < g->node[i]->n_in && f->varies[i]; j++) {
            ig_array *from = g->node[i]->in[j]->root;
            if (!from->data && !f->varies[from->index] && pays(f, from, g->node[i]))
                list_one(f, from);
        }
    for (int i = 0; i < n_out; i++) {
        ig_array *root = results[i]->root;
        if (!root->data && !f->varies[root->index] && root->crosses)
            list_one(f, root);
    }
}

static bool is_listed(const facts *f, const ig_array *x)
{
    for (int i = 0; i < f->n; i++)
        if (f->list[i] == x)
            return true;
    return false;
}

static ig_status check_moves(const graph *g, const facts *f)
{
    for (int i = 0; i < g->n_node; i++)
        if (g->node[i]->op == OP_to_device && f->varies[i] && !is_listed(f, g->node[i]))
            FAIL(IG_ERR_UNSUPPORTED,
                 "compile: an array that depends on the inputs moves to device %s",
                 g->node[i]->device);
    return IG_OK;
}

ig_status constants_fold(ig_array *const *inputs, int n_in, ig_array *const *results, int n_out)
{
    graph *g = &engine_enter()->g;
    ig_status status = graph_order(g, results, n_out);
    const size_t room = (size_t)g->n_node + 1;
    facts f = {.varies = memory_new(room * sizeof *f.varies),
               .source = memory_new(room * sizeof *f.source),
               .list = memory_new(room * sizeof *f.list)};
    if (status == IG_OK && !(f.varies && f.source && f.list))
        status = IG_ERR_MEMORY;
    if (status == IG_OK) {
        facts_find(g, inputs, n_in, &f);
        list_all(g, results, n_out, &f);
        status = check_moves(g, &f);
    }
    engine_leave();
    if (status == IG_OK && f.n > 0)
        status = evaluate_all(f.list, f.n);
    memory_free(f.varies);
    memory_free(f.source);
    memory_free(f.list);
    return status;
}
