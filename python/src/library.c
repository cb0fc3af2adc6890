/* Calls of the library: errors as exceptions, scopes, evaluation without the GIL, and settings. */
#include "common.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

PyObject *raise_error(void)
{
    ig_status code = IG_OK;
    const char *message = ig_error(&code);
    if (PyErr_Occurred() || trace_raise_missing())
        return NULL;
    PyObject *type = PyExc_RuntimeError;
    switch (code) {
    case IG_ERR_ARGUMENT:
    case IG_ERR_FORMAT: type = PyExc_ValueError; break;
    case IG_ERR_SHAPE: type = shape_error; break;
    case IG_ERR_DTYPE: type = PyExc_TypeError; break;
    case IG_ERR_INDEX: type = PyExc_IndexError; break;
    case IG_ERR_MEMORY: type = PyExc_MemoryError; break;
    case IG_ERR_FILE: type = PyExc_OSError; break;
    case IG_ERR_DEVICE:
        /* the tests of indices that kernels of Python functions have; see _cuda_translate.py */
        type = message && strstr(message, ": index out of bounds for axis ") ? PyExc_IndexError
                                                                             : device_error;
        break;
    case IG_ERR_UNSUPPORTED: type = device_error; break;
    case IG_ERR_CANCELLED: type = PyExc_KeyboardInterrupt; break;
    default: break;
    }
    PyErr_SetString(type, message ? message : "Ingot failed without a message");
    return NULL;
}

PyObject *raise_stopped(void)
{
    if (PyErr_Occurred() || PyErr_CheckSignals() == 0)
        return raise_error();
    ig_error(NULL);
    return NULL;
}

/* ---- calls ---- */

/* A call uses the arrays of its arguments without owning them. Meanwhile another thread, or code that the call runs, may
 * let an Array refer to a new array. The old one lives on until all calls have left that may use it. Calls belong to
 * the generation in which they entered. A generation begins when all calls of the one before the last have left;
 * then the arrays that were replaced in that one are released. All of this needs the GIL. */
static struct {
    unsigned generation;
    int inside[2]; /* calls of the generations of this parity */
    ig_array **old[2];
    int n[2], room[2];
} calls;
static _Thread_local uint64_t
    entered; /* the parities of the thread's open calls, the last one lowest */

/* The call that made the device of its arrays the current one, counted from 1, and the device before. */
static _Thread_local struct {
    int depth, call;
    const char *before;
} followed;

bool enter(void)
{
    if (ig_scope_begin() != IG_OK) {
        raise_error();
        return false;
    }
    const unsigned parity = calls.generation & 1;
    calls.inside[parity]++;
    entered = entered << 1 | parity;
    followed.depth++;
    return true;
}

void follow_device(PyObject *o)
{
    if (followed.call || !is_array(o))
        return;
    const char *here = ig_array_device(array_of(o)), *before = ig_device();
    if (strcmp(here, before) == 0 || ig_set_device(here) != IG_OK)
        return;
    followed.call = followed.depth;
    followed.before = before;
}

bool enter_with(PyObject *o)
{
    if (!enter())
        return false;
    follow_device(o);
    return true;
}

static void begin_generations(void)
{
    for (int i = 0; i < 2; i++) {
        const unsigned next = ~calls.generation & 1;
        if (calls.inside[next])
            return;
        calls.generation++;
        while (calls.n[next])
            ig_release(calls.old[next][--calls.n[next]]);
    }
}

void leave(void)
{
    ig_scope_end();
    if (followed.call == followed.depth--) {
        followed.call = 0;
        ig_set_device(followed.before);
    }
    calls.inside[entered & 1]--;
    entered >>= 1;
    if (calls.n[0] || calls.n[1])
        begin_generations();
}

int open_calls(void) { return calls.inside[0] + calls.inside[1]; }

bool release_after_calls(ig_array *x)
{
    const unsigned parity = calls.generation & 1;
    if (open_calls() == 0) {
        ig_release(x);
        return true;
    }
    if (calls.n[parity] == calls.room[parity]) {
        const int room = 2 * calls.room[parity] + 16;
        ig_array **more = realloc(calls.old[parity], (size_t)room * sizeof *more);
        if (!more) {
            PyErr_NoMemory();
            return false;
        }
        calls.old[parity] = more;
        calls.room[parity] = room;
    }
    calls.old[parity][calls.n[parity]++] = x;
    return true;
}

