/* The states of a grammar, made when they are needed. Equal states have the same number, so that texts of one shape, such as
 * long strings, need few. */
#include "lib/grammar/rules.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MOST = 1 << 16, HEADS_MOST = 1 << 14, UNKNOWN = -2, ROOT = -1 };

/* A position in the rules, and the cell with the position to return to; ROOT: the end of the text. */
typedef struct cell {
    int32_t at, parent;
    int32_t seen; /* the closure that has seen it last */
} cell;

typedef struct state {
    int32_t first, n; /* in heads: the cells, which all are at bytes */
    bool may_end;
    int32_t *next; /* for each byte; NULL: none is known */
} state;

/* A table of numbers by the hash of what they stand for. */
typedef struct table {
    int32_t *slots; /* number + 1; 0: free */
    uint32_t size;  /* a power of 2 */
} table;

struct grammar {
    rules rules;
    cell *cells;
    int n_cells, cells_room;
    int32_t *heads;
    int n_heads, heads_room;
    state *states;
    int n_states, states_room;
    table by_cell, by_state;
    int32_t *open; /* cells that the closure still visits */
    int n_open, open_room;
    int32_t *found; /* the heads of the closure */
    int n_found, found_room;
    bool found_end;
    int32_t closures;
};

/* ---- tables ---------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t h, uint32_t x)
{
    h = (h ^ x) * 0x9e3779b1u;
    return h ^ h >> 15;
}

static uint32_t cell_hash(const grammar *g, int32_t i)
{
    return mix(mix(1, (uint32_t)g->cells[i].at), (uint32_t)g->cells[i].parent);
}

static uint32_t state_hash(const grammar *g, int32_t i)
{
    const state *s = &g->states[i];
    uint32_t h = s->may_end;
    for (int32_t j = 0; j < s->n; j++)
        h = mix(h, (uint32_t)g->heads[s->first + j]);
    return h;
}

/* Makes room for one more of n. */
static bool table_room(const grammar *g, table *t, int n,
                       uint32_t (*hash)(const grammar *g, int32_t i))
{
    if ((uint32_t)n * 2 < t->size)
        return true;
    const uint32_t size = t->size ? t->size * 2 : 256;
    int32_t *slots = memory_new(size * sizeof *slots);
    if (!slots)
        return false;
    for (int32_t i = 0; i < n; i++) {
        uint32_t at = hash(g, i) & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = i + 1;
    }
    memory_free(t->slots);
    *t = (table){slots, size};
    return true;
}

/* ---- cells and states ------------------------------------------------------------------------ */

static int32_t cell_get(grammar *g, int32_t at, int32_t parent)
{
    if (!table_room(g, &g->by_cell, g->n_cells, cell_hash) ||
        !memory_room(&g->cells, g->n_cells, &g->cells_room, sizeof *g->cells))
        return -1;
    g->cells[g->n_cells] = (cell){at, parent, 0};
    uint32_t slot = cell_hash(g, g->n_cells) & (g->by_cell.size - 1);
    for (int32_t i; (i = g->by_cell.slots[slot] - 1) >= 0;
         slot = (slot + 1) & (g->by_cell.size - 1))
        if (g->cells[i].at == at && g->cells[i].parent == parent)
            return i;
    g->by_cell.slots[slot] = g->n_cells + 1;
    return g->n_cells++;
}

/* Adds a position to the closure. */
static ig_status visit(grammar *g, int32_t at, int32_t parent)
{
    const int32_t c = cell_get(g, at, parent);
    if (c < 0 || !memory_room(&g->open, g->n_open, &g->open_room, sizeof *g->open))
        return error_waiting(IG_ERR_MEMORY);
    if (g->cells[c].seen == g->closures)
        return IG_OK;
    g->cells[c].seen = g->closures;
    g->open[g->n_open++] = c;
    return IG_OK;
}

static ig_status rule_visit(grammar *g, cell c)
{
    const element *e = &g->rules.elements[c.at];
    const rule *r = &g->rules.list[e->rule];
    int32_t parent = c.parent; /* after the last element there is nothing to return to */
    if (e[1].kind != ELEMENT_END && (parent = cell_get(g, c.at + 1, c.parent)) < 0)
        return error_waiting(IG_ERR_MEMORY);
    for (int i = 0; i < r->n; i++)
        TRY(visit(g, r->alternatives[i], parent));
    return IG_OK;
}

/* Follows rules from the open cells until bytes are next. */
static ig_status closure_run(grammar *g)
{
    while (g->n_open) {
        const int32_t index = g->open[--g->n_open];
        const cell c = g->cells[index];
        const element *e = &g->rules.elements[c.at];
        if (e->kind == ELEMENT_RULE) {
            TRY(rule_visit(g, c));
        } else if (e->kind == ELEMENT_BYTE) {
            if (g->n_found == HEADS_MOST)
                FAIL(IG_ERR_UNSUPPORTED,
                     "the grammar can read a text in more than %d ways; write it "
                     "with fewer alternatives for the same text",
                     HEADS_MOST);
            if (!memory_room(&g->found, g->n_found, &g->found_room, sizeof *g->found))
                return IG_ERR_MEMORY;
            g->found[g->n_found++] = index;
        } else if (c.parent == ROOT) {
            g->found_end = true;
        } else {
            TRY(visit(g, g->cells[c.parent].at, g->cells[c.parent].parent));
        }
    }
    return IG_OK;
}

