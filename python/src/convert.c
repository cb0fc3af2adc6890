/* Conversions between Python objects and arrays: numbers, nested sequences, buffers, elements. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

bool is_number(PyObject *o)
{
    return PyLong_Check(o) || PyFloat_Check(o) || PyBool_Check(o) || PyComplex_Check(o);
}

static const ig_ints no_axes = {(const int64_t[]){0}, 0};

static ig_array *big_int(PyObject *o)
{
    const uint64_t big = PyLong_AsUnsignedLongLong(o);
    return PyErr_Occurred() ? NULL : ig_from_data(&big, no_axes, IG_U64);
}

/* The array of a float. Programs use few different numbers again and again, so the last ones are kept. */
static ig_array *float_array(double value)
{
    enum { KEPT = 64 }; /* a power of 2 */
    static struct {
        uint64_t bits;
        ig_array *x;
    } kept[KEPT];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const size_t at = (bits * 0x9e3779b97f4a7c15u) >> 58 & (KEPT - 1);
    if (kept[at].x && kept[at].bits == bits)
        return kept[at].x;
    ig_array *x = ig_float(value);
    if (x) {
        ig_release(kept[at].x);
        kept[at].bits = bits;
        kept[at].x = ig_retain(x);
    }
    return x;
}

ig_array *number_array(PyObject *o)
{
    ig_array *x;
    if (PyFloat_Check(o)) {
        x = float_array(PyFloat_AsDouble(o));
    } else if (PyBool_Check(o)) {
        x = ig_bool(o == Py_True);
    } else if (PyLong_Check(o)) {
        int overflow;
        const long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
        x = overflow ? big_int(o) : ig_int(i);
    } else {
        x = ig_complex(ig_float(PyComplex_RealAsDouble(o)), ig_float(PyComplex_ImagAsDouble(o)));
    }
    if (!x)
        raise_error();
    return x;
}

/* ---- lists of integers ---- */

int to_ints(PyObject *o, int64_t *v, int max)
{
    if (PyIndex_Check(o) && !(is_array(o) && ig_ndim(array_of(o)))) {
        PyObject *i = PyNumber_Index(o);
        int overflow = 0;
        if (!i || max < 1)
            return i ? (Py_DECREF(i), PyErr_SetString(PyExc_ValueError, "too many integers"), -1)
                     : -1;
        v[0] = PyLong_AsLongLongAndOverflow(i, &overflow);
        Py_DECREF(i);
        if (overflow)
            v[0] = overflow > 0 ? INT64_MAX : INT64_MIN;
        return 1;
    }
    if (PyUnicode_Check(o) || !PySequence_Check(o)) {
        PyErr_Format(PyExc_TypeError, "expected integers, not %R", Py_TYPE(o));
        return -1;
    }
    const Py_ssize_t n = PySequence_Size(o);
    int count = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        const int more = item ? to_ints(item, v + count, max - count) : -1;
        Py_XDECREF(item);
        if (more < 0)
            return -1;
        count += more;
    }
    return n < 0 ? -1 : count;
}

PyObject *ints_tuple(ig_ints v)
{
    PyObject *t = PyTuple_New(v.n);
    for (int i = 0; t && i < v.n; i++) {
        PyObject *one = PyLong_FromLongLong(v.v[i]);
        if (!one || PyTuple_SetItem(t, i, one) < 0)
            Py_CLEAR(t);
    }
    return t;
}

/* ---- elements ---- */

static double half_value(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const double fraction = h & 1023;
    double v = exponent == 31 ? (fraction != 0 ? Py_NAN : Py_HUGE_VAL)
               : exponent     ? (1024 + fraction) *
                                (exponent > 15 ? (double)(1 << (exponent - 15))
                                               : 1.0 / (1 << (15 - exponent))) /
                                1024
                          : fraction / 16777216.0;
    return h >> 15 ? -v : v;
}

