/* The parser's state, shared by its files: from tokens to a checked tree in one pass.
 *
 * There is no syntax tree. A function's body, a struct's members and a template are kept as tokens. They are
 * parsed and checked when a kernel needs them; a template once for each instance, with its parameters bound
 * to types. So every name has a meaning when it is read, "<" and "(T)" are never ambiguous, host code that
 * no kernel reaches is skipped by counting braces, and an error belongs to the kernels that reach it. The
 * price is that a body is parsed again for each instance. This is cheaper than copying and binding a tree.
 *
 * An error is reported and then jumps to the nearest parser_guard, which continues after the statement or
 * declaration. The code in between does not check for failure. */
#ifndef KERNEL_PARSER_H
#define KERNEL_PARSER_H

#include "compiler/tree.h"

enum {
    DEPTH_MOST = 200,       /* nested expressions, statements, types */
    NESTED_MOST = 64,       /* bodies parsed inside another one: constexpr functions, structs */
    INSTANCES_MOST = 10000, /* of templates */
    PARAMS_MOST = 256,
    TEMPLATE_MOST = 32,
    CHAIN_MOST = 4000
};

/* ---- names ------------------------------------------------------------------------------------ */

typedef enum symbol_kind {
    SYMBOL_VAR,
    SYMBOL_TYPE,
    SYMBOL_CONSTANT, /* an enumerator, an integer of a template */
    SYMBOL_FUNCTION,
    SYMBOL_MEMBER, /* of the struct whose function is being parsed */
    SYMBOL_BROKEN, /* its declaration had an error, which was reported; its uses are not reported */
    SYMBOL_NAMESPACE,
    SYMBOL_STRUCT_TEMPLATE,
    SYMBOL_LIBRARY, /* of a part of the library that is not parsed yet (library.c) */
    SYMBOL_PACK,    /* parameters of a template or a function: "Ts... args" */
    SYMBOL_BUILTIN, /* rows of builtin_names.def */
    SYMBOL_SPECIAL, /* a name with its own parser function */
    SYMBOL_MAKE,    /* make_float4 */
    SYMBOL_GRID     /* threadIdx and so on */
} symbol_kind;

typedef struct kernel_parser parser;
typedef struct scope scope;
typedef struct function_decl function_decl;

/* Parses the rest of a construct; the name at place is already read. */
typedef kernel_expr *special_parser(parser *p, int which, kernel_place place);

typedef struct symbol {
    uint8_t kind;      /* a symbol_kind */
    bool is_reference; /* of a variable: it is a pointer in the tree */
    bool is_host;      /* of a variable: not visible to device code */
    bool is_outside;   /* of a variable: the current lambda did not capture it */
    kernel_name *name;
    scope *scope;
    kernel_place place;
    struct symbol *shadowed; /* the previous symbol of the same name, further out or older */
    struct symbol *next;     /* in the same scope */
    union {
        kernel_var *var;
        const kernel_type *type;
        function_decl *functions; /* a list */
        scope *inside;            /* of a namespace */
        struct kernel_syntax *syntax;
        const struct builtin_name *builtin;
        const struct symbol_pack *pack;
        int number; /* of a grid variable */
    } as;
    kernel_expr *constant;   /* of a constant; of a variable whose value is known; or NULL */
    scope *members;          /* of an enum: its enumerators */
    special_parser *special; /* of a special */
    int which;
    const kernel_diag *broken; /* the error of its declaration, or NULL */
} symbol;

/* The elements of a pack. */
typedef struct symbol_pack {
    symbol **at;
    uint32_t n;
    bool is_types;
} symbol_pack;

typedef struct scope_link {
    scope *to;
    struct scope_link *next;
} scope_link;

/* A variable or temporary whose type has a destructor. */
typedef struct lifetime {
    kernel_var *var;
    kernel_var *flag; /* of a temporary that may not be made: true if it was; or NULL */
    struct lifetime *next;
} lifetime;

struct scope {
    scope *parent;
    kernel_name *name;          /* of a namespace */
    bool is_local;              /* its names are removed when it is closed */
    bool is_global;             /* of a file */
    struct lifetime *lifetimes; /* objects to destroy at its end, newest first */
    symbol *symbols;
    scope_link *using;
};

/* An argument of a template: a type, an integer of a type, or a function. */
typedef struct template_arg {
    const kernel_type *type; /* of the integer, if it is one */
    bool is_value, is_set;
    uint64_t value;
    bool is_given;                /* written in '<>', not deduced */
    bool expands;                 /* of a pattern: "Ts...", any number of elements */
    function_decl *function;      /* with its overloads, or NULL */
    struct kernel_syntax *syntax; /* a template of structs, or NULL */
    struct template_list *pack; /* the elements of a pack that is not the last parameter, or NULL */
} template_arg;

/* One argument for each parameter. If the last parameter is a pack, its elements are the last arguments. */
typedef struct template_list {
    template_arg *at;
    uint32_t n;
} template_list;

typedef struct template_param {
    kernel_name *name; /* or NULL */
    bool is_pack, is_template;
    const kernel_token *constraint; /* at the concept that its argument fulfils, or NULL */
    struct template_param *of_it;   /* of a template: its parameters */
    uint32_t n_of_it;
    const kernel_token *type; /* of a value: its type; NULL: the parameter is a type */
    bool checked;             /* the type has template arguments, so it may not exist */
    const kernel_token *init; /* the default, or NULL */
    kernel_place place;
} template_param;

/* The first token of a member's default value. */
typedef struct member_value {
    uint32_t member; /* its index */
    const kernel_token *at;
    struct member_value *next;
} member_value;

/* A local variable that a lambda captured by reference. */
typedef struct capture {
    symbol *what;
    struct capture *next;
} capture;

/* "operator T()" of a struct: functions of that name convert it to T. */
typedef struct conversion {
    const kernel_type *to;
    kernel_name *name;
    bool is_explicit;
    struct conversion *next;
} conversion;

/* A base without members, and its offset. */
typedef struct empty_base {
    const kernel_type *type;
    uint64_t offset;
    struct empty_base *next;
} empty_base;

