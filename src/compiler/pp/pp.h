/* Shared declarations of the preprocessor. lex.c turns text into tokens; macro.c expands them;
 * directive.c, condition.c and include.c handle directives; literal.c decodes literals; preprocess.c
 * combines them.
 *
 * Tokens come from a stack of frames (bodies of macros, arguments, pragmas) and, if that is empty, from a
 * stack of files. A macro is busy while its frame is on the stack. If its name is read then, that token is
 * marked and never expanded, as the standard requires. */
#ifndef KERNEL_PP_H
#define KERNEL_PP_H

#include "compiler/pp/preprocess.h"

enum {
    PP_INCLUDE_DEPTH = 64,
    PP_INCLUDE_COUNT = 10000,
    PP_NESTING = 200,          /* of macros within arguments, of parentheses in #if */
    PP_EXPANDED_MOST = 4 << 20 /* tokens that all macros together may produce */
};

/* ---- lex.c ---- */

typedef struct pp_lexer {
    kernel_unit *unit;
    const char *begin, *at, *end; /* *end is a zero byte */
    kernel_place first;           /* of begin[0], or 0 for text that is in no file */
    bool begins;                  /* the next token is the first of its line */
    bool directive;               /* a directive: the end of the line is TOKEN_END, and the lexer
                                   * stops there */
} pp_lexer;

/* The next token, undecoded: numbers are all TOKEN_INTEGER of type LITERAL_NONE; a quote without its
 * partner is TOKEN_OTHER. */
void pp_lex(pp_lexer *l, kernel_token *t);
/* True if the next token is "(", on this or a later line. */
bool pp_lex_sees_paren(const pp_lexer *l);
/* Skips lines up to one that begins with '#', skips the '#' too, and returns true. False at the end. */
bool pp_lex_skip_lines(pp_lexer *l);
/* Skips to the end of a directive's line. Returns the rest of the line without comments at its ends. */
const char *pp_lex_rest(pp_lexer *l, size_t *bytes);
/* Reads a header name if one is next: <a/b.h> or "a/b.h". */
bool pp_lex_header(pp_lexer *l, const char **name, size_t *bytes, bool *quoted);

/* ---- macros ---- */

typedef enum pp_builtin { BUILTIN_NONE, BUILTIN_LINE, BUILTIN_FILE, BUILTIN_COUNTER } pp_builtin;

/* In a body, token.private tells what to insert: 0: the token itself; PP_PARAM + i: argument i, as a string
 * if the kind is TOKEN_HASH; PP_VA_OPT and PP_VA_OPT_END enclose the content of __VA_OPT__. */
enum { PP_VA_OPT = 1, PP_VA_OPT_END = 2, PP_PARAM = 3 };

typedef struct kernel_macro {
    kernel_name *name;
    kernel_place place; /* of its definition */
    kernel_token *body;
    uint32_t n_body, n_params;
    kernel_name *
        *params; /* the last is __VA_ARGS__ or the user's name for it where it is variadic */
    uint8_t builtin;
    bool function, variadic;
    bool plain; /* the expansion is the body, unchanged */
    bool busy;  /* it is being expanded */
    bool given; /* built in: a source may redefine it */
} kernel_macro;

typedef struct pp_frame {
    const kernel_token *at, *end;
    kernel_macro *macro;      /* busy while the frame is on the stack, or NULL */
    const kernel_token *body; /* its first token has place `first`; NULL: tokens keep theirs */
    kernel_place first;
    uint8_t lead; /* flags of the first token */
    bool fresh;   /* no token has been taken */
    bool barrier; /* its end is reported as the end of the input */
} pp_frame;

typedef struct pp_conditional {
    kernel_place place;
    bool taken; /* a group of it was taken, or it is inside a skipped group */
    bool seen_else;
} pp_conditional;

/* Tracks whether the whole file is inside #ifndef ... #endif. */
typedef enum pp_guard { GUARD_START, GUARD_INSIDE, GUARD_DONE, GUARD_NONE } pp_guard;

