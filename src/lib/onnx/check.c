/* Checks a model as a whole: names become slots, nodes come after the nodes whose results they read, calls of
 * functions end, and each op belongs to an imported opset. */
#include "lib/onnx/read.h"

#include "base/error.h"
#include "lib/io/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The maker of a slot is the number of a node, or one of the first two. */
enum {
    MAKER_INPUT = -1,  /* an input, or a value of an enclosing graph */
    MAKER_TENSOR = -2, /* an initializer */
    CALLS_DEPTH = 64,
    NODES_MOST = 1 << 24, /* after all functions are expanded */
    NEWEST_IR = 13
};

static const struct newest {
    const char *domain;
    int64_t version;
} newest[] = {{"", 27}, {"ai.onnx.ml", 5}, {"ai.onnx.preview", 1}, {"ai.onnx.preview.training", 1}};

typedef struct checker {
    onnx_arena *arena;
    const char *shown;
    onnx_model *model;
    onnx_function **functions; /* sorted */
    onnx_function *within;     /* the function that is being checked; NULL: the model */
} checker;

/* The names of a graph and where they come from. */
typedef struct scope {
    struct scope *parent;
    onnx_graph *g;
    int *makers;
    int room;
    int *table; /* slot + 1; 0: free */
    int table_size;
    int outer_room;
} scope;

/* ---- errors --------------------------------------------------------------------------------- */

static bool check_fail(const checker *c, const onnx_node *node, ig_status code, const char *format,
                       ...) IG_PRINTF(4, 5);

static bool check_fail(const checker *c, const onnx_node *node, ig_status code, const char *format,
                       ...)
{
    char why[512], name[IO_SHOWN_BYTES], op[IO_SHOWN_BYTES], where[2 * IO_SHOWN_BYTES + 64] = "";
    char inside[IO_SHOWN_BYTES + 16] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    onnx_one_line(why);
    if (c->within) {
        io_show(c->within->name, name);
        snprintf(inside, sizeof inside, "function '%s': ", name);
    }
    if (node) {
        io_show(node->name, name);
        io_show(node->op, op);
        snprintf(where, sizeof where,
                 name[0] ? "node %d '%s' (%s): " : "node %d%s (%s): ", node->number, name, op);
    }
    ig_fail(code, "load '%s': %s%s%s%s", c->shown, inside, where, why,
            code == IG_ERR_FORMAT ? "; export it again" : "");
    return false;
}

/* ---- names ---------------------------------------------------------------------------------- */

static uint32_t name_hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* The place of a name in the table: its slot + 1, or 0 where it can be put. */
static int *name_place(const scope *s, const char *name)
{
    const uint32_t mask = (uint32_t)s->table_size - 1;
    for (uint32_t i = name_hash(name) & mask;; i = (i + 1) & mask)
        if (!s->table[i] || strcmp(s->g->slot_names[s->table[i] - 1], name) == 0)
            return &s->table[i];
}

static bool names_grow(checker *c, scope *s)
{
    const int room = s->room ? 2 * s->room : 16, n = s->g->n_slots;
    const char **names = onnx_arena_new(c->arena, (size_t)room, sizeof *names);
    int *makers = onnx_arena_new(c->arena, (size_t)room, sizeof *makers);
    int *table = onnx_arena_new(c->arena, (size_t)room * 2, sizeof *table);
    if (!names || !makers || !table)
        return false;
    if (n) {
        memcpy(names, s->g->slot_names, (size_t)n * sizeof *names);
        memcpy(makers, s->makers, (size_t)n * sizeof *makers);
    }
    s->g->slot_names = names;
    s->makers = makers;
    s->room = room;
    s->table = table;
    s->table_size = 2 * room;
    for (int i = 0; i < n; i++)
        *name_place(s, names[i]) = i + 1;
    return true;
}

/* A new slot for a name that has none; -1 after an error. */
static int name_add(checker *c, scope *s, const char *name, int maker)
{
    if (s->g->n_slots == s->room && !names_grow(c, s))
        return -1;
    const int slot = s->g->n_slots++;
    s->g->slot_names[slot] = name;
    s->makers[slot] = maker;
    *name_place(s, name) = slot + 1;
    return slot;
}

