/* Values: copying, comparing, and conversion between lists and arrays. */
#include "calc/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *value_kind_name(value_kind kind)
{
    static const char *const names[V_KINDS] = {
        [V_NONE] = "None",         [V_BOOL] = "a bool",     [V_INT] = "an int",
        [V_FLOAT] = "a float",     [V_STRING] = "a string", [V_DTYPE] = "a dtype",
        [V_ARRAY] = "an array",    [V_LIST] = "a list",     [V_TUPLE] = "a tuple",
        [V_REST] = "'...'",        [V_NAMED] = "a dict",    [V_FUNCTION] = "a function",
        [V_RANDOM] = "a generator"};
    return names[kind];
}

static value value_tuple(const value *items, int n)
{
    return (value){.kind = V_TUPLE, .u = {.items = {items, n}}};
}

value value_ints(arena *a, ig_ints ints)
{
    value *items = arena_get(a, sizeof(value) * (size_t)ints.n);
    for (int i = 0; i < ints.n; i++)
        items[i] = value_int(ints.v[i]);
    return value_tuple(items, ints.n);
}

value value_arrays(arena *a, ig_array *const *v, int n)
{
    value *items = arena_get(a, sizeof(value) * (size_t)n);
    for (int i = 0; i < n; i++)
        items[i] = value_array(v[i]);
    return value_tuple(items, n);
}

value value_concat(arena *a, const value *x, const value *y, value_kind kind)
{
    int nx = x->u.items.n, ny = y->u.items.n;
    value *items = arena_get(a, sizeof(value) * ((size_t)nx + (size_t)ny));
    if (nx)
        memcpy(items, x->u.items.v, sizeof(value) * (size_t)nx);
    if (ny)
        memcpy(items + nx, y->u.items.v, sizeof(value) * (size_t)ny);
    return (value){.kind = kind, .u = {.items = {items, nx + ny}}};
}

value value_keep(arena *a, const value *v)
{
    value copy = *v;
    ig_retain(v->trace);
    if (v->kind == V_ARRAY) {
        ig_retain(v->u.array);
    } else if (v->kind == V_STRING) {
        copy.u.s = arena_string(a, v->u.s, strlen(v->u.s));
    } else if (v->kind == V_FUNCTION) {
        copy.u.function = function_keep(a, v->u.function);
    } else if (value_has_parts(v)) {
        const int n = v->u.items.n;
        value *items = arena_get(a, sizeof(value) * (size_t)n);
        const char **names = v->names ? arena_get(a, sizeof *names * (size_t)n) : NULL;
        for (int i = 0; i < n; i++) {
            items[i] = value_keep(a, &v->u.items.v[i]);
            if (names)
                names[i] = arena_string(a, v->names[i], strlen(v->names[i]));
        }
        copy.u.items.v = items;
        copy.names = names;
    }
    return copy;
}

const value *value_named(const value *v, const char *name)
{
    for (int i = 0; v->names && i < v->u.items.n; i++)
        if (strcmp(v->names[i], name) == 0)
            return &v->u.items.v[i];
    return NULL;
}

void value_release(const value *v)
{
    ig_release(v->trace);
    if (v->kind == V_ARRAY)
        ig_release(v->u.array);
    else if (v->kind == V_FUNCTION)
        function_release(v->u.function);
    else if (value_has_parts(v))
        for (int i = 0; i < v->u.items.n; i++)
            value_release(&v->u.items.v[i]);
}

bool value_equal(const value *x, const value *y)
{
    if (value_is_number(x) && value_is_number(y)) {
        value same;
        number_equal(x, y, &same);
        return same.u.b;
    }
    if (x->kind != y->kind)
        return false;
    if (x->kind == V_STRING)
        return strcmp(x->u.s, y->u.s) == 0;
    if (x->kind == V_DTYPE)
        return x->u.dtype == y->u.dtype;
    if (x->kind == V_ARRAY)
        return x->u.array == y->u.array;
    if (x->kind == V_FUNCTION)
        return x->u.function == y->u.function;
    if (!value_has_parts(x))
        return true;
    bool same = x->u.items.n == y->u.items.n;
    for (int i = 0; same && i < x->u.items.n; i++)
        same = value_equal(&x->u.items.v[i], &y->u.items.v[i]);
    return same;
}

