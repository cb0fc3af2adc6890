/* What the files of the printer share.
 *
 * A type has two forms. As a *value* it is what the target computes in; in *memory* it has the bytes that
 * CUDA gives it. They differ where the target lacks the type: a bool of OpenCL C is a uchar in memory, a
 * bfloat16 is a ushort in memory and a float that is rounded after each operation as a value. */
#ifndef KERNEL_PRINT_PARTS_H
#define KERNEL_PRINT_PARTS_H

#include "compiler/print/print.h"

/* ---- languages -------------------------------------------------------------------------------- */

typedef struct print_language {
    const char *name;                      /* "OpenCL C" */
    const char *values[TYPE_F64 + 1];      /* names of scalars */
    const char *spaces[SPACE_GENERIC + 1]; /* before a pointee's type, each with a space after it */
    const char *index[4][3];               /* [kernel_axis_base][axis] */
    const char *barrier;
    const char *fences[3];         /* block, device, system; NULL: not there */
    const char *function, *kernel; /* before a function's type */
    const char *shared;            /* before a shared variable */
    const char *const *reserved;   /* names that are taken, sorted */
    int n_reserved;
} print_language;
extern const print_language print_languages[LANGUAGES];

/* Pieces of text that a kernel has at its top if it uses them; a row may need others. */
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
    const kernel_var **vars; /* shared and global ones, those of its callees too */
    uint32_t n_vars, vars_room;
    bool is_twin; /* in CUDA C, which has no address spaces, another clone has the same text */
    bool holds;   /* a barrier is reached in it */
    bool returns; /* it has a return before its end */
    bool follows; /* inactive threads call it too: it has a parameter `active` */
    bool splits;  /* it has a branch or loop with a barrier that only some threads run */
    bool *varying_params, *varying_locals, varying_result; /* see varies.c */
    bool apart, together; /* see varies.c; all lanes of a warp run each shuffle of it */
    bool *uniform_params, *uniform_locals; /* the same in all threads, also in inactive ones */
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
    text *into; /* where print_out goes: one of those below */
    text top;   /* before all functions */
    text made;  /* functions that are made for this text, after it */
    text text;  /* all other functions */
    text head, temps,
        inner; /* of the current function: up to its variables, temporaries, statements */
    int indent;
    int n_temps;
    print_function *functions, **last; /* callees first, the kernel last */
    print_function *at;                /* the one that is printed */
    bool by_warps;                     /* print_varies compares the lanes of a warp only */
    bool maybe;                        /* threads may have returned before the current statement */
    const kernel_stmt *split;          /* the innermost split statement around the current one */
    bool loop_splits;              /* the innermost loop is split: a break ends activity in it */
    bool loop_holds;               /* the innermost loop has a barrier */
    print_name *names[NAME_SLOTS]; /* of variables, structs, functions; by pointer */
    print_name *taken[NAME_SLOTS]; /* all names that are used; by text */
    bool preludes[PRELUDES];
    bool extremes;                 /* CUDA: __ig_fmin_nan or __ig_fmax_nan is used */
    const kernel_struct **structs; /* that are used */
    uint32_t n_structs, structs_room;
    uint32_t formats_room;
    const char **bases, **offsets; /* names of the kernel's parameters as they come */
    bool bare_index;               /* only the lower 32 bits of the current expression matter */
    bool unrounded;                /* the store rounds what is printed next */
    print_name *makes;             /* what is in `made` */
    print_part *parts;
    uint32_t n_parts, parts_room;
    bool warned_soft, refused_double, refused_volatile;
} printer;

/* ---- print.c ---- */

