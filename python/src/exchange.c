/* Elements shared with other libraries without a copy: the buffer protocol and DLPack. Buffers share the memory of Arrays on the CPU,
 * which both sides may change (exposed.c). Other exports are read-only; an exported array is held until its consumer releases it. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

/* ---- the buffer protocol ---- */

/* Memory of a view: its shape and strides, and the array that holds its elements, or the root whose memory it is. */
typedef struct shared {
    ig_array *x;
    array_object *root; /* the owner of the view keeps it */
    Py_ssize_t shape[IG_MAX_NDIM], strides[IG_MAX_NDIM];
} shared;

static bool only_values; /* fn_values asks for elements that do not change */

/* The elements of a region of the memory of o's root, which both sides may change. */
static void *shared_memory(PyObject *o, shared *s)
{
    region r;
    char *data = exposed_open(o);
    if (!data)
        return NULL;
    s->root = (array_object *)array_root(o);
    array_region(o, &r);
    const Py_ssize_t bytes = (Py_ssize_t)ig_dtype_bytes(ig_dtype_of(s->root->x));
    for (int i = 0; i < r.ndim; i++) {
        s->shape[i] = (Py_ssize_t)r.shape[i];
        s->strides[i] = (Py_ssize_t)r.stride[i] * bytes;
    }
    return data + r.offset * bytes + (r.part == PART_IMAG ? bytes / 2 : 0);
}

/* The elements of x, which never change. */
static const void *shared_value(ig_array *x, shared *s)
{
    if (!x || !enter())
        return raise_error();
    s->x = ig_retain(x); /* another thread may assign to items of the Array meanwhile */
    const void *data = elements(x);
    leave();
    Py_ssize_t stride = (Py_ssize_t)ig_dtype_bytes(ig_dtype_of(x));
    for (int i = ig_ndim(x) - 1; i >= 0; i--) {
        s->shape[i] = (Py_ssize_t)ig_dim(x, i);
        s->strides[i] = stride;
        stride *= s->shape[i];
    }
    return data;
}

static void shared_free(shared *s)
{
    ig_release(s->x);
    if (s->root)
        exposed_close(s->root);
    free(s);
}

int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    const ig_dtype dtype = array_dtype(self);
    const char *format = dtype_format(dtype);
    const Py_ssize_t bytes = (Py_ssize_t)ig_dtype_bytes(dtype);
    const bool writes = flags & PyBUF_WRITABLE, strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool shares = !only_values && (writes || (flags & PyBUF_FULL_RO) == PyBUF_FULL_RO);
    only_values = false;
    view->obj = NULL;
    if (!format) {
        PyErr_SetString(PyExc_BufferError,
                        "Python has no format for bfloat16; use astype(float32)");
        return -1;
    }
    shared *s = calloc(1, sizeof *s);
    if (!s) {
        PyErr_NoMemory();
        return -1;
    }
    const void *data = shares ? shared_memory(self, s) : NULL;
    const bool can_write = data;
    if (!data && !PyErr_Occurred() && !writes)
        data = shared_value(array_of(self), s);
    const ig_ints shape = array_shape(self);
    Py_ssize_t n = 1;
    bool in_order = true;
    for (int i = shape.n - 1; i >= 0; i--) {
        in_order = in_order && (s->shape[i] == 1 || s->strides[i] == n * bytes);
        n *= (Py_ssize_t)shape.v[i];
    }
    if (!data || (!in_order && !strided && n)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError,
                            data ? "the elements of this view do not follow each other in memory; "
                                   "use a copy()"
                                 : "the elements of this array cannot be written through a buffer; "
                                   "use a copy() on the CPU");
        shared_free(s);
        return -1;
    }
    *view = (Py_buffer){.buf = (void *)data,
                        .obj = Py_NewRef(self),
                        .len = n * bytes,
                        .itemsize = bytes,
                        .readonly = !can_write,
                        .ndim = shape.n,
                        .format = flags & PyBUF_FORMAT ? (char *)format : NULL,
                        .shape = flags & PyBUF_ND ? s->shape : NULL,
                        .strides = strided ? s->strides : NULL,
                        .internal = s};
    return 0;
}

