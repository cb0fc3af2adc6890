/* Shared by the files of the calculator: its state, and the functions that they call in each other. */
#ifndef CLI_CALC_PARTS_H
#define CLI_CALC_PARTS_H

#include "base/hash.h"
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

/* A name inside a function or comprehension. The innermost is first. */
typedef struct local {
    const struct local *next;
    const char *name;
    value v;
} local;

typedef enum function_kind {
    FN_LAMBDA,
    FN_VMAP,
    FN_GRAD,
    FN_VALUE_AND_GRAD,
    FN_JACOBIAN
} function_kind;

/* A function: f(x) = ..., or a transform of another one. */
struct user_function {
    function_kind kind;
    const char *name;           /* NULL: none */
    const expr *lambda;         /* FN_LAMBDA: an N_LAMBDA */
    const local *captured;      /* the names around it */
    const char *source;         /* the text that its places are in; NULL: the running program's */
    bool library;               /* an alias: it sees none of the user's names */
    const user_function *inner; /* the others: what they transform */
    value options[2];           /* argnums; or in_axes and out_axes */
};

/* An argument of a call, as written, and its value. */
typedef struct given {
    const expr *n;       /* the expression */
    const char *keyword; /* NULL: by position */
    span where;          /* of the keyword, or the expression */
    value v;
} given;

/* Random keys that follow from a seed, one after the other. */
typedef struct random_stream {
    int64_t seed;
    int draws;
} random_stream;

enum { STREAMS_MOST = 32 };
enum { CALLS_MOST = 64, LOOPS_MOST = 100000 };

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
    int scopes;          /* that are open */
    bool quiet;          /* the statement gives nothing to print */
    const local *locals; /* of the function that runs */
    int calls;           /* functions that run now */
    bool in_library;     /* an alias runs: the user's names are not seen */
    bool maps;           /* vmap runs a function: values of arrays must not be read */
    bool returned;       /* a return statement has run */
    int loops;           /* steps of loops in this statement */
    arena definitions;   /* the parsed functions of aliases */
    const expr **parsed; /* one for each alias, or NULL */
    random_stream streams[STREAMS_MOST]; /* the first is the one of np.random */
    int n_streams, stream;               /* how many there are, and which is drawn from */
    binding *names;
    binding *retired;   /* values that this statement replaced */
    ig_array **results; /* room for the results of an op */
    opened_file *files; /* loaded by this statement */
    hash opened;        /* names and dates of the files that the program has read */
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

/* True if an array may be read now: not inside vmap, where it stands for many. */
bool calc_may_read(calc *c, span where);
bool calc_evaluate(calc *c, const value *v);
void calc_bind(calc *c, const char *name, const value *v);
/* Releases values that were replaced. */
void calc_forget_retired(calc *c);

/* names.c */
/* The value of a variable: a local name, or the program's; NULL if there is none. */
const value *calc_find_name(const calc *c, const char *name);
bool calc_find_constant(const char *name, value *out);
/* Returns why a name cannot be assigned to; NULL if it can. */
const char *calc_reserved(const char *name);
/* True if n names a module of another library, such as np or np.linalg, and not a variable. Its functions are aliases and
 * ops. */
bool is_module(const calc *c, const expr *n);
/* The meaning of a called name. All members are NULL if it has none; op and define may both be set. */
typedef struct meaning {
    const ig_op *op;
    const builtin *own;
    const ig_alias *define;
    const ig_advice *absent;
} meaning;
meaning calc_meaning(const calc *c, const expr *n);
/* The alias of a method of a random generator; NULL if there is none. */
const ig_alias *calc_random_method(const char *name);
/* "unknown op 'sofmax'; did you mean 'softmax'?" */
bool calc_fail_unknown(calc *c, const expr *n);

/* call.c: arguments, and ops by name, with arguments converted to what their parameters take. */
/* Evaluates the arguments from first on; *a values are spread. With functions, the name of an op is a function. */
bool arguments_eval(calc *c, const expr *first, bool functions, given **args, int *count);
/* zeros(2, 3) means zeros((2, 3)): consecutive ints become one tuple, unless the next parameter takes a
 * number. Returns the new number of arguments. */
int call_gather(calc *c, const ig_op *op, given *args, int count);
/* True if the op has the parameters of a call, and the call gives all that are required. */
bool call_fits(const ig_op *op, const given *args, int count);
bool call_op(calc *c, const expr *n, const ig_op *op, given *args, int count, value *out);
bool call_arrays(calc *c, span where, const char *op, ig_array *const *arrays, int n, value *out);

