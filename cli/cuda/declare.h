/* Declarations with CUDA's qualifiers, read from tokens. */
#ifndef CLI_CUDA_DECLARE_H
#define CLI_CUDA_DECLARE_H

#include "cuda/rewrite.h"
#include "cuda/scan.h"

enum { IS_GLOBAL = 1, IS_DEVICE = 2, IS_HOST = 4, IS_CONSTANT = 8, IS_MANAGED = 16 };

/* A declaration with qualifiers: token numbers. */
typedef struct declaration {
    unsigned flags;
    int begin, end; /* its first and last token */
    int name;       /* the last word of the declared name, or -1 */
    int params;     /* the '(' of a function's parameters, or -1 */
    int body;       /* the '{' of its body, or -1 */
    int special;    /* the '<' of a specialisation's arguments, or -1 */
    int template;   /* the '<' of its template parameters, or -1 */
} declaration;

/* Adds the macros of a file that contain qualifiers to the job: #define NAME __host__ __device__. */
void declare_aliases(rewrite_job *job, const scan *s);
/* The qualifiers that a token stands for. */
unsigned declare_flags(const rewrite_job *job, const scan_token *t);
/* The qualifiers inside a macro, which may contain functions. */
unsigned declare_flags_within(const rewrite_job *job, const scan_token *t);
/* True for a word with parentheses that may precede the name of a function. */
bool declare_is_attribute(const scan_token *t);
/* Reads a declaration from its first token on; returns false if it cannot be parsed. */
bool declare_read(const rewrite_job *job, const scan *s, int begin, declaration *d);

/* Tokens. */
const char *token_end(const scan_token *t);
bool token_same(const scan_token *a, const scan_token *b);
void token_add(str *out, const scan_token *t);

#endif