/* Ends the printing; the diagnostics are the error. */
_Noreturn void print_stop(printer *p);
void print_out(printer *p, const char *format, ...) IG_PRINTF(2, 3);
/* Begins a line. */
void print_line(printer *p);
print_function *print_function_of(printer *p, const kernel_function *f);
void print_use(printer *p, prelude which);
/* A part begins at the end of one of the texts. */
void print_part_begin(printer *p, const text *in, const char *name);
/* Adds a function that is made for this text, once for each name. */
void print_make(printer *p, const char *name, const char *definition);
/* The arguments for the hidden parameters of f; first: no others precede them. */
void print_hand_args(printer *p, const print_function *f, bool first);

/* Items with commas between them. */
typedef struct print_items {
    bool first;
    text *out;
} print_items;
void print_item(print_items *s, const char *words);
/* A variable of the kernel as others see it: a pointer to it, or to the first element of an array. */
const char *print_var_pointer(printer *p, const kernel_var *v, const char *name);
extern const char *const print_index_names[4];

/* ---- kernel.c ---- */

/* Finds the parameters of the text, and where globals are. */
void print_find_params(printer *p, const print_function *kernel);
/* The head of a kernel to its first statement. */
void print_kernel_head(printer *p, const print_function *f);
bool print_uses_globals(const print_function *f);

/* ---- type.c ---- */

const char *print_format(printer *p, const char *format, ...) IG_PRINTF(2, 3);
/* The name of a variable, function or struct in the text. */
const char *print_name_of(printer *p, const void *of);
void print_name_set(printer *p, const void *of, const char *name);
/* A name like this one that is neither a keyword nor in use; it is in use from now on. */
const char *print_name_new(printer *p, const char *name);
void print_name_take(printer *p, const char *name);
/* The same for a variable of one function, which others may have, too. */
const char *print_name_local(printer *p, const char *name);
const char *print_member_name(printer *p, const kernel_struct *s, const kernel_member *m);

/* The kind that a value of the type is computed in. */
type_kind print_kind(const printer *p, const kernel_type *t);
type_kind print_kind_of(const printer *p, const kernel_expr *e);
/* Its form in memory is not the form of the value. */
bool print_differs(const printer *p, const kernel_type *t);
bool print_is_stored(const printer *p, const kernel_expr *place);
bool print_var_stored(const kernel_var *v);
/* A parameter of a kernel that is passed in the form in which it is used. */
bool print_var_by_value(const printer *p, const kernel_var *v);
/* A vector that the language has, with CUDA's layout. */
bool print_native(const printer *p, const kernel_type *t);
/* "__global const float *x" and the like; name may be "". */
const char *print_declare(printer *p, const kernel_type *t, uint8_t space, const char *name,
                          bool stored);
const char *print_type(printer *p, const kernel_type *t, uint8_t space, bool stored);
/* An alignment that is more than the type's own. */
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
/* The same where C converts to the type anyway. */
void print_into(printer *p, const kernel_expr *e, const kernel_type *to, bool stored, int level);
/* An index into an array: without the widening that every index has. */
void print_index(printer *p, const kernel_expr *i, int level);
void print_arguments(printer *p, const kernel_expr *e, const char *before, const char *after);
void print_list_items(printer *p, const kernel_expr *e);
const char *print_temp(printer *p, const kernel_type *t, uint8_t space);
bool print_is_simple(const kernel_expr *e); /* may be written twice */
/* What makes a value of the type out of its form in memory, and the other way; NULL: nothing. */
const char *print_loader(printer *p, const kernel_type *t);
const char *print_storer(printer *p, const kernel_type *t);

/* ---- convert.c ---- */

/* Prints `a` as a number of another type, if that is more than a cast of C; else false, and nothing is printed. The mode
 * counts from BUILTIN_CONVERT_RN on. */
bool print_convert(printer *p, const kernel_type *to, const kernel_expr *a, int mode, int level);

/* ---- builtin.c ---- */

void print_builtin(printer *p, const kernel_expr *e, int level);

/* The last arguments of ig_count. */
const char *print_vote(const printer *p);

/* ---- wmma.c ---- */