static int name_find(const scope *s, const char *name)
{
    return s->room ? *name_place(s, name) - 1 : -1;
}

static bool outer_add(checker *c, scope *s, int from)
{
    onnx_graph *g = s->g;
    if (g->n_outer == s->outer_room) {
        const int room = s->outer_room ? 2 * s->outer_room : 8;
        int *outer = onnx_arena_new(c->arena, (size_t)room, sizeof *outer);
        if (!outer)
            return false;
        if (g->n_outer)
            memcpy(outer, g->outer, (size_t)g->n_outer * sizeof *outer);
        g->outer = outer;
        s->outer_room = room;
    }
    g->outer[g->n_outer++] = from;
    return true;
}

/* The slot of a name in a graph. A name of an enclosing graph becomes a slot of each graph between. -1 without an error if
 * there is none. */
static int name_resolve(checker *c, scope *s, const char *name)
{
    int slot = name_find(s, name);
    if (slot >= 0 || !s->parent)
        return slot;
    const int from = name_resolve(c, s->parent, name);
    if (from < 0)
        return -1;
    slot = name_add(c, s, name, MAKER_INPUT);
    return slot >= 0 && outer_add(c, s, from) ? slot : -1;
}

/* ---- what a graph defines ------------------------------------------------------------------- */

static bool inputs_declare(checker *c, scope *s)
{
    for (int i = 0; i < s->g->n_inputs; i++) {
        const char *name = s->g->inputs[i].name;
        if (!name[0])
            return check_fail(c, NULL, IG_ERR_FORMAT, "input %d has no name", i);
        if (name_find(s, name) >= 0)
            return check_fail(c, NULL, IG_ERR_FORMAT, "input '%.80s' is defined twice", name);
        if (name_add(c, s, name, MAKER_INPUT) < 0)
            return false;
    }
    return true;
}

static bool tensors_declare(checker *c, scope *s)
{
    onnx_graph *g = s->g;
    g->tensor_slots =
        onnx_arena_new(c->arena, (size_t)g->n_tensors + (size_t)g->n_sparses, sizeof(int));
    if (!g->tensor_slots)
        return false;
    for (int i = 0; i < g->n_tensors + g->n_sparses; i++) {
        const char *name =
            i < g->n_tensors ? g->tensors[i].name : g->sparses[i - g->n_tensors].values.name;
        int slot = name[0] ? name_find(s, name) : -1;
        if (!name[0])
            return check_fail(c, NULL, IG_ERR_FORMAT, "initializer %d has no name", i);
        if (slot >= 0 && s->makers[slot] == MAKER_TENSOR)
            return check_fail(c, NULL, IG_ERR_FORMAT, "initializer '%.80s' is defined twice", name);
        if (slot < 0 && (slot = name_add(c, s, name, MAKER_TENSOR)) < 0)
            return false;
        s->makers[slot] = MAKER_TENSOR;
        g->tensor_slots[i] = slot;
    }
    return true;
}

static bool outputs_declare(checker *c, scope *s)
{
    for (int k = 0; k < s->g->n_nodes; k++) {
        onnx_node *node = &s->g->nodes[k];
        node->out_slots = onnx_arena_new(c->arena, (size_t)node->n_out, sizeof(int));
        if (!node->out_slots)
            return false;
        for (int i = 0; i < node->n_out; i++) {
            const char *name = node->outputs[i];
            if (name[0] && name_find(s, name) >= 0)
                return check_fail(c, node, IG_ERR_FORMAT, "output '%.80s' is defined twice", name);
            node->out_slots[i] = name[0] ? name_add(c, s, name, k) : -1;
            if (name[0] && node->out_slots[i] < 0)
                return false;
        }
    }
    return true;
}