/* A struct or a struct template whose members are not parsed yet. */
typedef struct kernel_syntax {
    kernel_name *name;
    const kernel_token *body; /* at '{', NULL if it is not defined */
    scope *scope;
    bool is_union, open;
    bool is_private;       /* while it is parsed: the current access is not public */
    bool has_default;      /* a constructor that is "= default" */
    bool has_hidden;       /* a constructor that is not supported */
    bool has_copy;         /* a copy or move constructor of the source */
    bool hides_copy;       /* one that only the host has */
    bool hides_destructor; /* a destructor that only the host has */
    bool virtual_end;      /* its destructor is virtual */
    bool is_value; /* a template of a value: alias is at its type, or at a concept's condition */
    bool is_concept;
    uint32_t pattern;          /* of a parameter that stands for itself: 1 + its index; else 0 */
    function_decl *implicit;   /* the functions that C++ adds to it, by next_kernel */
    const kernel_token *alias; /* of "template <...> using name = type": at the type */
    uint32_t align;
    template_param *params; /* of a template */
    uint32_t n_params;
    struct kernel_syntax *instances;     /* of a template, by `next` */
    struct kernel_syntax *specials;      /* of a template: for certain arguments, by `next` */
    struct kernel_syntax *origin, *next; /* of an instance */
    template_list args;                  /* of an instance; of a specialization, patterns */
    const kernel_token *head;            /* of a specialization: at the "<" of its arguments */
    struct empty_base *empty_bases;      /* bases without members, which take no space */
    scope *members;                      /* the names that "::" finds in it */
    struct member_value *values;         /* default values */
    struct conversion *conversions;      /* operator T() */
    struct capture *captures;            /* of a lambda: captures by reference, which live in
                                          * `owner` */
    bool is_mutable;                     /* of a lambda */
    struct kernel_instance *owner;
    kernel_struct *record; /* of a template: a placeholder that is never used */
} kernel_syntax;

/* ---- functions -------------------------------------------------------------------------------- */

enum {
    IS_GLOBAL = 1, /* __global__ */
    IS_DEVICE = 2,
    IS_HOST = 4,
    IS_CONSTEXPR = 8,
    IS_INLINE = 16,
    IS_FORCED = 32, /* __forceinline__ */
    IS_NOINLINE = 64,
    IS_STATIC = 128,
    IS_EXTERN = 256,
    IS_SHARED = 512,
    IS_CONSTANT = 1024,
    IS_MANAGED = 2048,
    IS_TYPEDEF = 4096,
    IS_CONST_WORD = 8192, /* "const" or "constexpr" precedes the type */
    IS_EXPLICIT = 16384,
    IS_VIRTUAL = 32768
};

typedef struct specifiers {
    const kernel_type *type;
    unsigned flags;
    uint32_t align;
    const kernel_token *bounds; /* after the "(" of __launch_bounds__, or NULL */
} specifiers;

typedef struct parameter {
    kernel_name *name;
    const kernel_type *type; /* including references; arrays are already pointers */
    const kernel_token *init;
    kernel_place place;
    bool is_restrict;
    bool is_forwarding; /* "T &&": also takes a value */
} parameter;

/* The parameters that a pack expands to. */
typedef struct parameter_pack {
    kernel_name *name; /* or NULL */
    bool is_there;
    uint32_t first, n;
    kernel_place place;
} parameter_pack;

typedef struct declarator {
    kernel_name *name; /* NULL: none */
    kernel_place place;
    const kernel_type *type;
    bool is_restrict, is_function;
    bool is_forwarding;    /* "&&" */
    bool is_operator;      /* name is "operator+" */
    parameter *parameters; /* of a function */
    uint32_t n_parameters;
    parameter_pack pack;
} declarator;

/* What a function does that C++ adds to a struct; from ROLE_POINTER on: a dispatcher (dispatch.c). */
typedef enum function_role {
    ROLE_NONE,
    ROLE_COPY,
    ROLE_ASSIGN,
    ROLE_END,
    ROLE_POINTER, /* calls through a pointer to a function */
    ROLE_VIRTUAL, /* calls a virtual function */
    ROLE_END_OF   /* calls a virtual destructor, and returns the address of the whole object */
} function_role;

/* The name of functions as a value. */
typedef struct function_named {
    function_decl *functions;
    const template_arg *given;
    uint32_t n_given;
} function_named;

/* One function of its name: its signature or, for a template, the tokens to parse it from. */
struct function_decl {
    kernel_name *name;
    scope *scope;
    kernel_place place;
    unsigned flags;
    template_param *params;
    uint32_t n_params;
    const kernel_token *head; /* of a template: its specifiers */
    const kernel_token *constraint,
        *also;                /* of a template: at the conditions after "requires", or NULL */
    const kernel_token *body; /* at '{', NULL: not defined */
    const kernel_token *bounds;
    const kernel_type *result;
    parameter *parameters; /* of a template: patterns, made when they are needed */
    uint32_t n_parameters;
    parameter_pack pack;
    bool has_patterns;
    const kernel_type *pattern_result; /* of a template: the pattern of its result, or NULL */
    struct kernel_instance *instances;
    bool is_constructor;       /* of a template: head is at the "(" of a constructor */
    bool is_method;            /* its first parameter is a reference to the object */
    const kernel_type *object; /* of a template that is a method: the struct's type */
    uint8_t role;              /* a function_role */
    bool is_pure;              /* virtual, "= 0" */
    const kernel_type *called; /* of a dispatcher: the type of the functions, or the class */
    function_decl *slot;       /* of a dispatcher: the virtual function, or NULL */
    uint32_t n_targets; /* of a dispatcher: those of kernel_parser when it was parsed, and 1 */
    uint32_t n_autos;   /* of a template: the last parameters, which are "auto" in its head */
    bool is_lambda;     /* the operator() of a lambda with "auto": head is at its "(" */
    const kernel_type
        *except;         /* of an implicit constructor: the base that is initialized already */
    function_decl *used; /* of a function that "using" introduced: the function itself */
    function_decl *next, *next_kernel;
};

static inline function_decl *function_itself(function_decl *f) { return f->used ? f->used : f; }

/* A kernel whose declaration could not be parsed. */
typedef struct broken_kernel {
    kernel_name *name;
    kernel_diag *diag_before, *diag_after;
    struct broken_kernel *next;
} broken_kernel;

