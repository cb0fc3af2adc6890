/* Shared declarations of the printer.
 *
 * A type has two forms: the *value*, in which the target computes, and the form in *memory*, with CUDA's
 * layout. They differ if the target lacks the type: a bool of OpenCL C is a uchar in memory. A bfloat16 is a
 * ushort in memory and, as a value, a float that is rounded after each operation. */
#ifndef KERNEL_PRINT_PARTS_H
#define KERNEL_PRINT_PARTS_H

#include "compiler/print/print.h"

/* ---- languages -------------------------------------------------------------------------------- */

typedef struct print_language {
    const char *name;                      /* "OpenCL C" */
    const char *values[TYPE_F64 + 1];      /* names of scalars */
    const char *spaces[SPACE_GENERIC + 1]; /* precedes a pointee's type; each ends with a space */
    const char *index[4][3];               /* [kernel_axis_base][axis] */
    const char *barrier;
    const char *fences[3];         /* block, device, system; NULL: not available */
    const char *function, *kernel; /* precedes a function's type */
    const char *shared;            /* precedes a shared variable */
    const char *const *reserved;   /* reserved names, sorted */
    int n_reserved;
} print_language;
extern const print_language print_languages[LANGUAGES];

/* Helper texts that precede a kernel that uses them; a row may need others. */
typedef enum prelude {
#define PRELUDE(id, needs, opencl, metal) PRELUDE_##id,
#include "compiler/print/prelude.def"
    PRELUDES
} prelude;

/* ---- functions -------------------------------------------------------------------------------- */

enum { HAND_LANE = 4, HAND_LOG, HAND_VOTE, HAND_DYNAMIC, HANDS };

/* A function that the kernel reaches, and its hidden parameters. */
typedef struct print_function {
    const kernel_function *f;
    const char *name;
    bool hands
        [HANDS]; /* by kernel_axis_base (in languages where indices are parameters), and HAND_... */
    const kernel_var **vars; /* shared and global variables, also its callees' variables */
    uint32_t n_vars, vars_room;
    bool is_twin; /* another clone has the same text, since CUDA C has no address spaces */
    bool holds;   /* it contains a barrier, directly or in a callee */
    bool returns; /* it has an early return */
    bool follows; /* inactive threads call it too, so it has a parameter `active` */
    bool splits;  /* it has a branch or loop with a barrier that only some threads run */
    bool *varying_params, *varying_locals, varying_result; /* see varies.c */
    bool apart, together; /* see varies.c; together: all lanes of a warp run each of its shuffles */
    bool *uniform_params, *uniform_locals; /* equal in all threads, including inactive ones */
    struct print_function *next;
} print_function;

typedef struct print_name {
    const void *of;
    const char *name;
    struct print_name *next;
} print_name;

enum { NAME_SLOTS = 1024 };

/* Where a part of the text begins, in `top`, `made` or `text`. */
typedef struct print_part {
    const text *in;
    size_t begin;
    const char *name;
} print_part;

