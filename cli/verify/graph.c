/* Graphs as data: building and printing. */
#include "verify/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

static bool is_complex(ig_dtype d) { return ig_isdtype(d, "complex floating"); }

/* Element i of a leaf. The imaginary part of a complex one is the real part of the next. */
static double leaf_at(const graph_leaf *l, int64_t i)
{
    return l->table[(i * l->factor + 1) % l->n_table];
}

static ig_array *number_of(const graph_leaf *l)
{
    return dtype_in(l->dtype, FLOATS) ? ig_float(l->table[0]) : ig_int((int64_t)l->table[0]);
}

/* The elements of a leaf, which a callback reads. */
typedef struct leaf_blocks {
    int ndim;
    int64_t shape[MAX_AXES];
    size_t width;
    char *data;
} leaf_blocks;

static ig_status read_blocks(void *context, const int64_t *start, const int64_t *size, void *to)
{
    const leaf_blocks *b = context;
    int64_t n = 1, index[MAX_AXES] = {0};
    for (int i = 0; i < b->ndim; i++)
        n *= size[i];
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        for (int i = 0; i < b->ndim; i++)
            at = at * b->shape[i] + start[i] + index[i];
        memcpy((char *)to + (size_t)k * b->width, b->data + (size_t)at * b->width, b->width);
        for (int i = b->ndim - 1; i >= 0 && ++index[i] == size[i]; i--)
            index[i] = 0;
    }
    return IG_OK;
}

static void release_blocks(void *context)
{
    free(((leaf_blocks *)context)->data);
    free(context);
}

/* The leaf as a source in chunks of some shape. */
static ig_array *source_of(const graph_leaf *l, char *data)
{
    leaf_blocks *b = heap_get(sizeof *b);
    int64_t chunk[MAX_AXES];
    *b = (leaf_blocks){.ndim = l->ndim, .width = ig_dtype_bytes(l->dtype), .data = data};
    memcpy(b->shape, l->shape, sizeof b->shape);
    for (int i = 0; i < l->ndim; i++)
        chunk[i] = 1 + l->factor * (i + 1) % (l->shape[i] > 0 ? l->shape[i] : 1);
    return ig_from_blocks(&(ig_blocks){.size = sizeof(ig_blocks),
                                       .shape = {l->shape, l->ndim},
                                       .dtype = l->dtype,
                                       .chunk = {chunk, l->ndim},
                                       .read = read_blocks,
                                       .release = release_blocks,
                                       .context = b});
}

static ig_array *build_leaf(const graph_leaf *l, bool in_blocks)
{
    if (l->is_number)
        return number_of(l);
    const size_t width = ig_dtype_bytes(l->dtype);
    const ig_ints shape = {l->shape, l->ndim};
    const int64_t n = shape_size(shape);
    char *data = heap_get((size_t)n * width + 1);
    const bool pairs = is_complex(l->dtype);
    const ig_dtype part = !pairs ? l->dtype : l->dtype == IG_C64 ? IG_F32 : IG_F64;
    for (int64_t i = 0; i < n * (1 + pairs); i++)
        real_store(part, data + (size_t)i * ig_dtype_bytes(part),
                   real_round(part, (real)(pairs && i % 2 ? leaf_at(l, i / 2 + 1)
                                                          : leaf_at(l, pairs ? i / 2 : i))));
    if (in_blocks)
        return source_of(l, data);
    ig_array *x = ig_from_data(data, shape, l->dtype);
    free(data);
    return x;
}

static ig_array *array_at(const graph_arrays *a, graph_ref r) { return a->at[r.step][r.result]; }

/* The argument as an ig_arg. room: storage for the arrays of a list. */
static ig_arg call_arg(const graph_arg *from, const graph_arrays *a, ig_array **room)
{
    ig_arg to = {.name = from->param->name, .kind = from->kind};
    switch (from->kind) {
    case IG_ARG_ARRAY: to.u.array = array_at(a, from->ref[0]); break;
    case IG_ARG_ARRAYS:
        for (int i = 0; i < from->n_ref; i++)
            room[i] = array_at(a, from->ref[i]);
        to.u.arrays.v = room;
        to.u.arrays.n = from->n_ref;
        break;
    case IG_ARG_INT: to.u.i = from->i; break;
    case IG_ARG_FLOAT: to.u.f = from->f; break;
    case IG_ARG_BOOL: to.u.b = from->b; break;
    case IG_ARG_INTS: to.u.ints = (ig_ints){from->ints, from->n_ints}; break;
    case IG_ARG_DTYPE: to.u.dtype = from->dtype; break;
    case IG_ARG_STRING: to.u.str = from->str; break;
    default: break;
    }
    return to;
}

/* True if argument i can be positional: all earlier parameters have arguments, and none of them is variadic. */
static bool is_positional(const graph_step *s, int i)
{
    bool is = s->arg[i].param == &s->op->params[i];
    for (int k = 0; k < i; k++)
        is = is && !s->arg[k].param->variadic;
    return is;
}