/* Refuses what fragments cannot do on the target. */
void print_wmma_check(printer *p);
/* One of the functions on fragments. */
void print_wmma(printer *p, const kernel_expr *e);
/* What a fragment's struct has in it. */
const char *print_wmma_member(printer *p, const kernel_struct *s);
/* What a pointer to an element of a fragment points to, where that is not plain C; false: it is. */
bool print_wmma_element(printer *p, const kernel_expr *pointer, int level);
/* Refuses a fragment's elements as an array on targets where they are not one. */
void print_wmma_share(printer *p, const kernel_expr *member);

/* ---- cuda.c ---- */

void print_builtin_cuda(printer *p, const kernel_expr *e, int level);
/* The name without the spaces of its pointers; finds f's twin. */
const char *print_cuda_name(printer *p, print_function *f);
/* The text of a function of the library for NVRTC, which has instructions for it; NULL: as it is. */
const char *print_cuda_hardware(const kernel_function *f);
void print_cuda_shared(printer *p, const kernel_function *f);
void print_cuda_prelude(printer *p);
/* Structs are printed if something that is declared has their type, so this comes before them. */
void print_cuda_find_structs(printer *p);
void print_cuda_globals(printer *p);
/* The same as references into the memory of the hidden parameter: at the top of a function. */
void print_cuda_references(printer *p, const print_function *f);

/* ---- stmt.c ---- */

void print_list(printer *p, const kernel_stmt *s);
void print_statement(printer *p, const kernel_stmt *s);
/* A variable, with its value if that is not NULL. */
void print_declaration(printer *p, const kernel_var *v, const kernel_expr *value);
/* Statements from s to before end, for active threads alone. */
void print_guarded(printer *p, const kernel_stmt *s, const kernel_stmt *end);
/* Prints the calls with barriers in e before the statement that e is part of. */
void print_hoist(printer *p, const kernel_expr *e);
void print_body(printer *p);

/* ---- split.c: branches and loops with barriers that only some threads run ---- */

void print_split(printer *p, const kernel_stmt *s);
/* init: the statement before the loop that belongs to its head, or NULL. */
void print_split_loop(printer *p, const kernel_stmt *s, const kernel_stmt *init);
/* Refuses a loop inside a split branch whose head assigns to a variable from outside it. */
void print_check_split_loop(printer *p, const kernel_stmt *s);

/* ---- active.c: barriers after early returns ---- */

void print_active_find(printer *p);
bool print_holds(printer *p, const kernel_stmt *s);         /* all threads must come by */
bool print_loop_holds(printer *p, const kernel_stmt *loop); /* a barrier is in the loop */
bool print_expr_holds(printer *p, const kernel_expr *e);    /* a barrier is in it */
bool print_returns(printer *p, const kernel_stmt *s);       /* a thread may return in it */
/* A thread may return or leave a split loop in it. */
bool print_deactivates(printer *p, const kernel_stmt *s);
/* Threads that are not active may do it, too. */
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
/* A branch or loop with a barrier inside that threads enter or leave by a condition that varies. */
bool print_is_split(printer *p, const kernel_stmt *s);

/* ---- lockstep.c ---- */

/* Refuses communication between threads without a barrier. */
void print_lockstep_check(printer *p);

/* ---- check.c ---- */

/* Refuses what the target cannot do; returns if there is nothing. */
void print_check(printer *p);
/* One refusal: code, place, what; with a reason and a remedy. */
void print_refuse(printer *p, kernel_place place, const char *code, const char *why,
                  const char *remedy, const char *format, ...) IG_PRINTF(6, 7);

/* Calls visit for each expression of a function's body, outer ones first. */
typedef void print_visit(printer *p, const kernel_expr *e, void *context);
void print_walk(printer *p, const kernel_stmt *s, print_visit *visit, void *context);

/* ---- log.c ---- */

/* Prints a printf, assert or trap as statements; false if e is something else. */
bool print_io(printer *p, const kernel_expr *e);

#endif