typedef struct printer {
    const kernel_tree *tree;
    const kernel_entry *entry;
    const kernel_target *target;
    const print_language *lang;
    kernel_printed *printed;
    kernel_arena *arena;
    kernel_diags diags;
    text *into; /* the output of print_out: one of the texts below */
    text top;   /* before all functions */
    text made;  /* functions generated for this text, after `top` */
    text text;  /* all other functions */
    text head, temps,
        inner; /* of the current function: text up to its variables, temporaries, statements */
    int indent;
    int n_temps;
    print_function *functions, **last; /* callees first, the kernel last */
    print_function *at;                /* the function that is being printed */
    bool by_warps;                     /* print_varies compares the lanes of a warp only */
    bool maybe;                        /* threads may have returned before the current statement */
    const kernel_stmt *split;          /* the innermost split statement around the current one */
    bool loop_splits;                  /* the innermost loop is split: a break makes threads
                                        * inactive */
    bool loop_holds;                   /* the innermost loop has a barrier */
    print_name *names[NAME_SLOTS];     /* of variables, structs, functions; hashed by pointer */
    print_name *taken[NAME_SLOTS];     /* all used names; hashed by text */
    bool preludes[PRELUDES];
    bool extremes;                 /* CUDA: __ig_fmin_nan or __ig_fmax_nan is used */
    bool timer;                    /* CUDA: __globaltimer is used */
    bool float_atomics;            /* CUDA: an atomic of floats that CUDA lacks is used */
    const kernel_struct **structs; /* the structs in use */
    uint32_t n_structs, structs_room;
    uint32_t formats_room;
    const char **bases, **offsets; /* names of the kernel's parameters as the host passes them */
    bool bare_index;               /* only the lower 32 bits of the current expression matter */
    bool unrounded;                /* the store rounds the next printed value */
    print_name *makes;             /* the names in `made` */
    print_part *parts;
    uint32_t n_parts, parts_room;
    bool warned_soft, refused_double, refused_volatile;
} printer;

static inline bool is_opencl(const printer *p) { return p->target->language == LANGUAGE_OPENCL; }
static inline bool is_metal(const printer *p) { return p->target->language == LANGUAGE_METAL; }
static inline bool is_cuda(const printer *p) { return p->target->language == LANGUAGE_CUDA; }

/* ---- print.c ---- */

/* Ends the printing; the diagnostics are the error. */
_Noreturn void print_stop(printer *p);
void print_out(printer *p, const char *format, ...) IG_PRINTF(2, 3);
/* Begins a line. */
void print_line(printer *p);
/* A line, given without its newline. */
void print_row(printer *p, const char *format, ...) IG_PRINTF(2, 3);
void print_close(printer *p); /* ends a block: "}" */
print_function *print_function_of(printer *p, const kernel_function *f);
void print_use(printer *p, prelude which);
/* Begins a part at the end of one of the texts. */
void print_part_begin(printer *p, const text *in, const char *name);
/* Adds a generated function, once for each name. */
void print_make(printer *p, const char *name, const char *definition);
/* The arguments for the hidden parameters of f; first: no other arguments precede them. */
void print_hand_args(printer *p, const print_function *f, bool first);

/* A list of items, separated by commas. */
typedef struct print_items {
    bool first;
    text *out;
} print_items;
void print_item(print_items *s, const char *words);
/* A variable of the kernel as a parameter of other functions: a pointer to it, or to an array's first
 * element. */
const char *print_var_pointer(printer *p, const kernel_var *v, const char *name);
extern const char *const print_index_names[4];

/* ---- kernel.c ---- */

/* Determines the parameters of the text, and the places of globals. */
void print_find_params(printer *p, const print_function *kernel);
/* Prints the head of a kernel, up to its first statement. */
void print_kernel_head(printer *p, const print_function *f);
bool print_uses_globals(const print_function *f);

/* ---- type.c ---- */

const char *print_format(printer *p, const char *format, ...) IG_PRINTF(2, 3);
/* The name of a variable, function or struct in the text. */
const char *print_name_of(printer *p, const void *of);
void print_name_set(printer *p, const void *of, const char *name);
/* A new name, based on this one, that is neither a keyword nor in use. It is then in use. */
const char *print_name_new(printer *p, const char *name);
void print_name_take(printer *p, const char *name);
/* The same for a local variable; other functions may use the same name. */
const char *print_name_local(printer *p, const char *name);
const char *print_member_name(printer *p, const kernel_struct *s, const kernel_member *m);

