/* Indexing and assignment to items. A key becomes a list of ig_index. Keys of slices and integers select views, see view.c; other
 * keys select copies. An assignment
 *
 *   to slices and integers        writes to a region: directly, or by slice_update, in place if nothing else holds the elements
 *   to one mask, of one number    is a where
 *   to others                     is a scatter at the positions that the same key selects from 0, 1, 2, ... */
#include "common.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 2 * IG_MAX_NDIM + 2 };

typedef struct subscript {
    ig_index item[MAX_ITEMS];
    int n;
    bool basic;     /* no arrays */
    bool evaluates; /* single integers of lazy arrays, to select a view */
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

static bool int_item(ig_index *to, PyObject *o)
{
    to->kind = IG_INDEX_INT;
    to->start = PyLong_AsLongLong(o);
    if (to->start != -1 || !PyErr_Occurred())
        return true;
    PyErr_Clear();
    PyErr_Format(PyExc_IndexError, "index %R is out of bounds", o);
    return false;
}

/* An integer of another library, or of an Array that has one; NULL without an exception if o is neither. Other Arrays may stand for
 * several integers, as in vmap: then evaluating them fails. */
static PyObject *known_int(PyObject *o, bool evaluates)
{
    const bool known =
        is_array(o) ? array_shape(o).n == 0 && ig_isdtype(array_dtype(o), "integral") &&
                          (evaluates || (array_root(o) == o && is_known(o)))
                    : PyIndex_Check(o) && !PyBool_Check(o) && !PyObject_HasAttrString(o, "__len__");
    PyObject *whole = known ? PyNumber_Index(o) : NULL;
    if (!whole && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_Clear();
    return whole;
}

static bool add_item(subscript *s, PyObject *o)
{
    if (s->n == MAX_ITEMS)
        return PyErr_Format(PyExc_IndexError, "too many indices"), false;
    PyObject *whole;
    ig_index *to = &s->item[s->n++];
    *to = (ig_index){0};
    if (o == Py_None) {
        to->kind = IG_INDEX_NEWAXIS;
    } else if (o == Py_Ellipsis) {
        to->kind = IG_INDEX_REST;
    } else if (PySlice_Check(o)) {
        return slice_item(to, o);
    } else if (PyLong_Check(o) && !PyBool_Check(o)) {
        return int_item(to, o);
    } else if ((whole = known_int(o, s->evaluates))) {
        const bool set = int_item(to, whole);
        Py_DECREF(whole);
        return set;
    } else if (PyErr_Occurred()) {
        return false;
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

static bool parse_key(subscript *s, PyObject *key, bool evaluates)
{
    s->n = 0;
    s->basic = true;
    s->evaluates = evaluates;
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

/* Whether the items, without arrays, select something; otherwise ig_get says why not. */
static bool selects(const subscript *s, ig_ints shape)
{
    int taken = 0, rests = 0, made = 0, axis = 0;
    for (int i = 0; i < s->n; i++) {
        taken += s->item[i].kind == IG_INDEX_INT || s->item[i].kind == IG_INDEX_SLICE;
        rests += s->item[i].kind == IG_INDEX_REST;
        made += s->item[i].kind == IG_INDEX_NEWAXIS;
    }
    if (taken > shape.n || rests > 1 || shape.n + made > IG_MAX_NDIM)
        return false;
    for (int i = 0; i < s->n; i++) {
        const ig_index *item = &s->item[i];
        if (item->kind == IG_INDEX_REST)
            axis += shape.n - taken;
        else if (item->kind == IG_INDEX_SLICE)
            axis += item->step != 0 ? 1 : IG_MAX_NDIM + 1;
        else if (item->kind == IG_INDEX_INT) {
            const int64_t n = shape.v[axis++];
            if (item->start < -n || item->start >= n)
                return false;
        }
        if (axis > shape.n)
            return false;
    }
    return true;
}

/* x[key] as an array of its own. Leaves the open scope. */
static PyObject *get_apart(PyObject *self, const subscript *s)
{
    return leave_with(get(array_of(self), s));
}

/* A single element is independent, as NumPy's scalars are. It is read at once if that is possible. */
static PyObject *get_element(PyObject *self, const subscript *s, int64_t offset)
{
    PyObject *one = element_constant(self, offset);
    if (one || PyErr_Occurred() || array_settle(self) < 0)
        return one;
    one = element_constant(self, offset);
    if (one || PyErr_Occurred())
        return one;
    return enter() ? get_apart(self, s) : NULL;
}

/* x[key] without arrays in the key: an element, or a view. */
static PyObject *get_basic(PyObject *self, const subscript *s)
{
    region r;
    bool rest = false;
    if (!selects(s, array_shape(self)))
        return enter() ? get_apart(self, s) : NULL;
    for (int i = 0; i < s->n; i++)
        rest = rest || s->item[i].kind == IG_INDEX_REST;
    array_region(self, &r);
    region_index(&r, s->item, s->n);
    if (r.ndim == 0 && !rest)
        return get_element(self, s, r.offset);
    if (is_known(self))
        return view_new(self, &r, NULL);
    if (!enter())
        return NULL;
    ig_array *x = ig_retain(get(array_of(self), s));
    leave();
    return x ? view_new(self, &r, x) : raise_error();
}

/* True if the key has no arrays, so that parsing it makes none. */
static bool is_basic(PyObject *o)
{
    return o == Py_None || o == Py_Ellipsis || PySlice_Check(o) ||
           (PyLong_Check(o) && !PyBool_Check(o));
}

static bool is_basic_key(PyObject *key)
{
    if (!PyTuple_Check(key))
        return is_basic(key);
    const Py_ssize_t n = PyTuple_Size(key);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_basic(PyTuple_GetItem(key, i)))
            return false;
    return true;
}

PyObject *array_getitem(PyObject *self, PyObject *key)
{
    subscript s;
    if (PyLong_CheckExact(key)) {
        const Py_ssize_t i = PyLong_AsSsize_t(key);
        PyObject *one = i == -1 && PyErr_Occurred() ? NULL : element_at(self, i);
        if (one)
            return one;
        PyErr_Clear();
    }
    if (is_basic_key(key))
        return parse_key(&s, key, false) ? get_basic(self, &s) : NULL;
    if (!enter_with(self))
        return NULL;
    if (!parse_key(&s, key, array_shape(self).n > 1))
        return leave_failed();
    if (!s.basic)
        return get_apart(self, &s);
    leave(); /* numbers of other libraries */
    return get_basic(self, &s);
}

PyObject *array_seq_item(PyObject *self, Py_ssize_t i)
{
    const ig_ints shape = array_shape(self);
    subscript s;
    if (i < 0 || !shape.n || i >= shape.v[0])
        return PyErr_Format(PyExc_IndexError, "index %zd is out of bounds", i);
    PyObject *one = element_at(self, i);
    if (one || PyErr_Occurred())
        return one;
    s.n = 1;
    s.basic = true;
    s.item[0] = (ig_index){.kind = IG_INDEX_INT, .start = i};
    return get_basic(self, &s);
}

/* ---- assignment ---- */

ig_array *fitted(ig_array *value, ig_ints shape, ig_dtype dtype)
{
    while (ig_ndim(value) > shape.n && ig_dim(value, 0) == 1)
        value = ig_squeeze(value, IG_AXES(0));
    if (ig_dtype_of(value) != dtype || ig_ndim(value) == 0)
        value = ig_astype(value, dtype);
    return ig_broadcast_to(value, shape);
}

ig_array *scattered(ig_array *x, ig_array *positions, ig_array *value, const char *how)
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
    return ig_reshape(ig_arange(0, (double)ig_size(x), 1, IG_I64), ig_shape(x));
}

ig_array *array_updated(ig_array *x, PyObject *key, ig_array *value, const char *how)
{
    subscript s;
    if (!parse_key(&s, key, false))
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
    if (s.basic && sets && selects(&s, ig_shape(x))) {
        region r = {.ndim = ig_ndim(x)};
        int64_t stride = 1;
        for (int a = r.ndim - 1; a >= 0; a--) {
            r.shape[a] = ig_dim(x, a);
            r.stride[a] = stride;
            stride *= r.shape[a];
        }
        region_index(&r, s.item, s.n);
        value = fitted(value, (ig_ints){r.shape, r.ndim}, dtype);
        return value ? region_write(x, &r, value) : NULL;
    }
    const bool direct = ig_ndim(x) == 1 && s.n == 1 && !s.basic &&
                        ig_isdtype(ig_dtype_of(s.item[0].array), "integral");
    ig_array *positions = direct ? s.item[0].array : get(count_up(x), &s);
    if (!positions)
        return NULL;
    value = fitted(value, ig_shape(positions), dtype);
    if (!value || (ig_size(value) == 0))
        return value ? ig_broadcast_to(x, ig_shape(x)) : NULL;
    return scattered(x, positions, value, how);
}

int array_setitem(PyObject *self, PyObject *key, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (PyLong_CheckExact(key)) {
        const Py_ssize_t i = PyLong_AsSsize_t(key);
        if (i == -1 && PyErr_Occurred())
            PyErr_Clear();
        else if (element_set(self, i, value))
            return 0;
        else if (PyErr_Occurred())
            return -1;
    }
    if (!check_writable(self))
        return -1;
    subscript s;
    const bool basic = is_basic_key(key);
    if (!basic && !enter_with(self))
        return -1;
    const bool parsed = parse_key(&s, key, false);
    if (!basic)
        leave(); /* the arrays of the key are made again below */
    if (!parsed) {
        raise_error();
        return -1;
    }
    if (s.basic && selects(&s, array_shape(self))) {
        region r;
        array_region(self, &r);
        region_index(&r, s.item, s.n);
        return array_store(self, &r, value) ? 0 : -1;
    }
    ig_array *v = to_value(value, array_dtype(self), self);
    if (!v || !enter_with(self)) {
        ig_release(v);
        return -1;
    }
    ig_array *y = ig_retain(array_updated(array_of(self), key, v, "set"));
    leave();
    ig_release(v);
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

/* The function of ingot._at for a mode of JAX. */
static PyObject *at_in_mode(const at_object *o, const char *function, const char *how,
                            PyObject *value, PyObject *mode)
{
    PyObject *module = PyImport_ImportModule("ingot._at");
    PyObject *made =
        !module ? NULL
        : how   ? PyObject_CallMethod(module, function, "OOsOO", o->array, o->key, how, value, mode)
                : PyObject_CallMethod(module, function, "OOOO", o->array, o->key, mode, value);
    Py_XDECREF(module);
    return made;
}

static bool at_has_place(const at_object *o, const char *how)
{
    if (!o->key)
        PyErr_Format(PyExc_TypeError, "give the place first: x.at[i].%s(y)", how);
    return o->key != NULL;
}

/* JAX's order for division and powers: repeated places multiply their values, and join(x, products) is the result. */
static PyObject *at_update(PyObject *self, PyObject *args, PyObject *options, const char *how,
                           ig_array *(*join)(ig_array *, ig_array *))
{
    static char *names[] = {"", "indices_are_sorted", "unique_indices", "mode", NULL};
    const at_object *o = (at_object *)self;
    PyObject *value, *mode = Py_None;
    int sorted, unique; /* hints */
    if (!PyArg_ParseTupleAndKeywords(args, options, "O|$ppO", names, &value, &sorted, &unique,
                                     &mode) ||
        !at_has_place(o, how))
        return NULL;
    if (mode != Py_None)
        return at_in_mode(o, "update", how, value, mode);
    if (!enter_with(o->array))
        return NULL;
    ig_array *x = array_of(o->array), *v = to_array(value);
    if (!join)
        return leave_with(v ? array_updated(x, o->key, v, how) : NULL);
    ig_array *products =
        v ? array_updated(ig_ones_like(x, ig_dtype_of(x)), o->key, v, "multiply") : NULL;
    return leave_with(products ? join(x, products) : NULL);
}

static PyObject *at_set(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "set", NULL);
}
static PyObject *at_add(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "add", NULL);
}
static PyObject *at_multiply(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "multiply", NULL);
}
static PyObject *at_min(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "min", NULL);
}
static PyObject *at_max(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "max", NULL);
}
static PyObject *at_divide(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "divide", ig_divide);
}
static PyObject *at_power(PyObject *self, PyObject *v, PyObject *options)
{
    return at_update(self, v, options, "power", ig_pow);
}

