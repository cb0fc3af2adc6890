/* ingot devices: a card for each device, and the reasons why others are missing.
 * ingot doctor: a short list of the devices, and what disturbs measurements on this machine. */
#include "calc/calc.h"
#include "cli.h"

#include <string.h>

/* Adds a line to a card, unless it is empty. */
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

static void str_cores(str *t, const ig_device_info *d)
{
    str_printf(t, "%d", d->cores);
    if (d->efficiency_cores)
        str_printf(t, " (%d performance, %d efficiency)", d->performance_cores,
                   d->efficiency_cores);
    if (d->threads)
        str_printf(t, ", %d thread%s in use", d->threads, d->threads == 1 ? "" : "s");
}

static void card_threads(str *t, const ig_device_info *d)
{
    str line = {0};
    if (d->cores)
        str_cores(&line, d);
    card_line(t, "cores", line.s);
    str_free(&line);
}

static void card_libraries(str *t, const char *device)
{
    const ig_library *l;
    for (int i = 0; (l = ig_device_library(device, i)); i++) {
        str line = {0};
        str_printf(&line, "%s: %s%s", l->name, l->path ? "" : "not found; ",
                   l->path ? l->path : l->remedy);
        card_line(t, i ? "" : "libraries", line.s);
        str_free(&line);
    }
}

static void card(str *t, const ig_device_info *d, bool color)
{
    str_printf(t, "%s%s%s  %s\n", color ? "\033[1m" : "", d->name, color ? "\033[0m" : "",
               d->model ? d->model : "");
    card_line(t, "kind", d->kind);
    card_line(t, "runs",
              d->runs_arrays && d->runs_kernels ? "arrays, kernels"
              : d->runs_arrays                  ? "arrays"
              : d->runs_kernels                 ? "kernels"
                                                : NULL);
    card_threads(t, d);
    card_memory(t, d);
    card_line(t, "limits", d->limits);
    card_caches(t, d);
    card_line(t, "driver", d->driver);
    card_line(t, "level", d->level);
    card_line(t, "levels", d->levels && d->level && strcmp(d->levels, d->level) ? d->levels : NULL);
    card_line(t, "features", d->isa);
    card_line(t, "blas", d->blas);
    card_libraries(t, d->name);
    card_line(t, "note", d->note);
}

/* The card of a missing device. */
static void card_absent(str *t, const ig_absent *a, bool color)
{
    str_printf(t, "%s%s%s  not here\n", color ? "\033[1m" : "", a->name, color ? "\033[0m" : "");
    card_line(t, "why", a->why);
    card_line(t, "try", a->remedy);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_libraries(str *t, const char *device)
{
    const ig_library *l;
    str_json(t, "libraries: [");
    for (int i = 0; (l = ig_device_library(device, i)); i++)
        str_json(t, "{name: %s, path: %s, remedy: %s}", l->name, l->path, l->remedy);
    str_json(t, "]");
}

static void json_device(str *t, const ig_device_info *d)
{
    str_json(t, "{name: %s, kind: %s, model: %s, level: %s, levels: %s, isa: %s", d->name, d->kind,
             d->model, d->level, d->levels, d->isa);
    str_json(t, "note: %s, blas: %s, driver: %s, limits: %s", d->note, d->blas, d->driver,
             d->limits);
    json_libraries(t, d->name);
    str_json(t, "runs_arrays: %hhd, runs_kernels: %hhd", d->runs_arrays, d->runs_kernels);
    str_json(t, "cores: %d, performance_cores: %d, efficiency_cores: %d, threads: %d, quota: %g",
             d->cores, d->performance_cores, d->efficiency_cores, d->threads, d->quota);
    str_json(t, "memory: %llu, memory_limit: %llu, cache: [%llu, %llu, %llu]}",
             (unsigned long long)d->memory, (unsigned long long)d->memory_limit,
             (unsigned long long)d->cache[0], (unsigned long long)d->cache[1],
             (unsigned long long)d->cache[2]);
}

static void json_absent(str *t, const ig_machine *m)
{
    str_json(t, "], absent: [");
    for (int i = 0; i < m->n_absent; i++)
        str_json(t, "{name: %s, why: %s, remedy: %s}", m->absent[i].name, m->absent[i].why,
                 m->absent[i].remedy);
    str_json(t, "]");
}

static const char *const severities[] = {
    [IG_FINE] = "fine", [IG_NOTE] = "note", [IG_WARNING] = "warning"};

static void json_machine(str *t, const ig_machine *m)
{
    str_json(t,
             "machine: {system: %s, distribution: %s, arch: %s, virtual_machine: %s, "
             "container: %s}, findings: [",
             m->system, m->distribution, m->arch, m->virtual_machine, m->container);
    for (int i = 0; i < m->n_findings; i++) {
        const ig_finding *f = &m->findings[i];
        str_json(t, "{severity: %s, subject: %s, what: %s, remedy: %s}", severities[f->severity],
                 f->subject, f->what, f->remedy);
    }
    str_json(t, "]");
}

/* ---- the doctor ----------------------------------------------------------------------------- */

static void finding(str *t, const char *mark, int color, const char *subject, const char *what,
                    const char *remedy)
{
    if (color)
        str_printf(t, "\033[%dm%-8s\033[0m ", color, mark);
    else
        str_printf(t, "%-8s ", mark);
    str_printf(t, "%-10s %s\n", subject, what);
    if (remedy)
        str_printf(t, "%20stry: %s\n", "", remedy);
}

static void doctor_place(str *t, const ig_machine *m)
{
    const char *const parts[] = {m->distribution, m->arch, m->container};
    str_printf(t, "%s", m->system ? m->system : "unknown system");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i])
            str_printf(t, ", %s%s", i == 2 ? "in " : "", parts[i]);
    str_puts(t, "\n");
}

