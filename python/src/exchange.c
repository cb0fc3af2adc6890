/* Elements shared with other libraries without a copy: the buffer protocol and DLPack. Exports are read-only, because
 * arrays do not change; an exported array is held until its consumer releases it. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

/* ---- the buffer protocol ---- */

/* Memory of a view: its shape and strides, and the array that holds its elements. */
typedef struct shared {
    ig_array *x;
    Py_ssize_t shape[IG_MAX_NDIM], strides[IG_MAX_NDIM];
} shared;

int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    ig_array *x = array_of(self);
    const ig_dtype dtype = ig_dtype_of(x);
    const char *format = dtype_format(dtype);
    view->obj = NULL;
    if (flags & PyBUF_WRITABLE || !format) {
        PyErr_SetString(PyExc_BufferError,
                        format ? "the elements of an array cannot be written through a buffer"
                               : "Python has no format for bfloat16; use astype(float32)");
        return -1;
    }
    shared *s = malloc(sizeof *s);
    if (!s || !enter()) {
        free(s);
        PyErr_NoMemory();
        return -1;
    }
    s->x = ig_retain(x); /* another thread may assign to items of the Array meanwhile */
    const void *data = elements(x);
    leave();
    if (!data) {
        ig_release(x);
        free(s);
        return -1;
    }
    const int n = ig_ndim(x);
    Py_ssize_t stride = (Py_ssize_t)ig_dtype_bytes(dtype);
    for (int i = n - 1; i >= 0; i--) {
        s->shape[i] = (Py_ssize_t)ig_dim(x, i);
        s->strides[i] = stride;
        stride *= s->shape[i];
    }
    *view = (Py_buffer){.buf = (void *)data,
                        .obj = Py_NewRef(self),
                        .len = (Py_ssize_t)((size_t)ig_size(x) * ig_dtype_bytes(dtype)),
                        .itemsize = (Py_ssize_t)ig_dtype_bytes(dtype),
                        .readonly = 1,
                        .ndim = n,
                        .format = flags & PyBUF_FORMAT ? (char *)format : NULL,
                        .shape = flags & PyBUF_ND ? s->shape : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? s->strides : NULL,
                        .internal = s};
    return 0;
}

void array_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    shared *s = view->internal;
    ig_release(s->x);
    free(s);
}

/* ---- DLPack: the structs of its C interface, version 1 ---- */

typedef struct dl_device {
    int32_t type, id;
} dl_device;
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3 };
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };
enum { DL_READ_ONLY = 1, DL_COPIED = 2 };

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

static const char *const plain_name = "dltensor", *const versioned_name = "dltensor_versioned";

/* ---- export ---- */

typedef struct exported {
    union {
        dl_managed plain;
        dl_versioned versioned;
    };
    ig_array *x;
    int64_t shape[IG_MAX_NDIM], strides[IG_MAX_NDIM];
} exported;

static void exported_free(exported *e)
{
    ig_release(e->x);
    free(e);
}
static void delete_plain(dl_managed *m) { exported_free((exported *)(void *)m); }
static void delete_versioned(dl_versioned *m) { exported_free((exported *)(void *)m); }

/* A capsule that no one took: its name is unchanged. */
static void capsule_end(PyObject *capsule)
{
    for (int i = 0; i < 2; i++) {
        const char *name = i ? plain_name : versioned_name;
        if (PyCapsule_IsValid(capsule, name))
            exported_free(PyCapsule_GetPointer(capsule, name));
    }
}

static void describe(dl_tensor *t, exported *e, const void *data)
{
    ig_array *x = e->x;
    const ig_dtype d = ig_dtype_of(x);
    int64_t stride = 1;
    for (int i = ig_ndim(x) - 1; i >= 0; i--) {
        e->shape[i] = ig_dim(x, i);
        e->strides[i] = stride;
        stride *= e->shape[i];
    }
    *t = (dl_tensor){.data = (void *)data, .device = {DL_CPU, 0}, .ndim = ig_ndim(x), .lanes = 1};
    t->bits = (uint8_t)(8 * ig_dtype_bytes(d));
    t->code = d == IG_BOOL                        ? DL_BOOL
              : d == IG_BF16                      ? DL_BFLOAT
              : ig_isdtype(d, "signed integer")   ? DL_INT
              : ig_isdtype(d, "unsigned integer") ? DL_UINT
              : ig_isdtype(d, "complex floating") ? DL_COMPLEX
                                                  : DL_FLOAT;
    t->shape = e->shape;
    t->strides = e->strides;
}

