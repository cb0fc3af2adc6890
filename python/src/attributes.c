/* Attributes of Array: what it is, the views that are attributes, and what NumPy tells about memory. */
#include "common.h"

/* ---- what an array is ---- */

static PyObject *derived(PyObject *self, ig_array *(*f)(ig_array *x))
{
    return enter() ? leave_with(f(array_of(self))) : NULL;
}

static int64_t elements_of(PyObject *self)
{
    const ig_ints shape = array_shape(self);
    int64_t size = 1;
    for (int a = 0; a < shape.n; a++)
        size *= shape.v[a];
    return size;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    return (void)unused, ints_tuple(array_shape(self));
}
static PyObject *get_ndim(PyObject *self, void *unused)
{
    return (void)unused, PyLong_FromLong(array_shape(self).n);
}
/* x.shape = shape. Views of x stay as they are: their regions are places in the row-major order of x. */
static int set_shape(PyObject *self, PyObject *shape, void *unused)
{
    (void)unused;
    int64_t v[IG_MAX_NDIM];
    const int n = shape ? to_ints(shape, v, IG_MAX_NDIM) : -1;
    if (n < 0 || array_root(self) != self) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_AttributeError, "the shape of this view cannot be set; use "
                                                  "y = x.reshape(shape)");
        return -1;
    }
    if (((array_object *)self)->exposed) {
        PyErr_SetString(PyExc_AttributeError, "the shape cannot be set while another library, such "
                                              "as NumPy, uses the memory of this array; use y = "
                                              "x.reshape(shape)");
        return -1;
    }
    if (!check_writable(self) || !enter())
        return -1;
    ig_array *y = ig_retain(ig_reshape(array_of(self), (ig_ints){v, n}));
    leave();
    if (!y)
        return raise_error(), -1;
    return array_replace(self, y) ? 0 : -1;
}

static PyObject *get_size(PyObject *self, void *unused)
{
    return (void)unused, PyLong_FromLongLong(elements_of(self));
}
static PyObject *get_dtype(PyObject *self, void *unused)
{
    return (void)unused, dtype_object(array_dtype(self));
}
static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(ig_dtype_bytes(array_dtype(self)));
}
static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t((size_t)elements_of(self) * ig_dtype_bytes(array_dtype(self)));
}
/* The name of the device. _tensor.py makes an object of it that has the device's properties. */
static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    const char *device = ig_array_device(((array_object *)array_root(self))->x);
    return PyUnicode_FromString(device ? device : ig_device());
}
static PyObject *get_evaluated(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(ig_is_evaluated(array_of(self)));
}

/* All axes reversed. */
static ig_array *reversed(ig_array *x)
{
    int64_t axes[IG_MAX_NDIM];
    const int n = ig_ndim(x);
    for (int i = 0; i < n; i++)
        axes[i] = n - 1 - i;
    return ig_permute_dims(x, (ig_ints){axes, n});
}

static PyObject *get_T(PyObject *self, void *unused)
{
    (void)unused;
    region r;
    int axes[IG_MAX_NDIM] = {0};
    array_region(self, &r);
    for (int i = 0; i < r.ndim; i++)
        axes[i] = r.ndim - 1 - i;
    region_permute(&r, axes);
    return view_made(self, &r, reversed);
}

static PyObject *get_mT(PyObject *self, void *unused)
{
    (void)unused;
    region r;
    int axes[IG_MAX_NDIM] = {0};
    array_region(self, &r);
    if (r.ndim < 2)
        return derived(self, ig_matrix_transpose); /* raises */
    for (int i = 0; i < r.ndim; i++)
        axes[i] = i < r.ndim - 2 ? i : 2 * r.ndim - 3 - i;
    region_permute(&r, axes);
    return view_made(self, &r, ig_matrix_transpose);
}

static PyObject *get_real(PyObject *self, void *unused)
{
    (void)unused;
    region r;
    array_region(self, &r);
    if (ig_isdtype(array_dtype(self), "complex floating"))
        r.part = PART_REAL;
    return view_made(self, &r, ig_real);
}

/* The imaginary part of a real array is no part of it, so it cannot be assigned to. */
static PyObject *get_imag(PyObject *self, void *unused)
{
    (void)unused;
    region r;
    array_region(self, &r);
    r.part = PART_IMAG;
    if (ig_isdtype(array_dtype(self), "complex floating"))
        return view_made(self, &r, ig_imag);
    PyObject *zeros = derived(self, ig_imag);
    if (zeros)
        ((array_object *)zeros)->is_readonly = true;
    return zeros;
}

/* x.real = value */
static int assign(PyObject *view, PyObject *value)
{
    region r;
    if (!view || !value) {
        if (view)
            PyErr_SetString(PyExc_AttributeError, "a part of an array cannot be deleted");
        Py_XDECREF(view);
        return -1;
    }
    array_region(view, &r);
    const bool done = array_store(view, &r, value);
    Py_DECREF(view);
    return done ? 0 : -1;
}