/* Inputs with an initializer go to the end. */
static bool inputs_sort(checker *c, onnx_graph *g)
{
    onnx_value_info *sorted = onnx_arena_new(c->arena, (size_t)g->n_inputs, sizeof *sorted);
    scope names = {.g = &(onnx_graph){0}};
    if (!sorted)
        return false;
    for (int i = 0; i < g->n_tensors + g->n_sparses; i++) {
        const char *name =
            i < g->n_tensors ? g->tensors[i].name : g->sparses[i - g->n_tensors].values.name;
        if (name_find(&names, name) < 0 && name_add(c, &names, name, 0) < 0)
            return false;
    }
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < g->n_inputs; i++)
            if ((name_find(&names, g->inputs[i].name) >= 0) == (pass == 1))
                sorted[n++] = g->inputs[i];
        if (pass == 0)
            g->n_given = n;
    }
    g->inputs = sorted;
    return true;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int function_compare(const void *left, const void *right)
{
    const onnx_function *a = *(onnx_function *const *)left, *b = *(onnx_function *const *)right;
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->domain, b->domain);
    return order ? order : strcmp(a->overload, b->overload);
}

static onnx_function *function_find(const checker *c, const onnx_node *node)
{
    onnx_function key = {.name = node->op, .domain = node->domain, .overload = node->overload};
    onnx_function *wanted = &key;
    onnx_function **found = c->model->n_functions
                                ? bsearch(&wanted, c->functions, (size_t)c->model->n_functions,
                                          sizeof wanted, function_compare)
                                : NULL;
    return found ? *found : NULL;
}

static bool opset_check(const checker *c, const onnx_node *node)
{
    const onnx_model *m = c->model;
    const onnx_function *f = c->within;
    if (node->function ||
        onnx_opset_version(f ? f->opsets : m->opsets, f ? f->n_opsets : m->n_opsets, node->domain))
        return true;
    return check_fail(c, node, IG_ERR_FORMAT, "the %s imports no opset of the domain '%.80s'",
                      f ? "function" : "model", node->domain[0] ? node->domain : "ai.onnx");
}

static bool graph_check(checker *c, onnx_graph *g, scope *parent);

static bool attributes_check(checker *c, scope *s, onnx_node *node)
{
    for (int i = 0; i < node->n_attributes; i++) {
        const onnx_attribute *a = &node->attributes[i];
        if (a->refers && !c->within)
            return check_fail(
                c, node, IG_ERR_FORMAT,
                "attribute '%.80s' refers to an attribute of a function, but is in none", a->name);
        const bool graphs = (a->kind == ONNX_GRAPH || a->kind == ONNX_GRAPHS) && !a->refers;
        for (int k = 0; graphs && k < a->n; k++)
            if (!graph_check(c, a->u.graphs[k], s))
                return false;
    }
    return true;
}

static bool nodes_check(checker *c, scope *s)
{
    for (int k = 0; k < s->g->n_nodes; k++) {
        onnx_node *node = &s->g->nodes[k];
        node->function = function_find(c, node);
        node->in_slots = onnx_arena_new(c->arena, (size_t)node->n_in, sizeof(int));
        if (!node->in_slots || !opset_check(c, node))
            return false;
        for (int i = 0; i < node->n_in; i++) {
            const char *name = node->inputs[i];
            node->in_slots[i] = name[0] ? name_resolve(c, s, name) : -1;
            if (name[0] && node->in_slots[i] < 0)
                return check_fail(c, node, IG_ERR_FORMAT, "input '%.80s' is not defined", name);
        }
        if (!attributes_check(c, s, node))
            return false;
    }
    return true;
}

