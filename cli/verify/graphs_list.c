/* The contents of the random graphs of ingot verify --graphs: every op of the table, every dtype, every way to evaluate. */
#include "verify/graphs.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS_MOST = 16 };

/* Of a way: the graphs that are evaluated in it, and why the last of the others was not. */
typedef struct way_count {
    int64_t n;
    const char *why;
} way_count;

/* Counts the ops of a graph, each once, and the dtypes of its leaves. */
static void count(const graph *g, int64_t *ops, int64_t *dtypes)
{
    bool has[IG_C128 + 1] = {false};
    for (int i = 0; i < ig_op_count(); i++)
        for (int k = 0; k < g->n_step; k++)
            if (g->step[k].kind == STEP_CALL && g->step[k].op == ig_op_at(i)) {
                ops[i]++;
                break;
            }
    for (int k = 0; k < g->n_step; k++)
        if (g->step[k].kind == STEP_LEAF && !g->step[k].leaf.is_number)
            has[g->step[k].leaf.dtype] = true;
    for (int d = 0; d <= IG_C128; d++)
        dtypes[d] += has[d];
}

static void add_ops(str *t, const graphs_scope *s, const int64_t *ops)
{
    char why[GRAPH_WHY];
    for (int i = 0; i < ig_op_count(); i++)
        if (ops[i])
            str_printf(t, "  %-28s %lld\n", ig_op_at(i)->name, (long long)ops[i]);
        else if (graph_draws(ig_op_at(i), s->seed, why))
            str_printf(t, "  %-28s 0: more graphs would have it\n", ig_op_at(i)->name);
        else
            str_printf(t, "  %-28s 0: %s\n", ig_op_at(i)->name, why);
}

void graphs_list(const graphs_scope *s, int64_t n)
{
    graph *g = heap_get(sizeof *g);
    int64_t *ops = heap_get((size_t)ig_op_count() * sizeof *ops), dtypes[IG_C128 + 1] = {0};
    way_count ways[WAYS_MOST] = {{0}};
    str t = {0};
    for (int64_t i = 0; i < n && !(s->stop && s->stop()); i++) {
        graph_make(g, s->seed, i);
        count(g, ops, dtypes);
        for (int way = 0; graphs_way(way); way++) {
            const char *why = graphs_leaves_out(s, g, way);
            ways[way].n += !why;
            ways[way].why = why ? why : ways[way].why;
        }
    }
    str_printf(&t, "ops, and how many of %lld graphs have them:\n", (long long)n);
    add_ops(&t, s, ops);
    str_puts(&t, "dtypes of inputs:\n");
    for (ig_dtype d = IG_BOOL; d <= IG_C128; d++)
        str_printf(&t, "  %-28s %lld\n", ig_dtype_name(d), (long long)dtypes[d]);
    str_puts(&t, "ways to evaluate:\n");
    for (int way = 0; graphs_way(way); way++)
        str_printf(&t, "  %-28s %lld%s%s\n", graphs_way(way), (long long)ways[way].n,
                   ways[way].why ? "; others are left out: " : "",
                   ways[way].why ? ways[way].why : "");
    text_print(stdout, t.s);
    str_free(&t);
    free(ops);
    free(g);
}
