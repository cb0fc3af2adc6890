/* The page: one file of HTML with everything in it. No scripts, nothing from elsewhere. */
#include "report/page.h"

#include <string.h>

#include "report/style.h"

static void contents(str *t, const comparison *c)
{
    static const struct {
        const char *id, *title;
    } links[] = {{"ratios", "What is faster"}, {"times", "How fast"},
                 {"machines", "Machines"},     {"first", "First result"},
                 {"sizes", "Sizes"},           {"roofline", "Rooflines"},
                 {"threads", "Threads"},       {"ops", "Ops"},
                 {"samples", "Samples"},       {"data", "Data"}};
    str_puts(t, "<nav aria-label=\"Contents\"><ul>");
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (strcmp(links[i].id, c->n_matches ? "times" : "ratios") != 0)
            html_put(t, "<li><a href=\"#%s\">%s</a></li>", links[i].id, links[i].title);
    str_puts(t, "</ul></nav>\n");
}

/* The file's text for download; false: the page would become too large. */
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

void section_data(str *t, const comparison *c, const char *command)
{
    part_heading(t, "data", "The data, and how to do it again", NULL);
    str_puts(t, "<p>The results themselves, with every sample:</p><ul>");
    for (int i = 0; i < c->n_sources; i++) {
        str_puts(t, "<li>");
        if (!download(t, &c->sources[i]))
            html_put(t, "%s (too large to be carried along)", c->sources[i].path);
        str_puts(t, "</li>");
    }
    str_puts(t, "</ul><p>Measured by</p><pre>");
    for (int i = 0; i < c->n_sources; i++)
        html_put(t, "%s\n", c->sources[i].r.command ? c->sources[i].r.command : "ingot bench");
    html_put(t, "</pre><p>This page is made by</p><pre>%s\n</pre>\n", command);
    str_puts(
        t,
        "<p>A row is compared only with one that did the same work on the same inputs in the same "
        "math and found the same answer. Intervals count passes, not samples, hold 99 times of "
        "100, and allow for the 2 % by which runs of the same binary differ though nothing "
        "changed.</p>\n");
}

void page_make(str *t, const comparison *c, const char *command)
{
    str headline = {0}, lead = {0};
    if (c->n_sources > 1) {
        words_title(&headline, c);
        words_headline(&lead, c);
    } else {
        words_single(&headline, &c->sources[0].r);
        if (c->n_matches)
            words_headline(&lead, c);
    }
    const char *title = c->n_sources > 1 ? "Ingot: comparison" : "Ingot: report";
    html_put(t,
             "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head>"
             "<meta charset=\"utf-8\"/><meta http-equiv=\"Content-Security-Policy\" "
             "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
             "form-action 'none'\"/><meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\"/><meta name=\"color-scheme\" content=\"light dark\"/>"
             "<title>%s</title><style>\n",
             title);
    str_puts(t, page_style());
    html_put(t, "</style></head><body><header><p class=\"brand\">%s</p><h1>", title);
    html_put(t, "%s</h1>", headline.s);
    for (char *line = lead.s ? strtok(lead.s, "\n") : NULL; line; line = strtok(NULL, "\n"))
        html_put(t, "<p class=\"lead\">%s</p>", line);
    str_puts(t, "</header>\n");
    contents(t, c);
    str_puts(t, "<main>\n");
    section_ratios(t, c);
    section_times(t, c);
    section_cards(t, c);
    section_first(t, c);
    section_crossing(t, c);
    section_roofline(t, c);
    section_scaling(t, c);
    section_support(t, c);
    section_samples(t, c);
    section_data(t, c, command);
    str_puts(t, "</main></body></html>\n");
    str_free(&headline);
    str_free(&lead);
}
