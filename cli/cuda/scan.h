/* Tokens of C++ as the rewriter needs them: where they are, and which belong together. */
#ifndef CLI_CUDA_SCAN_H
#define CLI_CUDA_SCAN_H

#include "str.h"

typedef enum scan_kind { SCAN_END, SCAN_NAME, SCAN_NUMBER, SCAN_STRING, SCAN_MARK } scan_kind;

typedef struct scan_token {
    scan_kind kind;
    char mark; /* of a SCAN_MARK: its character; all marks have one */
    const char *at;
    uint32_t bytes;
    int directive; /* the number of the directive that it is in, from 1; 0: none */
    int pair;      /* of ( ) [ ] { }: the partner's number, or -1 */
} scan_token;

typedef struct scan {
    scan_token *at;
    int n; /* the last is SCAN_END, not counted */
} scan;

/* Comments are left out. Release with scan_free. */
scan scan_text(const char *text, size_t bytes);
void scan_free(scan *s);

/* Of the '#' that begins a directive. */
typedef enum scan_condition {
    CONDITION_NONE,
    CONDITION_IF,
    CONDITION_ELSE,
    CONDITION_END
} scan_condition;
scan_condition scan_conditional(const scan_token *t);

/* How deep brackets are nested behind t, which is a token like all others or begins a directive: what one
 * side of an #if opened is not open on the other. {0} at first. */
enum { SCAN_CONDITIONS = 64 };
typedef struct scan_conditions {
    int n, depth[SCAN_CONDITIONS];
} scan_conditions;
int scan_depth(scan_conditions *c, const scan_token *t, int depth);

bool scan_is(const scan_token *t, const char *word);

/* Behind the '>' that belongs to the '<' at i; i + 1 if there is none. */
int scan_behind_angles(const scan *s, int i);

/* A list in brackets, cut at its commas. */
typedef struct scan_piece {
    int from, to;  /* tokens, without the comma */
    int name;      /* its last word before '=' or '[', or -1 */
    int value;     /* the '=', or to */
    bool variadic; /* it has "..." */
} scan_piece;

/* The piece that begins at token i; the list ends before `end`. Returns where the next one begins. */
int scan_next_piece(const scan *s, int i, int end, scan_piece *p);

#endif