void array_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    shared_free(view->internal);
}

/* _values(x): a memoryview of the elements, which cannot be written to and do not change with x. */
static PyObject *fn_values(PyObject *self, PyObject *o)
{
    (void)self;
    only_values = is_array(o);
    return PyMemoryView_FromObject(o);
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
    bool on_gpu;
    void *stream; /* of the consumer, if on_gpu */
    int64_t shape[IG_MAX_NDIM], strides[IG_MAX_NDIM];
} exported;

/* The consumer may have work in its stream that reads the elements. Only the default stream is sure to exist still;
 * otherwise the host waits for all streams. */
static void exported_free(exported *e)
{
    const bool waits = ig_failed();
    if (e->on_gpu && ig_device_wait(ig_array_device(e->x), e->stream) != IG_OK && !waits)
        ig_error(NULL);
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

/* The type and number of a device: NVIDIA GPUs have CUDA's number; elements of all other devices are given in host
 * memory. */
static dl_device device_pair(const char *name)
{
    const int number = name && strncmp(name, "cuda", 4) == 0 ? ig_device_number(name) : -1;
    return number < 0 ? (dl_device){DL_CPU, 0} : (dl_device){DL_CUDA, number};
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
    if (e->on_gpu)
        t->device = device_pair(ig_array_device(x));
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

PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)unused;
    const dl_device d = device_pair(ig_array_device(array_of(self)));
    return Py_BuildValue("(ii)", (int)d.type, (int)d.id);
}

/* What __dlpack__ was asked for. */
typedef struct request {
    bool versioned, copy, on_gpu;
    bool orders;  /* on_gpu: the consumer's stream must wait for the elements */
    void *stream; /* on_gpu: of the consumer; NULL is the default stream */
} request;

/* None and 1 are the default stream, 2 is the default stream of each thread, and -1 asks for no order. */
static bool read_stream(PyObject *stream, request *r)
{
    r->orders = true;
    if (stream == Py_None)
        return true;
    const long long value = PyLong_AsLongLong(stream);
    if (value == -1 && PyErr_Occurred())
        return false;
    if (value < -1 || value == 0) {
        PyErr_Format(PyExc_BufferError, "stream %lld is not a stream; the default stream is 1",
                     value);
        return false;
    }
    r->orders = value != -1;
    r->stream = value == 1 ? NULL : (void *)(intptr_t)value; /* -1: any stream */
    return true;
}

/* Checks the arguments: whether the elements of a device can be given as asked. */
static bool read_request(ig_array *x, PyObject *stream, PyObject *version, PyObject *device,
                         PyObject *copy, request *r)
{
    const dl_device have = device_pair(ig_array_device(x));
    int type = have.type, id = have.id;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id))
        return false;
    if (PyTuple_Check(version) && PyTuple_Size(version) == 2)
        r->versioned = PyLong_AsLong(PyTuple_GetItem(version, 0)) >= 1;
    if (PyErr_Occurred())
        return false;
    r->copy = copy == Py_True;
    r->on_gpu = type == DL_CUDA;
    if (type != DL_CPU && (type != have.type || id != have.id))
        return PyErr_Format(PyExc_BufferError,
                            "the array is on device %s; move it with to_device, or pass "
                            "dl_device=(1, 0) for a copy in host memory",
                            ig_array_device(x)),
               false;
    if (r->on_gpu)
        return read_stream(stream, r);
    if (stream != Py_None && have.type == DL_CPU)
        return PyErr_Format(PyExc_BufferError, "the CPU has no streams; pass stream=None"), false;
    if (have.type != DL_CPU && copy == Py_False)
        return PyErr_Format(PyExc_BufferError,
                            "a GPU's array cannot be exported to the host without a copy"),
               false;
    return true;
}

/* The address of the elements of x, and an order of the consumer's stream. Without the GIL, because evaluating may
 * take long. "" is an address for no elements. */
