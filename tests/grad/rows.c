/* See rows.h. */
#include "grad/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *get(int64_t n, size_t width)
{
    void *block = calloc((size_t)n + 1, width);
    if (!block)
        abort();
    return block;
}

/* ---- the table ---- */

static int give_one(ig_array **y, ig_array *x) { return (y[0] = x) != NULL; }

/* A call of each elementwise row: shapes that broadcast, and values from its domain. */
#define UNARY(name, ...) \
    static int make_##name(ig_array *const *in, ig_array **y) \
    { \
        return give_one(y, ig_##name(in[0])); \
    }
#define BINARY(name, ...) \
    static int make_##name(ig_array *const *in, ig_array **y) \
    { \
        return give_one(y, ig_##name(in[0], in[1])); \
    }
#include "engine/ops/ops.def"

#define SPEC_IN(low, high) "3x4[" #low "," #high "]"
#define SPEC_IN2(x_low, x_high, y_low, y_high) \
    "3x4[" #x_low "," #x_high "] 4[" #y_low "," #y_high "]"
#define INPUTS_FLOAT(domain) SPEC_##domain
#define INPUTS_ROUND(domain) SPEC_##domain
#define INPUTS_NUM(domain) SPEC_##domain
#define INPUTS_ANY(domain) SPEC_##domain
#define INPUTS_INT(domain) "3x4#9 4#9"
#define INPUTS_BITS(domain) "3x4#9 4#9"
#define INPUTS_BOOL(domain) "3x4? 4?"

/* The kind follows from the columns "gradient", "accepts" and "result". */
#define KIND_DIFF(...) ROW_DIFF
#define KIND_FLAT ROW_FLAT
#define KIND_NONE ROW_COUNT
#define GIVES_FLOAT_FLOAT_SAME ROW_SHARP
#define GIVES_FLOAT_FLOAT_TRUTH ROW_WHOLE
#define GIVES_FLOAT_NUM_SAME ROW_SHARP
#define GIVES_FLOAT_ROUND_SAME ROW_SHARP
#define GIVES_FLOAT_ANY_TRUTH ROW_WHOLE
#define GIVES_FLOAT_INT_SAME ROW_WHOLE
#define GIVES_FLOAT_BITS_SAME ROW_WHOLE
#define GIVES_FLOAT_BOOL_TRUTH ROW_WHOLE
#define KIND(gradient, accepts, result) \
    (KIND_##gradient == ROW_COUNT ? GIVES_FLOAT_##accepts##_##result : KIND_##gradient)

static const row written[] = {
#define UNARY(name, accepts, result, expr, ulp, domain, gradient, ...) \
    {KIND(gradient, accepts, result), #name, 1, INPUTS_##accepts(domain), make_##name, NULL},
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, ...) \
    {KIND(gradient, accepts, result), #name, 2, INPUTS_##accepts(domain), make_##name, NULL},
#include "engine/ops/ops.def"
};
enum { WRITTEN = sizeof written / sizeof *written };

const row *row_at(int i)
{
    static const row_kind kinds[] = {
        [EXAMPLE_DIFF] = ROW_DIFF,  [EXAMPLE_MOVED] = ROW_DIFF,  [EXAMPLE_STOP] = ROW_STOP,
        [EXAMPLE_FLAT] = ROW_FLAT,  [EXAMPLE_WHOLE] = ROW_WHOLE, [EXAMPLE_SOURCE] = ROW_SOURCE,
        [EXAMPLE_VALUE] = ROW_COUNT};
    enum { MOST_EXAMPLES = 4096 };
    static row made[MOST_EXAMPLES];
    const example *e = i < WRITTEN ? NULL : example_at(NULL, i - WRITTEN);
    if (!e)
        return i < WRITTEN ? &written[i] : NULL;
    if (i - WRITTEN >= MOST_EXAMPLES)
        abort();
    row *r = &made[i - WRITTEN];
    *r = (row){kinds[e->kind], e->op, MOST_INPUTS, e->inputs, .example = e};
    return r;
}

int row_results(const row *r, ig_dtype dtype, ig_array *const *in, ig_array **y)
{
    const example *e = r->example;
    if (!e)
        return r->make(in, y);
    while (!(e->takes >> dtype & 1)) /* another dtype, for calls that name one */
        dtype = dtype == IG_BOOL ? IG_F64 : (ig_dtype)(dtype - 1);
    return example_build(e, dtype, in, y, MOST_RESULTS);
}

/* ---- values ---- */

/* Steps by the golden section: evenly distributed, and all different. */
void values_fill(double *v, int64_t n, int seed)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = 2 * fmod((double)(i + 1 + 7919 * (int64_t)seed) * 0.6180339887498949, 1) - 1;
}

/* Maps u in (-1, 1) to the interval from low to high, and to (-3, 3). Values of a wide domain stay away from multiples
 * of 1/2, like those without a letter. */
static double value_between(double low, double high, double u, double steep)
{
    low = fmax(low, -3);
    high = fmin(high, 3);
    return low <= -2 && high >= 2 ? steep : (low + high) / 2 + 0.4 * (high - low) * u;
}

/* Maps u in (-1, 1) to the domain that the letter stands for. */
static double value_in(char from, double u, int64_t i, int64_t below)
{
    const double half = floor(4 * u), steep = half / 2 + 0.1 + 0.3 * (4 * u - half);
    switch (from) {
    case '+': return 1.3 + u;
    case 'z': return i % 3 == 1 ? 0 : steep;
    case '#': return floor((u + 1) / 2 * (double)below);
    case '~': return floor((u + 1) / 2 * (double)below) - (i % 3 == 1 ? (double)below : 0);
    case '?': return floor(u + 1);
    case 'k': return floor((u + 1) * 2e9);
    default: return steep;
    }
}

static void input_new(input *in, const example_input *from, int seed)
{
    *in = (input){.ndim = from->ndim, .size = 1, .is_key = from->from == 'k'};
    for (int a = 0; a < in->ndim; a++)
        in->size *= in->shape[a] = from->shape[a];
    in->dtype = example_input_dtype(from) ? example_input_dtype(from) : IG_F64;
    in->v = get(in->size, sizeof *in->v);
    values_fill(in->v, in->size, seed);
    const int64_t last = in->ndim ? in->shape[in->ndim - 1] : 1;
    for (int64_t i = 0; i < in->size; i++)
        in->v[i] = from->from == '^'
                       ? 0.45 * in->v[i] + (i % last == i / last % last ? (double)last : 0)
                   : from->from == '['
                       ? value_between(from->low, from->high, in->v[i], value_in(0, in->v[i], i, 0))
                       : value_in(from->from, in->v[i], i, from->below);
}

int inputs_new(const row *r, int seed, input *in)
{
    int n = 0;
    example_input from;
    for (const char *text = r->inputs; *text && n < r->n_in; n++) {
        text = example_input_read(text, &from);
        input_new(&in[n], &from, seed * MOST_INPUTS + n);
    }
    return n;
}

void inputs_free(input *in, int n)
{
    for (int i = 0; i < n; i++)
        free(in[i].v);
}

ig_array *array_of(const double *v, ig_ints shape, ig_dtype dtype)
{
    ig_array *x = ig_from_data(v, shape, IG_F64);
    return dtype == IG_F64 ? x : ig_astype(x, dtype);
}

ig_array *numbers_like(ig_array *x, int seed)
{
    double *v = get(ig_size(x), sizeof *v);
    values_fill(v, ig_size(x), seed);
    ig_array *y = array_of(v, ig_shape(x), ig_dtype_of(x));
    free(v);
    return y;
}

bool array_read(ig_array *x, double *v, int64_t n)
{
    return ig_read(ig_astype(x, IG_F64), v, (size_t)n * sizeof *v) == IG_OK;
}

bool array_is_float(const ig_array *x) { return ig_isdtype(ig_dtype_of(x), "real floating"); }

const char *reference_begin(void)
{
    const char *device = ig_device();
    ig_set_device("cpu");
    return device;
}

void reference_end(const char *device) { ig_set_device(device); }

/* ---- layouts ---- */

const char *const layout_names[LAYOUT_COUNT] = {"plain",  "transposed", "flipped",
                                                "sliced", "repeated",   "last axis repeated"};

/* The length of axis a as it is stored. */
static int64_t stored_length(const laid *l, int a)
{
    const int n = l->in->ndim;
    const int64_t length = l->in->shape[l->how == TRANSPOSED ? n - 1 - a : a];
    if ((l->how == REPEATED && a == 0) || (l->how == REPEATED_LAST && a == n - 1))
        return 1;
    return l->how == SLICED ? 2 * length + 1 : length;
}

ig_array *laid_see(const laid *l, ig_array *stored)
{
    int64_t order[MOST_AXES], one[MOST_AXES], two[MOST_AXES], end[MOST_AXES];
    const int n = l->ndim;
    for (int a = 0; a < n; a++) {
        order[a] = n - 1 - a;
        one[a] = 1;
        two[a] = 2;
        end[a] = INT64_MAX;
    }
    switch (n ? l->how : PLAIN) {
    case TRANSPOSED: return ig_permute_dims(stored, (ig_ints){order, n});
    case FLIPPED: return ig_flip(stored, IG_NONE);
    case SLICED: return ig_slice(stored, (ig_ints){one, n}, (ig_ints){end, n}, (ig_ints){two, n});
    case REPEATED:
    case REPEATED_LAST: return ig_broadcast_to(stored, input_shape(l->in));
    default: return stored;
    }
}

void laid_new(laid *l, const input *in, layout how)
{
    *l = (laid){.in = in, .how = in->is_key ? PLAIN : how, .ndim = in->ndim, .size = 1};
    for (int a = 0; a < l->ndim; a++)
        l->size *= l->shape[a] = stored_length(l, a);
    l->stored = get(l->size, sizeof *l->stored);
    l->place = get(in->size, sizeof *l->place);
    const char *device = reference_begin();
    ig_array *number = ig_arange(0, (double)l->size, 1, IG_I64);
    ig_array *seen = laid_see(l, ig_reshape(number, (ig_ints){l->shape, l->ndim}));
    if (ig_read(seen, l->place, (size_t)in->size * sizeof *l->place) != IG_OK)
        abort();
    reference_end(device);
    values_fill(l->stored, l->size, 99);
    for (int64_t i = 0; i < in->size; i++)
        l->stored[l->place[i]] = in->v[i];
}

void laid_free(laid *l)
{
    free(l->stored);
    free(l->place);
}

ig_array *laid_store(const laid *l)
{
    return array_of(l->stored, (ig_ints){l->shape, l->ndim}, l->in->dtype);
}
