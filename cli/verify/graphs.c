/* Checks random graphs; see graphs.h. */
#include "verify/graphs.h"

#include "base/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum outcome_kind {
    FINE,
    REFUSED, /* not supported by the device */
    ALONE,   /* a node is wrong on its own */
    FUSED,   /* a node is wrong when fused with others */
    BITS,    /* the other device, or another way to evaluate, gives different bits */
    FAILED   /* an unexpected error */
} outcome_kind;

/* The ways to evaluate a graph. All must have the bits of the first. */
typedef enum graph_way {
    PLAINLY,
    DONATING,
    LIMITED,
    COMPILED,
    IN_BLOCKS,
    TO_SINKS,
    SHARED,
    WAYS
} graph_way;
enum { SHARED_EACH = 8 };

static const struct {
    const char *name, *when;
    bool blocks; /* leaves are read in blocks */
    bool same;   /* bits are promised in math mode `same` only */
} ways[WAYS] = {
    [PLAINLY] = {.name = "plain", .when = ""},
    [DONATING] = {.name = "donating", .when = " when leaves are donated"},
    [LIMITED] = {.name = "limited", .when = " in as little memory as possible", .same = true},
    [COMPILED] = {.name = "compiled", .when = " when compiled", .same = true},
    [IN_BLOCKS] = {.name = "blocks", .when = " when leaves are read in blocks", .blocks = true},
    [TO_SINKS] = {.name = "sinks", .when = " when blocks are written to sinks", .blocks = true},
    [SHARED] = {.name = "devices",
                .when = " when devices share the blocks",
                .blocks = true,
                .same = true},
};

const char *graphs_way(int way) { return way < WAYS ? ways[way].name : NULL; }

