/* dtypes as objects: ingot.float32 and so on. Each is one object. They are equal to their names, to Python's types and to
 * NumPy's dtypes of the same name. */
#include "common.h"
#include <limits.h>
#include <string.h>

typedef struct dtype_object_s {
    PyObject ob_base;
    ig_dtype dtype;
} dtype_object_s;

enum { DTYPES = IG_C128 + 1 };

PyTypeObject *dtype_type;
static PyObject *dtypes[DTYPES];

static ig_dtype dtype_of(PyObject *o) { return ((dtype_object_s *)o)->dtype; }

PyObject *dtype_object(ig_dtype dtype) { return Py_NewRef(dtypes[dtype]); }

/* NumPy's int64 is a long where that has 64 bits. Extension modules compare its number, and that of a long long is another. */
#if LONG_MAX > 0x7fffffff
#define I64_FORMAT "l"
#define U64_FORMAT "L"
#else
#define I64_FORMAT "q"
#define U64_FORMAT "Q"
#endif

static const char *const formats[DTYPES] = {
    [IG_BOOL] = "?", [IG_I8] = "b",  [IG_I16] = "h",  [IG_I32] = "i",        [IG_I64] = I64_FORMAT,
    [IG_U8] = "B",   [IG_U16] = "H", [IG_U32] = "I",  [IG_U64] = U64_FORMAT, [IG_F16] = "e",
    [IG_F32] = "f",  [IG_F64] = "d", [IG_C64] = "Zf", [IG_C128] = "Zd",
};

const char *dtype_format(ig_dtype dtype) { return formats[dtype]; }

ig_dtype format_dtype(const char *format)
{
    if (!format)
        return IG_U8;
    const bool standard = *format == '=' || *format == '<'; /* then a long has 32 bits */
    if (*format == '@' || standard)
        format++;
    if (strcmp(format, "l") == 0)
        return sizeof(long) == 8 && !standard ? IG_I64 : IG_I32;
    if (strcmp(format, "L") == 0)
        return sizeof(long) == 8 && !standard ? IG_U64 : IG_U32;
    if (strcmp(format, "q") == 0)
        return IG_I64;
    if (strcmp(format, "Q") == 0)
        return IG_U64;
    for (int i = IG_BOOL; i < DTYPES; i++)
        if (formats[i] && strcmp(formats[i], format) == 0)
            return (ig_dtype)i;
    return IG_DTYPE_NONE;
}

/* The dtype of a code of NumPy: "<f8", or one letter, such as "d". Without the sign, "i8" and "u8" are names of this library. */
static ig_dtype code_dtype(const char *text)
{
    static const struct {
        const char *code;
        ig_dtype dtype;
    } codes[] = {{"?", IG_BOOL}, {"b1", IG_BOOL}, {"i1", IG_I8},  {"i2", IG_I16}, {"i4", IG_I32},
                 {"i8", IG_I64}, {"u1", IG_U8},   {"u2", IG_U16}, {"u4", IG_U32}, {"u8", IG_U64},
                 {"f2", IG_F16}, {"f4", IG_F32},  {"f8", IG_F64}, {"c8", IG_C64}, {"c16", IG_C128},
                 {"b", IG_I8},   {"h", IG_I16},   {"i", IG_I32},  {"l", IG_I64},  {"q", IG_I64},
                 {"B", IG_U8},   {"H", IG_U16},   {"I", IG_U32},  {"L", IG_U64},  {"Q", IG_U64},
                 {"e", IG_F16},  {"f", IG_F32},   {"d", IG_F64},  {"F", IG_C64},  {"D", IG_C128}};
    text += *text && strchr("<=|", *text) != NULL;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(text, codes[i].code) == 0)
            return codes[i].dtype;
    return IG_DTYPE_NONE;
}

/* The dtype of a name, of a Python type or of an object with a name, such as a NumPy dtype or scalar type. Python's float and
 * complex have 64 bits in each part, and so has the dtype that they name. */
static ig_dtype find_dtype(PyObject *o)
{
    if (Py_TYPE(o) == dtype_type)
        return dtype_of(o);
    if (o == (PyObject *)&PyBool_Type)
        return IG_BOOL;
    if (o == (PyObject *)&PyLong_Type)
        return IG_I64;
    if (o == (PyObject *)&PyFloat_Type)
        return IG_F64;
    if (o == (PyObject *)&PyComplex_Type)
        return IG_C128;
    PyObject *name = PyUnicode_Check(o)
                         ? Py_NewRef(o)
                         : PyObject_GetAttrString(o, PyType_Check(o) ? "__name__" : "name");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    ig_dtype found = !text                          ? IG_DTYPE_NONE
                     : strcmp(text, "float") == 0   ? IG_F64
                     : strcmp(text, "complex") == 0 ? IG_C128
                                                    : ig_dtype_parse(text);
    if (text && !found)
        found = code_dtype(text);
    Py_XDECREF(name);
    PyErr_Clear();
    ig_error(NULL);
    return found;
}

