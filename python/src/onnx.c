/* ONNX models. The Python module ingot.onnx gives names to what this type takes and returns as lists in the model's order.
 * All functions of a model hold the lock of graphs, because a model is for one thread at a time. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

typedef struct onnx_object {
    PyObject ob_base;
    ig_onnx *m;
} onnx_object;

static PyTypeObject *onnx_type;

static ig_onnx *model_of(PyObject *self) { return ((onnx_object *)self)->m; }

/* ---- values ---- */

/* A tensor of strings from (strings, shape). */
static ig_onnx_value *texts_value(PyObject *pair)
{
    PyObject *list, *shape;
    int64_t v[IG_MAX_NDIM], size = 1;
    if (!PyArg_ParseTuple(pair, "O!O", &PyList_Type, &list, &shape))
        return NULL;
    const int ndim = to_ints(shape, v, IG_MAX_NDIM);
    const Py_ssize_t n = PyList_Size(list);
    const char **texts = ndim < 0 ? NULL : malloc((size_t)(n + 1) * sizeof *texts);
    bool fine = texts != NULL;
    for (int i = 0; i < ndim; i++)
        size *= v[i];
    for (Py_ssize_t i = 0; fine && i < n; i++) {
        PyObject *one = PyList_GetItem(list, i);
        texts[i] = PyUnicode_Check(one) ? PyUnicode_AsUTF8AndSize(one, NULL) : NULL;
        if (!(fine = texts[i] != NULL) && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "expected a string, not %R", Py_TYPE(one));
    }
    if (fine && size != n) {
        PyErr_Format(PyExc_ValueError, "%zd strings do not fill the shape", n);
        fine = false;
    }
    ig_onnx_value *x = fine ? ig_onnx_value_texts(texts, (ig_ints){v, ndim}) : NULL;
    free(texts);
    return x;
}

static PyObject *value_object(const ig_onnx_value *v);

/* The strings in row-major order and their shape. */
static PyObject *texts_object(const ig_onnx_value *v)
{
    const ig_ints shape = ig_onnx_value_shape(v);
    int64_t size = 1;
    for (int i = 0; i < shape.n; i++)
        size *= shape.v[i];
    PyObject *list = PyList_New((Py_ssize_t)size);
    for (int64_t i = 0; list && i < size; i++) {
        size_t bytes;
        const char *text = ig_onnx_value_text(v, i, &bytes);
        PyObject *one = PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "surrogateescape");
        if (!put(list, (Py_ssize_t)i, one))
            Py_CLEAR(list);
    }
    return list ? Py_BuildValue("(sNN)", "texts", list, ints_tuple(shape)) : NULL;
}

/* An array, None, or ("texts", strings, shape), ("sequence", items), ("map", [keys, values]). */
static PyObject *value_object(const ig_onnx_value *v)
{
    const ig_onnx_kind kind = ig_onnx_value_kind(v);
    if (kind == IG_ONNX_NOTHING)
        Py_RETURN_NONE;
    if (kind == IG_ONNX_TENSOR)
        return array_wrap(ig_retain(ig_onnx_value_get(v)));
    if (kind == IG_ONNX_TEXTS)
        return texts_object(v);
    const int n = ig_onnx_value_count(v);
    PyObject *items = PyList_New(n);
    for (int i = 0; items && i < n; i++) {
        PyObject *one = value_object(ig_onnx_value_item(v, i));
        if (!put(items, i, one))
            Py_CLEAR(items);
    }
    return items ? Py_BuildValue("(sN)", kind == IG_ONNX_MAP ? "map" : "sequence", items) : NULL;
}

static void values_free(ig_onnx_value **v, int n)
{
    for (int i = 0; v && i < n; i++)
        ig_onnx_value_release(v[i]);
    free(v);
}

/* One value for each input from a list of arrays, pairs (strings, shape) and None; numbers become of the input's dtype.
 * The scope is open. NULL with an exception on failure. */
static ig_onnx_value **inputs_of(const ig_onnx *m, PyObject *list)
{
    const int n = ig_onnx_input_count(m);
    if (!PyList_Check(list) || PyList_Size(list) != n)
        return (ig_onnx_value **)PyErr_Format(PyExc_TypeError, "the model has %d inputs", n);
    ig_onnx_value **v = calloc((size_t)n + 1, sizeof(ig_onnx_value *));
    for (int i = 0; v && i < n; i++) {
        PyObject *o = PyList_GetItem(list, i);
        if (o == Py_None)
            continue;
        if (PyTuple_Check(o)) {
            v[i] = texts_value(o);
        } else {
            ig_onnx_info info = {.size = sizeof info};
            const bool free_dtype = is_number(o) || PyList_Check(o);
            ig_onnx_input(m, i, &info);
            ig_array *x = make_array(o, free_dtype ? ig_onnx_type_dtype(info.type) : IG_DTYPE_NONE);
            v[i] = x ? ig_onnx_value_array(x) : NULL;
        }
        if (!v[i]) {
            values_free(v, n);
            return (ig_onnx_value **)raise_error();
        }
    }
    return v ? v : (ig_onnx_value **)PyErr_NoMemory();
}

