/* Tokenizers and text models. The Python module ingot.text makes answers of the encodings and arrays that these types give.
 * Functions of a model hold the lock of graphs, because a model is for one thread at a time. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

typedef struct tokenizer_object {
    PyObject ob_base;
    const ig_tokenizer *t;
    PyObject *model; /* the model that owns t, or NULL: this object owns it */
} tokenizer_object;

typedef struct text_object {
    PyObject ob_base;
    ig_text_model *m;
} text_object;

static PyTypeObject *tokenizer_type, *text_type;

static const ig_tokenizer *tokenizer_of(PyObject *o) { return ((tokenizer_object *)o)->t; }
static ig_text_model *text_model_of(PyObject *o) { return ((text_object *)o)->m; }

/* ---- texts ---- */

/* The strings of a list, which must outlive the result; free it. NULL with an exception on failure. */
static ig_text *texts_of(PyObject *list, int *n)
{
    if (!PyList_Check(list)) {
        PyErr_Format(PyExc_TypeError, "expected a list of strings, not %R", Py_TYPE(list));
        return NULL;
    }
    *n = (int)PyList_Size(list);
    ig_text *texts = malloc((size_t)(*n + 1) * sizeof *texts);
    if (!texts)
        return (ig_text *)PyErr_NoMemory();
    for (int i = 0; i < *n; i++) {
        PyObject *one = PyList_GetItem(list, i);
        Py_ssize_t bytes = 0;
        texts[i].at = PyUnicode_Check(one) ? PyUnicode_AsUTF8AndSize(one, &bytes) : NULL;
        texts[i].bytes = (size_t)bytes;
        if (!texts[i].at) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "a text is a string, not %R", Py_TYPE(one));
            free(texts);
            return NULL;
        }
    }
    return texts;
}

/* Texts, and their pairs unless the list is None. */
static bool pairs_of(PyObject *list, PyObject *others, ig_text **texts, ig_text **pairs, int *n)
{
    int n_pairs = 0;
    *pairs = NULL;
    *texts = texts_of(list, n);
    if (!*texts)
        return false;
    if (others == Py_None)
        return true;
    *pairs = texts_of(others, &n_pairs);
    if (*pairs && n_pairs == *n)
        return true;
    if (*pairs)
        PyErr_Format(PyExc_ValueError, "%d texts need as many second texts, not %d", *n, n_pairs);
    free(*texts);
    free(*pairs);
    return false;
}

/* ---- encodings ---- */

static PyObject *numbers32(const int32_t *v, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++)
        if (!put(list, i, PyLong_FromLong(v[i])))
            Py_CLEAR(list);
    return list;
}

/* The bytes of v, of which -1 stands for none. */
static PyObject *numbers8(const int8_t *v, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++)
        if (!put(list, i, PyLong_FromLong(v[i])))
            Py_CLEAR(list);
    return list;
}

/* (ids, types, starts, ends, words, sequences, mask, special). */
static PyObject *encoding_object(const ig_encoding *e)
{
    return Py_BuildValue("(NNNNNNNN)", numbers32(e->ids, e->n), numbers32(e->types, e->n),
                         numbers32(e->starts, e->n), numbers32(e->ends, e->n),
                         numbers32(e->words, e->n), numbers8(e->sequences, e->n),
                         numbers8((const int8_t *)e->mask, e->n),
                         numbers8((const int8_t *)e->special, e->n));
}

static bool fill32(PyObject *list, int n, int32_t *to)
{
    if (!PyList_Check(list) || PyList_Size(list) != n)
        return PyErr_Format(PyExc_ValueError, "expected a list of %d integers", n), false;
    for (int i = 0; i < n; i++)
        to[i] = (int32_t)PyLong_AsLong(PyList_GetItem(list, i));
    return !PyErr_Occurred();
}

static void encodings_free(ig_encoding *e, int n)
{
    for (int i = 0; e && i < n; i++)
        free((int32_t *)e[i].ids);
    free(e);
}