typedef struct kernel_instance {
    function_decl *decl;
    template_list args;
    scope *scope; /* of the declaration, or of the template parameters bound in it */
    const kernel_token *body, *bounds;
    const kernel_type *result;
    parameter *parameters;
    uint32_t n_parameters;
    parameter_pack pack;
    unsigned flags;
    kernel_function *function; /* as parsed, before address spaces are inferred */
    bool parsed, open;
    bool jumps;                            /* its body has labels */
    kernel_diag *diag_before, *diag_after; /* its diagnostics: after the first, up to the second */
    const kernel_diag
        *diag_repeated;           /* an error of it that another instance reported first, or NULL */
    struct kernel_instance *next; /* of the same declaration, newest first */
    struct kernel_instance *next_slot; /* of kernel_parser.instances */
    struct kernel_instance *queue;     /* to be parsed */
    struct kernel_clone *clones;       /* one for each combination of address spaces */
    kernel_function *pristine;
    const char *base_name; /* without the clone's letters */
    struct kernel_instance
        *group_of; /* the instance with thread_group instead of this one's groups, or NULL */
} kernel_instance;

/* ---- the parser ------------------------------------------------------------------------------- */

enum { INSTANCE_SLOTS = 1024, FOLD_MEMOS = 512 };

typedef struct fold_number {
    uint64_t integer;
    double number;
} fold_number;

/* The memoized result of a call that was folded. */
typedef struct fold_memo {
    const kernel_function *function; /* or NULL */
    fold_number *args, result;
} fold_memo;

typedef struct name_count {
    const kernel_name *name;
    uint32_t stamp, count;
} name_count;

struct kernel_parser {
    kernel_tree *tree;
    kernel_arena *arena;
    kernel_types *types;
    kernel_names *names;
    kernel_diags *diags;
    const kernel_parse_options *options;

    const kernel_token *t; /* the current token */
    int split;             /* how many '>' of it are consumed */
    bool no_gt;            /* ">" ends the expression: we are in template arguments */
    int depth, nested;
    uint32_t chain; /* height of the expression that depth does not count: a + a + a ... */
    int quiet;      /* above 0: errors are not reported, since this may be host code */
    bool failed;    /* an error occurred since this was last cleared */
    jmp_buf *guard;

    scope *root;     /* of CUDA's own names, outside of the global ones */
    scope **globals; /* of the files; several are linked (link.c) */
    scope *scope;
    int file; /* that is being read; its index */
    struct link_state *links;
    uint32_t n_functions;     /* declarations of functions so far, without methods */
    kernel_instance *current; /* the instance whose body is being parsed, or NULL */
    bool is_outside; /* `current` stands for the value of a variable outside of functions */
    uint32_t loops, switches;      /* enclosing the current statement */
    scope *break_to, *continue_to; /* the scopes around the statements that they leave */
    scope *body;                   /* of the current function */
    lifetime *temporaries;         /* of the current full expression, to be destroyed at its end */
    uint32_t conditional; /* operands of "&&", "||" and "?:" around the current expression */
    bool converting; /* conversions by functions of the source do not count: only one may be used */
    int32_t unroll;  /* of the #pragma unroll before the next loop */
    kernel_name *declaring; /* the variable whose declaration is being parsed, or NULL */
    kernel_var **locals_end, **globals_end;
    kernel_instance *queue, **queue_end;
    struct broken_kernel *broken, **broken_end;
    const kernel_diag *broken_file; /* an error outside of functions that concerns every kernel */
    function_decl *kernels, **kernels_end;      /* by next_kernel */
    kernel_instance *instances[INSTANCE_SLOTS]; /* by declaration and arguments */
    function_decl *dispatchers;                 /* by next_kernel */
    struct pointed *pointed;                    /* functions whose address is taken */
    struct made_class *classes;                 /* with virtual functions, that are constructed */
    uint32_t n_targets;                         /* of both */
    bool is_direct; /* the next call names the class of its function: it is not virtual */
    fold_memo folded[FOLD_MEMOS];
    uint32_t n_instances, n_globals, n_entries;
    kernel_function **functions_end;
    kernel_entry **entries_end;
    bool patterns;                  /* template parameters stand for themselves */
    uint32_t n_launched;            /* kernels that kernels launch */
    uint32_t library;               /* the parts of the library that are parsed, as bits */
    const kernel_token *constraint; /* the condition after "template <...> requires", or NULL */
    int auto_at; /* the parameter of a generic lambda or function that the next "auto" is, from 1; 0: none */
    const kernel_token *pack_dots; /* of a parameter "Ts... args": the dots, before its name */
    int pack_at; /* the element that a pack's name means inside a repeated pattern; -1: outside */

    /* Names in use: by variables of the current function, and in the tree. */
    name_count *counts;
    uint32_t n_counts, counts_used, stamp, last_stamp;
    kernel_name *word_x[4];
};

/* parser.c */

/* Reports an error at place and jumps to the guard. parser_error only reports. */
_Noreturn void parser_fail(parser *p, kernel_place place, const char *format, ...) IG_PRINTF(3, 4);
/* The same with a remedy. */
_Noreturn void parser_fail_do(parser *p, kernel_place place, const char *remedy, const char *format,
                              ...) IG_PRINTF(4, 5);
void parser_error(parser *p, kernel_place place, const char *format, ...) IG_PRINTF(3, 4);
/* Adds a note to the error that was reported last. */
void parser_note(parser *p, kernel_place place, const char *note);
/* Jumps after an error was reported. */
_Noreturn void parser_jump(parser *p);
/* Calls work; false if it jumped. Scope and depth are then restored. */
bool parser_guard(parser *p, void (*work)(parser *, void *), void *context);
/* The same, but its errors are neither reported nor counted. */
bool parser_try(parser *p, void (*work)(parser *, void *), void *context);
/* The state to return to after parsing elsewhere in the source, at `from` and in scope `in`. */
typedef struct parser_place {
    const kernel_token *t;
    scope *scope;
    int split;
    bool no_gt;
    int pack_at, auto_at;
    const kernel_token *pack_dots;
} parser_place;
parser_place parser_enter(parser *p, const kernel_token *from, scope *in);
void parser_leave(parser *p, parser_place back);
void parser_down(parser *p); /* one level deeper; an error if too deep */
void parser_up(parser *p);

