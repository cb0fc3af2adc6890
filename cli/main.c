/* ingot: the command. verbs.c has the table of verbs; each verb has a file. */
#include "cli.h"
#include "progress.h"
#include "team.h"

#include "base/leave.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

static void show_help(FILE *file)
{
    fputs("usage: ingot VERB [options] ...\n\n", file);
    for (const verb *v = verbs; v->name; v++)
        fprintf(file, "  %-12s %s\n", v->name, v->about);
    fputs("\n  ingot VERB --help   its options\n"
          "  ingot --version\n\n"
          "For example:\n"
          "  ingot eval 'a = normal(key(0), [1000, 1000]); mean(a @ a.T)'\n",
          file);
}

static int unknown_verb(const char *name)
{
    nearest search = nearest_to(name);
    for (const verb *v = verbs; v->name; v++)
        nearest_offer(&search, v->name);
    str t = {0};
    str_printf(&t, "ingot: unknown %s '%s'", name[0] == '-' ? "option" : "verb", name);
    str_did_you_mean(&t, &search);
    str_puts(&t, search.best ? "\n" : "; see 'ingot --help'\n");
    text_print(stderr, t.s);
    str_free(&t);
    return EXIT_USAGE;
}

static const verb *find_verb(const char *name)
{
    for (const verb *v = verbs; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* Warns about settings that the CPU device ignores. Asks the device only if there may be a warning, because that loads
 * the library that IG_BLAS names. */
static void warn_settings(void)
{
    const char *blas = getenv("IG_BLAS");
    bool valid = !blas || !strcmp(blas, "off") || !strcmp(blas, "on") || !strcmp(blas, "auto");
    const char *math = getenv("IG_MATH"), *mode;
    ig_device_info cpu = {0};
    if (math && *math && !option_math(math, &mode))
        text_printf(stderr,
                    "ingot: warning: IG_MATH=\"%.60s\" is ignored: not strict, same or tf32\n",
                    math);
    if (valid && !getenv("IG_NUM_THREADS") && !getenv("IG_CPU_LEVEL") && !getenv("IG_LAPACK") &&
        !getenv("IG_OVERRIDES"))
        return;
    if (ig_device_get(0, &cpu) == IG_OK && cpu.note)
        text_printf(stderr, "ingot: warning: %s\n", cpu.note);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        show_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        printf("ingot %s\n", ig_version());
        return EXIT_FINE;
    }
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (help && argc == 2) {
        show_help(stdout);
        return EXIT_FINE;
    }
    const verb *v = find_verb(help ? argv[2] : name);
    char *help_of[] = {argv[2], "--help", NULL};
    if (v && !help && !cli_team_begin(v->name))
        return EXIT_FAILED;
    if (v && !help)
        warn_settings();
    if (v)
        return help ? v->run(2, help_of) : v->run(argc - 1, argv + 1);
    return unknown_verb(help ? argv[2] : name);
}

/* Handles IG_TRACE like --trace, so that a path that cannot be written fails at once. */
static bool trace_by_environment(void)
{
    const char *path = getenv("IG_TRACE");
    bool wanted = path && *path, fine = !wanted || ig_trace_begin(path) == IG_OK;
    if (!fine)
        text_printf(stderr, "ingot: IG_TRACE: %s\n", ig_error(NULL));
    else if (wanted)
        interrupt_trace();
    unsetenv("IG_TRACE"); /* otherwise the library would record it again */
    return fine;
}

/* Ends the process. Closing a GPU takes a tenth of a second or more, and the system does it anyway. So it is closed
 * only for tools that look for leaks or profile: sanitizers, coverage, libraries injected into CUDA, and
 * IG_SHUTDOWN=on. */
static int end(int code)
{
#ifdef ORDERLY_END
    const bool orderly = true;
#else
    const char *wish = getenv("IG_SHUTDOWN");
    const bool orderly = (wish && strcmp(wish, "on") == 0) || getenv("CUDA_INJECTION64_PATH");
#endif
    if (!orderly) {
        leave();
        fflush(NULL);
        _Exit(code);
    }
    ig_shutdown();
    return code;
}

/* Handles SIGXFSZ: a write past the file size limit (ulimit -f) then fails, and the verb reports it. Unlike an ignored
 * signal, a handler is not inherited by programs that are started. */
static void file_limit_reached(int number) { (void)number; }

int main(int argc, char **argv)
{
    signal(SIGXFSZ, file_limit_reached);
    progress_watch();
    int code = trace_by_environment() ? run(argc, argv) : EXIT_INPUT;
    code = cli_team_end(code);
    ig_error(NULL); /* the verb has reported it */
    if (ig_trace_end() != IG_OK) {
        text_printf(stderr, "ingot: %s\n", ig_error(NULL));
        code = code == EXIT_FINE ? EXIT_INPUT : code;
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_FINE) {
        fputs("ingot: the output cannot be written\n", stderr);
        code = EXIT_FAILED;
    }
    return end(code);
}
