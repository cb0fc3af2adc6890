/* Compiled computations: what jit runs. A plan has inputs (placeholders), the structure of the arguments that it was traced
 * for, and the structure of its results. A call walks the arguments once, along the structure, and runs no Python code.
 *
 * A structure is made by tree_util.py: "*" for an array; float, int or complex for a number that is an input; ("=", constant)
 * for another value, (list, (part, ...)), (tuple, (part, ...)), (dict, ((key, part), ...)), (type, ("state", ((name, part), ...)))
 * for an object with state; the structures of other containers are left to Python. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

typedef struct compiled_object {
    PyObject ob_base;
    ig_compiled *c;
    int n_in, n_out;
    ig_array **in; /* the placeholders, owned */
    PyObject *arguments, *results;
    ig_dtype dtype; /* the defaults with which the function was traced */
    char device[64];
    uint64_t used; /* calls of all plans when it was last called */
} compiled_object;

static PyTypeObject *compiled_type, *jit_type;
static uint64_t calls;

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

/* Floats are the same if their bits are: -0.0 is not 0.0, and a NaN is a NaN. */
static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static int same_constant(PyObject *constant, PyObject *o)
{
    PyObject *value = PyObject_GetAttrString(constant, "value");
    int same;
    if (!value)
        same = -1;
    else if (value == o)
        same = 1;
    else if (Py_TYPE(value) != Py_TYPE(o))
        same = 0;
    else if (PyFloat_CheckExact(o))
        same = same_bits(PyFloat_AsDouble(value), PyFloat_AsDouble(o));
    else if (PyComplex_CheckExact(o))
        same = same_bits(PyComplex_RealAsDouble(value), PyComplex_RealAsDouble(o)) &&
               same_bits(PyComplex_ImagAsDouble(value), PyComplex_ImagAsDouble(o));
    else
        same = PyObject_RichCompareBool(value, o, Py_EQ);
    Py_XDECREF(value);
    return same;
}

/* Adds a real number as an input, in the dtype that the plan has for it. */
static int add_real(walk *w, double value)
{
    if (w->n == w->plan->n_in)
        return 0;
    const ig_dtype dtype = ig_dtype_of(w->plan->in[w->n]);
    ig_array *x = dtype == IG_F64 ? ig_float(value) : ig_scalar(value, dtype);
    if (!x)
        return raise_error(), -1;
    w->in[w->n++] = x;
    return 1;
}

/* Adds a number as an input; a complex one is two. The scope is open. */
static int add_number(walk *w, PyObject *o)
{
    if (PyFloat_Check(o))
        return add_real(w, PyFloat_AsDouble(o));
    if (PyComplex_Check(o)) {
        const int same = add_real(w, PyComplex_RealAsDouble(o));
        return same == 1 ? add_real(w, PyComplex_ImagAsDouble(o)) : same;
    }
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    ig_array *x = overflow || w->n == w->plan->n_in ? NULL : ig_int(value);
    if (!x)
        return 0;
    w->in[w->n++] = x;
    return 1;
}

static int match(walk *w, PyObject *structure, PyObject *o);

/* The keys must have the order of the structure, because results have it too. */
static int match_dict(walk *w, PyObject *parts, PyObject *o)
{
    const Py_ssize_t n = PyTuple_Size(parts);
    if (!PyDict_CheckExact(o) || PyDict_Size(o) != n)
        return 0;
    Py_ssize_t at = 0;
    PyObject *key, *item;
    for (Py_ssize_t i = 0; PyDict_Next(o, &at, &key, &item); i++) {
        PyObject *pair = PyTuple_GetItem(parts, i), *own = pair ? PyTuple_GetItem(pair, 0) : NULL;
        if (!own)
            return -1;
        int same = own == key                     ? 1
                   : Py_TYPE(own) != Py_TYPE(key) ? 0
                                                  : PyObject_RichCompareBool(own, key, Py_EQ);
        same = same == 1 ? match(w, PyTuple_GetItem(pair, 1), item) : same;
        if (same != 1)
            return same;
    }
    return 1;
}

