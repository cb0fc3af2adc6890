/* Generators of text and their answers. The Python module ingot.text makes iterators of them. Calls hold the lock of graphs,
 * because a generator is for one thread at a time. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

typedef struct generator_object {
    PyObject ob_base;
    ig_generator *g;
} generator_object;

typedef struct answer_object {
    PyObject ob_base;
    ig_answer *a;
    PyObject *generator;
} answer_object;

static PyTypeObject *generator_type, *answer_type;

static ig_generator *generator_of(PyObject *o) { return ((generator_object *)o)->g; }
static ig_answer *answer_of(PyObject *o) { return ((answer_object *)o)->a; }

/* ---- answers ---- */

static void answer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    answer_object *o = (answer_object *)self;
    graph_lock();
    ig_answer_free(o->a);
    graph_unlock();
    Py_XDECREF(o->generator);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* next(): (id, logprob, text), or None at the end. */
static PyObject *answer_next(PyObject *self, PyObject *unused)
{
    (void)unused;
    ig_answer_token t = {.size = sizeof t};
    bool more;
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    more = ig_answer_next(answer_of(self), &t);
    graph_unlock();
    Py_END_ALLOW_THREADS if (more) return Py_BuildValue(
        "(idN)", (int)t.id, t.logprob,
        PyUnicode_DecodeUTF8(t.text.at, (Py_ssize_t)t.text.bytes, "replace"));
    if (ig_failed())
        return raise_stopped();
    Py_RETURN_NONE;
}

/* state(): (end or None, tokens of the prompt, those in the cache). */
static PyObject *answer_state(PyObject *self, PyObject *unused)
{
    (void)unused;
    int64_t cached = 0;
    const long long n = ig_answer_prompt(answer_of(self), &cached);
    return Py_BuildValue("(zLL)", ig_answer_end(answer_of(self)), n, (long long)cached);
}

/* ---- generators ---- */

static void generator_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    graph_lock();
    ig_generator_free(generator_of(self));
    graph_unlock();
    PyObject_Free(self);
    Py_DECREF(type);
}

/* _generator_load(path, context, texts, template) */
static PyObject *fn_generator_load(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *path;
    long long context, texts;
    ig_generator_options options = {.size = sizeof options};
    ig_generator *g;
    if (!PyArg_ParseTuple(args, "O&LLz:_generator_load", PyUnicode_FSConverter, &path, &context,
                          &texts, &options.chat_template))
        return NULL;
    options.context = context;
    options.texts = texts;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    g = ig_generator_load(name, &options);
    graph_unlock();
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (!g)
        return raise_stopped();
    generator_object *o = PyObject_New(generator_object, generator_type);
    if (o)
        o->g = g;
    else
        ig_generator_free(g);
    return (PyObject *)o;
}

static PyObject *generator_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    ig_generator_info i = {.size = sizeof i};
    if (ig_generator_info_get(generator_of(self), &i) != IG_OK)
        return raise_error();
    return Py_BuildValue("{sssLsLsLsLsLsK}", "architecture", i.architecture, "layers",
                         (long long)i.layers, "width", (long long)i.width, "vocabulary",
                         (long long)i.vocabulary, "context", (long long)i.context, "room",
                         (long long)i.room, "bytes", (unsigned long long)i.bytes);
}

/* The strings of a list, which must outlive the result; free it. NULL with an exception on failure. */
static ig_text *strings_of(PyObject *list, int *n)
{
    *n = (int)PyList_Size(list);
    ig_text *texts = malloc((size_t)(*n + 1) * sizeof *texts);
    for (int i = 0; texts && i < *n; i++) {
        Py_ssize_t bytes = 0;
        texts[i].at = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), &bytes);
        texts[i].bytes = (size_t)bytes;
        if (!texts[i].at) {
            free(texts);
            return NULL;
        }
    }
    return texts ? texts : (ig_text *)PyErr_NoMemory();
}

