/* From text to tree. lex: text -> tokens; parse: tokens -> statements.
 *
 * All that a tree holds lies in the arena it was parsed into. A place is a byte offset into the
 * text. A tree is never deeper than the parser allows, so walking it by recursion is safe. */
#ifndef CLI_SYNTAX_H
#define CLI_SYNTAX_H

#include "calc/value.h"

enum { NESTING_MOST = 200, CHAIN_MOST = 1000, NAME_MOST_BYTES = 255, SOURCE_MOST_BYTES = 16 << 20 };

/* A part of the text. */
typedef struct place {
    int at, n;
} place;

/* What is wrong, and where. */
typedef struct mistake {
    str message;
    place where;
    ig_status code;
    bool unfinished; /* the text only ends too early: more of it may help */
} mistake;

/* Writes the mistake if there is none yet; returns false. */
bool mistake_set(mistake *m, place where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool mistake_vset(mistake *m, place where, const char *format, va_list args);

typedef enum token_kind {
    T_END,
    T_STOP, /* a new line or ';': a statement ends */
    T_NAME,
    T_INT,
    T_FLOAT,
    T_STRING,
    T_SYMBOL
} token_kind;

typedef struct token {
    token_kind kind;
    place where;
    union {
        uint64_t i;
        double f;
        const char *s; /* a name, a string's text, or a symbol in ASCII */
    } u;
} token;

/* The tokens of source, in a; the last is T_END. NULL if there is a mistake. */
const token *lex(arena *a, const char *source, mistake *m);

typedef enum node_kind {
    N_LITERAL,   /* literal */
    N_NAME,      /* name */
    N_LIST,      /* items */
    N_TUPLE,     /* items */
    N_UNARY,     /* op, operand */
    N_BINARY,    /* op, left, right */
    N_CALL,      /* name, arguments */
    N_METHOD,    /* name, receiver and arguments */
    N_KEYWORD,   /* name, value: an argument */
    N_ATTRIBUTE, /* name, receiver */
    N_INDEX,     /* receiver and items */
    N_SLICE,     /* start, stop, step: each may be a literal None */
    N_ASSIGN,    /* one value, then N_NAME targets */
    N_KINDS
} node_kind;

/* An operator: how tightly it binds, the op that it is, and what it does to two numbers. */
typedef struct operation {
    const char *text;
    int precedence;
    const char *op;
    number_fn *number;
} operation;

typedef struct node node;
struct node {
    node_kind kind;
    place where; /* where an error of this node points: the operator, the callee's name */
    int depth;
    const char *name;
    const operation *op;
    value literal;
    const node *child; /* the first */
    const node *next;  /* sibling */
};

/* The statements of source in order (next), in a. NULL if there are none or there is a mistake. */
const node *parse(arena *a, const char *source, mistake *m);

#endif
