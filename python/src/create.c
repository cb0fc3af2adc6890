/* Functions that make arrays from Python objects, and the module's other functions without a row in the op table. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

/* The array of any object; without a copy if borrow. */
static ig_array *convert(PyObject *o, ig_dtype dtype, bool borrow)
{
    if (!borrow)
        return make_array(o, dtype);
    ig_array *x = is_array(o) ? array_of(o) : from_buffer(o, true);
    if (!x && !PyErr_Occurred() && PyObject_HasAttrString(o, "__dlpack__"))
        x = from_capsule(o, Py_None, Py_False);
    if (!x && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%R cannot be an array without a copy; pass copy=None",
                     Py_TYPE(o));
    if (x && dtype && ig_dtype_of(x) != dtype) {
        PyErr_SetString(PyExc_ValueError, "another dtype needs a copy; pass copy=None");
        return NULL;
    }
    return x;
}

static PyObject *fn_asarray(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    static char *names[] = {"", "dtype", "device", "copy", NULL};
    PyObject *o, *dtype = Py_None, *copy = Py_None;
    const char *device = NULL;
    ig_dtype d;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OzO:asarray", names, &o, &dtype, &device,
                                     &copy) ||
        !to_dtype(dtype, &d))
        return NULL;
    if (is_array(o) && (!d || d == ig_dtype_of(array_of(o))) && !device)
        return copy == Py_True ? array_wrap(ig_retain(array_of(o))) : Py_NewRef(o);
    if (!enter())
        return NULL;
    ig_array *x = convert(o, d, copy == Py_False);
    if (x && device)
        x = placed(x, device);
    return leave_with(x);
}

/* The inverse of pickling. */
static PyObject *fn_from_bytes(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *bytes, *shape, *dtype;
    ig_dtype d;
    int64_t v[IG_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "OOO:_from_bytes", &bytes, &shape, &dtype) || !to_dtype(dtype, &d))
        return NULL;
    const int ndim = to_ints(shape, v, IG_MAX_NDIM);
    if (ndim < 0 || !enter())
        return NULL;
    return leave_with(from_raw(bytes, (ig_ints){v, ndim}, d));
}

static PyObject *fn_broadcast_shapes(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    int64_t v[IG_MAX_NDIM], shape[IG_MAX_NDIM];
    int ndim = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        const int m = to_ints(args[k], v, IG_MAX_NDIM);
        if (m < 0)
            return NULL;
        if (m > ndim) {
            memmove(shape + (m - ndim), shape, (size_t)ndim * sizeof *shape);
            for (int i = 0; i < m - ndim; i++)
                shape[i] = 1;
            ndim = m;
        }
        for (int i = 0; i < m; i++) {
            int64_t *to = &shape[ndim - m + i];
            if (*to != v[i] && *to != 1 && v[i] != 1)
                return PyErr_Format(PyExc_ValueError,
                                    "the shapes do not broadcast: %lld and %lld along axis %d",
                                    (long long)*to, (long long)v[i], i - m);
            *to = *to == 1 ? v[i] : *to;
        }
    }
    return ints_tuple((ig_ints){shape, ndim});
}

static PyObject *fn_quantize(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"x", "format", "block", NULL};
    PyObject *o, *block = Py_None;
    const char *format;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|O:quantize", names, &o, &format, &block))
        return NULL;
    const int64_t elements = block == Py_None ? 0 : PyLong_AsLongLong(block);
    if (PyErr_Occurred() || !enter())
        return NULL;
    ig_array *x = to_array(o);
    return leave_with(x ? ig_quantize(x, format, elements) : NULL);
}

static PyObject *fn_packed_bytes(PyObject *self, PyObject *o)
{
    (void)self;
    if (!enter())
        return NULL;
    ig_array *x = to_array(o);
    return leave_with(x ? ig_packed_bytes(x) : NULL);
}

/* What `read` makes of the file at path. */
static PyObject *array_of_file(ig_array *(*read)(const char *path), PyObject *path)
{
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    if (!enter()) {
        Py_DECREF(bytes);
        return NULL;
    }
    const char *name = PyBytes_AsString(bytes);
    ig_array *x;
    Py_BEGIN_ALLOW_THREADS x = read(name);
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    return leave_with(x);
}

static PyObject *fn_load(PyObject *self, PyObject *path)
{
    (void)self;
    return array_of_file(ig_load, path);
}

static PyObject *fn_open(PyObject *self, PyObject *path)
{
    (void)self;
    return array_of_file(ig_open, path);
}

/* A tuple of lengths, or None. */
static bool lengths_of(PyObject *o, const char *name, int64_t *list, ig_ints *out)
{
    if (o == Py_None)
        return true;
    const Py_ssize_t n = PyTuple_Size(o);
    if (n > IG_MAX_NDIM)
        PyErr_Format(PyExc_ValueError, "save: %s has %zd lengths; arrays have at most %d axes",
                     name, n, IG_MAX_NDIM);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
        list[i] = PyLong_AsLongLong(PyTuple_GetItem(o, i));
    *out = (ig_ints){list, (int)n};
    return !PyErr_Occurred();
}

/* _save_store(path, x, chunks, shards, codecs, fill_value, attributes, dimension_names, overwrite): _files.py has brought the
 * options into these forms. */
