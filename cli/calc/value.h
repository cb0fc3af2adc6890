/* Values of the calculator: Python's plain values, and arrays.
 *
 * A value is small and copied freely. Its text and items live in an arena, its arrays in an ig_scope. A
 * number that is combined with an array becomes a weak scalar and takes the array's dtype. */
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
    V_LIST,  /* [1, 2]: becomes an array where one is needed */
    V_TUPLE, /* (1, 2), a shape, or the results of an op with several */
    V_REST,  /* ... */
    V_NAMED, /* arrays by name: an .npz or .safetensors file */
    V_FUNCTION,
    V_RANDOM, /* a generator of random numbers, by its number */
    V_KINDS
} value_kind;

typedef struct user_function user_function; /* parts.h */
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
        const user_function *function;
        struct {
            const value *v;
            int n;
        } items;
    } u;
    const char *const *names; /* of the items of V_NAMED, and of an op's results; else NULL */
    /* The same number or list as an array of f64, for grad. Only for a float or a list of numbers that was assigned
     * to a name, and for floats computed from it; else NULL. */
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

/* The number as another type. value_int_of takes only V_BOOL and V_INT. */
int64_t value_int_of(const value *v);
double value_float_of(const value *v);

value value_ints(arena *a, ig_ints ints);                /* a tuple */
value value_arrays(arena *a, ig_array *const *v, int n); /* a tuple */
value value_concat(arena *a, const value *x, const value *y, value_kind kind);

/* Returns a copy with its text and items in a; retains its arrays. value_release releases them. */
value value_keep(arena *a, const value *v);
void value_release(const value *v);

/* The same for functions (function.c). */
const user_function *function_keep(arena *a, const user_function *f);
void function_release(const user_function *f);

/* The item with this name; NULL if there is none. */
const value *value_named(const value *v, const char *name);

/* Equality of values that are not numbers or arrays; tuples are compared item by item. */
bool value_equal(const value *x, const value *y);

/* Collects the arrays of v into out, which has room for `room`; returns how many there are. */
int value_collect(const value *v, ig_array **out, int room);

/* Converts a number to a weak 0-d array, and a list or tuple to an array (bool, i64 or f32, or dtype if
 * given); returns arrays as they are. NULL, with the library's error set, for other values and ragged
 * lists. */
ig_array *value_to_array(const value *v, ig_dtype dtype);

/* Element i of row-major data as a number. */
value value_element(const void *data, ig_dtype dtype, int64_t i);

/* Evaluates and reads a short array of integers: 0-d gives an int, 1-d a tuple. V_NONE for other arrays,
 * and on failure with the library's error set. */
value value_from_index_array(arena *a, ig_array *x);

/* ---- numbers, as Python computes with them ---- */

/* Writes x op y to *out and returns NULL, or returns why it cannot. Unary ops ignore y. */
typedef const char *number_fn(const value *x, const value *y, value *out);

number_fn number_add, number_subtract, number_multiply, number_divide, number_floor_divide,
    number_remainder, number_power, number_left_shift, number_right_shift, number_and, number_or,
    number_xor, number_equal, number_not_equal, number_less, number_less_equal, number_greater,
    number_greater_equal, number_negative, number_positive, number_invert;

#endif