static PyObject *at_subtract(PyObject *self, PyObject *v, PyObject *options)
{
    PyObject *value = PyTuple_Size(v) == 1 ? PyTuple_GetItem(v, 0) : NULL, *result = NULL;
    PyObject *minus = value ? PyNumber_Negative(value) : Py_NewRef(Py_None);
    PyObject *given = !minus ? NULL : value ? PyTuple_Pack(1, minus) : Py_NewRef(v);
    if (given)
        result = at_update(self, given, options, "add", NULL);
    Py_XDECREF(minus);
    Py_XDECREF(given);
    return result;
}

static PyObject *at_get(PyObject *self, PyObject *args, PyObject *options)
{
    static char *names[] = {"indices_are_sorted", "unique_indices", "mode", "fill_value", NULL};
    const at_object *o = (at_object *)self;
    PyObject *mode = Py_None, *fill = Py_None;
    int sorted, unique;
    if (!PyArg_ParseTupleAndKeywords(args, options, "|$ppOO", names, &sorted, &unique, &mode,
                                     &fill))
        return NULL;
    if (o->key && (mode != Py_None || fill != Py_None))
        return at_in_mode(o, "get", NULL, fill, mode);
    return o->key ? array_getitem(o->array, o->key) : Py_NewRef(o->array);
}