typedef struct pp_file {
    pp_lexer lexer;
    kernel_file *file, *original; /* original: the first copy, which has once and guard */
    uint32_t conditionals;        /* open conditionals of the including files */
    pp_guard guard;
    kernel_name *guard_name;
    bool given; /* it is a built-in header */
} pp_file;

/* A file by its path, or by its name among the built-in headers. */
typedef struct pp_loaded {
    const char *path;
    kernel_file *file;
    uint64_t device, inode; /* of a file on disk, else 0 */
} pp_loaded;

typedef struct kernel_pp {
    kernel_unit *unit;
    kernel_arena *arena;
    kernel_diags *diags;
    const kernel_options *options;
    pp_file files[PP_INCLUDE_DEPTH];
    pp_frame *frames;
    pp_conditional *conditionals;
    kernel_token *scratch; /* a stack of tokens that are being collected */
    pp_loaded *loaded;
    uint32_t n_files, n_frames, frames_room, n_conditionals, conditionals_room, n_scratch,
        scratch_room, n_loaded, loaded_room;
    uint32_t n_includes, counter, nesting;
    uint32_t collecting; /* calls of macros whose arguments are being read */
    uint64_t n_expanded; /* tokens */
    bool exhausted;      /* the limit was reached: expansion has stopped */
    kernel_name *defined, *has_include, *va_args, *va_opt, *pragma, *once, *unroll, *nounroll;
} kernel_pp;

/* ---- macro.c ---- */

/* The next token after expansion. */
void pp_next(kernel_pp *pp, kernel_token *t);
/* Expands a list of n tokens into the arena; TOKEN_END ends the result. */
kernel_token *pp_expand_list(kernel_pp *pp, const kernel_token *list, uint32_t n, uint32_t *count);
/* Puts tokens before the rest of the input; they are borrowed. */
void pp_push(kernel_pp *pp, const kernel_token *list, uint32_t n);

void pp_scratch_add(kernel_pp *pp, const kernel_token *t);
/* Moves the scratch tokens from `from` on into the arena and ends them with TOKEN_END. */
kernel_token *pp_scratch_take(kernel_pp *pp, uint32_t from, uint32_t *count);
/* Reads the rest of a directive's line without expanding macros. */
kernel_token *pp_line(kernel_pp *pp, uint32_t *count);

/* ---- directive.c, define.c, condition.c, include.c ---- */

void pp_directives_begin(kernel_pp *pp);
/* Executes the directive that begins with hash, in the topmost file, and skips to the end of its line. */
void pp_directive(kernel_pp *pp, const kernel_token *hash);
/* Leaves the topmost file; reports conditionals without #endif. */
void pp_file_end(kernel_pp *pp);
void pp_define(kernel_pp *pp);
void pp_undefine(kernel_pp *pp);
void pp_builtin_macro(kernel_pp *pp, const char *name, pp_builtin builtin);
/* The value of the expression on the rest of the line; false after an error, which is reported. */
bool pp_condition(kernel_pp *pp, kernel_place hash, bool *value);
void pp_include(kernel_pp *pp, kernel_place hash);
bool pp_has_include(kernel_pp *pp, const char *name, size_t bytes, bool quoted);
void pp_file_enter(kernel_pp *pp, kernel_file *file, kernel_file *original, bool given);
/* Handles a pragma of n expanded tokens: if the parser must see it, it is pushed before the rest of the
 * input. */
void pp_pragma(kernel_pp *pp, const kernel_token *line, uint32_t n, kernel_place place);
/* The text of a built-in header, or NULL. */
const char *pp_header_text(const char *name);
/* The library of a header that Ingot does not provide, and the remedy; NULL for other headers. */
const char *pp_header_foreign(const char *name, const char **remedy);
/* The definitions that precede the source. */
extern const char pp_prelude[];

/* ---- literal.c ---- */

/* Decodes a number, character or string; errors are reported, and the token has some value. */
void pp_decode(kernel_unit *u, kernel_token *t);
/* Joins n adjacent strings into *t. */
void pp_decode_strings(kernel_unit *u, kernel_token *t, const kernel_token *list, uint32_t n);

/* The interned name of a text. */
kernel_name *pp_name(kernel_pp *pp, const char *text);

#endif
