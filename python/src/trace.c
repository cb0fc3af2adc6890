/* Traces: calls of functions by a transform, with arrays that stand for others.
 *
 * A thread has a stack of open traces. Transforms such as jit and vmap open a pure one: the function is called once for
 * many calls, so its arrays have no elements, and arrays from outside cannot change. Gradients open one that is not pure.
 * Each Array has the number of traces that had begun when it was made, which tells whether it is from outside of one. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_TRACES = 100 };

typedef struct trace {
    const char *name; /* "jit" */
    bool pure;
    uint32_t began;
} trace;

static _Thread_local struct {
    trace open[MOST_TRACES];
    int n;
    const ig_array *missing; /* what the last failed evaluation needed: for comparisons */
} traces;

uint32_t trace_clock = 1;

bool trace_is_open(void) { return traces.n > 0; }

/* The innermost pure trace, or NULL. */
static const trace *pure_trace(void)
{
    for (int i = traces.n - 1; i >= 0; i--)
        if (traces.open[i].pure)
            return &traces.open[i];
    return NULL;
}

bool trace_is_pure(void) { return pure_trace() != NULL; }

bool trace_allows_change(PyObject *array)
{
    const trace *t = pure_trace();
    if (!t || ((array_object *)array)->born >= t->began)
        return true;
    PyErr_Format(
        PyExc_ValueError,
        "%s: the function changes an array from outside of it in place, which calls of the "
        "compiled function would not repeat. Make a new array (y = x + 1, x.at[i].set(v)) "
        "and return it, or pass the array as an argument",
        t->name);
    return false;
}

bool trace_raise_missing(void)
{
    const ig_array *x = ig_missing();
    if (!x)
        return false;
    traces.missing = x;
    const trace *t = pure_trace();
    if (!t)
        return false;
    const bool jit = strcmp(t->name, "jit") == 0, export = strcmp(t->name, "onnx.export") == 0;
    PyErr_Format(
        PyExc_ValueError,
        "%s: an array that this needs has no elements. The function is called once, with arrays "
        "that "
        "stand for %s, so it cannot read their values with if, while, float, int, print, "
        "numpy.asarray, max, a mask as an index, nonzero or unique. Use where(condition, x1, x2), "
        "cond, while_loop, maximum and ops of whole arrays%s",
        t->name,
        jit                            ? "the arguments of every call"
        : export                       ? "the inputs of every run"
        : strcmp(t->name, "vmap") == 0 ? "all slices"
                                       : "the values of every step",
        jit ? "; arguments that are no arrays can be constants: static_argnums" : "");
    return true;
}

/* ---- functions ---- */

/* _trace_begin(name, pure) */
static PyObject *fn_begin(PyObject *self, PyObject *args)
{
    (void)self;
    static const char *const names[] = {"grad",       "jit",         "vmap", "scan",
                                        "while_loop", "fori_loop",   "cond", "switch",
                                        "map",        "onnx.export", NULL};
    const char *name;
    int pure;
    if (!PyArg_ParseTuple(args, "sp:_trace_begin", &name, &pure))
        return NULL;
    if (traces.n == MOST_TRACES)
        return PyErr_Format(PyExc_RecursionError, "transforms are nested more than %d deep",
                            MOST_TRACES);
    trace *t = &traces.open[traces.n++];
    *t = (trace){"a transform", pure, ++trace_clock};
    for (int i = 0; names[i]; i++)
        if (strcmp(name, names[i]) == 0)
            t->name = names[i];
    traces.missing = NULL;
    ig_missing();
    Py_RETURN_NONE;
}

static PyObject *fn_end(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (traces.n)
        traces.n--;
    Py_RETURN_NONE;
}

static PyObject *fn_is_open(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(trace_is_open());
}

/* The name of the innermost pure trace, or None. */
static PyObject *fn_pure_name(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    const trace *t = pure_trace();
    return t ? PyUnicode_FromString(t->name) : Py_NewRef(Py_None);
}

/* The index of the array in a list whose elements the last failed evaluation needed, or -1. */
static PyObject *fn_missing(PyObject *self, PyObject *list)
{
    (void)self;
    int n = 0, at = -1;
    ig_array **x = array_list(list, &n);
    if (!x)
        return NULL;
    for (int i = 0; i < n; i++)
        if (x[i] == traces.missing)
            at = i;
    free(x);
    return PyLong_FromLong(at);
}

static PyObject *fn_keep_history(PyObject *self, PyObject *keep)
{
    (void)self;
    return PyBool_FromLong(ig_keep_history(PyObject_IsTrue(keep) > 0));
}

/* The elements of x as an array of its own, which transforms can tell from x: see ig_handle. A number stays weak. */
static PyObject *fn_handle(PyObject *self, PyObject *o)
{
    (void)self;
    if (!enter())
        return NULL;
    ig_array *x = make_array(o, IG_DTYPE_NONE);
    PyObject *made = leave_with(x ? ig_handle(x) : NULL);
    if (made && is_array(o))
        ((array_object *)made)->is_number = ((array_object *)o)->is_number;
    return made;
}

