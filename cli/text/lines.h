/* The texts for a verb, in batches: its arguments, or the lines of a file or of standard input. */
#ifndef CLI_TEXT_LINES_H
#define CLI_TEXT_LINES_H

#include "../cli.h"

typedef struct lines {
    const char *const *words; /* arguments; NULL: read a file */
    int n_words;
    int fd;
    bool whole; /* a regular file: batches are as large as possible, and its size is known */
    double total, done; /* bytes; total 0: unknown */
    char *buffer;
    size_t at, used, room; /* buffer offsets: consumed, filled, allocated */
    bool ended;
} lines;

/* The texts are the arguments. Without arguments, they are the lines of `file`, or of standard input if file is NULL or
 * "-". Returns -1, or the exit code after reporting an error. Call lines_close afterwards. */
int lines_open(const command *c, lines *l, char **words, int n_words, const char *file);
void lines_close(lines *l);

/* Waits for at least one text and writes up to `most` of them to out; they are valid until the next call. Lines of a
 * pipe or a terminal are returned as soon as they arrive. Returns the number of texts. 0: the end, Ctrl-C, or an error
 * in errno, which is 0 otherwise. EFBIG: a line is longer than the memory limit. */
int lines_next(lines *l, ig_text *out, int most);

/* Splits "first<tab>second" at its first tab and returns the second text, which is empty if there is no tab. */
ig_text line_split(ig_text *line);

/* The fraction of the work that is done, for a progress bar; 0 if unknown. */
double lines_share(const lines *l);

#endif