/* The elements at the place after a function of arrays. */
static PyObject *at_apply(PyObject *self, PyObject *args, PyObject *options)
{
    const at_object *o = (at_object *)self;
    PyObject *module = at_has_place(o, "apply") ? PyImport_ImportModule("ingot._at") : NULL;
    PyObject *apply = module ? PyObject_GetAttrString(module, "apply") : NULL;
    PyObject *first = apply ? PyTuple_Pack(2, o->array, o->key) : NULL;
    PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    PyObject *result = all ? PyObject_Call(apply, all, options) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(apply);
    Py_XDECREF(first);
    Py_XDECREF(all);
    return result;
}

#define UPDATE(name, text) \
    { \
#name, (PyCFunction)(void (*)(void))at_##name, METH_VARARGS | METH_KEYWORDS, \
            #name "(value, /, *, mode=None)\n--\n\n" text \
    }
static PyMethodDef at_methods[] = {
    UPDATE(set, "A copy of the array with value at the place."),
    UPDATE(add, "With value added; repeated places add up."),
    UPDATE(subtract, "With value subtracted."),
    UPDATE(multiply, "Multiplied by value."),
    {"mul", (PyCFunction)(void (*)(void))at_multiply, METH_VARARGS | METH_KEYWORDS,
     "mul(value, /, *, mode=None)\n--\n\nThe same as multiply."},
    UPDATE(divide, "Divided by value."),
    UPDATE(power, "Raised to value."),
    UPDATE(min, "With the smaller of both."),
    UPDATE(max, "With the larger of both."),
    {"apply", (PyCFunction)(void (*)(void))at_apply, METH_VARARGS | METH_KEYWORDS,
     "apply(f, /, *, mode=None)\n--\n\nWith f of the elements at the place. At repeated places f "
     "is "
     "applied once."},
    {"get", (PyCFunction)(void (*)(void))at_get, METH_VARARGS | METH_KEYWORDS,
     "get(*, mode=None, fill_value=None)\n--\n\nThe elements at the place."},
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