/* The type and number of a device's name: "cpu", "cuda:0". */
static dl_device device_pair(const char *name)
{
    if (!name || strncmp(name, "cuda", 4) != 0)
        return (dl_device){DL_CPU, 0};
    const char *number = strchr(name, ':');
    return (dl_device){DL_CUDA, number ? (int32_t)atoi(number + 1) : 0};
}

PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)unused;
    const dl_device d = device_pair(ig_array_device(array_of(self)));
    return Py_BuildValue("(ii)", (int)d.type, (int)d.id);
}

/* Checks the arguments: whether the elements of a device can be given as asked. */
static bool may_export(ig_array *x, PyObject *stream, PyObject *device, PyObject *copy)
{
    const dl_device have = device_pair(ig_array_device(x));
    int type = have.type, id = have.id;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id))
        return false;
    if (type == DL_CPU && stream != Py_None && have.type == DL_CPU)
        return PyErr_Format(PyExc_BufferError, "the CPU has no streams; pass stream=None"), false;
    if (type != DL_CPU)
        return PyErr_Format(PyExc_BufferError,
                            "arrays of device %s are exported through the host; pass dl_device=(1, "
                            "0), or move the "
                            "array with to_device('cpu')",
                            ig_array_device(x)),
               false;
    if (have.type != DL_CPU && copy == Py_False)
        return PyErr_Format(PyExc_BufferError,
                            "a GPU's array cannot be exported to the host without a copy"),
               false;
    return true;
}

PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    ig_array *x = array_of(self);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy) ||
        !may_export(x, stream, device, copy))
        return NULL;
    long major = 0;
    if (PyTuple_Check(version) && PyTuple_Size(version) == 2)
        major = PyLong_AsLong(PyTuple_GetItem(version, 0));
    exported *e = calloc(1, sizeof *e);
    if (!e || PyErr_Occurred() || !enter()) {
        free(e);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    e->x = ig_retain(x);
    const void *data = elements(x);
    if (data && copy == Py_True) {
        e->x = ig_retain(ig_from_data(data, ig_shape(x), ig_dtype_of(x)));
        data = e->x ? elements(e->x) : NULL;
        ig_release(x);
    }
    leave();
    if (!data) {
        exported_free(e);
        return raise_error();
    }
    describe(major >= 1 ? &e->versioned.tensor : &e->plain.tensor, e, data);
    if (major >= 1) {
        e->versioned.major = 1;
        e->versioned.flags = copy == Py_True ? DL_COPIED : DL_READ_ONLY;
        e->versioned.deleter = delete_versioned;
    } else {
        e->plain.deleter = delete_plain;
    }
    PyObject *capsule = PyCapsule_New(e, major >= 1 ? versioned_name : plain_name, capsule_end);
    if (!capsule)
        exported_free(e);
    return capsule;
}

/* ---- import ---- */

static ig_dtype tensor_dtype(const dl_tensor *t)
{
    static const ig_dtype ints[] = {IG_I8, IG_I16, IG_I32, IG_I64},
                          uints[] = {IG_U8, IG_U16, IG_U32, IG_U64};
    const int row = t->bits == 8    ? 0
                    : t->bits == 16 ? 1
                    : t->bits == 32 ? 2
                    : t->bits == 64 ? 3
                                    : -1;
    if (t->lanes != 1)
        return IG_DTYPE_NONE;
    switch (t->code) {
    case DL_INT: return row >= 0 ? ints[row] : IG_DTYPE_NONE;
    case DL_UINT: return row >= 0 ? uints[row] : IG_DTYPE_NONE;
    case DL_BOOL: return t->bits == 8 ? IG_BOOL : IG_DTYPE_NONE;
    case DL_BFLOAT: return t->bits == 16 ? IG_BF16 : IG_DTYPE_NONE;
    case DL_FLOAT: return row == 1 ? IG_F16 : row == 2 ? IG_F32 : row == 3 ? IG_F64 : IG_DTYPE_NONE;
    case DL_COMPLEX: return t->bits == 64 ? IG_C64 : t->bits == 128 ? IG_C128 : IG_DTYPE_NONE;
    default: return IG_DTYPE_NONE;
    }
}