static inline bool at(const parser *p, kernel_token_kind kind) { return p->t->kind == kind; }
static inline bool at_word(const parser *p, kernel_keyword word)
{
    return p->t->kind == TOKEN_NAME && p->t->keyword == word;
}
bool accept(parser *p, kernel_token_kind kind);
bool accept_word(parser *p, kernel_keyword word);
void expect(parser *p, kernel_token_kind kind, const char *where);
kernel_name *expect_name(parser *p, const char *what);
/* At the '>' that ends template arguments, which may be the first half of ">>". */
bool at_close_angle(const parser *p);
void expect_close_angle(parser *p);
/* The token after the bracket that matches the one at t; the last token if there is none. */
const kernel_token *skip_group(const kernel_token *t);
/* The token after t, or after the brackets that it opens. */
bool opens_group(const kernel_token *t);
const kernel_token *skip_item(const kernel_token *t);
/* Skips a default value, up to a comma or to the token that ends the list. */
void skip_value(parser *p, kernel_token_kind end);
/* A token for messages: "'x'", "the end of the source". */
const char *token_text(parser *p, const kernel_token *t);
kernel_name *name_of(parser *p, const char *text);
/* The text, with a number appended if it is in use: unique in the function, or in the tree. */
const char *name_unique(parser *p, const char *text, bool in_tree);
const char *parser_format(parser *p, const char *format, ...) IG_PRINTF(2, 3); /* in the arena */

/* "{1, 2}" as an argument, kept as tokens until its parameter is known. */
static inline bool expr_is_braces(const kernel_expr *e)
{
    return e->kind == EXPR_LIST && e->type->kind == TYPE_VOID;
}

/* scope.c */
scope *scope_open(parser *p, scope *parent, bool is_local);
void scope_close(parser *p, scope *s); /* removes the names of a local scope */
symbol *symbol_add(parser *p, scope *s, symbol_kind kind, kernel_name *name, kernel_place place);
/* A symbol that lookup does not find. */
symbol *symbol_new(parser *p, scope *s, symbol_kind kind, kernel_name *name, kernel_place place);
/* Makes the name of y mean the same in s. */
void symbol_alias(parser *p, scope *s, const symbol *y, kernel_place place);
symbol *symbol_here(const scope *s, const kernel_name *name); /* in this scope only */
symbol *symbol_in(const scope *s, const kernel_name *name);   /* also in the scopes that it uses */
symbol *symbol_find(parser *p, const kernel_name *name);
scope *symbol_inside(parser *p, symbol *y);        /* the scope after "::", or NULL */
void scope_use(parser *p, scope *s, scope *other); /* using namespace */
const char *scope_qualified(parser *p, const scope *s, const char *name); /* "ns::name" */
/* The global scope of the file of the current scope. */
scope *scope_global(const parser *p);
void scope_builtins(parser *p); /* CUDA's own names */
/* Reads a (qualified) name. NULL if it is unknown; *last is the token of its last part. */
symbol *parse_name(parser *p, const kernel_token **last);
/* The same without consuming tokens. */
symbol *peek_name(parser *p);

/* type.c */
bool at_type(parser *p); /* a type begins here */
/* The "auto" after a concept at t; t itself if there is none. */
const kernel_token *constrained_auto(const kernel_token *t);
void parse_specifiers(parser *p, specifiers *s);
declarator parse_declarator(parser *p, const kernel_type *base);
kernel_name *parse_operator_name(parser *p);     /* after "operator" */
const kernel_type *parse_type(parser *p);        /* "const float *" */
void parse_parameters(parser *p, declarator *d); /* after "(", to after ")" */
scope *type_members(parser *p, const kernel_type *type, kernel_place place); /* or NULL */
void type_complete(parser *p, const kernel_type *type, kernel_place place);
const kernel_type *parse_struct(parser *p, bool is_union); /* after the keyword */
void accept_final(parser *p);
const kernel_type *parse_enum(parser *p);
/* Parses a member of a struct; skips it if it is host code that cannot be parsed. */
void struct_member(parser *p, kernel_struct *s);
/* The default value of a struct's i-th member, or NULL. self: the object, or NULL if there is none yet. */
kernel_expr *member_default(parser *p, const kernel_type *type, uint64_t i, kernel_var *self);
/* Lays out a member (NULL name: anonymous) or a base of a struct that is being parsed. */
void layout_member(parser *p, kernel_struct *s, const kernel_name *name, const kernel_type *type,
                   kernel_place place);
/* Lays out a bit-field; without a name, it only takes space. */
void layout_bits(parser *p, kernel_struct *s, const kernel_name *name, const kernel_type *type,
                 kernel_place place, uint64_t bits);
void layout_base(parser *p, kernel_struct *s, const kernel_type *base, kernel_place place);
/* The number of bases that lead from a struct to its base `to`, outermost first; -1: it is not a base. */
int base_path(const kernel_type *from, const kernel_type *to, const kernel_member *path[8]);
bool base_is_empty(const kernel_type *from, const kernel_type *to); /* a base without members */
/* "T s::f(...) {...}" at "::"; type is s. */
void parse_outside_method(parser *p, const specifiers *s, const kernel_type *type);
bool accept_outside_constructor(parser *p);
const kernel_type *struct_instance(parser *p, kernel_syntax *s, kernel_place place);
/* The same with these arguments, one for each parameter. */
const kernel_type *struct_made(parser *p, kernel_syntax *s, template_list all, kernel_place place);
/* All arguments of a struct template; missing ones get their defaults. */
template_list struct_arguments(parser *p, const kernel_syntax *s, const template_arg *args,
                               uint32_t n, kernel_place place);
void parse_typedef(parser *p, const specifiers *s);

/* using.c */
void parse_using(parser *p); /* after "using": a = type, namespace n, n::a */

/* template.c */
uint32_t parse_template_params(parser *p, template_param **params); /* after "template" */
uint32_t parse_template_args(parser *p, template_arg **args);       /* at "<" */
void template_bind(parser *p, scope *s, const template_param *params, uint32_t n,
                   template_list args);
bool template_same(template_list a, template_list b);
/* Fills in defaults for arguments that are not set; there is room for TEMPLATE_MOST. Returns the index of the
 * first missing argument, or -1. */
int template_defaults(parser *p, scope *in, const template_param *params, uint32_t n,
                      template_list *args);
bool template_has_pack(const template_param *params, uint32_t n);
template_list template_copy(parser *p, template_list args);
const char *template_text(parser *p, template_list args, bool mangled);
/* The instance of a template for its arguments; for other functions args is empty. */
/* Lets instance_get find it before older instances. */
void instance_add(parser *p, kernel_instance *i);
kernel_instance *instance_get(parser *p, function_decl *f, template_list args, kernel_place place);
/* The signature of a template, in a scope that binds its parameters. */
declarator template_signature(parser *p, function_decl *f, scope *s, specifiers *spec);
/* The function to call; it is queued for parsing. */
kernel_function *instance_use(parser *p, kernel_instance *i, kernel_place place);
void instance_parse(parser *p, kernel_instance *i);