static int set_real(PyObject *self, PyObject *value, void *unused)
{
    return assign(get_real(self, unused), value);
}
static int set_imag(PyObject *self, PyObject *value, void *unused)
{
    return assign(get_imag(self, unused), value);
}

/* ---- memory, as NumPy describes it ---- */

static PyObject *get_base(PyObject *o, void *unused)
{
    (void)unused;
    return Py_NewRef(array_root(o) != o ? array_root(o) : Py_None);
}

static PyObject *get_strides(PyObject *o, void *unused)
{
    (void)unused;
    region r;
    array_region(o, &r);
    const size_t bytes = ig_dtype_bytes(array_dtype(array_root(o)));
    for (int a = 0; a < r.ndim; a++)
        r.stride[a] *= (int64_t)bytes;
    return ints_tuple((ig_ints){r.stride, r.ndim});
}

static int64_t size_of(const region *r)
{
    int64_t n = 1;
    for (int a = 0; a < r->ndim; a++)
        n *= r->shape[a];
    return n;
}

/* Whether the elements follow each other, the last axis fastest, or the first one. */
static bool is_contiguous(const region *r, bool first)
{
    int64_t next = 1;
    if (r->part != PART_NONE)
        return size_of(r) <= 1;
    for (int i = 0; i < r->ndim; i++) {
        const int a = first ? i : r->ndim - 1 - i;
        if (r->shape[a] != 1 && r->stride[a] != next && size_of(r))
            return false;
        next *= r->shape[a];
    }
    return true;
}

/* _layout(x): whether x is contiguous in C's order, in Fortran's, has elements of its own, and may be written. */
static PyObject *fn_layout(PyObject *self, PyObject *o)
{
    (void)self;
    region r;
    if (!is_array(o))
        return PyErr_Format(PyExc_TypeError, "expected an array, not %R", Py_TYPE(o));
    array_region(o, &r);
    return Py_BuildValue("(NNNN)", PyBool_FromLong(is_contiguous(&r, false)),
                         PyBool_FromLong(is_contiguous(&r, true)),
                         PyBool_FromLong(array_root(o) == o), PyBool_FromLong(!r.is_readonly));
}

static PyObject *fn_set_writeable(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *o;
    int writeable;
    if (!PyArg_ParseTuple(args, "O!p:_set_writeable", array_type, &o, &writeable))
        return NULL;
    if (writeable && ((array_object *)array_root(o))->is_readonly && array_root(o) != o)
        return PyErr_Format(PyExc_ValueError,
                            "the array that this is a view of is read-only; use a copy()");
    ((array_object *)o)->is_readonly = !writeable;
    Py_RETURN_NONE;
}

/* _place(x): (offset of the first element in the root, strides of elements, 0 or 1 for a real or imaginary part, else None). */
static PyObject *fn_place(PyObject *self, PyObject *o)
{
    (void)self;
    region r;
    if (!is_array(o))
        return PyErr_Format(PyExc_TypeError, "%R is no Array", Py_TYPE(o));
    array_region(o, &r);
    PyObject *part =
        r.part == PART_NONE ? Py_NewRef(Py_None) : PyLong_FromLong(r.part == PART_IMAG);
    return Py_BuildValue("(LNN)", (long long)r.offset, ints_tuple((ig_ints){r.stride, r.ndim}),
                         part);
}

PyGetSetDef array_attributes[] = {
    {"shape", get_shape, set_shape, "The lengths of the axes. Can be set.", NULL},
    {"ndim", get_ndim, NULL, "The number of axes.", NULL},
    {"size", get_size, NULL, "The number of elements.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"device", get_device, NULL, "The name of the device that has the elements.", NULL},
    {"is_evaluated", get_evaluated, NULL, "Whether the elements have been computed.", NULL},
    {"T", get_T, NULL, "The axes reversed, as a view.", NULL},
    {"mT", get_mT, NULL, "The last two axes swapped, as a view.", NULL},
    {"real", get_real, set_real, "The real part, as a view.", NULL},
    {"imag", get_imag, set_imag, "The imaginary part, as a view.", NULL},
    {"at", array_at, NULL,
     "x.at[i].add(y) is a copy of x with y added at i; also set, subtract, multiply, divide, "
     "power, min, max.",
     NULL},
    {"base", get_base, NULL, "The array that this is a view of, or None.", NULL},
    {"strides", get_strides, NULL,
     "Bytes between elements along each axis, in the row-major order of the array that has them.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyMethodDef view_functions[] = {
    {"_layout", fn_layout, METH_O, NULL},
    {"_set_writeable", fn_set_writeable, METH_VARARGS, NULL},
    {"_place", fn_place, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
