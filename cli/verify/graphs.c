/* Checks random graphs; see graphs.h. */
#include "verify/graphs.h"
#include "verify/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum outcome_kind {
    FINE,
    REFUSED, /* not supported by the device */
    ALONE,   /* a node is wrong on its own */
    FUSED,   /* a node is wrong when fused with others */
    BITS,    /* the other device gives different bits */
    DONATED, /* donated leaves change the bits */
    CUT,     /* leaves in blocks change the bits */
    FAILED   /* an unexpected error */
} outcome_kind;

typedef struct outcome {
    outcome_kind kind;
    ig_status code;
    bool donates;   /* it failed in a run that may overwrite leaves ... */
    bool cuts;      /* ... or reads them in blocks */
    const char *on; /* the device */
    ig_verify_report report;
    char text[800];
    char error[400]; /* of the library */
} outcome;

/* Ends a check with the library's error. */
static void take_error(outcome *o, const char *device)
{
    const char *text = ig_error(&o->code);
    o->on = device;
    o->kind = o->code == IG_ERR_UNSUPPORTED ? REFUSED : FAILED;
    snprintf(o->error, sizeof o->error, "%s", text ? text : "failed without a reason");
    snprintf(o->text, sizeof o->text, "on %s: %s", device, o->error);
}

/* ---- bits of two runs ---- */

typedef struct results {
    int n;
    bool is_given[GRAPH_OUTPUTS]; /* a view of a leaf, without elements if leaves are donated */
    ig_dtype dtype[GRAPH_OUTPUTS];
    int64_t size[GRAPH_OUTPUTS];
    char *data[GRAPH_OUTPUTS];
} results;

static void results_free(results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->data[i]);
}

static ig_status eval_donating(const graph *g, const graph_arrays *a, ig_array *const *out, int n)
{
    ig_array *leaf[GRAPH_STEPS];
    int n_leaf = 0;
    for (int k = 0; k < g->n_step; k++)
        if (g->step[k].kind == STEP_LEAF && g->step[k].leaf.is_donated &&
            !g->step[k].leaf.is_number)
            leaf[n_leaf++] = a->at[k][0];
    return ig_eval_donating(out, n, leaf, n_leaf);
}

/* A sink that writes blocks to memory. */
typedef struct memory_sink {
    int ndim;
    int64_t shape[MAX_AXES], chunk[MAX_AXES];
    size_t width;
    char *data;
} memory_sink;

static ig_status write_block(void *context, const int64_t *start, const int64_t *size,
                             const void *data)
{
    const memory_sink *s = context;
    int64_t n = 1, index[MAX_AXES] = {0};
    for (int i = 0; i < s->ndim; i++)
        n *= size[i];
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        for (int i = 0; i < s->ndim; i++)
            at = at * s->shape[i] + start[i] + index[i];
        memcpy(s->data + (size_t)at * s->width, (const char *)data + (size_t)k * s->width,
               s->width);
        for (int i = s->ndim - 1; i >= 0 && ++index[i] == size[i]; i--)
            index[i] = 0;
    }
    return IG_OK;
}

/* Evaluates to sinks in odd chunks, which write to->data. */
static ig_status eval_to_sinks(ig_array *const *out, int n, const results *to)
{
    memory_sink memory[GRAPH_OUTPUTS];
    ig_block_sink sink[GRAPH_OUTPUTS];
    const ig_block_sink *sinks[GRAPH_OUTPUTS];
    for (int k = 0; k < n; k++) {
        const ig_ints shape = ig_shape(out[k]);
        memory[k] = (memory_sink){
            .ndim = shape.n, .width = ig_dtype_bytes(ig_dtype_of(out[k])), .data = to->data[k]};
        for (int i = 0; i < shape.n; i++) {
            memory[k].shape[i] = shape.v[i];
            memory[k].chunk[i] = 1 + 5 * (i + 1) % (shape.v[i] > 0 ? shape.v[i] : 1);
        }
        sink[k] = (ig_block_sink){.size = sizeof *sink,
                                  .chunk = {memory[k].chunk, shape.n},
                                  .write = write_block,
                                  .context = &memory[k]};
        sinks[k] = &sink[k];
    }
    return ig_eval_to(out, sinks, n);
}

typedef enum run_kind { PLAINLY, DONATING, TO_SINKS } run_kind;

