/* Lines from the user: with editing, history and completion if libedit or readline is built in.
 *
 * Ctrl-C never ends the prompt. Its handler writes a byte into a pipe, and the code that waits for the next character
 * also waits for the pipe. So no signal is missed, and no library function is left by a longjmp. */
#include "prompt.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int wake[2] = {-1, -1}; /* the pipe: read, write */

void prompt_interrupt(void)
{
    const int before = errno;
    const char byte = 0;
    if (wake[1] >= 0 && write(wake[1], &byte, 1) < 0)
        errno = before; /* the pipe is full of interrupts */
    errno = before;
}

static void wake_open(void)
{
    if (pipe(wake) != 0)
        wake[0] = wake[1] = -1;
    for (int i = 0; i < 2; i++)
        if (wake[i] >= 0) {
            fcntl(wake[i], F_SETFL, O_NONBLOCK);
            fcntl(wake[i], F_SETFD, FD_CLOEXEC);
        }
}

static void wake_close(void)
{
    for (int i = 0; i < 2; i++) {
        if (wake[i] >= 0)
            close(wake[i]);
        wake[i] = -1;
    }
}

/* Discards earlier interrupts. */
static void wake_clear(void)
{
    char bytes[64];
    while (wake[0] >= 0 && read(wake[0], bytes, sizeof bytes) > 0)
        ;
}

/* Waits for input; false if an interrupt came first. */
static bool wait_for_input(void)
{
    struct pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {wake[0], POLLIN, 0}};
    while (poll(ready, 2, -1) < 0)
        if (errno != EINTR && errno != EAGAIN)
            return true; /* the read then reports the error */
    return !(ready[1].revents & POLLIN);
}

#if defined(HAVE_LIBEDIT)
#include <editline/readline.h>
#define HAVE_EDITOR 1
#elif defined(HAVE_READLINE)
#include <readline/history.h>
#include <readline/readline.h>
#define HAVE_EDITOR 1
#endif

#ifdef HAVE_EDITOR

/* ---- history: a text file, to which each line is appended when it is entered ------------------ */

enum { HISTORY_LINES = 1000, HISTORY_MOST_BYTES = 4 << 20 };

static str history_file; /* its path; empty: none */

/* $XDG_STATE_HOME/ingot/history, or ~/.local/state/ingot/history. */
static void find_history_file(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state)
        str_puts(&history_file, state);
    else if (home && *home)
        str_printf(&history_file, "%s/.local/state", home);
    else
        return;
    str_puts(&history_file, "/ingot/history");
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* may exist; if it cannot be made, writing fails too */
        *slash = '/';
    }
}

static void append_line(const char *line)
{
    if (!history_file.n)
        return;
    make_folders(history_file.s);
    int file = open(history_file.s, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    str t = {0};
    str_printf(&t, "%s\n", line);
    if (file >= 0 && write(file, t.s, t.n) < 0)
        str_free(&history_file); /* do not try again for each line */
    if (file >= 0)
        close(file);
    str_free(&t);
}

/* Truncates a long history file to its last lines. */
static void shorten_file(const char *text, size_t n)
{
    int lines = 0;
    const char *from = text + n;
    while (from > text && lines <= HISTORY_LINES)
        lines += *--from == '\n';
    if (from == text)
        return;
    str last = {0}, why = {0};
    str_puts(&last, from + 1);
    write_file(history_file.s, &last, &why);
    str_free(&last);
    str_free(&why);
}

static void read_lines(void)
{
    size_t n;
    char *text = history_file.n ? str_read_file(history_file.s, HISTORY_MOST_BYTES, &n) : NULL;
    if (!text)
        return;
    if (strncmp(text, "_HiStOrY_V2_", 12) == 0) { /* encoded lines of an earlier version */
        unlink(history_file.s);
        text[n = 0] = 0;
    }
    shorten_file(text, n);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (*line)
            add_history(line);
    }
    free(text);
}

static void remember(const char *line)
{
    static char *last;
    if (!line[strspn(line, " \t")] || (last && strcmp(last, line) == 0))
        return;
    free(last);
    last = heap_string(line);
    add_history(line);
    append_line(line);
}

/* ---- completion ------------------------------------------------------------------------------ */

