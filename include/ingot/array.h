/* Arrays: ownership, making, evaluating, reading, indexing. */
#ifndef INGOT_ARRAY_H
#define INGOT_ARRAY_H

#include "ingot/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scopes and ownership ------------------------------------------------------------------ */

/* Opens a scope for the calling thread. ig_scope_end closes the innermost one and releases the arrays that
 * were made in it. Scopes nest. Arrays made without an open scope live until ig_shutdown, or until
 * ig_scope_forget and ig_release. */
IG_API ig_status ig_scope_begin(void);
IG_API void ig_scope_end(void);

/* Adds and drops one reference. NULL is allowed. ig_retain returns its argument. */
IG_API ig_array *ig_retain(ig_array *x);
IG_API void ig_release(ig_array *x);

/* Makes *slot refer to value: retains value and releases the previous content of *slot. *slot is NULL or a
 * reference that the caller owns. For variables that live longer than a scope: ig_replace(&w, ig_subtract(w, step)).
 * Fails if value is NULL, and leaves *slot unchanged. */
IG_API ig_status ig_replace(ig_array **slot, ig_array *value);

/* Takes x out of its scope: the caller now owns the reference of the scope and must ig_release it. Use it
 * to return one array from a function that opens a scope. Returns x. */
IG_API ig_array *ig_scope_forget(ig_array *x);

/* An evaluated array keeps its history, the nodes that it was computed from, for gradients. It drops its
 * history when its scope ends or when it is taken out of the scope; from then on it is a constant. After
 * ig_keep_history(true), arrays that the calling thread evaluates or takes out of scopes keep their history
 * as long as they live. Returns the previous setting. */
IG_API bool ig_keep_history(bool keep);

/* ---- arrays: making, asking, reading ------------------------------------------------------- */

/* An array with a copy of row-major data. */
IG_API ig_array *ig_from_data(const void *data, ig_ints shape, ig_dtype dtype);

/* An array over memory of the caller, without a copy. data is a block of `bytes` bytes that begins with
 * the elements in row-major order. It must stay valid and unchanged until Ingot calls release (may be
 * NULL) with context. Ingot calls it from any thread, when nothing uses the array any more; on failure, at
 * once. Ingot reads up to 64 bytes past the last element and ignores their values. It writes only if the
 * array is donated. So the block should be 64 bytes longer than the elements and aligned to their size. If
 * it is not aligned, or if reading past its end could fail, the elements are copied and release is called
 * at once. The memory does not count against the memory limit. */
IG_API ig_array *ig_from_memory(void *data, size_t bytes, ig_ints shape, ig_dtype dtype,
                                void (*release)(void *context), void *context);

/* 0-d constants. ig_int, ig_float and ig_bool are weak, like Python's numbers: they adopt the dtype of the
 * array that they are combined with, so ig_multiply(x, ig_float(0.5)) has the dtype of x. ig_scalar is not
 * weak. */
IG_API ig_array *ig_int(int64_t value);
IG_API ig_array *ig_float(double value);
IG_API ig_array *ig_bool(bool value);
/* value * 1j, weak: with f64 arrays it makes c128, with others c64. */
IG_API ig_array *ig_imaginary(double value);
IG_API ig_array *ig_scalar(double value, ig_dtype dtype);
/* The 0-d array x, of floats or integers, as a weak scalar. It is not copied where it is used, so gradients reach x. */
IG_API ig_array *ig_weak(ig_array *x);

/* A 0-d constant with the value at `element`, in storage format; not weak, on any device. Arithmetic of two constants, or of one
 * and a weak number, is computed at once, with the bits of an evaluation, and gives a constant: + - * / of floats, + - * of
 * integers, comparisons, negative, abs, minimum and maximum. So loops over elements record no graph. Gradients do not
 * reach a constant. Not for complex dtypes. */
IG_API ig_array *ig_constant(const void *element, ig_dtype dtype);

