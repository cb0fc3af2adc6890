/* Runs problems: the inputs of each are laid out in memory in every way, handed to the op by its name,
 * and the results compared with what the plan says. Inputs that were not given away must be as they
 * were. */
#include "ops/plan.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures ---- */

enum { SHOWN = 20, SHOWN_OF_OP = 2, TEXT = 300 };
static struct failure {
    double severity;
    char text[TEXT]; /* begins with the op */
} worst[SHOWN];
static int64_t failures;

/* The place to show a failure in: the least of all, or of its op where that has its share. */
static int place_for(const char *text)
{
    const size_t name = strcspn(text, " ") + 1;
    int least = 0, own = -1, count = 0;
    for (int i = 0; i < SHOWN; i++) {
        if (worst[i].severity < worst[least].severity)
            least = i;
        if (strncmp(worst[i].text, text, name) != 0)
            continue;
        count++;
        if (own < 0 || worst[i].severity < worst[own].severity)
            own = i;
    }
    return count >= SHOWN_OF_OP ? own : least;
}

void run_fail(tally *t, double severity, const char *format, ...)
{
    struct failure f = {.severity = severity};
    va_list args;
    t->failed++;
    failures++;
    va_start(args, format);
    vsnprintf(f.text, sizeof f.text, format, args);
    va_end(args);
    const int at = place_for(f.text);
    if (severity > worst[at].severity)
        worst[at] = f;
}

static int by_severity(const void *a, const void *b)
{
    const struct failure *x = a, *y = b;
    return (x->severity < y->severity) - (x->severity > y->severity);
}

void run_report(void)
{
    int64_t shown = 0;
    qsort(worst, SHOWN, sizeof *worst, by_severity);
    for (; shown < SHOWN && worst[shown].severity > 0; shown++)
        printf("FAILED %s\n", worst[shown].text);
    if (failures > shown)
        printf("... and %lld more\n", (long long)(failures - shown));
}

/* Severities of what is not a matter of accuracy. */
#define NOT_EVEN_CLOSE 1e300

/* ---- layouts ---- */

typedef enum layout {
    CONTIGUOUS,
    TRANSPOSED,
    FLIPPED, /* negative steps */
    OFFSET,  /* every second element of a larger array, from the second on */
    MIXED,   /* each input in another of the above */
    LAZY,    /* not evaluated before */
    DONATED, /* nobody but the result holds the inputs */
    DONATED_LAZY,
    STRIDE_0,
    STRIDE_0_DONATED,
    LAYOUTS
} layout;

static const char *const layout_names[LAYOUTS] = {
    "contiguous",  "transposed", "negative step",       "offset view", "mixed views",
    "unevaluated", "donated",    "donated unevaluated", "stride 0",    "stride 0 donated"};
static const char *const mode_names[MODES] = {"", "", ", aliased", ", overlapping"};

static const unsigned mode_layouts[MODES] = {
    [MODE_PLAIN] = (1u << STRIDE_0) - 1,
    [MODE_REPEAT] = 1u << STRIDE_0 | 1u << STRIDE_0_DONATED,
    [MODE_ALIAS] = 1u << CONTIGUOUS | 1u << TRANSPOSED | 1u << FLIPPED | 1u << LAZY |
                   1u << DONATED | 1u << DONATED_LAZY,
    [MODE_OVERLAP] = 1u << CONTIGUOUS | 1u << TRANSPOSED | 1u << DONATED | 1u << DONATED_LAZY,
};

static bool is_donated(layout l)
{
    return l == DONATED || l == DONATED_LAZY || l == STRIDE_0_DONATED;
}

/* Row-major data of the given shape in which element i of t stands at place(i); what t does not fill
 * is full of a value that spoils results. */
static ig_array *stored(const tensor *t, layout l, const int64_t *shape)
{
    const ig_ints own = tensor_shape(t), all = {shape, t->ndim};
    const int64_t size = shape_size(all);
    const size_t width = (size_t)value_width(t->dtype) / 8;
    const real spoil = dtype_in(t->dtype, FLOATS) ? (real)NAN : value_max(t->dtype);
    int64_t i[MAX_AXES] = {0}, at[MAX_AXES];
    char *data = malloc((size_t)size * width + 1);
    if (!data)
        abort();
    for (int64_t n = 0; n < size && l == OFFSET; n++)
        value_store(t->dtype, data + (size_t)n * width, spoil);
    for (int64_t n = 0; n < t->size; n++, shape_next(own, i)) {
        for (int a = 0; a < t->ndim; a++)
            at[a] = l == TRANSPOSED ? i[t->ndim - 1 - a]
                    : l == FLIPPED  ? t->shape[a] - 1 - i[a]
                    : l == OFFSET   ? 2 * i[a] + 1
                                    : i[a] % shape[a];
        value_store(t->dtype, data + (size_t)shape_number(all, at) * width, t->v[n]);
    }
    ig_array *x = ig_from_data(data, all, t->dtype);
    free(data);
    return x;
}

