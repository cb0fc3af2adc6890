/* A bar with the remaining time, on standard error if it is a terminal. */
#include "progress.h"

#include "cli.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_WIDTH = 24 };
static const double redraw_s = 0.1;

static bool has_bar;

static bool on_terminal(void)
{
    const char *term = getenv("TERM");
    return term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

static void show_compiling(const char *device, int n)
{
    if (has_bar)
        return;
    if (device)
        fprintf(stderr, "\rcompiling kernels for %s: %d\033[K", device, n);
    else
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

void progress_watch(void)
{
    if (on_terminal())
        log_set_work(show_compiling);
}

void progress_begin(progress *p, bool quiet)
{
    *p = (progress){.shown = !quiet && on_terminal(), .begin_s = clock_s()};
}

/* "1:05 left", "12 s left" */
static void str_left(str *t, double seconds)
{
    long whole = (long)(seconds + 0.5);
    if (whole >= 3600)
        str_printf(t, "%ld:%02ld:%02ld left", whole / 3600, whole / 60 % 60, whole % 60);
    else if (whole >= 60)
        str_printf(t, "%ld:%02ld left", whole / 60, whole % 60);
    else
        str_printf(t, "%ld s left", whole);
}

/* The number of characters of the note that fit after the bar on the line. */
static int room_for_note(const char *label)
{
    enum { BESIDE = BAR_WIDTH + 28 }; /* the bar, its percentage, the remaining time */
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    int room = columns - BESIDE - (int)strlen(label);
    return room > 0 ? room : 0;
}

void progress_show(progress *p, const char *label, double fraction, const char *note)
{
    double now = clock_s();
    if (!p->shown || now - p->drawn_s < redraw_s)
        return;
    p->drawn_s = now;
    has_bar = true;
    fraction = fraction < 0.001 ? 0.001 : fraction > 1 ? 1 : fraction;
    int full = (int)(fraction * BAR_WIDTH);
    bool color = color_for(stderr);
    str t = {0};
    str_printf(&t, "\r%s %s", label, color ? "\033[32m" : "[");
    str_fill(&t, '#', (size_t)full);
    str_puts(&t, color ? "\033[2m" : "");
    str_fill(&t, '.', (size_t)(BAR_WIDTH - full));
    str_printf(&t, "%s %3.0f %%  %.*s%s", color ? "\033[0m" : "]", 100 * fraction,
               room_for_note(label), note, *note ? "  " : "");
    const double done = fraction > p->begin_share ? fraction - p->begin_share : 0;
    if (done > 0)
        str_left(&t, (now - p->begin_s) / done * (1 - fraction));
    str_puts(&t, "\033[K");
    text_print(stderr, t.s);
    fflush(stderr);
    str_free(&t);
}

void progress_clear(void)
{
    if (has_bar)
        fputs("\r\033[K", stderr);
    has_bar = false;
}
