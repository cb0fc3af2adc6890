/* What the files of the calculator share: its state, and the ways from one to the other. */
#ifndef CLI_CALC_PARTS_H
#define CLI_CALC_PARTS_H

#include "calc/calc.h"

/* A name and its value, which lies in its own arena with its arrays retained. */
typedef struct binding {
    struct binding *next;
    char *name;
    arena memory;
    value bound;
} binding;

/* A file of named arrays, which own them while the statement runs. Lies in calc.scratch. */
typedef struct opened_file {
    struct opened_file *next;
    ig_tensors *tensors;
} opened_file;

struct calc {
    calc_options options;
    bool muted;
    bool has_grad;       /* a program so far calls grad */
    bool differentiates; /* so named values get traces, and arrays remember how they were made */
    bool forgot;         /* some that were made before the first grad do not */
    int grads;           /* calls so far */
    char *source;
    arena program;       /* the tree */
    arena scratch;       /* values of the statement that runs */
    const node *current; /* the statement that ran last */
    const node *next;
    bool scope_open;
    binding *names;
    binding *retired;   /* values whose names were given others by this statement */
    ig_array **results; /* room for the results of an op */
    opened_file *files; /* that this statement loaded */
    mistake wrong;
};

enum { RESULTS_MOST = 1 << 16 };

/* Both return false. The second passes the library's error on. */
bool calc_fail(calc *c, place where, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool calc_fail_library(calc *c, place where);

bool calc_eval(calc *c, const node *n, value *out);
bool calc_to_array(calc *c, place where, const value *v, ig_array **out);
/* x as the value; NULL passes the library's error on. */
bool calc_give(calc *c, place where, ig_array *x, value *out);

/* An int, or a 0-d array of one; None is missing. */
bool calc_to_int(calc *c, place where, const value *v, int64_t missing, int64_t *out);

/* names.c */
const binding *calc_find_name(const calc *c, const char *name);
bool calc_find_constant(const char *name, value *out);
/* Why name cannot be given a value, or NULL. */
const char *calc_reserved(const char *name);
/* Whether n names a module of another library, such as np, which is not a variable. Its functions are
 * the ops of the same name; module_refuses gives the reason where they are not, else NULL. */
bool is_module(const calc *c, const node *n);
const char *module_refuses(const node *call);
/* "unknown op 'sofmax'; did you mean 'softmax'?" */
bool calc_fail_unknown(calc *c, const node *n);

/* call.c: ops by name, with arguments coerced to what their parameters take. */
bool call_op(calc *c, const node *n, const ig_op *op, value *out);
bool call_arrays(calc *c, place where, const char *op, ig_array *const *arrays, int n, value *out);

/* index.c */
bool index_eval(calc *c, const node *n, value *out);
bool calc_named_item(calc *c, place where, const value *named, const char *name, value *out);

/* files.c: load and save. */
bool run_load(calc *c, const node *n, const value *args, value *out);
bool run_save(calc *c, const node *n, const value *unused, value *out);
void files_close(calc *c);

/* grad.c: derivatives. */
/* Does the program call grad? */
bool mentions_grad(const node *n);
/* v is given a name: from now on grad can ask by it. */
bool trace_begin(calc *c, place where, value *v);
/* out is what n's operator made of the numbers x and y (NULL if it is unary): so are their traces. */
bool trace_operation(calc *c, const node *n, const value *x, const value *y, value *out);
/* Forgets how arrays were made, if nobody has asked for grad and memory runs short. */
void trace_limit(calc *c);
bool run_grad(calc *c, const node *n, const value *args, value *out);

/* kernel.c: kernels in CUDA C. */
bool run_kernel(calc *c, const node *n, const value *unused, value *out);

/* builtin.c */
const builtin *builtin_find(const char *name);
bool calc_call_builtin(calc *c, const node *n, const builtin *b, value *out);
bool attribute_eval(calc *c, const node *n, value *out);

#endif