/* concept.c */
/* "requires ..." after the parameters of a template: its condition is skipped. NULL: there is none. */
const kernel_token *accept_requires(parser *p);
/* "concept name = condition;" or "constexpr T name = value;": false if it is neither. */
bool accept_value_template(parser *p, template_param *params, uint32_t n);
/* The value of a template of a value, at its "<". */
kernel_expr *value_template(parser *p, const kernel_syntax *s, kernel_place place);
kernel_expr *parse_requires(parser *p); /* "requires (T x) {...}" */
/* The concept before a parameter's name; NULL: there is none. */
const kernel_token *accept_concept(parser *p);
/* True if the arguments fulfil the conditions of a template. */
bool constraints_hold(parser *p, const function_decl *f, template_list args);
/* Declares parameters whose names are used where nothing is evaluated. */
void name_parameters(parser *p, const declarator *d);

/* deduce.c */
/* Deduces the arguments of a template from a call; false if they do not fit. Explicit arguments come first.
 * result: of a specialization, whose result counts too, or NULL. out has room for TEMPLATE_MOST. */
bool template_deduce(parser *p, function_decl *f, const template_arg *given, uint32_t n_given,
                     kernel_expr **args, uint32_t n_args, const kernel_type *result,
                     template_list *out);
/* "template <...> struct s<T *> {...};" at the "<" of its arguments: records the specialization. */
void declare_special_struct(parser *p, kernel_syntax *of, template_param *params, uint32_t n,
                            uint32_t align, bool is_union);
/* The most specialized of a template's specializations that fit the arguments, and the arguments for the
 * specialization's parameters; NULL if none fits. */
const kernel_syntax *special_struct(parser *p, const kernel_syntax *of, template_list args,
                                    kernel_place place, template_list *own);

/* pack.c */
/* If "..." follows the current element of a list in brackets (or angles): calls each for every element of its
 * packs, with p->t at the element's first token. p->t is then after "...". False if there is no "...". */
bool pack_expand(parser *p, bool angles, void (*each)(parser *, void *), void *context);
/* Parameters "Ts... args", one for each element of the pack. */
bool accept_parameter_pack(parser *p, void (*each)(parser *, void *), void *context,
                           parameter_pack *pack);
kernel_expr *parse_pack_size(parser *p); /* at "..." after sizeof */
bool at_fold(const parser *p);           /* "(args + ...)" */
kernel_expr *parse_fold(parser *p);

/* check.c: expressions, with their rules */
kernel_expr *expr_new(parser *p, expr_kind kind, kernel_place place, const kernel_type *type);
/* With its operands; b may be NULL. */
kernel_expr *expr_node(parser *p, expr_kind kind, kernel_place place, const kernel_type *type,
                       kernel_expr *a, kernel_expr *b);
kernel_expr *expr_integer(parser *p, kernel_place place, const kernel_type *type, uint64_t value);
kernel_expr *expr_zero(parser *p, kernel_place place, const kernel_type *type); /* of a scalar */
kernel_expr *expr_number(parser *p, kernel_place place, const kernel_type *type, double value);
kernel_expr *expr_var(parser *p, kernel_place place, kernel_var *var);
kernel_expr *expr_builtin(parser *p, kernel_place place, kernel_builtin id, const kernel_type *type,
                          uint32_t n, kernel_expr *const *args);
kernel_expr *expr_list(parser *p, kernel_place place, const kernel_type *type, uint32_t n);
bool expr_is_place(const kernel_expr *e);
bool expr_is_null(const kernel_expr *e);            /* a constant 0 or nullptr */
kernel_expr *expr_value(parser *p, kernel_expr *e); /* loads, decays, drops qualifiers */
kernel_expr *expr_bool(parser *p, kernel_expr *e);
/* The implicit conversion to a type; an error if there is none. what: "argument 2 of 'f'". */
kernel_expr *expr_convert(parser *p, kernel_expr *e, const kernel_type *to, const char *what);
kernel_expr *expr_cast(parser *p, kernel_expr *e, const kernel_type *to, kernel_place place);
/* The rank of the conversion: 0 exact, 1 with const added, 2 promotion, 3 conversion, -1 none. */
int expr_rank(parser *p, const kernel_expr *e, const kernel_type *to);
kernel_expr *expr_binary(parser *p, kernel_place place, int token, kernel_expr *a, kernel_expr *b);
kernel_expr *expr_op(parser *p, kernel_place place, kernel_operator op, kernel_expr *a,
                     kernel_expr *b); /* both operands have the same type */
kernel_expr *expr_unary(parser *p, kernel_place place, int token, kernel_expr *a);
kernel_expr *expr_choose(parser *p, kernel_place place, kernel_expr *a, kernel_expr *b,
                         kernel_expr *c);
kernel_expr *expr_assign(parser *p, kernel_place place, kernel_expr *to, kernel_expr *value);
kernel_expr *expr_update(parser *p, kernel_place place, int token, kernel_expr *to,
                         kernel_expr *value);
kernel_expr *expr_step(parser *p, kernel_place place, bool up, bool post, kernel_expr *to);
kernel_expr *expr_deref(parser *p, kernel_place place, kernel_expr *pointer);
kernel_expr *expr_address(parser *p, kernel_place place, kernel_expr *e);
kernel_expr *expr_index(parser *p, kernel_place place, kernel_expr *a, kernel_expr *i);
kernel_expr *expr_member(parser *p, kernel_place place, kernel_expr *a, const kernel_name *name);
kernel_expr *expr_comma(parser *p, kernel_expr *a, kernel_expr *b); /* a may be NULL */
/* The bit-field that a place is, or NULL. */
const kernel_member *bit_field(const kernel_expr *e);
/* The value that a bit-field has after it is set to a value of its type. */
kernel_expr *bit_field_value(parser *p, const kernel_member *m, kernel_expr *value);
/* e converted to a base of its struct. */
kernel_expr *expr_to_base(parser *p, kernel_expr *e, const kernel_type *base);
/* The pointer for a reference: the address of e, or of a temporary if e is a value or has another type. */
kernel_expr *expr_bind(parser *p, kernel_expr *e, const kernel_type *to, const char *what);
kernel_expr *expr_chosen_place(parser *p, kernel_expr *e);
/* e, for several uses: e itself if evaluating it is free and has no effect, else a temporary that *before
 * sets. */
