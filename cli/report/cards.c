/* A card for each machine. Facts that differ between machines are marked. */
#include "report/page.h"

#include <string.h>

/* Adds a fact of a file or of one of its devices; nothing if it is unknown. */
typedef void fact_words(str *t, const result *r, const result_device *d);

static void put_known(str *t, const char *s) { str_puts(t, s ? s : ""); }
static void put_size(str *t, uint64_t bytes)
{
    if (bytes)
        str_size(t, bytes);
}

/* clang-format off */
static void fact_system(str *t, const result *r, const result_device *d)
{ (void)d; put_known(t, r->system); }
static void fact_arch(str *t, const result *r, const result_device *d)
{ (void)d; put_known(t, r->arch); }
static void fact_virtual(str *t, const result *r, const result_device *d)
{ (void)d; put_known(t, r->virtual_machine); }
static void fact_version(str *t, const result *r, const result_device *d)
{ (void)d; put_known(t, r->version); }
static void fact_compiler(str *t, const result *r, const result_device *d)
{ (void)d; put_known(t, r->compiler); }
static void fact_math(str *t, const result *r, const result_device *d)
{ (void)d; put_known(t, r->math); }
static void fact_model(str *t, const result *r, const result_device *d)
{ (void)r; put_known(t, d->model); }
static void fact_kind(str *t, const result *r, const result_device *d)
{ (void)r; put_known(t, d->kind); }
static void fact_level(str *t, const result *r, const result_device *d)
{ (void)r; put_known(t, d->level); }
static void fact_isa(str *t, const result *r, const result_device *d)
{ (void)r; put_known(t, d->isa); }
static void fact_driver(str *t, const result *r, const result_device *d)
{ (void)r; put_known(t, d->driver); }
static void fact_memory(str *t, const result *r, const result_device *d)
{ (void)r; put_size(t, d->memory); }
/* clang-format on */

static void fact_cores(str *t, const result *r, const result_device *d)
{
    (void)r;
    if (!d->cores)
        return;
    str_printf(t, "%d", d->cores);
    if (d->performance_cores && d->efficiency_cores)
        str_printf(t, " (%d performance, %d efficiency)", d->performance_cores,
                   d->efficiency_cores);
    if (d->threads)
        str_printf(t, ", %d thread%s", d->threads, d->threads == 1 ? "" : "s");
    if (d->quota > 0)
        str_printf(t, ", quota %.3g", d->quota);
}

static void fact_caches(str *t, const result *r, const result_device *d)
{
    (void)r;
    for (int i = 0; i < 3; i++)
        if (d->cache[i]) {
            str_puts(t, t->n ? ", " : "");
            str_size(t, d->cache[i]);
        }
}

static void fact_peaks(str *t, const result *r, const result_device *d)
{
    (void)r;
    if (d->peak_flops > 0)
        words_rate(t, d->peak_flops, "FLOP/s");
    str_puts(t, d->peak_flops > 0 && d->peak_bytes > 0 ? ", " : "");
    if (d->peak_bytes > 0)
        words_rate(t, d->peak_bytes, "B/s");
}

static const struct fact {
    const char *name;
    fact_words *words;
    bool of_device;
} facts[] = {
    {"System", fact_system, false},      {"Processor", fact_arch, false},
    {"Virtual", fact_virtual, false},    {"Ingot", fact_version, false},
    {"Compiler", fact_compiler, false},  {"Math", fact_math, false},
    {"Model", fact_model, true},         {"Kind", fact_kind, true},
    {"Cores", fact_cores, true},         {"Memory", fact_memory, true},
    {"Caches", fact_caches, true},       {"Level", fact_level, true},
    {"Features", fact_isa, true},        {"Driver", fact_driver, true},
    {"Measured peak", fact_peaks, true},
};

/* The device of a file with this name; NULL if there is none. */
static const result_device *named(const result *r, const char *name)
{
    for (int i = 0; i < r->n_devices; i++)
        if (strcmp(r->devices[i].name, name) == 0)
            return &r->devices[i];
    return NULL;
}

/* True if another file has another value. A device that only one file has does not differ. */
static bool differs(const comparison *c, const struct fact *f, const char *device, const char *here)
{
    bool differs = false;
    for (int i = 0; i < c->n_sources && !differs; i++) {
        const result *r = &c->sources[i].r;
        const result_device *d = f->of_device ? named(r, device) : NULL;
        str there = {0};
        if (f->of_device && !d)
            continue;
        f->words(&there, r, d);
        differs = strcmp(there.s ? there.s : "", here) != 0;
        str_free(&there);
    }
    return differs;
}

static void card_facts(str *t, const comparison *c, const result *r, const result_device *d)
{
    str_puts(t, "<dl>");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        str says = {0};
        if (facts[i].of_device != (d != NULL))
            continue;
        facts[i].words(&says, r, d);
        if (says.n) {
            bool other = differs(c, &facts[i], d ? d->name : "", says.s);
            html_put(t, "<dt>%s</dt><dd>", facts[i].name);
            html_put(t, other ? "<mark>%s</mark></dd>" : "%s</dd>", says.s);
        }
        str_free(&says);
    }
    str_puts(t, "</dl>");
}

static void card(str *t, const comparison *c, int number)
{
    const source *s = &c->sources[number];
    html_put(t, "<section class=\"card\"><h3>%s</h3>", c->names[number]);
    card_facts(t, c, &s->r, NULL);
    for (int i = 0; i < s->r.n_devices; i++) {
        html_put(t, "<h4>%s</h4>", s->r.devices[i].name);
        card_facts(t, c, &s->r, &s->r.devices[i]);
    }
    if (s->r.started)
        html_put(t, "<p class=\"note\">Measured %s in %.0f s.</p>", s->r.started, s->r.seconds);
    if (!s->r.complete)
        str_puts(t, "<p class=\"note\"><strong>The run was interrupted.</strong></p>");
    for (int i = 0; i < s->r.n_disturbances; i++)
        html_put(t, "<p class=\"note\">Disturbed: %s.</p>", s->r.disturbances[i]);
    str_puts(t, "</section>\n");
}

void section_cards(str *t, const comparison *c)
{
    part_heading(t, "machines", c->n_sources > 1 ? "The machines" : "The machine",
                 c->n_sources > 1 ? "Facts that differ are marked." : NULL);
    str_puts(t, "<div class=\"cards\">\n");
    for (int i = 0; i < c->n_sources; i++)
        card(t, c, i);
    str_puts(t, "</div>\n");
}