/* The kind in which values of the type are computed. */
type_kind print_kind(const printer *p, const kernel_type *t);
type_kind print_kind_of(const printer *p, const kernel_expr *e);
/* True if its form in memory differs from its value form. */
bool print_differs(const printer *p, const kernel_type *t);
bool print_is_stored(const printer *p, const kernel_expr *place);
bool print_var_stored(const kernel_var *v);
/* True for a kernel parameter that is passed in the form in which it is used. */
bool print_var_by_value(const printer *p, const kernel_var *v);
/* True for a vector that the language has, with CUDA's layout. */
bool print_native(const printer *p, const kernel_type *t);
/* "__global const float *x" and the like; name may be "". */
/* The type without const, so that a constructor can write the object. */
const kernel_type *print_assignable(const kernel_type *t);
const char *print_declare(printer *p, const kernel_type *t, uint8_t space, const char *name,
                          bool stored);
const char *print_type(printer *p, const kernel_type *t, uint8_t space, bool stored);
/* An alignment attribute, if bytes is more than the type's own alignment. */
const char *print_align(printer *p, uint32_t bytes);
void print_structs(printer *p);

/* ---- constant.c ---- */

void print_constant(printer *p, const kernel_expr *e, int level);
/* The integer u of the type t. */
void print_integer(printer *p, const kernel_type *t, uint64_t u, int level);

/* ---- expr.c ---- */

enum {
    LEVEL_EFFECT, /* the value is not used */
    LEVEL_COMMA,
    LEVEL_ASSIGN,
    LEVEL_CHOOSE,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_BIT_OR,
    LEVEL_BIT_XOR,
    LEVEL_BIT_AND,
    LEVEL_EQUAL,
    LEVEL_ORDER,
    LEVEL_SHIFT,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_UNARY,
    LEVEL_POSTFIX
};

/* Prints an expression as an operand of `level`: in parentheses if it binds less tightly. */
void print_expr(printer *p, const kernel_expr *e, int level);
void print_around(printer *p, const char *before, const kernel_expr *e, int level,
                  const char *after);
/* The same, in a context where C converts to the type implicitly. */
void print_into(printer *p, const kernel_expr *e, const kernel_type *to, bool stored, int level);
/* Prints an index into an array, without the implicit widening. */
void print_index(printer *p, const kernel_expr *i, int level);
void print_arguments(printer *p, const kernel_expr *e, const char *before, const char *after);
void print_list_items(printer *p, const kernel_expr *e);
const char *print_temp(printer *p, const kernel_type *t, uint8_t space);
bool print_is_simple(const kernel_expr *e); /* it may be evaluated twice */
/* The function that converts the form in memory to a value, and its inverse; NULL: not needed. */
const char *print_loader(printer *p, const kernel_type *t);
const char *print_storer(printer *p, const kernel_type *t);

/* ---- convert.c ---- */

/* Prints `a` converted to another type if C needs more than a cast. Otherwise returns false and prints
 * nothing. The mode counts from BUILTIN_CONVERT_RN. */
bool print_convert(printer *p, const kernel_type *to, const kernel_expr *a, int mode, int level);

/* ---- builtin.c ---- */

void print_builtin(printer *p, const kernel_expr *e, int level);

/* The last arguments of ig_count. */
const char *print_vote(const printer *p);

/* ---- wmma.c ---- */

/* Refuses fragment operations that the target does not support. */
void print_wmma_check(printer *p);
/* Prints a call of a fragment function. */
void print_wmma(printer *p, const kernel_expr *e);
/* The declaration of the member of a fragment's struct. */
const char *print_wmma_member(printer *p, const kernel_struct *s);
/* Prints the element of a fragment that a pointer points to, if that is not plain C; otherwise returns
 * false. */
bool print_wmma_element(printer *p, const kernel_expr *pointer, int level);
/* Refuses access to a fragment's elements as an array on targets where they are not an array. */
void print_wmma_share(printer *p, const kernel_expr *member);

/* ---- cuda.c ---- */

