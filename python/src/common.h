/* What the files of the extension module share. The module uses ingot.h and Python's limited API only, so one binary
 * serves all versions of Python.
 *
 * Ownership: every function that builds arrays opens a scope of the library (enter), builds, and leaves it with its
 * results (leave_with). So intermediate arrays end with the call, and an Array object owns one reference. */
#ifndef PYTHON_COMMON_H
#define PYTHON_COMMON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <ingot.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef Py_GIL_DISABLED
#error \
    "Ingot's module uses the limited API, which free-threaded builds of Python do not have: use the default build"
#endif

/* ---- the types of the module ---- */

struct array_view;
typedef struct exposure exposure; /* exposed.c */

/* A variable that holds an array of the library, or a view of another Array: see view.c. */
typedef struct array_object {
    PyObject ob_base;
    ig_array *x; /* owned; NULL: a view whose value is not known, or a number; see array_of */
    PyObject *weakrefs;
    struct array_view *view;    /* owned; NULL: the Array has elements of its own */
    struct array_object *known; /* the first of its views whose values are known */
    int pending;                /* changes since x was evaluated; less than 0: it cannot be now */
    bool eager;                 /* changed in a loop: values are computed when they are assigned */
    bool is_readonly;
    bool shares;       /* its memory, or its root's, is exposed: array_of asks whether it changed */
    exposure *exposed; /* owned; of a root whose memory others may write to, else NULL */
    ig_dtype number_dtype; /* of a 0-d array that is this number, in storage format; else NONE */
    uint64_t number;
    uint32_t born; /* trace_clock when it was made: see trace.c */
    bool
        is_number; /* a Python number as an argument of a transform: weak, and exact with other numbers */
} array_object;

/* The part of an Array that makes it a view. */
typedef struct array_view {
    array_object *root;            /* strong */
    array_object *previous, *next; /* in the root's list of views with values */
    int ndim, part;
    int64_t offset, axes[]; /* lengths, then strides */
} array_view;

extern PyTypeObject *array_type, *dtype_type, *op_type;
extern PyObject *device_error, *shape_error;

static inline bool is_array(PyObject *o) { return Py_TYPE(o) == array_type; }
/* The value of a view, of a number or of exposed memory, which is made if it is not known. NULL with an error of the library on
 * failure. */
ig_array *view_value(PyObject *o);
static inline ig_array *array_of(PyObject *o)
{
    ig_array *x = ((array_object *)o)->x;
    return x && !((array_object *)o)->shares ? x : view_value(o);
}

/* Puts a new object into a list, which takes it over; false with an exception if the object could not be made. */
static inline bool put(PyObject *list, Py_ssize_t i, PyObject *one)
{
    return one && PyList_SetItem(list, i, one) == 0;
}

/* An Array that takes over the caller's reference to x. NULL with an exception on failure, also if x is NULL. */
PyObject *array_wrap(ig_array *x);

/* Types that PyInit__ingot makes; each returns false with an exception on failure. */
void library_setup(void);
bool array_setup(PyObject *module);
bool dtype_setup(PyObject *module);
bool ops_setup(PyObject *module);
bool compiled_setup(PyObject *module);
bool onnx_setup(PyObject *module);
bool text_setup(PyObject *module);
bool generate_setup(PyObject *module);

/* Method tables of the files, which are functions of the module. */
extern PyMethodDef create_functions[], dtype_functions[], exchange_functions[],
    transform_functions[], compiled_functions[], library_functions[], onnx_functions[],
    text_functions[], kernel_functions[], team_functions[], view_functions[], trace_functions[],
    loops_functions[], generate_functions[];

/* ---- calls of the library ---- */

/* Raises the waiting error of the library as an exception, unless one is raised already. Returns NULL. */
PyObject *raise_error(void);
/* The same after work that Control-C may have stopped: what Python's handler raises comes first. */
PyObject *raise_stopped(void);

/* Opens a scope for a call: arrays of Arrays that the call uses live until it leaves. Calls nest up to 63 deep. */
bool enter(void);
void leave(void);
/* Until the open call leaves, lists, NumPy's arrays and other values that become arrays are on the device of o, if o is an Array. The
 * first one decides. */
