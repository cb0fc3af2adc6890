/* ingot man: the manual page, from the same tables as the help. */
#include "cli.h"

#include <string.h>

#include <ingot.h>

/* name, what it says */
static const char *const environment[][2] = {
    {"IG_NUM_THREADS", "Threads of the CPU device, as --threads."},
    {"IG_CPU_LEVEL", "An instruction set by name, instead of the best one; see ingot devices."},
    {"IG_BLAS", "off, on, auto or a path: large products by OpenBLAS, BLIS or Accelerate."},
    {"IG_TRACE", "A file for a timeline of what any program that uses Ingot does, as --trace."},
    {"NO_COLOR", "No colors."},
};

static const struct {
    int code;
    const char *says;
} exits[] = {
    {EXIT_FINE, "All went well."},
    {EXIT_FAILED, "Something failed."},
    {EXIT_USAGE, "The command line is wrong."},
    {3, "A regression was found."},
    {EXIT_ABSENT, "A device or feature is not there."},
    {EXIT_INPUT, "A bad input file."},
    {EXIT_INTERRUPTED, "Interrupted."},
};

/* Text as roff shows it: hyphens as they are typed, no line taken for a request. */
static void roff(str *t, const char *s, size_t n)
{
    if (n && (*s == '.' || *s == '\''))
        str_puts(t, "\\&");
    for (; n; s++, n--)
        if (*s == '-')
            str_puts(t, "\\-");
        else if (*s == '\\')
            str_puts(t, "\\e");
        else
            str_add(t, s, 1);
}

/* A paragraph for each run of lines; lines that begin with a blank stand as they are. */
static void roff_text(str *t, const char *s)
{
    bool verbatim = false;
    for (size_t n; *s; s += n + (s[n] == '\n')) {
        n = strcspn(s, "\n");
        if (n && (*s == ' ') != verbatim) {
            verbatim = !verbatim;
            str_puts(t, verbatim ? ".PP\n.nf\n" : ".fi\n.PP\n");
        } else if (!n && !verbatim && s[1] != ' ') {
            str_puts(t, ".PP\n");
        }
        roff(t, s, n);
        str_puts(t, n ? "\n" : "");
    }
    str_puts(t, verbatim ? ".fi\n" : "");
}

static void roff_row(str *t, const char *name, const char *says)
{
    str_puts(t, ".TP\n.B ");
    roff(t, name, strlen(name));
    str_puts(t, "\n");
    roff(t, says, strlen(says));
    str_puts(t, "\n");
}

static void roff_option(str *t, const option *o)
{
    str name = {0};
    if (o->letter)
        str_printf(&name, "-%c, ", o->letter);
    str_printf(&name, "%s%s%s", o->name, o->placeholder ? " " : "",
               o->placeholder ? o->placeholder : "");
    roff_row(t, name.s, o->help);
    str_free(&name);
}

static void roff_command(const command *c, void *ctx)
{
    str *t = ctx, head = {0};
    str_printf(&head, "ingot %s%s%s", c->name, *c->usage ? " " : "", c->usage);
    str_puts(t, ".SS ");
    roff(t, head.s, head.n);
    str_puts(t, "\n");
    roff_text(t, c->about);
    for (const option *o = c->options; o->name; o++)
        roff_option(t, o);
    str_free(&head);
}

static void page(str *t)
{
    str_printf(t,
               ".TH INGOT 1 \"\" \"ingot %s\" \"User Commands\"\n"
               ".SH NAME\ningot \\- array programs on whatever computes in your machine\n"
               ".SH SYNOPSIS\n.B ingot\n.I VERB\n[options] ...\n.SH DESCRIPTION\n"
               "Data goes to standard output, talk to standard error. Every verb has\n"
               ".BR \\-\\-help .\n.SH VERBS\n",
               ig_version());
    for (const verb *v = verbs; v->name; v++)
        command_visit(v, roff_command, t);
    str_puts(t, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        roff_row(t, environment[i][0], environment[i][1]);
    str_puts(t, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", exits[i].code);
        roff_row(t, code, exits[i].says);
    }
}

int verb_man(int argc, char **argv)
{
    const option options[] = {{0}};
    const command c = {"man", "", "Prints this command's manual page: ingot man | man -l -",
                       options};
    int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    if (argc > 0) {
        say(&c, "unexpected '%s'; see 'ingot man --help'", argv[0]);
        return EXIT_USAGE;
    }
    str t = {0};
    page(&t);
    fputs(t.s, stdout);
    str_free(&t);
    return EXIT_FINE;
}
