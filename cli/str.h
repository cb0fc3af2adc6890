/* Text and memory for the command: growing strings, arenas, the nearest name, sizes in words.
 *
 * If the command itself runs out of memory, it says so and exits with 1. Arrays belong to the library, which reports an
 * error instead. */
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

/* A growing text that is always terminated. {0} is empty. */
typedef struct str {
    char *s;
    size_t n, room;
} str;

void str_add(str *t, const char *s, size_t n);
void str_puts(str *t, const char *s);
void str_printf(str *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(str *t, const char *format, va_list args);
void str_fill(str *t, char c, size_t n);
void str_trim(str *t); /* drops trailing blanks */
void str_free(str *t);
/* "3 x any x 5": a negative length is any. */
void str_lengths(str *t, const int64_t *dims, int n);
/* Adds JSON; see json_add in base/json.h for the format. */
void str_json(str *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_json_raw(str *t, const char *json); /* adds a value that is JSON already */
/* Adds the fewest digits of an f32; null if it is not finite. */
void str_json_float(str *t, double value);
/* True if s ends with the suffix, in any case, and is longer. */
bool str_ends(const char *s, const char *suffix);

/* The number of bytes of the control character at s, with its code point in *code; 0 if there is none. Includes the
 * control characters of ASCII and Latin-1 and Unicode's bidirectional ones, which can make a terminal or a browser show
 * a name in another order than it is written. */
size_t control_at(const char *s, unsigned *code);
/* Adds s with control characters escaped, such as \u001b. */
void str_visible(str *t, const char *s);
/* Prints the command's own text: newlines, tabs and colors stay, bidirectional controls are escaped, such as \u202e. In
 * JSON that escape is the same character. All verbs print through this. */
void text_print(FILE *file, const char *s);
/* From now on, text for standard error is added to t instead. */
void text_keep_errors(str *t);
void text_printf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory that is released all at once. {0} is empty. */
typedef struct arena {
    struct arena_block *blocks;
} arena;

void *arena_get(arena *a, size_t bytes); /* zeroed, aligned for any type */
char *arena_string(arena *a, const char *s, size_t n);
void arena_free(arena *a);

/* Finds the best candidate for a misspelt word. */
typedef struct nearest {
    const char *word;
    const char *best; /* NULL if no candidate is near enough */
    int distance;
} nearest;

nearest nearest_to(const char *word);
void nearest_offer(nearest *search, const char *candidate);

/* Adds "; did you mean 'best'?" if there is a candidate. */
void str_did_you_mean(str *t, const nearest *search);

/* Adds a signature without the parameters' kinds: "x, axis=None" for "x: array, axis: int = None". */
void str_signature(str *t, const char *signature);

/* "1.5 GiB", "32 KiB", "17 bytes". */
void str_size(str *t, uint64_t bytes);

/* Reads a whole file, or standard input for "-". NULL on failure, with errno set; EFBIG if it has more than most_bytes.
 * Release it with free. */
char *str_read_file(const char *path, size_t most_bytes, size_t *n);

#endif