/* Raises the error for a dtype that no array here has, such as NumPy's dtypes of structures, texts, times and objects. */
static void refuse_dtype(PyObject *o)
{
    static const char *const rows[][3] = {
        {"void", "V",
         "arrays here have no structures; use a dictionary with an array for each field"},
        {"str", "U",
         "arrays here hold numbers and bools; keep texts in a list or an array of NumPy"},
        {"bytes", "S",
         "arrays here hold numbers and bools; keep texts in a list or an array of NumPy"},
        {"datetime", "M", "arrays here have no times; use times.astype('int64') of NumPy"},
        {"timedelta", "m", "arrays here have no times; use times.astype('int64') of NumPy"},
        {"object", "O", "arrays here hold numbers and bools; keep objects in a list"}};
    const char *advice = "use ingot.float32, 'float32' or 'f32'";
    PyObject *name = PyList_Check(o) || PyDict_Check(o) ? PyUnicode_FromString("void")
                     : PyUnicode_Check(o)
                         ? Py_NewRef(o)
                         : PyObject_GetAttrString(o, PyType_Check(o) ? "__name__" : "name");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : "";
    PyErr_Clear();
    text = text ? text + strspn(text, "<>|=") : "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(text, rows[i][0], strlen(rows[i][0])) == 0 || *text == *rows[i][1])
            advice = rows[i][2];
    PyErr_Format(PyExc_TypeError, "%R is not a dtype of Ingot; %s", o, advice);
    Py_XDECREF(name);
}

bool to_dtype(PyObject *o, ig_dtype *dtype)
{
    *dtype = o == Py_None ? IG_DTYPE_NONE : find_dtype(o);
    if (*dtype == IG_DTYPE_NONE && o != Py_None)
        return refuse_dtype(o), false;
    return true;
}

static PyObject *dtype_repr(PyObject *self)
{
    return PyUnicode_FromFormat("ingot.%s", ig_dtype_std_name(dtype_of(self)));
}

static PyObject *dtype_str(PyObject *self)
{
    return PyUnicode_FromString(ig_dtype_std_name(dtype_of(self)));
}

static Py_hash_t dtype_hash(PyObject *self)
{
    PyObject *name = dtype_str(self);
    const Py_hash_t hash = name ? PyObject_Hash(name) : -1;
    Py_XDECREF(name);
    return hash;
}

static PyObject *dtype_compare(PyObject *self, PyObject *other, int op)
{
    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    const bool same = self == other || (Py_TYPE(other) != dtype_type && other != Py_None &&
                                        find_dtype(other) == dtype_of(self));
    return PyBool_FromLong(same == (op == Py_EQ));
}

static PyObject *get_name(PyObject *self, void *unused) { return (void)unused, dtype_str(self); }
static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(ig_dtype_bytes(dtype_of(self)));
}
static PyObject *get_kind(PyObject *self, void *unused)
{
    (void)unused;
    const ig_dtype d = dtype_of(self);
    return PyUnicode_FromString(d == IG_BOOL                        ? "b"
                                : ig_isdtype(d, "signed integer")   ? "i"
                                : ig_isdtype(d, "unsigned integer") ? "u"
                                : ig_isdtype(d, "complex floating") ? "c"
                                                                    : "f");
}

/* Whether the dtype is of the kind that the attribute names, as in PyTorch. */
static PyObject *get_is_kind(PyObject *self, void *kind)
{
    return PyBool_FromLong(ig_isdtype(dtype_of(self), kind));
}

/* Pickled by name. */
static PyObject *dtype_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *name = dtype_str(self);
    return name ? Py_BuildValue("(O(N))", dtype_type, name) : NULL;
}

/* The type called: dtype("float32"). */
static PyObject *dtype_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type;
    PyObject *o;
    ig_dtype d;
    if (kwargs && PyDict_Size(kwargs))
        return PyErr_Format(PyExc_TypeError, "dtype takes no keywords");
    if (!PyArg_ParseTuple(args, "O:dtype", &o) || !to_dtype(o, &d))
        return NULL;
    return d ? dtype_object(d) : PyErr_Format(PyExc_TypeError, "None is not a dtype");
}