void print_builtin_cuda(printer *p, const kernel_expr *e, int level);
/* The name without the letters of address spaces; finds f's twin. */
const char *print_cuda_name(printer *p, print_function *f);
/* A text for NVRTC with hardware instructions, for some library functions; NULL: print f as it is. */
const char *print_cuda_hardware(const kernel_function *f);
void print_cuda_shared(printer *p, const kernel_function *f);
void print_cuda_prelude(printer *p);
/* The types of halves, before all other parts. */
void print_cuda_headers(printer *p);
/* Structs are printed only if a declaration uses them, so this runs before they are printed. */
void print_cuda_find_structs(printer *p);
void print_cuda_globals(printer *p);
/* Declares them as references into the memory of the hidden parameter, at the top of a function. */
void print_cuda_references(printer *p, const print_function *f);

/* ---- stmt.c ---- */

void print_list(printer *p, const kernel_stmt *s);
void print_statement(printer *p, const kernel_stmt *s);
/* A line with an expression whose value is not used. */
void print_effect(printer *p, const kernel_expr *e);
/* A variable, with its value if that is not NULL. */
void print_declaration(printer *p, const kernel_var *v, const kernel_expr *value);
/* Statements from s to before end, run by active threads only. */
void print_guarded(printer *p, const kernel_stmt *s, const kernel_stmt *end);
/* Prints the calls with barriers in e before the statement that e is part of. */
void print_hoist(printer *p, const kernel_expr *e);
void print_body(printer *p);

/* ---- split.c: branches and loops with barriers that only some threads run ---- */

void print_split(printer *p, const kernel_stmt *s);
/* init: the statement before the loop that becomes part of its head, or NULL. */
void print_split_loop(printer *p, const kernel_stmt *s, const kernel_stmt *init);
/* Refuses a loop inside a split branch whose head assigns to a variable from outside it. */
void print_check_split_loop(printer *p, const kernel_stmt *s);

/* ---- active.c: barriers after early returns ---- */

void print_active_find(printer *p);
bool print_holds(printer *p, const kernel_stmt *s);         /* all threads must run it */
bool print_loop_holds(printer *p, const kernel_stmt *loop); /* the loop contains a barrier */
bool print_expr_holds(printer *p, const kernel_expr *e);    /* it contains a barrier */
bool print_returns(printer *p, const kernel_stmt *s);       /* a thread may return in it */
/* A thread may return, or leave a split loop, in it. */
bool print_deactivates(printer *p, const kernel_stmt *s);
/* Inactive threads may run it, too. */
bool print_is_harmless(const printer *p, const kernel_stmt *s);
bool print_is_pure(const kernel_expr *e);
bool print_is_uniform(const printer *p, const kernel_expr *e);
/* The function has a flag `active`, which is false in threads that have returned. */
static inline bool print_flagged(const print_function *f)
{
    return f->holds && (f->returns || f->follows || f->splits);
}

/* ---- varies.c: values that differ between threads ---- */

void print_varies_find(printer *p);
bool print_varies(printer *p, const kernel_expr *e);
/* A branch or loop that contains a barrier, and whose condition varies between threads. */
bool print_is_split(printer *p, const kernel_stmt *s);

/* ---- lockstep.c ---- */

/* Refuses communication between threads without a barrier. */
void print_lockstep_check(printer *p);

/* ---- check.c ---- */

/* Reports everything that the target cannot do; returns only if there is nothing. */
void print_check(printer *p);
/* Reports one refusal: code, place and message, with a reason and a remedy. */
void print_refuse(printer *p, kernel_place place, const char *code, const char *why,
                  const char *remedy, const char *format, ...) IG_PRINTF(6, 7);

/* Called for each expression of a function's body, outer expressions first. */
typedef void print_visit(printer *p, const kernel_expr *e, void *context);
void print_walk_expr(printer *p, const kernel_expr *e, print_visit *visit, void *context);
void print_walk(printer *p, const kernel_stmt *s, print_visit *visit, void *context);

/* ---- log.c ---- */

/* True if e is a printf, assert or trap that writes a record. */
bool print_is_logged(const printer *p, const kernel_expr *e);
/* Prints a printf, assert or trap as statements; false if e is something else. */
bool print_io(printer *p, const kernel_expr *e);

#endif