kernel_expr *expr_once(parser *p, kernel_expr *e, kernel_expr **before);
/* The same for a place. */
kernel_expr *expr_place_once(parser *p, kernel_expr *e, kernel_expr **before);
const kernel_type *type_promote(parser *p, const kernel_type *t);
const kernel_type *type_usual(parser *p, const kernel_type *a, const kernel_type *b); /* or NULL */
const kernel_type *type_word_of(parser *p, type_word word);
const char *type_name(parser *p, const kernel_type *t);

/* init.c */
/* The value of "= x", "(x)" or "{...}" for a variable of type. An array without a size gets its size. */
kernel_expr *parse_init(parser *p, const kernel_type **type, const char *what);
kernel_expr *parse_braces(parser *p, const kernel_type **type); /* at "{" */
kernel_expr *zero_of(parser *p, const kernel_type *type);       /* zeros */
/* The bytes of a scalar. */
void number_bytes(const kernel_type *type, fold_number n, uint8_t *bytes);
fold_number bytes_number(const kernel_type *type, const uint8_t *bytes);

/* fold.c */
kernel_expr *fold(parser *p, kernel_expr *e); /* its constant value, or e */
bool fold_cast(const kernel_type *from, const kernel_type *to, fold_number x, fold_number *out);
bool fold_binary(const kernel_type *t, kernel_operator op, fold_number a, fold_number b,
                 fold_number *out);
bool fold_unary(const kernel_type *t, kernel_operator op, fold_number a, fold_number *out);
bool fold_builtin(const kernel_expr *e, const fold_number *args, fold_number *out);
fold_number fold_get(const kernel_expr *e); /* of a constant */
kernel_expr *fold_put(parser *p, const kernel_expr *e, fold_number n);
/* The value of a constant expression; what: "an array's size". */
int64_t fold_integer(parser *p, kernel_expr *e, const char *what);
double fold_round(type_kind kind, double x);
uint64_t fold_wrap(type_kind kind, uint64_t x);

/* evaluate.c */
kernel_expr *fold_all(parser *p, kernel_expr *e); /* also evaluates calls of functions */
/* Evaluates the initial value of a global; false if it is not a constant. An e that is not an array is the
 * value of each element. */
bool evaluate_initial(parser *p, kernel_expr *e, kernel_var *v);

/* expr.c */
kernel_expr *parse_expression(parser *p); /* with commas */
/* The same inside brackets, where ">" is an operator, up to after the closing one. */
/* The heap of kernels: malloc and free. */
kernel_expr *device_malloc(parser *p, kernel_place place, kernel_expr *bytes);
kernel_expr *device_free(parser *p, kernel_place place, kernel_expr *e);
kernel_expr *parse_inside(parser *p, kernel_token_kind close, const char *where);
kernel_expr *parse_assignment(parser *p);     /* without */
const kernel_string *parse_string(parser *p); /* of chars; others are refused */
kernel_expr *parse_unary(parser *p);          /* without binary operators */
/* For any infix operator, including the comma. */
kernel_expr *expr_infix(parser *p, kernel_place place, int token, kernel_expr *a, kernel_expr *b);
kernel_expr *parse_constant(parser *p);                   /* without assignments; folded */
uint32_t parse_arguments(parser *p, kernel_expr ***args); /* after "(", to after ")" */
uint32_t parse_values(parser *p, kernel_token_kind close, kernel_expr ***args); /* to close */
kernel_expr *use_var(parser *p, symbol *y, kernel_place place); /* the variable of a name */

/* call.c */
const char *types_of(parser *p, kernel_expr **args, uint32_t n); /* for messages: "int, {...}" */
kernel_expr *parse_call(parser *p, function_decl *functions,
                        kernel_place place); /* after the name */
/* Calls a member function of an object, or of *this if object is NULL. If args is NULL, p->t is after "(". */
kernel_expr *parse_method(parser *p, kernel_expr *object, function_decl *functions,
                          kernel_place place);
kernel_expr *call_method(parser *p, kernel_expr *object, function_decl *functions,
                         kernel_place place, kernel_expr **args, uint32_t n);
/* The functions of that name in a struct; NULL if there are none. */
function_decl *methods_of(parser *p, const kernel_type *type, const char *name);
/* The operator T() of a struct whose result converts to `to`, or NULL. */
kernel_expr *convert_operand(parser *p, kernel_expr *e);
const conversion *conversion_to(parser *p, const kernel_type *from, const kernel_type *to);
/* True if a parameter or variable of type `to` takes the type of the group that it is given: a thread_group
 * does, and a tile that does not name its parent. */
bool group_takes(const kernel_type *to, const kernel_type *given);
/* How specialized a template's parameters are: T * is more specialized than T, a pack is the least. */
int function_specificity(const function_decl *f);
kernel_instance *call_choose(parser *p, function_decl *functions, kernel_place place,
                             const template_arg *given, uint32_t n_given, kernel_expr **args,
                             uint32_t n_args, bool quiet);
/* The call of an instance whose parameters fit. */
kernel_expr *call_instance(parser *p, kernel_instance *i, kernel_place place, kernel_expr **args,
                           uint32_t n);
kernel_expr *call_functions(parser *p, function_decl *functions, kernel_place place,
                            const template_arg *given, uint32_t n_given, kernel_expr **args,
                            uint32_t n_args, bool quiet); /* NULL if quiet and none fits */

/* The parameters of a method: the object, then n others; quals are the object's. */
parameter *method_parameters(parser *p, kernel_place place, const kernel_type *object,
                             unsigned quals, const parameter *others, uint32_t n);

typedef struct stmt_list {
    kernel_stmt *first, **end;
} stmt_list;

/* construct.c */
/* The constructors that a struct declares or takes over from a base; NULL if there are none. */
function_decl *constructors_of(parser *p, const kernel_type *type);
/* True if a variable of the type is initialized although its declaration has no value. */
bool init_needed(parser *p, const kernel_type *type);
/* True if that needs no code, as nvcc requires for shared variables. */
bool init_is_empty(parser *p, const kernel_type *type);
/* Initializes an object without a value: an expression for its effect, or NULL if nothing is to be done. */
kernel_expr *init_default(parser *p, kernel_expr *to, kernel_place place);
/* Initializes an object with a value, where arrays may be lists. */
kernel_expr *init_set(parser *p, kernel_expr *to, kernel_expr *value);
/* True if the value is a constructed object that may contain its own address. */
bool init_keeps_address(const kernel_expr *value, const kernel_type *type);
/* The value of T() and T{}. */
kernel_expr *init_value(parser *p, const kernel_type *type, kernel_place place);
/* A value made by a constructor; NULL if the type has none that does anything. */
kernel_expr *construct(parser *p, const kernel_type *type, kernel_place place, kernel_expr **args,
                       uint32_t n);
