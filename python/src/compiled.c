/* Compiled computations: what jit runs. A plan has inputs (placeholders), the structure of the arguments that it was traced
 * for, and the structure of its results. A call walks the arguments once, along the structure, and runs no Python code.
 *
 * A structure is made by transform.py: "*" for an array, ("=", constant) for another value, (list, (part, ...)), (tuple,
 * (part, ...)), (dict, ((key, part), ...)); the structures of other containers are left to transform.py. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

typedef struct compiled_object {
    PyObject ob_base;
    ig_compiled *c;
    int n_in, n_out;
    ig_array **in; /* the placeholders, owned */
    PyObject *arguments, *results;
} compiled_object;

static PyTypeObject *compiled_type;

/* ---- arguments ---- */

/* The arrays that were found so far. */
typedef struct walk {
    const compiled_object *plan;
    ig_array **in;
    int n;
} walk;

static bool fits(const ig_array *x, const ig_array *like)
{
    const ig_ints a = ig_shape(x), b = ig_shape(like);
    const char *device = ig_array_device(x);
    return ig_dtype_of(x) == ig_dtype_of(like) && a.n == b.n &&
           memcmp(a.v, b.v, (size_t)a.n * sizeof *a.v) == 0 &&
           (!device || strcmp(device, ig_array_device(like)) == 0);
}

static int same_constant(PyObject *constant, PyObject *o)
{
    PyObject *value = PyObject_GetAttrString(constant, "value");
    const int same = !value                         ? -1
                     : value == o                   ? 1
                     : Py_TYPE(value) != Py_TYPE(o) ? 0
                                                    : PyObject_RichCompareBool(value, o, Py_EQ);
    Py_XDECREF(value);
    return same;
}

static int match(walk *w, PyObject *structure, PyObject *o);

static int match_dict(walk *w, PyObject *parts, PyObject *o)
{
    const Py_ssize_t n = PyTuple_Size(parts);
    if (!PyDict_CheckExact(o) || PyDict_Size(o) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyTuple_GetItem(parts, i);
        PyObject *item = PyDict_GetItemWithError(o, PyTuple_GetItem(pair, 0));
        const int same = item               ? match(w, PyTuple_GetItem(pair, 1), item)
                         : PyErr_Occurred() ? -1
                                            : 0;
        if (same != 1)
            return same;
    }
    return 1;
}

/* 1 if o has the structure; collects its arrays. -1 with an exception. */
static int match(walk *w, PyObject *structure, PyObject *o)
{
    if (!PyTuple_Check(structure)) {
        if (!is_array(o) || w->n == w->plan->n_in || !fits(array_of(o), w->plan->in[w->n]))
            return 0;
        w->in[w->n++] = array_of(o);
        return 1;
    }
    PyObject *kind = PyTuple_GetItem(structure, 0), *parts = PyTuple_GetItem(structure, 1);
    if (kind == (PyObject *)&PyDict_Type)
        return match_dict(w, parts, o);
    if (PyUnicode_Check(kind))
        return same_constant(parts, o);
    const bool list = kind == (PyObject *)&PyList_Type;
    if (list ? !PyList_CheckExact(o) : kind != (PyObject *)&PyTuple_Type || !PyTuple_CheckExact(o))
        return 0;
    const Py_ssize_t n = PyTuple_Size(parts);
    if ((list ? PyList_Size(o) : PyTuple_Size(o)) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const int same = match(w, PyTuple_GetItem(parts, i),
                               list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i));
        if (same != 1)
            return same;
    }
    return 1;
}

/* ---- results ---- */

/* The container of a structure with the arrays from *at on; NULL with an exception. */
static PyObject *rebuild(PyObject *structure, ig_array *const **at)
{
    if (!PyTuple_Check(structure))
        return array_wrap(ig_retain(*(*at)++));
    PyObject *kind = PyTuple_GetItem(structure, 0), *parts = PyTuple_GetItem(structure, 1);
    if (PyUnicode_Check(kind))
        return PyObject_GetAttrString(parts, "value");
    const bool dict = kind == (PyObject *)&PyDict_Type, list = kind == (PyObject *)&PyList_Type;
    const Py_ssize_t n = PyTuple_Size(parts);
    PyObject *all = dict ? PyDict_New() : list ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) {
        PyObject *part = PyTuple_GetItem(parts, i);
        PyObject *one = rebuild(dict ? PyTuple_GetItem(part, 1) : part, at);
        int set = -1;
        if (one && dict) {
            set = PyDict_SetItem(all, PyTuple_GetItem(part, 0), one);
            Py_DECREF(one);
        } else if (one) {
            set = list ? PyList_SetItem(all, i, one) : PyTuple_SetItem(all, i, one);
        }
        if (set < 0)
            Py_CLEAR(all);
    }
    return all;
}

/* True if only containers that rebuild and match know are in the structure. */
static bool is_plain(PyObject *structure)
{
    if (!PyTuple_Check(structure))
        return true;
    PyObject *kind = PyTuple_GetItem(structure, 0), *parts = PyTuple_GetItem(structure, 1);
    if (PyUnicode_Check(kind))
        return true;
    const bool dict = kind == (PyObject *)&PyDict_Type;
    if (!dict && kind != (PyObject *)&PyList_Type && kind != (PyObject *)&PyTuple_Type)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(parts); i++) {
        PyObject *part = PyTuple_GetItem(parts, i);
        if (!is_plain(dict ? PyTuple_GetItem(part, 1) : part))
            return false;
    }
    return true;
}