/* ---- running ---- */

typedef ig_status runner(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs);

static ig_status run_logits(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs)
{
    ig_array *x = ig_onnx_logits(m, inputs);
    outputs[0] = x ? ig_onnx_value_array(x) : NULL;
    return outputs[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static PyObject *results_list(ig_onnx_value *const *v, int n)
{
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *one = value_object(v[i]);
        if (!put(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *run_by(PyObject *self, PyObject *list, runner *run, int n_out)
{
    ig_onnx *m = model_of(self);
    PyObject *result = NULL;
    if (!enter())
        return NULL;
    ig_onnx_value **in = inputs_of(m, list);
    ig_onnx_value **out = in ? calloc((size_t)n_out + 1, sizeof(ig_onnx_value *)) : NULL;
    if (in && !out)
        PyErr_NoMemory();
    if (out) {
        ig_status status;
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        status = run(m, in, out);
        graph_unlock();
        Py_END_ALLOW_THREADS result = status == IG_OK ? results_list(out, n_out) : raise_stopped();
    }
    values_free(in, ig_onnx_input_count(m));
    values_free(out, n_out);
    leave();
    return result;
}

static PyObject *onnx_run(PyObject *self, PyObject *list)
{
    return run_by(self, list, ig_onnx_run, ig_onnx_output_count(model_of(self)));
}
static PyObject *onnx_apply(PyObject *self, PyObject *list)
{
    return run_by(self, list, ig_onnx_apply, ig_onnx_output_count(model_of(self)));
}
static PyObject *onnx_logits(PyObject *self, PyObject *list)
{
    return run_by(self, list, run_logits, 1);
}

static PyObject *onnx_explain(PyObject *self, PyObject *list)
{
    ig_onnx *m = model_of(self);
    char *text = NULL;
    if (!enter())
        return NULL;
    ig_onnx_value **in = inputs_of(m, list);
    if (in) {
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        text = ig_onnx_explain(m, in);
        graph_unlock();
        Py_END_ALLOW_THREADS
    }
    values_free(in, ig_onnx_input_count(m));
    leave();
    PyObject *result = text ? PyUnicode_FromString(text) : raise_stopped();
    ig_free(text);
    return result;
}

/* ---- what a model has ---- */

/* (name, kind, type, dtype or None, shape or None, optional). A length that is not stated is its symbol or None. */
static PyObject *info_object(const ig_onnx_info *info)
{
    static const char *const kinds[] = {"nothing", "tensor", "texts", "sequence", "map"};
    PyObject *shape = info->ndim < 0 ? Py_NewRef(Py_None) : PyTuple_New(info->ndim);
    for (int i = 0; shape && i < info->ndim; i++) {
        PyObject *n = info->dims[i] >= 0              ? PyLong_FromLongLong(info->dims[i])
                      : info->names && info->names[i] ? PyUnicode_FromString(info->names[i])
                                                      : Py_NewRef(Py_None);
        if (!n || PyTuple_SetItem(shape, i, n) < 0)
            Py_CLEAR(shape);
    }
    if (!shape)
        return NULL;
    const ig_dtype dtype = ig_onnx_type_dtype(info->type);
    return Py_BuildValue("(sssNNN)", info->name, kinds[info->kind], ig_onnx_type_name(info->type),
                         dtype ? dtype_object(dtype) : Py_NewRef(Py_None), shape,
                         PyBool_FromLong(info->optional));
}

static PyObject *infos(const ig_onnx *m, int n,
                       ig_status (*get)(const ig_onnx *m, int i, ig_onnx_info *info))
{
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        PyObject *one = get(m, i, &info) == IG_OK ? info_object(&info) : raise_error();
        if (!put(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *onnx_inputs(PyObject *self, PyObject *unused)
{
    (void)unused;
    return infos(model_of(self), ig_onnx_input_count(model_of(self)), ig_onnx_input);
}
static PyObject *onnx_outputs(PyObject *self, PyObject *unused)
{
    (void)unused;
    return infos(model_of(self), ig_onnx_output_count(model_of(self)), ig_onnx_output);
}

static PyObject *onnx_opsets(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *all = PyDict_New();
    for (int i = 0; all && i < ig_onnx_opset_count(model_of(self)); i++) {
        const char *domain = NULL;
        int64_t version = 0;
        PyObject *n = ig_onnx_opset(model_of(self), i, &domain, &version) == IG_OK
                          ? PyLong_FromLongLong(version)
                          : raise_error();
        if (!n || PyDict_SetItemString(all, domain, n) < 0)
            Py_CLEAR(all);
        Py_XDECREF(n);
    }
    return all;
}

/* ---- weights ---- */

static PyObject *onnx_weight_names(PyObject *self, PyObject *unused)
{
    (void)unused;
    const int n = ig_onnx_weight_count(model_of(self));
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *one = PyUnicode_FromString(ig_onnx_weight_name(model_of(self), i));
        if (!put(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *onnx_weight(PyObject *self, PyObject *index)
{
    const long i = PyLong_AsLong(index);
    if (PyErr_Occurred())
        return NULL;
    graph_lock();
    ig_array *x = ig_retain(ig_onnx_weight(model_of(self), (int)i));
    graph_unlock();
    return x ? array_wrap(x) : raise_error();
}

static PyObject *onnx_set_weight(PyObject *self, PyObject *args)
{
    int i;
    PyObject *o;
    ig_status status = IG_ERR_ARGUMENT;
    if (!PyArg_ParseTuple(args, "iO:set_weight", &i, &o) || !enter())
        return NULL;
    graph_lock();
    ig_array *old = ig_onnx_weight(model_of(self), i);
    ig_array *x = old ? make_array(o, is_array(o) ? IG_DTYPE_NONE : ig_dtype_of(old)) : NULL;
    if (x)
        status = ig_onnx_set_weight(model_of(self), i, x);
    graph_unlock();
    leave();
    if (status != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

/* The layer of each weight; -1: it is not a parameter. */
static PyObject *onnx_layers(PyObject *self, PyObject *unused)
{
    (void)unused;
    const int n = ig_onnx_weight_count(model_of(self));
    PyObject *all = PyList_New(n);
    graph_lock();
    for (int i = 0; all && i < n; i++) {
        PyObject *one = PyLong_FromLong(ig_onnx_weight_layer(model_of(self), i));
        if (!put(all, i, one))
            Py_CLEAR(all);
    }
    graph_unlock();
    if (all && ig_failed()) {
        Py_DECREF(all);
        return raise_error();
    }
    return all;
}

static PyObject *onnx_set_classes(PyObject *self, PyObject *args)
{
    long long classes;
    unsigned long long seed = 0;
    if (!PyArg_ParseTuple(args, "L|K:set_classes", &classes, &seed))
        return NULL;
    graph_lock();
    const ig_status status = ig_onnx_set_classes(model_of(self), classes, seed);
    graph_unlock();
    if (status != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

static PyObject *onnx_save(PyObject *self, PyObject *args)
{
    PyObject *path;
    long long external = -1;
    ig_status status;
    if (!PyArg_ParseTuple(args, "O&|L:save", PyUnicode_FSConverter, &path, &external))
        return NULL;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    status = ig_onnx_save(model_of(self), name, external);
    graph_unlock();
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status != IG_OK)
        return raise_stopped();
    Py_RETURN_NONE;
}

/* ---- the type ---- */

static void onnx_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ig_onnx_free(model_of(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

/* _onnx_load(path), or the bytes of a model and the folder of its external data. */
static PyObject *fn_onnx_load(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *source, *folder = Py_None, *path = NULL;
    ig_onnx *m = NULL;
    if (!PyArg_ParseTuple(args, "O|O:_onnx_load", &source, &folder))
        return NULL;
    const bool memory = PyBytes_Check(source);
    if ((!memory || folder != Py_None) && !PyUnicode_FSConverter(memory ? folder : source, &path))
        return NULL;
    const char *name = path ? PyBytes_AsString(path) : NULL;
    const char *bytes = memory ? PyBytes_AsString(source) : NULL;
    const size_t n = memory ? (size_t)PyBytes_Size(source) : 0;
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    m = memory ? ig_onnx_from_memory(bytes, n, name) : ig_onnx_load(name);
    graph_unlock();
    Py_END_ALLOW_THREADS Py_XDECREF(path);
    if (!m)
        return raise_stopped();
    onnx_object *o = PyObject_New(onnx_object, onnx_type);
    if (o)
        o->m = m;
    else
        ig_onnx_free(m);
    return (PyObject *)o;
}

/* ---- export ---- */

enum { TRACES = 6 };

/* The texts of a list of strings, which keeps them; NULL with an exception. */
static const char **texts_list(PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    const char **texts = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *texts);
    for (Py_ssize_t i = 0; texts && i < n; i++)
        if (!(texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL))) {
            free(texts);
            return NULL;
        }
    return texts;
}

/* _math(mode): the math mode of this thread from now on, and the mode before. A number of ig_math; 1 is IG_MATH_SAME. */
static PyObject *fn_math(PyObject *self, PyObject *mode)
{
    (void)self;
    const long now = PyLong_AsLong(mode);
    const ig_math before = ig_math_mode();
    if (PyErr_Occurred())
        return NULL;
    if (ig_set_math((ig_math)now) != IG_OK)
        return raise_error();
    return PyLong_FromLong(before);
}

/* _onnx_export(path, inputs, outputs, input names, output names, weights, weight names, symbol, external). inputs and outputs: a
 * list of arrays for each trace. */
static PyObject *fn_onnx_export(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *path, *ins, *outs, *weights, *names[3];
    ig_onnx_export_call c = {.size = sizeof c};
    long long external;
    if (!PyArg_ParseTuple(args, "O&O!O!O!O!O!O!sL:_onnx_export", PyUnicode_FSConverter, &path,
                          &PyList_Type, &ins, &PyList_Type, &outs, &PyList_Type, &names[0],
                          &PyList_Type, &names[1], &PyList_Type, &weights, &PyList_Type, &names[2],
                          &c.symbol, &external))
        return NULL;
    ig_array **in[TRACES] = {NULL}, **out[TRACES] = {NULL}, **w = array_list(weights, &c.n_weights);
    ig_onnx_trace traces[TRACES];
    const char **texts[3] = {NULL};
    bool fine = w != NULL;
    c.n_traces = (int)PyList_Size(ins);
    for (int t = 0; fine && t < c.n_traces && t < TRACES; t++) {
        fine = (in[t] = array_list(PyList_GetItem(ins, t), &c.n_inputs)) &&
               (out[t] = array_list(PyList_GetItem(outs, t), &c.n_outputs));
        traces[t] = (ig_onnx_trace){in[t], out[t]};
    }
    for (int i = 0; fine && i < 3; i++)
        fine = (texts[i] = texts_list(names[i])) != NULL;
    ig_status status = IG_ERR_ARGUMENT;
    if (fine && (fine = enter())) {
        c.input_names = texts[0];
        c.output_names = texts[1];
        c.weight_names = texts[2];
        c.weights = w;
        c.traces = traces;
        c.external = external;
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        status = ig_onnx_export(&c, PyBytes_AsString(path));
        graph_unlock();
        Py_END_ALLOW_THREADS leave();
    }
    for (int i = 0; i < TRACES; i++) {
        free(in[i]);
        free(out[i]);
    }
    for (int i = 0; i < 3; i++)
        free(texts[i]);
    free(w);
    Py_DECREF(path);
    if (!fine)
        return NULL;
    if (status != IG_OK)
        return raise_stopped();
    Py_RETURN_NONE;
}

static PyMethodDef onnx_methods[] = {
    {"inputs", onnx_inputs, METH_NOARGS, NULL},
    {"outputs", onnx_outputs, METH_NOARGS, NULL},
    {"opsets", onnx_opsets, METH_NOARGS, NULL},
    {"run", onnx_run, METH_O, NULL},
    {"apply", onnx_apply, METH_O, NULL},
    {"logits", onnx_logits, METH_O, NULL},
    {"explain", onnx_explain, METH_O, NULL},
    {"weight_names", onnx_weight_names, METH_NOARGS, NULL},
    {"weight", onnx_weight, METH_O, NULL},
    {"set_weight", onnx_set_weight, METH_VARARGS, NULL},
    {"layers", onnx_layers, METH_NOARGS, NULL},
    {"set_classes", onnx_set_classes, METH_VARARGS, NULL},
    {"save", onnx_save, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot onnx_slots[] = {
    {Py_tp_dealloc, onnx_dealloc},
    {Py_tp_methods, onnx_methods},
    {Py_tp_doc, "An ONNX model; ingot.onnx.Model is for use."},
    {0, NULL},
};
static PyType_Spec onnx_spec = {"ingot._Onnx", sizeof(onnx_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, onnx_slots};

bool onnx_setup(PyObject *module)
{
    onnx_type = (PyTypeObject *)PyType_FromSpec(&onnx_spec);
    return onnx_type && PyModule_AddObjectRef(module, "_Onnx", (PyObject *)onnx_type) == 0;
}

PyMethodDef onnx_functions[] = {
    {"_onnx_load", fn_onnx_load, METH_VARARGS, NULL},
    {"_onnx_export", fn_onnx_export, METH_VARARGS, NULL},
    {"_math", fn_math, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
