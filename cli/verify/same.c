/* Runs cases on two devices and compares results bit by bit: the op's results, and the gradients of a weighted sum
 * of them. All NaNs are equal, because IEEE arithmetic does not specify their sign and payload. A zero equals only a
 * zero of the same sign. */
#include "verify/verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = MAX_OUTPUTS + MAX_INPUTS };

typedef struct part {
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM], size;
    char *data;
} part;

/* The results of a device, or its first error. */
typedef struct answer {
    part part[MAX_PARTS]; /* results, then gradients */
    int n_result, n_part;
    ig_status code;
    char *text;
} answer;

static void answer_free(answer *a)
{
    for (int i = 0; i < a->n_part; i++)
        free(a->part[i].data);
    free(a->text);
}

static void take_error(answer *a)
{
    const char *text = ig_error(&a->code);
    if (text && !a->text)
        a->text = heap_string(text);
}

static bool take_part(answer *a, ig_array *y)
{
    part *t = &a->part[a->n_part];
    const size_t width = ig_dtype_bytes(ig_dtype_of(y));
    *t = (part){.dtype = ig_dtype_of(y), .ndim = ig_ndim(y), .size = ig_size(y)};
    for (int i = 0; i < t->ndim; i++)
        t->shape[i] = ig_dim(y, i);
    t->data = heap_get((size_t)t->size * width + 1);
    a->n_part++;
    return ig_read(y, t->data, (size_t)t->size * width) == IG_OK;
}

/* Weights that are exact in every float dtype: -1.5 to 1.5 in steps of a quarter. */
static ig_array *weights_for(ig_array *y)
{
    const int64_t n = ig_size(y);
    float *w = heap_get(((size_t)n + 1) * sizeof *w);
    for (int64_t i = 0; i < n; i++)
        w[i] = (float)(i * 7 % 13 - 6) / 4;
    ig_array *x = ig_to_device(ig_from_data(w, ig_shape(y), IG_F32), ig_array_device(y));
    x = ig_astype(x, ig_dtype_of(y));
    free(w);
    return x;
}

/* Builds the gradient of a weighted sum of the results for each input that has one. Returns their number. */
static int build_gradients(const problem *p, ig_array *const *x, ig_array *const *y, ig_array **g)
{
    ig_array *loss = NULL;
    int n = 0;
    for (int k = 0; k < p->n_out; k++)
        if (dtype_in(ig_dtype_of(y[k]), FLOATS)) {
            const ig_dtype d = ig_dtype_of(y[k]) == IG_F64 ? IG_F64 : IG_F32;
            ig_array *sum = ig_sum(ig_multiply(y[k], weights_for(y[k])), IG_NONE, d, false);
            loss = loss ? ig_add(loss, sum) : sum;
        }
    for (int k = 0; k < p->n_in && loss && !ig_failed(); k++) {
        if (!dtype_in(ig_dtype_of(x[k]), FLOATS) || p->in[k].same_as >= 0)
            continue;
        if (ig_grad(loss, &x[k], 1, &g[n]) == IG_OK)
            n++;
        else
            ig_error(
                NULL); /* the results do not depend on this input, or it has no gradient: on any device */
    }
    return n;
}

/* Evaluates them together, as in training. */
static bool take_gradients(answer *a, const problem *p, ig_array *const *x, ig_array *const *y)
{
    ig_array *g[MAX_INPUTS];
    const int n = build_gradients(p, x, y, g);
    bool fine = ig_eval(g, n) == IG_OK;
    for (int k = 0; k < n && fine; k++)
        fine = take_part(a, g[k]);
    return fine;
}

static bool has_gradients(const problem *p, int layout)
{
    return !run_donates(layout) && (!p->quick || layout == 0);
}

void same_ahead(run *r, const problem *p, int layout)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL}, *g[MAX_INPUTS];
    if (!has_gradients(p, layout))
        return;
    ig_scope_begin();
    const int n = run_call(p, layout, x, y);
    const int count = n > 0 && ig_eval(y, n) == IG_OK ? build_gradients(p, x, y, g) : 0;
    ig_error(NULL); /* the case itself reports it */
    for (int k = 0; k < count; k++)
        ig_retain(g[k]);
    ahead_add(r->ahead, g, count, true);
}