/* ---- plans ---- */

static PyObject *fn_compile(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *ins, *outs, *arguments, *results;
    int n_in = 0, n_out = 0;
    if (!PyArg_ParseTuple(args, "OOOO:_compile", &ins, &outs, &arguments, &results))
        return NULL;
    ig_array **in = array_list(ins, &n_in), **out = in ? array_list(outs, &n_out) : NULL;
    ig_compiled *c = NULL;
    if (out && enter()) {
        graph_lock();
        c = ig_compile(in, n_in, 0, out, n_out);
        graph_unlock();
        leave();
    }
    free(out);
    compiled_object *o = c ? PyObject_New(compiled_object, compiled_type) : NULL;
    if (!o) {
        free(in);
        ig_compiled_free(c);
        return raise_error();
    }
    for (int i = 0; i < n_in; i++)
        ig_retain(in[i]);
    o->c = c;
    o->in = in;
    o->n_in = n_in;
    o->n_out = n_out;
    o->arguments = Py_NewRef(arguments);
    o->results = Py_NewRef(results);
    return (PyObject *)o;
}

/* Runs the plan; the scope is open. False with an exception on failure. */
static bool run(const compiled_object *o, ig_array *const *in, ig_array **out)
{
    ig_status status;
    for (int i = 0; i < o->n_in; i++) /* another thread may assign to items of an Array meanwhile */
        ig_retain(in[i]);
    Py_BEGIN_ALLOW_THREADS status = ig_run(o->c, in, out);
    Py_END_ALLOW_THREADS for (int i = 0; i < o->n_in; i++) ig_release(in[i]);
    if (status != IG_OK)
        raise_stopped();
    return status == IG_OK;
}

/* run(inputs): the outputs for a list of inputs. */
static PyObject *compiled_run(PyObject *self, PyObject *list)
{
    const compiled_object *o = (compiled_object *)self;
    int n = 0;
    ig_array **in = array_list(list, &n),
             **out = in ? calloc((size_t)o->n_out + 1, sizeof *out) : NULL;
    PyObject *result = NULL;
    if (out && n != o->n_in)
        PyErr_Format(PyExc_TypeError, "the computation has %d inputs, not %d", o->n_in, n);
    else if (out && enter())
        result = run(o, in, out) ? leave_with_all(out, o->n_out, true) : leave_failed();
    free(in);
    free(out);
    return result;
}

/* call(args, kwargs): the results, or NotImplemented if the plan is for other arguments. */
static PyObject *compiled_call(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    const compiled_object *o = (compiled_object *)self;
    ig_array *few[64], **in = few, **out;
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "call takes the arguments and the keywords");
    if (o->n_in + o->n_out > 64 && !(in = malloc((size_t)(o->n_in + o->n_out) * sizeof *in)))
        return PyErr_NoMemory();
    out = in + o->n_in;
    walk w = {o, in, 0};
    PyObject *parts = PyTuple_GetItem(o->arguments, 1), *result = NULL;
    int same = match(&w, PyTuple_GetItem(parts, 0), args[0]);
    same = same == 1 ? match(&w, PyTuple_GetItem(parts, 1), args[1]) : same;
    if (same == 0) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (same == 1 && enter()) {
        ig_array *const *at = out;
        result = run(o, in, out) ? rebuild(o->results, &at) : NULL;
        leave();
    }
    if (in != few)
        free(in);
    return result;
}

static PyObject *get_plain(PyObject *self, void *unused)
{
    (void)unused;
    const compiled_object *o = (compiled_object *)self;
    return PyBool_FromLong(is_plain(o->arguments) && is_plain(o->results));
}

static void compiled_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    compiled_object *o = (compiled_object *)self;
    ig_compiled_free(o->c);
    for (int i = 0; i < o->n_in; i++)
        ig_release(o->in[i]);
    free(o->in);
    Py_XDECREF(o->arguments);
    Py_XDECREF(o->results);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef compiled_methods[] = {
    {"run", compiled_run, METH_O, "run(inputs, /)\n--\n\nThe outputs for a list of inputs."},
    {"call", (PyCFunction)(void (*)(void))compiled_call, METH_FASTCALL,
     "call(args, kwargs, /)\n--\n\nThe results, or NotImplemented if the plan is for other "
     "arguments."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef compiled_attributes[] = {
    {"plain", get_plain, NULL, "Whether call knows all containers of the plan.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot compiled_slots[] = {
    {Py_tp_dealloc, compiled_dealloc},
    {Py_tp_methods, compiled_methods},
    {Py_tp_getset, compiled_attributes},
    {Py_tp_doc, "A computation that is planned once and run many times."},
    {0, NULL},
};
static PyType_Spec compiled_spec = {"ingot._Compiled", sizeof(compiled_object), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    compiled_slots};

bool compiled_setup(PyObject *module)
{
    compiled_type = (PyTypeObject *)PyType_FromSpec(&compiled_spec);
    return compiled_type &&
           PyModule_AddObjectRef(module, "_Compiled", (PyObject *)compiled_type) == 0;
}

PyMethodDef compiled_functions[] = {
    {"_compile", fn_compile, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
