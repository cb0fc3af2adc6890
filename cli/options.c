/* Options of verbs: each verb's table serves parsing, --help and suggestions. */
#include "cli.h"
#include "base/size.h"
#include "progress.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ingot.h>

enum { COUNT_MOST = 1000000 };

/* ---- values --------------------------------------------------------------------------------- */

bool option_flag(const char *s, void *place)
{
    *(bool *)place = true;
    return s == NULL;
}

bool option_text(const char *s, void *place)
{
    *(const char **)place = s;
    return true;
}

bool option_threads(const char *s, void *place)
{
    char *end;
    errno = 0;
    long n = strtol(s, &end, 10);
    *(int *)place = (int)n;
    return !errno && end != s && !*end && n >= 1 && n <= 4096;
}

static bool read_whole(const char *s, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 10);
    return !errno && end != s && !*end && isdigit((unsigned char)*s) && *out <= most;
}

bool option_count(const char *s, void *place)
{
    uint64_t n;
    bool fine = read_whole(s, COUNT_MOST, &n) && n >= 1;
    *(int64_t *)place = fine ? (int64_t)n : 0;
    return fine;
}

bool option_seed(const char *s, void *place) { return read_whole(s, UINT64_MAX - 1, place); }

bool option_rate(const char *s, void *place)
{
    char *end;
    double f = strtod(s, &end);
    *(double *)place = f;
    return end != s && !*end && f > 0 && isfinite(f);
}

bool option_share(const char *s, void *place)
{
    char *end;
    double f = strtod(s, &end);
    *(double *)place = f;
    return end != s && !*end && f >= 0 && f < 1;
}

bool option_bytes(const char *s, void *place) { return size_read(s, place); }

enum { LIMIT_BYTES = 64 };

/* Splits the next "DEVICE=SIZE" off a list. Returns what follows it; NULL if there is no such item. */
static const char *limit_next(const char *list, char device[LIMIT_BYTES], char size[LIMIT_BYTES])
{
    const size_t name = strcspn(list, "=,"), all = strcspn(list, ",");
    if (list[name] != '=' || name == 0 || name >= LIMIT_BYTES || all - name > LIMIT_BYTES)
        return NULL;
    snprintf(device, LIMIT_BYTES, "%.*s", (int)name, list);
    snprintf(size, LIMIT_BYTES, "%.*s", (int)(all - name - 1), list + name + 1);
    return list + all + (list[all] == ',');
}

bool option_memory(const char *s, void *place)
{
    memory_option *m = place;
    char device[LIMIT_BYTES], size[LIMIT_BYTES];
    uint64_t bytes;
    *m = (memory_option){0};
    if (!strchr(s, '='))
        return option_bytes(s, &m->bytes);
    m->list = s;
    while (s && *s)
        if (!(s = limit_next(s, device, size)) || !option_bytes(size, &bytes))
            return false;
    return s;
}

static const char *const math_names[] = {
    [IG_MATH_STRICT] = "strict", [IG_MATH_SAME] = "same", [IG_MATH_TF32] = "tf32"};

static int math_find(const char *s)
{
    for (int i = 0; i <= IG_MATH_TF32; i++)
        if (strcmp(s, math_names[i]) == 0)
            return i;
    return -1;
}

bool option_math(const char *s, void *place)
{
    *(const char **)place = s;
    return math_find(s) >= 0;
}

const char *math_name(void) { return math_names[ig_math_mode()]; }

bool option_fallback(const char *s, void *place)
{
    static const struct {
        const char *name;
        ig_fallback policy;
    } rows[] = {
        {"error", IG_FALLBACK_ERROR}, {"warn", IG_FALLBACK_WARN}, {"auto", IG_FALLBACK_AUTO}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, s) == 0) {
            *(fallback_option *)place = (fallback_option){true, rows[i].policy};
            return true;
        }
    return false;
}

/* ---- messages ----------------------------------------------------------------------------------- */