PyObject *leave_failed(void)
{
    leave();
    return raise_error();
}

PyObject *leave_with(ig_array *x)
{
    ig_retain(x);
    leave();
    return x && !PyErr_Occurred() ? array_wrap(x) : (ig_release(x), raise_error());
}

PyObject *leave_with_all(ig_array *const *x, int n, bool as_list)
{
    PyObject *all = as_list ? PyList_New(n) : PyTuple_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *one = x[i] ? array_wrap(ig_retain(x[i])) : raise_error();
        if (!one || (as_list ? PyList_SetItem(all, i, one) : PyTuple_SetItem(all, i, one)) < 0)
            Py_CLEAR(all);
    }
    leave();
    return all;
}

/* ---- the lock of graphs ---- */

static pthread_mutex_t graphs;

static void make_lock(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&graphs, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

void graph_lock(void)
{
    if (pthread_mutex_trylock(&graphs) == 0)
        return;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&graphs);
    Py_END_ALLOW_THREADS
}

void graph_lock_plain(void) { pthread_mutex_lock(&graphs); }
void graph_unlock(void) { pthread_mutex_unlock(&graphs); }

/* ---- evaluation ---- */

int evaluate(ig_array *const *x, int n)
{
    ig_status status;
    for (int i = 0; i < n; i++) /* another thread may assign to items of an Array meanwhile */
        ig_retain(x[i]);
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&graphs);
    status = ig_eval(x, n);
    pthread_mutex_unlock(&graphs);
    Py_END_ALLOW_THREADS for (int i = 0; i < n; i++) ig_release(x[i]);
    if (status == IG_OK)
        return 0;
    raise_stopped();
    return -1;
}

int save_store(const char *path, ig_array *x, const ig_store_options *options)
{
    ig_status status;
    ig_retain(x); /* another thread may assign to items of an Array meanwhile */
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&graphs);
    status = ig_save_store(path, x, options, NULL);
    pthread_mutex_unlock(&graphs);
    Py_END_ALLOW_THREADS ig_release(x);
    if (status == IG_OK)
        return 0;
    raise_stopped();
    return -1;
}

const void *elements(ig_array *x)
{
    const void *data;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&graphs);
    data = ig_data(x);
    pthread_mutex_unlock(&graphs);
    Py_END_ALLOW_THREADS if (!data && ig_failed()) return raise_stopped();
    return data ? data : "";
}

ig_array *copied(ig_array *x)
{
    ig_array *copy;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&graphs);
    copy = ig_copy(x);
    pthread_mutex_unlock(&graphs);
    Py_END_ALLOW_THREADS if (!copy) raise_stopped();
    return copy;
}

ig_array *placed(ig_array *x, const char *device)
{
    char before[64], there[64];
    ig_array *y = ig_to_device(x, device);
    if (!y)
        return NULL;
    PyOS_snprintf(there, sizeof there, "%s", ig_array_device(y)); /* the current one, if on any */
    PyOS_snprintf(before, sizeof before, "%s", ig_device());
    if (ig_set_device(device) != IG_OK)
        return NULL;
    if (strcmp(there, ig_device()) != 0) {
        const void *data = elements(y);
        y = data ? ig_from_data(data, ig_shape(x), ig_dtype_of(x)) : NULL;
    }
    ig_set_device(before);
    return y;
}

/* Control-C stops an evaluation: our handler cancels it and calls Python's, which sets a flag. */
static struct sigaction before;

static void interrupt(int number, siginfo_t *info, void *context)
{
    ig_cancel();
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL)
        before.sa_handler(number);
}

static void watch_interrupts(void)
{
    if (sigaction(SIGINT, NULL, &before) != 0 || before.sa_handler == SIG_DFL ||
        before.sa_handler == SIG_IGN)
        return; /* Python does not handle it either */
    struct sigaction ours = {.sa_sigaction = interrupt, .sa_flags = before.sa_flags | SA_SIGINFO};
    ours.sa_mask = before.sa_mask;
    sigaction(SIGINT, &ours, NULL);
}

