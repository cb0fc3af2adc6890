/* ingot completion: makes a shell script that completes verbs, options and their values from the verbs' tables. */
#include "cli.h"

#include <ctype.h>
#include <string.h>

#include <ingot.h>

/* ---- values of an option or argument --------------------------------------------------------- */

/* words: the valid names; files: any file name is valid. */
typedef struct choice {
    str words;
    bool files;
} choice;

static void add_word(choice *c, const char *word, size_t n)
{
    str_puts(&c->words, c->words.n ? " " : "");
    str_add(&c->words, word, n);
}

/* The devices that ig_set_device accepts. */
static void add_devices(choice *c)
{
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {0};
        if (ig_device_get(i, &d) == IG_OK && (d.runs_arrays || !d.runs_kernels))
            add_word(c, d.name, strlen(d.name));
    }
}

/* The devices that run kernels. "opencl" is the first of opencl:0, opencl:1 and so on. */
static void add_kernel_devices(choice *c)
{
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {0};
        if (ig_device_get(i, &d) != IG_OK || !d.runs_kernels)
            continue;
        size_t family = strcspn(d.name, ":");
        if (strcmp(d.name + family, ":0") == 0)
            add_word(c, d.name, family);
        add_word(c, d.name, strlen(d.name));
    }
}

static void add_ops(choice *c)
{
    for (int i = 0; i < ig_op_count(); i++)
        add_word(c, ig_op_at(i)->name, strlen(ig_op_at(i)->name));
}

static void add_dtypes(choice *c)
{
    for (int d = IG_BOOL; d <= IG_F64; d++)
        add_word(c, ig_dtype_name((ig_dtype)d), strlen(ig_dtype_name((ig_dtype)d)));
}

static void add_files(choice *c) { c->files = true; }

/* Adds the values of a placeholder; returns false if its name is not known. */
static bool add_placeholder(choice *c, const char *name, size_t n)
{
    static const struct {
        const char *name;
        void (*add)(choice *c);
    } kinds[] = {{"DEVICE", add_devices}, {"DEVICES", add_kernel_devices},
                 {"OP", add_ops},         {"DTYPE", add_dtypes},
                 {"FILE", add_files},     {"DIR", add_files}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, name, n) == 0) {
            kinds[i].add(c);
            return true;
        }
    return false;
}

