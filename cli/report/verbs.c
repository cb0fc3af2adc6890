/* ingot compare compares results; ingot report makes the page of one result, or of logs of training. */
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report/show.h"
#include "report/run_log.h"

/* More files would not be readable on one page. */
enum { FILES_MOST = 16 };

static int read_sources(const command *c, source *sources, int n, char **paths)
{
    str why = {0};
    int code = -1;
    for (int i = 0; i < n && code < 0; i++) {
        sources[i].path = paths[i];
        if (!result_read(&sources[i].r, paths[i], &why, &code))
            say(c, "%s", why.s);
        else
            code = -1;
    }
    str_free(&why);
    return code;
}

static void free_sources(source *sources, int n)
{
    for (int i = 0; i < n; i++)
        result_free(&sources[i].r);
}

/* Adds a word, quoted for the shell. */
static void shell_word(str *t, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,+";
    str_puts(t, " ");
    if (*word && strspn(word, plain) == strlen(word)) {
        str_puts(t, word);
        return;
    }
    str_puts(t, "'");
    for (; *word; word++)
        str_add(t, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    str_puts(t, "'");
}

/* Writes the page to path, "-" for standard output, and frees it. */
static int write_page(const command *c, str *page, const char *path)
{
    str why = {0};
    int code = EXIT_FINE;
    if (strcmp(path, "-") == 0) {
        fputs(page->s, stdout);
    } else if (!write_file(path, page, &why)) {
        say(c, "%s", why.s);
        code = EXIT_INPUT;
    }
    str_free(page);
    str_free(&why);
    return code;
}

/* ---- compare -------------------------------------------------------------------------------- */

typedef struct compare_settings {
    bool json;
    const char *html, *fail_on;
} compare_settings;

static bool option_fail_on(const char *s, void *place)
{
    *(const char **)place = s;
    return strcmp(s, "slower") == 0;
}

static int compare(const command *c, const compare_settings *set, const source *sources, int n)
{
    comparison comp;
    str t = {0};
    comparison_make(&comp, sources, n);
    if (n == 1 && comp.n_contestants < 2) {
        say(c, "'%s' has one device only: name a second file to compare it with", sources[0].path);
        comparison_free(&comp);
        return EXIT_USAGE;
    }
    (set->json ? show_json(&t, &comp) : show_text(&t, &comp, color_for(stdout)));
    text_print(stdout, t.s);
    str_free(&t);
    int code = EXIT_FINE;
    if (set->html) {
        str_puts(&t, "ingot compare");
        for (int i = 0; i < n; i++)
            shell_word(&t, sources[i].path);
        str_puts(&t, " --html");
        shell_word(&t, set->html);
        str page = {0};
        page_make(&page, &comp, t.s);
        code = write_page(c, &page, set->html);
        str_free(&t);
    }
    if (code == EXIT_FINE && !comp.n_pairs) {
        say(c, "no rows of these files can be compared");
        code = EXIT_FAILED;
    }
    for (int i = 0; i < comp.n_matches && set->fail_on && code == EXIT_FINE; i++)
        if (comp.matches[i].slower)
            code = EXIT_REGRESSION;
    comparison_free(&comp);
    return code;
}

int verb_compare(int argc, char **argv)
{
    compare_settings set = {0};
    const option options[] = {
        FLAG("--json", &set.json, "as JSON, schema 1"),
        {"--html", 0, "FILE", option_text, &set.html, "also writes an HTML page"},
        {"--fail-on", 0, "slower", option_fail_on, &set.fail_on,
         "exits with 3 if any row is SLOWER"},
        {0}};
    const command c = {
        "compare", "[options] A.json B.json ...",
        "Compares results of 'ingot bench': what is faster, by how much, and what is noise.\n"
        "One file with several devices compares those.",
        options};
    int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    if (argc < 1 || argc > FILES_MOST) {
        say(&c, "it takes 1 to %d results of 'ingot bench'; see 'ingot compare --help'",
            FILES_MOST);
        return EXIT_USAGE;
    }
    source sources[FILES_MOST] = {0};
    code = read_sources(&c, sources, argc, argv);
    if (code < 0)
        code = compare(&c, &set, sources, argc);
    free_sources(sources, argc);
    return code;
}

/* ---- report --------------------------------------------------------------------------------- */

/* Writes the page, and says so with its headline; frees both. */
static int say_page(const command *c, str *page, str *headline, const char *out, bool json)
{
    const size_t bytes = page->n;
    str t = {0};
    const int code = write_page(c, page, out);
    if (code == EXIT_FINE && strcmp(out, "-") != 0) {
        if (json) {
            str_json(&t, "{schema: 1, verb: report, headline: %s, output: %s, bytes: %zu}\n",
                     headline->s, out, bytes);
        } else {
            str_printf(&t, "%s\nThe page: %s\n", headline->s, out);
        }
        text_print(stdout, t.s);
    }
    str_free(&t);
    str_free(headline);
    return code;
}

/* The command that makes the page again. */
static void report_command(str *t, int n, char **paths, const char *out)
{
    str_puts(t, "ingot report");
    for (int i = 0; i < n; i++)
        shell_word(t, paths[i]);
    str_puts(t, " -o");
    shell_word(t, strcmp(out, "-") ? out : "report.html");
}

static int report(const command *c, char **path, const char *out, bool json)
{
    source from = {0};
    comparison comp;
    str page = {0}, headline = {0}, again = {0};
    int code = read_sources(c, &from, 1, path);
    if (code < 0) {
        report_command(&again, 1, path, out);
        comparison_make(&comp, &from, 1);
        page_make(&page, &comp, again.s);
        words_single(&headline, &from.r);
        code = say_page(c, &page, &headline, out, json);
        comparison_free(&comp);
        str_free(&again);
    }
    free_sources(&from, 1);
    return code;
}

static int report_logs(const command *c, int n, char **paths, const char *out, bool json)
{
    run_log runs[RUN_LOGS_MOST] = {0};
    str page = {0}, headline = {0}, again = {0}, why = {0};
    int code = EXIT_FINE;
    for (int i = 0; i < n && code == EXIT_FINE; i++)
        if (!run_log_read(&runs[i], paths[i], &why)) {
            say(c, "%s", why.s);
            code = EXIT_INPUT;
        }
    if (code == EXIT_FINE) {
        report_command(&again, n, paths, out);
        run_log_page(&page, runs, n, again.s);
        run_log_headline(&headline, runs, n);
        code = say_page(c, &page, &headline, out, json);
    }
    for (int i = 0; i < n; i++)
        run_log_free(&runs[i]);
    str_free(&again);
    str_free(&why);
    return code;
}

int verb_report(int argc, char **argv)
{
    const char *out = "-";
    bool json = false;
    const option options[] = {
        {"--output", 'o', "FILE", option_text, &out, "where the page goes (standard output)"},
        FLAG("--json", &json, "describes the page as JSON, schema 1; needs --output"),
        {0}};
    const command c = {"report", "[options] A.json | RUN.jsonl ...",
                       "Makes a self-contained HTML page from a result of 'ingot bench', or from "
                       "logs of training:\nRUN.jsonl is what 'ingot train gpt --log' wrote.",
                       options};
    int code = options_read(&c, &argc, argv), logs = 0;
    if (code >= 0)
        return code;
    for (int i = 0; i < argc; i++)
        logs += str_ends(argv[i], ".jsonl");
    if (logs ? logs < argc || argc > RUN_LOGS_MOST : argc != 1) {
        say(&c,
            "it takes one result of 'ingot bench', or 1 to %d logs of training (.jsonl); see "
            "'ingot report --help'",
            RUN_LOGS_MOST);
        return EXIT_USAGE;
    }
    if (json && strcmp(out, "-") == 0) {
        say(&c, "--json needs a file for the page: --output FILE");
        return EXIT_USAGE;
    }
    return logs ? report_logs(&c, argc, argv, out, json) : report(&c, argv, out, json);
}
