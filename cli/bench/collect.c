/* Fills in a result. All memory comes from the result's arena. */
#include "cli.h"
#include "bench/collect.h"

#include "machine.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char **environ;

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static const char *keep(result *r, const char *s)
{
    return s ? arena_string(&r->memory, s, strlen(s)) : NULL;
}

/* A copy of a list with room for one more item; lists are short. */
static void *grown(result *r, const void *old, int n, size_t bytes)
{
    void *list = arena_get(&r->memory, bytes * (size_t)(n + 1));
    if (n)
        memcpy(list, old, bytes * (size_t)n);
    return list;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The environment variables whose names begin with IG_, sorted, except those that bench sets itself. */
static void collect_settings(result *r)
{
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "IG_", 3) == 0 && strncmp(*at, "IG_TEST_", 8) != 0 &&
            strcmp(*at, "IG_MPS=measure") != 0) {
            r->settings = grown(r, r->settings, r->n_settings, sizeof *r->settings);
            r->settings[r->n_settings++] = keep(r, *at);
        }
    if (r->n_settings)
        qsort(r->settings, (size_t)r->n_settings, sizeof *r->settings, by_text);
}

bool collect_begin(result *r, int argc, char **argv)
{
    ig_machine *m = ig_machine_get();
    if (!m)
        return false;
    str line = {0};
    char started[32];
    time_t now = time(NULL);
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    str_puts(&line, "ingot");
    for (int i = 0; i < argc; i++)
        str_printf(&line, strpbrk(argv[i], " ;|&") ? " '%s'" : " %s", argv[i]);
    r->version = keep(r, ig_version());
    r->compiler = COMPILER;
    r->started = keep(r, started);
    r->command = keep(r, line.s);
    collect_settings(r);
    r->math = math_name();
    r->system = keep(r, m->system);
    r->arch = keep(r, m->arch);
    r->virtual_machine = keep(r, m->virtual_machine);
    r->n_disturbances = machine_disturbances(m, &r->memory, &r->disturbances);
    str_free(&line);
    ig_free(m);
    return true;
}

void collect_disturbance(result *r, const char *text)
{
    r->disturbances = grown(r, r->disturbances, r->n_disturbances, sizeof *r->disturbances);
    r->disturbances[r->n_disturbances++] = keep(r, text);
}

void collect_device(result *r, const ig_device_info *d, int threads, double flops, double bytes)
{
    r->devices = grown(r, r->devices, r->n_devices, sizeof *r->devices);
    r->devices[r->n_devices++] = (result_device){
        .name = keep(r, d->name),
        .kind = keep(r, d->kind),
        .model = keep(r, d->model),
        .level = keep(r, d->level),
        .isa = keep(r, d->isa),
        .driver = keep(r, d->driver),
        .cores = d->cores,
        .performance_cores = d->performance_cores,
        .efficiency_cores = d->efficiency_cores,
        .threads = device_is_host(d->name) ? threads : d->threads,
        .quota = d->quota,
        .memory = d->memory,
        .memory_limit = d->memory_limit,
        .cache = {d->cache[0], d->cache[1], d->cache[2]},
        .peak_flops = flops,
        .peak_bytes = bytes,
    };
}

void collect_peak(result *r, const char *device, const char *of, int threads, double rate)
{
    for (int i = 0; i < r->n_devices && rate > 0; i++) {
        result_device *d = &r->devices[i];
        if (strcmp(d->name, device) != 0)
            continue;
        d->peaks = grown(r, d->peaks, d->n_peaks, sizeof *d->peaks);
        d->peaks[d->n_peaks++] = (result_peak){keep(r, of), threads, rate};
    }
}

/* The dtypes with this kind of support, "f32 f64". */
static const char *dtypes_text(result *r, const support *s, taking which)
{
    str t = {0};
    str_puts(&t, "");
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++)
        if (s->is[d] == which)
            str_printf(&t, "%s%s", t.n ? " " : "", ig_dtype_name(d));
    const char *text = keep(r, t.s);
    str_free(&t);
    return text;
}

