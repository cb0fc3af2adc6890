/* Transforms of graphs: vector-Jacobian products, vmap, checkpoint, custom gradients. The Python
 * functions in transform.py flatten containers and trace; these functions take lists of arrays. */
#include "common.h"
#include <stdlib.h>

ig_array **array_list(PyObject *o, int *n)
{
    const bool list = PyList_Check(o);
    if (!list && !PyTuple_Check(o)) {
        PyErr_Format(PyExc_TypeError, "expected a list of arrays, not %R", Py_TYPE(o));
        return NULL;
    }
    *n = (int)(list ? PyList_Size(o) : PyTuple_Size(o));
    ig_array **x = malloc((size_t)(*n + 1) * sizeof *x);
    for (int i = 0; x && i < *n; i++) {
        PyObject *one = list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
        if (!is_array(one)) {
            PyErr_Format(PyExc_TypeError, "expected arrays, not %R", Py_TYPE(one));
            free(x);
            return NULL;
        }
        x[i] = array_of(one);
    }
    return x ? x : (ig_array **)PyErr_NoMemory();
}

static PyObject *fn_vjp(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *outs, *cots, *ins, *result = NULL;
    int n_out = 0, n_cot = 0, n_in = 0;
    if (!PyArg_ParseTuple(args, "OOO:_vjp", &outs, &cots, &ins))
        return NULL;
    ig_array **out = array_list(outs, &n_out), **cot = out ? array_list(cots, &n_cot) : NULL,
             **in = cot ? array_list(ins, &n_in) : NULL;
    ig_array **grads = in ? calloc((size_t)n_in + 1, sizeof *grads) : NULL;
    if (grads && n_cot != n_out) {
        PyErr_Format(PyExc_ValueError, "%d outputs need as many cotangents, not %d", n_out, n_cot);
    } else if (grads && enter()) {
        graph_lock();
        const ig_status status = ig_vjp(out, cot, n_out, in, n_in, grads);
        graph_unlock();
        result = status == IG_OK && !PyErr_Occurred() ? leave_with_all(grads, n_in, true)
                                                      : leave_failed();
    }
    free(out);
    free(cot);
    free(in);
    free(grads);
    return result;
}

static PyObject *fn_vmap(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *outs, *ins, *batch, *axes, *result = NULL;
    int n_out = 0, n_in = 0, n_batch = 0;
    if (!PyArg_ParseTuple(args, "OOOO:_vmap", &outs, &ins, &batch, &axes))
        return NULL;
    ig_array **out = array_list(outs, &n_out), **in = out ? array_list(ins, &n_in) : NULL,
             **batched = in ? array_list(batch, &n_batch) : NULL;
    ig_array **results = batched ? calloc((size_t)n_out + 1, sizeof *results) : NULL;
    int64_t *wide = results ? malloc((size_t)(n_in + 1) * sizeof *wide) : NULL;
    int *axis = wide ? malloc((size_t)(n_in + 1) * sizeof *axis) : NULL;
    const int n_axes = axis ? to_ints(axes, wide, n_in) : -1;
    for (int i = 0; i < n_axes; i++)
        axis[i] = (int)wide[i];
    if (n_axes == n_in && n_batch == n_in && enter()) {
        graph_lock();
        const ig_status status = ig_vmap(out, n_out, in, batched, axis, n_in, results);
        graph_unlock();
        result = status == IG_OK && !PyErr_Occurred() ? leave_with_all(results, n_out, true)
                                                      : leave_failed();
    }
    free(out);
    free(in);
    free(batched);
    free(results);
    free(wide);
    free(axis);
    if (!result && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "vmap: as many axes as inputs are needed");
    return result;
}

static PyObject *fn_checkpoint(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *o, *ins;
    int n = 0;
    if (!PyArg_ParseTuple(args, "O!O:_checkpoint", array_type, &o, &ins))
        return NULL;
    ig_array **in = array_list(ins, &n);
    if (!in || !enter()) {
        free(in);
        return NULL;
    }
    graph_lock();
    ig_array *x = ig_checkpoint(array_of(o), in, n);
    graph_unlock();
    free(in);
    return leave_with(x);
}

/* ---- custom gradients ---- */

