/* Every op as a Python function, from the op table. One function serves all ops: it converts the arguments as the
 * parameters of the op say. An op object is a module function (as the self of a built-in function) and a method of
 * Array (as a descriptor). Methods have the array as their first argument. */
#include "common.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 16, MAX_INTS = 256, MAX_RESULTS = 1024, ARRAYS_ROOM = 64 };

/* One op. */
typedef struct op_entry {
    const ig_op *op;
    PyMethodDef function; /* doc included */
    PyObject *names[MAX_PARAMS];
    PyTypeObject *results; /* of a tuple with names, or NULL */
    int n_results;
    const struct op_entry *logical; /* the op for bools: any for max; or NULL */
    int view;                       /* of results that NumPy gives as views: see view_op_find */
    bool places;                    /* makes arrays: takes device */
    bool flattens;                  /* take: without an axis it takes from all elements */
    bool casts;                     /* astype: with copy=False the array itself may be the result */
    bool along; /* dim= selects PyTorch's function, with other results: see _tensor.py */
    bool
        asks; /* the caller says which results there are (return_index, ...): a single one is no list */
} op_entry;

typedef struct op_object {
    PyObject ob_base;
    const op_entry *entry;
    PyObject *array; /* the first argument of a bound method, or NULL */
} op_object;

PyTypeObject *op_type;

/* Memory of one call's arguments. */
typedef struct arguments {
    const op_entry *entry;
    ig_arg arg[MAX_PARAMS + 1];
    int n;
    const char *device;
    int64_t ints[MAX_INTS];
    int n_ints;
    ig_array *arrays[ARRAYS_ROOM];
    int n_arrays;
    PyObject *kept;  /* a list of objects that live until the call ends, or NULL */
    PyObject *first; /* the first argument, if its results may be views of it; or NULL */
} arguments;

/* ---- one argument ---- */

static bool has(const ig_param *p, ig_kind kind) { return p->kinds >> kind & 1; }

static bool wrong_type(const arguments *a, const ig_param *p, PyObject *o)
{
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: %s cannot be %R; it takes (%s)", a->entry->op->name,
                     p->name, Py_TYPE(o), a->entry->op->signature);
    return false;
}

static bool set_array(arguments *a, ig_arg *to, const ig_param *p, PyObject *o)
{
    const bool second = to != a->arg && a->arg[0].kind == IG_ARG_ARRAY;
    to->u.array = to_array_like(o, second ? ig_dtype_of(a->arg[0].u.array) : IG_DTYPE_NONE);
    to->kind = IG_ARG_ARRAY;
    return to->u.array || wrong_type(a, p, o);
}

/* Keeps an object until the end of the call. Takes the reference. */
static bool keep(arguments *a, PyObject *o)
{
    if (!a->kept)
        a->kept = PyList_New(0);
    const bool added = o && a->kept && PyList_Append(a->kept, o) == 0;
    Py_XDECREF(o);
    return added;
}

/* Room for n arrays: of the call, or in an object for a long list. NULL on failure. */
static ig_array **room_for(arguments *a, Py_ssize_t n)
{
    if (n <= ARRAYS_ROOM - a->n_arrays) {
        a->n_arrays += (int)n;
        return a->arrays + a->n_arrays - n;
    }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(ig_array *));
    return keep(a, bytes) ? (ig_array **)(void *)PyBytes_AsString(bytes) : NULL;
}

/* Takes the reference of the list. It is kept, since its items may have no other owner, as rows of an array. */
static bool set_arrays(arguments *a, ig_arg *to, PyObject *list)
{
    const Py_ssize_t n = list ? PyList_Size(list) : 0;
    if (!keep(a, list))
        return false;
    if (n > INT_MAX)
        return PyErr_SetString(PyExc_ValueError, "a list of more than 2147483647 arrays"), false;
    for (Py_ssize_t i = 0; i < n; i++)
        follow_device(PyList_GetItem(list, i));
    ig_array **all = room_for(a, n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!all || !(all[i] = to_array(PyList_GetItem(list, i))))
            return false;
    to->kind = IG_ARG_ARRAYS;
    to->u.arrays.v = all;
    to->u.arrays.n = (int)n;
    return true;
}

