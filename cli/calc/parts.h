/* Shared by the files of the calculator: its state, and the functions that they call in each other. */
#ifndef CLI_CALC_PARTS_H
#define CLI_CALC_PARTS_H

#include "calc/calc.h"

/* A name and its value. The value has its own arena and retains its arrays. */
typedef struct binding {
    struct binding *next;
    char *name;
    arena memory;
    value bound;
} binding;

/* A file of named arrays, which it owns while the statement runs. Allocated in calc.scratch. */
typedef struct opened_file {
    struct opened_file *next;
    ig_tensors *tensors;
} opened_file;

struct calc {
    calc_options options;
    bool muted;
    bool has_grad;       /* a program so far calls grad */
    bool differentiates; /* named values get traces, and arrays keep their history */
    bool forgot;         /* arrays made before the first grad lost their history */
    int grads;           /* calls of grad so far */
    char *source;
    arena program;       /* the tree */
    arena scratch;       /* values of the statement that runs */
    const expr *current; /* the statement that ran last */
    const expr *next;
    bool scope_open;
    binding *names;
    binding *retired;   /* values that this statement replaced */
    ig_array **results; /* room for the results of an op */
    opened_file *files; /* loaded by this statement */
    mistake wrong;
};

enum { RESULTS_MOST = 1 << 16 };

/* Both return false. The second one uses the library's error. */
bool calc_fail(calc *c, span where, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool calc_fail_library(calc *c, span where);

bool calc_eval(calc *c, const expr *n, value *out);
bool calc_to_array(calc *c, span where, const value *v, ig_array **out);
/* Sets *out to x; if x is NULL, fails with the library's error. */
bool calc_give(calc *c, span where, ig_array *x, value *out);

/* Reads an int, or a 0-d array of ints; None gives `missing`. */
bool calc_to_int(calc *c, span where, const value *v, int64_t missing, int64_t *out);

/* names.c */
const binding *calc_find_name(const calc *c, const char *name);
bool calc_find_constant(const char *name, value *out);
/* Returns why a name cannot be assigned to; NULL if it can. */
const char *calc_reserved(const char *name);
/* True if n names a module of another library, such as np, and not a variable. Its functions are the ops of the same
 * name; if one is not, module_refuses returns the reason, else NULL. */
bool is_module(const calc *c, const expr *n);
const char *module_refuses(const expr *call);
/* "unknown op 'sofmax'; did you mean 'softmax'?" */
bool calc_fail_unknown(calc *c, const expr *n);

/* call.c: ops by name, with arguments converted to what their parameters take. */
bool call_op(calc *c, const expr *n, const ig_op *op, value *out);
bool call_arrays(calc *c, span where, const char *op, ig_array *const *arrays, int n, value *out);

/* index.c */
bool index_eval(calc *c, const expr *n, value *out);
bool calc_named_item(calc *c, span where, const value *named, const char *name, value *out);

/* files.c: load and save. */
bool run_load(calc *c, const expr *n, const value *args, value *out);
bool run_save(calc *c, const expr *n, const value *unused, value *out);
void files_close(calc *c);

/* grad.c: derivatives. */
/* True if the program calls grad. */
bool mentions_grad(const expr *n);
/* Starts a trace for v, which is being assigned to a name: grad can then differentiate with respect to it. */
bool trace_begin(calc *c, span where, value *v);
/* Applies n's operator to the traces of the numbers x and y (NULL if unary), and gives the result to out, which already
 * has the number. */
bool trace_operation(calc *c, const expr *n, const value *x, const value *y, value *out);
/* Drops the history of arrays if grad was not used and memory is short. */
void trace_limit(calc *c);
bool run_grad(calc *c, const expr *n, const value *args, value *out);

/* kernel.c: kernels in CUDA C. */
bool run_kernel(calc *c, const expr *n, const value *unused, value *out);

/* builtin.c */
const builtin *builtin_find(const char *name);
bool calc_call_builtin(calc *c, const expr *n, const builtin *b, value *out);
bool attribute_eval(calc *c, const expr *n, value *out);

#endif
