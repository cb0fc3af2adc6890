/* From text to tree. lex: text -> tokens; parse: tokens -> statements.
 *
 * A tree lives in the arena that it was parsed into. The parser limits its depth, so recursion over it is
 * safe. */
#ifndef CLI_SYNTAX_H
#define CLI_SYNTAX_H

#include "calc/value.h"

enum { NESTING_MOST = 200, CHAIN_MOST = 1000, NAME_MOST_BYTES = 255, SOURCE_MOST_BYTES = 16 << 20 };

/* A part of the text: n bytes from byte at. */
typedef struct span {
    int at, n;
} span;

/* A mistake in the text: message and place. */
typedef struct mistake {
    str message;
    span where;
    ig_status code;
    bool unfinished; /* the text ends too early: with more text it may be valid */
} mistake;

/* Sets the mistake unless one is set; returns false. */
bool mistake_set(mistake *m, span where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool mistake_vset(mistake *m, span where, const char *format, va_list args);

typedef enum token_kind {
    T_END,
    T_STOP, /* a newline or ';': ends a statement */
    T_NAME,
    T_INT,
    T_FLOAT,
    T_IMAGINARY, /* 2j */
    T_STRING,
    T_FORMAT, /* begins or ends an f-string: its parts follow, T_STRING, or tokens up to T_FIELD */
    T_FIELD,  /* ends an expression in an f-string; its format */
    T_SYMBOL
} token_kind;

typedef struct token {
    token_kind kind;
    span where;
    union {
        uint64_t i;
        double f;
        const char *s; /* a name, a string's text, or a symbol in ASCII */
    } u;
} token;

/* Returns the tokens of source, in a; the last is T_END. NULL after a mistake. */
const token *lex(arena *a, const char *source, mistake *m);

typedef enum expr_kind {
    N_LITERAL,   /* literal */
    N_IMAGINARY, /* literal: its imaginary part */
    N_NAME,      /* name */
    N_LIST,      /* items */
    N_DICT,      /* a key, its value, ... */
    N_FORMAT,  /* an f-string: N_LITERAL, or N_KEYWORD with an expression and its format as name */
    N_TUPLE,   /* items */
    N_UNARY,   /* op, operand */
    N_BINARY,  /* op, left, right */
    N_CALL,    /* name, arguments */
    N_METHOD,  /* name, receiver and arguments */
    N_KEYWORD, /* name, value: an argument */
    N_ATTRIBUTE, /* name, receiver */
    N_INDEX,     /* receiver and items */
    N_SLICE,     /* start, stop, step: each may be a literal None */
    N_STAR,      /* *value: an argument or item; in a list of parameters, a name */
    N_APPLY,     /* a function's expression and arguments: grad(f)(x) */
    N_CHAIN,     /* a < b < c: a, then an N_LINK for each further operand */
    N_LINK,      /* op, operand */
    N_AND,       /* left, right: lazy, like the next two */
    N_OR,        /* left, right */
    N_IF,        /* condition, value, else; as a statement: blocks, and the second may be missing */
    N_NOT,       /* operand */
    N_LAMBDA,    /* the body, then parameters: N_NAME, N_KEYWORD with a default, N_STAR */
    N_EACH, /* [item for targets in values if condition]: item, values, condition or None, targets */
    /* statements */
    N_ASSIGN,   /* one value, then targets: N_NAME or N_INDEX */
    N_FUNCTION, /* name, N_LAMBDA */
    N_FOR,      /* values, block, targets */
    N_WHILE,    /* condition, block */
    N_BLOCK,    /* statements */
    N_RETURN,   /* value */
    N_ASSERT,   /* condition, and a message or nothing */
    N_NOTHING,  /* import, pass */
    N_KINDS
} expr_kind;

/* An operator: its precedence, the op that it calls on arrays, and the function for plain numbers. */
typedef struct operation {
    const char *text;
    int precedence;
    const char *op;
    number_fn *number;
} operation;

typedef struct expr expr;
struct expr {
    expr_kind kind;
    span where; /* where errors point: the operator, the callee's name */
    int depth;
    const char *name;
    const operation *op;
    value literal;
    const expr *child; /* the first child */
    const expr *next;  /* the next sibling */
};

/* The value of one expression, such as "x + 1"; NULL after a mistake. */
const expr *parse_one(arena *a, const char *source, mistake *m);
/* The parameters of a function, such as "x, axis=None, *rest", and its expression, as an N_LAMBDA; NULL after a mistake. */
const expr *parse_function_text(arena *a, const char *params, const char *body, mistake *m);

/* Returns the statements of source, linked by next, in a. NULL if there are none, or after a mistake. */
const expr *parse(arena *a, const char *source, mistake *m);

#endif