static PyObject *list_of(PyObject *const *items, Py_ssize_t n)
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; i++)
        PyList_SetItem(list, i, Py_NewRef(items[i]));
    return list;
}

static bool set_sequence(arguments *a, ig_arg *to, const ig_param *p, PyObject *o)
{
    if (has(p, IG_ARG_ARRAYS))
        return set_arrays(a, to, PySequence_List(o));
    if (!has(p, IG_ARG_INTS))
        return has(p, IG_ARG_ARRAY) ? set_array(a, to, p, o) : wrong_type(a, p, o);
    int64_t *v = a->ints + a->n_ints;
    const int n = to_ints(o, v, MAX_INTS - a->n_ints);
    if (n < 0 && has(p, IG_ARG_ARRAY)) { /* as for quantiles: floats */
        PyErr_Clear();
        return set_array(a, to, p, o);
    }
    a->n_ints += n > 0 ? n : 0;
    to->kind = IG_ARG_INTS;
    to->u.ints = (ig_ints){v, n};
    return n >= 0;
}

/* Integers beyond 64 bits are clipped: as lengths, axes and offsets they are out of range in the same way. */
static bool set_int(ig_arg *to, PyObject *o)
{
    int overflow = 0;
    to->kind = IG_ARG_INT;
    to->u.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow)
        to->u.i = overflow > 0 ? INT64_MAX : INT64_MIN;
    return !PyErr_Occurred();
}

static bool set_number(arguments *a, ig_arg *to, const ig_param *p, PyObject *o)
{
    if (PyBool_Check(o) && has(p, IG_ARG_BOOL)) {
        to->kind = IG_ARG_BOOL;
        to->u.b = o == Py_True;
        return true;
    }
    if (has(p, IG_ARG_ARRAY)) {
        to->kind = IG_ARG_ARRAY;
        return (to->u.array = number_array(o)) != NULL;
    }
    if (PyLong_Check(o) && (has(p, IG_ARG_INT) || has(p, IG_ARG_INTS)))
        return set_int(to, o);
    if (PyComplex_Check(o) || !has(p, IG_ARG_FLOAT)) {
        if (PyLong_Check(o) && has(p, IG_ARG_BOOL)) {
            to->kind = IG_ARG_BOOL;
            to->u.b = PyObject_IsTrue(o) > 0;
            return true;
        }
        return wrong_type(a, p, o);
    }
    to->kind = IG_ARG_FLOAT;
    to->u.f = PyFloat_AsDouble(o);
    return !PyErr_Occurred();
}

/* A 0-d array, or an object such as numpy.int64, where a number is wanted. */
static bool set_scalar_object(arguments *a, ig_arg *to, const ig_param *p, PyObject *o)
{
    const bool whole = is_array(o) ? ig_isdtype(array_dtype(o), "integral") : PyIndex_Check(o);
    PyObject *number = NULL;
    if (whole)
        number = PyNumber_Index(o);
    else if (has(p, IG_ARG_BOOL) && (!is_array(o) || ig_dtype_of(array_of(o)) == IG_BOOL))
        number = PyBool_FromLong(PyObject_IsTrue(o) > 0);
    else if (has(p, IG_ARG_FLOAT))
        number = PyNumber_Float(o);
    if (!number)
        return wrong_type(a, p, o);
    const bool set = set_number(a, to, p, number);
    Py_DECREF(number);
    return set;
}

static bool set_text(arguments *a, ig_arg *to, const ig_param *p, PyObject *o)
{
    if (has(p, IG_ARG_DTYPE)) {
        to->kind = IG_ARG_DTYPE;
        return to_dtype(o, &to->u.dtype);
    }
    if (!has(p, IG_ARG_STRING))
        return wrong_type(a, p, o);
    to->kind = IG_ARG_STRING;
    return (to->u.str = PyUnicode_AsUTF8AndSize(o, NULL)) != NULL;
}