/* x as the result of an op that has not run, of the same bits. */
static ig_array *unevaluated(ig_array *x)
{
    return ig_where(ig_full(ig_shape(x), ig_bool(true), IG_BOOL), x, x);
}

static ig_array *lay_out(const tensor *t, layout l)
{
    int64_t shape[MAX_AXES], order[MAX_AXES], one[MAX_AXES], two[MAX_AXES], end[MAX_AXES];
    const int n = t->ndim;
    for (int a = 0; a < n; a++) {
        order[a] = n - 1 - a;
        one[a] = 1;
        two[a] = 2;
        end[a] = INT64_MAX;
        shape[a] = l == TRANSPOSED ? t->shape[n - 1 - a]
                   : l == OFFSET   ? 2 * t->shape[a] + 1
                                   : t->shape[a];
    }
    if ((l == STRIDE_0 || l == STRIDE_0_DONATED) && n && shape[n - 1] > 1)
        shape[n - 1] = 1;
    ig_array *x = stored(t, l, shape);
    switch (l) {
    case TRANSPOSED: return ig_permute_dims(x, (ig_ints){order, n});
    case FLIPPED: return ig_flip(x, IG_NONE);
    case OFFSET: return ig_slice(x, (ig_ints){one, n}, (ig_ints){end, n}, (ig_ints){two, n});
    case LAZY:
    case DONATED_LAZY: return unevaluated(x);
    case STRIDE_0:
    case STRIDE_0_DONATED: return ig_broadcast_to(x, tensor_shape(t));
    default: return x;
    }
}

static void lay_out_all(const problem *p, layout l, ig_array **x)
{
    for (int i = 0; i < p->n_in; i++) {
        const tensor *t = &p->in[i];
        const layout own = l == MIXED ? (layout)((i + 1) % MIXED) : l;
        if (t->same_as < 0)
            x[i] = lay_out(t, own);
        else
            x[i] = p->mode == MODE_ALIAS ? x[t->same_as] : ig_flip(x[t->same_as], IG_NONE);
    }
}

/* ---- comparing ---- */

static void describe(const problem *p, layout l, char text[TEXT])
{
    int n = snprintf(text, TEXT, "%s %s, %s%s", p->op, ig_dtype_name(p->dtype), layout_names[l],
                     mode_names[p->mode]);
    for (int i = 0; i < p->n_in; i++) {
        n += snprintf(text + n, (size_t)(TEXT - n), " [");
        for (int a = 0; a < p->in[i].ndim; a++)
            n += snprintf(text + n, (size_t)(TEXT - n), a ? ",%lld" : "%lld",
                          (long long)p->in[i].shape[a]);
        n += snprintf(text + n, (size_t)(TEXT - n), "]");
    }
}

/* How far got is from what it must be, in units of what it may be off: at most 1 is right. */
static double error_of(const tensor *t, int64_t i, real got, bool signed_zeros)
{
    const real want = t->v[i], tol = t->tol ? t->tol[i] : 0;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : NOT_EVEN_CLOSE;
    if (tol == 0) {
        const real rounded = value_round(t->dtype, want);
        if (got != rounded || (signed_zeros && signbit(got) != signbit(rounded)))
            return dtype_in(t->dtype, FLOATS) && isfinite(got) && isfinite(rounded)
                       ? 2 + (double)fabsl((got - rounded) / value_ulp(t->dtype, rounded))
                       : NOT_EVEN_CLOSE;
        return 0;
    }
    if (isinf(got) || isinf(want)) {
        const bool rounds_up = fabsl(want) + tol > value_max(t->dtype);
        const bool same = (got > 0) == (want > 0);
        return same && (got == want || (isinf(got) && rounds_up)) ? 0 : NOT_EVEN_CLOSE;
    }
    return (double)(fabsl(got - want) / tol);
}

static bool shape_is(ig_array *y, const tensor *t)
{
    bool same = ig_ndim(y) == t->ndim;
    for (int a = 0; a < t->ndim && same; a++)
        same = ig_dim(y, a) == t->shape[a];
    return same;
}

static void note_ulp(const tensor *t, double error, tally *tl)
{
    const double ulp = error * t->ulps;
    if (t->ulps > 0 && error < NOT_EVEN_CLOSE && ulp > tl->worst[t->dtype])
        tl->worst[t->dtype] = ulp;
}