/* Properties of an array. For NULL they are 0, an empty list, IG_DTYPE_NONE and false. */
IG_API int ig_ndim(const ig_array *x);              /* number of axes */
IG_API int64_t ig_dim(const ig_array *x, int axis); /* length of an axis; -1 if there is none */
IG_API ig_ints ig_shape(const ig_array *x);         /* valid as long as x */
IG_API int64_t ig_size(const ig_array *x);          /* number of elements */
IG_API ig_dtype ig_dtype_of(const ig_array *x);
IG_API bool ig_is_evaluated(const ig_array *x); /* its elements have been computed */

/* Computes the arrays, and everything that they need, in one planned run. On failure all arrays stay
 * unchanged.
 *
 * Intermediate results are fused and not stored, so another evaluation that needs them computes them
 * again. Two kinds are stored, because the caller holds them for longer:
 *   - an array of an outer scope that arrays of the innermost open scope read, such as data that was built
 *     before a training loop with a scope for each step;
 *   - an array in no scope (ig_scope_forget, ig_retain) that the caller, or another lazy array, still holds.
 * Any other array that several evaluations use, such as one of the same scope, should be evaluated first:
 * ig_eval(&x, 1). */
IG_API ig_status ig_eval(ig_array *const *arrays, int n);

/* Tells whether the devices of the arrays can compute them. Returns IG_OK, or IG_ERR_UNSUPPORTED with the reason as the
 * error. It makes the plan, but compiles and computes nothing. Exception: arrays that move between devices are
 * computed first. */
IG_API ig_status ig_can_eval(ig_array *const *arrays, int n);
/* The same for another device, whatever the devices of the arrays are. "metal" also names a typical Apple GPU (M1) on
 * machines without one. */
IG_API ig_status ig_could_eval(ig_array *const *arrays, int n, const char *device);

/* Compiles the kernels for n evaluations: ig_eval(arrays, counts[0]), ig_eval(arrays + counts[0], counts[1]) and so
 * on. Computes nothing. All arrays must be on one device. A device compiles many kernels together in less time than one
 * by one. Does nothing on a device that compiles kernels one by one or not at all. A kernel that cannot be compiled is
 * reported by its evaluation. */
IG_API ig_status ig_prepare(ig_array *const *arrays, const int *counts, int n);

/* Asks the evaluations that run now, in any thread, to stop. They fail with IG_ERR_CANCELLED. Their arrays
 * stay unevaluated and can be evaluated again, unless they need an array that was donated: it is lost.
 * Evaluations that start later are not affected. The request is noticed between the programs of an
 * evaluation, and between the parts of a long program on the CPU. Safe to call from a signal handler. */
IG_API void ig_cancel(void);

/* The same for evaluations that run now and for all that start later: for a program that is about to end, whose last
 * evaluation may be over when the request comes. Safe to call from a signal handler. */
IG_API void ig_cancel_all(void);

/* As ig_eval, and donates arrays: the evaluation may overwrite their memory, so a training step needs no
 * second copy of the arrays that it replaces. Donated arrays, and views of them, have no elements
 * afterwards: evaluating an array that needs them is an error. */
IG_API ig_status ig_eval_donating(ig_array *const *arrays, int n, ig_array *const *donated,
                                  int n_donated);

/* Describes the schedule that ig_eval would run: programs, fused ops, bytes, FLOPs, buffers, peak memory.
 * Release the text with ig_free; NULL on failure. */
IG_API char *ig_explain(ig_array *const *arrays, int n);
IG_API char *ig_explain_donating(ig_array *const *arrays, int n, ig_array *const *donated,
                                 int n_donated);

/* A computation that is planned once and run many times. outputs are computed from inputs. The inputs are
 * placeholders: only their shapes and dtypes count. Everything else that outputs need is a constant. Each
 * run donates its first n_donated inputs, as ig_eval_donating does. NULL on failure. */
typedef struct ig_compiled ig_compiled;
IG_API ig_compiled *ig_compile(ig_array *const *inputs, int n_in, int n_donated,
                               ig_array *const *outputs, int n_out);