static double bfloat_value(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

#define AT(type) (*(const type *)p)

PyObject *element_object(const void *p, ig_dtype dtype)
{
    switch (dtype) {
    case IG_BOOL: return PyBool_FromLong(AT(uint8_t));
    case IG_I8: return PyLong_FromLong(AT(int8_t));
    case IG_I16: return PyLong_FromLong(AT(int16_t));
    case IG_I32: return PyLong_FromLong(AT(int32_t));
    case IG_I64: return PyLong_FromLongLong(AT(int64_t));
    case IG_U8: return PyLong_FromLong(AT(uint8_t));
    case IG_U16: return PyLong_FromLong(AT(uint16_t));
    case IG_U32: return PyLong_FromUnsignedLong(AT(uint32_t));
    case IG_U64: return PyLong_FromUnsignedLongLong(AT(uint64_t));
    case IG_F16: return PyFloat_FromDouble(half_value(AT(uint16_t)));
    case IG_BF16: return PyFloat_FromDouble(bfloat_value(AT(uint16_t)));
    case IG_F32: return PyFloat_FromDouble((double)AT(float));
    case IG_F64: return PyFloat_FromDouble(AT(double));
    case IG_C64: return PyComplex_FromDoubles((double)(&AT(float))[0], (double)(&AT(float))[1]);
    case IG_C128: return PyComplex_FromDoubles((&AT(double))[0], (&AT(double))[1]);
    default: return PyErr_Format(PyExc_SystemError, "an array without a dtype");
    }
}

/* ---- nested sequences ---- */

/* The kind of numbers found so far; later ones include earlier ones. */
typedef enum found { FOUND_NONE, FOUND_BOOL, FOUND_INT, FOUND_FLOAT, FOUND_COMPLEX } found;

typedef struct nest {
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    found kind;
    bool big;   /* an integer above INT64_MAX */
    bool other; /* arrays or other objects among the elements: they are stacked instead */
} nest;

static bool is_sequence(PyObject *o) { return PyList_Check(o) || PyTuple_Check(o); }
static Py_ssize_t length(PyObject *o) { return PyList_Check(o) ? PyList_Size(o) : PyTuple_Size(o); }
static PyObject *item(PyObject *o, Py_ssize_t i) /* borrowed */
{
    return PyList_Check(o) ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
}

static bool ragged(void)
{
    PyErr_SetString(PyExc_ValueError,
                    "the nested sequences have different lengths; they must form an array");
    return false;
}

static found kind_of(PyObject *o)
{
    return PyFloat_Check(o)     ? FOUND_FLOAT
           : PyBool_Check(o)    ? FOUND_BOOL
           : PyLong_Check(o)    ? FOUND_INT
           : PyComplex_Check(o) ? FOUND_COMPLEX
                                : FOUND_NONE;
}

/* Finds the shape (from the first items) and the kind of numbers. */
static bool survey(nest *s, PyObject *o, int depth)
{
    if (!is_sequence(o)) {
        const found kind = kind_of(o);
        if (depth != s->ndim && !s->other)
            return kind == FOUND_NONE ? (s->other = true) : ragged();
        s->other = s->other || kind == FOUND_NONE;
        s->kind = kind > s->kind ? kind : s->kind;
        return true;
    }
    const Py_ssize_t n = length(o);
    if (depth >= s->ndim || s->shape[depth] != n)
        return ragged();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = item(o, i);
        if (depth + 1 == s->ndim && PyFloat_Check(one)) /* most */
            s->kind = s->kind < FOUND_FLOAT ? FOUND_FLOAT : s->kind;
        else if (!survey(s, one, depth + 1))
            return false;
    }
    return true;
}

/* Writes numbers as f64, i64, u64, c128 or bytes of bools, in row-major order. */
static bool fill(const nest *s, PyObject *o, int depth, char **to)
{
    if (depth < s->ndim) {
        const Py_ssize_t n = length(o);
        for (Py_ssize_t i = 0; i < n; i++)
            if (!fill(s, item(o, i), depth + 1, to))
                return false;
        return true;
    }
    if (s->kind == FOUND_FLOAT) {
        *(double *)*to = PyFloat_AsDouble(o);
        *to += sizeof(double);
    } else if (s->kind == FOUND_INT) {
        int overflow = 0;
        const long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
        *(uint64_t *)*to = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : (uint64_t)i;
        *to += sizeof(int64_t);
        if (overflow < 0)
            PyErr_SetString(PyExc_OverflowError, "an integer does not fit into 64 bits");
        if (overflow > 0)
            ((nest *)s)->big = true;
    } else if (s->kind == FOUND_COMPLEX) {
        ((double *)*to)[0] = PyComplex_RealAsDouble(o);
        ((double *)*to)[1] = PyComplex_ImagAsDouble(o);
        *to += 2 * sizeof(double);
    } else {
        *(*to)++ = o == Py_True;
    }
    return !((s->kind != FOUND_FLOAT || *(double *)(*to - sizeof(double)) == -1.0) &&
             PyErr_Occurred());
}

static bool out_of_bounds(PyObject *number, ig_dtype dtype)
{
    if (number)
        PyErr_Format(PyExc_OverflowError, "%R does not fit into %s", number,
                     ig_dtype_std_name(dtype));
    Py_XDECREF(number);
    return false;
}

