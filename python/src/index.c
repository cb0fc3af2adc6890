/* Indexing and assignment to items. A key becomes a list of ig_index. An assignment gives a new array of the library, to
 * which the Array then refers:
 *
 *   slices and integers        slice_update: one assembly, in place if nothing else holds the elements
 *   one mask, one number       where
 *   all others                 scatter at the positions that the same key selects from 0, 1, 2, ... */
#include "common.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 2 * IG_MAX_NDIM + 2 };

typedef struct subscript {
    ig_index item[MAX_ITEMS];
    int n;
    bool basic; /* no arrays */
} subscript;

/* A bound of a slice: None, or clipped to 64 bits. */
static bool bound(PyObject *o, int64_t *to)
{
    if (o == Py_None) {
        *to = INT64_MIN;
        return true;
    }
    PyObject *i = PyNumber_Index(o);
    if (!i)
        return false;
    int overflow;
    *to = PyLong_AsLongLongAndOverflow(i, &overflow);
    Py_DECREF(i);
    if (overflow || *to == INT64_MIN)
        *to = overflow > 0 ? INT64_MAX : INT64_MIN + 1;
    return true;
}

static bool slice_item(ig_index *to, PyObject *o)
{
    PyObject *start = PyObject_GetAttrString(o, "start"), *stop = PyObject_GetAttrString(o, "stop"),
             *step = PyObject_GetAttrString(o, "step");
    to->kind = IG_INDEX_SLICE;
    const bool set = start && stop && step && bound(start, &to->start) && bound(stop, &to->stop) &&
                     bound(step, &to->step);
    Py_XDECREF(start);
    Py_XDECREF(stop);
    Py_XDECREF(step);
    return set;
}

static bool add_item(subscript *s, PyObject *o)
{
    if (s->n == MAX_ITEMS)
        return PyErr_Format(PyExc_IndexError, "too many indices"), false;
    ig_index *to = &s->item[s->n++];
    *to = (ig_index){0};
    if (o == Py_None) {
        to->kind = IG_INDEX_NEWAXIS;
    } else if (o == Py_Ellipsis) {
        to->kind = IG_INDEX_REST;
    } else if (PySlice_Check(o)) {
        return slice_item(to, o);
    } else if (PyLong_Check(o) && !PyBool_Check(o)) {
        to->kind = IG_INDEX_INT;
        to->start = PyLong_AsLongLong(o);
        if (to->start == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return PyErr_Format(PyExc_IndexError, "index %R is out of bounds", o), false;
        }
    } else {
        to->kind = IG_INDEX_ARRAY;
        if (PyFloat_Check(o) || PyUnicode_Check(o))
            return PyErr_Format(PyExc_IndexError,
                                "%R is not an index; use integers, slices, masks, ... or None", o),
                   false;
        const bool empty = PyList_Check(o) && PyList_Size(o) == 0;
        to->array = make_array(o, empty ? IG_I64 : IG_DTYPE_NONE);
        if (!to->array)
            return false;
        s->basic = false;
    }
    return true;
}

static bool parse_key(subscript *s, PyObject *key)
{
    s->n = 0;
    s->basic = true;
    if (!PyTuple_Check(key))
        return add_item(s, key);
    const Py_ssize_t n = PyTuple_Size(key);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!add_item(s, PyTuple_GetItem(key, i)))
            return false;
    return true;
}

/* x[key]. Masks are evaluated, so other threads run meanwhile. */
static ig_array *get(ig_array *x, const subscript *s)
{
    if (s->basic)
        return ig_get(x, s->item, s->n);
    for (int i = 0; i < s->n; i++)
        if (s->item[i].kind == IG_INDEX_ARRAY && ig_dtype_of(s->item[i].array) == IG_BOOL &&
            evaluate(&s->item[i].array, 1) < 0)
            return NULL;
    return ig_get(x, s->item, s->n);
}

PyObject *array_getitem(PyObject *self, PyObject *key)
{
    subscript s;
    if (!enter())
        return NULL;
    return leave_with(parse_key(&s, key) ? get(array_of(self), &s) : NULL);
}

/* ---- assignment ---- */

/* value in a dtype and broadcast to a shape. Axes of length 1 in front may be left out, as in NumPy. */
static ig_array *fitted(ig_array *value, ig_ints shape, ig_dtype dtype)
{
    while (ig_ndim(value) > shape.n && ig_dim(value, 0) == 1)
        value = ig_squeeze(value, IG_AXES(0));
    if (ig_dtype_of(value) != dtype || ig_ndim(value) == 0)
        value = ig_astype(value, dtype);
    return ig_broadcast_to(value, shape);
}