void collect_ops(result *r, const char *device)
{
    result_op *ops = arena_get(&r->memory, sizeof *ops * (size_t)(r->n_ops + ig_op_count()));
    if (r->n_ops)
        memcpy(ops, r->ops, sizeof *ops * (size_t)r->n_ops);
    r->ops = ops;
    for (int i = 0; i < ig_op_count(); i++) {
        const ig_op *op = ig_op_at(i);
        support s = support_ask(op, device);
        ops[r->n_ops++] = (result_op){.name = keep(r, op->name),
                                      .cls = keep(r, op->cls),
                                      .device = keep(r, device),
                                      .native = dtypes_text(r, &s, TAKING_NATIVE),
                                      .fallback = "",
                                      .refused = dtypes_text(r, &s, TAKING_REFUSED)};
        support_free(&s);
    }
}

/* Warns if the data of a work that measures memory may stay in a cache. */
static bool warn_cache(const result *r, const job *j, str *line)
{
    uint64_t cache = 0;
    for (int i = 0; i < r->n_devices; i++)
        for (int k = 0; k < 3 && strcmp(r->devices[i].name, j->device) == 0; k++)
            cache = r->devices[i].cache[k] > cache ? r->devices[i].cache[k] : cache;
    if (strcmp(j->work->group, "memory") != 0 || j->bytes <= 0 ||
        j->memory_bytes > 2 * (double)cache)
        return false;
    str_puts(line, "cache: its ");
    str_size(line, (uint64_t)j->memory_bytes);
    str_puts(line, " may stay in a cache of ");
    str_size(line, cache);
    return true;
}

static void row_warnings(result *r, result_row *row, const job *j)
{
    enum { MOST = WARNINGS_MOST + 1 };
    str lines[MOST] = {0};
    int n = samples_warn(row_timings(row), lines);
    row->n_warnings = n + (j && warn_cache(r, j, &lines[n]));
    row->warnings = arena_get(&r->memory, sizeof *row->warnings * MOST);
    for (int i = 0; i < MOST; i++) {
        row->warnings[i] = keep(r, lines[i].s);
        str_free(&lines[i]);
    }
}

void collect_row(result *r, const task *t, const job *j, const user_command *c, bool spread)
{
    r->rows = grown(r, r->rows, r->n_rows, sizeof *r->rows);
    result_row *row = &r->rows[r->n_rows++];
    *row = (result_row){.work = c ? "command" : j->work->name,
                        .size = keep(r, c ? c->text : j->size),
                        .dtype = c ? "none" : ig_dtype_name(j->dtype),
                        .device = c ? "system" : keep(r, j->device),
                        .group = c ? "command" : j->work->group,
                        .input = keep(r, c ? c->text : j->input),
                        .math = math_name(),
                        .threads = c ? 0 : j->threads,
                        .extent = c ? 0 : j->extent,
                        .flops = c ? 0 : j->flops,
                        .bytes = c ? 0 : j->bytes,
                        .tokens = c ? 0 : j->tokens,
                        .answer = c || !*j->answer ? NULL : keep(r, j->answer),
                        .repeats = t->repeats,
                        .others = r->others,
                        .n = t->n};
    row->seconds = arena_get(&r->memory, sizeof *row->seconds * (size_t)(t->n + 1));
    row->round = arena_get(&r->memory, sizeof *row->round * (size_t)(t->n + 1));
    memcpy(row->seconds, t->seconds, sizeof *row->seconds * (size_t)t->n);
    memcpy(row->round, t->round, sizeof *row->round * (size_t)t->n);
    row->n_waited = t->n;
    row->waited = arena_get(&r->memory, sizeof *row->waited * (size_t)(t->n + 1));
    memcpy(row->waited, t->waited, sizeof *row->waited * (size_t)t->n);
    row->n_process = spread && t->n ? t->round[t->n - 1] + 1 : 0;
    row->process = arena_get(&r->memory, sizeof *row->process * (size_t)(row->n_process + 1));
    for (int i = 0; i < row->n_process; i++)
        row->process[i] = i;
    row_warnings(r, row, j);
}