/* The encoding of (ids, types) without padding: one block with all lists, which e->ids owns. */
static bool encoding_read(PyObject *pair, ig_encoding *e)
{
    PyObject *ids, *types;
    if (!PyTuple_Check(pair) ||
        !PyArg_ParseTuple(pair, "O!O!", &PyList_Type, &ids, &PyList_Type, &types))
        return false;
    const int n = (int)PyList_Size(ids);
    int32_t *wide = calloc((size_t)n + 1, 5 * sizeof *wide + 3);
    if (!wide)
        return PyErr_NoMemory(), false;
    uint8_t *narrow = (uint8_t *)(wide + 5 * (size_t)n);
    memset(narrow, 1, (size_t)n);
    *e = (ig_encoding){.n = n,
                       .ids = wide,
                       .types = wide + n,
                       .starts = wide + 2 * n,
                       .ends = wide + 3 * n,
                       .words = wide + 4 * n,
                       .mask = narrow,
                       .special = narrow + n,
                       .sequences = (const int8_t *)narrow + 2 * n};
    return fill32(ids, n, wide) && fill32(types, n, wide + n);
}

static ig_encoding *encodings_of(PyObject *list, int *n)
{
    *n = PyList_Check(list) ? (int)PyList_Size(list) : 0;
    ig_encoding *e = calloc((size_t)*n + 1, sizeof *e);
    if (!e)
        return (ig_encoding *)PyErr_NoMemory();
    for (int i = 0; i < *n; i++)
        if (!encoding_read(PyList_GetItem(list, i), &e[i])) {
            encodings_free(e, *n);
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "expected pairs of lists");
            return NULL;
        }
    return e;
}

/* ---- tokenizers ---- */

static PyObject *tokenizer_wrap(const ig_tokenizer *t, PyObject *model)
{
    tokenizer_object *o = PyObject_New(tokenizer_object, tokenizer_type);
    if (o) {
        o->t = t;
        o->model = Py_XNewRef(model);
    } else if (!model) {
        ig_tokenizer_free((ig_tokenizer *)t);
    }
    return (PyObject *)o;
}

static void tokenizer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    tokenizer_object *o = (tokenizer_object *)self;
    if (!o->model)
        ig_tokenizer_free((ig_tokenizer *)o->t);
    Py_XDECREF(o->model);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* encode(texts, pairs, plain, max_length, pad): a tuple of lists for each text. */
static PyObject *tokenizer_encode(PyObject *self, PyObject *args)
{
    PyObject *list, *others, *all = NULL;
    int plain, n = 0;
    ig_encode_options options = {.size = sizeof options};
    ig_text *texts, *pairs;
    if (!PyArg_ParseTuple(args, "OOpii:encode", &list, &others, &plain, &options.max_length,
                          &options.pad) ||
        !pairs_of(list, others, &texts, &pairs, &n))
        return NULL;
    options.plain = plain;
    ig_encoding *e;
    Py_BEGIN_ALLOW_THREADS e = ig_tokenizer_encode(tokenizer_of(self), texts, pairs, n, &options);
    Py_END_ALLOW_THREADS if (e) all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *one = encoding_object(&e[i]);
        if (!put(all, i, one))
            Py_CLEAR(all);
    }
    if (!e)
        raise_stopped();
    ig_free(e);
    free(texts);
    free(pairs);
    return all;
}

static PyObject *tokenizer_token(PyObject *self, PyObject *id)
{
    const long i = PyLong_AsLong(id);
    if (PyErr_Occurred())
        return NULL;
    const char *token = ig_tokenizer_token(tokenizer_of(self), (int)i);
    return token ? PyUnicode_DecodeUTF8(token, (Py_ssize_t)strlen(token), "replace")
                 : Py_NewRef(Py_None);
}

/* The id of a token, or None. */
static PyObject *id_object(int id) { return id < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(id); }

static PyObject *tokenizer_id(PyObject *self, PyObject *args)
{
    const char *token;
    return PyArg_ParseTuple(args, "s:id", &token)
               ? id_object(ig_tokenizer_id(tokenizer_of(self), token))
               : NULL;
}