/* A child of fork must not inherit a lock that another thread of its parent held. It makes a new one: it may not unlock a
 * recursive lock, whose owner is a thread of the parent. Of the open calls only those of its thread remain. */
static void after_fork(void)
{
    make_lock();
    calls.inside[0] = calls.inside[1] = 0;
    for (uint64_t open = entered; open > 1; open >>= 1)
        calls.inside[open & 1]++;
}

void library_setup(void)
{
    make_lock();
    /* The library registers its own lock when it is first used. The last one registered is the first one taken, as in an
     * evaluation. */
    ig_eval(NULL, 0);
    ig_error(NULL);
    pthread_atfork(graph_lock_plain, graph_unlock, after_fork);
    watch_interrupts();
}

/* ---- owners of foreign memory ---- */

/* The library drops memory in any thread, with or without the GIL and while it holds its own locks. So owners are
 * listed here, and released by Python's main thread soon after. */
typedef struct waiting {
    struct waiting *next;
    PyObject *owner;
    void (*release)(void *context);
    void *context;
} waiting;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static waiting *list;
static bool scheduled;

static int release_all(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&list_lock);
    waiting *w = list;
    list = NULL;
    scheduled = false;
    pthread_mutex_unlock(&list_lock);
    while (w) {
        waiting *next = w->next;
        if (w->release)
            w->release(w->context);
        Py_XDECREF(w->owner);
        free(w);
        w = next;
    }
    return 0;
}

void release_later(PyObject *owner, void (*release)(void *context), void *context)
{
    waiting *w = malloc(sizeof *w);
    if (!w)
        return; /* the owner stays */
    *w = (waiting){NULL, owner, release, context};
    pthread_mutex_lock(&list_lock);
    w->next = list;
    list = w;
    if (!scheduled && Py_IsInitialized()) /* if the queue is full, the next release tries again */
        scheduled = Py_AddPendingCall(release_all, NULL) == 0;
    pthread_mutex_unlock(&list_lock);
}

/* ---- functions ---- */

PyObject *array_eval(PyObject *self, PyObject *unused)
{
    (void)unused;
    ig_array *x = array_of(self);
    if (ig_is_evaluated(x) || trace_is_pure()) /* traced arrays are evaluated by the plan */
        return Py_NewRef(self);
    /* evaluate holds x, and makes arrays only for complex ones. */
    const bool complex = ig_dtype_of(x) == IG_C64 || ig_dtype_of(x) == IG_C128;
    if (complex && !enter())
        return NULL;
    const int status = evaluate(&x, 1);
    if (complex)
        leave();
    return status < 0 ? NULL : Py_NewRef(self);
}

/* eval of containers of arrays, which Python's part flattens. */
static PyObject *eval_containers(PyObject *const *args, Py_ssize_t n)
{
    PyObject *all = PyTuple_New(n), *module = all ? PyImport_ImportModule("ingot.tree_util") : NULL;
    for (Py_ssize_t i = 0; module && i < n; i++)
        if (PyTuple_SetItem(all, i, Py_NewRef(args[i])) < 0)
            Py_CLEAR(module);
    PyObject *result = module ? PyObject_CallMethod(module, "tree_eval", "(O)", all) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(all);
    return result;
}

static PyObject *fn_eval(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_array(args[i]))
            return eval_containers(args, n);
    if (n == 1)
        return array_eval(args[0], NULL);
    if (trace_is_pure())
        Py_RETURN_NONE;
    ig_array **x = malloc((size_t)(n + 1) * sizeof *x);
    if (!x || !enter()) {
        free(x);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++)
        x[i] = array_of(args[i]);
    const int status = n ? evaluate(x, (int)n) : 0;
    leave();
    free(x);
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *fn_explain(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    ig_array *x[64];
    if (n > 64)
        return PyErr_Format(PyExc_ValueError, "explain takes at most 64 arrays");
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!is_array(args[i]))
            return PyErr_Format(PyExc_TypeError, "explain takes arrays, not %R", Py_TYPE(args[i]));
        x[i] = array_of(args[i]);
    }
    if (!enter())
        return NULL;
    graph_lock();
    char *text = ig_explain(x, (int)n);
    graph_unlock();
    PyObject *result = text ? PyUnicode_FromString(text) : NULL;
    ig_free(text);
    leave();
    return result ? result : raise_error();
}

