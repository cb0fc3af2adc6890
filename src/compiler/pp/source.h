/* Source text and places in it.
 *
 * A place is 32 bits. All loaded files share one range of places, from 1 on. A token from a macro's body has a
 * place above PLACE_EXPANDED, which leads to both the #define and the use of the macro. So a tree node needs
 * only one number, and a message can show both. 0 is not a place.
 *
 * Files live as long as the arena and never move. */
#ifndef KERNEL_SOURCE_H
#define KERNEL_SOURCE_H

#include "compiler/arena.h"

typedef uint32_t kernel_place;

enum { SOURCE_MAX_BYTES = 64 << 20 /* of one file */ };
#define PLACE_EXPANDED UINT32_C(0x80000000)

struct kernel_token;
struct kernel_name;

/* #line: changes the line numbers from here on. */
typedef struct kernel_line_mark {
    uint32_t offset;  /* of the line after the directive */
    int64_t shift;    /* to be added to the physical line */
    const char *name; /* of the file from then on */
} kernel_line_mark;

typedef struct kernel_file {
    const char *name;   /* as messages show it */
    const char *folder; /* searched first for its includes: "" or "a/b/"; NULL: no folder */
    const char *text;   /* without a byte order mark, with a zero byte after it */
    uint32_t bytes;
    uint32_t n_lines;
    const uint32_t *lines; /* offset of each line's first byte */
    kernel_place first;    /* of text[0]; the end of the file has a place, too */
    kernel_place included; /* of the #include that loaded it, or 0 */
    kernel_line_mark *marks;
    uint32_t n_marks, marks_room;
    bool once;                       /* it has #pragma once */
    const struct kernel_name *guard; /* #ifndef guard ... #endif is the whole file; or NULL */
} kernel_file;

/* One use of a macro: token i of its body has the place first + i. */
typedef struct kernel_expansion {
    kernel_place first;
    kernel_place
        used; /* the place of the macro's name at its use, which may be in another expansion */
    const struct kernel_token *body;
    const struct kernel_name *macro;
} kernel_expansion;

typedef struct kernel_source {
    kernel_arena *arena;
    kernel_file **files; /* in the order of their places */
    kernel_expansion *expansions;
    uint32_t n_files, files_room, n_expansions, expansions_room;
    kernel_place next, next_expanded;
} kernel_source;

void kernel_source_begin(kernel_source *s, kernel_arena *arena);

/* Adds text, which is copied. name and folder are copied too. */
kernel_file *kernel_source_add(kernel_source *s, const char *name, const char *folder,
                               const char *text, size_t bytes, kernel_place included);

/* Adds the file at path; NULL and *problem ("no such file") if it cannot be read. */
kernel_file *kernel_source_read(kernel_source *s, const char *path, kernel_place included,
                                const char **problem);

/* Adds a file once more, with its own places, for another #include of it. */
kernel_file *kernel_source_again(kernel_source *s, const kernel_file *file, kernel_place included);

/* A place as people read it. */
typedef struct kernel_where {
    const kernel_file *file;
    const char *name; /* the file's name, or the name given by #line */
    int64_t line;     /* from 1, or as #line sets it */
    uint32_t column;  /* from 1, in bytes */
    uint32_t physical_line;
} kernel_where;

/* The position of a place in a file: for a token of a macro, where the outermost macro was used. False for
 * place 0. */
bool kernel_source_where(const kernel_source *s, kernel_place place, kernel_where *where);

/* The same as a place. */
kernel_place kernel_source_used(const kernel_source *s, kernel_place place);

/* The file that a place below PLACE_EXPANDED is in; NULL if none. */
const kernel_file *kernel_source_file(const kernel_source *s, kernel_place place);

/* The expansion that a place above PLACE_EXPANDED belongs to. */
const kernel_expansion *kernel_source_expansion(const kernel_source *s, kernel_place place);

/* Where the characters of a token are: in the body of a macro's definition, or the place itself. */
kernel_place kernel_source_spelled(const kernel_source *s, kernel_place place);

/* Begins an expansion of a body of n tokens; returns the place of the first. */
kernel_place kernel_source_expand(kernel_source *s, const struct kernel_name *macro,
                                  const struct kernel_token *body, uint32_t n, kernel_place used);

#endif
