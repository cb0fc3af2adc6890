/* Text and memory for the command: growing strings, arenas, the nearest name, sizes in words.
 *
 * The command's own memory never fails quietly: when the system refuses, it says so and exits with
 * 1. Arrays are the library's, which reports and goes on. */
#ifndef CLI_STR_H
#define CLI_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void *heap_get(size_t bytes); /* zeroed; release with free */
void *heap_resize(void *old, size_t bytes);
char *heap_string(const char *s);

/* A growing, always terminated text. {0} is the empty one. */
typedef struct str {
    char *s;
    size_t n, room;
} str;

void str_add(str *t, const char *s, size_t n);
void str_puts(str *t, const char *s);
void str_printf(str *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(str *t, const char *format, va_list args);
void str_fill(str *t, char c, size_t n);
void str_trim(str *t); /* drops blanks at the end */
void str_free(str *t);
void json_string(str *t, const char *s); /* in quotes, as JSON writes it */

/* Bytes of the control character at s, with its code point in *code; 0 if there is none. Besides the
 * control characters of ASCII and Latin-1 these are the bidirectional ones of Unicode, which can make a
 * terminal or a browser show a name in another order than it is written. */
size_t control_at(const char *s, unsigned *code);
/* Adds s with every control character written as \u001b. */
void str_visible(str *t, const char *s);
/* Prints text of ours: newlines, tabs and colors stay, bidirectional controls are written as \u202e. In
 * JSON that is the escape for the same character. All verbs print through this. */
void text_print(FILE *file, const char *s);
void text_printf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory that is released all at once. {0} is the empty one. */
typedef struct arena {
    struct arena_block *blocks;
} arena;

void *arena_get(arena *a, size_t bytes); /* zeroed, aligned for everything */
char *arena_string(arena *a, const char *s, size_t n);
void arena_free(arena *a);

/* Remembers the best of the candidates that it is shown for a misspelt word. */
typedef struct nearest {
    const char *word;
    const char *best; /* NULL while nothing is near enough to be meant */
    int distance;
} nearest;

nearest nearest_to(const char *word);
void nearest_offer(nearest *search, const char *candidate);

/* Adds "; did you mean 'best'?" if there is one. */
void str_did_you_mean(str *t, const nearest *search);

/* Adds a signature without the kinds of its parameters: "x, axis=None" for "x: array, axis: int =
 * None". */
void str_signature(str *t, const char *signature);

/* "1.5 GiB", "32 KiB", "17 bytes". */
void str_size(str *t, uint64_t bytes);

/* The whole of a file, or of standard input for "-"; NULL with errno set. More than most_bytes is
 * EFBIG. Release with free. */
char *str_read_file(const char *path, size_t most_bytes, size_t *n);

#endif