static struct {
    prompt_complete *ask;
    void *ctx;
    str *words; /* the n words that were offered */
    int n, next;
} completion;

void prompt_offer(const char *word)
{
    completion.words = heap_resize(completion.words, sizeof(str) * (size_t)(completion.n + 1));
    completion.words[completion.n] = (str){0};
    str_puts(&completion.words[completion.n++], word);
}

static void forget_offers(void)
{
    for (int i = 0; i < completion.n; i++)
        str_free(&completion.words[i]);
    free(completion.words);
    completion.words = NULL;
    completion.n = completion.next = 0;
}

static char *next_word(const char *text, int first)
{
    (void)text;
    if (first == 0)
        completion.next = 0;
    return completion.next < completion.n ? heap_string(completion.words[completion.next++].s)
                                          : NULL;
}

static char **complete(const char *text, int start, int end)
{
    forget_offers();
    rl_attempted_completion_over = 1; /* no file names if none were offered */
    rl_completion_append_character = 0;
    completion.ask(completion.ctx, rl_line_buffer, start, end);
    return completion.n ? rl_completion_matches(text, next_word) : NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

bool prompt_edits(void) { return true; }

void prompt_begin(prompt_complete *ask, void *ctx)
{
    static char breaks[] = " \t\n\"'`@><=;|&{}()[],*+%^~!:?";
    setlocale(LC_CTYPE, ""); /* for the number of bytes per character */
    wake_open();
    completion.ask = ask;
    completion.ctx = ctx;
    rl_readline_name = "ingot";
    rl_attempted_completion_function = complete;
    rl_completer_word_break_characters = breaks;
    using_history();
    stifle_history(HISTORY_LINES);
    find_history_file();
    read_lines();
}

void prompt_end(void)
{
    forget_offers();
    str_free(&history_file);
    wake_close();
}

static struct {
    char *line;
    bool done;
} reading;

static void take_line(char *line)
{
    reading.line = line;
    reading.done = true;
    rl_callback_handler_remove(); /* restores the terminal while the line runs */
}

prompt_status prompt_read(const char *prompt, char **line)
{
    reading.line = NULL;
    reading.done = false;
    wake_clear();
    rl_callback_handler_install(prompt, take_line);
    while (!reading.done) {
        if (wait_for_input()) {
            rl_callback_read_char();
            continue;
        }
        rl_free_line_state();
#if defined(HAVE_READLINE)
        rl_callback_sigcleanup();
#endif
        rl_cleanup_after_signal();
        rl_callback_handler_remove();
        return PROMPT_INTERRUPTED;
    }
    *line = reading.line;
    if (*line)
        remember(*line);
    return *line ? PROMPT_LINE : PROMPT_END;
}

#else

bool prompt_edits(void) { return false; }

void prompt_offer(const char *word) { (void)word; }

void prompt_begin(prompt_complete *ask, void *ctx)
{
    (void)ask, (void)ctx;
    wake_open();
}

void prompt_end(void) { wake_close(); }

static str typed; /* input that is not yet returned */

/* Takes the first line out of `typed`; at the end of the input, all of it. */
static char *typed_line(bool all)
{
    const char *end = typed.n ? memchr(typed.s, '\n', typed.n) : NULL;
    if (!end && !(all && typed.n))
        return NULL;
    const size_t n = end ? (size_t)(end - typed.s) : typed.n;
    char *line = heap_get(n + 1);
    memcpy(line, typed.s, n);
    typed.n -= n + (end != NULL);
    memmove(typed.s, typed.s + n + (end != NULL), typed.n);
    typed.s[typed.n] = 0;
    return line;
}

prompt_status prompt_read(const char *prompt, char **line)
{
    char block[4096];
    ssize_t n = 1;
    wake_clear();
    fputs(prompt, stdout);
    fflush(stdout);
    while (!(*line = typed_line(n <= 0)) && n > 0) {
        if (!wait_for_input()) {
            str_free(&typed);
            return PROMPT_INTERRUPTED;
        }
        n = read(STDIN_FILENO, block, sizeof block);
        if (n > 0)
            str_add(&typed, block, (size_t)n);
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
    return *line ? PROMPT_LINE : PROMPT_END;
}

#endif