static bool set_argument(arguments *a, ig_arg *to, const ig_param *p, PyObject *o)
{
    if (is_array(o) && has(p, IG_ARG_ARRAY)) {
        to->kind = IG_ARG_ARRAY;
        to->u.array = array_of(o);
        return true;
    }
    if (o == Py_None) {
        to->kind = IG_ARG_NONE;
        /* It would mean the default, the last axis or the first. NumPy's functions flatten: see call_extended. */
        return p->def.kind != IG_ARG_INT || has(p, IG_ARG_NONE) || strcmp(p->name, "axis") != 0 ||
               (PyErr_Format(PyExc_TypeError, "%s: axis cannot be None; flatten the array first",
                             a->entry->op->name),
                false);
    }
    if (is_number(o))
        return set_number(a, to, p, o);
    if (PyUnicode_Check(o))
        return set_text(a, to, p, o);
    if (has(p, IG_ARG_DTYPE) &&
        (Py_TYPE(o) == dtype_type || PyType_Check(o) || !has(p, IG_ARG_ARRAY))) {
        to->kind = IG_ARG_DTYPE;
        return to_dtype(o, &to->u.dtype);
    }
    if (PyList_Check(o) || PyTuple_Check(o))
        return set_sequence(a, to, p, o);
    if (has(p, IG_ARG_ARRAY))
        return set_array(a, to, p, o);
    if (has(p, IG_ARG_ARRAYS) || (has(p, IG_ARG_INTS) && (!is_array(o) || ig_ndim(array_of(o)))))
        return PySequence_Check(o) ? set_sequence(a, to, p, o) : set_scalar_object(a, to, p, o);
    return set_scalar_object(a, to, p, o);
}

/* ---- all arguments ---- */

static bool too_many(const op_entry *e)
{
    PyErr_Format(PyExc_TypeError, "%s: too many arguments; it takes (%s)", e->op->name,
                 e->op->signature);
    return false;
}

static bool set_positional(arguments *a, PyObject *const *args, Py_ssize_t n)
{
    const ig_op *op = a->entry->op;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (i >= op->n_params)
            return too_many(a->entry);
        const ig_param *p = &op->params[i];
        ig_arg *to = &a->arg[a->n++];
        to->name = NULL;
        if (p->variadic) {
            const bool list = n - i == 1 && (PyList_Check(args[i]) || PyTuple_Check(args[i]));
            return list ? set_sequence(a, to, p, args[i])
                        : set_arrays(a, to, list_of(args + i, n - i));
        }
        if (!set_argument(a, to, p, args[i]))
            return false;
    }
    return true;
}

/* The parameter of a keyword. Names are interned, so a pointer is usually enough. */
static const ig_param *find_param(const op_entry *e, PyObject *name)
{
    for (int i = 0; i < e->op->n_params; i++)
        if (e->names[i] == name)
            return &e->op->params[i];
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text && !(e->along && strcmp(text, "dim") == 0) ? ig_op_param(e->op, text) : NULL;
}