static PyObject *tokenizer_special(PyObject *self, PyObject *args)
{
    const char *name;
    return PyArg_ParseTuple(args, "s:special", &name)
               ? id_object(ig_tokenizer_special(tokenizer_of(self), name))
               : NULL;
}

static PyObject *tokenizer_count(PyObject *self, PyObject *unused)
{
    return (void)unused, PyLong_FromLong(ig_tokenizer_count(tokenizer_of(self)));
}

static PyObject *fn_tokenizer_load(PyObject *self, PyObject *path)
{
    (void)self;
    PyObject *bytes;
    ig_tokenizer *t;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    const char *name = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS t = ig_tokenizer_load(name);
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    return t ? tokenizer_wrap(t, NULL) : raise_stopped();
}

/* ---- models ---- */

static void text_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ig_text_model_free(text_model_of(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *fn_text_load(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *path, *dtype = Py_None;
    ig_dtype d;
    ig_text_model *m;
    if (!PyArg_ParseTuple(args, "O&|O:_text_load", PyUnicode_FSConverter, &path, &dtype))
        return NULL;
    if (!to_dtype(dtype, &d)) {
        Py_DECREF(path);
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    m = ig_text_model_load(name, d);
    graph_unlock();
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (!m)
        return raise_stopped();
    text_object *o = PyObject_New(text_object, text_type);
    if (o)
        o->m = m;
    else
        ig_text_model_free(m);
    return (PyObject *)o;
}

static PyObject *text_tokenizer(PyObject *self, PyObject *unused)
{
    (void)unused;
    return tokenizer_wrap(ig_text_model_tokenizer(text_model_of(self)), self);
}

static PyObject *text_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    ig_text_info info = {.size = sizeof info};
    if (ig_text_model_info(text_model_of(self), &info) != IG_OK)
        return raise_error();
    PyObject *labels = PyList_New(info.n_labels);
    for (int i = 0; labels && i < info.n_labels; i++)
        if (!put(labels, i, PyUnicode_FromString(info.labels[i])))
            Py_CLEAR(labels);
    if (!labels)
        return NULL;
    return Py_BuildValue("{sssssisisisisisNsNsNsKsN}", "architecture", info.architecture, "head",
                         info.head, "layers", info.layers, "heads", info.heads, "width", info.width,
                         "dimensions", info.dimensions, "max_length", info.max_length, "labels",
                         labels, "many_labels", PyBool_FromLong(info.many_labels), "regression",
                         PyBool_FromLong(info.regression), "parameters",
                         (unsigned long long)info.parameters, "mask_id", id_object(info.mask_id));
}

/* run(head, texts, pairs): vectors or logits, evaluated. */
static PyObject *text_run(PyObject *self, PyObject *args)
{
    const char *head;
    PyObject *list, *others;
    ig_text *texts, *pairs;
    int n = 0;
    if (!PyArg_ParseTuple(args, "sOO:run", &head, &list, &others) ||
        !pairs_of(list, others, &texts, &pairs, &n))
        return NULL;
    ig_array *x = NULL;
    if (enter()) {
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        x = ig_retain(ig_text_model_run(text_model_of(self), head, texts, pairs, n));
        graph_unlock();
        Py_END_ALLOW_THREADS leave();
    }
    free(texts);
    free(pairs);
    return x ? array_wrap(x) : raise_stopped();
}

/* A head's logits in f32, checked for NaN. The scope is open. at: rows of the one encoding, or NULL. */
static ig_array *logits_of(ig_text_model *m, const char *head, const ig_encoding *e, int n,
                           ig_array *at)
{
    ig_array *x = ig_text_model_hidden(m, e, n);
    if (x && at) {
        const int64_t rows[] = {ig_dim(x, 1), ig_dim(x, 2)};
        x = ig_take(ig_reshape(x, (ig_ints){rows, 2}), at, IG_AXES(0));
    }
    const bool whole = strcmp(head, "embed") == 0 || strcmp(head, "classify") == 0;
    if (strcmp(head, "hidden") != 0)
        x = x ? ig_text_model_head(m, head, x, whole ? e : NULL, whole ? n : 0) : NULL;
    x = x ? ig_astype(x, IG_F32) : NULL;
    return x && ig_text_model_check(m, x) == IG_OK ? x : NULL;
}

/* head(name, encodings, positions): logits of a head ("hidden": hidden states) of encodings (ids, types). positions: None, or
 * a list of places in the only encoding. */
static PyObject *text_head(PyObject *self, PyObject *args)
{
    const char *head;
    PyObject *list, *positions;
    int n = 0;
    if (!PyArg_ParseTuple(args, "sOO:head", &head, &list, &positions))
        return NULL;
    ig_encoding *e = encodings_of(list, &n);
    ig_array *x = NULL;
    if (e && enter()) {
        ig_array *at = positions == Py_None ? NULL : make_array(positions, IG_I64);
        if (at || positions == Py_None) {
            Py_BEGIN_ALLOW_THREADS graph_lock_plain();
            x = ig_retain(logits_of(text_model_of(self), head, e, n, at));
            graph_unlock();
            Py_END_ALLOW_THREADS
        }
        leave();
    }
    encodings_free(e, n);
    return x ? array_wrap(x) : raise_stopped();
}

static PyObject *text_export(PyObject *self, PyObject *args)
{
    PyObject *path;
    const char *head = NULL;
    ig_status status;
    if (!PyArg_ParseTuple(args, "O&|z:export", PyUnicode_FSConverter, &path, &head))
        return NULL;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    status = ig_text_model_export(text_model_of(self), head, name);
    graph_unlock();
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status != IG_OK)
        return raise_stopped();
    Py_RETURN_NONE;
}

/* ---- the types ---- */

static PyMethodDef tokenizer_methods[] = {
    {"encode", tokenizer_encode, METH_VARARGS, NULL},
    {"token", tokenizer_token, METH_O, NULL},
    {"id", tokenizer_id, METH_VARARGS, NULL},
    {"special", tokenizer_special, METH_VARARGS, NULL},
    {"count", tokenizer_count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef text_methods[] = {
    {"tokenizer", text_tokenizer, METH_NOARGS, NULL},
    {"info", text_info, METH_NOARGS, NULL},
    {"run", text_run, METH_VARARGS, NULL},
    {"head", text_head, METH_VARARGS, NULL},
    {"export", text_export, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot tokenizer_slots[] = {
    {Py_tp_dealloc, tokenizer_dealloc},
    {Py_tp_methods, tokenizer_methods},
    {Py_tp_doc, "A tokenizer; ingot.text.Tokenizer is for use."},
    {0, NULL},
};
static PyType_Slot text_slots[] = {
    {Py_tp_dealloc, text_dealloc},
    {Py_tp_methods, text_methods},
    {Py_tp_doc, "A text model; ingot.text.Model is for use."},
    {0, NULL},
};
static PyType_Spec tokenizer_spec = {"ingot._Tokenizer", sizeof(tokenizer_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                     tokenizer_slots};
static PyType_Spec text_spec = {"ingot._TextModel", sizeof(text_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, text_slots};

bool text_setup(PyObject *module)
{
    tokenizer_type = (PyTypeObject *)PyType_FromSpec(&tokenizer_spec);
    text_type = tokenizer_type ? (PyTypeObject *)PyType_FromSpec(&text_spec) : NULL;
    return text_type &&
           PyModule_AddObjectRef(module, "_Tokenizer", (PyObject *)tokenizer_type) == 0 &&
           PyModule_AddObjectRef(module, "_TextModel", (PyObject *)text_type) == 0;
}

PyMethodDef text_functions[] = {
    {"_tokenizer_load", fn_tokenizer_load, METH_O, NULL},
    {"_text_load", fn_text_load, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