void follow_device(PyObject *o);
bool enter_with(PyObject *o);
/* Releases x when all calls have left that may use it. False with an exception on failure; then x is not released. */
bool release_after_calls(ig_array *x);
/* Calls that are open, in all threads. */
int open_calls(void);
/* Retains x, leaves the scope and wraps x. Raises the error if x is NULL. */
PyObject *leave_with(ig_array *x);
/* Leaves the scope with n arrays as a tuple or list. */
PyObject *leave_with_all(ig_array *const *x, int n, bool as_list);
PyObject *leave_failed(void);

/* Evaluates arrays, without the GIL. -1 with an exception on failure. */
int evaluate(ig_array *const *x, int n);
/* Evaluates x and writes it as a Zarr store, without the GIL. -1 with an exception on failure. */
int save_store(const char *path, ig_array *x, const ig_store_options *options);
/* The row-major elements of x, evaluated without the GIL; NULL with an exception on failure. */
const void *elements(ig_array *x);
/* A copy of x on its device, evaluated without the GIL; NULL with an exception on failure. */
ig_array *copied(ig_array *x);
/* x on a device. Numbers and arrays filled with one number are on any device; they become elements of this one. */
ig_array *placed(ig_array *x, const char *device);
/* Graphs are walked by one thread at a time. Evaluation drops the history of arrays, which gradients walk. These
 * release the GIL while they wait. The lock is recursive. */
void graph_lock(void);
void graph_lock_plain(void); /* for a thread without the GIL */
void graph_unlock(void);

/* ---- conversions: the results belong to the open scope ---- */

/* True if o is a Python number; of a subclass too, such as numpy.float64. */
bool is_number(PyObject *o);
/* A number as a weak scalar; NULL with an exception on failure. */
ig_array *number_array(PyObject *o);
/* Anything that stands for an array: Array, number (weak), nested sequence, object with a buffer, __dlpack__ or
 * __array__. */
ig_array *to_array(PyObject *o);
/* The same; floats in lists have double precision if the other array, of this dtype, has it. */
ig_array *to_array_like(PyObject *o, ig_dtype other);
/* The same for an operand of an operator, whose other operand is `other`: NULL without an exception if o is of an unknown
 * type. */
ig_array *to_operand(PyObject *o, PyObject *other);
/* The same for values that are assigned to items of an array of a dtype: Python's numbers must fit into it. */
ig_array *to_values(PyObject *o, ig_dtype dtype);
/* As asarray does: numbers are not weak. dtype may be IG_DTYPE_NONE. */
ig_array *make_array(PyObject *o, ig_dtype dtype);
/* An array of an object with a buffer. Copies, unless borrow. NULL without an exception if there is no buffer. */
ig_array *from_buffer(PyObject *o, bool borrow);
/* An array of the bytes of an object, without a copy if they are aligned. */
ig_array *from_raw(PyObject *o, ig_ints shape, ig_dtype dtype);
/* An array from __dlpack__, on its device. */
ig_array *from_capsule(PyObject *o, PyObject *device, PyObject *copy);

/* The dtype that o stands for: a dtype, its name, a Python type, a NumPy dtype; IG_DTYPE_NONE for None. False with
 * TypeError if it is none of these. */
bool to_dtype(PyObject *o, ig_dtype *dtype);
PyObject *dtype_object(ig_dtype dtype);
/* The format character of Python's struct module, or NULL. */
const char *dtype_format(ig_dtype dtype);
ig_dtype format_dtype(const char *format);

/* Up to max integers from an int or from a nested sequence of them. Returns their number, -1 with an exception. */
int to_ints(PyObject *o, int64_t *v, int max);
PyObject *ints_tuple(ig_ints v);

/* The arrays of a list or tuple, which must be freed; NULL with an exception on failure. */
ig_array **array_list(PyObject *o, int *n);

/* The element at p as a Python number. */
PyObject *element_object(const void *p, ig_dtype dtype);

/* ---- views (view.c, region.c) and numbers (number.c) ---- */