void say(const command *c, const char *format, ...)
{
    str t = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&t, format, args);
    va_end(args);
    progress_clear();
    text_printf(stderr, "ingot %s: %s\n", c->name, t.s);
    str_free(&t);
}

int exit_for(int status)
{
    static const int codes[] = {
        [IG_ERR_FILE] = EXIT_INPUT,      [IG_ERR_FORMAT] = EXIT_INPUT,
        [IG_ERR_DEVICE] = EXIT_ABSENT,   [IG_ERR_UNSUPPORTED] = EXIT_ABSENT,
        [IG_ERR_INTERNAL] = EXIT_FAILED, [IG_ERR_CANCELLED] = EXIT_INTERRUPTED};
    bool known = status >= 0 && status < (int)(sizeof codes / sizeof *codes);
    return known && codes[status] ? codes[status] : EXIT_FAILED;
}

int fail_library(const command *c)
{
    ig_status status = IG_OK;
    const char *message = ig_error(&status);
    if (interrupt_asked() && (!message || status == IG_ERR_CANCELLED))
        return EXIT_INTERRUPTED;
    say(c, "%s", message ? message : "failed without a reason");
    return exit_for((int)status);
}

bool color_for(FILE *file)
{
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && isatty(fileno(file));
}

/* Two columns, or two lines if the first column is too long. */
static void help_line(const char *left, const char *right)
{
    enum { COLUMN = 24 };
    bool fits = strlen(left) <= COLUMN;
    printf("  %-*s%s%*s%s\n", COLUMN, left, fits ? "" : "\n", fits ? 1 : COLUMN + 3, "", right);
}

static void show_help(const command *c)
{
    printf("usage: ingot %s%s%s\n\n%s\n\n", c->name, *c->usage ? " " : "", c->usage, c->about);
    for (const option *o = c->options; o->name; o++) {
        str left = {0};
        if (o->letter)
            str_printf(&left, "-%c, ", o->letter);
        str_printf(&left, "%s%s%s", o->name, o->placeholder ? " " : "",
                   o->placeholder ? o->placeholder : "");
        help_line(left.s, o->help);
        str_free(&left);
    }
    help_line("-h, --help", "this text");
}

/* ---- reading -------------------------------------------------------------------------------- */

/* "-3 + 4" is an expression, "-" is standard input, "-f" an option. */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

static int usage_error(const command *c, const char *word, const char *why)
{
    say(c, "%s '%s'; see 'ingot %s --help'", why, word, c->name);
    return EXIT_USAGE;
}

