/* The checked tree: the meaning of CUDA C source, with all C++ constructs resolved.
 *
 * Code generators may rely on this:
 * - Every expression has a type. Operands of an operator have exactly the types that its row below
 *   asks for: conversions are EXPR_CASTs, and an EXPR_LOAD reads a value from memory.
 * - Names are bound, overloads chosen, templates instantiated and default arguments written out. Enums,
 *   references, cooperative groups and std:: names are resolved: references are pointers, groups are masks.
 * - Expressions and arguments are evaluated left to right; in an assignment, the value before the place.
 * - Constants are folded: an operation on constants that C can fold at compile time is an EXPR_CONST.
 * - Each pointer knows its address space. A device function occurs once for each combination of address
 *   spaces that it is called with: `sum__gs` is `sum` with a global and a shared pointer, `sum` has global
 *   pointers only.
 * - Names of variables are unique in their function and are keywords neither of C nor of CUDA. Names of
 *   functions, globals and structs are unique in the tree and are C identifiers.
 * - Features that a device may lack are listed in each kernel. The parser does not refuse them.
 *
 * A tree is immutable, so threads may share it. It lives until kernel_tree_free. */
#ifndef KERNEL_TREE_H
#define KERNEL_TREE_H

#include "base/text.h"
#include "compiler/pp/preprocess.h"
#include "compiler/type.h"

typedef enum kernel_space {
    SPACE_UNSET, /* not a pointer */
    SPACE_GLOBAL,
    SPACE_CONSTANT,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_GENERIC /* a pointer with several spaces: the kernel has FEATURE_GENERIC */
} kernel_space;

typedef enum kernel_feature {
#define FEATURE(id, code, text) FEATURE_##id,
#include "compiler/features.def"
    FEATURES,
    FEATURE_NONE = FEATURES
} kernel_feature;

/* The code ("IG-F64") and the words ("double") of a feature. */
typedef struct kernel_feature_row {
    const char *code, *text;
} kernel_feature_row;
extern const kernel_feature_row kernel_feature_rows[FEATURES];

typedef enum kernel_builtin {
#define BUILTIN(id, class, feature) BUILTIN_##id,
#include "compiler/builtins.def"
    BUILTINS
} kernel_builtin;

typedef enum kernel_builtin_class {
    CLASS_MATH,
    CLASS_FAST,
    CLASS_ROUND,
    CLASS_INT,
    CLASS_CONVERT,
    CLASS_ATOMIC,
    CLASS_WARP,
    CLASS_BARRIER,
    CLASS_FENCE,
    CLASS_IO,
    CLASS_CLOCK,
    CLASS_MEMORY,
    CLASS_WMMA,
    CLASS_REFUSED
} kernel_builtin_class;

typedef struct kernel_builtin_row {
    const char *name; /* "ATOMIC_ADD" */
    uint8_t class;    /* a kernel_builtin_class */
    uint8_t feature;  /* a kernel_feature */
} kernel_builtin_row;
extern const kernel_builtin_row kernel_builtin_rows[BUILTINS];

/* ---- variables -------------------------------------------------------------------------------- */

typedef enum kernel_storage {
    STORE_PARAMETER,
    STORE_LOCAL,
    STORE_SHARED,
    STORE_DYNAMIC,  /* extern __shared__: all begin at the same byte, after the static variables */
    STORE_GLOBAL,   /* __device__, __managed__ */
    STORE_CONSTANT, /* __constant__, and const tables of a file that device code reads */
} kernel_storage;

/* A pointer in an initial value: the address of a global, moved by `offset` bytes. */
typedef struct kernel_address {
    uint64_t at; /* where the pointer lies in the initial value, in bytes */
    struct kernel_var *of;
    int64_t offset;
    struct kernel_address *next;
} kernel_address;