static const void *gpu_elements(ig_array *x, const request *r)
{
    const void *data = "";
    ig_status status;
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    status = ig_eval(&x, 1);
    if (status == IG_OK && ig_size(x))
        data = ig_device_data(x);
    if (status == IG_OK && data && r->orders)
        status = ig_stream_wait(r->stream, ig_array_device(x));
    graph_unlock();
    Py_END_ALLOW_THREADS if (status != IG_OK || !data) return raise_stopped();
    return data;
}

/* Fills in e->x, and returns the address of its elements. NULL with an exception on failure. A single element may be a
 * number, which has no memory on a GPU. */
static const void *take(exported *e, ig_array *x, const request *r)
{
    if (r->copy || (r->on_gpu && ig_size(x) == 1))
        x = copied(x);
    e->x = ig_retain(x);
    return !x ? NULL : r->on_gpu ? gpu_elements(x, r) : elements(x);
}

PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    ig_array *x = array_of(self);
    request r = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy) ||
        !read_request(x, stream, version, device, copy, &r))
        return NULL;
    exported *e = calloc(1, sizeof *e);
    if (!e || !enter()) {
        free(e);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    const void *data = take(e, x, &r);
    leave();
    if (!data) {
        exported_free(e);
        return NULL;
    }
    e->on_gpu = r.on_gpu;
    e->stream = r.stream ? IG_ALL_STREAMS : NULL;
    describe(r.versioned ? &e->versioned.tensor : &e->plain.tensor, e, data);
    if (r.versioned) {
        e->versioned.major = 1;
        e->versioned.flags = r.copy ? DL_COPIED : DL_READ_ONLY;
        e->versioned.deleter = delete_versioned;
    } else {
        e->plain.deleter = delete_plain;
    }
    PyObject *capsule = PyCapsule_New(e, r.versioned ? versioned_name : plain_name, capsule_end);
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

/* The GPU with this number as a device here; false if there is none. */
static bool find_gpu(int id, char name[static 32])
{
    for (int i = 0; i <= id; i++) { /* GPUs that cannot be used here have no name */
        PyOS_snprintf(name, 32, "cuda:%d", id - i);
        if (ig_device_number(name) == id)
            return true;
    }
    return false;
}

static ig_array *over_any(const dl_tensor *t, ig_dtype dtype, const char *gpu,
                          void (*end)(void *context), void *context)
{
    if (!gpu)
        return over_tensor(t, dtype, end, context);
    return ig_from_device_memory(gpu, (char *)t->data + t->byte_offset,
                                 (ig_ints){t->ndim ? t->shape : (int64_t[]){0}, t->ndim},
                                 (ig_ints){t->strides, t->strides ? t->ndim : 0}, dtype, end,
                                 context);
}

/* An array over the elements of a capsule, in host memory or on this GPU. */
static ig_array *from_capsule_object(PyObject *capsule, const char *gpu)
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
    const bool on_host = t->device.type == DL_CPU || t->device.type == DL_CUDA_HOST;
    const bool is_expected =
        gpu ? t->device.type == DL_CUDA && t->device.id == ig_device_number(gpu) : on_host;
    if (!dtype || t->ndim > IG_MAX_NDIM || !is_expected) {
        PyErr_Format(PyExc_BufferError,
                     "a DLPack tensor of type %d with %d bits, %d dimensions, on device type %d "
                     "cannot be an array here",
                     t->code, t->bits, (int)t->ndim, (int)t->device.type);
        return NULL;
    }
    PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
    ig_array *x = over_any(t, dtype, gpu, versioned ? drop_versioned : drop_plain, m);
    if (!x)
        raise_error();
    return x;
}

/* How to ask for a capsule: our stream waits for the elements of our GPU; other GPUs copy to the host. */
typedef struct question {
    const char *gpu; /* ours, or NULL */
    bool to_host;
    PyObject *copy;
} question;

