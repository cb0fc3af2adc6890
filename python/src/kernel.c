/* Kernels in CUDA C: what a source has, and calls as nodes of the graph. _kernel.py and cuda.py prepare the arguments. */
#include "common.h"
#include <string.h>

enum { MAX_PARAMS = 256, MAX_DEFINES = 64 };

/* Texts of a tuple of strings, which live as long as it. -1 with an exception on failure. */
static int texts(PyObject *tuple, const char **to, int max)
{
    const Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 0 || n > max)
        return PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d strings", max), -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(to[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), NULL)))
            return -1;
    return (int)n;
}

static PyObject *param_row(const ig_kernel_param *p)
{
    PyObject *dtype = p->dtype ? dtype_object(p->dtype) : Py_NewRef(Py_None);
    return Py_BuildValue("(ssNNN)", p->name, p->type, dtype, PyBool_FromLong(p->is_pointer),
                         PyBool_FromLong(p->is_written));
}

static PyObject *kernel_row(const ig_kernel_info *k)
{
    PyObject *params = PyTuple_New(k->n_params);
    for (int i = 0; params && i < k->n_params; i++) {
        PyObject *row = param_row(&k->params[i]);
        if (!row || PyTuple_SetItem(params, i, row) < 0)
            Py_CLEAR(params);
    }
    return params ? Py_BuildValue("(sN)", k->name, params) : NULL;
}

/* (name, parameters) of each kernel; a parameter is (name, type, dtype, is_pointer, is_written). */
static PyObject *fn_kernels(PyObject *self, PyObject *args)
{
    (void)self;
    const char *source, *file, *define[MAX_DEFINES], *instance[MAX_DEFINES];
    PyObject *defines, *instances;
    if (!PyArg_ParseTuple(args, "ssOO:_kernels", &source, &file, &defines, &instances))
        return NULL;
    ig_module_options options = {.size = sizeof options, .defines = define, .instances = instance};
    if ((options.n_defines = texts(defines, define, MAX_DEFINES)) < 0 ||
        (options.n_instances = texts(instances, instance, MAX_DEFINES)) < 0)
        return NULL;
    ig_module *m = ig_module_new(file, source, &options);
    if (!m)
        return raise_error();
    const int n = ig_module_count(m);
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *row = kernel_row(ig_module_at(m, i));
        if (!row || PyList_SetItem(all, i, row) < 0)
            Py_CLEAR(all);
    }
    ig_module_free(m);
    return all;
}

/* An Array, a number, or the shape of a result as a tuple, which is stored from *ints on. */
static bool to_arg(PyObject *o, ig_arg *to, int64_t **ints, const int64_t *end)
{
    if (is_array(o)) {
        *to = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = array_of(o)};
    } else if (PyBool_Check(o)) {
        *to = (ig_arg){.kind = IG_ARG_BOOL, .u.b = o == Py_True};
    } else if (PyLong_Check(o)) {
        *to = (ig_arg){.kind = IG_ARG_INT, .u.i = PyLong_AsLongLong(o)};
    } else if (PyFloat_Check(o)) {
        *to = (ig_arg){.kind = IG_ARG_FLOAT, .u.f = PyFloat_AsDouble(o)};
    } else if (PyTuple_Check(o)) {
        const int n = to_ints(o, *ints, (int)(end - *ints));
        *to = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {*ints, n}};
        *ints += n > 0 ? n : 0;
    } else {
        PyErr_Format(PyExc_TypeError, "a kernel takes arrays, numbers and shapes, not %R",
                     Py_TYPE(o));
    }
    return !PyErr_Occurred();
}

static int to_call(ig_kernel_call *call, PyObject *given, ig_arg *arg, int64_t *ints, int n_ints)
{
    const Py_ssize_t n = PyTuple_Size(given);
    const int64_t *end = ints + n_ints;
    if (n > MAX_PARAMS)
        return PyErr_Format(PyExc_ValueError, "a kernel takes at most %d arguments", MAX_PARAMS),
               -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!to_arg(PyTuple_GetItem(given, i), &arg[i], &ints, end))
            return -1;
    call->args = arg;
    call->n_args = (int)n;
    return 0;
}

