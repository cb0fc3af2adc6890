/* Runs problems: stores the inputs in every layout, calls the op by name, and compares the results with the
 * plan's. Inputs that were not donated must be unchanged. */
#include "verify/verify.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static tally *tally_of(run *r) { return &r->report->by_dtype[r->dtype]; }

bool run_wants(const run *r, const char *name)
{
    return !r->scope->name || strcmp(r->scope->name, name) == 0;
}

void run_pass(run *r) { tally_of(r)->cases++; }

void run_fail(run *r, const char *name, const char *format, ...)
{
    failure *first = &r->report->first;
    tally_of(r)->cases++;
    tally_of(r)->failed++;
    if (first->text)
        return;
    str t = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&t, format, args);
    va_end(args);
    first->dtype = r->dtype;
    snprintf(first->name, sizeof first->name, "%s", name);
    first->text = t.s;
}

void run_refuse(run *r)
{
    tally_of(r)->cases++;
    tally_of(r)->refused++;
}

void run_flushed(run *r, int64_t n) { tally_of(r)->flushed += n; }

bool run_may_flush(const run *r, ig_dtype d, real got, real want)
{
    return r->scope->flushes && dtype_in(d, BIT(IG_F32) | BIT(IG_BF16)) &&
           fabsl(got - want) < real_normal(d);
}

/* Counts a case that the library refused. Unsupported cases are not failures. */
static void refuse(run *r, const char *name)
{
    ig_status code = IG_OK;
    const char *text = ig_error(&code);
    if (r->scope->stop && r->scope->stop())
        return; /* Ctrl-C also kills the compiler process that a driver has started */
    if (code != IG_ERR_UNSUPPORTED) {
        run_fail(r, name, "%s", text ? text : "failed without a reason");
        return;
    }
    run_refuse(r);
}

/* The error of a result that is not close at all, such as a NaN instead of a number. */
#define NOT_EVEN_CLOSE 1e300

/* ---- layouts ---- */

typedef enum layout {
    CONTIGUOUS,
    TRANSPOSED,
    FLIPPED, /* negative strides */
    OFFSET,  /* every second element of a larger array, from the second one on */
    MIXED,   /* each input has another of the layouts above */
    LAZY,    /* not yet evaluated */
    DONATED, /* only the result holds the inputs */
    DONATED_LAZY,
    STRIDE_0,
    STRIDE_0_DONATED,
    LAYOUTS
} layout;

static const char *const layout_names[LAYOUTS] = {
    "contiguous",  "transposed", "negative-step",       "offset",   "mixed",
    "unevaluated", "donated",    "donated-unevaluated", "stride-0", "stride-0-donated"};
static const char *const mode_names[MODES] = {"plain", "repeated", "aliased", "overlapping"};

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

/* Row-major data of that shape, with the elements of t at the positions of the layout. Elements that t does not fill
 * are poison. */
static ig_array *stored(const tensor *t, layout l, const int64_t *shape)
{
    const ig_ints own = tensor_shape(t), all = {shape, t->ndim};
    const int64_t size = shape_size(all);
    const size_t width = (size_t)real_width(t->dtype) / 8;
    const real spoil = dtype_in(t->dtype, FLOATS) ? (real)NAN : real_max(t->dtype);
    int64_t i[MAX_AXES] = {0}, at[MAX_AXES];
    char *data = heap_get((size_t)size * width + 1);
    for (int64_t n = 0; n < size && l == OFFSET; n++)
        real_store(t->dtype, data + (size_t)n * width, spoil);
    for (int64_t n = 0; n < t->size; n++, shape_next(own, i)) {
        for (int a = 0; a < t->ndim; a++)
            at[a] = l == TRANSPOSED ? i[t->ndim - 1 - a]
                    : l == FLIPPED  ? t->shape[a] - 1 - i[a]
                    : l == OFFSET   ? 2 * i[a] + 1
                                    : i[a] % shape[a];
        real_store(t->dtype, data + (size_t)shape_number(all, at) * width, t->v[n]);
    }
    ig_array *x = ig_from_data(data, all, t->dtype);
    free(data);
    return x;
}

/* An array with the bits of x that is the result of an op that has not run. */
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

