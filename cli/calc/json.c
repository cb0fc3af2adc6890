/* Values as JSON. JSON has no infinities and no NaN: they are the strings "inf", "-inf", "nan". */
#include "calc/calc.h"

#include <math.h>
#include <string.h>

static void json_number(str *t, const value *v, ig_dtype dtype)
{
    if (v->kind == V_BOOL) {
        str_json(t, "%hhd", v->u.b);
    } else if (v->kind == V_FLOAT) {
        str digits = {0};
        print_float(&digits, v->u.f, dtype);
        if (isfinite(v->u.f))
            str_json_raw(t, digits.s);
        else
            str_json(t, "%s", digits.s);
        str_free(&digits);
    } else if (dtype == IG_U64) {
        str_json(t, "%llu", (unsigned long long)v->u.i);
    } else {
        str_json(t, "%lld", (long long)v->u.i);
    }
}

/* Adds the elements from axis on, nested like the axes; returns the offset after them. */
static int64_t json_elements(str *t, const void *data, ig_dtype dtype, ig_ints shape, int axis,
                             int64_t offset)
{
    if (axis == shape.n) {
        value v = value_element(data, dtype, offset);
        json_number(t, &v, dtype);
        return offset + 1;
    }
    str_json(t, "[");
    for (int64_t i = 0; i < shape.v[axis]; i++)
        offset = json_elements(t, data, dtype, shape, axis + 1, offset);
    str_json(t, "]");
    return offset;
}

static void json_head(str *t, const char *dtype, ig_ints shape)
{
    str_json(t, "dtype: %s, shape: [", dtype);
    for (int i = 0; i < shape.n; i++)
        str_json(t, "%lld", (long long)shape.v[i]);
    str_json(t, "], value:");
}

static bool json_array(str *t, ig_array *x)
{
    const void *data = ig_data(x);
    if (!data && ig_failed())
        return false;
    ig_dtype dtype = ig_dtype_of(x);
    json_head(t, ig_dtype_name(dtype), ig_shape(x));
    ig_ints shape = ig_shape(x);
    int64_t pairs[IG_MAX_NDIM]; /* complex elements are lists of two numbers */
    if (ig_isdtype(dtype, "complex floating")) {
        memcpy(pairs, shape.v, sizeof *pairs * (size_t)shape.n);
        pairs[shape.n++] = 2;
        shape.v = pairs;
        dtype = dtype == IG_C128 ? IG_F64 : IG_F32;
    }
    json_elements(t, data, dtype, shape, 0, 0);
    return true;
}

static bool json_tuple(str *t, const value *v)
{
    int64_t n = v->u.items.n;
    json_head(t, "tuple", (ig_ints){&n, 1});
    str_json(t, "[");
    for (int i = 0; i < n; i++) {
        const value *item = &v->u.items.v[i];
        if (value_is_number(item)) {
            json_number(t, item, IG_F64);
            continue;
        }
        str_json(t, "{");
        if (!json_value(t, item))
            return false;
        str_json(t, "}");
    }
    str_json(t, "]");
    return true;
}

static bool json_named(str *t, const value *v)
{
    int64_t n = v->u.items.n;
    json_head(t, "named", (ig_ints){&n, 1});
    str_json(t, "{");
    for (int i = 0; i < n; i++) {
        str_json(t, "%s: {", v->names[i]);
        if (!json_value(t, &v->u.items.v[i]))
            return false;
        str_json(t, "}");
    }
    str_json(t, "}");
    return true;
}

bool json_value(str *t, const value *v)
{
    static const char *const types[V_KINDS] = {
        [V_NONE] = "none",   [V_BOOL] = "bool",         [V_INT] = "int",
        [V_FLOAT] = "float", [V_STRING] = "str",        [V_DTYPE] = "dtype",
        [V_REST] = "rest",   [V_FUNCTION] = "function", [V_RANDOM] = "generator"};
    if (v->kind == V_TUPLE)
        return json_tuple(t, v);
    if (v->kind == V_NAMED)
        return json_named(t, v);
    if (!types[v->kind]) {
        ig_array *x = value_to_array(v, IG_DTYPE_NONE);
        return x && json_array(t, x);
    }
    json_head(t, types[v->kind], (ig_ints){NULL, 0});
    if (value_is_number(v))
        json_number(t, v, IG_F64);
    else
        str_json(t, "%s",
                 v->kind == V_STRING  ? v->u.s
                 : v->kind == V_DTYPE ? ig_dtype_name(v->u.dtype)
                                      : NULL);
    return true;
}