/* Checks that Python's numbers, stored as one of the dtypes of fill, are values of the dtype that was asked for, as NumPy
 * does. Floats lose their fractions. */
static bool fits(const void *data, int64_t n, ig_dtype have, ig_dtype want)
{
    ig_iinfo info;
    if (have == IG_C128 && want != IG_BOOL && !ig_isdtype(want, "complex floating"))
        return PyErr_Format(PyExc_TypeError,
                            "complex numbers cannot be elements of %s; use their real parts",
                            ig_dtype_std_name(want)),
               false;
    if (have == IG_BOOL || !ig_isdtype(want, "integral") || ig_iinfo_of(want, &info) != IG_OK)
        return true;
    const int64_t *i = data;
    const uint64_t *u = data;
    const double *f = data;
    for (int64_t k = 0; k < n; k++) {
        if (have == IG_U64
                ? u[k] > info.max
                : have == IG_I64 && (i[k] < info.min || (i[k] > 0 && (uint64_t)i[k] > info.max)))
            return out_of_bounds(have == IG_U64 ? PyLong_FromUnsignedLongLong(u[k])
                                                : PyLong_FromLongLong(i[k]),
                                 want);
        if (have != IG_F64)
            continue;
        if (f[k] != f[k])
            return PyErr_Format(PyExc_ValueError, "NaN cannot be an element of %s",
                                ig_dtype_std_name(want)),
                   false;
        /* A limit of 64 bits is rounded up to a power of 2, which does not fit. */
        const double high = (double)info.max;
        if (!(f[k] > (double)info.min - 1 || f[k] == (double)info.min) ||
            !(high > 0x1p53 ? f[k] < high : f[k] < high + 1))
            return out_of_bounds(PyFloat_FromDouble(f[k]), want);
    }
    return true;
}

/* Items that are arrays or other objects: each is converted, then all are stacked. */
static ig_array *stack_items(PyObject *o, ig_dtype dtype)
{
    const Py_ssize_t n = length(o);
    ig_array **x = malloc((size_t)(n + 1) * sizeof *x);
    ig_array *all = NULL;
    Py_ssize_t made = 0;
    while (x && made < n && (x[made] = make_array(item(o, made), dtype)))
        made++;
    if (x && made == n)
        all = ig_stack(x, (int)n, 0);
    free(x);
    if (!all)
        raise_error();
    return all;
}

static ig_array *from_sequence(PyObject *o, ig_dtype dtype)
{
    static const ig_dtype stored[] = {IG_F64, IG_BOOL, IG_I64, IG_F64, IG_C128};
    const ig_dtype real = ig_default_dtype(), pair = real == IG_F64 ? IG_C128 : IG_C64;
    const ig_dtype usual[] = {real, IG_BOOL, IG_I64, real, pair};
    nest s = {0};
    int64_t size = 1;
    for (PyObject *first = o; is_sequence(first); first = item(first, 0)) {
        if (s.ndim == IG_MAX_NDIM) {
            PyErr_Format(PyExc_ValueError, "arrays have at most %d dimensions", IG_MAX_NDIM);
            return NULL;
        }
        size *= s.shape[s.ndim++] = length(first);
        if (length(first) == 0)
            break;
    }
    if (!survey(&s, o, 0))
        return NULL;
    if (s.other)
        return stack_items(o, dtype);
    char *data = malloc((size_t)size * 2 * sizeof(double) + 1), *to = data;
    if (!data || (size && !fill(&s, o, 0, &to))) {
        free(data);
        return data ? NULL : (PyErr_NoMemory(), NULL);
    }
    const ig_dtype have = s.big ? IG_U64 : stored[s.kind], want = dtype   ? dtype
                                                                  : s.big ? IG_U64
                                                                          : usual[s.kind];
    ig_array *x = NULL;
    if (!dtype || fits(data, size, have, want))
        x = ig_from_data(data, (ig_ints){s.shape, s.ndim}, have);
    free(data);
    if (PyErr_Occurred())
        return NULL;
    x = have == want ? x : ig_astype(x, want);
    if (!x)
        raise_error();
    return x;
}

/* ---- buffers ---- */

static void buffer_free(void *context)
{
    PyBuffer_Release(context);
    free(context);
}

static void buffer_drop(void *context) { release_later(NULL, buffer_free, context); }