/* x with value at slices and integers of all axes: start, step and count of each. */
static ig_array *assembled(ig_array *x, const subscript *s, ig_array *value)
{
    int64_t start[IG_MAX_NDIM], step[IG_MAX_NDIM], count[IG_MAX_NDIM], flips[IG_MAX_NDIM];
    int n_flip = 0, taken = 0, axis = 0, ndim = ig_ndim(x);
    for (int i = 0; i < s->n; i++)
        taken += s->item[i].kind == IG_INDEX_INT || s->item[i].kind == IG_INDEX_SLICE;
    bool rest = false;
    for (int i = 0; i < s->n; i++)
        rest = rest || s->item[i].kind == IG_INDEX_REST;
    for (int i = 0; i <= s->n; i++) {
        const ig_index *item = &s->item[i];
        if (i == s->n ? !rest : item->kind == IG_INDEX_REST) {
            for (int k = ndim - taken; k > 0; k--, axis++)
                start[axis] = 0, step[axis] = 1, count[axis] = ig_dim(x, axis);
        } else if (i < s->n && item->kind == IG_INDEX_INT) {
            const int64_t n = ig_dim(x, axis), at = item->start;
            start[axis] = at < 0 ? at + n : at;
            step[axis] = count[axis] = 1;
            axis++;
        } else if (i < s->n && item->kind == IG_INDEX_SLICE) {
            const int64_t n = ig_dim(x, axis), none = INT64_MIN;
            Py_ssize_t first = item->start == none
                                   ? (item->step < 0 && item->step != none ? PY_SSIZE_T_MAX : 0)
                                   : item->start;
            Py_ssize_t last =
                item->stop == none
                    ? (item->step < 0 && item->step != none ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX)
                    : item->stop;
            const Py_ssize_t by = item->step == none ? 1 : item->step;
            count[axis] = PySlice_AdjustIndices(n, &first, &last, by);
            start[axis] = by > 0 ? first : first + (count[axis] - 1) * by;
            step[axis] = by > 0 ? by : -by;
            if (by < 0)
                flips[n_flip++] = axis;
            axis++;
        }
    }
    value = ig_reshape(value, (ig_ints){count, ndim});
    if (n_flip)
        value = ig_flip(value, (ig_ints){flips, n_flip});
    return ig_slice_update(x, value, (ig_ints){start, ndim}, (ig_ints){step, ndim});
}

/* x with value combined at positions of the flattened x. */
static ig_array *scattered(ig_array *x, ig_array *positions, ig_array *value, const char *how)
{
    static const struct {
        const char *how, *op;
    } rows[] = {{"set", "scatter"},
                {"add", "scatter_add"},
                {"multiply", "scatter_mul"},
                {"min", "scatter_min"},
                {"max", "scatter_max"}};
    const int64_t all = -1;
    const ig_ints flat = {&all, 1};
    const char *op = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].how, how) == 0)
            op = rows[i].op;
    ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = ig_reshape(x, flat)},
                     {.kind = IG_ARG_ARRAY, .u.array = ig_reshape(positions, flat)},
                     {.kind = IG_ARG_ARRAY, .u.array = ig_reshape(value, flat)},
                     {.kind = IG_ARG_INT, .u.i = 0}};
    ig_array *y;
    if (!op || !ig_call(op, args, 4, &y, 1))
        return NULL;
    return ig_reshape(y, ig_shape(x));
}

static ig_array *count_up(ig_array *x)
{
    ig_array *flat = ig_arange(0, (double)ig_size(x), 1, IG_I64);
    const char *device = ig_array_device(x);
    flat = ig_reshape(flat, ig_shape(x));
    return device ? ig_to_device(flat, device) : flat;
}

ig_array *array_updated(ig_array *x, PyObject *key, ig_array *value, const char *how)
{
    subscript s;
    if (!parse_key(&s, key))
        return NULL;
    const bool sets = strcmp(how, "set") == 0;
    const ig_dtype dtype = ig_dtype_of(x);
    if (sets && s.n == 1 && s.item[0].kind == IG_INDEX_ARRAY && ig_ndim(value) == 0 &&
        ig_dtype_of(s.item[0].array) == IG_BOOL && ig_ndim(s.item[0].array) <= ig_ndim(x)) {
        ig_array *mask = s.item[0].array;
        const ig_ints m = ig_shape(mask), all = ig_shape(x);
        if (memcmp(m.v, all.v, (size_t)m.n * sizeof *m.v) == 0) {
            int64_t shape[IG_MAX_NDIM];
            for (int i = 0; i < all.n; i++)
                shape[i] = i < m.n ? m.v[i] : 1;
            return ig_where(ig_reshape(mask, (ig_ints){shape, all.n}), ig_astype(value, dtype), x);
        }
    }
    ig_array *old = s.basic ? get(x, &s) : NULL, *positions = NULL;
    if (s.basic && !old)
        return NULL;
    if (!s.basic || !sets) {
        const bool direct = ig_ndim(x) == 1 && s.n == 1 && !s.basic &&
                            ig_isdtype(ig_dtype_of(s.item[0].array), "integral");
        positions = direct ? s.item[0].array : get(count_up(x), &s);
        if (!positions)
            return NULL;
    }
    value = fitted(value, ig_shape(positions ? positions : old), dtype);
    if (!value || (ig_size(value) == 0))
        return value ? ig_broadcast_to(x, ig_shape(x)) : NULL;
    return positions ? scattered(x, positions, value, how) : assembled(x, &s, value);
}