typedef struct kernel_var {
    const char *name;
    const kernel_type *type; /* of STORE_DYNAMIC, an array of 0 elements */
    uint32_t align;          /* of globals and shared ones, at least the type's */
    uint8_t storage;         /* a kernel_storage */
    uint8_t space;    /* if it holds pointers (also in arrays): the space they point to. Pointers in
                       * structs are global */
    bool addressed;   /* its address is taken, also by indexing: it cannot live in a register */
    bool assigned;    /* it is written after its declaration */
    bool is_restrict; /* __restrict__ */
    bool is_managed;
    bool is_temporary; /* made by the front end; it has no STMT_DECLARE and is assigned first */
    kernel_place place;
    const kernel_name *source_name;
    const char *symbol;  /* of __device__ and __constant__ variables: the host's name, "ns::v" */
    const uint8_t *init; /* of globals and constants: type->size bytes, NULL for zeros */
    kernel_address *addresses; /* the pointers in init, whose bytes are zero there */
    bool is_extern, is_listed; /* of the front end */
    uint32_t index; /* in its list: a function's parameters, its locals, the tree's globals */
    void *mark;     /* for the consumer; NULL at first */
    struct kernel_var *next;
} kernel_var;

/* ---- expressions ------------------------------------------------------------------------------ */

typedef enum kernel_axis_base {
    INDEX_THREAD,
    INDEX_BLOCK,
    INDEX_BLOCK_DIM,
    INDEX_GRID_DIM
} kernel_axis_base;

typedef enum kernel_operator {
    OP_NONE,
    /* unary */
    OP_NEGATE, /* any arithmetic type except bool */
    OP_INVERT, /* ~ of an integer of 32 or 64 bits */
    OP_NOT,    /* of a bool -> bool */
    /* binary: both operands have the expression's type, I32 U32 I64 U64 or a float */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_REM, /* integers */
    OP_AND, /* integers */
    OP_OR,
    OP_XOR,
    OP_SHL, /* the left operand has the expression's type, the right one is I32 U32 I64 or U64 */
    OP_SHR,
    /* both operands have one scalar type -> bool */
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_OFFSET,  /* pointer, I64: the pointer moved by that many elements */
    OP_DISTANCE /* two pointers of one type -> I64, in elements */
} kernel_operator;

typedef enum expr_kind {
    /* places: something in memory, of the expression's type (which may have qualifiers) */
    EXPR_VAR,    /* var */
    EXPR_DEREF,  /* a: a pointer */
    EXPR_MEMBER, /* a: a place or a value of a struct; member. A value's member is a value */
    /* values */
    EXPR_CONST,   /* scalars: value; of a pointer, its integer value */
    EXPR_STRING,  /* text; only as an argument of printf or assert, an array elsewhere */
    EXPR_LOAD,    /* a: a place of scalar or struct type; volatile if a's type is */
    EXPR_ADDRESS, /* a: a place -> pointer */
    EXPR_DECAY,   /* a: a place of array type -> pointer to its first element */
    EXPR_CAST,    /* a: scalar -> scalar type. To bool: != 0; float to integer truncates */
    EXPR_UNARY,   /* op, a */
    EXPR_BINARY,  /* op, a, b */
    EXPR_AND,     /* a && b, bools; b is evaluated only if needed */
    EXPR_OR,
    EXPR_CHOOSE,  /* a: bool; b or c, of the expression's type (may be void) */
    EXPR_COMMA,   /* a for its effect, then b */
    EXPR_ASSIGN,  /* place a = value b; its value is b's. Structs too, never arrays */
    EXPR_UPDATE,  /* place a = (a's type)((compute)a op b), where op is binary. b has the type that
                   * op needs as the operand next to `compute`. The value is the new one, or the old
                   * one if `post`. It is soft if compute is double only because of literals */
    EXPR_CALL,    /* function, args */
    EXPR_BUILTIN, /* builtin, args */
    EXPR_INDEX,   /* U32: base and axis: threadIdx.y is INDEX_THREAD, 1 */
    EXPR_LIST /* a struct or an array of its args, one for each member or element; missing args are
               * zero. A union: its first member. Arrays only as an initializer */
} expr_kind;

typedef struct kernel_expr {
    uint8_t kind; /* an expr_kind */
    uint8_t op;   /* a kernel_operator */
    uint8_t
        space;  /* of a place, the space that it is in; of a pointer, the space that it points to */
    bool post;  /* of an update */
    bool soft;  /* a double only because of literals: float arithmetic with a constant such as 0.5.
                * Computing it in float matches the author's intent */
    bool moves; /* of the front end: a place that std::move or a cast to T && gave */
    uint8_t base, axis;
    uint16_t builtin;
    uint32_t n_args;
    kernel_place place;
    const kernel_type *type; /* of a value: without qualifiers */
    struct kernel_expr *a, *b, *c;
    union {
        uint64_t integer; /* sign-extended if the type is signed; bools, pointers */
        double number;    /* F16 to F64: already rounded to the type */
    } value;
    union {
        struct kernel_var *var;
        const kernel_member *member;
        struct kernel_function *function;
        const kernel_string *text;
        const kernel_type *compute;
        const struct kernel_token
            *braces; /* of the front end: "{1, 2}" whose type is not known yet */
        const struct function_named *named; /* of the front end: the name of a function */
    } as;
    struct kernel_expr **args;
} kernel_expr;