/* Evaluates the graph on a device and copies its results. */
static bool compute(graph *g, const char *device, run_kind kind, results *to)
{
    graph_arrays *a = heap_get(sizeof *a);
    ig_array *out[GRAPH_OUTPUTS];
    *to = (results){0};
    ig_set_device(device);
    ig_scope_begin();
    const int n = graph_outputs(g, a, out);
    for (int i = 0; i < n; i++) {
        to->is_given[i] = ig_is_evaluated(out[i]);
        to->dtype[i] = ig_dtype_of(out[i]);
        to->size[i] = ig_size(out[i]);
        to->data[i] = heap_get((size_t)to->size[i] * ig_dtype_bytes(to->dtype[i]) + 1);
        to->n = i + 1;
    }
    const ig_status status = n == 0             ? IG_ERR_ARGUMENT
                             : kind == DONATING ? eval_donating(g, a, out, n)
                             : kind == TO_SINKS ? eval_to_sinks(out, n, to)
                                                : ig_eval(out, n);
    bool fine = status == IG_OK;
    for (int i = 0; i < n && fine; i++) {
        const bool read = kind != TO_SINKS && !(kind == DONATING && to->is_given[i]);
        const size_t bytes = (size_t)to->size[i] * ig_dtype_bytes(to->dtype[i]);
        fine = !read || ig_read(out[i], to->data[i], bytes) == IG_OK;
        if (ig_isdtype(to->dtype[i], "complex floating")) { /* compared as pairs of parts */
            to->dtype[i] = to->dtype[i] == IG_C64 ? IG_F32 : IG_F64;
            to->size[i] *= 2;
        }
    }
    ig_scope_end();
    free(a);
    return fine;
}

/* The index of the first element that differs, or -1. */
static int64_t find_difference(const graphs_scope *s, const results *x, const results *y, int k)
{
    const ig_dtype d = x->dtype[k];
    const size_t width = ig_dtype_bytes(d);
    if (d != y->dtype[k] || x->size[k] != y->size[k])
        return 0;
    for (int64_t i = 0; i < x->size[k]; i++) {
        const char *a = x->data[k] + (size_t)i * width, *b = y->data[k] + (size_t)i * width;
        if (memcmp(a, b, width) == 0)
            continue;
        const real p = real_load(d, a), q = real_load(d, b);
        const bool nans = dtype_in(d, FLOATS) && isnan(p) && isnan(q);
        const bool flushed =
            s->flushes && dtype_in(d, BIT(IG_F32) | BIT(IG_BF16)) && fabsl(p - q) < real_normal(d);
        if (!nans && !flushed)
            return i;
    }
    return -1;
}

/* Finds an element of `here` that is not the expected one. */
static void compare(const graphs_scope *s, const results *here, const results *want,
                    outcome_kind kind, outcome *o)
{
    const char *how = kind == DONATED ? " when leaves are donated"
                      : kind == CUT   ? " when leaves are read in blocks"
                                      : "";
    for (int k = 0; k < here->n && o->kind == FINE; k++) {
        const int64_t i =
            kind == DONATED && here->is_given[k] ? -1 : find_difference(s, want, here, k);
        const size_t at = (size_t)i * ig_dtype_bytes(here->dtype[k]);
        if (i < 0)
            continue;
        o->kind = kind;
        snprintf(o->text, sizeof o->text,
                 "output %d, %s: element %lld of %lld is %.17Lg on %s%s, and %.17Lg%s%s", k,
                 ig_dtype_name(here->dtype[k]), (long long)i, (long long)here->size[k],
                 real_load(here->dtype[k], here->data[k] + at), s->device, how,
                 real_load(want->dtype[k], want->data[k] + at), *how ? " otherwise" : " on ",
                 *how ? "" : s->reference);
    }
}

/* Evaluates the graph with leaves in blocks that hold some hundred bytes; every second graph to sinks. */
static bool compute_in_blocks(const graphs_scope *s, graph *g, results *to)
{
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%d", 64 + 31 * (g->n_step % 16));
    setenv("IG_BLOCK_BYTES", bytes, 1);
    g->in_blocks = true;
    const bool fine = compute(g, s->device, g->n_step % 2 ? TO_SINKS : PLAINLY, to);
    g->in_blocks = false;
    unsetenv("IG_BLOCK_BYTES");
    return fine;
}

/* True if the sums of products may depend on how they are cut: see docs/ARCHITECTURE.md. */
static bool is_loose(const graphs_scope *s, const graph *g)
{
    if (ig_math_mode() == IG_MATH_SAME)
        return false;
    bool halves = false;
    for (int k = 0; k < g->n_step; k++)
        halves = halves || (g->step[k].kind == STEP_LEAF && g->step[k].leaf.dtype == IG_BF16);
    return halves || strcmp(s->device, "cpu") != 0;
}

