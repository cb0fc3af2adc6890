/* Reads lines as they arrive: see lines.h. */
#include "lines.h"
#include "../progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 }; /* bytes per read */

int lines_open(const command *c, lines *l, char **words, int n_words, const char *file)
{
    struct stat info;
    *l = (lines){.words = (const char *const *)words, .n_words = n_words};
    if (n_words && file) {
        say(c, "give texts or --file, not both; see 'ingot %s --help'", c->name);
        return EXIT_USAGE;
    }
    l->total = n_words;
    if (n_words)
        return -1;
    l->words = NULL;
    l->fd = file && strcmp(file, "-") != 0 ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (l->fd < 0) {
        say(c, "cannot read '%s': %s", file, strerror(errno));
        return EXIT_INPUT;
    }
    if (fstat(l->fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        say(c, "cannot read '%s': it is a folder", file);
        return EXIT_INPUT;
    }
    l->whole = fstat(l->fd, &info) == 0 && S_ISREG(info.st_mode);
    l->total = l->whole ? (double)info.st_size : 0;
    return -1;
}

void lines_close(lines *l)
{
    if (!l->words && l->fd > STDIN_FILENO)
        close(l->fd);
    free(l->buffer);
    l->buffer = NULL;
}

double lines_share(const lines *l) { return l->total > 0 ? l->done / l->total : 0; }

/* Reads more bytes. Returns false at the end, on an error, or after Ctrl-C. */
static bool fill(lines *l)
{
    if (l->ended)
        return false;
    if (l->at > 0) {
        memmove(l->buffer, l->buffer + l->at, l->used - l->at);
        l->used -= l->at;
        l->at = 0;
    }
    if (l->room - l->used < BLOCK) {
        if (l->room > ig_memory_limit()) {
            l->ended = true;
            l->used = 0;
            errno = EFBIG;
            return false;
        }
        l->room = 2 * l->room + BLOCK;
        l->buffer = heap_resize(l->buffer, l->room);
    }
    for (;;) {
        struct pollfd ready = {.fd = l->fd, .events = POLLIN};
        if (interrupt_asked())
            return false;
        if (!l->whole && poll(&ready, 1, -1) < 0 && errno == EINTR)
            continue; /* a signal: poll is never restarted, but read would be */
        const ssize_t got = read(l->fd, l->buffer + l->used, l->room - l->used);
        if (got < 0 && errno == EINTR)
            continue;
        l->ended = got <= 0;
        if (got > 0)
            l->used += (size_t)got;
        if (got >= 0)
            errno = 0;
        return got > 0;
    }
}

/* Takes the complete lines. */
static int take(lines *l, ig_text *out, int most)
{
    int n = 0;
    while (n < most && l->at < l->used) {
        char *start = l->buffer + l->at, *newline = memchr(start, '\n', l->used - l->at);
        if (!newline && !l->ended)
            break;
        size_t bytes = newline ? (size_t)(newline - start) : l->used - l->at;
        const size_t step = newline ? bytes + 1 : bytes;
        bytes -= bytes > 0 && start[bytes - 1] == '\r';
        out[n++] = (ig_text){start, bytes};
        l->at += step;
        l->done += (double)step;
    }
    return n;
}

int lines_next(lines *l, ig_text *out, int most)
{
    int n = 0;
    errno = 0;
    if (l->words) {
        for (; n < most && (int)l->done < l->n_words; l->done++, n++)
            out[n] = (ig_text){l->words[(int)l->done], strlen(l->words[(int)l->done])};
        return n;
    }
    /* Texts point into the buffer, so nothing may be read between the first and last text of a batch. */
    size_t seen = l->at;
    for (;;) {
        const bool line = l->used > seen && memchr(l->buffer + seen, '\n', l->used - seen);
        const bool enough = l->whole ? l->used - l->at >= BLOCK : true;
        if ((line && enough) || l->ended)
            break;
        if (!line)
            seen = l->used - l->at; /* fill moves the unread bytes to the beginning */
        else
            seen = 0;
        if (!fill(l) && !l->ended)
            return 0; /* Ctrl-C */
    }
    return take(l, out, most);
}

ig_text line_split(ig_text *line)
{
    const char *tab = memchr(line->at, '\t', line->bytes);
    if (!tab)
        return (ig_text){"", 0};
    const ig_text second = {tab + 1, line->bytes - (size_t)(tab + 1 - line->at)};
    line->bytes = (size_t)(tab - line->at);
    return second;
}