/* Adds the statements that a constructor runs before its body, at ":" or "{". */
void parse_member_values(parser *p, stmt_list *out);

/* The constructors that may convert e to a struct implicitly: true if there are any. */
bool converts(parser *p, const kernel_expr *e, const kernel_type *to);
kernel_token *empty_body(parser *p, kernel_place place); /* "{}" */
/* The same place without const: a const object is written while it is initialized. */
kernel_expr *writable(parser *p, kernel_expr *to);
kernel_var *temporary_new(parser *p, const kernel_type *type, kernel_place place);

/* object.c */
bool object_copies(parser *p, const kernel_type *type); /* copying it is more than copying bytes */
bool object_ends(parser *p, const kernel_type *type);   /* it or a part of it has a destructor */
/* The value of e as a new object, made by the copy constructor if e is a place. */
kernel_expr *object_value(parser *p, kernel_expr *e);
kernel_expr *object_copy_to(parser *p, kernel_expr *to, kernel_expr *from);
/* to = value of a struct by operator=; NULL if bytes are to be copied. */
kernel_expr *object_assign(parser *p, kernel_place place, kernel_expr *to, kernel_expr *value);
kernel_expr *object_end(parser *p, kernel_expr *object); /* destroys it; NULL: nothing to do */
function_decl *implicit_end(parser *p, const kernel_type *type);
/* A value that is not used, as a temporary if it has to be destroyed. */
kernel_expr *object_discard(parser *p, kernel_expr *e);
/* The statements of a function with a role. */
void object_statements(parser *p, stmt_list *out);
/* v is destroyed at the end of s. Nothing happens if it has no destructor. */
void lifetime_add(parser *p, scope *s, kernel_var *v);
void lifetime_end(parser *p, const scope *s, stmt_list *out); /* at the end of s */
/* Destroys the objects of the scopes from the current one up to `to`, which stays. */
void lifetime_leave(parser *p, const scope *to, const kernel_var *except, stmt_list *out);
bool lifetime_any(const scope *from, const scope *to);
/* v, which `before` makes, is destroyed at the end of the full expression, which temporary_finish ends. Returns
 * `before` with what this needs. */
kernel_expr *temporary_keep(parser *p, kernel_var *v, kernel_expr *before);
kernel_expr *temporary_finish(parser *p, kernel_expr *e);

/* dispatch.c */
bool is_function_name(const kernel_expr *e);
/* The name of a function that is not called. */
kernel_expr *function_name_new(parser *p, function_decl *functions, const template_arg *given,
                               uint32_t n_given, kernel_place place);
/* True if the name means a function that a pointer of type `to` can point to. */
bool function_fits(parser *p, const kernel_expr *e, const kernel_type *to);
/* Its address; `to`: the type of the pointer, or NULL. */
kernel_expr *function_pointer(parser *p, kernel_expr *e, const kernel_type *to);
kernel_expr *call_through(parser *p, kernel_expr *pointer, kernel_place place, kernel_expr **args,
                          uint32_t n);
/* The function of a lambda without captures, for a pointer of type `to`, or for any; NULL: there is none. */
kernel_instance *lambda_function(parser *p, const kernel_type *lambda, const kernel_type *to);
/* Its address. */
kernel_expr *lambda_pointer(parser *p, const kernel_expr *lambda, const kernel_type *to);
/* Adds the pointer that tells the class of an object. */
void layout_vptr(parser *p, kernel_struct *s);
bool has_vptr(parser *p, const kernel_type *type);
bool has_virtual_end(const kernel_type *type);
/* Adds the statements that make an object one of its class. */
void vptrs_set(parser *p, stmt_list *out, kernel_expr *self);
/* The instance to call: i itself, or a dispatcher if the call is virtual. */
kernel_instance *virtual_instance(parser *p, kernel_instance *i, kernel_expr **args, uint32_t n);
/* Destroys the object by its virtual destructor; the value is its address. NULL: not virtual. */
kernel_expr *virtual_end(parser *p, kernel_expr *object);
bool is_dispatcher(const function_decl *f);
/* The statements of a dispatcher. */
void dispatch_statements(parser *p, stmt_list *out);
/* Parses the dispatchers that lack cases. Returns true if there were any. */
bool dispatch_parse(parser *p);
/* Makes pointers to functions integers, which they are in the tree. */
void function_pointers_finish(parser *p);

/* lambda.c */
kernel_expr *parse_lambda(parser *p); /* at "[" */
/* The n-th "auto" among a lambda's parameters, from 1, as a parameter of a template. */
kernel_name *lambda_auto(parser *p, int n);
declarator lambda_signature(parser *p, const function_decl *f, scope *s);
/* The arguments of a call; for a lambda, with its captures by reference appended. */
kernel_expr **lambda_arguments(parser *p, const kernel_type *type, kernel_place place,
                               kernel_expr **args, uint32_t *n);

/* builtin.c */
typedef struct builtin_name {
    const char *name;
    uint8_t how; /* the meaning of `which` */
    uint16_t which;
    const char *signatures;
    const char *lanes; /* of HOW_LANES */
} builtin_name;
extern const builtin_name builtin_names[];
extern const size_t builtin_names_count;
kernel_expr *builtin_call(parser *p, const builtin_name *row, kernel_place place, uint32_t n,
                          kernel_expr **args);
kernel_expr *parse_builtin(parser *p, const builtin_name *row, kernel_place place);
/* An operator on half pairs, lane by lane. b is NULL for a unary operator. NULL if a and b are not half
 * pairs, or have no such operator. */
kernel_expr *builtin_pair(parser *p, kernel_place place, kernel_operator op, kernel_expr *a,
                          kernel_expr *b);

/* special.c, group.c, wmma.c */
void special_names(parser *p);
void special_add(parser *p, scope *s, const char *name, special_parser *parse, int which);
void group_names(parser *p);
void wmma_names(parser *p);
/* A member function of a cooperative group: g.sync(). NULL if the type is not a group. */
kernel_expr *group_member(parser *p, kernel_expr *g, const kernel_name *name, kernel_place place);
const kernel_type *group_type(parser *p, int which, kernel_place place);
const kernel_type *fragment_type(parser *p, kernel_place place); /* at "<" */