static bool set_keyword(arguments *a, PyObject *name, PyObject *value)
{
    const op_entry *e = a->entry;
    const ig_param *p = find_param(e, name);
    if (!p && e->places && PyUnicode_CompareWithASCIIString(name, "device") == 0) {
        a->device = value == Py_None ? NULL : PyUnicode_AsUTF8AndSize(value, NULL);
        return value == Py_None || a->device;
    }
    if (!p) {
        char known[64] = "";
        const char *word = PyUnicode_AsUTF8AndSize(name, NULL);
        snprintf(known, sizeof known, "keyword.%.40s", word ? word : "");
        const ig_advice *advice = ig_advice_find(known);
        advice = advice && strcmp(advice->module, "keyword") == 0 ? advice : NULL;
        PyErr_Format(PyExc_TypeError, "%s has no argument '%U'%s%s; it takes (%s)", e->op->name,
                     name, advice ? ": " : "", advice ? advice->text : "", e->op->signature);
        return false;
    }
    for (int i = 0; i < a->n; i++) {
        const ig_param *other =
            a->arg[i].name ? ig_op_param(e->op, a->arg[i].name) : &e->op->params[i];
        if (other == p)
            return PyErr_Format(PyExc_TypeError, "%s: %s is given twice", e->op->name, p->name),
                   false;
    }
    ig_arg *to = &a->arg[a->n++];
    to->name = p->name;
    return set_argument(a, to, p, value);
}

static bool check_required(const arguments *a, Py_ssize_t positional)
{
    const ig_op *op = a->entry->op;
    for (Py_ssize_t i = positional; i < op->n_params; i++) {
        bool given = !op->params[i].required;
        for (int j = 0; j < a->n && !given; j++)
            given = a->arg[j].name == op->params[i].name;
        if (!given)
            return PyErr_Format(PyExc_TypeError, "%s: %s is missing; it takes (%s)", op->name,
                                op->params[i].name, op->signature),
                   false;
    }
    return true;
}

/* ---- the call ---- */

/* Builds the results. An op whose shape depends on data evaluates, so it runs without the GIL. */
static int build(const arguments *a, ig_array **out)
{
    const ig_op *op = a->entry->op;
    if (!op->evaluates)
        return ig_call_op(op, a->arg, a->n, out, MAX_RESULTS);
    int n;
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    n = ig_call_op(op, a->arg, a->n, out, MAX_RESULTS);
    graph_unlock();
    Py_END_ALLOW_THREADS return n;
}

/* True if the op is unstack along an axis of length 0, for which the library has no result and Python an empty tuple.
 * Discards the error. */
static bool is_unstack_of_nothing(const arguments *a)
{
    int64_t axis = 0;
    if (strcmp(a->entry->op->name, "unstack") != 0 || a->arg[0].kind != IG_ARG_ARRAY)
        return false;
    for (int i = 1; i < a->n; i++)
        axis = a->arg[i].kind == IG_ARG_INT ? a->arg[i].u.i : axis;
    return ig_dim(a->arg[0].u.array, (int)axis) == 0 && (ig_error(NULL), true);
}

/* A result that may be a view of the first argument. */
static PyObject *wrapped(const arguments *a, ig_array *x, int64_t *start)
{
    const ig_op *op = a->entry->op;
    const ig_arg *given[MAX_PARAMS] = {NULL};
    region r;
    if (!a->first || !x)
        return array_wrap(ig_retain(x));
    for (int i = 0; i < a->n; i++) {
        const ig_param *p = a->arg[i].name ? ig_op_param(op, a->arg[i].name) : &op->params[i];
        given[p - op->params] = &a->arg[i];
    }
    array_region(a->first, &r);
    return view_of_op(a->entry->view, given, ig_shape(x), start, &r)
               ? view_new(a->first, &r, ig_retain(x))
               : array_wrap(ig_retain(x));
}

static PyObject *leave_with_result(const arguments *a, ig_array *x)
{
    int64_t start = 0;
    PyObject *one = wrapped(a, x, &start);
    leave();
    return one;
}

static PyObject *leave_with_results(const arguments *a, ig_array *const *x, int n)
{
    int64_t start = 0;
    PyObject *all = PyTuple_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *one = wrapped(a, x[i], &start);
        if (!one || PyTuple_SetItem(all, i, one) < 0)
            Py_CLEAR(all);
    }
    leave();
    return all;
}