static ig_array *borrowed_buffer(Py_buffer *view, ig_ints shape, ig_dtype dtype)
{
    Py_buffer *kept = malloc(sizeof *kept);
    if (!kept)
        return NULL;
    *kept = *view;
    view->obj = NULL;
    return ig_from_memory(kept->buf, (size_t)kept->len, shape, dtype, buffer_drop, kept);
}

static ig_array *copied_buffer(const Py_buffer *view, ig_ints shape, ig_dtype dtype)
{
    if (PyBuffer_IsContiguous(view, 'C'))
        return ig_from_data(view->buf, shape, dtype);
    char *copy = malloc((size_t)view->len + 1);
    ig_array *x = NULL;
    if (copy && PyBuffer_ToContiguous(copy, view, view->len, 'C') == 0)
        x = ig_from_data(copy, shape, dtype);
    free(copy);
    return x;
}

/* False, with an exception that has advice, if o has a dtype of NumPy that no array here has. */
static bool has_known_dtype(PyObject *o)
{
    PyObject *kind = PyObject_GetAttrString(o, "dtype");
    ig_dtype dtype = IG_DTYPE_NONE;
    PyErr_Clear();
    const bool known = !kind || to_dtype(kind, &dtype);
    Py_XDECREF(kind);
    return known;
}

