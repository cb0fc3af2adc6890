/* ingot.team: processes that mpirun has started, and sums of arrays over their shards. */
#include "common.h"
#include <stdlib.h>

static PyObject *fn_begin(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (ig_team_begin() != IG_OK)
        return raise_error();
    ig_team_share(false); /* ranks compute different shards */
    Py_RETURN_NONE;
}

static PyObject *fn_end(PyObject *self, PyObject *unused)
{
    ig_status status;
    (void)self, (void)unused;
    Py_BEGIN_ALLOW_THREADS status = ig_team_end();
    Py_END_ALLOW_THREADS if (status != IG_OK) return raise_error();
    Py_RETURN_NONE;
}

static PyObject *fn_place(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("(ii)", ig_team_rank(), ig_team_size());
}

static PyObject *fn_shards(PyObject *self, PyObject *args)
{
    int count, first, end;
    (void)self;
    if (!PyArg_ParseTuple(args, "i", &count))
        return NULL;
    if (ig_shards_own(count, &first, &end) != IG_OK)
        return raise_error();
    return Py_BuildValue("(ii)", first, end);
}

/* (count, like, terms): the sums of n arrays, as a list. */
static PyObject *fn_sum(PyObject *self, PyObject *args)
{
    PyObject *like_object, *terms_object;
    int count, n, n_terms, first, end;
    (void)self;
    if (!PyArg_ParseTuple(args, "iOO", &count, &like_object, &terms_object) || !enter())
        return NULL;
    ig_array **like = array_list(like_object, &n);
    ig_array **terms = like ? array_list(terms_object, &n_terms) : NULL;
    ig_array **sums = terms ? calloc((size_t)n + 1, sizeof *sums) : NULL;
    bool well = sums != NULL;
    if (well && ig_shards_own(count, &first, &end) == IG_OK && n_terms != (end - first) * n) {
        PyErr_Format(PyExc_ValueError, "%d arrays for %d shards of %d arrays", n_terms, end - first,
                     n);
        well = false;
    }
    if (well) {
        ig_status status;
        Py_BEGIN_ALLOW_THREADS graph_lock_plain();
        status = ig_shards_sum(count, like, n, terms, sums);
        graph_unlock();
        Py_END_ALLOW_THREADS well = status == IG_OK;
        if (!well)
            raise_stopped();
    }
    PyObject *result = NULL;
    if (well)
        result = leave_with_all(sums, n, true);
    else
        leave();
    free(like);
    free(terms);
    free(sums);
    return result;
}

/* (arrays): divided arrays with the same elements, as a list. */
static PyObject *fn_divide(PyObject *self, PyObject *list)
{
    int n;
    (void)self;
    if (!enter())
        return NULL;
    ig_array **x = array_list(list, &n);
    if (!x)
        return leave_failed();
    for (int i = 0; i < n; i++)
        ig_retain(x[i]);
    ig_status status;
    Py_BEGIN_ALLOW_THREADS graph_lock_plain();
    status = ig_team_divide(x, n);
    graph_unlock();
    Py_END_ALLOW_THREADS PyObject *result = NULL;
    if (status == IG_OK) {
        result = leave_with_all(x, n, true);
    } else {
        raise_stopped();
        leave();
    }
    for (int i = 0; i < n; i++)
        ig_release(x[i]);
    free(x);
    return result;
}

static PyObject *fn_divided_bytes(PyObject *self, PyObject *unused)
{
    uint64_t own, most;
    (void)self, (void)unused;
    ig_team_divided_bytes(&own, &most);
    return Py_BuildValue("(KK)", (unsigned long long)own, (unsigned long long)most);
}

PyMethodDef team_functions[] = {
    {"_team_begin", fn_begin, METH_NOARGS, NULL},
    {"_team_end", fn_end, METH_NOARGS, NULL},
    {"_team_place", fn_place, METH_NOARGS, NULL},
    {"_team_shards", fn_shards, METH_VARARGS, NULL},
    {"_team_sum", fn_sum, METH_VARARGS, NULL},
    {"_team_divide", fn_divide, METH_O, NULL},
    {"_team_divided_bytes", fn_divided_bytes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