/* Leaves the scope with a list of results, as a tuple, with names if the op has them. The list may be empty. */
static PyObject *results(const arguments *a, ig_array **out, int n)
{
    const op_entry *e = a->entry;
    if (!n && !is_unstack_of_nothing(a))
        return leave_failed();
    /* Splitting a random key gives one array of keys. */
    const bool keys =
        n == 1 && a->arg[0].kind == IG_ARG_ARRAY && ig_ndim(out[0]) > ig_ndim(a->arg[0].u.array);
    if (n == 1 && (e->asks || keys))
        return leave_with(out[0]);
    PyObject *all = a->first ? leave_with_results(a, out, n) : leave_with_all(out, n, false);
    if (!all || !e->results || n != e->n_results)
        return all;
    PyObject *named = PyStructSequence_New(e->results);
    for (int i = 0; named && i < n; i++)
        PyStructSequence_SetItem(named, i, Py_NewRef(PyTuple_GetItem(all, i)));
    Py_DECREF(all);
    return named;
}

/* Calls the op with another current device, where new arrays are made; results of arrays are moved there. */
static PyObject *call_on(arguments *a, ig_array **out)
{
    char before[64];
    snprintf(before, sizeof before, "%s", ig_device());
    if (ig_set_device(a->device) != IG_OK)
        return leave_failed();
    const int n = build(a, out);
    ig_set_device(before);
    return leave_with(n ? placed(out[0], a->device) : NULL);
}

/* Arguments that do not fit the op may fit a function of the alias table with its name: round(x, 2). Called with the
 * TypeError raised; keeps it if there is none. */
static PyObject *call_extended(const op_entry *e, PyObject *const *args, Py_ssize_t n,
                               PyObject *names)
{
    PyObject *type, *value, *trace, *result = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *list = PyTuple_New(n), *keywords = PyDict_New(),
             *name = PyUnicode_FromString("ingot._names");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    for (Py_ssize_t i = 0; list && i < n; i++)
        PyTuple_SetItem(list, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; keywords && names && i < PyTuple_Size(names); i++)
        PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[n + i]);
    if (list && keywords && module)
        result = PyObject_CallMethod(module, "extended", "sOO", e->op->name, list, keywords);
    Py_XDECREF(list);
    Py_XDECREF(keywords);
    Py_XDECREF(name);
    Py_XDECREF(module);
    if (result == Py_NotImplemented || (!result && !PyErr_Occurred())) {
        Py_XDECREF(result);
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

/* The Array that is the first parameter, or NULL. */
static PyObject *first_array(const op_entry *e, PyObject *const *args, Py_ssize_t n,
                             PyObject *names)
{
    PyObject *first = n ? args[0] : NULL;
    for (Py_ssize_t i = 0; !n && names && i < PyTuple_Size(names); i++)
        if (PyTuple_GetItem(names, i) == e->names[0])
            first = args[i];
    return first && is_array(first) ? first : NULL;
}

/* Whether the op has another op for bools, and all arrays have this dtype. The largest of no elements is an error. */
static bool is_logical(const arguments *a)
{
    if (!a->entry->logical)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].kind == IG_ARG_ARRAY &&
            (ig_dtype_of(a->arg[i].u.array) != IG_BOOL || !ig_size(a->arg[i].u.array)))
            return false;
    return true;
}

/* Whether the op is astype with copy=False, and the array has the dtype. */
static bool keeps_dtype(const arguments *a)
{
    bool copies = true;
    ig_dtype dtype = IG_DTYPE_NONE;
    if (!a->entry->casts || a->device || a->arg[0].kind != IG_ARG_ARRAY)
        return false;
    for (int i = 0; i < a->n; i++) {
        copies = a->arg[i].kind == IG_ARG_BOOL ? a->arg[i].u.b : copies;
        dtype = a->arg[i].kind == IG_ARG_DTYPE ? a->arg[i].u.dtype : dtype;
    }
    return !copies && dtype == ig_dtype_of(a->arg[0].u.array);
}