static inline bool expr_is_builtin(const kernel_expr *e, kernel_builtin id)
{
    return e->kind == EXPR_BUILTIN && e->builtin == id;
}
static inline bool expr_has_class(const kernel_expr *e, kernel_builtin_class class)
{
    return e->kind == EXPR_BUILTIN && kernel_builtin_rows[e->builtin].class == class;
}

/* ---- statements ------------------------------------------------------------------------------- */

typedef enum stmt_kind {
    STMT_EXPR,    /* value, for its effect */
    STMT_DECLARE, /* declares var with the initial value, or undefined if there is none */
    STMT_BLOCK,   /* body */
    STMT_IF,      /* if value (bool), then body, else otherwise */
    STMT_LOOP, /* while value (bool) do body, then step; `post`: the first iteration has no test */
    STMT_SWITCH,   /* value (integer), cases; body */
    STMT_BREAK,    /* the innermost loop or switch */
    STMT_CONTINUE, /* the innermost loop, to its step */
    STMT_RETURN,   /* value, or NULL */
    /* The front end's own: never in a checked tree. */
    STMT_GOTO, /* label */
    STMT_LABEL
} stmt_kind;

/* A case of a switch: execution starts at the statement `from` of the body. */
typedef struct kernel_case {
    uint64_t value; /* of the switch's type; sign-extended if that is signed */
    bool is_default;
    struct kernel_stmt *from; /* in the body's list; NULL: its end */
} kernel_case;

enum { UNROLL_NONE = 0, UNROLL_ALL = -1, UNROLL_NEVER = 1 };

typedef struct kernel_stmt {
    uint8_t kind; /* a stmt_kind */
    bool post;
    int32_t unroll; /* of a loop: #pragma unroll's number, or UNROLL_... */
    uint32_t n_cases;
    kernel_place place;
    kernel_expr *value;            /* a loop without a condition has NULL */
    kernel_expr *step;             /* or NULL */
    kernel_var *var;               /* of STMT_DECLARE */
    struct kernel_stmt *body;      /* a list; of an if, the statements of the true branch */
    struct kernel_stmt *otherwise; /* a list, or NULL */
    kernel_case *cases;
    const kernel_name *label; /* of the front end */
    struct kernel_stmt *next; /* in its list */
} kernel_stmt;

/* ---- functions -------------------------------------------------------------------------------- */

typedef struct kernel_use {
    kernel_place place; /* the first one; 0: the feature is not used */
    const struct kernel_function *in;
} kernel_use;

/* A static __shared__ variable of a kernel or of its callees, and its place in the block's memory. */
typedef struct kernel_shared {
    kernel_var *var;
    uint64_t offset;
} kernel_shared;

/* A kernel or a device function: one instantiation for one combination of address spaces. */
typedef struct kernel_function {
    const char *name;        /* "tile_float_16", "sum__gs" */
    const char *source_name; /* "tile<float, 16>", "math::sum" */
    kernel_place place;
    bool is_kernel;
    uint32_t launched; /* of a kernel that kernels launch: its number, else 0 */
    bool failed;       /* it has an error: its body is not to be used */
    bool never_inline, always_inline, is_recursive;
    const kernel_type *result;
    uint8_t result_space; /* if the result is a pointer */
    kernel_var **params;
    uint32_t n_params;
    kernel_var *locals; /* a list of all locals and temporaries, without shared variables */
    uint32_t n_locals;
    kernel_stmt *body;                /* a list */
    struct kernel_function **callees; /* each once, in the order of the source */
    uint32_t n_callees;
    kernel_var **shared; /* __shared__ variables that it uses, static and dynamic, each once */
    uint32_t n_shared;
    kernel_use uses[FEATURES]; /* of this function alone */
    /* If is_recursive: the same without recursion, as a loop over the parts of all functions that call each other, with
     * an array of frames. It fails if more calls are nested. Else NULL. */
    struct kernel_function *machine;
    void *mark; /* for the consumer; NULL at first */
    struct kernel_function *next;
    /* For the front end: */
    struct kernel_instance *instance;
    uint32_t visited;
    bool collected, listed;
} kernel_function;

