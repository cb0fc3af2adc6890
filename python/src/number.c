/* Numbers: single elements as Arrays, and Python's numbers as elements. An Array of an element holds its bits, and an array of the
 * library is made from them when one is needed. So loops over elements make no arrays: arithmetic of numbers is ig_op_constant, which
 * has the bits of an evaluation, and a number that is known is copied into the array (element_set). */
#include "common.h"
#include <math.h>
#include <string.h>

static array_object *object(PyObject *o) { return (array_object *)o; }

/* ---- Python's numbers ---- */

static bool out_of_range(PyObject *number, ig_dtype dtype)
{
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%R is out of bounds for %s", number,
                 ig_dtype_std_name(dtype));
    return false;
}

static bool int_bits(PyObject *number, ig_dtype dtype, void *bits)
{
    ig_iinfo info;
    int overflow;
    ig_iinfo_of(dtype, &info);
    long long i = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow > 0 && dtype == IG_U64) {
        const unsigned long long u = PyLong_AsUnsignedLongLong(number);
        if (PyErr_Occurred())
            return out_of_range(number, dtype);
        i = (long long)u;
    } else if (overflow || i < info.min || (i > 0 && (uint64_t)i > info.max)) {
        return out_of_range(number, dtype);
    }
    switch (ig_dtype_bytes(dtype)) {
    case 1: *(uint8_t *)bits = (uint8_t)i; break;
    case 2: *(uint16_t *)bits = (uint16_t)i; break;
    case 4: *(uint32_t *)bits = (uint32_t)i; break;
    default: *(uint64_t *)bits = (uint64_t)i;
    }
    return true;
}

int number_bits(PyObject *number, ig_dtype dtype, void *bits)
{
    if (PyComplex_Check(number)) {
        if (ig_isdtype(dtype, "complex floating"))
            return 0;
        PyErr_Format(PyExc_TypeError, "a complex number cannot be an element of a %s array",
                     ig_dtype_std_name(dtype));
        return -1;
    }
    if (ig_isdtype(dtype, "integral")) {
        if (!PyFloat_Check(number))
            return int_bits(number, dtype, bits) ? 1 : -1;
        PyObject *whole = PyNumber_Long(number); /* refuses NaN and infinity */
        const int known = whole ? (int_bits(whole, dtype, bits) ? 1 : -1) : -1;
        Py_XDECREF(whole);
        return known;
    }
    const double value = PyFloat_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred())
        return -1;
    switch (dtype) {
    case IG_BOOL: *(uint8_t *)bits = value != 0; return 1;
    case IG_F64: *(double *)bits = value; return 1;
    case IG_F32:
        if (isfinite(value) && fabs(value) > 0x1.fffffep127)
            return 0; /* may round to infinity */
        *(float *)bits = (float)value;
        return 1;
    default: return 0;
    }
}

/* ---- elements ---- */

static PyObject *number_new(const void *bits, ig_dtype dtype)
{
    array_object *o = PyObject_New(array_object, array_type);
    if (!o)
        return NULL;
    memset((char *)o + sizeof o->ob_base, 0, sizeof *o - sizeof o->ob_base);
    memcpy(&o->number, bits, ig_dtype_bytes(dtype));
    o->number_dtype = dtype;
    o->born = trace_clock;
    return (PyObject *)o;
}

PyObject *element_constant(PyObject *o, int64_t offset)
{
    const array_object *root = object(array_root(o));
    const char *data = object(o)->view && object(o)->view->part ? NULL : known_elements(root);
    const ig_dtype dtype = ig_dtype_of(root->x);
    if (data && strcmp(ig_array_device(root->x), "cpu") != 0)
        return NULL; /* a constant, whose element stays on its device */
    return data ? number_new(data + offset * (int64_t)ig_dtype_bytes(dtype), dtype) : NULL;
}

/* The offset of x[i] of a 1-d array in its root. */
static bool offset_of(PyObject *o, int64_t i, int64_t *offset)
{
    const array_view *v = object(o)->view;
    const ig_ints shape = array_shape(o);
    if (shape.n != 1 || i < -*shape.v || i >= *shape.v)
        return false;
    i += i < 0 ? *shape.v : 0;
    *offset = v ? v->offset + i * v->axes[1] : i;
    return true;
}

PyObject *element_at(PyObject *o, int64_t i)
{
    int64_t offset;
    return offset_of(o, i, &offset) ? element_constant(o, offset) : NULL;
}

const void *number_known(PyObject *number, ig_dtype dtype)
{
    const array_object *o = object(number);
    if (o->number_dtype)
        return o->number_dtype == dtype ? &o->number : NULL;
    const bool fits = !o->view && ig_ndim(o->x) == 0 && ig_dtype_of(o->x) == dtype;
    const void *bits = fits ? ig_peek(o->x) : NULL;
    return bits ? bits : fits && ig_is_evaluated(o->x) ? ig_data(array_of(number)) : NULL;
}