/* The parts of an object with state, or NULL for other containers. */
static PyObject *state_parts(PyObject *parts)
{
    PyObject *mark =
        PyTuple_Check(parts) && PyTuple_Size(parts) == 2 ? PyTuple_GetItem(parts, 0) : NULL;
    return mark && PyUnicode_Check(mark) && PyUnicode_CompareWithASCIIString(mark, "state") == 0
               ? PyTuple_GetItem(parts, 1)
               : NULL;
}

/* 1 if the attributes of o have the parts. */
static int match_state(walk *w, PyObject *kind, PyObject *parts, PyObject *o)
{
    PyObject *attributes =
        (PyObject *)Py_TYPE(o) == kind ? PyObject_GetAttrString(o, "__dict__") : NULL;
    const int same = attributes ? match_dict(w, parts, attributes) : PyErr_Occurred() ? -1 : 0;
    Py_XDECREF(attributes);
    return same;
}

/* 1 if o has the structure; collects its arrays and numbers. -1 with an exception. */
static int match(walk *w, PyObject *structure, PyObject *o)
{
    if (!PyTuple_Check(structure)) {
        if (!PyUnicode_Check(structure))
            return (PyObject *)Py_TYPE(o) == structure ? add_number(w, o) : 0;
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
    if (!list && kind != (PyObject *)&PyTuple_Type)
        return match_state(w, kind, state_parts(parts), o);
    if (list ? !PyList_CheckExact(o) : !PyTuple_CheckExact(o))
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

/* True if only containers that match knows are in the structure, or, for results, those that rebuild knows. */
static bool is_plain(PyObject *structure, bool results)
{
    if (!PyTuple_Check(structure))
        return true;
    PyObject *kind = PyTuple_GetItem(structure, 0), *parts = PyTuple_GetItem(structure, 1);
    if (PyUnicode_Check(kind)) { /* equal containers may have parts of other types */
        PyObject *value = PyObject_GetAttrString(parts, "value");
        const bool plain = value && !PyTuple_Check(value) && !PyList_Check(value) &&
                           !PyDict_Check(value) && !PyAnySet_Check(value);
        Py_XDECREF(value);
        return plain || results;
    }
    bool named = kind == (PyObject *)&PyDict_Type;
    if (!named && kind != (PyObject *)&PyList_Type && kind != (PyObject *)&PyTuple_Type) {
        parts = results || !PyTuple_Check(parts) ? NULL : state_parts(parts);
        named = parts != NULL;
        if (!named)
            return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(parts); i++) {
        PyObject *part = PyTuple_GetItem(parts, i);
        if (!is_plain(named ? PyTuple_GetItem(part, 1) : part, results))
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
    o->used = ++calls;
    o->dtype = ig_default_dtype();
    PyOS_snprintf(o->device, sizeof o->device, "%s", ig_device());
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

/* run(inputs): the outputs for a list of inputs, arrays and numbers. */
static PyObject *compiled_run(PyObject *self, PyObject *list)
{
    compiled_object *o = (compiled_object *)self;
    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "expected a list, not %R", Py_TYPE(list));
    ig_array **in = calloc((size_t)(o->n_in + o->n_out) + 1, sizeof *in), **out = in + o->n_in;
    if (!in)
        return PyErr_NoMemory();
    walk w = {o, in, 0};
    PyObject *result = NULL;
    int fine = enter() ? 1 : -1;
    const bool entered = fine == 1;
    for (Py_ssize_t i = 0; fine == 1 && i < PyList_Size(list); i++) {
        PyObject *one = PyList_GetItem(list, i);
        if (is_array(one) && w.n < o->n_in)
            in[w.n++] = array_of(one);
        else
            fine = !is_array(one) && is_number(one) ? add_number(&w, one) : 0;
    }
    if (fine == 0 || (fine == 1 && w.n != o->n_in))
        PyErr_Format(PyExc_TypeError, "the computation has %d inputs", o->n_in);
    o->used = ++calls;
    if (entered)
        result = !PyErr_Occurred() && run(o, in, out) ? leave_with_all(out, o->n_out, true)
                                                      : leave_failed();
    free(in);
    return result;
}

/* The results for arguments, or NotImplemented if the plan is for other arguments. The scope is open. */
static PyObject *call_plan(compiled_object *o, PyObject *const *args, Py_ssize_t n)
{
    ig_array *few[64], **in = few, **out;
    if (o->n_in + o->n_out > 64 && !(in = malloc((size_t)(o->n_in + o->n_out) * sizeof *in)))
        return PyErr_NoMemory();
    out = in + o->n_in;
    walk w = {o, in, 0};
    PyObject *parts = PyTuple_GetItem(o->arguments, 1), *result = NULL;
    int same = PyTuple_Size(parts) == n && o->dtype == ig_default_dtype() &&
               strcmp(o->device, ig_device()) == 0;
    for (Py_ssize_t i = 0; i < n && same == 1; i++)
        same = match(&w, PyTuple_GetItem(parts, i), args[i]);
    if (same == 0) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (same == 1) {
        ig_array *const *at = out;
        o->used = ++calls;
        result = run(o, in, out) ? rebuild(o->results, &at) : NULL;
    }
    if (in != few)
        free(in);
    return result;
}

static PyObject *get_plain(PyObject *self, void *unused)
{
    (void)unused;
    const compiled_object *o = (compiled_object *)self;
    return PyBool_FromLong(is_plain(o->arguments, false) && is_plain(o->results, true));
}

static PyObject *get_used(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((compiled_object *)self)->used);
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
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef compiled_attributes[] = {
    {"plain", get_plain, NULL, "Whether a _Jit can call the plan: it knows all containers.", NULL},
    {"used", get_used, NULL, "A number that grows with each call of any plan, of the last call.",
     NULL},
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

/* ---- the functions that jit returns ---- */

enum { PLANS_AT_HAND = 8 };

/* A compiled function: the plans that were used last, the places of the values from outside that the function uses, and
 * the Python function that makes other plans. */
typedef struct jit_object {
    PyObject ob_base;
    PyObject *slow;    /* slow(args, kwargs) */
    PyObject *sources; /* a tuple of (dict, key) or (cell, None) */
    PyObject *plan[PLANS_AT_HAND];
    int n;
} jit_object;

/* The values from outside of the function; NULL without an exception if one is gone. */
static PyObject *values_outside(const jit_object *o)
{
    const Py_ssize_t n = PyTuple_Size(o->sources);
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) {
        PyObject *source = PyTuple_GetItem(o->sources, i), *place = PyTuple_GetItem(source, 0);
        PyObject *one = PyDict_Check(place)
                            ? Py_XNewRef(PyDict_GetItemWithError(place, PyTuple_GetItem(source, 1)))
                            : PyObject_GetAttrString(place, "cell_contents");
        if (!one || PyTuple_SetItem(all, i, one) < 0)
            Py_CLEAR(all);
    }
    if (!all)
        PyErr_Clear();
    return all;
}

/* call(args, kwargs): the result of a plan at hand, or of slow. */
static PyObject *jit_call(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    jit_object *o = (jit_object *)self;
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "call takes the arguments and the keywords");
    PyObject *result = Py_NewRef(Py_NotImplemented);
    PyObject *outside = o->n && !trace_is_open() ? values_outside(o) : NULL;
    if (outside && enter()) {
        PyObject *const all[] = {args[0], args[1], outside};
        for (int i = 0; i < o->n && result == Py_NotImplemented; i++) {
            PyObject *plan =
                Py_NewRef(o->plan[i]); /* another thread may change the list meanwhile */
            Py_DECREF(result);
            result = call_plan((compiled_object *)plan, all, 3);
            if (i && i < o->n && o->plan[i] == plan && result != Py_NotImplemented) {
                memmove(o->plan + 1, o->plan, (size_t)i * sizeof *o->plan);
                o->plan[0] = plan;
            }
            Py_DECREF(plan);
        }
        leave();
    }
    Py_XDECREF(outside);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    return PyObject_CallFunctionObjArgs(o->slow, args[0], args[1], NULL);
}

/* keep(plan): calls try the plan first. */
static PyObject *jit_keep(PyObject *self, PyObject *plan)
{
    jit_object *o = (jit_object *)self;
    if (Py_TYPE(plan) != compiled_type)
        return PyErr_Format(PyExc_TypeError, "expected a plan, not %R", Py_TYPE(plan));
    int at = 0;
    while (at < o->n && o->plan[at] != plan)
        at++;
    PyObject *old = at < o->n ? plan : at < PLANS_AT_HAND ? NULL : o->plan[--at];
    o->n = at == o->n ? at + 1 : o->n;
    Py_INCREF(plan);
    memmove(o->plan + 1, o->plan, (size_t)at * sizeof *o->plan);
    o->plan[0] = plan;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* forget(plan) drops a plan; forget(None) drops all of them. */
static PyObject *jit_forget(PyObject *self, PyObject *plan)
{
    jit_object *o = (jit_object *)self;
    for (int i = o->n - 1; i >= 0; i--) {
        PyObject *old = o->plan[i];
        if (plan != Py_None && old != plan)
            continue;
        memmove(o->plan + i, o->plan + i + 1, (size_t)(o->n - i - 1) * sizeof *o->plan);
        o->n--;
        Py_DECREF(old);
    }
    Py_RETURN_NONE;
}

static PyObject *get_sources(PyObject *self, void *unused)
{
    return (void)unused, Py_NewRef(((jit_object *)self)->sources);
}

static int set_sources(PyObject *self, PyObject *sources, void *unused)
{
    (void)unused;
    jit_object *o = (jit_object *)self;
    if (!sources || !PyTuple_Check(sources)) {
        PyErr_SetString(PyExc_TypeError, "sources is a tuple");
        return -1;
    }
    PyObject *old = o->sources;
    o->sources = Py_NewRef(sources);
    Py_DECREF(old);
    return 0;
}

static int jit_traverse(PyObject *self, visitproc visit, void *arg)
{
    jit_object *o = (jit_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(o->slow);
    Py_VISIT(o->sources);
    return 0;
}

static int jit_clear(PyObject *self)
{
    jit_object *o = (jit_object *)self;
    Py_CLEAR(o->slow);
    jit_forget(self, Py_None);
    return 0;
}

static void jit_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    jit_clear(self);
    Py_XDECREF(((jit_object *)self)->sources);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *fn_jit(PyObject *self, PyObject *slow)
{
    (void)self;
    jit_object *o = PyObject_GC_New(jit_object, jit_type);
    if (!o)
        return NULL;
    o->n = 0;
    o->slow = Py_NewRef(slow);
    o->sources = PyTuple_New(0);
    PyObject_GC_Track((PyObject *)o);
    return (PyObject *)o;
}

static PyMethodDef jit_methods[] = {
    {"call", (PyCFunction)(void (*)(void))jit_call, METH_FASTCALL,
     "call(args, kwargs, /)\n--\n\nThe result of the function."},
    {"keep", jit_keep, METH_O, "keep(plan, /)\n--\n\nCalls try the plan first."},
    {"forget", jit_forget, METH_O, "forget(plan, /)\n--\n\nDrops a plan, or all for None."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef jit_attributes[] = {
    {"sources", get_sources, set_sources,
     "Where the values are that the function uses from outside.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot jit_slots[] = {
    {Py_tp_dealloc, jit_dealloc},
    {Py_tp_traverse, jit_traverse},
    {Py_tp_clear, jit_clear},
    {Py_tp_methods, jit_methods},
    {Py_tp_getset, jit_attributes},
    {Py_tp_doc, "The plans of a compiled function."},
    {0, NULL},
};
static PyType_Spec jit_spec = {
    "ingot._Jit", sizeof(jit_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC, jit_slots};

bool compiled_setup(PyObject *module)
{
    compiled_type = (PyTypeObject *)PyType_FromSpec(&compiled_spec);
    jit_type = (PyTypeObject *)PyType_FromSpec(&jit_spec);
    return compiled_type && jit_type &&
           PyModule_AddObjectRef(module, "_Compiled", (PyObject *)compiled_type) == 0;
}

PyMethodDef compiled_functions[] = {
    {"_compile", fn_compile, METH_VARARGS, NULL},
    {"_jit", fn_jit, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
