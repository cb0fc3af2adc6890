/* Text and memory for the command: growing strings, arenas, the nearest name, sizes in words.
 *
 * The command's own memory never fails quietly: when the system refuses, it says so and exits with
 * 1. Arrays are the library's, which reports and goes on. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void *memory_get(size_t bytes); /* zeroed; release with free */
void *memory_resize(void *old, size_t bytes);
char *memory_string(const char *s);

/* A growing, always terminated text. {0} is the empty one. */
typedef struct text {
    char *s;
    size_t n, room;
} text;

void text_add(text *t, const char *s, size_t n);
void text_puts(text *t, const char *s);
void text_printf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(text *t, const char *format, va_list args);
void text_fill(text *t, char c, size_t n);
void text_trim(text *t);    /* drops blanks at the end */
void text_replace(text *t, size_t at, char c);
void text_free(text *t);

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
void text_did_you_mean(text *t, const nearest *search);

/* "1.5 GiB", "32 KiB", "17 bytes". */
void text_size(text *t, uint64_t bytes);

/* The whole of a file, or of standard input for "-"; NULL with errno set. More than most_bytes is
 * EFBIG. Release with free. */
char *text_read_file(const char *path, size_t most_bytes, size_t *n);

#endif
