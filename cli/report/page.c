/* The page: one HTML file without scripts and without references to other files. */
#include "report/page.h"

#include <string.h>

#include "report/style.h"

/* Links to the sections of the page. */
static void contents(str *t, const str *sections)
{
    static const struct {
        const char *id, *title;
    } links[] = {{"kinds", "At a glance"},  {"ratios", "What is faster"}, {"times", "How fast"},
                 {"first", "First result"}, {"sizes", "Sizes"},           {"roofline", "Rooflines"},
                 {"threads", "Threads"},    {"machines", "Machines"},     {"ops", "Ops"},
                 {"samples", "Samples"},    {"glossary", "Works"},        {"data", "Reproduce"}};
    str_puts(t, "<nav aria-label=\"Contents\"><ul>");
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char mark[32];
        snprintf(mark, sizeof mark, "<h2 id=\"%s\"", links[i].id);
        if (strstr(sections->s, mark))
            html_put(t, "<li><a href=\"#%s\">%s</a></li>", links[i].id, links[i].title);
    }
    str_puts(t, "</ul></nav>\n");
}

/* Adds a link that downloads the file. Returns false if the page would become too large. */
static bool download(str *t, const source *s)
{
    str json = {0};
    result_json(&s->r, &json);
    const bool fits = t->n + json.n * 4 / 3 + 2000 < DATA_UNTIL;
    if (fits) {
        const char *slash = strrchr(s->path, '/');
        html_put(t, "<a download=\"%s\" href=\"data:application/json;base64,",
                 slash ? slash + 1 : s->path);
        html_base64(t, json.s, json.n);
        html_put(t, "\">%s</a>", s->path);
    }
    str_free(&json);
    return fits;
}

/* The command of a file, with its settings before it, in shell syntax. */
static void measured_by(str *t, const result *r)
{
    str line = {0};
    for (int i = 0; i < r->n_settings; i++) {
        const char *equals = strchr(r->settings[i], '=');
        const char *value = equals ? equals + 1 : "";
        const bool plain = !strpbrk(value, " \t'\"$`\\\\;&|<>()*?#~!");
        str_add(&line, r->settings[i], (size_t)(value - (equals ? r->settings[i] : value)));
        str_printf(&line, plain ? "%s " : "'%s' ", value);
    }
    str_puts(&line, r->command ? r->command : "ingot bench");
    html_put(t, "%s\n", line.s);
    str_free(&line);
}

static void section_data(str *t, const comparison *c, const char *command)
{
    part_heading(t, "data", "The data, and how to reproduce it", NULL);
    str_puts(t, "<p>The results with every sample:</p><ul>");
    for (int i = 0; i < c->n_sources; i++) {
        str_puts(t, "<li>");
        if (!download(t, &c->sources[i]))
            html_put(t, "%s (too large to be part of this page)", c->sources[i].path);
        str_puts(t, "</li>");
    }
    str_puts(t, "</ul><p>Measure on each machine, with these settings:</p><pre>");
    for (int i = 0; i < c->n_sources; i++)
        measured_by(t, &c->sources[i].r);
    html_put(t, "</pre><p>Make this page:</p><pre>%s\n</pre>\n", command);
    str_puts(t,
             "<p>Rows are compared only if both did the same work on the same inputs in the same "
             "math and found the same answer. A 99 % interval counts passes, not samples, and "
             "includes the 2 % by which two runs of one binary differ anyway. With fewer than "
             "three passes the verdict is always UNSURE.</p>\n");
}

/* The day of the latest run, "2026-11-15"; "" if no file has one. */
static void put_date(str *t, const comparison *c)
{
    const char *latest = "";
    for (int i = 0; i < c->n_sources; i++) {
        const char *started = c->sources[i].r.started;
        if (started && strcmp(started, latest) > 0)
            latest = started;
    }
    str_add(t, latest, strcspn(latest, "T"));
}

/* "notebook and server, 2026-11-15 - Ingot comparison": the title of a tab or a bookmark. */
static void put_title(str *t, const comparison *c)
{
    str date = {0};
    put_date(&date, c);
    for (int i = 0; i < c->n_sources; i++)
        str_printf(t, "%s%s", !i ? "" : i + 1 < c->n_sources ? ", " : " and ", c->names[i]);
    str_printf(t, "%s%s – %s", date.n ? ", " : "", date.n ? date.s : "",
               c->n_sources > 1 ? "Ingot comparison" : "Ingot report");
    str_free(&date);
}

/* The paragraphs below the headline, without one that repeats it. */
static void put_lead(str *t, const comparison *c, const char *headline)
{
    str lead = {0};
    if (c->n_matches)
        words_headline(&lead, c);
    for (int i = 0; i < c->n_sources && c->n_sources == 1; i++) {
        str_puts(&lead, lead.n ? "\n" : "");
        words_commands(&lead, &c->sources[i].r);
    }
    char *rest = NULL;
    for (char *line = lead.s ? strtok_r(lead.s, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        if (strcmp(line, headline) != 0)
            html_put(t, "<p class=\"lead\">%s</p>", line);
    str_free(&lead);
    for (int i = 0; i < c->n_sources && c->n_sources > 1; i++) {
        str machine = {0};
        words_machine(&machine, &c->sources[i].r);
        html_put(t, "<p class=\"lead who\"><b>%s</b> %s</p>", c->names[i], machine.s);
        str_free(&machine);
    }
}

void page_begin(str *t, const char *title)
{
    html_put(t,
             "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head>"
             "<meta charset=\"utf-8\"/><meta http-equiv=\"Content-Security-Policy\" "
             "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
             "form-action 'none'\"/><meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\"/><meta name=\"color-scheme\" content=\"light dark\"/>"
             "<title>%s</title><style>\n",
             title);
    str_puts(t, page_style());
    str_puts(t, "</style></head><body>");
}

void page_make(str *t, const comparison *c, const char *command)
{
    str headline = {0}, title = {0}, date = {0}, sections = {0};
    if (c->n_sources > 1)
        words_title(&headline, c);
    else
        words_single(&headline, &c->sources[0].r);
    put_title(&title, c);
    put_date(&date, c);
    page_begin(t, title.s);
    html_put(t, "<header><p class=\"brand\">%s%s%s</p><h1>%s</h1>",
             c->n_sources > 1 ? "Ingot comparison" : "Ingot report", date.n ? " · measured " : "",
             date.n ? date.s : "", headline.s);
    put_lead(t, c, headline.s);
    str_puts(t, "</header>\n");
    section_kinds(&sections, c);
    section_ratios(&sections, c);
    section_times(&sections, c);
    section_first(&sections, c);
    section_expected(&sections, c);
    section_crossing(&sections, c);
    section_roofline(&sections, c);
    section_scaling(&sections, c);
    section_cards(&sections, c);
    section_support(&sections, c);
    section_samples(&sections, c);
    section_glossary(&sections, c);
    section_data(&sections, c, command);
    contents(t, &sections);
    str_puts(t, "<main>\n");
    str_add(t, sections.s, sections.n);
    str_puts(t, "</main></body></html>\n");
    str_free(&sections);
    str_free(&headline);
    str_free(&title);
    str_free(&date);
}