static int build_call(const graph_step *s, const graph_arrays *a, ig_array **out)
{
    ig_arg args[GRAPH_ARGS + GRAPH_REFS];
    ig_array *lists[GRAPH_ARGS][GRAPH_REFS];
    int n = 0;
    for (int i = 0; i < s->n_arg; i++) {
        const graph_arg *from = &s->arg[i];
        if (!from->param->variadic) {
            args[n] = call_arg(from, a, lists[i]);
            if (is_positional(s, i))
                args[n].name = NULL;
            n++;
        }
        for (int k = 0; k < from->n_ref && from->param->variadic; k++)
            args[n++] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = array_at(a, from->ref[k])};
    }
    return ig_call(s->op->name, args, n, out, GRAPH_RESULTS);
}

static int build_grad(const graph_step *s, const graph_arrays *a, ig_array **out)
{
    ig_array *by[GRAPH_REFS];
    const graph_arg *params = &s->arg[1];
    for (int i = 0; i < params->n_ref; i++)
        by[i] = array_at(a, params->ref[i]);
    ig_array *loss = ig_sum(array_at(a, s->arg[0].ref[0]), IG_NONE, IG_DTYPE_NONE, false);
    return loss && ig_grad(loss, by, params->n_ref, out) == IG_OK ? params->n_ref : 0;
}

bool graph_build_step(graph *g, int k, graph_arrays *a)
{
    graph_step *s = &g->step[k];
    ig_array **out = a->at[k];
    memset(out, 0, sizeof a->at[k]);
    if (s->kind == STEP_LEAF)
        s->n_result = (out[0] = build_leaf(&s->leaf, g->in_blocks)) != NULL;
    else
        s->n_result = s->kind == STEP_CALL ? build_call(s, a, out) : build_grad(s, a, out);
    return s->n_result > 0;
}

/* A change of the graph may have left a reference to a result that no longer exists. */
static bool refs_exist(const graph *g, int k)
{
    const graph_step *s = &g->step[k];
    for (int i = 0; i < s->n_arg; i++)
        for (int r = 0; r < s->arg[i].n_ref; r++)
            if (s->arg[i].ref[r].result >= g->step[s->arg[i].ref[r].step].n_result)
                return false;
    return true;
}

bool graph_build(graph *g, graph_arrays *a)
{
    bool fine = true;
    for (int k = 0; k < g->n_step && fine; k++)
        fine = refs_exist(g, k) && graph_build_step(g, k, a);
    return fine;
}

int graph_outputs(graph *g, graph_arrays *a, ig_array *out[GRAPH_OUTPUTS])
{
    bool fine = graph_build(g, a);
    for (int i = 0; i < g->n_output && fine; i++)
        fine = (out[i] = array_at(a, g->output[i])) != NULL;
    return fine ? g->n_output : 0;
}

/* ---- pruning ---- */

int graph_ops(const graph *g)
{
    int n = 0;
    for (int k = 0; k < g->n_step; k++)
        n += g->step[k].kind != STEP_LEAF;
    return n;
}

void graph_prune(graph *g)
{
    int moved[GRAPH_STEPS], n = 0;
    bool used[GRAPH_STEPS] = {false};
    for (int i = 0; i < g->n_output; i++)
        used[g->output[i].step] = true;
    for (int k = g->n_step - 1; k >= 0; k--)
        for (int i = 0; i < g->step[k].n_arg && used[k]; i++)
            for (int r = 0; r < g->step[k].arg[i].n_ref; r++)
                used[g->step[k].arg[i].ref[r].step] = true;
    for (int k = 0; k < g->n_step; k++) {
        moved[k] = n;
        if (!used[k])
            continue;
        if (n != k)
            g->step[n] = g->step[k];
        graph_step *s = &g->step[n++];
        for (int i = 0; i < s->n_arg; i++)
            for (int r = 0; r < s->arg[i].n_ref; r++)
                s->arg[i].ref[r].step = moved[s->arg[i].ref[r].step];
    }
    g->n_step = n;
    for (int i = 0; i < g->n_output; i++)
        g->output[i].step = moved[g->output[i].step];
}

/* ---- printing ---- */

static void print_number(str *t, double v, bool is_float)
{
    if (isnan(v))
        str_puts(t, "nan");
    else if (isinf(v))
        str_puts(t, v < 0 ? "-inf" : "inf");
    else if (is_float && v == floor(v) && fabs(v) < 1e15)
        str_printf(t, "%.1f", v);
    else
        str_printf(t, is_float ? "%.17g" : "%.0f", v);
}