/* Another Array of the same array of the library: changes in place of one do not change the other. */
static PyObject *fn_again(PyObject *self, PyObject *o)
{
    (void)self;
    if (!is_array(o))
        return PyErr_Format(PyExc_TypeError, "expected an array, not %R", Py_TYPE(o));
    PyObject *made = array_wrap(ig_retain(array_of(o)));
    if (made)
        ((array_object *)made)->is_number = ((array_object *)o)->is_number;
    return made;
}

/* True if two Arrays refer to the same array of the library. */
static PyObject *fn_same(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "O!O!:_same", array_type, &a, array_type, &b))
        return NULL;
    return PyBool_FromLong(array_of(a) == array_of(b));
}

/* The array; a number as an array of the dtype that numbers give. */
static PyObject *fn_plain(PyObject *self, PyObject *o)
{
    (void)self;
    if (!is_array(o) || !((array_object *)o)->is_number)
        return Py_NewRef(o);
    if (!enter())
        return NULL;
    ig_array *x = array_of(o);
    return leave_with(ig_astype(x, ig_result_type(&x, 1)));
}

/* For each of the inputs: whether x is computed from it. */
static PyObject *fn_depends(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *o, *ins, *result = NULL;
    int n = 0;
    if (!PyArg_ParseTuple(args, "O!O:_depends", array_type, &o, &ins))
        return NULL;
    ig_array **in = array_list(ins, &n);
    bool *used = in ? calloc((size_t)n + 1, sizeof *used) : NULL;
    if (used && enter()) {
        graph_lock();
        const ig_status status = ig_depends(array_of(o), in, n, used);
        graph_unlock();
        leave();
        result = status == IG_OK ? PyList_New(n) : raise_error();
        for (int i = 0; result && i < n; i++)
            if (!put(result, i, PyBool_FromLong(used[i])))
                Py_CLEAR(result);
    }
    free(in);
    free(used);
    return result;
}

/* ---- arrays without elements ---- */

static ig_array *placeholder_of_parts(ig_ints shape, ig_dtype part)
{
    ig_array *re = ig_placeholder(shape, part);
    return re ? ig_complex(re, ig_placeholder(shape, part)) : NULL;
}

/* An array without elements: shape and dtype of an array, without the axis if one is given. */
static PyObject *fn_placeholder(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *o;
    int axis = -1, n = 0;
    if (!PyArg_ParseTuple(args, "O|i:_placeholder", &o, &axis))
        return NULL;
    if (!is_array(o))
        return PyErr_Format(PyExc_TypeError, "expected an array, not %R", Py_TYPE(o));
    if (!enter())
        return NULL;
    const ig_ints whole = ig_shape(array_of(o));
    int64_t shape[IG_MAX_NDIM];
    for (int a = 0; a < whole.n; a++)
        if (a != axis)
            shape[n++] = whole.v[a];
    /* On the device of the array. */
    const char *device = ig_array_device(array_of(o));
    char before[64];
    PyOS_snprintf(before, sizeof before, "%s", ig_device());
    if (device && ig_set_device(device) != IG_OK)
        return leave_failed();
    const ig_dtype dtype = ig_dtype_of(array_of(o));
    const ig_ints own = {shape, n};
    ig_array *x = ig_isdtype(dtype, "complex floating")
                      ? placeholder_of_parts(own, dtype == IG_C64 ? IG_F32 : IG_F64)
                      : ig_placeholder(own, dtype);
    ig_set_device(before);
    return leave_with(x);
}

/* ---- numbers ----
 * A Python number as an argument is a weak scalar. With other numbers it gives what Python gives, in f64 or i64, and a
 * weak scalar again; with an array it takes the array's dtype. */

/* The dtype of numbers in arithmetic: f32 on a device without f64. */
static ig_dtype widest(void)
{
    static _Thread_local char known[64];
    static _Thread_local ig_dtype dtype;
    const char *device = ig_device();
    if (strcmp(device, "cpu") == 0)
        return IG_F64;
    if (strcmp(device, known) != 0) {
        ig_array *one = ig_scalar(1, IG_F64), *two = one ? ig_add(one, one) : NULL;
        dtype = two && ig_could_eval(&two, 1, device) == IG_OK ? IG_F64 : IG_F32;
        ig_error(NULL);
        PyOS_snprintf(known, sizeof known, "%s", device);
    }
    return dtype;
}

static PyObject *wrap_number(ig_array *x)
{
    PyObject *o = leave_with(x ? ig_weak(x) : NULL);
    if (o)
        ((array_object *)o)->is_number = true;
    return o;
}