static PyObject *fn_save_store(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *path, *o, *chunks, *shards, *fill;
    int64_t chunk[IG_MAX_NDIM], shard[IG_MAX_NDIM];
    double value = 0;
    int overwrite = 1, status = -1;
    ig_store_options set = {.size = sizeof set};
    if (!PyArg_ParseTuple(args, "O&OOOzOzzp:_save_store", PyUnicode_FSConverter, &path, &o, &chunks,
                          &shards, &set.codecs, &fill, &set.attributes, &set.dimensions,
                          &overwrite))
        return NULL;
    set.existing = overwrite ? IG_STORE_REPLACE : IG_STORE_REFUSE;
    if (fill != Py_None) {
        value = PyFloat_AsDouble(fill);
        set.fill = &value;
    }
    if (!PyErr_Occurred() && lengths_of(chunks, "chunks", chunk, &set.chunk) &&
        lengths_of(shards, "shards", shard, &set.shard) && enter()) {
        ig_array *x = to_array(o);
        status = x ? save_store(PyBytes_AsString(path), x, &set) : -1;
        leave();
    }
    Py_DECREF(path);
    if (status == 0)
        Py_RETURN_NONE;
    return PyErr_Occurred() ? NULL : raise_error();
}

static PyObject *fn_save(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *path, *o;
    if (!PyArg_ParseTuple(args, "O&O:save", PyUnicode_FSConverter, &path, &o))
        return NULL;
    ig_status status = IG_ERR_ARGUMENT;
    if (enter()) {
        ig_array *x = to_array(o);
        if (x && evaluate(&x, 1) == 0)
            status = ig_save(PyBytes_AsString(path), x);
        leave();
    }
    Py_DECREF(path);
    if (status != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

/* A dictionary of the arrays of a .safetensors or .npz file. */
static PyObject *fn_load_all(PyObject *self, PyObject *path)
{
    (void)self;
    PyObject *bytes, *all = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    const char *from = PyBytes_AsString(bytes);
    ig_tensors *t;
    Py_BEGIN_ALLOW_THREADS t = ig_tensors_load(from);
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    if (t)
        all = PyDict_New();
    for (int i = 0; all && i < ig_tensors_count(t); i++) {
        const char *name = ig_tensors_name(t, i);
        PyObject *x = array_wrap(ig_retain(ig_tensors_get(t, name)));
        if (!x || PyDict_SetItemString(all, name, x) < 0)
            Py_CLEAR(all);
        Py_XDECREF(x);
    }
    ig_tensors_free(t);
    return all ? all : raise_error();
}

static PyObject *fn_save_all(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *path, *all, *name, *o;
    int npz = 0;
    if (!PyArg_ParseTuple(args, "O&O!p:_save_all", PyUnicode_FSConverter, &path, &PyDict_Type, &all,
                          &npz))
        return NULL;
    if (!enter()) {
        Py_DECREF(path);
        return NULL;
    }
    ig_tensors *t = ig_tensors_new();
    ig_status status = t ? IG_OK : IG_ERR_MEMORY;
    for (Py_ssize_t at = 0; status == IG_OK && PyDict_Next(all, &at, &name, &o);) {
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        ig_array *x = text ? to_array(o) : NULL;
        status = x ? ig_tensors_put(t, text, x) : IG_ERR_ARGUMENT;
    }
    if (status == IG_OK) { /* evaluates; the tensors hold the arrays */
        const char *to = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        status = npz ? ig_tensors_save_npz(t, to) : ig_tensors_save(t, to);
        graph_unlock();
        Py_END_ALLOW_THREADS
    }
    ig_tensors_free(t);
    leave();
    Py_DECREF(path);
    if (status != IG_OK)
        return raise_stopped();
    Py_RETURN_NONE;
}

PyMethodDef create_functions[] = {
    {"asarray", (PyCFunction)(void (*)(void))fn_asarray, METH_VARARGS | METH_KEYWORDS,
     "asarray(obj, /, dtype=None, device=None, copy=None)\n--\n\nAn array of numbers, nested "
     "sequences, or of another "
     "library's array. Floats become float32 unless dtype says otherwise."},
    {"_from_bytes", fn_from_bytes, METH_VARARGS, NULL},
    {"broadcast_shapes", (PyCFunction)(void (*)(void))fn_broadcast_shapes, METH_FASTCALL,
     "broadcast_shapes(*shapes)\n--\n\nThe shape that arrays of these shapes have together."},
    {"quantize", (PyCFunction)(void (*)(void))fn_quantize, METH_VARARGS | METH_KEYWORDS,
     "quantize(x, format, block=None)\n--\n\nx in blocks of a storage format: 'q4_0', 'q8_0', "
     "'f8_e4m3' and others. Products and elementwise ops unpack it when they read it."},
    {"packed_bytes", fn_packed_bytes, METH_O,
     "packed_bytes(x, /)\n--\n\nThe bytes of an array that quantize made."},
    {"_load", fn_load, METH_O, NULL},
    {"_open", fn_open, METH_O, NULL},
    {"_save_store", fn_save_store, METH_VARARGS, NULL},
    {"_save", fn_save, METH_VARARGS, NULL},
    {"_load_all", fn_load_all, METH_O, NULL},
    {"_save_all", fn_save_all, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