bool element_set(PyObject *o, int64_t i, PyObject *value)
{
    int64_t offset;
    uint64_t bits[2];
    if (trace_is_pure() || !offset_of(o, i, &offset) || !may_change(o) || open_calls())
        return false;
    array_object *root = object(array_root(o));
    const ig_dtype dtype = ig_dtype_of(root->x);
    if (root->known || (object(o)->view && object(o)->view->part))
        return false;
    char *data = ig_poke(root->x);
    if (!data)
        return false;
    const void *from = bits;
    if (is_array(value))
        from = number_known(value, dtype);
    else if (PyLong_CheckExact(value) ||
             (PyFloat_CheckExact(value) && (dtype == IG_F32 || dtype == IG_F64)))
        from = number_bits(value, dtype, bits) > 0 ? bits : NULL;
    else
        return false;
    if (!from)
        return false;
    const size_t bytes = ig_dtype_bytes(dtype);
    memcpy(data + offset * (int64_t)bytes, from, bytes);
    return true;
}

/* ---- arithmetic ---- */

static bool has_number(PyObject *o) { return is_array(o) && object(o)->number_dtype; }

/* A Python number beside an element of the dtype, which it adopts; false if that is left to an op. */
static bool adopted(PyObject *o, ig_dtype dtype, uint64_t *bits)
{
    enum { EXACT = 53 };
    int overflow;
    if (PyFloat_CheckExact(o))
        return (dtype == IG_F32 || dtype == IG_F64) && number_bits(o, dtype, bits) > 0;
    if (!PyLong_CheckExact(o))
        return false;
    const long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow || i > 1LL << EXACT || i < -(1LL << EXACT))
        return false;
    if (dtype == IG_F32 || dtype == IG_F64) {
        const float narrow = (float)i;
        const double wide = (double)i;
        memcpy(bits, dtype == IG_F32 ? (const void *)&narrow : &wide, ig_dtype_bytes(dtype));
        return true;
    }
    ig_iinfo info;
    if (!ig_isdtype(dtype, "integral") || ig_iinfo_of(dtype, &info) != IG_OK || i < info.min ||
        (i > 0 && (uint64_t)i > info.max))
        return false;
    memcpy(bits, &i, sizeof i);
    return true;
}

static ig_dtype combined(PyObject *a, PyObject *b, const ig_op *op, uint64_t *out)
{
    uint64_t other[2];
    const ig_dtype dtype = has_number(a) ? object(a)->number_dtype : object(b)->number_dtype;
    const void *x = has_number(a) ? &object(a)->number : NULL,
               *y = has_number(b) ? &object(b)->number : NULL;
    if (trace_is_pure() || (x && y && object(b)->number_dtype != dtype) ||
        ((!x || !y) && !adopted(x ? b : a, dtype, other)))
        return IG_DTYPE_NONE;
    return ig_op_constant(op, dtype, x ? x : other, y ? y : other, out);
}

PyObject *number_binary(PyObject *a, PyObject *b, const ig_op *op)
{
    uint64_t bits;
    if (!op || !(has_number(a) || has_number(b)))
        return NULL;
    const ig_dtype dtype = combined(a, b, op, &bits);
    return dtype ? number_new(&bits, dtype) : NULL;
}

PyObject *few_binary(PyObject *a, PyObject *b, const ig_op *op)
{
    enum { MOST = 64, WIDEST = 8 };
    PyObject *o = is_array(a) ? a : b;
    uint64_t other[2], at[IG_MAX_NDIM] = {0};
    char made[MOST * WIDEST];
    region r;
    const array_object *root = object(o)->view ? object(o)->view->root : NULL;
    const ig_dtype dtype = root && root->eager ? array_dtype(o) : IG_DTYPE_NONE;
    const char *data = op && dtype && a != b && !object(o)->view->part && !keeps_history()
                           ? known_elements(root)
                           : NULL;
    if (!data || !adopted(o == a ? b : a, dtype, other))
        return NULL;
    array_region(o, &r);
    int64_t count = 1, from = r.offset;
    for (int axis = 0; axis < r.ndim; axis++)
        count *= r.shape[axis];
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    ig_dtype all = IG_DTYPE_NONE;
    if (count < 1 || count > MOST)
        return NULL;
    for (int64_t k = 0; k < count; k++) {
        const void *x = data + from * bytes;
        uint64_t bits;
        const ig_dtype one =
            ig_op_constant(op, dtype, o == a ? x : other, o == a ? other : x, &bits);
        if (!one || (all && one != all))
            return NULL;
        all = one;
        memcpy(made + k * (int64_t)ig_dtype_bytes(one), &bits, ig_dtype_bytes(one));
        for (int axis = r.ndim - 1; axis >= 0; axis--) { /* the next one in row-major order */
            from += r.stride[axis];
            if ((int64_t)++at[axis] < r.shape[axis])
                break;
            from -= r.stride[axis] * r.shape[axis];
            at[axis] = 0;
        }
    }
    return array_wrap(ig_scope_forget(ig_from_data(made, (ig_ints){r.shape, r.ndim}, all)));
}

bool number_in_place(PyObject *o, PyObject *b, const ig_op *op)
{
    uint64_t bits = 0;
    array_object *self = object(o);
    if (!op || !self->number_dtype || self->known || !may_change(o) || open_calls() ||
        combined(o, b, op, &bits) != self->number_dtype)
        return false;
    ig_release(self->x);
    self->x = NULL;
    self->number = bits;
    return true;
}

PyObject *number_object(PyObject *o)
{
    return object(o)->number_dtype ? element_object(&object(o)->number, object(o)->number_dtype)
                                   : NULL;
}