/* The error of got as a multiple of its bound; at most 1 is right. */
static double error_of(const tensor *t, int64_t i, real got, bool signed_zeros)
{
    const real want = t->v[i], tol = t->tol ? t->tol[i] : 0;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : NOT_EVEN_CLOSE;
    if (tol == 0) {
        if (got == want && (got != 0 || !signed_zeros || signbit(got) == signbit(want)))
            return 0;
        const real rounded = real_round(t->dtype, want);
        if (got != rounded || (signed_zeros && signbit(got) != signbit(rounded)))
            return dtype_in(t->dtype, FLOATS) && isfinite(got) && isfinite(rounded)
                       ? 2 + (double)fabsl((got - rounded) / real_ulp(t->dtype, rounded))
                       : NOT_EVEN_CLOSE;
        return 0;
    }
    if (isinf(got) || isinf(want)) {
        const bool rounds_up = fabsl(want) + tol > real_max(t->dtype);
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

/* Records the error of an element that is right or nearly right. largest: the largest value of the result. */
static void note(tally *to, const tensor *t, int64_t i, real got, double error, real largest)
{
    if (error == 0 || error >= NOT_EVEN_CLOSE)
        return;
    const real tol = t->tol ? t->tol[i] : 0;
    const real want = tol == 0 ? real_round(t->dtype, t->v[i]) : t->v[i];
    const double ulp = error * t->ulps;
    const real size = t->ulps > 0 ? fabsl(want) : largest;
    /* No relative error for results without significant digits: subnormal, or within their bound of 0. */
    const real step = real_ulp(t->dtype, size);
    const bool has_digits = step <= size * real_eps(t->dtype) && tol <= size / 2;
    const double relative = has_digits ? (double)(fabsl(got - want) / size) : 0;
    to->bound = fmax(to->bound, error);
    to->ulp = fmax(to->ulp, ulp);
    to->relative = fmax(to->relative, relative);
}

static real largest_of(const tensor *t)
{
    real most = 0;
    for (int64_t i = 0; i < t->size; i++)
        if (isfinite(t->v[i]))
            most = fmaxl(most, fabsl(t->v[i]));
    return most;
}

/* Fails the case; the message has the error, its position, and the shapes. */
static void fail_element(run *r, const problem *p, const char *name, const char *what, int k,
                         const tensor *t, int64_t i, real got, double error)
{
    int64_t at[MAX_AXES] = {0}, rest = i;
    for (int a = t->ndim - 1; a >= 0; rest /= t->shape[a--])
        at[a] = rest % t->shape[a];
    str place = {0}, of = {0};
    print_ints(&place, at, t->ndim);
    for (int n = 0; n < p->n_in; n++) {
        str_printf(&of, "%s%s", n ? ", " : " of ", ig_dtype_name(p->in[n].dtype));
        print_ints(&of, p->in[n].shape, p->in[n].ndim);
    }
    if (error < NOT_EVEN_CLOSE)
        str_printf(&of, ", %.3g x its bound", error);
    run_fail(r, name, "%s %d%s: got %.21Lg, expected %.21Lg%s", what, k, place.s, got, t->v[i],
             of.s ? of.s : "");
    str_free(&place);
    str_free(&of);
}

/* True if y matches t; counts a failure otherwise. what: its name in messages, such as "result". */
static bool holds(run *r, const problem *p, const char *name, const char *what, int k, ig_array *y,
                  const tensor *t)
{
    const size_t width = (size_t)real_width(t->dtype) / 8;
    if (ig_dtype_of(y) != t->dtype || !shape_is(y, t)) {
        str have = {0}, want = {0};
        print_ints(&have, ig_shape(y).v, ig_ndim(y));
        print_ints(&want, t->shape, t->ndim);
        run_fail(r, name, "%s %d is %s%s, expected %s%s", what, k, ig_dtype_name(ig_dtype_of(y)),
                 have.s, ig_dtype_name(t->dtype), want.s);
        str_free(&have);
        str_free(&want);
        return false;
    }
    char *data = heap_get((size_t)t->size * width + 1);
    if (ig_read(y, data, (size_t)t->size * width) != IG_OK) {
        refuse(r, name);
        free(data);
        return false;
    }
    const real largest = t->tol && t->ulps == 0 ? largest_of(t) : 0;
    double most = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < t->size; i++) {
        const real got = real_load(t->dtype, data + (size_t)i * width);
        double error = error_of(t, i, got, p->signed_zeros);
        if (error > 1 && run_may_flush(r, t->dtype, got, t->v[i])) {
            run_flushed(r, 1);
            error = 0;
        }
        note(tally_of(r), t, i, got, error, largest);
        if (error > 1 && error > most) {
            most = error;
            at = i;
        }
    }
    if (at >= 0)
        fail_element(r, p, name, what, k, t, at, real_load(t->dtype, data + (size_t)at * width),
                     most);
    free(data);
    return at < 0;
}

/* ---- running ---- */

/* The next results reuse memory that was just released. It is filled with poison first, so that a result that is never
 * written cannot pass as the previous case's result. */
static void spoil_memory(const problem *p)
{
    ig_array *spoilt[MAX_OUTPUTS];
    for (int k = 0; k < p->n_out; k++) {
        const tensor *t = &p->out[k];
        const size_t bytes = (size_t)t->size * (size_t)real_width(t->dtype) / 8;
        char *data = heap_get(bytes + 1);
        memset(data, 0xff, bytes);
        spoilt[k] = ig_scope_forget(ig_from_data(data, tensor_shape(t), t->dtype));
        free(data);
    }
    for (int k = 0; k < p->n_out; k++)
        ig_release(spoilt[k]);
}

int run_call(const problem *p, int l, ig_array **x, ig_array **y)
{
    lay_out_all(p, (layout)l, x);
    spoil_memory(p);
    return problem_call(p, x, y, MAX_OUTPUTS);
}

bool run_donates(int l) { return is_donated((layout)l); }

/* Compares the nodes of the results with float64 on the CPU; counts a failure. */
static bool nodes_hold(run *r, const char *name, ig_array *const *y, int n)
{
    ig_verify_report report = {0};
    if (ig_verify(y, n, &report) != IG_OK) {
        refuse(r, name);
        return false;
    }
    const tally seen = {.ulp = report.worst_ulp, .relative = report.worst_relative};
    tally_add(tally_of(r), &seen);
    if (report.failed)
        run_fail(r, name, "%s", report.text);
    else
        tally_of(r)->bound = fmax(tally_of(r)->bound, report.worst_bound);
    return report.failed == 0;
}

/* Expects the results of the same call with inputs that are kept, whose nodes are compared in another case: ig_verify holds the
 * inputs, so that it cannot see a fault of donating. False if there are none of the expected shapes. */
static bool expect_kept(const problem *p, layout l)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL};
    ig_scope_begin();
    const int n = run_call(p, l == STRIDE_0_DONATED ? STRIDE_0 : CONTIGUOUS, x, y);
    bool ok = n == p->n_out && n > 0 && ig_eval(y, n) == IG_OK;
    for (int k = 0; k < n && ok; k++) {
        const tensor *t = &p->out[k];
        ok = ig_dtype_of(y[k]) == t->dtype && shape_is(y[k], t);
        const char *data = ok ? ig_data(ig_to_device(y[k], "cpu")) : NULL;
        for (int64_t i = 0; i < t->size && data; i++)
            t->v[i] = real_load(t->dtype, data + (size_t)i * (size_t)real_width(t->dtype) / 8);
    }
    ig_error(NULL); /* the other case reports it */
    ig_scope_end();
    return ok;
}

