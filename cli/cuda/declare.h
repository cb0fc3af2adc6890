/* Names and declarations of a CUDA source, read from tokens. All facts about a name are kept with the name itself,
 * for all files of a program. */
#ifndef CLI_CUDA_DECLARE_H
#define CLI_CUDA_DECLARE_H

#include "lib/cudart/tokens.h"
#include "str.h"

enum {
    /* Qualifiers of a declaration. A macro that consists of qualifiers has their flags, too. */
    IS_GLOBAL = 1,
    IS_DEVICE = 2,
    IS_HOST = 4,
    IS_CONSTANT = 8,
    IS_MANAGED = 16,
    QUALIFIERS = 31,
    WITHIN =
        8, /* a shift: qualifiers inside a macro, which may contain functions, or inside a value */
    /* Flags of a name. */
    NAMES_MACRO = 1 << 13,     /* a macro with parameters */
    NAMES_SPACE = 1 << 14,     /* a namespace that the device has */
    NAMES_DEVICE = 1 << 15,    /* a type or a function that the device has */
    NAMES_HOST_TYPE = 1 << 16, /* a type of the program that only the host has */
    NAMES_HOST_VALUE = 1 << 17,
    NAMES_LIBRARY = 1 << 18,     /* a type of the host's library */
    NAMES_DEVICE_STD = 1 << 19,  /* std:: has it on the device */
    NAMES_DEVICE_ONLY = 1 << 21, /* a function that the host's text lacks */
    NAMES_CONVERSION = 1 << 20,  /* a word with parentheses that is not a function */
    /* Flags of a declaration. */
    IS_CLASS = 1 << 21,
    IS_ENUM = 1 << 22,
    IS_CONST = 1 << 23,
    IS_CONSTEXPR = 1 << 24,
    IS_SHARED = 1 << 25,
    IS_VIRTUAL = 1 << 26,
    IS_FRIEND = 1 << 27,
    IS_MACRO = 1 << 28 /* a call of a macro that stands alone */
};

/* A declaration: token numbers, or -1. */
typedef struct declaration {
    unsigned flags;
    int begin, end; /* its first and last token */
    int template;   /* the '<' of its template parameters */
    int first;      /* the first token after them */
    int name;       /* the last word of the declared name */
    int special;    /* the '<' of a specialisation's arguments */
    int params;     /* the '(' of a function's parameters */
    int colon;      /* the ':' of initializers or of a base class */
    int body;       /* the '{' of a function, class or enum */
    int value;      /* the '=' */
} declaration;

/* The flags of a name; 0 for other tokens. */
unsigned name_flags(const cuda_token *t);
void name_mark(kernel_name *name, unsigned flags);

/* Marks the macros of the directives that contain qualifiers: #define NAME __host__ __device__. */
void declare_macros(const cuda_tokens *s);
/* Reads the declaration at token i; it ends before `end`. */
declaration declare_read(const cuda_list *s, int i, int end);
/* The '{' of the namespace or extern "C" that begins at i, or -1. */
int declare_namespace(const cuda_list *s, int i);
/* The token after `public:`, `;` and the like at i inside a class; i if a declaration begins there. */
int declare_between(const cuda_list *s, int i);

/* ---- tokens ---- */

bool token_is(const cuda_token *t, const char *word);
/* True if the token is one of the words, which blanks separate. */
bool token_in(const cuda_token *t, const char *words);
/* The text of tokens, in one line. */
void token_add(str *out, const cuda_list *s, int from, int to);
/* The number of '<' in the token, or of '>' as a negative number. */
int token_angles(const cuda_token *t);
/* The token after the '>' that matches the '<' at i; i + 1 if there is none. */
int token_behind_angles(const cuda_list *s, int i);

/* One item of a list in brackets, between commas. */
typedef struct token_piece {
    int from, to;  /* tokens, without the comma */
    int name;      /* its last word before '=' or '[', or -1 */
    int value;     /* the '=', or to */
    bool variadic; /* it has "..." */
} token_piece;

/* Reads the item that begins at token i of a list that ends before `end`. Returns the start of the next item. */
int token_next_piece(const cuda_list *s, int i, int end, token_piece *p);

#endif