/* A dtype called: float64(3) is a 0-d array, float64([1, 2]) an array. */
static PyObject *dtype_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *o = NULL, *number = NULL;
    if (kwargs && PyDict_Size(kwargs))
        return PyErr_Format(PyExc_TypeError, "%S takes no keywords", self);
    if (!PyArg_ParseTuple(args, "|O", &o))
        return NULL;
    if (!o)
        o = number = PyLong_FromLong(0);
    else if (PyUnicode_Check(o))
        o = number = PyObject_CallFunctionObjArgs(
            (PyObject *)(ig_isdtype(dtype_of(self), "integral") ? &PyLong_Type : &PyFloat_Type), o,
            NULL);
    if (!o || !enter()) {
        Py_XDECREF(number);
        return NULL;
    }
    PyObject *x = leave_with(make_array(o, dtype_of(self)));
    Py_XDECREF(number);
    return x;
}

static PyGetSetDef dtype_attributes[] = {
    {"name", get_name, NULL, "The standard's name, such as 'float32'.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"kind", get_kind, NULL, "One letter: b, i, u, f or c.", NULL},
    {"is_floating_point", get_is_kind, NULL, "Whether it has real floats.", "real floating"},
    {"is_complex", get_is_kind, NULL, "Whether it has complex floats.", "complex floating"},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot dtype_slots[] = {
    {Py_tp_new, dtype_new},
    {Py_tp_call, dtype_call},
    {Py_tp_repr, dtype_repr},
    {Py_tp_str, dtype_str},
    {Py_tp_hash, dtype_hash},
    {Py_tp_richcompare, dtype_compare},
    {Py_tp_getset, dtype_attributes},
    {Py_tp_methods, dtype_methods},
    {Py_tp_doc, "The type of an array's elements."},
    {0, NULL},
};
static PyType_Spec dtype_spec = {"ingot.dtype", sizeof(dtype_object_s), 0, Py_TPFLAGS_DEFAULT,
                                 dtype_slots};

bool dtype_setup(PyObject *module)
{
    dtype_type = (PyTypeObject *)PyType_FromSpec(&dtype_spec);
    if (!dtype_type || PyModule_AddObjectRef(module, "dtype", (PyObject *)dtype_type) < 0)
        return false;
    for (int i = IG_BOOL; i < DTYPES; i++) {
        dtype_object_s *d = PyObject_New(dtype_object_s, dtype_type);
        if (!d)
            return false;
        d->dtype = (ig_dtype)i;
        dtypes[i] = (PyObject *)d;
        if (PyModule_AddObjectRef(module, ig_dtype_std_name((ig_dtype)i), dtypes[i]) < 0)
            return false;
    }
    return PyModule_AddObjectRef(module, "bool_", dtypes[IG_BOOL]) == 0;
}

/* ---- functions of dtypes ---- */

/* The dtype of an argument that may be an array or a dtype. */
static bool dtype_of_argument(PyObject *o, ig_dtype *dtype)
{
    if (is_array(o)) {
        *dtype = ig_dtype_of(array_of(o));
        return true;
    }
    if (!to_dtype(o, dtype))
        return false;
    if (!*dtype)
        PyErr_SetString(PyExc_TypeError, "None is not a dtype");
    return *dtype != IG_DTYPE_NONE;
}

/* The common dtype of the arguments given so far and a number, which adapts. */
static ig_dtype with_number(ig_dtype d, PyObject *o)
{
    const ig_dtype one = PyBool_Check(o)    ? IG_BOOL
                         : PyLong_Check(o)  ? IG_I64
                         : PyFloat_Check(o) ? ig_default_dtype()
                                            : IG_C64;
    if (one == IG_C64 && !ig_isdtype(d, "real floating") && !ig_isdtype(d, "complex floating"))
        return ig_default_dtype() == IG_F64 ? IG_C128 : IG_C64;
    if (d == IG_DTYPE_NONE)
        return one;
    if (one == IG_BOOL || d == one)
        return d;
    if (one == IG_I64)
        return d == IG_BOOL ? IG_I64 : d;
    if (PyFloat_Check(o))
        return ig_isdtype(d, "real floating") || ig_isdtype(d, "complex floating") ? d : one;
    return d == IG_F64 || d == IG_C128 ? IG_C128 : IG_C64;
}

static PyObject *fn_set_default_dtype(PyObject *self, PyObject *o)
{
    (void)self;
    ig_dtype d;
    if (!to_dtype(o, &d))
        return NULL;
    if (ig_set_default_dtype(d) != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

static PyObject *fn_get_default_dtype(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return dtype_object(ig_default_dtype());
}

static PyObject *fn_result_type(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    ig_dtype result = IG_DTYPE_NONE, d;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_number(args[i]))
            continue;
        if (!dtype_of_argument(args[i], &d))
            return NULL;
        const ig_dtype before = result;
        result = before ? ig_promote(before, d) : d;
        if (!result)
            return PyErr_Format(PyExc_TypeError, "%s and %s have no common dtype",
                                ig_dtype_std_name(before), ig_dtype_std_name(d));
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_number(args[i]))
            result = with_number(result, args[i]);
    if (!result)
        return PyErr_Format(PyExc_ValueError, "result_type needs an array or a dtype");
    return dtype_object(result);
}

static PyObject *fn_can_cast(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *from, *to;
    ig_dtype a, b;
    if (!PyArg_ParseTuple(args, "OO:can_cast", &from, &to) || !dtype_of_argument(from, &a) ||
        !dtype_of_argument(to, &b))
        return NULL;
    return PyBool_FromLong(ig_can_cast(a, b));
}

/* 1 if the dtype is of a kind: a name, a dtype or a tuple of these. -1 with an exception. */
static int is_kind(ig_dtype d, PyObject *kind)
{
    if (PyTuple_Check(kind)) {
        int any = 0;
        for (Py_ssize_t i = 0; any == 0 && i < PyTuple_Size(kind); i++)
            any = is_kind(d, PyTuple_GetItem(kind, i));
        return any;
    }
    static const char *const kinds[] = {"bool",     "signed integer", "unsigned integer",
                                        "integral", "real floating",  "complex floating",
                                        "numeric"};
    const char *name = PyUnicode_Check(kind) ? PyUnicode_AsUTF8AndSize(kind, NULL) : NULL;
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i]) == 0)
            return ig_isdtype(d, name);
    ig_dtype other;
    if (name && !ig_dtype_parse(name)) {
        ig_error(NULL);
        PyErr_Format(PyExc_ValueError, "isdtype: '%s' is not a kind of dtypes", name);
        return -1;
    }
    return to_dtype(kind, &other) ? other == d : -1;
}