/* The results of a call as lazy arrays. gradients names the kernel's gradient, the gradient of that one, and so on. */
static PyObject *fn_kernel(PyObject *self, PyObject *args)
{
    (void)self;
    const char *source, *file, *kernel, *define[MAX_DEFINES], *gradient[8];
    PyObject *given, *defines, *gradients;
    unsigned g[3], b[3];
    Py_ssize_t shared;
    if (!PyArg_ParseTuple(args, "sssO!(III)(III)nOO:_kernel", &source, &file, &kernel,
                          &PyTuple_Type, &given, &g[0], &g[1], &g[2], &b[0], &b[1], &b[2], &shared,
                          &defines, &gradients))
        return NULL;
    ig_arg arg[MAX_PARAMS];
    int64_t ints[MAX_PARAMS];
    ig_module_options options = {.size = sizeof options, .defines = define};
    ig_kernel_call call[9] = {0};
    if ((options.n_defines = texts(defines, define, MAX_DEFINES)) < 0)
        return NULL;
    const int n_gradients = texts(gradients, gradient, 8);
    if (n_gradients < 0)
        return NULL;
    for (int i = 0; i <= n_gradients; i++) {
        call[i].size = sizeof *call;
        call[i].kernel = i ? gradient[i - 1] : kernel;
        call[i].shared_bytes = (size_t)shared;
        memcpy(call[i].grid, g, sizeof call[i].grid);
        memcpy(call[i].block, b, sizeof call[i].block);
        if (i)
            call[i - 1].gradient = &call[i];
    }
    call[0].name = file;
    call[0].source = source;
    call[0].options = &options;
    if (!enter())
        return NULL;
    ig_array *out[MAX_PARAMS];
    graph_lock(); /* other threads may run and assign to the arrays until here, but not from here on */
    const int n = to_call(&call[0], given, arg, ints, MAX_PARAMS) < 0
                      ? 0
                      : ig_kernel(&call[0], out, MAX_PARAMS);
    graph_unlock();
    return n > 0 ? leave_with_all(out, n, false) : leave_failed();
}

/* The results of a launch on the CPU that looks for mistakes; they are not lazy. */
static PyObject *fn_checked(PyObject *self, PyObject *args)
{
    (void)self;
    const char *source, *file, *kernel, *define[MAX_DEFINES];
    PyObject *given, *defines;
    unsigned g[3], b[3];
    Py_ssize_t shared;
    if (!PyArg_ParseTuple(args, "sssO!(III)(III)nO:_checked", &source, &file, &kernel,
                          &PyTuple_Type, &given, &g[0], &g[1], &g[2], &b[0], &b[1], &b[2], &shared,
                          &defines))
        return NULL;
    ig_arg arg[MAX_PARAMS];
    int64_t ints[MAX_PARAMS];
    ig_array *out[MAX_PARAMS] = {NULL};
    ig_module_options options = {.size = sizeof options, .defines = define};
    ig_kernel_call call = {0};
    if ((options.n_defines = texts(defines, define, MAX_DEFINES)) < 0 ||
        to_call(&call, given, arg, ints, MAX_PARAMS) < 0)
        return NULL;
    const char *const instance = kernel;
    if (strchr(kernel, '<')) {
        options.instances = &instance;
        options.n_instances = 1;
    }
    ig_launch launch = {.size = sizeof launch,
                        .shared_bytes = (size_t)shared,
                        .args = arg,
                        .n_args = call.n_args,
                        .check = true};
    memcpy(launch.grid, g, sizeof launch.grid);
    memcpy(launch.block, b, sizeof launch.block);
    if (!enter())
        return NULL;
    ig_module *m = ig_module_new(file, source, &options);
    const ig_kernel_info *info = m ? ig_module_find(m, kernel) : NULL;
    ig_status status = IG_ERR_ARGUMENT;
    int n = 0;
    if (info) {
        n = info->n_written;
        Py_BEGIN_ALLOW_THREADS;
        status = ig_module_launch(m, kernel, &launch, out);
        Py_END_ALLOW_THREADS;
    }
    ig_module_free(m);
    return status == IG_OK ? leave_with_all(out, n, true) : leave_failed();
}

/* Lets an Array refer to the elements of another one, as an assignment to items does. */
static PyObject *fn_replace(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *to, *value;
    if (!PyArg_ParseTuple(args, "O!O!:_replace", array_type, &to, array_type, &value))
        return NULL;
    if (!array_replace(to, ig_retain(array_of(value))))
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef kernel_functions[] = {
    {"_kernels", fn_kernels, METH_VARARGS, NULL},
    {"_kernel", fn_kernel, METH_VARARGS, NULL},
    {"_checked", fn_checked, METH_VARARGS, NULL},
    {"_replace", fn_replace, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