/* The shortest text that reads back as v. */
static void print_short(str *t, double v, bool is_float)
{
    char text[40];
    if (!is_float || !isfinite(v) || v == floor(v)) {
        print_number(t, v, is_float);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    str_puts(t, text);
}

void print_ints(str *t, const int64_t *v, int n)
{
    str_puts(t, "[");
    for (int i = 0; i < n; i++)
        str_printf(t, i ? ",%lld" : "%lld", (long long)v[i]);
    str_puts(t, "]");
}

static void print_leaf(str *t, const graph_leaf *l)
{
    const bool is_float = dtype_in(l->dtype, FLOATS);
    const ig_ints shape = {l->shape, l->ndim};
    const int64_t size = shape_size(shape);
    const bool listed = size && size <= 2 * l->n_table && l->ndim <= 1;
    if (is_complex(l->dtype) && size) { /* parts, each as a real leaf */
        graph_leaf part = *l;
        part.dtype = l->dtype == IG_C64 ? IG_F32 : IG_F64;
        str_puts(t, "compute(");
        print_leaf(t, &part);
        str_puts(t, "+1j*");
        for (int i = 0; i < l->n_table;
             i++) /* rotated, such that element i is element i + 1 of l */
            part.table[i] = l->table[(i + l->factor) % l->n_table];
        print_leaf(t, &part);
        str_puts(t, ")");
        return;
    }
    if (l->is_number) {
        print_short(t, l->table[0], is_float);
        return;
    }
    if (size == 0) {
        str_puts(t, "compute(zeros(");
        print_ints(t, l->shape, l->ndim);
        str_printf(t, ",%s))", ig_dtype_name(l->dtype));
        return;
    }
    str_puts(t, listed ? "compute(array(" : "compute(reshape(take(array(");
    str_puts(t, listed && l->ndim == 0 ? "" : "[");
    for (int64_t i = 0; i < (listed ? size : l->n_table); i++) {
        str_puts(t, i ? "," : "");
        print_short(t, l->table[listed ? (i * l->factor + 1) % l->n_table : i], is_float);
    }
    str_puts(t, listed && l->ndim == 0 ? "" : "]");
    str_printf(t, ",%s)", ig_dtype_name(l->dtype));
    if (!listed) {
        str_printf(t, ",(arange(%lld)*%d+1)%%%d),", (long long)size, l->factor, l->n_table);
        print_ints(t, l->shape, l->ndim);
        str_puts(t, ")");
    }
    str_puts(t, ")");
}

static void print_ref(const graph *g, str *t, graph_ref r)
{
    const graph_step *s = &g->step[r.step];
    if (s->kind == STEP_LEAF && s->leaf.is_number)
        print_leaf(t, &s->leaf);
    else if (s->kind == STEP_GRAD || (s->op && s->op->gives_list))
        str_printf(t, "v%d[%d]", r.step, r.result);
    else
        str_printf(t, "v%d", r.step);
}

static void print_refs(const graph *g, str *t, const graph_arg *a)
{
    for (int i = 0; i < a->n_ref; i++) {
        str_puts(t, i ? "," : "");
        print_ref(g, t, a->ref[i]);
    }
}

static void print_arg(const graph *g, str *t, const graph_arg *a, bool by_name)
{
    if (by_name)
        str_printf(t, "%s=", a->param->name);
    switch (a->kind) {
    case IG_ARG_ARRAY: print_ref(g, t, a->ref[0]); break;
    case IG_ARG_ARRAYS:
        str_puts(t, a->param->variadic ? "" : "[");
        print_refs(g, t, a);
        str_puts(t, a->param->variadic ? "" : "]");
        break;
    case IG_ARG_INT: str_printf(t, "%lld", (long long)a->i); break;
    case IG_ARG_FLOAT: print_short(t, a->f, true); break;
    case IG_ARG_BOOL: str_puts(t, a->b ? "True" : "False"); break;
    case IG_ARG_INTS: print_ints(t, a->ints, a->n_ints); break;
    case IG_ARG_DTYPE: str_puts(t, ig_dtype_name(a->dtype)); break;
    case IG_ARG_STRING: str_printf(t, "\"%s\"", a->str); break;
    default: str_puts(t, "None"); break;
    }
}

static void print_step(const graph *g, str *t, const graph_step *s)
{
    if (s->kind == STEP_LEAF) {
        print_leaf(t, &s->leaf);
        return;
    }
    if (s->kind == STEP_GRAD) {
        str_puts(t, "grad(sum(");
        print_ref(g, t, s->arg[0].ref[0]);
        str_puts(t, "),[");
        print_refs(g, t, &s->arg[1]);
        str_puts(t, "])");
        return;
    }
    str_printf(t, "%s(", s->op->name);
    for (int i = 0; i < s->n_arg; i++) {
        str_puts(t, i ? "," : "");
        print_arg(g, t, &s->arg[i], !is_positional(s, i));
    }
    str_puts(t, ")");
}

void graph_print(const graph *g, str *t)
{
    for (int k = 0; k < g->n_step; k++) {
        const graph_step *s = &g->step[k];
        if (s->kind == STEP_LEAF && s->leaf.is_number)
            continue;
        str_printf(t, "v%d=", k);
        print_step(g, t, s);
        str_puts(t, "; ");
    }
    str_puts(t, g->n_output > 1 ? "(" : "");
    for (int i = 0; i < g->n_output; i++) {
        str_puts(t, i ? "," : "");
        print_ref(g, t, g->output[i]);
    }
    str_puts(t, g->n_output > 1 ? ")" : "");
}