/* The elements of another Array, the root, that an Array sees: places in the row-major order of the root. */
typedef struct region {
    int ndim;
    bool is_readonly;
    enum { PART_NONE, PART_REAL, PART_IMAG } part; /* of complex elements */
    int64_t offset, shape[IG_MAX_NDIM], stride[IG_MAX_NDIM];
} region;

/* The Array that has the elements: o itself unless it is a view. */
PyObject *array_root(PyObject *o);
void array_region(PyObject *o, region *r);
/* Shape and dtype of an Array, without computing a view's value. */
ig_ints array_shape(PyObject *o);
ig_dtype array_dtype(PyObject *o);

/* The elements of an evaluated array in host memory; NULL in a pure trace, where arrays from outside are inputs. */
const char *known_elements(const array_object *root);
/* True if the elements of o's root can be read without work, so that views of them need no value. */
bool is_known(PyObject *o);
/* A view of o's root. Takes over the reference to x, its value; NULL: it is computed when it is needed. */
PyObject *view_new(PyObject *o, const region *r, ig_array *x);
/* The row of an op whose results NumPy gives as views; -1 if its results are copies. */
int view_op_find(const char *op);
/* Makes r, the region of the first argument, the region of a result of the shape `made`; false if NumPy copies. args: by parameter,
 * NULL if not given. *start: 0 for the first result of a list; moves to the next one. */
bool view_of_op(int row, const ig_arg *const *args, ig_ints made, int64_t *start, region *r);
void region_index(region *r, const ig_index *items, int n);
bool region_reshape(region *r, ig_ints shape);
void region_permute(region *r, const int *axes);
bool region_equal(const region *a, const region *b);
/* The elements of r in x, an array of the root's shape; x with other elements there. In the open scope. */
ig_array *region_read(ig_array *x, const region *r);
ig_array *region_write(ig_array *x, const region *r, ig_array *value);

/* Lets the Array o have the value x, of its shape and dtype, and takes over the caller's reference to x. A view changes its
 * root. Called after the call has left its scope. */
bool array_replace(PyObject *o, ig_array *x);
/* x with value combined at positions of the flattened x: "set", "add", "multiply", "min" or "max". In the open scope. */
ig_array *scattered(ig_array *x, ig_array *positions, ig_array *value, const char *how);
/* value in a dtype and broadcast to a shape. Axes of length 1 in front may be left out, as in NumPy. */
ig_array *fitted(ig_array *value, ig_ints shape, ig_dtype dtype);
/* Assigns to places of o's root; false with an exception on failure. */
bool array_store(PyObject *o, const region *r, PyObject *value);
/* Whether o may be changed now. All changes ask this. check_writable raises the reason if not. */
bool may_change(PyObject *o);
bool check_writable(PyObject *o);
/* A value to assign to elements of the dtype, on the device of `with`; it has the dtype where that needs no broadcast; an owned reference. NULL with the
 * exception that NumPy raises if the value does not fit. */
ig_array *to_value(PyObject *value, ig_dtype dtype, PyObject *with);
/* Counts a change or a read of an element of a lazy array, and evaluates the array after some of them, if that is possible. -1
 * with an exception if the user has stopped it. */
int array_settle(PyObject *o);
/* The value of an Array for one that is independent; an owned reference. A part of an array has its own memory if that is
 * cheap, so it does not hold the whole. */
ig_array *array_copied(PyObject *o);
/* The value of an Array that is about to be changed in place. In the open scope. */
ig_array *view_apart(PyObject *o);
/* A view whose value make(array_of(o)) is. */
PyObject *view_made(PyObject *o, const region *r, ig_array *(*make)(ig_array *x));
/* Ends the part of an Array that makes it a view. */
void view_end(PyObject *o);
/* After this no view has a value of the root's old elements. False with an exception on failure. */
bool views_forget(array_object *root);
/* Whether evaluations keep the history of arrays, as inside of gradients. */
bool keeps_history(void);

/* ---- memory that others may write to (exposed.c) ---- */

/* Lets others write to the memory of o's root until exposed_close: the address of the root's first element. NULL if the elements can
 * only be read, with an exception if they cannot be computed. */