typedef struct outcome {
    outcome_kind kind;
    ig_status code;
    graph_way way;  /* in which it failed */
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

/* The limit that a refusal names; 0: none. Graphs with leaves in host memory may be refused block by block. */
static unsigned long long limit_named(const char *message)
{
    static const char *const before[] = {"to at least ", "the smallest limit that works is "};
    unsigned long long named = 0;
    for (int i = 0; i < 2 && !named; i++) {
        const char *at = strstr(message, before[i]);
        if (at)
            named = strtoull(at + strlen(before[i]), NULL, 10);
    }
    return named;
}

/* Evaluates within the smallest memory limit: the one that the refusal of a smaller one names. Kernels may need more while they
 * run. */
static ig_status eval_limited(ig_array *const *out, int n)
{
    enum { TRIES = 30 };
    char said[400] = "";
    unsigned long long limit = 1, named;
    ig_status status = IG_ERR_MEMORY;
    for (int i = 0; i < TRIES && status == IG_ERR_MEMORY; i++) {
        ig_set_device_memory_limit(NULL, limit);
        status = ig_eval(out, n);
        if (status != IG_ERR_MEMORY)
            break;
        snprintf(said, sizeof said, "%s", ig_error(NULL));
        if ((named = limit_named(said)) == 0)
            break;
        limit = i && named < 2 * limit ? 2 * limit : named;
    }
    ig_set_device_memory_limit(NULL, 0);
    return status == IG_ERR_MEMORY ? ig_fail(status, "%s", said) : status;
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

/* Compiles the graph with its leaves as inputs, and replaces its outputs by the results of a run. */
static ig_status eval_compiled(const graph *g, const graph_arrays *a, ig_array **out, int n)
{
    ig_array *leaf[GRAPH_STEPS];
    int n_leaf = 0;
    for (int k = 0; k < g->n_step; k++)
        if (g->step[k].kind == STEP_LEAF && !g->step[k].leaf.is_number)
            leaf[n_leaf++] = a->at[k][0];
    ig_compiled *c = ig_compile(leaf, n_leaf, 0, out, n);
    const ig_status status = c ? ig_run(c, leaf, out) : IG_ERR_MEMORY;
    ig_compiled_free(c);
    return status;
}

/* Evaluates the graph on a device, or a list, and copies its results. */
static bool compute(graph *g, const char *device, graph_way how, results *to)
{
    graph_arrays *a = heap_get(sizeof *a);
    ig_array *out[GRAPH_OUTPUTS];
    char bytes[32];
    *to = (results){0};
    snprintf(bytes, sizeof bytes, "%d", 64 + 31 * (g->n_step % 16));
    if (ways[how].blocks)
        setenv("IG_BLOCK_BYTES", bytes, 1);
    g->in_blocks = ways[how].blocks;
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
    const ig_status status = n == 0            ? IG_ERR_ARGUMENT
                             : how == DONATING ? eval_donating(g, a, out, n)
                             : how == LIMITED  ? eval_limited(out, n)
                             : how == COMPILED ? eval_compiled(g, a, out, n)
                             : how == TO_SINKS ? eval_to_sinks(out, n, to)
                                               : ig_eval(out, n);
    bool fine = status == IG_OK;
    for (int i = 0; i < n && fine; i++) {
        const bool read = how != TO_SINKS && !(how == DONATING && to->is_given[i]);
        const size_t size = (size_t)to->size[i] * ig_dtype_bytes(to->dtype[i]);
        fine = !read || ig_read(out[i], to->data[i], size) == IG_OK;
        if (ig_isdtype(to->dtype[i], "complex floating")) { /* compared as pairs of parts */
            to->dtype[i] = to->dtype[i] == IG_C64 ? IG_F32 : IG_F64;
            to->size[i] *= 2;
        }
    }
    ig_scope_end();
    g->in_blocks = false;
    unsetenv("IG_BLOCK_BYTES");
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

/* Finds an element of `here`, which was computed on s->device, that is not the expected one. */
static void compare(const graphs_scope *s, const results *here, const results *want, graph_way how,
                    outcome *o)
{
    for (int k = 0; k < here->n && o->kind == FINE; k++) {
        const int64_t i =
            how == DONATING && here->is_given[k] ? -1 : find_difference(s, want, here, k);
        const size_t at = (size_t)i * ig_dtype_bytes(here->dtype[k]);
        if (i < 0)
            continue;
        o->kind = BITS;
        snprintf(o->text, sizeof o->text,
                 "output %d, %s: element %lld of %lld is %.17Lg on %s%s, and %.17Lg%s%s", k,
                 ig_dtype_name(here->dtype[k]), (long long)i, (long long)here->size[k],
                 real_load(here->dtype[k], here->data[k] + at), s->device, ways[how].when,
                 real_load(want->dtype[k], want->data[k] + at), how ? " otherwise" : " on ",
                 how ? "" : s->reference);
    }
}

/* True if the sums of products may depend on how they are cut: see docs/ARCHITECTURE.md. */
static bool is_loose(const graphs_scope *s, const graph *g)
{
    bool halves = false;
    for (int k = 0; k < g->n_step; k++)
        halves = halves || (g->step[k].kind == STEP_LEAF && g->step[k].leaf.dtype == IG_BF16);
    return halves || strcmp(s->device, "cpu") != 0;
}

const char *graphs_leaves_out(const graphs_scope *s, const graph *g, int how)
{
    bool evaluates = false;
    for (int k = 0; k < g->n_step; k++)
        evaluates = evaluates || (g->step[k].kind == STEP_CALL && g->step[k].op->evaluates);
    return ways[how].blocks && !s->blocks          ? "add --blocks"
           : how == COMPILED && evaluates          ? "the shape of a result depends on data"
           : how == TO_SINKS && ig_team_size() > 1 ? "each rank writes blocks of its own"
           : how == SHARED && g->number % SHARED_EACH
               ? "the kernels of the other devices take most of the time"
           : how == SHARED && ig_team_size() > 1 ? "ranks share the blocks"
                                                 : NULL;
}

/* In a team: graphs that are wrong in one rank are wrong in all, so that all ranks make the same evaluations. */
static void agree(outcome *o)
{
    uint64_t fine = o->kind == FINE;
    if (ig_team_size() == 1)
        return;
    if (team_least(TEAM_MAIN, &fine) == IG_OK && !fine && o->kind == FINE)
        *o = (outcome){.kind = FAILED, .way = o->way, .on = o->on, .text = "wrong in another rank"};
}

/* Compares the bits with the bits of the other device and of the other ways. */
static void compare_runs(const graphs_scope *s, graph *g, outcome *o)
{
    const ig_math math = ig_math_mode();
    results here, there = {0}, same = {0};
    if (!compute(g, s->device, PLAINLY, &here))
        take_error(o, s->device);
    else if (s->reference && !compute(g, s->reference, PLAINLY, &there))
        take_error(o, s->reference);
    else if (s->reference)
        compare(s, &here, &there, PLAINLY, o);
    for (int how = DONATING; how < WAYS && o->kind == FINE; how++) {
        results now = {0};
        if (graphs_leaves_out(s, g, how))
            continue;
        const bool in_same =
            math != IG_MATH_SAME && (ways[how].same || (ways[how].blocks && is_loose(s, g)));
        if (in_same)
            ig_set_math(IG_MATH_SAME);
        o->way = how;
        if ((in_same && !same.n && !compute(g, s->device, PLAINLY, &same)) ||
            !compute(g, how == SHARED ? s->list : s->device, how, &now))
            take_error(o, s->device);
        else
            compare(s, &now, in_same ? &same : &here, how, o);
        ig_set_math(math);
        results_free(&now);
        agree(o);
    }
    results_free(&here);
    results_free(&there);
    results_free(&same);
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
    return x->kind == y->kind && x->code == y->code && x->way == y->way &&
           (x->kind != ALONE || strcmp(x->report.op, y->report.op) == 0) &&
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

/* Writes what is wrong, and a command that reproduces it. `ingot eval` evaluates in one way. */
static void describe(const graphs_scope *s, const graph *g, const outcome *o, int64_t number,
                     int ops, str *t)
{
    const char *math = s->math ? s->math : s->reference ? "same" : NULL;
    str_printf(t, "%s; %d of %d ops are enough", o->text, graph_ops(g), ops);
    if (o->way != PLAINLY) {
        str_puts(t, ": ");
        graph_print(g, t);
        str_printf(t, "\n  ingot verify --graphs 1 --case %lld --seed %llu --device %s",
                   (long long)number, (unsigned long long)s->seed, s->device);
        str_puts(t, ways[o->way].blocks ? " --blocks" : "");
    } else if (o->kind == BITS)
        str_printf(t, "\n  for d in %s %s; do ingot eval --full --device $d", s->reference,
                   s->device);
    else
        str_printf(t, "\n  ingot eval --verify --device %s", o->on);
    if (math)
        str_printf(t, " --math %s", math);
    if (o->way != PLAINLY)
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
            if (ig_team_size() == 1) /* a failed evaluation ends a team */
                graph_shrink(g, fails_alike, s->stop, p);
            describe(s, g, &p->is, number, ops, &t);
            snprintf(r->first.name, sizeof r->first.name, "%lld", (long long)number);
            r->first.text = t.s;
        }
    }
    free(p);
    free(g);
}