static ig_answer *answer_begin(PyObject *self, ig_text prompt, ig_generate_options *o,
                               const ig_text *stops)
{
    const char **names = malloc((size_t)(o->n_stops + 1) * sizeof *names);
    if (!names)
        return (ig_answer *)PyErr_NoMemory();
    for (int i = 0; i < o->n_stops; i++)
        names[i] = stops[i].at;
    o->stops = names;
    graph_lock();
    ig_answer *a = ig_generate(generator_of(self), prompt, o);
    graph_unlock();
    free(names);
    return a ? a : (ig_answer *)raise_stopped();
}

/* generate(prompt, is_chat, tokens, temperature, top_k, top_p, min_p, typical, repetition, presence, frequency, seed, stops,
 * ignores_end, grammar, schema) */
static PyObject *generator_generate(PyObject *self, PyObject *args)
{
    PyObject *list;
    const char *prompt;
    Py_ssize_t bytes;
    int is_chat, ignores_end;
    long long tokens, top_k;
    unsigned long long seed;
    ig_generate_options o = {.size = sizeof o};
    if (!PyArg_ParseTuple(args, "s#pLdLddddddKO!pzz:generate", &prompt, &bytes, &is_chat, &tokens,
                          &o.temperature, &top_k, &o.top_p, &o.min_p, &o.typical, &o.repetition,
                          &o.presence, &o.frequency, &seed, &PyList_Type, &list, &ignores_end,
                          &o.grammar, &o.schema))
        return NULL;
    o.is_chat = is_chat;
    o.ignores_end = ignores_end;
    o.tokens = tokens;
    o.top_k = top_k;
    o.seed = seed;
    ig_text *stops = strings_of(list, &o.n_stops);
    ig_answer *a = stops ? answer_begin(self, (ig_text){prompt, (size_t)bytes}, &o, stops) : NULL;
    free(stops);
    if (!a)
        return NULL;
    answer_object *made = PyObject_New(answer_object, answer_type);
    if (!made) {
        ig_answer_free(a);
        return NULL;
    }
    made->a = a;
    made->generator = Py_NewRef(self);
    return (PyObject *)made;
}

/* embed(texts): the vectors. */
static PyObject *generator_embed(PyObject *self, PyObject *args)
{
    PyObject *list;
    int n = 0;
    ig_array *x = NULL;
    if (!PyArg_ParseTuple(args, "O!:embed", &PyList_Type, &list))
        return NULL;
    ig_text *texts = strings_of(list, &n);
    if (!texts)
        return NULL;
    if (enter()) {
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        x = ig_retain(ig_generator_embed(generator_of(self), texts, n));
        graph_unlock();
        Py_END_ALLOW_THREADS leave();
    }
    free(texts);
    return x ? array_wrap(x) : raise_stopped();
}

/* ---- the types ---- */

static PyMethodDef answer_methods[] = {
    {"next", answer_next, METH_NOARGS, NULL},
    {"state", answer_state, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef generator_methods[] = {
    {"info", generator_info, METH_NOARGS, NULL},
    {"generate", generator_generate, METH_VARARGS, NULL},
    {"embed", generator_embed, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot answer_slots[] = {
    {Py_tp_dealloc, answer_dealloc},
    {Py_tp_methods, answer_methods},
    {Py_tp_doc, "An answer that is being made; ingot.text.Reply is for use."},
    {0, NULL},
};
static PyType_Slot generator_slots[] = {
    {Py_tp_dealloc, generator_dealloc},
    {Py_tp_methods, generator_methods},
    {Py_tp_doc, "A model that generates text; ingot.text.Generator is for use."},
    {0, NULL},
};
static PyType_Spec answer_spec = {"ingot._Answer", sizeof(answer_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  answer_slots};
static PyType_Spec generator_spec = {"ingot._Generator", sizeof(generator_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                     generator_slots};

bool generate_setup(PyObject *module)
{
    answer_type = (PyTypeObject *)PyType_FromSpec(&answer_spec);
    generator_type = answer_type ? (PyTypeObject *)PyType_FromSpec(&generator_spec) : NULL;
    return generator_type &&
           PyModule_AddObjectRef(module, "_Answer", (PyObject *)answer_type) == 0 &&
           PyModule_AddObjectRef(module, "_Generator", (PyObject *)generator_type) == 0;
}

PyMethodDef generate_functions[] = {
    {"_generator_load", fn_generator_load, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