static void closure_begin(grammar *g)
{
    g->closures++;
    g->n_open = g->n_found = 0;
    g->found_end = false;
}

static int by_value(const void *left, const void *right)
{
    const int32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The state of the closure. GRAMMAR_NONE: no text, or an error. */
static int32_t state_get(grammar *g)
{
    if (g->n_found == 0 && !g->found_end)
        return GRAMMAR_NONE;
    if (!table_room(g, &g->by_state, g->n_states, state_hash) ||
        !memory_room(&g->states, g->n_states, &g->states_room, sizeof *g->states))
        return GRAMMAR_NONE;
    if (g->n_found)
        qsort(g->found, (size_t)g->n_found, sizeof *g->found, by_value);
    const int first = g->n_heads;
    for (int i = 0; i < g->n_found; i++) {
        if (!memory_room(&g->heads, g->n_heads, &g->heads_room, sizeof *g->heads))
            return GRAMMAR_NONE;
        g->heads[g->n_heads++] = g->found[i];
    }
    state *s = &g->states[g->n_states];
    *s = (state){.first = first, .n = g->n_found, .may_end = g->found_end};
    uint32_t slot = state_hash(g, g->n_states) & (g->by_state.size - 1);
    for (int32_t i; (i = g->by_state.slots[slot] - 1) >= 0;
         slot = (slot + 1) & (g->by_state.size - 1)) {
        const state *known = &g->states[i];
        if (known->n == s->n && known->may_end == s->may_end &&
            (s->n == 0 || memcmp(g->heads + known->first, g->heads + first,
                                 (size_t)s->n * sizeof *g->heads) == 0)) {
            g->n_heads = first;
            return i;
        }
    }
    if (g->n_states == STATES_MOST) {
        ig_fail(IG_ERR_MEMORY, "the grammar needs more than %d states for this text", STATES_MOST);
        return GRAMMAR_NONE;
    }
    g->by_state.slots[slot] = g->n_states + 1;
    return g->n_states++;
}

/* The state after a byte, computed. */
static int32_t state_make(grammar *g, int32_t from, unsigned char byte)
{
    closure_begin(g);
    for (int32_t i = 0; i < g->states[from].n; i++) {
        const cell c = g->cells[g->heads[g->states[from].first + i]];
        const element *e = &g->rules.elements[c.at];
        if (byte >= e->low && byte <= e->high && visit(g, c.at + 1, c.parent) != IG_OK)
            return GRAMMAR_NONE;
    }
    return closure_run(g) == IG_OK ? state_get(g) : GRAMMAR_NONE;
}

/* ---- use ------------------------------------------------------------------------------------- */

grammar *grammar_new(ig_text source)
{
    int32_t root = 0;
    grammar *g = memory_new(sizeof *g);
    if (!g)
        return NULL;
    ig_status status = rules_read(&g->rules, source, &root);
    closure_begin(g);
    for (int i = 0; status == IG_OK && i < g->rules.list[root].n; i++)
        status = visit(g, g->rules.list[root].alternatives[i], ROOT);
    if (status == IG_OK)
        status = closure_run(g);
    if (status == IG_OK && state_get(g) == 0)
        return g;
    if (status == IG_OK && !ig_failed())
        ig_fail(IG_ERR_FORMAT, "the grammar has no text");
    grammar_free(g);
    return NULL;
}

grammar *grammar_from_schema(ig_text schema)
{
    char *source = schema_to_gbnf(schema);
    grammar *g = source ? grammar_new((ig_text){source, strlen(source)}) : NULL;
    memory_free(source);
    return g;
}

void grammar_free(grammar *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n_states; i++)
        memory_free(g->states[i].next);
    rules_free(&g->rules);
    memory_free(g->cells);
    memory_free(g->heads);
    memory_free(g->states);
    memory_free(g->by_cell.slots);
    memory_free(g->by_state.slots);
    memory_free(g->open);
    memory_free(g->found);
    memory_free(g);
}

int32_t grammar_next(grammar *g, int32_t from, unsigned char byte)
{
    state *s = &g->states[from];
    if (!s->next) {
        s->next = memory_get(256 * sizeof *s->next);
        for (int i = 0; s->next && i < 256; i++)
            s->next[i] = UNKNOWN;
        if (!s->next)
            return GRAMMAR_NONE;
    }
    if (s->next[byte] == UNKNOWN) {
        const int32_t to = state_make(g, from, byte);
        if (to == GRAMMAR_NONE && ig_failed())
            return GRAMMAR_NONE;
        g->states[from].next[byte] = to;
    }
    return g->states[from].next[byte];
}

bool grammar_may_end(const grammar *g, int32_t at) { return g->states[at].may_end; }

bool grammar_must_end(const grammar *g, int32_t at)
{
    return g->states[at].may_end && g->states[at].n == 0;
}