/* flow.c */
/* The body of the current function, which has labels, without them and goto. */
kernel_stmt *flow_structured(parser *p, kernel_stmt *body);
/* The function without recursion; NULL if a function that it calls has an error. */
kernel_function *flow_machine(parser *p, kernel_function *f);

/* stmt.c */
kernel_stmt *stmt_add(parser *p, stmt_list *out, stmt_kind kind, kernel_place place);
kernel_stmt *parse_body(parser *p); /* at "{" */
/* Parses statements of CUDA C that a statement at place stands for. */
void parse_text(parser *p, const char *c, kernel_place place, stmt_list *out);

/* ptx.c: after "asm"; the statements that it stands for */
void parse_asm(parser *p, kernel_place place, stmt_list *out);

/* local.c */
bool at_declaration(parser *p); /* "float(x);" and "T{};" are expressions */
void parse_declaration(parser *p, stmt_list *out);
/* After the specifiers: one declarator, or all. */
/* A shared variable of a function or of the file. */
void declare_shared(parser *p, const specifiers *s, const declarator *d);
void declare_local(parser *p, const specifiers *s, declarator *d, stmt_list *out);
void parse_declarators(parser *p, const specifiers *s, stmt_list *out);
void declare_reference(parser *p, const declarator *d, const kernel_type *type, kernel_expr *e,
                       stmt_list *out);
/* The type that auto, const auto & or auto * stands for. */
const kernel_type *auto_deduce(parser *p, const kernel_type *type, kernel_expr *e);
kernel_var *local_new(parser *p, kernel_name *name, const kernel_type *type, kernel_place place);
symbol *local_declare(parser *p, const declarator *d, kernel_var *v); /* declares its name */
void parse_static_assert(parser *p);

/* decl.c */
/* The device keyword of the declaration at t, before its body; 0 if there is none. */
int device_mark(const kernel_token *t);
/* The state to return to after parsing a value outside of functions. */
typedef struct parser_outside {
    kernel_instance *current;
    kernel_var **locals_end;
    bool is_outside;
} parser_outside;
parser_outside outside_enter(parser *p);
void outside_leave(parser *p, parser_outside back);
void parse_file(parser *p);
/* The token after the declaration at t: after its semicolon or the braces of its body. */
const kernel_token *declaration_end(const kernel_token *t);
/* ---- pointed.c: pointers to members ---- */

/* True at "C::*"; its type, of a member of this type, and p->t after it. */
bool at_member_pointer(const parser *p);
const kernel_type *parse_member_pointer(parser *p, const kernel_type *of);
/* At "C::m" after '&', for a member that is no function: the pointer to it; else NULL. */
kernel_expr *accept_member_address(parser *p);
/* A unary expression and what ".*" and "->*" select of it. */
kernel_expr *parse_pointed(parser *p);

/* The number of "auto"s among the parameters of the function declared at t. If there are any, it is a template.
 * made, if not NULL, gets the concept, or NULL, of each of the first TEMPLATE_MOST, and whether it is a pack. */
uint32_t function_autos(const kernel_token *t, template_param *made);
/* True if the parameter with the "auto" at t is a pack: "const auto &...x". */
bool auto_is_pack(const kernel_token *t);
/* The name of the function declared at t, which precedes its parameters; NULL if none. */
kernel_name *function_name(const kernel_token *t);
void function_add(parser *p, const function_decl *made);
bool function_same_parameters(const function_decl *a, const function_decl *b);
void parse_namespace(parser *p, bool is_inline); /* after "namespace" */
/* Declares a host variable. If it is constant, kernels may use it. e is its value, or NULL. */
void declare_host(parser *p, const specifiers *s, const declarator *d, const kernel_type *type,
                  kernel_expr *e);
/* Adds it to the tree's globals, with all that its initial value points to. */
void global_list(parser *p, kernel_var *v);
/* The same without adding it: for constants that device code may never read. */
kernel_var *global_var(parser *p, kernel_name *name, const kernel_type *type,
                       kernel_storage storage, kernel_place place);

/* link.c */

/* The declaration at the current token, and what was declared before it. */
typedef struct link_mark {
    const kernel_token *from, *to;
    const symbol *symbols;
    uint32_t n_functions;
} link_mark;
link_mark link_begin(parser *p);
/* If the declaration has only types and an earlier file has the same one: takes its types and skips it. */
bool link_import(parser *p, const link_mark *m);
/* Records the types that the declaration added, for later files. */
void link_record(parser *p, const link_mark *m);
/* Gives functions and extern variables their definitions in other files. */
void link_files(parser *p);

/* decl_template.c */
/* An expression of a type, for deduction. */
kernel_expr *type_dummy(parser *p, const kernel_type *type);
void parse_template(parser *p); /* after "template" */
/* Declares the function template after "template <...>"; `object`: the type of the struct it belongs to, or
 * NULL. */
void declare_function_template(parser *p, template_param *params, uint32_t n,
                               const kernel_type *object);

/* request.c */
/* "tile<float, 16>" at p->t, spelled `wanted`: makes its instance. */
void parse_request(parser *p, void *wanted);
/* Makes the instance of a kernel template for the arguments in "<>"; last: its name. */
void request_instance(parser *p, const symbol *y, const kernel_token *last,
                      const template_arg *given, uint32_t n);
/* Makes the instances of kernel templates that declarations name: full specializations, and templates whose
 * arguments all have defaults. */
void parse_named_instances(parser *p);

/* launches.c */
/* Makes the instances of kernel templates that the source launches. from: the first token. */
void parse_launches(parser *p, const kernel_token *from);

/* library.c */
void part_names(parser *p); /* adds the names of all parts */
/* The symbol itself, or the one that its part of the library declares. NULL stays. */
symbol *part_load(parser *p, symbol *y);
/* A call of a function of such a part. */
kernel_expr *part_call(parser *p, const char *name, kernel_place place, kernel_expr **args,
                       uint32_t n);

/* The feature of functions that take an address as a number: of textures, surfaces and conditions; else none. */
kernel_feature part_feature(const parser *p, const kernel_function *f);

/* space.c */
void space_infer(parser *p, kernel_function *kernel);

/* feature.c */
void feature_collect(parser *p, kernel_function *f);

#endif