/* A kernel, with the facts that a launch needs. */
typedef struct kernel_entry {
    const char *name; /* as the host calls it: "saxpy", "tile<float, 16>", "ns::k" */
    kernel_function *function;
    bool failed;                      /* it or a function that it calls has an error */
    const char *errors;               /* if failed: the messages, rendered */
    uint32_t max_threads, min_blocks; /* of __launch_bounds__; 0: not given */
    kernel_use uses[FEATURES];        /* of the kernel and all functions that it calls */
    kernel_shared *shared;            /* static ones */
    uint32_t n_shared;
    uint64_t shared_bytes;   /* of all of them; dynamic ones begin at dynamic_offset */
    uint64_t dynamic_offset; /* shared_bytes, aligned to the larger of 16 and dynamic_align */
    uint32_t dynamic_align;  /* 0 if there are none */
    uint64_t argument_bytes; /* its parameters as CUDA packs them */
    struct kernel_entry *next;
} kernel_entry;

/* A kernel under the name that the caller used: "tile<real, 8>" for "tile<float, 8, 0>". */
typedef struct kernel_alias {
    const char *name;
    const kernel_function *function;
    struct kernel_alias *next;
} kernel_alias;

/* Its lists: kernels in source order; the device functions that they reach, each after its callees unless
 * they are recursive; variables that are __device__, __constant__ or __managed__; and the constant tables
 * that kernels read. */
typedef struct kernel_tree {
    kernel_unit unit; /* sources, for kernel_source_where, and diagnostics */
    kernel_types types;
    kernel_entry *kernels;
    kernel_function *functions;
    kernel_var *globals;
    kernel_alias *aliases;
    const char
        *templates; /* of kernels, for messages: "tile<T, N>, sum<T>"; NULL if there are none */
} kernel_tree;

/* ---- from source to tree ---------------------------------------------------------------------- */

/* A file that is linked with the first one: see kernel_parse_options. */
typedef struct kernel_linked {
    const char *name, *text;
    kernel_options preprocess;
} kernel_linked;

typedef struct kernel_parse_options {
    kernel_options preprocess;
    /* Further files of one program, whose device code is linked. Then instances begin with the number of their file,
     * "2#tile<float>", and so do the names of variables; 0 is the first file. */
    const kernel_linked *linked;
    int n_linked;
    bool skip_host; /* the text is a whole program: host code, and unknown constructs outside of
                     * device code, are skipped silently */
    const char *const *instances; /* kernels asked for: "tile<float,16>" for templates */
    int n_instances;
    bool use_launches; /* also the instances that the source itself names: see parse_launches */
    size_t cap_bytes;  /* of memory; 0: 512 MiB */
    bool colour;       /* in diagnostics */
} kernel_parse_options;

/* Parses and checks a source. Returns IG_OK and *out if the source is correct or at least one kernel has no
 * errors; IG_ERR_FORMAT if there are errors and no kernel is usable; IG_ERR_MEMORY beyond the cap. In every case
 * *diagnostics (memory_free; NULL if there are none; diagnostics may be NULL) has all messages, and after a
 * failure the thread's error has the first one. Device functions that no kernel reaches are not parsed. */
ig_status kernel_parse(const char *name, const char *text, const kernel_parse_options *options,
                       kernel_tree **out, char **diagnostics);
void kernel_tree_free(kernel_tree *tree);

/* A kernel by its name, with any spacing ("tile< float,16 >"), or NULL. Namespaces and template arguments may
 * be left out if the name is still unique. */
const kernel_entry *kernel_tree_find(const kernel_tree *tree, const char *name);
/* True if the name means this kernel, alone or among others. */
bool kernel_entry_is(const kernel_entry *entry, const char *name);

/* The offset of a global in the memory of all globals, in which each is 16-byte aligned. For NULL: the size
 * of that memory in bytes. */
uint64_t kernel_global_at(const kernel_tree *tree, const kernel_var *global);
/* The offset of the i-th argument of a kernel, as CUDA packs them. For i == n_params: the size of all. */
uint64_t kernel_argument_at(const kernel_function *f, uint32_t i);

#endif