/* The keywords of __dlpack__. The usual ones are made once. */
static PyObject *capsule_keywords(const question *q)
{
    static PyObject *usual;
    if (!q->gpu && !q->to_host && q->copy == Py_None) {
        if (!usual)
            usual = Py_BuildValue("{s(ii)}", "max_version", 1, 0);
        return Py_XNewRef(usual);
    }
    PyObject *names = Py_BuildValue("{s(ii)}", "max_version", 1, 0), *value = NULL;
    bool fine = names && (q->copy == Py_None || PyDict_SetItemString(names, "copy", q->copy) == 0);
    if (fine && q->to_host) {
        value = Py_BuildValue("(ii)", DL_CPU, 0);
        fine = value && PyDict_SetItemString(names, "dl_device", value) == 0;
    } else if (fine && q->gpu) {
        void *stream = ig_device_stream(q->gpu);
        value = stream ? PyLong_FromLongLong((intptr_t)stream) : raise_error();
        fine = value && PyDict_SetItemString(names, "stream", value) == 0;
    }
    Py_XDECREF(value);
    if (!fine)
        Py_CLEAR(names);
    return names;
}

/* Calls __dlpack__, with the arguments of version 1 if it takes them. */
static PyObject *ask_capsule(PyObject *o, const question *q)
{
    PyObject *method = PyObject_GetAttrString(o, "__dlpack__"), *none = PyTuple_New(0);
    PyObject *names = capsule_keywords(q);
    PyObject *capsule = method && none && names ? PyObject_Call(method, none, names) : NULL;
    if (!capsule && method && none && names && PyErr_ExceptionMatches(PyExc_TypeError) &&
        !q->to_host && q->copy == Py_None) {
        PyObject *older;
        PyErr_Clear();
        older = PyDict_Copy(names);
        if (older && PyDict_DelItemString(older, "max_version") == 0)
            capsule = PyObject_Call(method, none, older);
        Py_XDECREF(older);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(names);
    return capsule;
}

/* The array of an object on its own device, or in host memory if `host`. */
static ig_array *ask_array(PyObject *o, bool host, PyObject *copy)
{
    int type = DL_CPU, id = 0;
    char there[32];
    PyObject *pair = PyObject_CallMethod(o, "__dlpack_device__", NULL);
    if (!pair || !PyArg_ParseTuple(pair, "ii", &type, &id)) {
        Py_XDECREF(pair);
        return NULL;
    }
    Py_DECREF(pair);
    question q = {.copy = copy};
    const bool on_gpu = type != DL_CPU && type != DL_CUDA_HOST;
    if (type == DL_CUDA && !host && find_gpu(id, there))
        q.gpu = there;
    q.to_host = on_gpu && !q.gpu;
    if (q.to_host && copy == Py_False) {
        PyErr_SetString(PyExc_BufferError,
                        "the elements are on a device that is not used here, so they are copied; "
                        "pass copy=None");
        return NULL;
    }
    if (q.to_host)
        q.copy = Py_None;
    PyObject *capsule = ask_capsule(o, &q);
    ig_array *x = capsule ? from_capsule_object(capsule, q.gpu) : NULL;
    Py_XDECREF(capsule);
    return x;
}

ig_array *from_capsule(PyObject *o, PyObject *device, PyObject *copy)
{
    if (device != Py_None && !PyUnicode_Check(device)) {
        PyErr_Format(PyExc_TypeError, "a device is a string, not %R", Py_TYPE(device));
        return NULL;
    }
    const char *to = device == Py_None ? NULL : PyUnicode_AsUTF8AndSize(device, NULL);
    ig_array *x = is_array(o) && copy != Py_True ? array_of(o)
                                                 : ask_array(o, to && strcmp(to, "cpu") == 0, copy);
    if (x && to && !(x = placed(x, to)))
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
    {"_values", fn_values, METH_O, NULL},
    {"from_dlpack", (PyCFunction)(void (*)(void))fn_from_dlpack, METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\nAn array over the elements of another "
     "library's array, without "
     "a copy where possible. The elements must not be changed while the array is used."},
    {NULL, NULL, 0, NULL},
};