static void end_plain(void *m)
{
    if (((dl_managed *)m)->deleter)
        ((dl_managed *)m)->deleter(m);
}
static void end_versioned(void *m)
{
    if (((dl_versioned *)m)->deleter)
        ((dl_versioned *)m)->deleter(m);
}
static void drop_plain(void *m) { release_later(NULL, end_plain, m); }
static void drop_versioned(void *m) { release_later(NULL, end_versioned, m); }

/* Elements that the tensor's strides reach before and after its first one. */
static bool reach(const dl_tensor *t, int64_t *low, int64_t *high, bool *contiguous)
{
    int64_t expected = 1;
    *low = *high = 0;
    *contiguous = true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        const int64_t stride = t->strides ? t->strides[i] : expected, n = t->shape[i];
        if (n == 0)
            return false;
        *contiguous = *contiguous && (n == 1 || stride == expected);
        *(stride < 0 ? low : high) += stride * (n - 1);
        expected *= n;
    }
    return true;
}

/* A copy of a strided tensor. */
static ig_array *copy_tensor(const dl_tensor *t, ig_ints shape, ig_dtype dtype)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    int64_t at[IG_MAX_NDIM] = {0}, count = 1, from = 0;
    for (int i = 0; i < t->ndim; i++)
        count *= t->shape[i];
    char *copy = malloc((size_t)count * bytes);
    for (int64_t k = 0; copy && k < count; k++) {
        memcpy(copy + (size_t)k * bytes, (char *)t->data + t->byte_offset + from * (int64_t)bytes,
               bytes);
        for (int i = t->ndim - 1; i >= 0; i--) { /* the next element in row-major order */
            from += t->strides[i];
            if (++at[i] < t->shape[i])
                break;
            from -= t->strides[i] * at[i];
            at[i] = 0;
        }
    }
    ig_array *x = copy ? ig_from_data(copy, shape, dtype) : NULL;
    free(copy);
    return x;
}

/* An array over the tensor's memory; calls end with context when it is no longer used. */
static ig_array *over_tensor(const dl_tensor *t, ig_dtype dtype, void (*end)(void *context),
                             void *context)
{
    int64_t low, high, strides[IG_MAX_NDIM];
    bool contiguous;
    const ig_ints shape = {t->ndim ? t->shape : (int64_t[]){0}, t->ndim};
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    if (!reach(t, &low, &high, &contiguous)) {
        ig_array *x = ig_from_data("", shape, dtype);
        end(context);
        return x;
    }
    char *first = (char *)t->data + t->byte_offset + low * bytes;
    const int64_t count = high - low + 1;
    if (contiguous)
        return ig_from_memory(first, (size_t)(count * bytes), shape, dtype, end, context);
    if (ig_isdtype(dtype, "complex floating")) { /* they have no strided views */
        ig_array *x = copy_tensor(t, shape, dtype);
        end(context);
        return x;
    }
    for (int i = 0; i < t->ndim; i++)
        strides[i] = t->strides[i];
    /* The owner frees t when it is released, which may be at once. */
    int64_t lengths[IG_MAX_NDIM];
    memcpy(lengths, t->shape, (size_t)t->ndim * sizeof *lengths);
    const int ndim = t->ndim;
    ig_array *flat =
        ig_from_memory(first, (size_t)(count * bytes), (ig_ints){&count, 1}, dtype, end, context);
    return ig_as_strided(flat, (ig_ints){lengths, ndim}, (ig_ints){strides, ndim}, -low);
}