int array_setitem(PyObject *self, PyObject *key, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (!enter())
        return -1;
    ig_array *v = to_array(value);
    ig_array *y = v ? array_updated(array_of(self), key, v, "set") : NULL;
    ig_retain(y);
    leave();
    if (!y || PyErr_Occurred()) {
        ig_release(y);
        raise_error();
        return -1;
    }
    return array_replace(self, y) ? 0 : -1;
}

/* ---- x.at[key].add(value) ---- */

typedef struct at_object {
    PyObject ob_base;
    PyObject *array, *key; /* key is NULL for x.at */
} at_object;

static PyTypeObject *at_type;
static PyType_Spec at_spec;

static PyObject *at_new(PyObject *array, PyObject *key)
{
    if (!at_type)
        at_type = (PyTypeObject *)PyType_FromSpec(&at_spec);
    at_object *o = at_type ? PyObject_New(at_object, at_type) : NULL;
    if (!o)
        return NULL;
    o->array = Py_NewRef(array);
    o->key = Py_XNewRef(key);
    return (PyObject *)o;
}

PyObject *array_at(PyObject *self, void *unused) { return (void)unused, at_new(self, NULL); }

static PyObject *at_getitem(PyObject *self, PyObject *key)
{
    return at_new(((at_object *)self)->array, key);
}

static void at_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    at_object *o = (at_object *)self;
    Py_XDECREF(o->array);
    Py_XDECREF(o->key);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *at_update(PyObject *self, PyObject *value, const char *how)
{
    const at_object *o = (at_object *)self;
    if (!o->key)
        return PyErr_Format(PyExc_TypeError, "give the place first: x.at[i].%s(y)", how);
    if (!enter())
        return NULL;
    ig_array *v = to_array(value);
    return leave_with(v ? array_updated(array_of(o->array), o->key, v, how) : NULL);
}

static PyObject *at_set(PyObject *self, PyObject *v) { return at_update(self, v, "set"); }
static PyObject *at_add(PyObject *self, PyObject *v) { return at_update(self, v, "add"); }
static PyObject *at_multiply(PyObject *self, PyObject *v) { return at_update(self, v, "multiply"); }
static PyObject *at_min(PyObject *self, PyObject *v) { return at_update(self, v, "min"); }
static PyObject *at_max(PyObject *self, PyObject *v) { return at_update(self, v, "max"); }

static PyObject *at_subtract(PyObject *self, PyObject *v)
{
    PyObject *minus = PyNumber_Negative(v), *result = minus ? at_update(self, minus, "add") : NULL;
    Py_XDECREF(minus);
    return result;
}

static PyObject *at_get(PyObject *self, PyObject *unused)
{
    (void)unused;
    const at_object *o = (at_object *)self;
    return o->key ? array_getitem(o->array, o->key) : Py_NewRef(o->array);
}

static PyMethodDef at_methods[] = {
    {"set", at_set, METH_O, "set(value, /)\n--\n\nA copy of the array with value at the place."},
    {"add", at_add, METH_O, "add(value, /)\n--\n\nWith value added; repeated places add up."},
    {"subtract", at_subtract, METH_O, "subtract(value, /)\n--\n\nWith value subtracted."},
    {"multiply", at_multiply, METH_O, "multiply(value, /)\n--\n\nMultiplied by value."},
    {"min", at_min, METH_O, "min(value, /)\n--\n\nWith the smaller of both."},
    {"max", at_max, METH_O, "max(value, /)\n--\n\nWith the larger of both."},
    {"get", at_get, METH_NOARGS, "get()\n--\n\nThe elements at the place."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot at_slots[] = {
    {Py_mp_subscript, at_getitem},
    {Py_tp_dealloc, at_dealloc},
    {Py_tp_methods, at_methods},
    {Py_tp_doc, "A place in an array, for updates that give another array."},
    {0, NULL},
};
static PyType_Spec at_spec = {"ingot._At", sizeof(at_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, at_slots};