static void doctor_devices(str *t, const ig_machine *m, bool color)
{
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {0};
        if (ig_device_get(i, &d) != IG_OK || !d.cores)
            continue;
        str line = {0};
        str_printf(&line, "%s, cores: ", d.model && *d.model ? d.model : "unknown model");
        str_cores(&line, &d);
        finding(t, "fine", color ? 32 : 0, d.name, line.s, NULL);
        if (d.limits)
            finding(t, "note", color ? 33 : 0, d.name, d.limits, NULL);
        if (d.note)
            finding(t, "warning", color ? 31 : 0, d.name, d.note, "correct the setting");
        str_free(&line);
    }
    for (int i = 0; i < m->n_absent; i++)
        finding(t, "absent", color ? 2 : 0, m->absent[i].name, m->absent[i].why,
                m->absent[i].remedy);
}

static void doctor(str *t, const ig_machine *m, bool color)
{
    static const int colors[] = {[IG_FINE] = 32, [IG_NOTE] = 33, [IG_WARNING] = 31};
    int warnings = 0;
    doctor_place(t, m);
    doctor_devices(t, m, color);
    for (int i = 0; i < m->n_findings; i++) {
        const ig_finding *f = &m->findings[i];
        finding(t, severities[f->severity], color ? colors[f->severity] : 0, f->subject, f->what,
                f->remedy);
        warnings += f->severity == IG_WARNING;
    }
    if (warnings)
        str_printf(t, "%d warning%s: times measured now may be off\n", warnings,
                   warnings == 1 ? "" : "s");
}

/* ---- the verbs ------------------------------------------------------------------------------ */

static bool devices(str *t, const ig_machine *m, bool json, bool color)
{
    if (json)
        str_json(t, "{schema: 1, devices: [");
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {0};
        if (ig_device_get(i, &d) != IG_OK)
            return false;
        str_puts(t, i && !json ? "\n" : "");
        if (json)
            json_device(t, &d);
        else
            card(t, &d, color);
    }
    if (json)
        json_absent(t, m);
    for (int i = 0; !json && i < m->n_absent; i++) {
        str_puts(t, "\n");
        card_absent(t, &m->absent[i], color);
    }
    return true;
}

/* Runs either verb: parses the options, prints, and returns the exit code. */
static int show(const command *c, int argc, char **argv, const bool *json,
                const engine_options *engine, bool with_doctor)
{
    int code = options_read(c, &argc, argv);
    if (code < 0 && argc > 0) {
        say(c, "unexpected '%s'; see 'ingot %s --help'", argv[0], c->name);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = engine_apply(c, engine);
    if (code >= 0)
        return code;
    bool color = color_for(stdout), fine = true;
    ig_machine *m = ig_machine_get();
    str t = {0};
    if (m && (!with_doctor || *json))
        fine = devices(&t, m, *json, color);
    else if (m)
        doctor(&t, m, color);
    if (m && with_doctor && *json)
        json_machine(&t, m);
    if (*json)
        str_json(&t, "}\n");
    if (m && fine)
        text_print(stdout, t.s);
    str_free(&t);
    ig_free(m);
    return m && fine ? EXIT_FINE : fail_library(c);
}

int verb_devices(int argc, char **argv)
{
    bool json = false;
    engine_options engine = {0};
    const option options[] = {
        FLAG("--json", &json, "as JSON, schema 1"), ENGINE_OPTIONS(engine), {0}};
    const command c = {"devices", "[options]",
                       "Lists the devices of this machine, and why others are missing.", options};
    return show(&c, argc, argv, &json, &engine, false);
}

int verb_doctor(int argc, char **argv)
{
    bool json = false;
    engine_options engine = {0};
    const option options[] = {
        FLAG("--json", &json, "as JSON, schema 1"), ENGINE_OPTIONS(engine), {0}};
    const command c = {
        "doctor", "[options]",
        "Finds what disturbs measurements on this machine. Prints one line for each subject\n"
        "(fine, note or warning), with a remedy if there is one.",
        options};
    return show(&c, argc, argv, &json, &engine, true);
}