/* The report of ig_verify as a tuple in the order of its fields. */
static PyObject *fn_verify(PyObject *self, PyObject *arrays)
{
    (void)self;
    int n = 0;
    ig_status status = IG_ERR_ARGUMENT;
    ig_verify_report r = {.size = sizeof r};
    ig_array **x = array_list(arrays, &n);
    if (x && enter()) {
        Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&graphs);
        status = ig_verify(x, n, &r);
        pthread_mutex_unlock(&graphs);
        Py_END_ALLOW_THREADS leave();
    }
    free(x);
    if (status != IG_OK)
        return raise_stopped();
    return Py_BuildValue("(iiLdddiNsddds)", r.nodes, r.failed, (long long)r.elements, r.worst_ulp,
                         r.worst_relative, r.worst_bound, r.node, PyBool_FromLong(r.fused), r.op,
                         r.error, r.expected, r.got, r.text);
}

static PyObject *fn_set_device(PyObject *self, PyObject *name)
{
    (void)self;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text)
        return PyErr_Format(PyExc_TypeError, "a device is a string, not %R", Py_TYPE(name));
    if (ig_set_device(text) != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

static PyObject *fn_default_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyUnicode_FromString(ig_device());
}

/* What is known about a device. Its memory is that of the process for the CPU. */
static PyObject *device_facts(const ig_device_info *info)
{
    ig_memory_info memory = {.size = sizeof memory};
    if (ig_device_memory(info->name, &memory) != IG_OK)
        return raise_error();
    return Py_BuildValue("{ssszszszsKsKsKsKsi}", "name", info->name, "kind", info->kind, "model",
                         info->model, "level", info->level, "memory",
                         (unsigned long long)info->memory, "limit",
                         (unsigned long long)memory.limit, "used", (unsigned long long)memory.used,
                         "peak", (unsigned long long)memory.peak, "threads", info->threads);
}

/* The facts of the devices that compute arrays. */
static PyObject *fn_devices(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *all = PyList_New(0);
    const int n = ig_device_count();
    for (int i = 0; all && i < n; i++) {
        ig_device_info info = {.size = sizeof info};
        if (ig_device_get(i, &info) != IG_OK) {
            Py_DECREF(all);
            return raise_error();
        }
        if (!info.runs_arrays || strcmp(info.kind, "null") == 0 || strcmp(info.kind, "gang") == 0)
            continue;
        PyObject *facts = device_facts(&info);
        if (!facts || PyList_Append(all, facts) < 0)
            Py_CLEAR(all);
        Py_XDECREF(facts);
    }
    return all;
}

