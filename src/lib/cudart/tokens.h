/* The tokens of a CUDA source as it is written, for the host side of programs: macros are not expanded, and both sides
 * of an #if are there. The lexer is the compiler's. */
#ifndef CUDART_TOKENS_H
#define CUDART_TOKENS_H

#include "compiler/pp/preprocess.h"

typedef struct cuda_token {
    uint8_t kind;      /* a kernel_token_kind; "<a.h>" after #include is a TOKEN_STRING */
    uint8_t keyword;   /* of a name: a kernel_keyword */
    int pair;          /* of ( ) [ ] { }: the number of the matching bracket, or -1 */
    kernel_name *name; /* of a name; NULL for other tokens */
    const char *at, *end;
} cuda_token;

/* Some TOKEN_ENDs precede and follow a list, so code may look some tokens back or ahead. They are not counted. */
typedef struct cuda_list {
    cuda_token *at;
    int n;
    uint32_t room;
} cuda_list;

typedef struct cuda_tokens {
    cuda_list code;        /* without the directives */
    cuda_list *directives; /* each without its '#' */
    int n_directives;
    uint32_t room;
} cuda_tokens;

/* Splits text into tokens. They are in the unit's arena and point to the text, which has a zero byte after it. Brackets
 * that are opened on one side of an #if are not open on its other side. False with the thread's error set. */
bool cuda_tokens_read(kernel_unit *u, const char *text, size_t bytes, cuda_tokens *out);

/* The macros of a system header that the compiler has; "" if it has none of them. */
const char *cuda_header_macros(const char *name);

#endif
