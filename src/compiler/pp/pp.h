/* What the files of the preprocessor share: lex.c makes tokens of text, macro.c expands them,
 * directive.c, condition.c and include.c handle directives, literal.c decodes literals, and preprocess.c
 * combines them.
 *
 * Tokens come from a stack of frames (bodies of macros, arguments, pragmas) and, where that is empty,
 * from a stack of files. A macro is busy while its frame is on the stack. If its name is read then, that token is
 * marked and never expanded, as the standard requires. */
#ifndef KERNEL_PP_H
#define KERNEL_PP_H

#include "compiler/pp/preprocess.h"

enum {
    PP_INCLUDE_DEPTH = 64,
    PP_INCLUDE_COUNT = 10000,
    PP_NESTING = 200,          /* of macros within arguments, of parentheses in #if */
    PP_EXPANDED_MOST = 4 << 20 /* tokens that all macros together may make */
};

/* ---- lex.c ---- */

typedef struct pp_lexer {
    kernel_unit *unit;
    const char *begin, *at, *end; /* *end is a zero byte */
    kernel_place first;           /* of begin[0], or 0 for text that is in no file */
    bool begins;                  /* the next token is the first of its line */
    bool directive;               /* a line's end is TOKEN_END, and is not passed */
} pp_lexer;

/* The next token, undecoded: numbers are all TOKEN_INTEGER of type LITERAL_NONE; a quote without its
 * partner is TOKEN_OTHER. */
void pp_lex(pp_lexer *l, kernel_token *t);
/* True if the next token is "(", on whatever line. */
bool pp_lex_sees_paren(const pp_lexer *l);
/* Passes lines until one begins with '#', which is passed too: true; or until the end: false. */
bool pp_lex_skip_lines(pp_lexer *l);
/* Goes to the end of the line that a directive is on, and gives the rest of it, without comments at its
 * ends. */
const char *pp_lex_rest(pp_lexer *l, size_t *bytes);
/* The text of a header's name if one is next: <a/b.h> or "a/b.h". */
bool pp_lex_header(pp_lexer *l, const char **name, size_t *bytes, bool *quoted);

/* ---- macros ---- */

typedef enum pp_builtin { BUILTIN_NONE, BUILTIN_LINE, BUILTIN_FILE, BUILTIN_COUNTER } pp_builtin;

/* In a body, token.private tells what to insert: 0 the token itself, PP_PARAM + i the argument
 * i (as a string where the kind is TOKEN_HASH), and what __VA_OPT__ encloses. */
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
    bool plain; /* the body as it stands is the expansion */
    bool busy;  /* it is being expanded */
    bool given; /* built in: a source may redefine it */
} kernel_macro;

typedef struct pp_frame {
    const kernel_token *at, *end;
    kernel_macro *macro;      /* busy while the frame is there, or NULL */
    const kernel_token *body; /* of `first`, or NULL: tokens have their places */
    kernel_place first;
    uint8_t lead; /* flags of the first token */
    bool fresh;   /* no token has been taken */
    bool barrier; /* its end is an end */
} pp_frame;

typedef struct pp_conditional {
    kernel_place place;
    bool taken; /* one of its groups was, or it stands in one that is skipped */
    bool seen_else;
} pp_conditional;

/* Is all of a file inside #ifndef ... #endif? */
typedef enum pp_guard { GUARD_START, GUARD_INSIDE, GUARD_DONE, GUARD_NONE } pp_guard;

typedef struct pp_file {
    pp_lexer lexer;
    kernel_file *file, *original; /* where once and guard are kept */
    uint32_t conditionals;        /* those of the files around it */
    pp_guard guard;
    kernel_name *guard_name;
    bool given; /* it is one of ours */
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
    bool exhausted;      /* too many: nothing expands any more */
    kernel_name *defined, *has_include, *va_args, *va_opt, *pragma, *once, *unroll, *nounroll;
} kernel_pp;

/* ---- macro.c ---- */

/* The next token after expansion. */
void pp_next(kernel_pp *pp, kernel_token *t);
/* What a list of n tokens expands to, in the arena, ended by TOKEN_END. */
kernel_token *pp_expand_list(kernel_pp *pp, const kernel_token *list, uint32_t n, uint32_t *count);
/* Puts tokens before the rest of the input; they are borrowed. */
void pp_push(kernel_pp *pp, const kernel_token *list, uint32_t n);

void pp_scratch_add(kernel_pp *pp, const kernel_token *t);
/* The scratch tokens from `from` on, moved into the arena and ended by TOKEN_END. */
kernel_token *pp_scratch_take(kernel_pp *pp, uint32_t from, uint32_t *count);
/* Reads the rest of a directive's line, undone macros and all. */
kernel_token *pp_line(kernel_pp *pp, uint32_t *count);

/* ---- directive.c, define.c, condition.c, include.c ---- */

void pp_directives_begin(kernel_pp *pp);
/* Obeys the directive that begins with hash, in the topmost file, and goes to the end of its line. */
void pp_directive(kernel_pp *pp, const kernel_token *hash);
/* Ends the topmost file: reports conditionals without #endif and leaves it. */
void pp_file_end(kernel_pp *pp);
void pp_define(kernel_pp *pp);
void pp_undefine(kernel_pp *pp);
void pp_builtin_macro(kernel_pp *pp, const char *name, pp_builtin builtin);
/* The value of the expression on the rest of the line; false after an error, which is reported. */
bool pp_condition(kernel_pp *pp, kernel_place hash, bool *value);
void pp_include(kernel_pp *pp, kernel_place hash);
bool pp_has_include(kernel_pp *pp, const char *name, size_t bytes, bool quoted);
void pp_file_enter(kernel_pp *pp, kernel_file *file, kernel_file *original, bool given);
/* A pragma's tokens, which are n and expanded, put before the rest of the input if the parser is to see
 * them. */
void pp_pragma(kernel_pp *pp, const kernel_token *line, uint32_t n, kernel_place place);
/* The text of a built-in header, or NULL. */
const char *pp_header_text(const char *name);
/* The library that a header belongs to and that Ingot does not have, and what to do; or NULL. */
const char *pp_header_foreign(const char *name, const char **remedy);
/* What is defined before anything is read. */
extern const char pp_prelude[];

/* ---- literal.c ---- */

/* Decodes a number, character or string; errors are reported, and the token has some value. */
void pp_decode(kernel_unit *u, kernel_token *t);
/* Joins n strings that stand side by side into *t. */
void pp_decode_strings(kernel_unit *u, kernel_token *t, const kernel_token *list, uint32_t n);

/* A name that the preprocessor knows. */
kernel_name *pp_name(kernel_pp *pp, const char *text);

#endif