static PyObject *fn_synchronize(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name = NULL;
    ig_status status;
    if (!PyArg_ParseTuple(args, "|z:synchronize", &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = ig_synchronize(name);
    Py_END_ALLOW_THREADS if (status != IG_OK) return raise_error();
    Py_RETURN_NONE;
}

static PyObject *fn_threads(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(ig_threads());
}

static PyObject *fn_set_threads(PyObject *self, PyObject *n)
{
    (void)self;
    const long count = PyLong_AsLong(n);
    if (PyErr_Occurred())
        return NULL;
    if (ig_set_threads((int)count) != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

static PyObject *fn_set_memory_limit(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *n;
    const char *device = NULL;
    if (!PyArg_ParseTuple(args, "O|z:set_memory_limit", &n, &device))
        return NULL;
    const unsigned long long bytes = PyLong_AsUnsignedLongLong(n);
    if (PyErr_Occurred())
        return NULL;
    if ((device ? ig_set_device_memory_limit(device, bytes) : ig_set_memory_limit(bytes)) != IG_OK)
        return raise_error();
    Py_RETURN_NONE;
}

static PyObject *fn_memory(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("{sKsKsK}", "used", (unsigned long long)ig_memory_used(), "peak",
                         (unsigned long long)ig_memory_peak(), "limit",
                         (unsigned long long)ig_memory_limit());
}

/* The alias table: (name, op, params, expression) for each. */
static PyObject *fn_aliases(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    const int n = ig_alias_count();
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        const ig_alias *a = ig_alias_at(i);
        PyObject *row = Py_BuildValue("(zzzz)", a->name, a->op, a->params, a->expression);
        if (!put(all, i, row))
            Py_CLEAR(all);
    }
    return all;
}

/* The advice table: (module, names, text) for each. */
static PyObject *fn_advice(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    const int n = ig_advice_count();
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        const ig_advice *a = ig_advice_at(i);
        if (!put(all, i, Py_BuildValue("(sss)", a->module, a->names, a->text)))
            Py_CLEAR(all);
    }
    return all;
}

/* The advice for a name such as "nn.LazyLinear"; None if there is none. */
static PyObject *fn_advice_for(PyObject *self, PyObject *name)
{
    (void)self;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    const ig_advice *found = text ? ig_advice_find(text) : NULL;
    return !text ? NULL : found ? PyUnicode_FromString(found->text) : Py_NewRef(Py_None);
}

/* (keyword, parameter, whether it is the first): whether the keyword is another name of the parameter. */
static PyObject *fn_is_keyword(PyObject *self, PyObject *args)
{
    (void)self;
    const char *keyword, *param;
    int first;
    if (!PyArg_ParseTuple(args, "ssp", &keyword, &param, &first))
        return NULL;
    const ig_param one = {.name = param}, none = {.name = ""};
    const ig_op op = {.params = &one, .n_params = 1}, other = {.params = &none, .n_params = 1};
    return PyBool_FromLong(ig_op_param(&op, keyword) && (first || !ig_op_param(&other, keyword)));
}

/* The op table: (name, class, signature, doc, gives_list, results) for each. For stubs and tests. */
static PyObject *fn_table(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    const int n = ig_op_count();
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        const ig_op *op = ig_op_at(i);
        PyObject *row = Py_BuildValue("(ssssNz)", op->name, op->cls, op->signature, op->doc,
                                      PyBool_FromLong(op->gives_list), op->results);
        if (!put(all, i, row))
            Py_CLEAR(all);
    }
    return all;
}

PyMethodDef library_functions[] = {
    {"eval", (PyCFunction)(void (*)(void))fn_eval, METH_FASTCALL,
     "eval(*arrays)\n--\n\nComputes the arrays, and everything that they need, in one run. Takes "
     "containers of arrays, too. Returns the argument if there is one."},
    {"_explain", (PyCFunction)(void (*)(void))fn_explain, METH_FASTCALL, NULL},
    {"set_device", fn_set_device, METH_O,
     "set_device(name, /)\n--\n\nThe device of the calling thread's new arrays."},
    {"default_device", fn_default_device, METH_NOARGS,
     "default_device()\n--\n\nThe name of the current device."},
    {"_devices", fn_devices, METH_NOARGS, NULL},
    {"_verify", fn_verify, METH_O, NULL},
    {"synchronize", fn_synchronize, METH_VARARGS,
     "synchronize(device=None, /)\n--\n\nWaits until the device has done all its work."},
    {"threads", fn_threads, METH_NOARGS,
     "threads()\n--\n\nThe number of threads of the CPU device."},
    {"set_memory_limit", fn_set_memory_limit, METH_VARARGS,
     "set_memory_limit(bytes, device=None, /)\n--\n\nSets the most bytes of array data in host "
     "memory, or on a device; 0 restores the default. Evaluations that need more compute values "
     "again instead of keeping them, and those of arrays in blocks are split to fit."},
    {"set_threads", fn_set_threads, METH_O,
     "set_threads(n, /)\n--\n\nSets the number of threads of the CPU device; 0 restores the "
     "default."},
    {"memory", fn_memory, METH_NOARGS,
     "memory()\n--\n\nBytes of array data: used, peak and limit."},
    {"_aliases", fn_aliases, METH_NOARGS, NULL},
    {"_advice", fn_advice, METH_NOARGS, NULL},
    {"_advice_for", fn_advice_for, METH_O, NULL},
    {"_is_keyword", fn_is_keyword, METH_VARARGS, NULL},
    {"_table", fn_table, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