static void ask(const problem *p, int layout, const char *device, bool gradients, answer *a)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS] = {NULL};
    *a = (answer){0};
    ig_set_device(device);
    ig_scope_begin();
    const int n = run_call(p, layout, x, y);
    for (int k = 0; k < n; k++)
        ig_retain(y[k]);
    const bool donated = run_donates(layout);
    if (donated)
        ig_scope_end();
    bool fine = n > 0 && ig_eval(y, n) == IG_OK;
    for (int k = 0; k < n && fine; k++)
        fine = take_part(a, y[k]);
    a->n_result = a->n_part;
    if (fine && gradients)
        fine = take_gradients(a, p, x, y);
    if (!fine || ig_failed())
        take_error(a);
    for (int k = 0; k < n; k++)
        ig_release(y[k]);
    if (!donated)
        ig_scope_end();
}

static bool is_nan(ig_dtype d, const char *at)
{
    return dtype_in(d, FLOATS) && isnan(real_load(d, at));
}

static void str_hex(str *t, const char *at, size_t width)
{
    uint64_t bits = 0;
    memcpy(&bits, at, width); /* all supported processors are little-endian */
    str_printf(t, "0x%0*llx", (int)(2 * width), (unsigned long long)bits);
}

static void fail_part(run *r, const char *name, const answer *here, int k, int64_t i,
                      const part *want, int64_t differ)
{
    const part *got = &here->part[k];
    const size_t width = ig_dtype_bytes(want->dtype);
    const char *a = want->data + (size_t)i * width, *b = got->data + (size_t)i * width;
    const bool gradient = k >= here->n_result;
    str t = {0};
    str_hex(&t, a, width);
    str_printf(&t, " (%.21Lg) on %s, ", real_load(want->dtype, a), r->scope->reference);
    str_hex(&t, b, width);
    str_printf(&t, " (%.21Lg) here", real_load(got->dtype, b));
    run_fail(r, name, "%s %d, element %lld of %lld, %s: %s; %lld elements differ",
             gradient ? "gradient" : "result", gradient ? k - here->n_result : k, (long long)i,
             (long long)want->size, ig_dtype_name(want->dtype), t.s, (long long)differ);
    str_free(&t);
}

/* True if the k-th parts have the same bits; otherwise fails the case. */
static bool same_part(run *r, const char *name, const answer *there, const answer *here, int k)
{
    const part *want = &there->part[k], *got = &here->part[k];
    const size_t width = ig_dtype_bytes(want->dtype);
    if (want->dtype != got->dtype || want->ndim != got->ndim ||
        memcmp(want->shape, got->shape, sizeof want->shape) != 0) {
        run_fail(r, name, "part %d has another dtype or shape than on %s", k, r->scope->reference);
        return false;
    }
    int64_t first = -1, differ = 0, flushed = 0;
    for (int64_t i = 0; i < want->size; i++) {
        const char *a = want->data + (size_t)i * width, *b = got->data + (size_t)i * width;
        if (memcmp(a, b, width) == 0 || (is_nan(want->dtype, a) && is_nan(want->dtype, b)))
            continue;
        if (run_may_flush(r, want->dtype, real_load(want->dtype, b), real_load(want->dtype, a))) {
            flushed++;
            continue;
        }
        first = first < 0 ? i : first;
        differ++;
    }
    run_flushed(r, flushed);
    if (first >= 0)
        fail_part(r, name, here, k, first, want, differ);
    return first < 0;
}

void run_same(run *r, const problem *p, int layout, const char *name)
{
    const char *device = ig_device();
    const bool gradients = has_gradients(p, layout);
    answer there, here;
    ask(p, layout, r->scope->reference, gradients, &there);
    ask(p, layout, device, gradients, &here);
    bool same = true;
    if (there.code == IG_ERR_UNSUPPORTED || here.code == IG_ERR_UNSUPPORTED)
        run_refuse(r);
    else if (there.code != here.code)
        run_fail(r, name, "on %s: %s; here: %s", r->scope->reference,
                 there.text ? there.text : "no error", here.text ? here.text : "no error");
    else if (there.n_part != here.n_part)
        run_fail(r, name, "%d results and gradients on %s, %d here", there.n_part,
                 r->scope->reference, here.n_part);
    else {
        for (int k = 0; k < there.n_part && same; k++)
            same = same_part(r, name, &there, &here, k);
        if (same)
            run_pass(r);
    }
    answer_free(&there);
    answer_free(&here);
}