/* Compares the bits with the other device's, and with runs that may overwrite leaves or read them in blocks. */
static void compare_runs(const graphs_scope *s, graph *g, outcome *o)
{
    results here, there = {0}, given = {0}, cut = {0};
    if (!compute(g, s->device, PLAINLY, &here))
        take_error(o, s->device);
    else if (s->reference && !compute(g, s->reference, PLAINLY, &there))
        take_error(o, s->reference);
    else if (s->reference)
        compare(s, &here, &there, BITS, o);
    o->donates = o->kind == FINE;
    if (o->donates && !compute(g, s->device, DONATING, &given))
        take_error(o, s->device);
    else if (o->donates)
        compare(s, &given, &here, DONATED, o);
    if (o->kind == FINE && s->blocks && !is_loose(s, g)) {
        o->donates = false;
        o->cuts = true;
        if (!compute_in_blocks(s, g, &cut))
            take_error(o, s->device);
        else
            compare(s, &cut, &here, CUT, o);
    }
    results_free(&here);
    results_free(&there);
    results_free(&given);
    results_free(&cut);
}

/* ---- one graph ---- */

/* With another device, the nodes are checked there: equal bits are then right as well, and a compiler that takes long
 * gets only the kernels of the whole graph. */
static void check(const graphs_scope *s, graph *g, outcome *o)
{
    graph_arrays *a = heap_get(sizeof *a);
    ig_array *out[GRAPH_OUTPUTS];
    const char *on = s->reference ? s->reference : s->device;
    *o = (outcome){.kind = FINE, .on = on};
    ig_set_device(on);
    ig_scope_begin();
    const int n = graph_outputs(g, a, out);
    if (n == 0 || ig_verify(out, n, &o->report) != IG_OK) {
        take_error(o, on);
    } else if (o->report.failed) {
        o->kind = o->report.fused ? FUSED : ALONE;
        snprintf(o->text, sizeof o->text, "%s", o->report.text);
    }
    ig_scope_end();
    free(a);
    if (o->kind == FINE)
        compare_runs(s, g, o);
}

/* True if both fail for the same reason: the same check; of a node on its own, the same op; of an error, the same code
 * and the same words up to the first number. */
static bool is_alike(const outcome *x, const outcome *y)
{
    const size_t words = strcspn(x->error, "0123456789");
    return x->kind == y->kind && x->code == y->code && x->donates == y->donates &&
           x->cuts == y->cuts && (x->kind != ALONE || strcmp(x->report.op, y->report.op) == 0) &&
           strncmp(x->error, y->error, words) == 0;
}

/* A graph being shrunk. It must fail in the same way as the original. */
typedef struct suspect {
    const graphs_scope *scope;
    outcome is;
} suspect;

static bool fails_alike(void *context, graph *g)
{
    suspect *p = context;
    outcome *now = heap_get(sizeof *now);
    check(p->scope, g, now);
    const bool alike = is_alike(&p->is, now);
    if (alike)
        p->is = *now;
    free(now);
    return alike;
}

/* Writes what is wrong, and a command that reproduces it. `ingot eval` donates nothing. */
static void describe(const graphs_scope *s, const graph *g, const outcome *o, int64_t number,
                     int ops, str *t)
{
    const char *math = s->math ? s->math : s->reference ? "same" : NULL;
    str_printf(t, "%s; %d of %d ops are enough", o->text, graph_ops(g), ops);
    const bool again = o->donates || o->cuts;
    if (again) {
        str_puts(t, ": ");
        graph_print(g, t);
        str_printf(t, "\n  ingot verify --graphs 1 --case %lld --seed %llu --device %s",
                   (long long)number, (unsigned long long)s->seed, s->device);
        str_puts(t, o->cuts ? " --blocks" : "");
    } else if (o->kind == BITS)
        str_printf(t, "\n  for d in %s %s; do ingot eval --full --device $d", s->reference,
                   s->device);
    else
        str_printf(t, "\n  ingot eval --verify --device %s", o->on);
    if (math)
        str_printf(t, " --math %s", math);
    if (again)
        return;
    str_puts(t, " '");
    graph_print(g, t);
    str_puts(t, o->kind == BITS ? "'; done" : "'");
}

void graphs_check(const graphs_scope *s, int64_t number, unit_report *r)
{
    graph *g = heap_get(sizeof *g);
    suspect *p = heap_get(sizeof *p);
    p->scope = s;
    graph_make(g, s->seed, number);
    check(s, g, &p->is);
    const ig_verify_report *seen = &p->is.report;
    r->seen.cases++;
    r->seen.refused += p->is.kind == REFUSED;
    if (p->is.kind == FINE) {
        const tally t = {
            .ulp = seen->worst_ulp, .relative = seen->worst_relative, .bound = seen->worst_bound};
        tally_add(&r->seen, &t);
    }
    if (p->is.kind > REFUSED && !(s->stop && s->stop())) {
        const int ops = graph_ops(g);
        r->seen.failed++;
        if (!r->first.text) {
            str t = {0};
            graph_shrink(g, fails_alike, s->stop, p);
            describe(s, g, &p->is, number, ops, &t);
            snprintf(r->first.name, sizeof r->first.name, "%lld", (long long)number);
            r->first.text = t.s;
        }
    }
    free(p);
    free(g);
}
