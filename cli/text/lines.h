/* The texts that a verb works on: its arguments, or the lines of a file or of standard input, in batches. */
#ifndef CLI_TEXT_LINES_H
#define CLI_TEXT_LINES_H

#include "../cli.h"

typedef struct lines {
    const char *const *words; /* arguments; NULL: a file */
    int n_words;
    int fd;
    bool whole;         /* a plain file: batches are as large as possible, and its size is known */
    double total, done; /* bytes; total 0: unknown */
    char *buffer;
    size_t at, used, room; /* of the buffer: read, filled, allocated */
    bool ended;
} lines;

/* Texts are the arguments; without any, the lines of file, or of standard input if file is NULL or "-". Returns -1, or
 * the exit code after the mistake was reported. Call lines_close afterwards. */
int lines_open(const command *c, lines *l, char **words, int n_words, const char *file);
void lines_close(lines *l);

/* Waits for at least one text and writes up to `most` of them to out, valid until the next call. Lines of a pipe or a
 * terminal are returned as soon as they arrive. Returns how many; 0 at the end, after Ctrl-C, or on an error, which is
 * errno (else 0): EFBIG if a line is longer than the memory limit. */
int lines_next(lines *l, ig_text *out, int most);

/* Cuts "first<tab>second" at its first tab, and returns the second text: empty without a tab. */
ig_text line_split(ig_text *line);

/* The share of the work that is done, for a progress bar; 0 if it is unknown. */
double lines_share(const lines *l);

#endif