char *exposed_open(PyObject *o);
void exposed_close(array_object *root);
/* The elements in the memory as an array, which the root owns. NULL with an error of the library on failure. */
ig_array *exposed_value(array_object *root);
/* Evaluates x, a new value of an Array with exposed memory; false with an exception if that is impossible now. exposed_store copies it to the
 * memory, and takes over the reference to it. */
bool exposed_accepts(ig_array *x);
bool exposed_store(array_object *root, ig_array *x);
/* For the end of the Array. */
void exposed_free(array_object *root);
/* The element at an offset of the root as a constant; NULL without an exception if it cannot be read at once. */
PyObject *element_constant(PyObject *o, int64_t offset);
/* The bits of a Python number as an element: 1; 0 if it takes an op; -1 with the exception that NumPy raises. bits has room for
 * 16 bytes. */
int number_bits(PyObject *number, ig_dtype dtype, void *bits);
/* An op of two operands of which one is an Array with a number; NULL without an exception if it takes arrays. The same in place: then o
 * has another number. */
PyObject *number_binary(PyObject *a, PyObject *b, const ig_op *op);
/* An op of a few elements of an array that is changed in a loop, such as a row, and a Python number; NULL without an exception if an
 * evaluation has to do it. */
PyObject *few_binary(PyObject *a, PyObject *b, const ig_op *op);
bool number_in_place(PyObject *o, PyObject *b, const ig_op *op);
/* The Python number of an Array with a number; NULL without an exception if it has none. */
PyObject *number_object(PyObject *o);
/* The bits of an array of one number of the dtype. NULL if the array has more elements, another dtype, or is not evaluated. */
const void *number_known(PyObject *number, ig_dtype dtype);
/* x[i] of a 1-d array, and x[i] = value, where no op is needed. NULL or false, usually without an exception: do it in
 * another way. */
PyObject *element_at(PyObject *o, int64_t i);
bool element_set(PyObject *o, int64_t i, PyObject *value);
extern PyGetSetDef array_attributes[];

/* ---- ops (signature.c) ---- */

/* A docstring that inspect.signature reads; it lives as long as the process. NULL without memory. */
const char *op_doc(const ig_op *op, bool places);
/* The type of a tuple with the names of the op's results, and how many there are. */
PyTypeObject *op_results(const ig_op *op, int *n_results);
/* ---- traces: functions that a transform calls ---- */

extern uint32_t trace_clock; /* the number of traces that have begun */
bool trace_is_open(void);
/* Whether one of them is a pure trace, as of jit and vmap: its arrays have no elements. */
bool trace_is_pure(void);
/* False with an exception if a pure trace must not change the Array in place, because it was made outside. */
bool trace_allows_change(PyObject *array);
/* True with an exception if an evaluation in a pure trace failed because an array has no elements. */
bool trace_raise_missing(void);
/* True if traced_binary has to combine two operands: one is a traced number, and the other one is no array. */
bool traced_meets(PyObject *a, PyObject *b);
PyObject *traced_binary(PyObject *a, PyObject *b, ig_array *(*f)(ig_array *, ig_array *));
PyObject *traced_unary(PyObject *a, ig_array *(*f)(ig_array *));

/* ---- the parts of the Array type ---- */

PyObject *array_eval(PyObject *self, PyObject *unused);
PyObject *array_getitem(PyObject *self, PyObject *key);
int array_setitem(PyObject *self, PyObject *key, PyObject *value);
PyObject *array_seq_item(PyObject *self, Py_ssize_t i);
/* x with value at key, combined by how: "set", "add", "multiply", "min" or "max". In the open scope. */
ig_array *array_updated(ig_array *x, PyObject *key, ig_array *value, const char *how);
PyObject *array_at(PyObject *self, void *unused);
int array_getbuffer(PyObject *self, Py_buffer *view, int flags);
void array_releasebuffer(PyObject *self, Py_buffer *view);
PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *array_dlpack_device(PyObject *self, PyObject *unused);

/* Calls what release functions of foreign memory have left for a thread with the GIL. */
void release_later(PyObject *owner, void (*release)(void *context), void *context);

#endif
