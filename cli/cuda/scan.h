/* C++ tokens for the rewriter: their positions, and the pairs of brackets. */
#ifndef CLI_CUDA_SCAN_H
#define CLI_CUDA_SCAN_H

#include "str.h"

typedef enum scan_kind { SCAN_END, SCAN_NAME, SCAN_NUMBER, SCAN_STRING, SCAN_MARK } scan_kind;

typedef struct scan_token {
    scan_kind kind;
    char mark; /* the character of a SCAN_MARK, which is always one character; else 0 */
    const char *at;
    uint32_t bytes;
    int directive; /* the number of the enclosing directive, from 1; 0: none */
    int pair;      /* of ( ) [ ] { }: the number of the matching bracket, or -1 */
} scan_token;

typedef struct scan {
    scan_token *at;
    int n; /* SCAN_END tokens precede and follow the list; they are not counted */
} scan;

/* Splits text into tokens, without comments. Release with scan_free. */
scan scan_text(const char *text, size_t bytes);
void scan_free(scan *s);

/* The kind of conditional that the '#' at t begins. */
typedef enum scan_condition {
    CONDITION_NONE,
    CONDITION_IF,
    CONDITION_ELSE,
    CONDITION_END
} scan_condition;

/* The nesting depth of brackets after t, computed from the depth before it. Brackets that are opened on one
 * side of an #if are not open on its other side. Begin with {0}. */
enum { SCAN_CONDITIONS = 64 };
typedef struct scan_conditions {
    int n, depth[SCAN_CONDITIONS];
} scan_conditions;
int scan_depth(scan_conditions *c, const scan_token *t, int depth);

bool scan_is(const scan_token *t, const char *word);

/* The token after the '>' that matches the '<' at i; i + 1 if there is none. */
int scan_behind_angles(const scan *s, int i);

/* One item of a list in brackets, between commas. */
typedef struct scan_piece {
    int from, to;  /* tokens, without the comma */
    int name;      /* its last word before '=' or '[', or -1 */
    int value;     /* the '=', or to */
    bool variadic; /* it has "..." */
} scan_piece;

/* Reads the item that begins at token i of a list that ends before `end`. Returns the start of the next
 * item. */
int scan_next_piece(const scan *s, int i, int end, scan_piece *p);

#endif
