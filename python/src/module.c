/* The extension module ingot._ingot: its types, the functions of all ops, and the methods of Array. */
#include "common.h"
#include <string.h>

PyObject *device_error, *shape_error;

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "ingot._ingot",
    "Ingot's arrays and ops.",
    -1,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};

/* Ops and their other names as methods of Array, unless Array has its own. */
static bool add_methods(PyObject *module)
{
    PyObject *methods = PyObject_GetAttrString(module, "_methods"), *type = (PyObject *)array_type;
    bool added = methods != NULL;
    for (int i = 0; added && i < ig_op_count(); i++) {
        const ig_op *op = ig_op_at(i);
        if (op->n_params && op->params[0].kinds >> IG_ARG_ARRAY & 1 &&
            strcmp(op->params[0].name, "key") != 0 && !PyObject_HasAttrString(type, op->name))
            added = PyObject_SetAttrString(type, op->name,
                                           PyDict_GetItemString(methods, op->name)) == 0;
    }
    for (int i = 0; added && i < ig_alias_count(); i++) {
        const ig_alias *a = ig_alias_at(i);
        if (a->op && !strchr(a->name, '.') && PyObject_HasAttrString(type, a->op) &&
            !PyObject_HasAttrString(type, a->name))
            added =
                PyObject_SetAttrString(type, a->name, PyDict_GetItemString(methods, a->op)) == 0;
    }
    Py_XDECREF(methods);
    PyErr_Clear();
    return added;
}

/* ShapeError is a ValueError, and an IndexError because it also stands for an axis out of range. */
static bool add_errors(PyObject *module)
{
    PyObject *bases = PyTuple_Pack(2, PyExc_ValueError, PyExc_IndexError);
    device_error = PyErr_NewExceptionWithDoc("ingot.DeviceError",
                                             "A device is absent, has failed, or cannot do this.",
                                             PyExc_RuntimeError, NULL);
    shape_error =
        PyErr_NewExceptionWithDoc("ingot.ShapeError", "Shapes or axes do not match.", bases, NULL);
    Py_XDECREF(bases);
    return device_error && shape_error &&
           PyModule_AddObjectRef(module, "DeviceError", device_error) == 0 &&
           PyModule_AddObjectRef(module, "ShapeError", shape_error) == 0;
}

static bool setup(PyObject *module)
{
    PyMethodDef *const tables[] = {create_functions,    dtype_functions,    exchange_functions,
                                   transform_functions, compiled_functions, library_functions,
                                   onnx_functions,      text_functions,     kernel_functions,
                                   team_functions,      view_functions,     loops_functions,
                                   trace_functions,     generate_functions};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (PyModule_AddFunctions(module, tables[i]) < 0)
            return false;
    return add_errors(module) &&
           PyModule_AddStringConstant(module, "__version__", ig_version()) == 0 &&
           dtype_setup(module) && array_setup(module) && ops_setup(module) &&
           compiled_setup(module) && onnx_setup(module) && text_setup(module) &&
           generate_setup(module) && add_methods(module);
}

PyMODINIT_FUNC PyInit__ingot(void);
PyMODINIT_FUNC PyInit__ingot(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    library_setup();
    if (!setup(module)) {
        Py_DECREF(module);
        return PyErr_Occurred() ? NULL : raise_error();
    }
    return module;
}