int value_collect(const value *v, ig_array **out, int room)
{
    int n = 0;
    if (v->kind == V_ARRAY) {
        if (room > 0)
            out[0] = v->u.array;
        n = 1;
    } else if (value_has_parts(v)) {
        for (int i = 0; i < v->u.items.n; i++) {
            int left = room > n ? room - n : 0;
            n += value_collect(&v->u.items.v[i], left ? out + n : NULL, left);
        }
    }
    return n;
}

/* ---- lists to arrays ------------------------------------------------------------------------ */

/* The shape and kind of a nested list of numbers. */
typedef struct literal {
    int64_t shape[IG_MAX_NDIM];
    int lists; /* how many levels of lists have been seen */
    int ndim;  /* the depth of the numbers; -1: none seen yet */
    bool any_float, any_whole, any_array;
} literal;

static ig_status ragged(void)
{
    return ig_fail(IG_ERR_SHAPE, "the list is ragged: its items have different lengths or depths; "
                                 "make them alike");
}

static ig_status literal_measure(literal *l, const value *v, int depth)
{
    if (v->kind == V_ARRAY || v->trace) {
        l->any_array = true;
        return IG_OK;
    }
    if (!value_has_items(v)) {
        if (!value_is_number(v))
            return ig_fail(IG_ERR_ARGUMENT, "an array holds numbers, not %s",
                           value_kind_name(v->kind));
        l->any_float |= v->kind == V_FLOAT;
        l->any_whole |= v->kind == V_INT;
        bool fits = l->ndim < 0 ? depth >= l->lists : depth == l->ndim;
        l->ndim = depth;
        return fits ? IG_OK : ragged();
    }
    int n = v->u.items.n;
    if (depth >= IG_MAX_NDIM)
        return ig_fail(IG_ERR_SHAPE, "the list is nested deeper than %d dimensions", IG_MAX_NDIM);
    if (l->ndim >= 0 && depth >= l->ndim)
        return ragged();
    if (depth == l->lists)
        l->shape[l->lists++] = n;
    else if (l->shape[depth] != n)
        return ragged();
    if (n == 0) /* as if it held numbers */
        l->ndim = depth + 1;
    for (int i = 0; i < n; i++) {
        ig_status status = literal_measure(l, &v->u.items.v[i], depth + 1);
        if (status != IG_OK)
            return status;
    }
    return IG_OK;
}

/* Where to write the numbers, in order; the first pointer that is not NULL is used. */
typedef struct literal_out {
    double *floats;
    int64_t *ints;
    uint8_t *bools;
} literal_out;

static void literal_fill(literal_out *out, const value *v)
{
    if (value_has_items(v)) {
        for (int i = 0; i < v->u.items.n; i++)
            literal_fill(out, &v->u.items.v[i]);
    } else if (out->floats) {
        *out->floats++ = value_float_of(v);
    } else if (out->ints) {
        *out->ints++ = value_int_of(v);
    } else {
        *out->bools++ = v->u.b;
    }
}

static ig_array *literal_array(const literal *l, const value *v, ig_dtype dtype)
{
    int64_t size = 1;
    for (int i = 0; i < l->ndim; i++)
        size *= l->shape[i];
    bool floats = l->any_float || size == 0;
    bool whole = !floats && l->any_whole;
    void *data = heap_get((size_t)size * sizeof(double));
    literal_out out = {floats ? data : NULL, whole ? data : NULL, data};
    literal_fill(&out, v);
    ig_dtype own = floats ? IG_F64 : whole ? IG_I64 : IG_BOOL;
    if (floats && (dtype == IG_DTYPE_NONE || dtype == IG_F32)) {
        const double *from = data;
        float *to = data; /* in place: it never passes the elements still to be read */
        for (int64_t i = 0; i < size; i++) {
            float rounded = (float)from[i];
            memcpy(&to[i], &rounded, sizeof rounded);
        }
        own = IG_F32;
    }
    ig_array *x = ig_from_data(data, (ig_ints){l->shape, l->ndim}, own);
    free(data);
    return dtype == IG_DTYPE_NONE || dtype == own ? x : ig_astype(x, dtype);
}