ig_array *from_buffer(PyObject *o, bool borrow)
{
    Py_buffer view;
    int64_t shape[IG_MAX_NDIM];
    if (!PyObject_CheckBuffer(o) || PyObject_GetBuffer(o, &view, PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return NULL;
    }
    ig_array *x = NULL;
    const ig_dtype dtype = format_dtype(view.format);
    if (!dtype || view.ndim > IG_MAX_NDIM || (size_t)view.itemsize != ig_dtype_bytes(dtype)) {
        if (has_known_dtype(o))
            PyErr_Format(
                PyExc_TypeError,
                "a buffer of %d dimensions with elements of format '%s' is not an array here",
                view.ndim, view.format ? view.format : "B");
    } else {
        for (int i = 0; i < view.ndim; i++)
            shape[i] = view.shape[i];
        const ig_ints s = {view.ndim ? shape : no_axes.v, view.ndim};
        x = borrow && PyBuffer_IsContiguous(&view, 'C') && view.len
                ? borrowed_buffer(&view, s, dtype)
                : copied_buffer(&view, s, dtype);
        if (!x)
            raise_error();
    }
    if (view.obj)
        PyBuffer_Release(&view);
    return x;
}

ig_array *from_raw(PyObject *o, ig_ints shape, ig_dtype dtype)
{
    Py_buffer view;
    int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    for (int i = 0; i < shape.n; i++)
        bytes *= shape.v[i];
    if (PyObject_GetBuffer(o, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    ig_array *x = NULL;
    if (view.len != bytes)
        PyErr_Format(PyExc_ValueError, "%zd bytes do not fill the shape", view.len);
    else if (!(x = bytes ? borrowed_buffer(&view, shape, dtype) : ig_from_data("", shape, dtype)))
        raise_error();
    if (view.obj)
        PyBuffer_Release(&view);
    return x;
}

/* ---- objects ---- */

/* An array of an object with __array_interface__, such as an image of PIL. */
static ig_array *from_interface(PyObject *o)
{
    PyObject *module = PyImport_ImportModule("ingot._array");
    PyObject *made = module ? PyObject_CallMethod(module, "_from_interface", "O", o) : NULL;
    ig_array *x = made && is_array(made) ? array_of(made) : NULL;
    x = x ? ig_broadcast_to(x, ig_shape(x)) : NULL; /* of the scope */
    Py_XDECREF(made);
    Py_XDECREF(module);
    return x;
}

/* An array from an object's __array__, as of a list of NumPy or a data frame. NULL without an exception if it has
 * none. */
static ig_array *from_method(PyObject *o)
{
    if (PyObject_HasAttrString(o, "__dlpack__")) { /* a copy: lazy results must not change with o */
        ig_array *x = from_capsule(o, Py_None, Py_None);
        if (!x && PyObject_CheckBuffer(o)) { /* NumPy's error for times has no advice */
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            if (has_known_dtype(o)) {
                PyErr_Restore(type, value, trace);
                return NULL;
            }
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(trace);
        }
        return x ? copied(x) : NULL;
    }
    if (!PyObject_HasAttrString(o, "__array__"))
        return PyObject_HasAttrString(o, "__array_interface__") ? from_interface(o) : NULL;
    PyObject *other = PyObject_CallMethod(o, "__array__", NULL);
    ig_array *x = other ? from_buffer(other, false) : NULL;
    if (other && !x && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "__array__ of %R returned an object without elements",
                     Py_TYPE(o));
    Py_XDECREF(other);
    return x;
}

/* A list of the items of an iterable without elements of its own, such as a range or a generator. NULL for other objects,
 * and without an exception if o is none of these. */
static PyObject *listed(PyObject *o)
{
    if (PyObject_CheckBuffer(o) || PyUnicode_Check(o) || PyDict_Check(o) || PyAnySet_Check(o) ||
        PyType_Check(o) || PyObject_HasAttrString(o, "__array__") ||
        PyObject_HasAttrString(o, "__dlpack__") ||
        PyObject_HasAttrString(o, "__array_interface__") || !PyObject_HasAttrString(o, "__iter__"))
        return NULL;
    return PySequence_List(o);
}

/* The array of such an object. */
static ig_array *from_iterable(PyObject *o, ig_dtype dtype)
{
    PyObject *list = listed(o);
    ig_array *x = list ? from_sequence(list, dtype) : NULL;
    Py_XDECREF(list);
    return x;
}

static ig_array *to_plain(PyObject *o)
{
    if (is_array(o))
        return array_of(o);
    if (is_number(o))
        return number_array(o);
    if (is_sequence(o) || PyUnicode_Check(o) || PyBytes_Check(o))
        return NULL;
    ig_array *x = from_buffer(o, false);
    return x || PyErr_Occurred() ? x : from_method(o);
}

/* True for an object that handles NumPy's operators itself and has no elements yet, as of Dask or xarray. */
static bool handles_operators(PyObject *o)
{
    return PyObject_HasAttrString(o, "__array_ufunc__") && !PyObject_CheckBuffer(o) &&
           !PyObject_HasAttrString(o, "__dlpack__");
}

ig_array *to_array_like(PyObject *o, ig_dtype other)
{
    ig_array *x = to_array(o);
    const ig_dtype dtype = x ? ig_dtype_of(x) : IG_DTYPE_NONE;
    if (!is_sequence(o) || (other != IG_F64 && other != IG_C128) ||
        (dtype != IG_F32 && dtype != IG_C64))
        return x;
    return make_array(o, dtype == IG_F32 ? IG_F64 : IG_C128);
}

ig_array *to_operand(PyObject *o, PyObject *other)
{
    if (is_sequence(o) || PyRange_Check(o))
        return to_array_like(o, is_array(other) ? array_dtype(other) : IG_DTYPE_NONE);
    return !is_array(o) && !is_number(o) && handles_operators(o) ? NULL : to_plain(o);
}

ig_array *to_array(PyObject *o)
{
    ig_array *x = is_sequence(o) ? from_sequence(o, IG_DTYPE_NONE) : to_plain(o);
    if (!x && !PyErr_Occurred())
        x = from_iterable(o, IG_DTYPE_NONE);
    if (!x && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     PyUnicode_Check(o) ? "%R cannot be used as an array: arrays hold numbers and "
                                          "bools. Use a list, or numpy.array, for texts"
                                        : "%R cannot be used as an array",
                     Py_TYPE(o));
    return x;
}

ig_array *to_values(PyObject *o, ig_dtype dtype)
{
    return is_number(o) || is_sequence(o) ? make_array(o, dtype) : to_array(o);
}

/* A number with a dtype. */
static ig_array *number_of_dtype(PyObject *o, ig_dtype dtype)
{
    PyObject *one = PyTuple_New(1);
    if (!one || PyTuple_SetItem(one, 0, Py_NewRef(o)) < 0)
        return NULL;
    ig_array *x = from_sequence(one, dtype);
    Py_DECREF(one);
    return x ? ig_reshape(x, no_axes) : NULL;
}

ig_array *make_array(PyObject *o, ig_dtype dtype)
{
    /* A subclass with elements, such as numpy.float64, keeps its dtype. */
    const bool plain = PyFloat_CheckExact(o) || PyComplex_CheckExact(o) || !PyObject_CheckBuffer(o);
    if (is_number(o) && plain)
        return number_of_dtype(o, dtype);
    if (is_sequence(o))
        return from_sequence(o, dtype);
    ig_array *x = is_number(o) ? NULL : from_iterable(o, dtype);
    if (x || PyErr_Occurred())
        return x;
    x = is_number(o) ? from_buffer(o, false) : to_array(o);
    if (!x || !dtype || ig_dtype_of(x) == dtype)
        return x;
    if (!(x = ig_astype(x, dtype)))
        raise_error();
    return x;
}
