/* ingot: the command. One table of verbs; each verb is a file. */
#include "cli.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

#include <ingot.h>

const verb verbs[] = {
    {"bench", verb_bench, "how fast this machine is, with checked answers and honest intervals"},
    {"compare", verb_compare, "results of two machines: what is faster, what is only noise"},
    {"devices", verb_devices, "what can compute here"},
    {"doctor", verb_doctor, "what disturbs measuring here, and what would help"},
    {"eval", verb_eval, "the array calculator: every op, from the shell"},
    {"ops", verb_ops, "the ops, their arguments, what they give"},
    {"report", verb_report, "a result as a page to look at and to pass on"},
    {"run", verb_run, "one kernel in CUDA C, on any device"},
    {"train", verb_train, "a network that learns to read digits"},
    {"translate", verb_translate, "a kernel in CUDA C as OpenCL C, Metal or plain CUDA C"},
    {"verify", verb_verify, "proves every op, dtype and layout right on this machine"},
    {"man", verb_man, "this command's manual page"},
    {"completion", verb_completion, "what a shell needs to complete this command"},
    {0},
};

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
    if (v)
        return help ? v->run(2, help_of) : v->run(argc - 1, argv + 1);
    return unknown_verb(help ? argv[2] : name);
}

/* What --trace does, for IG_TRACE, so that a path that cannot be written is found at once. */
static bool trace_by_environment(void)
{
    const char *path = getenv("IG_TRACE");
    bool wanted = path && *path, fine = !wanted || ig_trace_begin(path) == IG_OK;
    if (!fine)
        text_printf(stderr, "ingot: IG_TRACE: %s\n", ig_error(NULL));
    else if (wanted)
        interrupt_trace();
    unsetenv("IG_TRACE"); /* it is done: the library need not */
    return fine;
}

int main(int argc, char **argv)
{
    int code = trace_by_environment() ? run(argc, argv) : EXIT_FAILED;
    ig_error(NULL); /* what waits was said */
    if (ig_trace_end() != IG_OK) {
        text_printf(stderr, "ingot: %s\n", ig_error(NULL));
        code = code == EXIT_FINE ? EXIT_FAILED : code;
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_FINE) {
        fputs("ingot: the output cannot be written\n", stderr);
        code = EXIT_FAILED;
    }
    ig_shutdown();
    return code;
}