static ig_array *stack_items(const value *v, ig_dtype dtype)
{
    int n = v->u.items.n;
    ig_array **arrays = heap_get(sizeof *arrays * (size_t)n);
    bool fine = true;
    for (int i = 0; fine && i < n; i++)
        fine = (arrays[i] = value_to_array(&v->u.items.v[i], dtype)) != NULL;
    ig_array *x = fine ? ig_stack(arrays, n, 0) : NULL;
    free(arrays);
    return x;
}

/* A number stays weak. A list with a trace holds floats, so it becomes f32. */
static ig_array *traced_array(const value *v, ig_dtype dtype)
{
    if (dtype != IG_DTYPE_NONE)
        return ig_astype(v->trace, dtype);
    return v->kind == V_FLOAT ? ig_weak(v->trace) : ig_astype(v->trace, IG_F32);
}

ig_array *value_to_array(const value *v, ig_dtype dtype)
{
    if (v->trace)
        return traced_array(v, dtype);
    if (v->kind == V_ARRAY)
        return dtype == IG_DTYPE_NONE ? v->u.array : ig_astype(v->u.array, dtype);
    if (dtype == IG_DTYPE_NONE && value_is_number(v))
        return v->kind == V_BOOL  ? ig_bool(v->u.b)
               : v->kind == V_INT ? ig_int(v->u.i)
                                  : ig_float(v->u.f);
    literal l = {.ndim = -1};
    if (literal_measure(&l, v, 0) != IG_OK)
        return NULL;
    return l.any_array ? stack_items(v, dtype) : literal_array(&l, v, dtype);
}

/* ---- arrays to numbers ---------------------------------------------------------------------- */

static double float_from_bits32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double float_from_bits16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

static value float_element(const unsigned char *at, ig_dtype dtype)
{
    double f;
    float single;
    uint16_t half;
    if (dtype == IG_F64) {
        memcpy(&f, at, sizeof f);
    } else if (dtype == IG_F32) {
        memcpy(&single, at, sizeof single);
        f = single;
    } else {
        memcpy(&half, at, sizeof half);
        f = dtype == IG_F16 ? float_from_bits16(half) : float_from_bits32((uint32_t)half << 16);
    }
    return value_float(f);
}

value value_element(const void *data, ig_dtype dtype, int64_t i)
{
    size_t bytes = ig_dtype_bytes(dtype);
    const unsigned char *at = (const unsigned char *)data + (size_t)i * bytes;
    if (dtype == IG_BOOL)
        return value_bool(*at != 0);
    if (ig_isdtype(dtype, "real floating"))
        return float_element(at, dtype);
    uint64_t bits = 0;
    for (size_t k = bytes; k-- > 0;)
        bits = bits << 8 | at[k];
    int unused = 64 - 8 * (int)bytes;
    int64_t whole = (int64_t)(bits << unused);
    return value_int(ig_isdtype(dtype, "signed integer") ? whole >> unused : (int64_t)bits);
}

enum { INDEX_MOST = 4096 };

value value_from_index_array(arena *a, ig_array *x)
{
    ig_dtype dtype = ig_dtype_of(x);
    int64_t n = ig_size(x);
    if (!ig_isdtype(dtype, "integral") || ig_ndim(x) > 1 || n > INDEX_MOST)
        return (value){0};
    const void *data = ig_data(x);
    if (!data)
        return (value){0};
    if (ig_ndim(x) == 0)
        return value_element(data, dtype, 0);
    value *items = arena_get(a, sizeof(value) * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        items[i] = value_element(data, dtype, i);
    return value_tuple(items, (int)n);
}