/* Which of the verb's words may begin with '-', or NULL. */
static const char *plain_words(const command *c)
{
    static const struct {
        const char *in_usage, *words;
    } rows[] = {{"EXPRESSION", "an expression that begins with '-'"},
                {"TEXT", "a text that begins with '-'"},
                {"QUESTION", "a question that begins with '-'"},
                {"ARGUMENT", "the program's arguments"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(c->usage, rows[i].in_usage))
            return rows[i].words;
    return NULL;
}

/* The option that a word most likely means: the nearest name, an option that the word begins with (--shared-bytes), or
 * for a single letter the only option that begins with it. NULL if there is none. */
static const char *nearest_option(const command *c, const char *word)
{
    nearest search = nearest_to(word);
    const char *begins = NULL, *of_letter = NULL;
    int n_of_letter = 0;
    for (const option *o = c->options; o->name; o++) {
        const size_t n = strlen(o->name);
        nearest_offer(&search, o->name);
        if (strncmp(o->name, word, n) == 0 && (!begins || n > strlen(begins)))
            begins = o->name;
        if (word[1] != '-' && !word[2] && o->name[2] == word[1]) {
            of_letter = o->name;
            n_of_letter++;
        }
    }
    return search.best ? search.best : begins ? begins : n_of_letter == 1 ? of_letter : NULL;
}

typedef struct owner {
    const char *word, *verb;
} owner;

static void visit_owner(const command *c, void *ctx)
{
    owner *o = ctx;
    for (const option *row = c->options; row->name && !o->verb; row++)
        if (strcmp(row->name, o->word) == 0)
            o->verb = c->name;
}

/* The verb that has the option; NULL if none does. */
static const char *verb_with(const char *word)
{
    owner o = {.word = word};
    for (const verb *v = verbs; v->name && !o.verb; v++)
        command_visit(v, visit_owner, &o);
    return o.verb;
}

static int unknown_option(const command *c, const char *word, size_t n)
{
    char *name = heap_string(word);
    name[n] = 0;
    const bool is_letter = name[1] != '-';
    const char *words = is_letter ? plain_words(c) : NULL;
    const bool negative = words && strstr(c->usage, "EXPRESSION"); /* -x is an expression, too */
    const char *meant = negative ? NULL : nearest_option(c, name);
    const char *other = meant || is_letter ? NULL : verb_with(name);
    str hint = {0};
    if (meant)
        str_printf(&hint, "did you mean '%s'?", meant);
    else if (words)
        str_printf(&hint, "put -- before %s", words);
    else if (other)
        str_printf(&hint, "'ingot %s' has it; see 'ingot %s --help'", other, c->name);
    else
        str_printf(&hint, "see 'ingot %s --help'", c->name);
    say(c, "unknown option '%.60s'; %s", name, hint.s);
    str_free(&hint);
    free(name);
    return EXIT_USAGE;
}

static const option *find_option(const command *c, const char *word, size_t n)
{
    if (n == 5 && strncmp(word, "--out", n) == 0) {
        word = "--output";
        n = strlen(word);
    }
    for (const option *o = c->options; o->name; o++) {
        bool letter = n == 2 && o->letter && word[1] == o->letter;
        if (letter || (strlen(o->name) == n && strncmp(o->name, word, n) == 0))
            return o;
    }
    return NULL;
}

bool option_takes_next(const command *c, const char *word)
{
    const option *o = looks_like_option(word) ? find_option(c, word, strlen(word)) : NULL;
    return o && o->placeholder;
}

/* A description of an option's value. */
static const char *option_takes(const option *o)
{
    static const struct {
        bool (*read)(const char *s, void *place);
        const char *takes;
    } rows[] = {{option_threads, "a whole number from 1 to 4096"},
                {option_count, "a whole number from 1 to 1000000"},
                {option_seed, "a whole number from 0 on"},
                {option_rate, "a number above 0"},
                {option_share, "a number of at least 0 and below 1"},
                {option_bytes, "a size such as 512MiB or 4GiB"},
                {option_memory, "a size such as 512MiB or 4GiB, or cpu=8GiB,cuda:0=2GiB"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].read == o->read)
            return rows[i].takes;
    return o->placeholder;
}

/* Parses argv[*i], and the next word if it is the value. */
static int read_option(const command *c, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    size_t n = strcspn(word, "=");
    const option *o = find_option(c, word, n);
    const char *given = word[n] ? word + n + 1 : NULL;
    if (!o && word[1] != '-' && (o = find_option(c, word, 2)) && o->placeholder)
        given = word + 2; /* -DNAME=1, as for compilers */
    else if (!o || (!o->placeholder && word[1] != '-' && word[2] && word[2] != '='))
        return unknown_option(c, word, n);
    if (!o->placeholder)
        return o->read(given, o->place) ? -1 : usage_error(c, o->name, "no value is allowed for");
    if (!given && *i + 1 >= argc)
        return usage_error(c, o->name, "a value is needed after");
    if (!given)
        given = argv[++*i];
    if (o->read(given, o->place))
        return -1;
    say(c, "%s takes %s, not '%.60s'; see 'ingot %s --help'", o->name, option_takes(o), given,
        c->name);
    return EXIT_USAGE;
}

static struct {
    void (*visit)(const command *c, void *ctx);
    void *ctx;
} visitor;

const char *verb_parts(const verb *v)
{
    return strcmp(v->name, "train") == 0  ? "gpt text"
           : strcmp(v->name, "onnx") == 0 ? "bench export info run test verify"
                                          : "";
}

bool verb_part_next(const char **parts, char part[32])
{
    const size_t n = strcspn(*parts, " ");
    snprintf(part, 32, "%.*s", (int)n, *parts);
    *parts += n + ((*parts)[n] == ' ');
    return n > 0;
}

void command_visit(const verb *v, void (*visit)(const command *c, void *ctx), void *ctx)
{
    char part[32];
    char *argv[] = {(char *)v->name, part, NULL};
    const char *parts = verb_parts(v);
    visitor.visit = visit;
    visitor.ctx = ctx;
    v->run(1, argv);
    while (verb_part_next(&parts, part))
        v->run(2, argv);
    visitor.visit = NULL;
}

int options_read(const command *c, int *argc, char **argv)
{
    if (visitor.visit) {
        visitor.visit(c, visitor.ctx);
        return EXIT_FINE;
    }
    int words = 0, code = -1;
    bool only_words = false;
    for (int i = 1; code < 0 && i < *argc; i++) {
        if (only_words || !looks_like_option(argv[i])) {
            argv[words++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            show_help(c);
            code = EXIT_FINE;
        } else {
            code = read_option(c, *argc, argv, &i);
        }
    }
    *argc = words;
    return code;
}

/* Sets the limits of a list that option_memory has accepted. */
static bool apply_limits(const char *list)
{
    char device[LIMIT_BYTES], size[LIMIT_BYTES];
    uint64_t bytes = 0;
    while (list && *list)
        if (!(list = limit_next(list, device, size)) || !option_bytes(size, &bytes) ||
            ig_set_device_memory_limit(device, bytes) != IG_OK)
            return false;
    return true;
}

int engine_apply(const command *c, const engine_options *e)
{
    bool fine = (!e->threads || ig_set_threads(e->threads) == IG_OK) &&
                (!e->memory_limit.bytes || ig_set_memory_limit(e->memory_limit.bytes) == IG_OK) &&
                (!e->fallback.given || ig_set_fallback(e->fallback.policy) == IG_OK);
    if (!fine)
        return fail_library(c);
    if (e->math) { /* in the environment: child processes use it, and results list it */
        setenv("IG_MATH", e->math, 1);
        ig_set_math((ig_math)math_find(e->math));
    }
    /* Before the device is opened, so that the timeline includes the start of its driver. */
    if (e->trace && ig_trace_begin(e->trace) != IG_OK)
        return fail_library(c);
    if (e->trace)
        interrupt_trace();
    if (e->device && ig_set_device(e->device) != IG_OK) {
        fail_library(c);
        return EXIT_ABSENT;
    }
    const memory_option *m = &e->memory_limit;
    if ((m->bytes && ig_set_device_memory_limit(NULL, m->bytes) != IG_OK) ||
        (m->list && !apply_limits(m->list)))
        return fail_library(c);
    return -1;
}

void fallback_text(str *t, bool json)
{
    ig_fallback_row r = {0};
    if (json)
        str_json(t, "[");
    for (int i = 0; i < ig_fallback_count() && ig_fallback_get(i, &r) == IG_OK; i++)
        if (json)
            str_json(t, "{device: %s, op: %s, why: %s, runs: %llu, bytes: %llu}", r.device, r.op,
                     r.why, (unsigned long long)r.runs, (unsigned long long)r.bytes);
        else
            str_printf(t, "the CPU ran '%s' for %s: %s (%llu runs, %llu bytes moved)\n", r.op,
                       r.device, r.why, (unsigned long long)r.runs, (unsigned long long)r.bytes);
    if (json)
        str_json(t, "]");
}