static void run_layout(run *r, const problem *p, layout l, const char *name)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL};
    const bool by_nodes = p->by_nodes && !is_donated(l);
    if (p->by_nodes && !by_nodes && !r->ahead && !expect_kept(p, l))
        return;
    ig_scope_begin();
    const int n = run_call(p, (int)l, x, y);
    for (int k = 0; k < n; k++)
        ig_retain(y[k]);
    if (is_donated(l))
        ig_scope_end();
    bool ok = n == p->n_out && n > 0;
    if (n <= 0 && r->ahead)
        ig_error(NULL); /* a waiting error would make later calls fail */
    if (r->ahead) {
        ahead_add(r->ahead, y, n > 0 ? n : 0, !is_donated(l));
        return;
    }
    if (!ok && n > 0)
        run_fail(r, name, "%d results, expected %d", n, p->n_out);
    else if (ok && by_nodes)
        ok = nodes_hold(r, name, y, n);
    else if (!ok || !(ok = ig_eval(y, n) == IG_OK))
        refuse(r, name);
    for (int k = 0; k < n && ok && !by_nodes; k++)
        ok = holds(r, p, name, "result", k, y[k], &p->out[k]);
    for (int k = 0; k < p->n_in && ok && !is_donated(l); k++)
        ok = holds(r, p, name, "after the call, input", k, x[k], &p->in[k]);
    if (ok)
        run_pass(r);
    for (int k = 0; k < n; k++)
        ig_release(y[k]);
    if (!is_donated(l))
        ig_scope_end();
}

void run_problem(run *r, const problem *p)
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
    for (int l = 0; l < LAYOUTS; l++) {
        char name[CASE_NAME];
        snprintf(name, sizeof name, "%s.%d.%s", mode_names[p->mode], p->variant, layout_names[l]);
        if (!(layouts >> l & 1) || !run_wants(r, name))
            continue;
        if (r->scope->stop && r->scope->stop())
            return;
        if (r->ahead && r->ahead->what == AHEAD_GRADIENTS)
            same_ahead(r, p, l);
        else if (r->ahead && run_donates(l) != (r->ahead->what == AHEAD_DONATED))
            continue;
        else if (r->scope->reference && !r->ahead)
            run_same(r, p, l, name);
        else
            run_layout(r, p, (layout)l, name);
    }
}

ig_status run_try(const problem *p)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL};
    ig_scope_begin();
    lay_out_all(p, CONTIGUOUS, x);
    const int n = problem_call(p, x, y, MAX_OUTPUTS);
    const bool ok = n > 0 && ig_can_eval(y, n) == IG_OK;
    ig_scope_end();
    return ok ? IG_OK : IG_ERR_UNSUPPORTED;
}

void run_refused(run *r, const problem *p)
{
    static const char name[] = "refused";
    ig_status code = IG_OK;
    if (!run_wants(r, name))
        return;
    const bool taken = run_try(p) == IG_OK;
    const char *text = ig_error(&code);
    if (taken || code != IG_ERR_DTYPE || !text || !strstr(text, p->op) || strchr(text, '\n'))
        run_fail(r, name, "must be refused with IG_ERR_DTYPE and the op's name: %s: %s",
                 ig_status_name(code), text ? text : "no message");
    else
        run_pass(r);
}