static bool results_check(checker *c, scope *s)
{
    onnx_graph *g = s->g;
    g->output_slots = onnx_arena_new(c->arena, (size_t)g->n_outputs, sizeof(int));
    if (!g->output_slots)
        return false;
    for (int i = 0; i < g->n_outputs; i++) {
        const char *name = g->outputs[i].name;
        g->output_slots[i] = name[0] ? name_resolve(c, s, name) : -1;
        if (g->output_slots[i] < 0)
            return check_fail(c, NULL, IG_ERR_FORMAT, "output '%.80s' of the graph is not defined",
                              name);
    }
    return true;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Walks over the values that a node reads: its inputs, then the values that the graphs in its attributes read. */
typedef struct reads {
    const onnx_node *node;
    int input, attribute, graph, outer;
} reads;

/* The next slot that the node reads; -1 at the end. */
static int reads_next(reads *r)
{
    while (r->input < r->node->n_in) {
        const int slot = r->node->in_slots[r->input++];
        if (slot >= 0)
            return slot;
    }
    for (; r->attribute < r->node->n_attributes; r->attribute++, r->graph = 0) {
        const onnx_attribute *a = &r->node->attributes[r->attribute];
        const bool graphs = (a->kind == ONNX_GRAPH || a->kind == ONNX_GRAPHS) && !a->refers;
        for (; graphs && r->graph < a->n; r->graph++, r->outer = 0)
            if (r->outer < a->u.graphs[r->graph]->n_outer)
                return a->u.graphs[r->graph]->outer[r->outer++];
    }
    return -1;
}

static bool nodes_in_order(const scope *s)
{
    for (int k = 0; k < s->g->n_nodes; k++) {
        reads r = {.node = &s->g->nodes[k]};
        for (int slot; (slot = reads_next(&r)) >= 0;)
            if (s->makers[slot] >= k)
                return false;
    }
    return true;
}

enum { ORDER_NEW, ORDER_OPEN, ORDER_DONE };

/* Appends a node and all that it needs to the order, without recursion: a chain may be as long as the file. */
static bool node_place(checker *c, const scope *s, int first, char *state, reads *stack, int *order,
                       int *n)
{
    int top = 0;
    stack[0] = (reads){.node = &s->g->nodes[first]};
    state[first] = ORDER_OPEN;
    while (top >= 0) {
        const int slot = reads_next(&stack[top]), k = (int)(stack[top].node - s->g->nodes);
        if (slot < 0) {
            state[k] = ORDER_DONE;
            order[(*n)++] = k;
            top--;
            continue;
        }
        const int maker = s->makers[slot];
        if (maker < 0 || state[maker] == ORDER_DONE)
            continue;
        if (state[maker] == ORDER_OPEN)
            return check_fail(c, &s->g->nodes[maker], IG_ERR_FORMAT,
                              "it needs its own result '%.80s': the graph has a cycle",
                              s->g->slot_names[slot]);
        state[maker] = ORDER_OPEN;
        stack[++top] = (reads){.node = &s->g->nodes[maker]};
    }
    return true;
}

static bool nodes_order(checker *c, scope *s)
{
    onnx_graph *g = s->g;
    const size_t nodes = (size_t)g->n_nodes;
    if (nodes_in_order(s))
        return true;
    char *state = onnx_arena_new(c->arena, nodes, 1);
    reads *stack = onnx_arena_new(c->arena, nodes, sizeof *stack);
    int *order = onnx_arena_new(c->arena, nodes, sizeof *order);
    onnx_node *sorted = onnx_arena_new(c->arena, nodes, sizeof *sorted);
    if (!state || !stack || !order || !sorted)
        return false;
    int n = 0;
    for (int k = 0; k < g->n_nodes; k++)
        if (state[k] == ORDER_NEW && !node_place(c, s, k, state, stack, order, &n))
            return false;
    for (int k = 0; k < n; k++) {
        sorted[k] = g->nodes[order[k]];
        sorted[k].number = k;
    }
    g->nodes = sorted;
    return true;
}

static bool graph_check(checker *c, onnx_graph *g, scope *parent)
{
    scope s = {.parent = parent, .g = g};
    g->parent = parent ? parent->g : NULL;
    if (parent || c->within)
        g->n_given = g->n_inputs;
    else if (!inputs_sort(c, g))
        return false;
    if (!inputs_declare(c, &s) || !tensors_declare(c, &s) || !outputs_declare(c, &s))
        return false;
    g->first_outer = g->n_slots;
    return nodes_check(c, &s) && results_check(c, &s) && nodes_order(c, &s);
}

/* ---- functions and opsets ------------------------------------------------------------------- */

/* The number of nodes of a graph after all calls of functions are expanded; -1 after an error. */
static int64_t nodes_expanded(checker *c, const onnx_graph *g, int64_t *known, int depth);

static int64_t call_expanded(checker *c, const onnx_node *node, int64_t *known, int depth)
{
    int64_t n = 1;
    if (node->function) {
        int64_t *count = &known[node->function - c->model->functions];
        if (depth >= CALLS_DEPTH)
            return check_fail(c, node, IG_ERR_FORMAT,
                              "functions call themselves, or more than %d levels deep",
                              CALLS_DEPTH) -
                   1;
        if (!*count)
            *count = nodes_expanded(c, &node->function->body, known, depth + 1);
        if (*count < 0)
            return -1;
        n += *count;
    }
    for (int i = 0; i < node->n_attributes; i++) {
        const onnx_attribute *a = &node->attributes[i];
        const bool graphs = (a->kind == ONNX_GRAPH || a->kind == ONNX_GRAPHS) && !a->refers;
        for (int k = 0; graphs && k < a->n; k++) {
            const int64_t more = nodes_expanded(c, a->u.graphs[k], known, depth);
            if (more < 0)
                return -1;
            n += more;
        }
    }
    return n;
}

static int64_t nodes_expanded(checker *c, const onnx_graph *g, int64_t *known, int depth)
{
    int64_t n = 0;
    for (int k = 0; k < g->n_nodes; k++) {
        const int64_t more = call_expanded(c, &g->nodes[k], known, depth);
        if (more < 0)
            return -1;
        n += more;
        if (n > NODES_MOST)
            return check_fail(c, NULL, IG_ERR_FORMAT, "its functions expand to more than %d nodes",
                              NODES_MOST) -
                   1;
    }
    return n;
}

static bool functions_sort(checker *c)
{
    const int n = c->model->n_functions;
    c->functions = onnx_arena_new(c->arena, (size_t)n, sizeof *c->functions);
    if (!c->functions)
        return false;
    for (int i = 0; i < n; i++)
        c->functions[i] = &c->model->functions[i];
    if (n)
        qsort(c->functions, (size_t)n, sizeof *c->functions, function_compare);
    for (int i = 1; i < n; i++)
        if (function_compare(&c->functions[i - 1], &c->functions[i]) == 0)
            return check_fail(c, NULL, IG_ERR_FORMAT, "function '%.80s' is defined twice",
                              c->functions[i]->name);
    return true;
}

static bool opsets_check(const checker *c, const onnx_opset *opsets, int n)
{
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof newest / sizeof *newest; k++)
            if (strcmp(opsets[i].domain, newest[k].domain) == 0 &&
                opsets[i].version > newest[k].version)
                return check_fail(
                    c, NULL, IG_ERR_UNSUPPORTED,
                    "opset %" PRId64 " of %s is newer than the newest known one, %" PRId64,
                    opsets[i].version, opsets[i].domain[0] ? opsets[i].domain : "ai.onnx",
                    newest[k].version);
    return true;
}

bool onnx_check(onnx_arena *a, const char *shown, onnx_model *model)
{
    checker c = {.arena = a, .shown = shown, .model = model};
    if (model->ir_version < 1 || model->ir_version > NEWEST_IR)
        return check_fail(&c, NULL, IG_ERR_UNSUPPORTED,
                          "its IR version is %" PRId64 "; versions 1 to %d are known",
                          model->ir_version, NEWEST_IR);
    if (!opsets_check(&c, model->opsets, model->n_opsets) || !functions_sort(&c) ||
        !graph_check(&c, &model->graph, NULL))
        return false;
    for (int i = 0; i < model->n_functions; i++) {
        onnx_function *f = c.within = &model->functions[i];
        if (!opsets_check(&c, f->opsets, f->n_opsets) || !graph_check(&c, &f->body, NULL))
            return false;
    }
    c.within = NULL;
    int64_t *known = onnx_arena_new(a, (size_t)model->n_functions, sizeof *known);
    if (!known || nodes_expanded(&c, &model->graph, known, 0) < 0)
        return false;
    for (int i = 0; i < model->n_functions; i++)
        if (!known[i] && nodes_expanded(&c, &model->functions[i].body, known, 0) < 0)
            return false;
    return true;
}