/* Whether the op is take without an axis of an array of several dimensions. */
static bool takes_flat(const arguments *a)
{
    if (!a->entry->flattens || a->arg[0].name || ig_ndim(a->arg[0].u.array) == 1)
        return false;
    for (int i = 1; i < a->n; i++)
        if (a->arg[i].kind != IG_ARG_NONE &&
            (a->arg[i].name ? strcmp(a->arg[i].name, "axis") == 0 : i == 2))
            return false;
    return true;
}

/* Reads the arguments and builds the results; leaves the open scope. */
static PyObject *call_with(arguments *a, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    const op_entry *e = a->entry;
    ig_array *one, **out = &one;
    bool set = set_positional(a, args, n);
    const Py_ssize_t n_names = set && names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < n_names && set; i++)
        set = set_keyword(a, PyTuple_GetItem(names, i), args[n + i]);
    if (!set || !check_required(a, n)) {
        leave_failed();
        return PyErr_ExceptionMatches(PyExc_TypeError) ? call_extended(e, args, n, names) : NULL;
    }
    if (is_logical(a))
        a->entry = e = e->logical;
    if (takes_flat(a) && !(a->arg[0].u.array = ig_flatten(a->arg[0].u.array, 0, -1)))
        return leave_failed();
    if (e->view >= 0)
        a->first = first_array(e, args, n, names);
    PyObject *first = keeps_dtype(a) ? first_array(e, args, n, names) : NULL;
    if (first)
        return leave(), Py_NewRef(first);
    if (a->device)
        return call_on(a, out);
    if (!e->op->gives_list) {
        const int made = build(a, out);
        return !made ? leave_failed() : a->first ? leave_with_result(a, one) : leave_with(one);
    }
    if (!(out = malloc(MAX_RESULTS * sizeof *out))) {
        leave();
        return PyErr_NoMemory();
    }
    const int made = build(a, out);
    PyObject *all = results(a, out, made);
    free(out);
    return all;
}

static PyObject *call(const op_entry *e, PyObject *first, PyObject *const *args, Py_ssize_t n,
                      PyObject *names)
{
    arguments a;
    PyObject *shifted[MAX_PARAMS + 1];
    a.entry = e;
    a.n = a.n_ints = a.n_arrays = 0;
    a.device = NULL;
    a.kept = a.first = NULL;
    if (first) {
        const Py_ssize_t given = n + (names ? PyTuple_Size(names) : 0);
        if (given > MAX_PARAMS)
            return too_many(e), NULL;
        shifted[0] = first;
        memcpy(shifted + 1, args, (size_t)given * sizeof *args);
        args = shifted;
        n++;
    }
    if (!enter())
        return NULL;
    for (Py_ssize_t i = 0; i < n + (names ? PyTuple_Size(names) : 0); i++)
        follow_device(args[i]);
    PyObject *result = call_with(&a, args, n, names);
    Py_XDECREF(a.kept);
    return result;
}

static PyObject *op_function(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    const op_object *o = (op_object *)self;
    return call(o->entry, o->array, args, n, names);
}

/* ---- op objects ---- */

static PyObject *op_new(const op_entry *e, PyObject *array)
{
    op_object *o = PyObject_New(op_object, op_type);
    if (!o)
        return NULL;
    o->entry = e;
    o->array = Py_XNewRef(array);
    return (PyObject *)o;
}

static PyObject *op_function_new(const op_entry *e, PyObject *array)
{
    PyObject *o = op_new(e, array);
    static PyObject *module;
    if (!module)
        module = PyUnicode_InternFromString("ingot");
    PyObject *f = o ? PyCFunction_NewEx((PyMethodDef *)&e->function, o, module) : NULL;
    Py_XDECREF(o);
    return f;
}

static PyObject *op_get(PyObject *self, PyObject *array, PyObject *type)
{
    (void)type;
    const op_entry *e = ((op_object *)self)->entry;
    return op_function_new(e, array == Py_None ? NULL : array);
}

