/* Loops and branches of graphs. The functions of lax.py flatten containers and trace; these functions take lists of
 * arrays. */
#include "common.h"
#include <stdlib.h>

/* Lists of arrays from Python, which must be freed together. */
typedef struct lists {
    ig_array **x[6];
    int n[6], count;
} lists;

static bool lists_take(lists *l, PyObject *const *from, int count)
{
    for (l->count = 0; l->count < count; l->count++)
        if (!(l->x[l->count] = array_list(from[l->count], &l->n[l->count])))
            return false;
    return true;
}

static void lists_free(lists *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->x[i]);
}

static PyObject *refuse(const char *what)
{
    return PyErr_Format(PyExc_ValueError, "%s: the lists have different lengths", what);
}

/* Leaves the scope with the results in one list. */
static PyObject *finish(ig_status status, ig_array **results, int n)
{
    return status == IG_OK && !PyErr_Occurred() ? leave_with_all(results, n, true) : leave_failed();
}

/* (carry, next, init, x, xs, y, length, reverse) -> the last carries, then ys */
static PyObject *fn_scan(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *from[6], *result = NULL;
    long long length;
    int reverse;
    lists l = {.count = 0};
    if (!PyArg_ParseTuple(args, "OOOOOOLp:_scan", &from[0], &from[1], &from[2], &from[3], &from[4],
                          &from[5], &length, &reverse))
        return NULL;
    ig_array **results = NULL;
    if (lists_take(&l, from, 6)) {
        if (l.n[0] != l.n[1] || l.n[0] != l.n[2] || l.n[3] != l.n[4])
            refuse("_scan");
        else if (!(results = calloc((size_t)(l.n[0] + l.n[5]) + 1, sizeof *results)))
            PyErr_NoMemory();
    }
    if (results && enter()) {
        const ig_scan_call call = {.size = sizeof call,
                                   .carry = l.x[0],
                                   .next = l.x[1],
                                   .n_carry = l.n[0],
                                   .x = l.x[3],
                                   .n_x = l.n[3],
                                   .y = l.x[5],
                                   .n_y = l.n[5],
                                   .init = l.x[2],
                                   .xs = l.x[4],
                                   .length = length,
                                   .reverse = reverse};
        graph_lock();
        const ig_status status = ig_scan(&call, results, results + l.n[0]);
        graph_unlock();
        result = finish(status, results, l.n[0] + l.n[5]);
    }
    free(results);
    lists_free(&l);
    return result;
}

/* (more, carry, next, init) -> the last carries */
static PyObject *fn_while(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *more, *from[3], *result = NULL;
    lists l = {.count = 0};
    if (!PyArg_ParseTuple(args, "O!OOO:_while", array_type, &more, &from[0], &from[1], &from[2]))
        return NULL;
    ig_array **results = NULL;
    if (lists_take(&l, from, 3)) {
        if (l.n[0] != l.n[1] || l.n[0] != l.n[2])
            refuse("_while");
        else if (!(results = calloc((size_t)l.n[0] + 1, sizeof *results)))
            PyErr_NoMemory();
    }
    if (results && enter()) {
        graph_lock();
        const ig_status status = ig_while(array_of(more), l.x[0], l.x[1], l.x[2], l.n[0], results);
        graph_unlock();
        result = finish(status, results, l.n[0]);
    }
    free(results);
    lists_free(&l);
    return result;
}

/* (index, in, operands, outputs of all branches, number of branches) -> results */
static PyObject *fn_switch(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *index, *from[3], *result = NULL;
    int n_branch;
    lists l = {.count = 0};
    if (!PyArg_ParseTuple(args, "O!OOOi:_switch", array_type, &index, &from[0], &from[1], &from[2],
                          &n_branch))
        return NULL;
    ig_array **results = NULL;
    if (lists_take(&l, from, 3)) {
        if (l.n[0] != l.n[1] || n_branch < 1 || l.n[2] % n_branch)
            refuse("_switch");
        else if (!(results = calloc((size_t)(l.n[2] / n_branch) + 1, sizeof *results)))
            PyErr_NoMemory();
    }
    if (results && enter()) {
        const int n_out = l.n[2] / n_branch;
        graph_lock();
        const ig_status status =
            ig_switch(array_of(index), l.x[0], l.x[1], l.n[0], l.x[2], n_branch, n_out, results);
        graph_unlock();
        result = finish(status, results, n_out);
    }
    free(results);
    lists_free(&l);
    return result;
}

/* The value of an array of one integer or bool that has been computed; None for another array, and in a pure trace, where arrays
 * from outside are inputs. */
static PyObject *fn_known(PyObject *self, PyObject *o)
{
    (void)self;
    if (trace_is_pure() || !is_array(o) || ig_size(array_of(o)) != 1 ||
        !ig_is_evaluated(array_of(o)))
        Py_RETURN_NONE;
    return PyObject_CallMethod(o, "item", NULL);
}

PyMethodDef loops_functions[] = {
    {"_scan", fn_scan, METH_VARARGS, NULL},
    {"_while", fn_while, METH_VARARGS, NULL},
    {"_switch", fn_switch, METH_VARARGS, NULL},
    {"_known", fn_known, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