static ig_array *from_capsule_object(PyObject *capsule)
{
    const bool versioned = PyCapsule_IsValid(capsule, versioned_name);
    if (!versioned && !PyCapsule_IsValid(capsule, plain_name)) {
        PyErr_SetString(PyExc_BufferError,
                        "__dlpack__ returned an object that is not an unused DLPack capsule");
        return NULL;
    }
    void *m = PyCapsule_GetPointer(capsule, versioned ? versioned_name : plain_name);
    const dl_tensor *t = versioned ? &((dl_versioned *)m)->tensor : &((dl_managed *)m)->tensor;
    if (versioned && ((dl_versioned *)m)->major != 1) {
        PyErr_SetString(PyExc_BufferError, "this version of DLPack is not known");
        return NULL;
    }
    const ig_dtype dtype = tensor_dtype(t);
    if (!dtype || t->ndim > IG_MAX_NDIM ||
        (t->device.type != DL_CPU && t->device.type != DL_CUDA_HOST)) {
        PyErr_Format(PyExc_BufferError,
                     "a DLPack tensor of type %d with %d bits, %d dimensions, on device type %d "
                     "cannot be an array here",
                     t->code, t->bits, (int)t->ndim, (int)t->device.type);
        return NULL;
    }
    PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
    ig_array *x = over_tensor(t, dtype, versioned ? drop_versioned : drop_plain, m);
    if (!x)
        raise_error();
    return x;
}

/* The keywords of __dlpack__. The usual ones are made once. */
static PyObject *capsule_keywords(bool on_gpu, PyObject *copy)
{
    static PyObject *usual;
    if (on_gpu)
        return Py_BuildValue("{s(ii)sOs(ii)}", "max_version", 1, 0, "copy", copy, "dl_device",
                             DL_CPU, 0);
    if (copy != Py_None)
        return Py_BuildValue("{s(ii)sO}", "max_version", 1, 0, "copy", copy);
    if (!usual)
        usual = Py_BuildValue("{s(ii)}", "max_version", 1, 0);
    return Py_XNewRef(usual);
}

/* Calls __dlpack__, with the arguments of version 1 if it takes them. */
static PyObject *ask_capsule(PyObject *o, bool on_gpu, PyObject *copy)
{
    PyObject *method = PyObject_GetAttrString(o, "__dlpack__"), *none = PyTuple_New(0);
    PyObject *names = capsule_keywords(on_gpu, copy);
    PyObject *capsule = method && none && names ? PyObject_Call(method, none, names) : NULL;
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError) && !on_gpu) {
        PyErr_Clear();
        capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(names);
    return capsule;
}

ig_array *from_capsule(PyObject *o, PyObject *device, PyObject *copy)
{
    int type = DL_CPU, id = 0;
    char there[32];
    if (device != Py_None && !PyUnicode_Check(device)) {
        PyErr_Format(PyExc_TypeError, "a device is a string, not %R", Py_TYPE(device));
        return NULL;
    }
    PyObject *pair = PyObject_CallMethod(o, "__dlpack_device__", NULL);
    if (!pair || !PyArg_ParseTuple(pair, "ii", &type, &id)) {
        Py_XDECREF(pair);
        return NULL;
    }
    Py_DECREF(pair);
    const bool on_gpu = type != DL_CPU && type != DL_CUDA_HOST;
    if (on_gpu && copy == Py_False) {
        PyErr_SetString(PyExc_BufferError,
                        "a GPU's elements are copied through the host; pass copy=None");
        return NULL;
    }
    PyObject *capsule = ask_capsule(o, on_gpu, on_gpu ? Py_None : copy);
    ig_array *x = capsule ? from_capsule_object(capsule) : NULL;
    Py_XDECREF(capsule);
    if (!x)
        return NULL;
    const char *to = PyUnicode_Check(device) ? PyUnicode_AsUTF8AndSize(device, NULL) : NULL;
    if (!to && on_gpu && type == DL_CUDA) {
        PyOS_snprintf(there, sizeof there, "cuda:%d", id);
        to = there;
    }
    if (to && !(x = placed(x, to)))
        raise_error();
    return x;
}

static PyObject *fn_from_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    static char *names[] = {"", "device", "copy", NULL};
    PyObject *o, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:from_dlpack", names, &o, &device, &copy))
        return NULL;
    if (!PyObject_HasAttrString(o, "__dlpack__"))
        return PyErr_Format(PyExc_TypeError, "from_dlpack: %R has no __dlpack__", Py_TYPE(o));
    if (!enter())
        return NULL;
    return leave_with(from_capsule(o, device, copy));
}

PyMethodDef exchange_functions[] = {
    {"from_dlpack", (PyCFunction)(void (*)(void))fn_from_dlpack, METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\nAn array over the elements of another "
     "library's array, without "
     "a copy where possible. The elements must not be changed while the array is used."},
    {NULL, NULL, 0, NULL},
};