static PyObject *fn_isdtype(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    static char *names[] = {"dtype", "kind", NULL};
    PyObject *dtype, *kind;
    ig_dtype d;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:isdtype", names, &dtype, &kind) ||
        !to_dtype(dtype, &d))
        return NULL;
    const int is = is_kind(d, kind);
    return is < 0 ? NULL : PyBool_FromLong(is);
}

/* The limits of a dtype as a tuple; __init__.py gives it names. */
static PyObject *fn_finfo(PyObject *self, PyObject *o)
{
    (void)self;
    ig_dtype d;
    ig_finfo f;
    if (!dtype_of_argument(o, &d))
        return NULL;
    if (!ig_isdtype(d, "real floating") && !ig_isdtype(d, "complex floating"))
        return PyErr_Format(PyExc_TypeError, "finfo: %s is not a floating-point dtype",
                            ig_dtype_std_name(d));
    if (ig_finfo_of(d, &f) != IG_OK)
        return raise_error();
    const ig_dtype part = d == IG_C64 ? IG_F32 : d == IG_C128 ? IG_F64 : d;
    return Py_BuildValue("(iddddN)", f.bits, f.eps, f.max, f.min, f.smallest_normal,
                         dtype_object(part));
}

static PyObject *fn_iinfo(PyObject *self, PyObject *o)
{
    (void)self;
    ig_dtype d;
    ig_iinfo f;
    if (!dtype_of_argument(o, &d))
        return NULL;
    if (!ig_isdtype(d, "integral"))
        return PyErr_Format(PyExc_TypeError, "iinfo: %s is not an integer dtype",
                            ig_dtype_std_name(d));
    if (ig_iinfo_of(d, &f) != IG_OK)
        return raise_error();
    return Py_BuildValue("(iKLN)", f.bits, (unsigned long long)f.max, (long long)f.min,
                         dtype_object(d));
}

PyMethodDef dtype_functions[] = {
    {"result_type", (PyCFunction)(void (*)(void))fn_result_type, METH_FASTCALL,
     "result_type(*arrays_and_dtypes)\n--\n\nThe common dtype of arrays, dtypes and numbers."},
    {"can_cast", fn_can_cast, METH_VARARGS,
     "can_cast(from_, to, /)\n--\n\nWhether promotion of from_ and to gives to."},
    {"isdtype", (PyCFunction)(void (*)(void))fn_isdtype, METH_VARARGS | METH_KEYWORDS,
     "isdtype(dtype, kind)\n--\n\nWhether dtype is of a kind: a name such as 'real floating', a "
     "dtype, or a tuple."},
    {"set_default_dtype", fn_set_default_dtype, METH_O,
     "set_default_dtype(dtype, /)\n--\n\nSets the dtype of floats that are made without a dtype: "
     "float32, which is the default, or float64 as in NumPy. It holds for all threads; set it "
     "first."},
    {"get_default_dtype", fn_get_default_dtype, METH_NOARGS,
     "get_default_dtype()\n--\n\nThe dtype of floats that are made without a dtype."},
    {"_finfo", fn_finfo, METH_O, NULL},
    {"_iinfo", fn_iinfo, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
