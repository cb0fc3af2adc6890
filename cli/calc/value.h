/* What the calculator computes with: Python's plain values, and arrays.
 *
 * A value is small and copied freely; its text and items lie in an arena, its arrays in an
 * ig_scope. Numbers stay numbers until they meet an array: then they are weak, and take its
 * dtype. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include <ingot.h>

#include "str.h"

typedef enum value_kind {
    V_NONE,
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_STRING,
    V_DTYPE,
    V_ARRAY,
    V_LIST,  /* [1, 2]: an array as soon as one is wanted */
    V_TUPLE, /* (1, 2), a shape, the results of an op that has several */
    V_REST,  /* ... */
    V_NAMED, /* arrays by name: an .npz or .safetensors file */
    V_KINDS
} value_kind;

typedef struct value value;
struct value {
    value_kind kind;
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        ig_dtype dtype;
        ig_array *array;
        struct {
            const value *v;
            int n;
        } items;
    } u;
    const char *const *names; /* of the items of V_NAMED; else NULL */
    /* A float or a list of numbers that was given a name: itself as an array of f64, by which grad
     * can ask. So are the floats that are computed from it. Else NULL. */
    ig_array *trace;
};

static inline value value_int(int64_t i) { return (value){.kind = V_INT, .u.i = i}; }
static inline value value_float(double f) { return (value){.kind = V_FLOAT, .u.f = f}; }
static inline value value_bool(bool b) { return (value){.kind = V_BOOL, .u.b = b}; }
static inline value value_dtype(ig_dtype d) { return (value){.kind = V_DTYPE, .u.dtype = d}; }
static inline value value_array(ig_array *x) { return (value){.kind = V_ARRAY, .u.array = x}; }

/* "an int", "a list": for messages. */
const char *value_kind_name(value_kind kind);

static inline bool value_is_number(const value *v)
{
    return v->kind == V_BOOL || v->kind == V_INT || v->kind == V_FLOAT;
}
static inline bool value_has_items(const value *v)
{
    return v->kind == V_LIST || v->kind == V_TUPLE;
}

static inline bool value_has_parts(const value *v)
{
    return value_has_items(v) || v->kind == V_NAMED;
}

/* The number in another type. A float is no int: ask value_int_of only for V_BOOL, V_INT. */
int64_t value_int_of(const value *v);
double value_float_of(const value *v);

value value_ints(arena *a, ig_ints ints);                /* a tuple */
value value_arrays(arena *a, ig_array *const *v, int n); /* a tuple */
value value_concat(arena *a, const value *x, const value *y, value_kind kind);

/* A copy whose text and items lie in a; retains its arrays. value_release drops them again. */
value value_keep(arena *a, const value *v);
void value_release(const value *v);

/* The item of that name of a V_NAMED; NULL if there is none. */
const value *value_named(const value *v, const char *name);

/* Equality of what is not a number: dtypes, strings, None and tuples of these and of numbers. */
bool value_equal(const value *x, const value *y);

/* Collects the arrays of v into out, at most room; returns how many there are. */
int value_collect(const value *v, ig_array **out, int room);

/* Number to weak 0-d array, list or tuple to array (bool, i64 or f32, or as dtype says), array as
 * it is. NULL with the library's error set where v is none of these, or is ragged. */
ig_array *value_to_array(const value *v, ig_dtype dtype);

/* Element i of row-major data as a number. */
value value_element(const void *data, ig_dtype dtype, int64_t i);

/* An array of few integers, evaluated and read: a 0-d one as an int, a 1-d one as a tuple. V_NONE
 * where it is not that, with the library's error set where it failed. */
value value_from_index_array(arena *a, ig_array *x);

/* ---- numbers, as Python computes with them ---- */

/* Writes x op y, or returns why it cannot. The unary ones ignore y. */
typedef const char *number_fn(const value *x, const value *y, value *out);

number_fn number_add, number_subtract, number_multiply, number_divide, number_floor_divide,
    number_remainder, number_power, number_left_shift, number_right_shift, number_and, number_or,
    number_xor, number_equal, number_not_equal, number_less, number_less_equal, number_greater,
    number_greater_equal, number_negative, number_positive, number_invert;

#endif