/* Describes the computation that ig_compile would make, as ig_explain does. */
IG_API char *ig_compile_explain(ig_array *const *inputs, int n_in, int n_donated,
                                ig_array *const *outputs, int n_out);
/* An array without elements on the current device, to build a computation for ig_compile. Evaluating it, or an array that
 * needs it, is an error. Not for complex dtypes. */
IG_API ig_array *ig_placeholder(ig_ints shape, ig_dtype dtype);
/* A 0-d placeholder that stands for a number: ig_run takes ig_float (f64), ig_int (i64) or ig_scalar in its place, and kernels
 * get the value as an argument. ig_weak of it adapts to other operands, as numbers do. */
IG_API ig_array *ig_placeholder_number(ig_dtype dtype);
/* The array without elements that the last failed evaluation of this thread needed, and NULL in later calls. The pointer is
 * meant for comparisons: the array may have been released. */
IG_API const ig_array *ig_missing(void);
/* Evaluates the inputs if needed, runs the computation, and writes evaluated outputs. */
IG_API ig_status ig_run(const ig_compiled *c, ig_array *const *inputs, ig_array **outputs);
IG_API void ig_compiled_free(ig_compiled *c);

/* Evaluates x and returns its elements in row-major order, valid as long as x; NULL on failure. A strided
 * view is copied into that order first. */
IG_API const void *ig_data(ig_array *x);

/* The elements of x in row-major order if they can be read without any work: x is a constant, which is neither a view nor has a
 * history, and its elements are in host memory. Otherwise NULL, without an error. Never evaluates. Not for complex
 * dtypes. */
IG_API const void *ig_peek(const ig_array *x);
/* True if x is evaluated and its elements are memory that Ingot does not own: the caller's (ig_from_memory) or a mapped file's. */
IG_API bool ig_is_borrowed(const ig_array *x);
/* The same as ig_peek, to write to the elements: NULL unless the caller has the only reference to x and nothing else uses its memory. Valid
 * until x is used again. */
IG_API void *ig_poke(ig_array *x);

/* Evaluates x and copies its elements to dst in row-major order; bytes must be the exact size. */
IG_API ig_status ig_read(ig_array *x, void *dst, size_t bytes);

/* Evaluates x and returns an array with a copy of its elements on the same device, in row-major order. It shares no
 * memory with x. */
IG_API ig_array *ig_copy(ig_array *x);

/* Evaluates x, which has one element, and returns it; NaN on failure. ig_item_int returns 64-bit integers
 * exactly. It fails, and returns 0, for a float that is not whole and for a u64 above INT64_MAX. */
IG_API double ig_item(ig_array *x);
IG_API int64_t ig_item_int(ig_array *x);

/* Evaluates x and returns its elements as NumPy prints them: "[[1. 2.]\n [3. 4.]]". If there are more than
 * 1000 elements, only some at the ends of each axis are shown, unless full. Release the text with ig_free;
 * NULL on failure. ig_print writes the same text and a newline to standard output. */
IG_API char *ig_to_string(ig_array *x, bool full);
IG_API ig_status ig_print(ig_array *x);

/* ---- indexing as NumPy writes it ----------------------------------------------------------- */

typedef enum ig_index_kind {
    IG_INDEX_INT,     /* x[3]: start; removes the axis */
    IG_INDEX_SLICE,   /* x[start:stop:step]; INT64_MIN means "not given" */
    IG_INDEX_NEWAXIS, /* x[None] */
    IG_INDEX_REST,    /* x[...] */
    IG_INDEX_ARRAY    /* x[array]: integers, or a bool mask (evaluates the mask) */
} ig_index_kind;

typedef struct ig_index {
    ig_index_kind kind;
    int64_t start, stop, step;
    ig_array *array;
} ig_index;

/* x[items...] with NumPy's rules, several index arrays included. Integers, slices and new axes give
 * a view. */
IG_API ig_array *ig_get(ig_array *x, const ig_index *items, int n);

#ifdef __cplusplus
}
#endif

#endif