/* Calls a Python function (inputs, out, g) that returns the gradients of the inputs, None for zero. */
static ig_status pull(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                      ig_array **grads)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *list = PyList_New(n), *y = array_wrap(ig_retain(out)), *z = array_wrap(ig_retain(g));
    for (int i = 0; list && i < n; i++) {
        PyObject *one = array_wrap(ig_retain(inputs[i]));
        if (!one || PyList_SetItem(list, i, one) < 0)
            Py_CLEAR(list);
    }
    PyObject *result =
        list && y && z ? PyObject_CallFunctionObjArgs(context, list, y, z, NULL) : NULL;
    ig_status status = result && PySequence_Size(result) == n ? IG_OK : IG_ERR_ARGUMENT;
    for (int i = 0; status == IG_OK && i < n; i++) {
        PyObject *one = PySequence_GetItem(result, i);
        ig_array *x = one && one != Py_None ? to_array(one) : NULL;
        grads[i] = x ? ig_broadcast_to(x, ig_shape(x)) : NULL; /* belongs to the scope */
        if (!one || (one != Py_None && !grads[i]))
            status = IG_ERR_ARGUMENT;
        Py_XDECREF(one);
    }
    if (status != IG_OK && !ig_failed())
        ig_fail(status, "the function of a custom gradient failed, or did not return %d gradients",
                n);
    Py_XDECREF(list);
    Py_XDECREF(y);
    Py_XDECREF(z);
    Py_XDECREF(result);
    PyGILState_Release(state);
    return status;
}

static void drop_function(void *context) { release_later(context, NULL, NULL); }

static PyObject *fn_custom_grad(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *o, *ins, *function;
    int n = 0;
    if (!PyArg_ParseTuple(args, "O!OO:_custom_grad", array_type, &o, &ins, &function))
        return NULL;
    ig_array **in = array_list(ins, &n);
    if (!in || !enter()) {
        free(in);
        return NULL;
    }
    ig_array *x = ig_custom_grad(array_of(o), in, n, pull, Py_NewRef(function), drop_function);
    free(in);
    return leave_with(x);
}

/* ---- functions of blocks ---- */

/* Calls a Python function (index, blocks) that returns a block. */
static ig_array *map_block(void *context, const int64_t *index, ig_array *const *blocks, int n)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    const int ndim = ig_ndim(blocks[0]);
    PyObject *list = PyList_New(n), *at = ints_tuple((ig_ints){index, ndim});
    for (int i = 0; list && i < n; i++)
        if (!put(list, i, array_wrap(ig_retain(blocks[i]))))
            Py_CLEAR(list);
    PyObject *result = list && at ? PyObject_CallFunctionObjArgs(context, at, list, NULL) : NULL;
    ig_array *y = result ? to_array(result) : NULL;
    y = y ? ig_broadcast_to(y, ig_shape(y)) : NULL; /* belongs to the scope */
    if (!y && !ig_failed())
        ig_fail(IG_ERR_ARGUMENT, "map_blocks: the function failed");
    Py_XDECREF(list);
    Py_XDECREF(at);
    Py_XDECREF(result);
    PyGILState_Release(state);
    return y;
}

/* Reads a list of integers; None gives an empty list. On failure returns false, with an exception set. */
static bool optional_ints(PyObject *o, int64_t *v, ig_ints *to)
{
    *to = IG_NONE;
    if (o == Py_None)
        return true;
    const int n = to_ints(o, v, IG_MAX_NDIM);
    *to = (ig_ints){v, n};
    return n >= 0;
}

static PyObject *fn_map_blocks(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *function, *ins, *chunk, *dtype, *depth;
    ig_block_map map = {.size = sizeof map, .function = map_block, .release = drop_function};
    int64_t chunks[IG_MAX_NDIM], depths[IG_MAX_NDIM];
    int n = 0;
    if (!PyArg_ParseTuple(args, "OOOOOzd:_map_blocks", &function, &ins, &chunk, &dtype, &depth,
                          &map.boundary, &map.value) ||
        !optional_ints(chunk, chunks, &map.result_chunk) ||
        !optional_ints(depth, depths, &map.depth) || !to_dtype(dtype, &map.dtype))
        return NULL;
    ig_array **in = array_list(ins, &n);
    if (!in || !enter()) {
        free(in);
        return NULL;
    }
    map.context = Py_NewRef(function);
    graph_lock();
    ig_array *x = ig_map_blocks(&map, in, n);
    graph_unlock();
    free(in);
    return leave_with(x);
}

static PyObject *fn_chunks(PyObject *self, PyObject *o)
{
    (void)self;
    if (!is_array(o))
        return PyErr_Format(PyExc_TypeError, "expected an array, not %R", Py_TYPE(o));
    graph_lock();
    const ig_ints chunk = ig_chunks_like(array_of(o));
    PyObject *tuple = chunk.v ? ints_tuple(chunk) : Py_NewRef(Py_None);
    graph_unlock();
    return tuple;
}

PyMethodDef transform_functions[] = {
    {"_vjp", fn_vjp, METH_VARARGS, NULL},
    {"_vmap", fn_vmap, METH_VARARGS, NULL},
    {"_checkpoint", fn_checkpoint, METH_VARARGS, NULL},
    {"_custom_grad", fn_custom_grad, METH_VARARGS, NULL},
    {"_map_blocks", fn_map_blocks, METH_VARARGS, NULL},
    {"_chunks", fn_chunks, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
