/* A line from the user: with editing and history where libedit or readline is built in. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#if defined(HAVE_LIBEDIT)
#include <editline/readline.h>
#define HAVE_EDITOR 1
#elif defined(HAVE_READLINE)
#include <readline/readline.h>
#include <readline/history.h>
#define HAVE_EDITOR 1
#endif

#ifdef HAVE_EDITOR

enum { HISTORY_LINES = 1000 };

/* $XDG_STATE_HOME/ingot/history, else ~/.local/state/ingot/history; false: there is no home. */
static bool history_path(str *t)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state)
        str_puts(t, state);
    else if (home && *home)
        str_printf(t, "%s/.local/state", home);
    else
        return false;
    str_puts(t, "/ingot/history");
    return true;
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* one that is there already is fine; others fail when we write */
        *slash = '/';
    }
}

void prompt_begin(void)
{
    str path = {0};
    using_history();
    stifle_history(HISTORY_LINES);
    if (history_path(&path))
        read_history(path.s);
    str_free(&path);
}

void prompt_end(void)
{
    str path = {0};
    if (history_path(&path)) {
        make_folders(path.s);
        write_history(path.s);
    }
    str_free(&path);
}

char *prompt_read(const char *prompt)
{
    char *line = readline(prompt);
    if (line && *line)
        add_history(line);
    return line;
}

#else

void prompt_begin(void) {}

void prompt_end(void) {}

char *prompt_read(const char *prompt)
{
    char *line = NULL;
    size_t room = 0;
    fputs(prompt, stdout);
    fflush(stdout);
    ssize_t n = getline(&line, &room, stdin);
    if (n < 0) {
        free(line);
        return NULL;
    }
    if (n > 0 && line[n - 1] == '\n')
        line[n - 1] = 0;
    return line;
}

#endif