/* flow.c: conditions, loops, comprehensions. */
bool flow_chain(calc *c, const expr *n, value *out);
bool flow_logic(calc *c, const expr *n, value *out);
bool flow_not(calc *c, const expr *n, value *out);
bool flow_if(calc *c, const expr *n, value *out);
bool flow_each(calc *c, const expr *n, value *out);
bool flow_for(calc *c, const expr *n, value *out);
bool flow_while(calc *c, const expr *n, value *out);
bool flow_block(calc *c, const expr *n, value *out);
bool flow_return(calc *c, const expr *n, value *out);
/* Whether v counts as true. */
bool calc_truth(calc *c, const expr *n, const value *v, bool *out);
/* x in y, x is y */
bool flow_membership(calc *c, const expr *n, const value *x, const value *y, value *out);
/* The items of a list, tuple or array. */
bool calc_items(calc *c, span where, const value *v, value *out);

/* function.c: functions of the user and of aliases. */
bool function_eval(calc *c, const expr *n, value *out); /* lambda */
bool function_define(calc *c, const expr *n, value *out);
/* Calls f with n values by position. */
bool function_apply(calc *c, span where, const user_function *f, const value *args, int n,
                    value *out);
bool function_call(calc *c, span where, const user_function *f, const given *args, int count,
                   value *out);
bool function_of_alias(calc *c, const ig_alias *a, user_function *out);
/* True if the arguments have the names and the number that the function takes. */
bool function_takes(const user_function *f, const given *args, int count);
/* Reads an argument that is a function: its value, or an op by its name. Other values stay as they are. */
bool function_argument(calc *c, const expr *n, value *out);
void calc_push(calc *c, const char *name, const value *v);

/* transform.c: vmap, and derivatives of functions. */
bool transform_apply(calc *c, span where, const user_function *f, const value *args, int n,
                     value *out);
bool run_vmap(calc *c, const expr *n, const value *unused, value *out);
bool run_jacobian(calc *c, const expr *n, const value *unused, value *out);
bool run_hessian(calc *c, const expr *n, const value *unused, value *out);
bool run_value_and_grad(calc *c, const expr *n, const value *unused, value *out);
bool run_vjp(calc *c, const expr *n, const value *unused, value *out);
bool run_jvp(calc *c, const expr *n, const value *unused, value *out);
/* grad(f): true, with the function in *out, if the call's first argument is a function. */
bool grad_of_function(calc *c, const expr *n, bool *is_function, value *out);

/* index.c */
bool index_eval(calc *c, const expr *n, value *out);
/* x[...] = v: *out is x, with v written. */
bool index_assign(calc *c, const expr *target, const value *v, value *out);
/* x.at[...].set(v) and relatives; *is_update: n is such a call. */
bool index_update(calc *c, const expr *n, bool *is_update, value *out);
bool calc_named_item(calc *c, span where, const value *named, const char *name, value *out);

/* files.c: load and save. */
bool run_load(calc *c, const expr *n, const value *args, value *out);
bool run_open(calc *c, const expr *n, const value *args, value *out);
bool run_loadtxt(calc *c, const expr *n, const value *args, value *out);
bool run_save(calc *c, const expr *n, const value *unused, value *out);
void files_close(calc *c);

/* store_options.c: the options of save for stores. */
bool store_option_is(const char *name);
/* Reads n arguments with keywords, for an array of ndim axes. */
bool store_options_read(calc *c, const given *args, int n, int ndim, ig_store_options *o);

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

/* words.c: f-strings, print, assert. */
bool words_format(calc *c, const expr *n, value *out);
bool words_assert(calc *c, const expr *n, value *out);
bool run_print(calc *c, const expr *n, const value *unused, value *out);
bool run_str(calc *c, const expr *n, const value *args, value *out);

/* dict.c */
bool dict_eval(calc *c, const expr *n, value *out);
/* d[key] = v: *out is d, with v. */
bool dict_assign(calc *c, const expr *key, const value *d, const value *v, value *out);
value dict_keys(calc *c, const value *d); /* a tuple */
/* d.keys(), values(), items() and get(key); *is_dict: n is such a call. */
bool dict_method(calc *c, const expr *n, bool *is_dict, value *out);

/* grid.c: mgrid, ogrid, r_ and c_. */
bool grid_is(const calc *c, const expr *n);
bool grid_eval(calc *c, const expr *n, value *out); /* n is an N_INDEX of such an object */

/* builtin.c */
const builtin *builtin_find(const char *name);
bool calc_call_builtin(calc *c, const expr *n, const builtin *b, value *out);
bool attribute_eval(calc *c, const expr *n, value *out);

#endif