/* (placeholders, number) for a number of a type: two placeholders for a complex one. */
static PyObject *fn_number_placeholder(PyObject *self, PyObject *type)
{
    (void)self;
    const bool complex = type == (PyObject *)&PyComplex_Type;
    if (!enter())
        return NULL;
    const bool whole = type == (PyObject *)&PyLong_Type;
    ig_array *in[2] = {ig_placeholder_number(whole ? IG_I64 : widest()),
                       complex ? ig_placeholder_number(widest()) : NULL};
    PyObject *list = PyList_New(complex ? 2 : 1);
    for (int i = 0; list && i < 1 + complex; i++)
        if (!put(list, i, array_wrap(ig_retain(in[i]))))
            Py_CLEAR(list);
    PyObject *number = !list     ? leave_failed()
                       : complex ? leave_with(ig_complex(ig_weak(in[0]), ig_weak(in[1])))
                                 : wrap_number(in[0]);
    if (!number) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("(NN)", list, number);
}

/* (root, number): a number with a value, as an array whose gradient can be taken. */
static PyObject *fn_number(PyObject *self, PyObject *o)
{
    (void)self;
    if (!enter())
        return NULL;
    ig_array *x = NULL;
    if (PyComplex_Check(o)) {
        x = number_array(o);
        return leave_with(x ? ig_astype(x, IG_C128) : NULL);
    }
    x = ig_scalar(PyFloat_AsDouble(o), widest());
    if (PyErr_Occurred())
        return leave_failed();
    return wrap_number(x);
}

/* The array o, a scalar, as a number. */
static PyObject *fn_as_number(PyObject *self, PyObject *o)
{
    (void)self;
    if (!enter())
        return NULL;
    return wrap_number(to_array(o));
}

/* The operand o as a strong array of f64 or i64; NULL without an exception if it is no real number. */
static ig_array *operand(PyObject *o)
{
    ig_array *x = is_array(o) ? array_of(o) : !PyComplex_Check(o) ? number_array(o) : NULL;
    if (!x || ig_isdtype(ig_dtype_of(x), "complex floating"))
        return NULL;
    return ig_astype(x, ig_isdtype(ig_dtype_of(x), "real floating") ? widest() : IG_I64);
}

static bool is_scalar(PyObject *o)
{
    return is_array(o) ? ((array_object *)o)->is_number : is_number(o);
}

bool traced_meets(PyObject *a, PyObject *b)
{
    const bool first = is_array(a) && ((array_object *)a)->is_number;
    const bool second = is_array(b) && ((array_object *)b)->is_number;
    if (!first && !second)
        return false;
    PyObject *other = first ? b : a;
    return is_scalar(other) || PyList_Check(other) || PyTuple_Check(other);
}

PyObject *traced_binary(PyObject *a, PyObject *b, ig_array *(*f)(ig_array *, ig_array *))
{
    const bool whole = f == ig_pow;
    if (!is_scalar(a) || !is_scalar(b)) { /* [0] * n needs the value of n */
        PyObject *value = PyNumber_Index(is_scalar(a) ? a : b);
        if (!value)
            return NULL;
        PyObject *result = is_scalar(a) ? PyNumber_Multiply(value, b) : PyNumber_Multiply(a, value);
        Py_DECREF(value);
        return result;
    }
    if (!enter())
        return NULL;
    ig_array *x = operand(a), *y = x ? operand(b) : NULL;
    if (!x || !y) {
        x = x ? x : to_array(a);
        y = to_array(b);
        return leave_with(x && y ? f(x, y) : NULL);
    }
    const bool ints = ig_dtype_of(x) == IG_I64 && ig_dtype_of(y) == IG_I64;
    if (ints && whole) { /* an integer or a float, by the sign of the exponent */
        leave();
        PyObject *value = PyNumber_Index(is_array(b) ? b : a);
        Py_XDECREF(value);
        return value ? PyErr_Format(PyExc_TypeError, "a power of traced integers") : NULL;
    }
    if (!ints || f == ig_divide) {
        x = ig_astype(x, widest());
        y = ig_astype(y, widest());
    }
    ig_array *z = f(x, y);
    return z && ig_dtype_of(z) == IG_BOOL ? leave_with(z) : wrap_number(z);
}

PyObject *traced_unary(PyObject *a, ig_array *(*f)(ig_array *))
{
    if (!enter())
        return NULL;
    ig_array *x = operand(a);
    ig_array *z = x ? f(x) : NULL;
    return wrap_number(z);
}

PyMethodDef trace_functions[] = {
    {"_trace_begin", fn_begin, METH_VARARGS, NULL},
    {"_trace_end", fn_end, METH_NOARGS, NULL},
    {"_trace_is_open", fn_is_open, METH_NOARGS, NULL},
    {"_pure_trace", fn_pure_name, METH_NOARGS, NULL},
    {"_missing", fn_missing, METH_O, NULL},
    {"_keep_history", fn_keep_history, METH_O, NULL},
    {"_handle", fn_handle, METH_O, NULL},
    {"_again", fn_again, METH_O, NULL},
    {"_same", fn_same, METH_VARARGS, NULL},
    {"_plain", fn_plain, METH_O, NULL},
    {"_depends", fn_depends, METH_VARARGS, NULL},
    {"_placeholder", fn_placeholder, METH_VARARGS, NULL},
    {"_number_placeholder", fn_number_placeholder, METH_O, NULL},
    {"_number", fn_number, METH_O, NULL},
    {"_as_number", fn_as_number, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
