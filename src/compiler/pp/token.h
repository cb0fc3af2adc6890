/* Tokens, and the names in them.
 *
 * Names are interned: two tokens have the same name exactly if their name pointers are equal. A
 * keyword is a name whose `keyword` is not 0; a token repeats it, so that the parser switches on one byte.
 * Literals in the preprocessor's output are decoded. */
#ifndef KERNEL_TOKEN_H
#define KERNEL_TOKEN_H

#include "compiler/pp/source.h"

typedef enum kernel_token_kind {
    TOKEN_END, /* the last of a stream */
    TOKEN_NAME,
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_CHAR,
    TOKEN_STRING,     /* neighbours are joined already */
    TOKEN_PRAGMA,     /* as.name is the pragma; its tokens and a TOKEN_PRAGMA_END follow */
    TOKEN_PRAGMA_END, /* only unroll and nounroll reach the parser */
    TOKEN_OTHER,      /* a character that is not part of C; never in the preprocessor's output */
#define PUNCTUATOR(name, spelling) TOKEN_##name,
#include "compiler/pp/token.def"
    TOKEN_KINDS
} kernel_token_kind;

typedef enum kernel_keyword {
    KEYWORD_NONE,
#define KEYWORD(word) KEYWORD_##word,
#include "compiler/pp/token.def"
    KEYWORDS
} kernel_keyword;

/* The type of a literal; long is 64 bits wide. */
typedef enum kernel_literal_type {
    LITERAL_NONE,
    LITERAL_INT,
    LITERAL_UINT,
    LITERAL_LONG,
    LITERAL_ULONG,
    LITERAL_LONGLONG,
    LITERAL_ULONGLONG,
    LITERAL_FLOAT,
    LITERAL_DOUBLE, /* long double, too */
    LITERAL_CHAR,   /* "a" u8"a" 'a' */
    LITERAL_WCHAR,
    LITERAL_CHAR16,
    LITERAL_CHAR32
} kernel_literal_type;

typedef struct kernel_name {
    const char *text; /* with a zero byte after it */
    uint32_t bytes, hash;
    uint8_t keyword;            /* a kernel_keyword */
    uint8_t alternative;        /* the kind that "and", "or", ... stand for, or 0 */
    uint8_t directive;          /* of the preprocessor */
    uint8_t foreign;            /* it has characters outside of ASCII */
    struct kernel_macro *macro; /* of the preprocessor: its current definition, or NULL */
    void *symbol;               /* of the parser */
    struct kernel_name *next;   /* of the table */
} kernel_name;

/* The value of a string, in UTF-8 for every prefix, with a zero byte that is not counted. */
typedef struct kernel_string {
    uint32_t bytes;
    char text[];
} kernel_string;

enum {
    TOKEN_SPACE = 1,    /* space or a comment is before it */
    TOKEN_BEGINS = 2,   /* it is the first of its line */
    TOKEN_PAINTED = 4,  /* a macro's name that must not be expanded again */
    TOKEN_EXPANDED = 8, /* it comes from a macro */
    TOKEN_BROKEN = 16   /* of the lexer: its text was copied, since a line splice is in it */
};

typedef struct kernel_token {
    uint8_t kind;    /* a kernel_token_kind */
    uint8_t flags;   /* TOKEN_SPACE | ... */
    uint8_t type;    /* of a literal: a kernel_literal_type */
    uint8_t keyword; /* of a name: a kernel_keyword */
    kernel_place place;
    uint32_t bytes;   /* of text */
    uint32_t private; /* of the preprocessor */
    const char *text; /* as spelled; no zero byte after it */
    union {
        kernel_name *name;
        uint64_t integer; /* of an integer or a character */
        double number;
        const kernel_string *string;
    } as;
} kernel_token;

typedef struct kernel_tokens {
    kernel_token *at; /* the last one is a TOKEN_END */
    uint32_t count;   /* including the TOKEN_END */
} kernel_tokens;

typedef struct kernel_names {
    kernel_arena *arena;
    kernel_name **slots;
    uint32_t n_slots, count;
} kernel_names;

/* Initializes the table with the keywords. */
void kernel_names_begin(kernel_names *names, kernel_arena *arena);
kernel_name *kernel_name_get(kernel_names *names, const char *text, size_t bytes);
/* Forgets all macros, before another file of the same program is preprocessed. */
void kernel_names_forget_macros(kernel_names *names);

/* ">" for a punctuator; "name", "integer", ... for other kinds. */
const char *kernel_token_kind_text(kernel_token_kind kind);

/* A token for messages: its text without control characters, truncated if long. A token without text is shown
 * as its kind. */
const char *kernel_token_text(kernel_arena *arena, const kernel_token *t);

/* The number of tokens from t on that form "<<<" or ">>>" in any spelling ("<< <", "> > >"); 0 if they do
 * not. Between ">" tokens only space is allowed. */
int kernel_token_launch(const kernel_token *t);
int kernel_token_launch_end(const kernel_token *t);

#endif
