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
    FAILED   /* an unexpected error */
} outcome_kind;

typedef struct outcome {
    outcome_kind kind;
    ig_status code;
    ig_verify_report report;
    char text[800];
} outcome;

/* Ends a check with the library's error. */
static void take_error(outcome *o, const char *device)
{
    const char *text = ig_error(&o->code);
    o->kind = o->code == IG_ERR_UNSUPPORTED ? REFUSED : FAILED;
    snprintf(o->text, sizeof o->text, "on %s: %s", device, text ? text : "failed without a reason");
}

/* ---- bits of two devices ---- */

typedef struct results {
    int n;
    ig_dtype dtype[GRAPH_OUTPUTS];
    int64_t size[GRAPH_OUTPUTS];
    char *data[GRAPH_OUTPUTS];
} results;

static void results_free(results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->data[i]);
}

static bool compute(graph *g, const char *device, results *to)
{
    graph_arrays *a = heap_get(sizeof *a);
    ig_array *out[GRAPH_OUTPUTS];
    *to = (results){0};
    ig_set_device(device);
    ig_scope_begin();
    const int n = graph_outputs(g, a, out);
    bool fine = n > 0 && ig_eval(out, n) == IG_OK;
    for (int i = 0; i < n && fine; i++) {
        const size_t bytes = (size_t)ig_size(out[i]) * ig_dtype_bytes(ig_dtype_of(out[i]));
        to->dtype[i] = ig_dtype_of(out[i]);
        to->size[i] = ig_size(out[i]);
        to->data[i] = heap_get(bytes + 1);
        to->n = i + 1;
        fine = ig_read(out[i], to->data[i], bytes) == IG_OK;
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

static void compare_devices(const graphs_scope *s, graph *g, outcome *o)
{
    results there, here;
    if (!compute(g, s->reference, &there))
        take_error(o, s->reference);
    else if (!compute(g, s->device, &here)) {
        take_error(o, s->device);
        results_free(&here);
    } else {
        for (int k = 0; k < here.n && o->kind == FINE; k++) {
            const int64_t i = find_difference(s, &there, &here, k);
            const size_t at = (size_t)i * ig_dtype_bytes(here.dtype[k]);
            if (i < 0)
                continue;
            o->kind = BITS;
            snprintf(o->text, sizeof o->text,
                     "output %d, %s: element %lld of %lld is %.17Lg on %s, and %.17Lg on %s", k,
                     ig_dtype_name(here.dtype[k]), (long long)i, (long long)here.size[k],
                     real_load(here.dtype[k], here.data[k] + at), s->device,
                     real_load(there.dtype[k], there.data[k] + at), s->reference);
        }
        results_free(&here);
    }
    results_free(&there);
}

/* ---- one graph ---- */

static void check(const graphs_scope *s, graph *g, outcome *o)
{
    graph_arrays *a = heap_get(sizeof *a);
    ig_array *out[GRAPH_OUTPUTS];
    *o = (outcome){.kind = FINE};
    ig_set_device(s->device);
    ig_scope_begin();
    const int n = graph_outputs(g, a, out);
    if (n == 0 || ig_verify(out, n, &o->report) != IG_OK) {
        take_error(o, s->device);
    } else if (o->report.failed) {
        o->kind = o->report.fused ? FUSED : ALONE;
        snprintf(o->text, sizeof o->text, "%s", o->report.text);
    }
    ig_scope_end();
    free(a);
    if (o->kind == FINE && s->reference)
        compare_devices(s, g, o);
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
    const bool alike = now->kind == p->is.kind && now->code == p->is.code;
    if (alike)
        p->is = *now;
    free(now);
    return alike;
}

/* Writes what is wrong, and a command that reproduces it. */
static void describe(const graphs_scope *s, const graph *g, const outcome *o, int ops, str *t)
{
    str_printf(t, "%s; %d of %d ops are enough\n  ", o->text, graph_ops(g), ops);
    if (o->kind == BITS)
        str_printf(t, "for d in %s %s; do ingot eval --full --math %s --device $d", s->reference,
                   s->device, s->math ? s->math : "same");
    else {
        str_printf(t, "ingot eval --verify --device %s", s->device);
        if (s->math || s->reference)
            str_printf(t, " --math %s", s->math ? s->math : "same");
    }
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
            describe(s, g, &p->is, ops, &t);
            snprintf(r->first.name, sizeof r->first.name, "%lld", (long long)number);
            r->first.text = t.s;
        }
    }
    free(p);
    free(g);
}