/* Whether y is t; what names it ("result 0"). Counts a failure if not. */
static bool holds(const problem *p, layout l, const char *what, int k, ig_array *y, const tensor *t,
                  tally *tl)
{
    char text[TEXT];
    const size_t width = (size_t)value_width(t->dtype) / 8;
    describe(p, l, text);
    if (!y || ig_dtype_of(y) != t->dtype || !shape_is(y, t)) {
        const char *error = ig_error(NULL);
        run_fail(tl, NOT_EVEN_CLOSE, "%s: %s %d has another shape or dtype (%s, not %s): %s", text,
                 what, k, y ? ig_dtype_name(ig_dtype_of(y)) : "none", ig_dtype_name(t->dtype),
                 error ? error : "no error");
        return false;
    }
    char *data = malloc((size_t)t->size * width + 1);
    double most = 0;
    int64_t at = -1;
    if (!data || ig_read(y, data, (size_t)t->size * width) != IG_OK) {
        run_fail(tl, NOT_EVEN_CLOSE, "%s: %s", text, ig_error(NULL));
        free(data);
        return false;
    }
    for (int64_t i = 0; i < t->size; i++) {
        const real got = value_load(t->dtype, data + (size_t)i * width);
        const double error = error_of(t, i, got, p->signed_zeros);
        note_ulp(t, error, tl);
        if (error > 1 && error > most) {
            most = error;
            at = i;
        }
    }
    if (at >= 0)
        run_fail(tl, most, "%s: %s %d at %lld: got %.21Lg, expected %.21Lg (%.3g x the bound)",
                 text, what, k, (long long)at, value_load(t->dtype, data + (size_t)at * width),
                 t->v[at], most);
    free(data);
    return at < 0;
}

/* ---- running ---- */

static int call(const problem *p, ig_array **x, ig_array **y, int room)
{
    ig_arg args[MAX_ARGS];
    memcpy(args, p->args, sizeof args);
    for (int i = 0; i < p->n_args; i++) {
        if (args[i].kind == IG_ARG_ARRAY)
            args[i].u.array = x[p->arg_first[i]];
        if (args[i].kind == IG_ARG_ARRAYS)
            args[i].u.arrays.v = x + p->arg_first[i];
    }
    return ig_call(p->op, args, p->n_args, y, room);
}

static bool run_layout(const problem *p, layout l, tally *t)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL};
    char text[TEXT];
    bool ok = true;
    ig_scope_begin();
    lay_out_all(p, l, x);
    const int n = call(p, x, y, MAX_OUTPUTS);
    for (int k = 0; k < n; k++)
        ig_retain(y[k]);
    if (is_donated(l))
        ig_scope_end();
    if (n != p->n_out) {
        const char *error = ig_error(NULL);
        describe(p, l, text);
        run_fail(t, NOT_EVEN_CLOSE, "%s: %d results, not %d: %s", text, n, p->n_out,
                 error ? error : "no error");
        ok = false;
    }
    if (ok && ig_eval(y, n) != IG_OK) {
        describe(p, l, text);
        run_fail(t, NOT_EVEN_CLOSE, "%s: %s", text, ig_error(NULL));
        ok = false;
    }
    for (int k = 0; k < n && ok; k++)
        ok = holds(p, l, "result", k, y[k], &p->out[k], t);
    for (int k = 0; k < p->n_in && ok && !is_donated(l); k++)
        ok = holds(p, l, "after the call, input", k, x[k], &p->in[k], t);
    for (int k = 0; k < n; k++)
        ig_release(y[k]);
    if (!is_donated(l))
        ig_scope_end();
    return ok;
}

void run_problem(const problem *p, tally *t)
{
    bool has_axes = false;
    for (int i = 0; i < p->n_in; i++)
        has_axes = has_axes || p->in[i].ndim > 0;
    const unsigned plain = 1u << CONTIGUOUS | 1u << LAZY | 1u << DONATED;
    unsigned layouts = mode_layouts[p->mode];
    if (!has_axes)
        layouts &= plain;
    if (p->n_in < 2)
        layouts &= ~(1u << MIXED);
    if (p->quick && p->variant > 0)
        layouts &= 1u << CONTIGUOUS | 1u << OFFSET | 1u << DONATED_LAZY | 1u << STRIDE_0;
    if (p->n_in == 0)
        layouts = 1u << CONTIGUOUS;
    for (int l = 0; l < LAYOUTS; l++)
        if (layouts >> l & 1)
            t->passed += run_layout(p, (layout)l, t);
}

void run_refused(const problem *p, tally *t)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL};
    ig_status code = IG_OK;
    ig_scope_begin();
    lay_out_all(p, CONTIGUOUS, x);
    const int n = call(p, x, y, MAX_OUTPUTS);
    const char *text = ig_error(&code);
    if (n != 0 || code != IG_ERR_DTYPE || !text || !strstr(text, p->op) || strchr(text, '\n'))
        run_fail(t, NOT_EVEN_CLOSE,
                 "%s %s must be refused with IG_ERR_DTYPE and its name: %d results, %s: %s", p->op,
                 ig_dtype_name(p->dtype), n, ig_status_name(code), text ? text : "no message");
    else
        t->passed++;
    ig_scope_end();
}
