/* ingot translate: translates kernels in CUDA C to another language. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

#include "translate.h"

enum { LIST_MOST = 256, SOURCE_MOST_BYTES = 64 << 20 };

/* The values of an option that can be repeated. */
typedef struct list {
    const char *at[LIST_MOST];
    int n;
} list;

static bool read_list(const char *s, void *place)
{
    list *l = place;
    if (l->n == LIST_MOST)
        return false;
    l->at[l->n++] = s;
    return true;
}

static bool read_language(const char *s, void *place)
{
    *(const char **)place = s;
    return strcmp(s, "opencl") == 0 || strcmp(s, "metal") == 0 || strcmp(s, "cuda") == 0;
}

static void show_json(const ig_translations *all, const char *to)
{
    str t = {0};
    str_json(&t, "{schema: 1, to: %s, said: %s, kernels: [", to, all->said);
    for (int i = 0; i < all->n; i++) {
        const ig_translation *k = &all->at[i];
        str_json(&t, "\n  {kernel: %s, entry: %s, text: %s, said: %s}", k->kernel, k->entry,
                 k->text, k->said);
    }
    str_json(&t, "\n]}\n");
    text_print(stdout, t.s);
    str_free(&t);
}

static void show_text(const ig_translations *all)
{
    if (all->said)
        text_print(stderr, all->said);
    for (int i = 0; i < all->n; i++)
        if (all->at[i].said && !(all->said && strstr(all->said, all->at[i].said)))
            text_print(stderr, all->at[i].said);
    if (all->text)
        text_print(stdout, all->text);
}

/* The program for the only kernel that is translated. */
static int show_host(const command *c, const char *path, const char *source,
                     const ig_translate_options *given)
{
    ig_translate_options o = *given;
    char device[16];
    snprintf(device, sizeof device, "%s:0", given->to);
    o.to = "cuda";
    ig_translations *all = ig_translate(path, source, &o);
    int code = EXIT_FINE;
    if (!all)
        return fail_library(c);
    if (all->n != 1) {
        say(c, "%s has %d kernels; --host needs one: --kernel '%s'", path, all->n,
            all->at[0].kernel);
        code = EXIT_USAGE;
    } else if (!all->at[0].text) {
        text_print(stderr, all->at[0].said);
        code = EXIT_ABSENT;
    } else if (!translate_host(path, &all->at[0], device)) {
        code = fail_library(c);
    }
    ig_translations_free(all);
    return code;
}

static int translate(const command *c, const char *path, const ig_translate_options *o, bool json,
                     bool host)
{
    size_t n;
    char *source = str_read_file(path, SOURCE_MOST_BYTES, &n);
    if (!source) {
        say(c, "%s: %s", path, strerror(errno));
        return EXIT_INPUT;
    }
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    if (host) {
        const int code = show_host(c, name, source, o);
        free(source);
        return code;
    }
    ig_translations *all = ig_translate(name, source, o);
    free(source);
    if (!all)
        return fail_library(c);
    int code = EXIT_FINE;
    for (int i = 0; i < all->n; i++)
        if (!all->at[i].text)
            code = EXIT_ABSENT;
    if (json)
        show_json(all, o->to);
    else
        show_text(all);
    ig_translations_free(all);
    return code;
}

int verb_translate(int argc, char **argv)
{
    static list defines, folders;
    ig_translate_options o = {.defines = defines.at, .folders = folders.at};
    bool json = false, host = false;
    const option options[] = {
        {"--to", 0, "opencl|metal|cuda", read_language, &o.to, "the language"},
        {"--kernel", 'k', "NAME", option_text, &o.kernel,
         "one kernel: saxpy, 'tile<float, 16>' (default: all that the file names)"},
        {"--define", 'D', "NAME=VALUE", read_list, &defines, "defines a macro"},
        {"--include", 'I', "DIR", read_list, &folders, "a folder for #include"},
        FLAG("--host", &host, "a C program that runs the kernel on a device of the language"),
        FLAG("--json", &json, "as JSON, schema 1"),
        {0}};
    const command c = {
        "translate", "[options] FILE",
        "Prints the kernels of a CUDA C file in another language, as one file. A kernel that "
        "needs\n"
        "a feature which some devices of the language lack is refused with the reason (exit code\n"
        "4); the others are printed.",
        options};
    defines.n = folders.n = 0;
    const int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    if (argc != 1 || !o.to) {
        say(&c, !o.to ? "a language is needed: --to opencl, metal or cuda"
                      : "one file is needed; see 'ingot translate --help'");
        return EXIT_USAGE;
    }
    o.n_defines = defines.n;
    o.n_folders = folders.n;
    o.colour = color_for(stderr) && !json;
    return translate(&c, argv[0], &o, json, host);
}
