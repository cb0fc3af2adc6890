/* The Array type: operators, attributes, conversion to Python's numbers, printing, pickling. Ops are attached as methods by
 * module.c. An Array refers to one array of the library, or is a view of another Array: see view.c. */
#include "common.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *array_type;

PyObject *array_wrap(ig_array *x)
{
    if (!x)
        return raise_error();
    array_object *o = PyObject_New(array_object, array_type);
    if (!o) {
        ig_release(x);
        return NULL;
    }
    memset((char *)o + sizeof o->ob_base, 0, sizeof *o - sizeof o->ob_base);
    o->x = x;
    o->born = trace_clock;
    return (PyObject *)o;
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    array_object *o = (array_object *)self;
    if (o->weakrefs)
        PyObject_ClearWeakRefs(self);
    if (o->view)
        view_end(self);
    else
        ig_release(o->x);
    exposed_free(o);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- operators ---- */

typedef ig_array *(*unary_function)(ig_array *x);
typedef ig_array *(*binary_function)(ig_array *x1, ig_array *x2);

static PyObject *unary(PyObject *self, unary_function f)
{
    if (((array_object *)self)->is_number)
        return traced_unary(self, f);
    if (!enter())
        return NULL;
    return leave_with(f(array_of(self)));
}

/* The op of a function that numbers have; NULL if they have not. */
static const ig_op *op_of(binary_function f)
{
    static struct {
        binary_function f;
        const char *name;
        const ig_op *op;
    } rows[] = {{ig_add, "add", NULL},
                {ig_multiply, "multiply", NULL},
                {ig_subtract, "subtract", NULL},
                {ig_divide, "divide", NULL},
                {ig_less, "less", NULL},
                {ig_greater, "greater", NULL},
                {ig_less_equal, "less_equal", NULL},
                {ig_greater_equal, "greater_equal", NULL},
                {ig_equal, "equal", NULL},
                {ig_not_equal, "not_equal", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].f == f)
            return rows[i].op ? rows[i].op : (rows[i].op = ig_op_find(rows[i].name));
    return NULL;
}

/* f(x, y). Sums and products of bools are bools, as in NumPy. */
static ig_array *combined(ig_array *x, ig_array *y, binary_function f)
{
    const bool bools = ig_dtype_of(x) == IG_BOOL && ig_dtype_of(y) == IG_BOOL;
    if (bools && f == ig_add)
        return ig_logical_or(x, y);
    return bools && f == ig_multiply ? ig_logical_and(x, y) : f(x, y);
}

static PyObject *binary(PyObject *a, PyObject *b, binary_function f)
{
    if (traced_meets(a, b))
        return traced_binary(a, b, f);
    PyObject *number = number_binary(a, b, op_of(f));
    if (!number && !PyErr_Occurred())
        number = few_binary(a, b, op_of(f));
    if (number || PyErr_Occurred() || !enter_with(a))
        return number;
    follow_device(b);
    ig_array *x = to_operand(a, b), *y = x ? to_operand(b, a) : NULL;
    if (x && y)
        return leave_with(combined(x, y, f));
    leave();
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

/* Whether the elements of one dtype can be stored as the other, of fewer bits: as NumPy's casts of the same kind. */
static bool is_same_kind(ig_dtype a, ig_dtype b)
{
    static const char *const kinds[] = {"signed integer", "unsigned integer", "real floating",
                                        "complex floating"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ig_isdtype(a, kinds[i]))
            return ig_isdtype(b, kinds[i]);
    return false;
}

/* x += y: x, or what x is a view of, gets the result. Its dtype and shape stay. */
static PyObject *in_place(PyObject *self, PyObject *b, binary_function f)
{
    if (((array_object *)self)->is_number) /* n += 1 gives another number */
        return binary(self, b, f);
    if (number_in_place(self, b, op_of(f)))
        return Py_NewRef(self);
    if (!check_writable(self) || !enter_with(self))
        return NULL;
    ig_array *x = view_apart(self), *y = to_operand(b, self);
    if (!y) {
        leave();
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NOTIMPLEMENTED;
    }
    ig_array *z = combined(x, y, f);
    if (z && is_same_kind(ig_dtype_of(z), ig_dtype_of(x)))
        z = ig_astype(z, ig_dtype_of(x));
    const ig_ints before = ig_shape(x), after = ig_shape(z);
    if (z && (before.n != after.n ||
              memcmp(before.v, after.v, (size_t)before.n * sizeof *before.v) != 0))
        PyErr_SetString(PyExc_ValueError,
                        "an operator in place cannot change the shape of its array");
    else if (z && ig_dtype_of(z) != ig_dtype_of(x))
        PyErr_Format(PyExc_TypeError,
                     "an operator in place cannot change the dtype from %s to %s; use astype",
                     ig_dtype_std_name(ig_dtype_of(x)), ig_dtype_std_name(ig_dtype_of(z)));
    ig_retain(z);
    leave();
    if (!z || PyErr_Occurred()) {
        ig_release(z);
        return raise_error();
    }
    return array_replace(self, z) ? Py_NewRef(self) : NULL;
}

#define UNARY(slot, function) \
    static PyObject *array_##slot(PyObject *self) { return unary(self, function); }
#define BINARY(slot, function) \
    static PyObject *array_##slot(PyObject *a, PyObject *b) { return binary(a, b, function); } \
    static PyObject *array_i##slot(PyObject *a, PyObject *b) { return in_place(a, b, function); }

/* The operators that have a form in place: nb_add and nb_inplace_add. */
#define BINARY_OPERATORS(ROW) \
    ROW(add, ig_add) \
    ROW(subtract, ig_subtract) \
    ROW(multiply, ig_multiply) \
    ROW(true_divide, ig_divide) \
    ROW(floor_divide, ig_floor_divide) \
    ROW(remainder, ig_remainder) \
    ROW(matrix_multiply, ig_matmul) \
    ROW(and, ig_bitwise_and) \
    ROW(or, ig_bitwise_or) \
    ROW(xor, ig_bitwise_xor) \
    ROW(lshift, ig_bitwise_left_shift) \
    ROW(rshift, ig_bitwise_right_shift)

BINARY_OPERATORS(BINARY)
BINARY(pow, ig_pow)
UNARY(negative, ig_negative)
UNARY(positive, ig_positive)
UNARY(absolute, ig_abs)
UNARY(invert, ig_bitwise_invert)

static PyObject *array_power(PyObject *a, PyObject *b, PyObject *modulo)
{
    if (modulo != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return array_pow(a, b);
}

static PyObject *array_ipower(PyObject *a, PyObject *b, PyObject *unused)
{
    (void)unused;
    return array_ipow(a, b);
}

static PyObject *array_divmod(PyObject *a, PyObject *b)
{
    PyObject *q = array_floor_divide(a, b),
             *r = q && q != Py_NotImplemented ? array_remainder(a, b) : NULL;
    if (!q || q == Py_NotImplemented)
        return q;
    if (!r) {
        Py_DECREF(q);
        return NULL;
    }
    return Py_BuildValue("(NN)", q, r);
}

static PyObject *array_compare(PyObject *a, PyObject *b, int op)
{
    static const binary_function rows[] = {
        [Py_LT] = ig_less,      [Py_LE] = ig_less_equal, [Py_EQ] = ig_equal,
        [Py_NE] = ig_not_equal, [Py_GT] = ig_greater,    [Py_GE] = ig_greater_equal,
    };
    return binary(a, b, rows[op]);
}

/* ---- Python's numbers ---- */

/* The only element of an array. */
static PyObject *array_element(PyObject *self)
{
    PyObject *known = number_object(self);
    if (known || PyErr_Occurred())
        return known;
    ig_array *x = array_of(self);
    if (ig_size(x) != 1)
        return PyErr_Format(PyExc_TypeError,
                            "only an array with one element is a number; this one has %lld",
                            (long long)ig_size(x));
    if (!enter())
        return NULL;
    ig_retain(x); /* another thread may assign to items of the Array meanwhile */
    const void *data = elements(x);
    PyObject *number = data ? element_object(data, ig_dtype_of(x)) : NULL;
    ig_release(x);
    leave();
    return number;
}

static PyObject *array_item(PyObject *self, PyObject *args)
{
    if (PyTuple_Size(args) == 0)
        return array_element(self);
    PyObject *key = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : args;
    if (PyLong_Check(key) && ig_ndim(array_of(self)) > 1) { /* a place in the flattened array */
        PyObject *flat = PyObject_CallMethod(self, "ravel", NULL);
        PyObject *number = flat ? PyObject_CallMethod(flat, "item", "O", key) : NULL;
        Py_XDECREF(flat);
        return number;
    }
    PyObject *one = array_getitem(self, key), *number = one ? array_element(one) : NULL;
    Py_XDECREF(one);
    return number;
}

static PyObject *through(PyObject *self, PyObject *(*convert)(PyObject *o))
{
    PyObject *number = array_element(self), *result = number ? convert(number) : NULL;
    Py_XDECREF(number);
    return result;
}

static PyObject *array_int(PyObject *self) { return through(self, PyNumber_Long); }
static PyObject *array_float(PyObject *self) { return through(self, PyNumber_Float); }

static PyObject *array_index(PyObject *self)
{
    const ig_dtype d = ig_dtype_of(array_of(self));
    if (!ig_isdtype(d, "integral") || ig_ndim(array_of(self)))
        return PyErr_Format(PyExc_TypeError,
                            "only 0-d integer arrays are an index, not %s of %d dimensions",
                            ig_dtype_std_name(d), ig_ndim(array_of(self)));
    return array_element(self);
}

static PyObject *array_complex(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *number = array_element(self);
    if (!number)
        return NULL;
    PyObject *result = PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, number, NULL);
    Py_DECREF(number);
    return result;
}

static int array_bool(PyObject *self)
{
    if (array_shape(self).n && ig_size(array_of(self)) != 1) {
        PyErr_SetString(PyExc_ValueError,
                        "the truth of an array with several elements is ambiguous; use any or all");
        return -1;
    }
    PyObject *number = array_element(self);
    const int truth = number ? PyObject_IsTrue(number) : -1;
    Py_XDECREF(number);
    return truth;
}

static PyObject *nested_list(const char **at, ig_ints shape, int axis, ig_dtype dtype)
{
    if (axis == shape.n) {
        PyObject *one = element_object(*at, dtype);
        *at += ig_dtype_bytes(dtype);
        return one;
    }
    PyObject *list = PyList_New(shape.v[axis]);
    for (int64_t i = 0; list && i < shape.v[axis]; i++) {
        PyObject *one = nested_list(at, shape, axis + 1, dtype);
        if (!one || PyList_SetItem(list, i, one) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *array_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    ig_array *x = array_of(self);
    if (!enter())
        return NULL;
    ig_retain(x);
    const char *data = elements(x);
    PyObject *list = data ? nested_list(&data, ig_shape(x), 0, ig_dtype_of(x)) : NULL;
    ig_release(x);
    leave();
    return list;
}

/* ---- sequences ---- */

static Py_ssize_t array_length(PyObject *self)
{
    const ig_ints shape = array_shape(self);
    if (shape.n)
        return (Py_ssize_t)shape.v[0];
    PyErr_SetString(PyExc_TypeError, "a 0-d array has no length");
    return -1;
}

static PyObject *array_iter(PyObject *self)
{
    if (!array_shape(self).n)
        return PyErr_Format(PyExc_TypeError, "a 0-d array cannot be iterated over");
    return PySeqIter_New(self);
}

/* ---- printing ---- */

static PyObject *array_str(PyObject *self)
{
    char *text = NULL;
    if (!enter())
        return NULL;
    ig_array *x = ig_retain(array_of(self));
    PyObject *result = NULL;
    if (evaluate(&x, 1) == 0) {
        graph_lock();
        text = ig_to_string(x, false);
        graph_unlock();
        result = text ? PyUnicode_FromString(text) : raise_error();
        ig_free(text);
    }
    ig_release(x);
    leave();
    return result;
}

/* Clears the error of an array without elements: in functions of vmap and jit. */
static bool clear_placeholder_error(void)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    const bool cleared = bytes && strstr(bytes, "an array that this needs has no elements");
    Py_XDECREF(text);
    if (!cleared) {
        PyErr_Restore(type, value, trace);
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

static int64_t elements_of(ig_ints shape)
{
    int64_t n = 1;
    for (int a = 0; a < shape.n; a++)
        n *= shape.v[a];
    return n;
}

/* Array([1., 2.], dtype=float32, device='cpu'); the shape if it cannot be seen. */
static PyObject *array_repr(PyObject *self)
{
    PyObject *text = array_str(self);
    if (!text && clear_placeholder_error())
        text = PyUnicode_FromString("...");
    PyObject *lines = text ? PyUnicode_FromString("\n") : NULL;
    PyObject *indent = lines ? PyUnicode_FromString("\n      ") : NULL;
    PyObject *inner = indent ? PyUnicode_Replace(text, lines, indent, -1) : NULL;
    PyObject *shape = inner ? ints_tuple(array_shape(self)) : NULL, *result = NULL;
    const char *device = ig_array_device(((array_object *)array_root(self))->x);
    const int64_t size = elements_of(array_shape(self));
    if (shape && (size == 0 || size > 1000))
        result =
            PyUnicode_FromFormat("Array(%U, shape=%R, dtype=%s, device='%s')", inner, shape,
                                 ig_dtype_std_name(array_dtype(self)), device ? device : "any");
    else if (shape)
        result =
            PyUnicode_FromFormat("Array(%U, dtype=%s, device='%s')", inner,
                                 ig_dtype_std_name(array_dtype(self)), device ? device : "any");
    Py_XDECREF(text);
    Py_XDECREF(lines);
    Py_XDECREF(indent);
    Py_XDECREF(inner);
    Py_XDECREF(shape);
    return result;
}

static PyObject *array_format(PyObject *self, PyObject *spec)
{
    if (PyUnicode_GetLength(spec) == 0)
        return array_str(self);
    if (array_shape(self).n)
        return PyErr_Format(
            PyExc_TypeError,
            "unsupported format string passed to ingot.Array.__format__: an array of "
            "%d axes has no format; format its elements",
            array_shape(self).n);
    PyObject *number = array_element(self), *text = number ? PyObject_Format(number, spec) : NULL;
    Py_XDECREF(number);
    return text;
}

/* ---- copies ---- */

static PyObject *array_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return array_wrap(array_copied(self));
}

/* Pickled as bytes. */
static PyObject *array_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    ig_array *x = array_of(self);
    if (!enter())
        return NULL;
    ig_retain(x);
    const void *data = elements(x);
    PyObject *bytes =
        data ? PyBytes_FromStringAndSize(
                   data, (Py_ssize_t)((size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x))))
             : NULL;
    leave();
    PyObject *module = bytes ? PyImport_ImportModule("ingot._ingot") : NULL;
    PyObject *make = module ? PyObject_GetAttrString(module, "_from_bytes") : NULL;
    Py_XDECREF(module);
    PyObject *result = make ? Py_BuildValue("(O(ONs))", make, bytes, ints_tuple(ig_shape(x)),
                                            ig_dtype_std_name(ig_dtype_of(x)))
                            : NULL;
    Py_XDECREF(make);
    Py_XDECREF(bytes);
    ig_release(x);
    return result;
}

static PyMethodDef array_methods[] = {
    {"item", array_item, METH_VARARGS,
     "item(*index)\n--\n\nThe only element, or the element at index, as a Python number."},
    {"tolist", array_tolist, METH_NOARGS, "tolist()\n--\n\nThe elements as nested lists."},
    {"eval", array_eval, METH_NOARGS,
     "eval()\n--\n\nComputes the elements now; returns the array."},
    {"copy", array_copy, METH_NOARGS, "copy()\n--\n\nAn array with the same elements."},
    {"__copy__", array_copy, METH_NOARGS, NULL},
    {"__deepcopy__", array_copy, METH_O, NULL},
    {"__reduce__", array_reduce, METH_NOARGS, NULL},
    {"__complex__", array_complex, METH_NOARGS, NULL},
    {"__format__", array_format, METH_O, NULL},
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe elements "
     "as a capsule."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* "__weaklistoffset__" is how a type of the limited API takes weak references. */
#include <structmember.h>
static PyMemberDef array_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(array_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define SLOTS(slot, function) {Py_nb_##slot, array_##slot}, {Py_nb_inplace_##slot, array_i##slot},
static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_repr, array_repr},
    {Py_tp_str, array_str},
    {Py_tp_richcompare, array_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_iter, array_iter},
    {Py_tp_getset, array_attributes},
    {Py_tp_methods, array_methods},
    {Py_tp_members, array_members},
    {Py_tp_doc,
     "An array: lazy, of any shape and dtype, on any device. Functions of the module make arrays."},
    BINARY_OPERATORS(SLOTS){Py_nb_power, array_power},
    {Py_nb_inplace_power, array_ipower},
    {Py_nb_divmod, array_divmod},
    {Py_nb_negative, array_negative},
    {Py_nb_positive, array_positive},
    {Py_nb_absolute, array_absolute},
    {Py_nb_invert, array_invert},
    {Py_nb_bool, array_bool},
    {Py_nb_int, array_int},
    {Py_nb_float, array_float},
    {Py_nb_index, array_index},
    {Py_mp_length, array_length},
    {Py_mp_subscript, array_getitem},
    {Py_mp_ass_subscript, array_setitem},
    {Py_sq_length, array_length},
    {Py_sq_item, array_seq_item},
    {Py_bf_getbuffer, array_getbuffer},
    {Py_bf_releasebuffer, array_releasebuffer},
    {0, NULL},
};
static PyType_Spec array_spec = {"ingot.Array", sizeof(array_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 array_slots};

bool array_setup(PyObject *module)
{
    array_type = (PyTypeObject *)PyType_FromSpec(&array_spec);
    return array_type && PyModule_AddObjectRef(module, "Array", (PyObject *)array_type) == 0;
}