static void op_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((op_object *)self)->array);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A function is pickled as the attribute of its object: of an array, or of an object whose attributes are all ops. */
static PyObject *op_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *array = ((op_object *)self)->array;
    PyObject *module = PyImport_ImportModule(array ? "ingot._ingot" : "ingot._names");
    PyObject *make = module ? PyObject_GetAttrString(module, array ? "asarray" : "op_space") : NULL;
    Py_XDECREF(module);
    if (!make)
        return NULL;
    return array ? Py_BuildValue("(N(O))", make, array) : Py_BuildValue("(N())", make);
}

static PyMethodDef op_methods[] = {
    {"__reduce__", op_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot op_slots[] = {
    {Py_tp_descr_get, op_get},
    {Py_tp_methods, op_methods},
    {Py_tp_dealloc, op_dealloc},
    {Py_tp_doc, "A row of the op table."},
    {0, NULL},
};
static PyType_Spec op_spec = {"ingot._op", sizeof(op_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, op_slots};

/* ---- setup ---- */

static bool entry_init(op_entry *e, const ig_op *op)
{
    e->op = op;
    e->view = view_op_find(op->name);
    e->casts = strcmp(op->name, "astype") == 0;
    e->flattens = strcmp(op->name, "take") == 0;
    e->places = strcmp(op->cls, "source") == 0 || strstr(op->name, "fftfreq") || e->casts;
    e->function = (PyMethodDef){op->name, (PyCFunction)(void (*)(void))op_function,
                                METH_FASTCALL | METH_KEYWORDS, op_doc(op, e->places)};
    for (int i = 0; i < op->n_params && i < MAX_PARAMS; i++)
        if (!(e->names[i] = PyUnicode_InternFromString(op->params[i].name)))
            return false;
    static const char *const along[] = {
        "max",  "min",   "sort", "median", "cumulative_max", "cumulative_min",
        "mode", "split", "std",  "var"};
    for (size_t i = 0; i < sizeof along / sizeof *along; i++)
        e->along = e->along || strcmp(op->name, along[i]) == 0;
    for (int i = 0; i < op->n_params; i++)
        e->asks = e->asks || strncmp(op->params[i].name, "return_", 7) == 0 ||
                  strcmp(op->params[i].name, "compute_uv") == 0;
    if (op->results && !(e->results = op_results(op, &e->n_results)))
        return false;
    return e->function.ml_doc != NULL && op->n_params <= MAX_PARAMS;
}

/* The ops that bools have instead of those for numbers. */
static void find_logical(op_entry *entries, int n)
{
    static const char *const rows[][2] = {{"add", "logical_or"},
                                          {"multiply", "logical_and"},
                                          {"maximum", "logical_or"},
                                          {"minimum", "logical_and"},
                                          {"max", "any"},
                                          {"min", "all"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n && strcmp(entries[i].op->name, rows[k][0]) == 0; j++)
                if (strcmp(entries[j].op->name, rows[k][1]) == 0)
                    entries[i].logical = &entries[j];
}

bool ops_setup(PyObject *module)
{
    const int n = ig_op_count();
    op_entry *entries = calloc((size_t)n, sizeof *entries); /* they live as long as the process */
    op_type = (PyTypeObject *)PyType_FromSpec(&op_spec);
    PyObject *methods = PyDict_New(), *all = PyDict_New();
    if (!entries || !op_type || !methods || !all)
        return false;
    for (int i = 0; i < n; i++) {
        if (!entry_init(&entries[i], ig_op_at(i)))
            return false;
        const char *name = entries[i].op->name;
        PyObject *f = op_function_new(&entries[i], NULL), *o = op_new(&entries[i], NULL);
        if (!f || !o || PyDict_SetItemString(all, name, f) < 0 ||
            PyDict_SetItemString(methods, name, o) < 0)
            return false;
        Py_DECREF(f);
        Py_DECREF(o);
    }
    find_logical(entries, n);
    return PyModule_AddObjectRef(module, "_ops", all) == 0 &&
           PyModule_AddObjectRef(module, "_methods", methods) == 0;
}