static choice choice_of(const option *o)
{
    static const char prefix[] = "[NAME=]"; /* optional, before the value */
    choice c = {0};
    const char *name = o->placeholder;
    if (name && strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    if (!name || add_placeholder(&c, name, strlen(name)))
        return c;
    if (strchr(o->placeholder, '|'))
        for (const char *s = o->placeholder; *s; s += *s == '|') {
            size_t n = strcspn(s, "|");
            if (strncmp(s, "FILE", 4) == 0)
                add_files(&c);
            else if (*s < 'A' || *s > 'Z') /* else a placeholder: any number, any list */
                add_word(&c, s, n);
            s += n;
        }
    return c;
}

/* The arguments in the usage: digits and mnist for "[options] digits | mnist --data DIR"; any file for
 * "A.json B.json ...". */
static choice words_of(const command *c)
{
    static const char between[] = " |[]";
    choice found = {0};
    bool value = false; /* the next word is an option's value */
    for (const char *s = c->usage; *s;) {
        s += strspn(s, between);
        size_t length = strcspn(s, between), n = length;
        while (n && s[n - 1] == '.') /* "FILE..." */
            n--;
        bool dashed = *s == '-', taken = value && isupper((unsigned char)*s);
        value = dashed && n > 1;
        if (dashed || taken || n == 0 || (n == 7 && strncmp(s, "options", n) == 0))
            ; /* not an argument */
        else if (islower((unsigned char)*s))
            add_word(&found, s, n);
        else if (!add_placeholder(&found, s, n))
            found.files = true;
        s += length;
    }
    return found;
}

static const char *words_in(const choice *c) { return c->words.s ? c->words.s : ""; }

/* The name of a command as one word: train-text for "train text". */
static const char *one_word(const command *c, char name[64])
{
    snprintf(name, 64, "%s", c->name);
    for (char *blank = name; (blank = strchr(blank, ' '));)
        *blank = '-';
    return name;
}

/* ---- bash: readline completes file names if there is no candidate ------------------------------ */

static void bash_values(const command *c, void *ctx)
{
    char name[64];
    one_word(c, name);
    for (const option *o = c->options; o->name; o++) {
        choice v = choice_of(o);
        if (o->placeholder && o->letter)
            str_printf(ctx, "    '%s -%c' |", name, o->letter);
        if (o->placeholder)
            str_printf(ctx, "%s'%s %s') words='%s' ;;\n", o->letter ? " " : "    ", name, o->name,
                       words_in(&v));
        str_free(&v.words);
    }
}

static void bash_options(const command *c, void *ctx)
{
    choice words = words_of(c);
    char name[64];
    str_printf(ctx, "    %s:-*) words='", one_word(c, name));
    for (const option *o = c->options; o->name; o++)
        str_printf(ctx, "%s ", o->name);
    str_printf(ctx, "--help' ;;\n    %s:*) words='%s' ;;\n", name, words_in(&words));
    str_free(&words.words);
}

static void bash(str *t)
{
    char part[32];
    str_puts(
        t, "# ingot completion bash\n_ingot() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
           "    local verb=${COMP_WORDS[1]}\n"
           "    if [ \"$word\" = '=' ]; then\n        word=\n"
           "    elif [ \"$before\" = '=' ]; then\n"
           "        before=${COMP_WORDS[COMP_CWORD - 2]}\n    fi\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        before= verb=\n    fi\n");
    for (const verb *v = verbs; v->name; v++)
        for (const char *parts = verb_parts(v); verb_part_next(&parts, part);)
            str_printf(
                t,
                "    if [ \"$COMP_CWORD\" -gt 2 ] && [ \"$verb ${COMP_WORDS[2]}\" = '%s %s' ]; "
                "then\n        verb=%s-%s\n    fi\n",
                v->name, part, v->name, part);
    str_puts(t, "    case \"$verb $before\" in\n");
    for (const verb *v = verbs; v->name; v++)
        command_visit(v, bash_values, t);
    str_puts(t, "    *)\n    case $verb:$word in\n    :*) words='");
    for (const verb *v = verbs; v->name; v++)
        str_printf(t, "%s ", v->name);
    str_puts(t, "--help --version' ;;\n");
    for (const verb *v = verbs; v->name; v++)
        command_visit(v, bash_options, t);
    str_puts(t, "    esac ;;\n    esac\n"
                "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
                "complete -o default -F _ingot ingot\n");
}

/* ---- zsh -------------------------------------------------------------------------------------- */

/* Quotes text for '...', where brackets and colons are special, too. */
static void zsh_text(str *t, const char *s)
{
    for (; *s && *s != '\n'; s++)
        if (*s == '\'')
            str_puts(t, "'\\''");
        else
            str_printf(t, "%s%c", strchr("[]:", *s) ? "\\" : "", *s);
}

static void zsh_option(str *t, const option *o)
{
    choice v = choice_of(o);
    const char *equals = o->placeholder ? "=" : ""; /* the value may follow '=' */
    str_puts(t, " \\\n            ");
    if (o->letter)
        str_printf(t, "'(-%c %s)'{-%c,%s%s}'[", o->letter, o->name, o->letter, o->name, equals);
    else
        str_printf(t, "'%s%s[", o->name, equals);
    zsh_text(t, o->help);
    str_puts(t, "]");
    if (o->placeholder) {
        str_puts(t, ":");
        zsh_text(t, o->placeholder);
        if (v.words.n)
            str_printf(t, ":(%s)", v.words.s);
        else
            str_puts(t, v.files ? ":_files" : ": ");
    }
    str_puts(t, "'");
    str_free(&v.words);
}

static void zsh_command(const command *c, void *ctx)
{
    str *t = ctx;
    choice words = words_of(c);
    char name[64];
    str_printf(t, "    %s)\n        _arguments -s", one_word(c, name));
    for (const option *o = c->options; o->name; o++)
        zsh_option(t, o);
    str_puts(t, " \\\n            '(-h --help)'{-h,--help}'[this text]'");
    if (words.words.n)
        str_printf(t, " \\\n            '*:word:(%s)'", words.words.s);
    else if (words.files)
        str_puts(t, " \\\n            '*:file:_files'");
    str_puts(t, " ;;\n");
    str_free(&words.words);
}

static void zsh(str *t)
{
    char part[32];
    str_puts(t,
             "#compdef ingot\n# ingot completion zsh\n_ingot() {\n    local -a verbs\n    verbs=(");
    for (const verb *v = verbs; v->name; v++) {
        str_printf(t, "\n        '%s:", v->name);
        zsh_text(t, v->about);
        str_puts(t, "'");
    }
    str_puts(t, ")\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n"
                "    fi\n    shift words\n    (( CURRENT-- ))\n");
    for (const verb *v = verbs; v->name; v++)
        for (const char *parts = verb_parts(v); verb_part_next(&parts, part);)
            str_printf(
                t,
                "    if (( CURRENT > 2 )) && [[ \"$words[1] $words[2]\" == '%s %s' ]]; then\n"
                "        shift words\n        (( CURRENT-- ))\n        words[1]=%s-%s\n"
                "    fi\n",
                v->name, part, v->name, part);
    str_puts(t, "    case $words[1] in\n");
    for (const verb *v = verbs; v->name; v++)
        command_visit(v, zsh_command, t);
    str_puts(t, "    esac\n}\n_ingot \"$@\"\n");
}

/* ---- fish ------------------------------------------------------------------------------------- */

static void fish_text(str *t, const char *s)
{
    str_puts(t, "'");
    for (; *s && *s != '\n'; s++)
        str_printf(t, "%s%c", *s == '\'' || *s == '\\' ? "\\" : "", *s);
    str_puts(t, "'\n");
}

/* The condition of a command's lines: for "train text", both words are present; for "train", "text" is absent. */
static void fish_condition(const char *name, str *t)
{
    static const char seen[] = "__fish_seen_subcommand_from";
    const char *blank = strchr(name, ' '), *parts = "";
    const int length = blank ? (int)(blank - name) : (int)strlen(name);
    for (const verb *v = verbs; v->name; v++)
        parts = !blank && strcmp(v->name, name) == 0 ? verb_parts(v) : parts;
    str_printf(t, "complete -c ingot -n '%s %.*s", seen, length, name);
    if (blank)
        str_printf(t, "; and %s %s", seen, blank + 1);
    if (*parts)
        str_printf(t, "; and not %s %s", seen, parts);
    str_puts(t, "'");
}

static void fish_command(const command *c, void *ctx)
{
    str *t = ctx;
    str when = {0};
    choice words = words_of(c);
    fish_condition(c->name, &when);
    for (const option *o = c->options; o->name; o++) {
        choice v = choice_of(o);
        str_printf(t, "%s -l %s", when.s, o->name + 2);
        if (o->letter)
            str_printf(t, " -s %c", o->letter);
        if (v.words.n)
            str_printf(t, " -x -a '%s'", v.words.s);
        else if (o->placeholder)
            str_puts(t, v.files ? " -r -F" : " -x");
        str_puts(t, " -d ");
        fish_text(t, o->help);
        str_free(&v.words);
    }
    if (words.words.n)
        str_printf(t, "%s -f -a '%s'\n", when.s, words.words.s);
    else if (words.files)
        str_printf(t, "%s -F\n", when.s);
    str_free(&words.words);
    str_free(&when);
}

static void fish(str *t)
{
    str_puts(t, "# ingot completion fish\ncomplete -c ingot -f\n");
    for (const verb *v = verbs; v->name; v++) {
        str_printf(t, "complete -c ingot -n __fish_use_subcommand -a %s -d ", v->name);
        fish_text(t, v->about);
    }
    for (const verb *v = verbs; v->name; v++)
        command_visit(v, fish_command, t);
}

/* ---- the verb --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*write)(str *t);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

int verb_completion(int argc, char **argv)
{
    const option options[] = {{0}};
    const command c = {
        "completion", "bash | zsh | fish",
        "Prints a script that makes the shell complete this command. 'make install' installs "
        "the scripts. By hand:\n\n"
        "  eval \"$(ingot completion bash)\"\n"
        "  ingot completion zsh > \"${fpath[1]}/_ingot\"\n"
        "  ingot completion fish | source",
        options};
    int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    for (size_t i = 0; argc == 1 && i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, argv[0]) == 0) {
            str t = {0};
            shells[i].write(&t);
            fputs(t.s, stdout);
            str_free(&t);
            return EXIT_FINE;
        }
    say(&c, "one shell is needed: bash, zsh or fish");
    return EXIT_USAGE;
}
