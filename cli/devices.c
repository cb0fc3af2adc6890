/* ingot devices: what can compute here, a card for each device. */
#include "calc.h"
#include "cli.h"

#include <string.h>

/* A line of a card; nothing where there is nothing to say. */
static void card_line(str *t, const char *label, const char *says)
{
    if (says && *says)
        str_printf(t, "  %-9s %s\n", label, says);
}

static void card_caches(str *t, const ig_device_info *d)
{
    static const char *const names[] = {"L1d", "L2", "L3"};
    str line = {0};
    for (int i = 0; i < 3; i++)
        if (d->cache[i]) {
            str_printf(&line, "%s%s ", line.n ? ", " : "", names[i]);
            str_size(&line, d->cache[i]);
        }
    card_line(t, "caches", line.s);
    str_free(&line);
}

static void card_memory(str *t, const ig_device_info *d)
{
    str line = {0};
    if (d->memory) {
        str_size(&line, d->memory);
        str_puts(&line, ", of which Ingot may hold ");
        str_size(&line, d->memory_limit);
    }
    card_line(t, "memory", line.s);
    str_free(&line);
}

static void card_threads(str *t, const ig_device_info *d)
{
    str line = {0};
    if (d->cores) {
        str_printf(&line, "%d, %d thread%s in use", d->cores, d->threads,
                   d->threads == 1 ? "" : "s");
        if (d->quota > 0)
            str_printf(&line, " (quota of the cgroup: %g)", d->quota);
    }
    card_line(t, "cores", line.s);
    str_free(&line);
}

static void card(str *t, const ig_device_info *d, bool color)
{
    str_printf(t, "%s%s%s  %s\n", color ? "\033[1m" : "", d->name, color ? "\033[0m" : "",
               d->model ? d->model : "");
    card_line(t, "kind", d->kind);
    card_threads(t, d);
    card_memory(t, d);
    card_caches(t, d);
    card_line(t, "level", d->level);
    card_line(t, "levels", d->levels && d->level && strcmp(d->levels, d->level) ? d->levels : NULL);
    card_line(t, "features", d->isa);
    card_line(t, "note", d->note);
}

static void json_text(str *t, const char *name, const char *s)
{
    str_printf(t, "\"%s\": ", name);
    if (s)
        json_string(t, s);
    else
        str_puts(t, "null");
    str_puts(t, ", ");
}

static void json_device(str *t, const ig_device_info *d)
{
    str_puts(t, "{");
    json_text(t, "name", d->name);
    json_text(t, "kind", d->kind);
    json_text(t, "model", d->model);
    json_text(t, "level", d->level);
    json_text(t, "levels", d->levels);
    json_text(t, "isa", d->isa);
    json_text(t, "note", d->note);
    str_printf(t,
               "\"cores\": %d, \"threads\": %d, \"quota\": %g, \"memory\": %llu, "
               "\"memory_limit\": %llu, \"cache\": [%llu, %llu, %llu]}",
               d->cores, d->threads, d->quota, (unsigned long long)d->memory,
               (unsigned long long)d->memory_limit, (unsigned long long)d->cache[0],
               (unsigned long long)d->cache[1], (unsigned long long)d->cache[2]);
}

int verb_devices(int argc, char **argv)
{
    bool json = false;
    engine_options engine = {0};
    const option options[] = {
        FLAG("--json", &json, "as JSON, schema 1"), ENGINE_OPTIONS(engine), {0}};
    const command c = {"devices", "[options]", "Shows what can compute here.", options};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && argc > 0) {
        say(&c, "unexpected '%s'; see 'ingot devices --help'", argv[0]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = engine_apply(&c, &engine);
    if (code >= 0)
        return code;
    str t = {0};
    str_puts(&t, json ? "{\"schema\": 1, \"devices\": [" : "");
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {0};
        if (ig_device_get(i, &d) != IG_OK) {
            str_free(&t);
            return fail_library(&c);
        }
        str_puts(&t, i == 0 ? "" : json ? ", " : "\n");
        if (json)
            json_device(&t, &d);
        else
            card(&t, &d, color_for(stdout));
    }
    str_puts(&t, json ? "]}\n" : "");
    fputs(t.s, stdout);
    str_free(&t);
    return EXIT_FINE;
}
