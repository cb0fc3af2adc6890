/* Reads and writes result files (JSON, schema 1), both from the same tables of fields.
 *
 * A result that was read is safe to use: required names are present, numbers are not negative and within
 * limits, times are positive, and texts have no control characters. Unknown keys are skipped, so that later
 * versions can add some. */
#include "bench/result.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli.h"

enum { FILE_BYTES_MOST = 64 << 20, SAMPLES_MOST = 100000, LIST_MOST = 4000, DEVICES_MOST = 16 };
/* Numbers outside of these limits are refused, so that no computation with them overflows. */
static const double TIME_LEAST = 1e-12, TIME_MOST = 1e9, REAL_LEAST = 1e-30, REAL_MOST = 1e30;

/* ---- the fields ----------------------------------------------------------------------------- */

typedef enum kind {
    TEXT,    /* const char *; null: unknown */
    NAME,    /* const char *, required */
    YESNO,   /* bool */
    COUNT,   /* int, at least 0 */
    SIZE,    /* uint64_t */
    REAL,    /* double, at least 0 */
    CACHES,  /* uint64_t [3] */
    TEXTS,   /* const char ** and, at count, how many */
    COUNTS,  /* int * likewise */
    REALS,   /* double * likewise */
    SAMPLES, /* a list for each pass: seconds and round of a row */
    LIST     /* structures and, at count, how many */
} kind;

typedef struct field {
    const char *key;
    kind kind;
    size_t at, count;
    const struct record *of;
} field;

/* A structure of the file. */
typedef struct record {
    const char *name; /* for messages: "row" */
    size_t bytes;
    const field *fields; /* ends with an entry without a key */
} record;

#define AT(type, member) offsetof(struct type, member)

static const field row_fields[] = {
    {"work", NAME, AT(result_row, work), 0, NULL},
    {"size", NAME, AT(result_row, size), 0, NULL},
    {"dtype", NAME, AT(result_row, dtype), 0, NULL},
    {"device", NAME, AT(result_row, device), 0, NULL},
    {"group", NAME, AT(result_row, group), 0, NULL},
    {"input", NAME, AT(result_row, input), 0, NULL},
    {"math", NAME, AT(result_row, math), 0, NULL},
    {"threads", COUNT, AT(result_row, threads), 0, NULL},
    {"extent", REAL, AT(result_row, extent), 0, NULL},
    {"flops", REAL, AT(result_row, flops), 0, NULL},
    {"bytes", REAL, AT(result_row, bytes), 0, NULL},
    {"tokens", REAL, AT(result_row, tokens), 0, NULL},
    {"answer", TEXT, AT(result_row, answer), 0, NULL},
    {"repeats", COUNT, AT(result_row, repeats), 0, NULL},
    {"warnings", TEXTS, AT(result_row, warnings), AT(result_row, n_warnings), NULL},
    {"process", COUNTS, AT(result_row, process), AT(result_row, n_process), NULL},
    {"waited", REALS, AT(result_row, waited), AT(result_row, n_waited), NULL},
    {"seconds", SAMPLES, 0, 0, NULL},
    {0}};
static const record row_record = {"row", sizeof(result_row), row_fields};

static const field peak_fields[] = {{"of", NAME, AT(result_peak, of), 0, NULL},
                                    {"threads", COUNT, AT(result_peak, threads), 0, NULL},
                                    {"rate", REAL, AT(result_peak, rate), 0, NULL},
                                    {0}};
static const record peak_record = {"peak", sizeof(result_peak), peak_fields};

static const field device_fields[] = {
    {"name", NAME, AT(result_device, name), 0, NULL},
    {"kind", TEXT, AT(result_device, kind), 0, NULL},
    {"model", TEXT, AT(result_device, model), 0, NULL},
    {"level", TEXT, AT(result_device, level), 0, NULL},
    {"isa", TEXT, AT(result_device, isa), 0, NULL},
    {"driver", TEXT, AT(result_device, driver), 0, NULL},
    {"cores", COUNT, AT(result_device, cores), 0, NULL},
    {"performance_cores", COUNT, AT(result_device, performance_cores), 0, NULL},
    {"efficiency_cores", COUNT, AT(result_device, efficiency_cores), 0, NULL},
    {"threads", COUNT, AT(result_device, threads), 0, NULL},
    {"quota", REAL, AT(result_device, quota), 0, NULL},
    {"memory", SIZE, AT(result_device, memory), 0, NULL},
    {"memory_limit", SIZE, AT(result_device, memory_limit), 0, NULL},
    {"cache", CACHES, AT(result_device, cache), 0, NULL},
    {"peak_flops", REAL, AT(result_device, peak_flops), 0, NULL},
    {"peak_bytes", REAL, AT(result_device, peak_bytes), 0, NULL},
    {"peaks", LIST, AT(result_device, peaks), AT(result_device, n_peaks), &peak_record},
    {0}};
static const record device_record = {"device", sizeof(result_device), device_fields};

static const field op_fields[] = {{"name", NAME, AT(result_op, name), 0, NULL},
                                  {"class", NAME, AT(result_op, cls), 0, NULL},
                                  {"device", NAME, AT(result_op, device), 0, NULL},
                                  {"native", TEXT, AT(result_op, native), 0, NULL},
                                  {"fallback", TEXT, AT(result_op, fallback), 0, NULL},
                                  {"refused", TEXT, AT(result_op, refused), 0, NULL},
                                  {0}};
static const record op_record = {"op", sizeof(result_op), op_fields};

static const field file_fields[] = {
    {"schema", COUNT, AT(result, schema), 0, NULL},
    {"verb", NAME, AT(result, verb), 0, NULL},
    {"version", NAME, AT(result, version), 0, NULL},
    {"compiler", TEXT, AT(result, compiler), 0, NULL},
    {"started", TEXT, AT(result, started), 0, NULL},
    {"command", TEXT, AT(result, command), 0, NULL},
    {"settings", TEXTS, AT(result, settings), AT(result, n_settings), NULL},
    {"math", TEXT, AT(result, math), 0, NULL},
    {"system", TEXT, AT(result, system), 0, NULL},
    {"arch", TEXT, AT(result, arch), 0, NULL},
    {"virtual_machine", TEXT, AT(result, virtual_machine), 0, NULL},
    {"complete", YESNO, AT(result, complete), 0, NULL},
    {"seconds", REAL, AT(result, seconds), 0, NULL},
    {"others", REAL, AT(result, others), 0, NULL},
    {"disturbances", TEXTS, AT(result, disturbances), AT(result, n_disturbances), NULL},
    {"devices", LIST, AT(result, devices), AT(result, n_devices), &device_record},
    {"ops", LIST, AT(result, ops), AT(result, n_ops), &op_record},
    {"rows", LIST, AT(result, rows), AT(result, n_rows), &row_record},
    {0}};
static const record file_record = {"file", sizeof(result), file_fields};

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reading {
    json_reader json;
    arena *memory;
    str *why; /* if not empty: what is wrong with the values */
} reading;

static bool refuse(reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets why, unless it is already set, and returns false. */
static bool refuse(reading *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!r->why->n && r->json.status == IG_OK)
        str_vprintf(r->why, format, args);
    va_end(args);
    return false;
}

static bool read_text(reading *r, const char *key, const char **out)
{
    json_text source;
    size_t n = 0;
    if (!json_read_text(&r->json, &source))
        return false;
    char *plain = json_text_copy(source, &n);
    if (!plain) {
        str_puts(r->why, ig_error(NULL));
        return false;
    }
    const bool whole = strlen(plain) == n;
    str visible = {0};
    str_visible(&visible, plain); /* names are printed on terminals and in pages */
    *out = arena_string(r->memory, visible.s, visible.n);
    str_free(&visible);
    ig_free(plain);
    return whole || refuse(r, "'%s' contains a zero byte", key);
}

static bool read_real(reading *r, const char *key, double *out)
{
    json_number n;
    if (!json_read_number(&r->json, &n))
        return false;
    *out = n.kind == JSON_I64 ? (double)n.as.i : n.kind == JSON_U64 ? (double)n.as.u : n.as.f;
    if (*out < 0)
        return refuse(r, "'%s' is %g; it must not be negative", key, *out);
    if (*out > 0 && *out < REAL_LEAST)
        return refuse(r, "'%s' is %g, which is too small", key, *out);
    return *out <= REAL_MOST || refuse(r, "'%s' is %g, which is too large", key, *out);
}

static bool read_count(reading *r, const char *key, int *out)
{
    uint64_t u;
    if (!json_read_uint(&r->json, &u))
        return false;
    *out = u <= INT_MAX ? (int)u : INT_MAX;
    return u <= INT_MAX || refuse(r, "'%s' is %llu, which is too many", key, (unsigned long long)u);
}

static bool read_caches(reading *r, uint64_t *out)
{
    uint64_t spare;
    json_open_array(&r->json);
    for (int i = 0; json_next_item(&r->json); i++)
        if (!json_read_uint(&r->json, i < 3 ? &out[i] : &spare))
            return false;
    return r->json.status == IG_OK;
}

/* The items of a list while it is read; list_end moves them into the arena. */
typedef struct list {
    char *items;
    size_t bytes, n, room;
} list;

static void *list_next(list *l)
{
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 8;
        l->items = heap_resize(l->items, l->room * l->bytes);
    }
    return memset(l->items + l->n++ * l->bytes, 0, l->bytes);
}

static void *list_end(list *l, arena *memory)
{
    void *all = arena_get(memory, l->n * l->bytes);
    if (l->n)
        memcpy(all, l->items, l->n * l->bytes);
    free(l->items);
    return all;
}

static void read_texts(reading *r, const char *key, const char ***out, int *count)
{
    list l = {.bytes = sizeof(const char *)};
    json_open_array(&r->json);
    while (json_next_item(&r->json) && read_text(r, key, list_next(&l)))
        if (l.n > LIST_MOST && !refuse(r, "'%s' has more than %d items", key, LIST_MOST))
            break;
    *count = (int)l.n;
    *out = list_end(&l, r->memory);
}

/* Counts or reals. */
static void read_numbers(reading *r, const field *f, void **out, int *count)
{
    const bool counts = f->kind == COUNTS;
    list l = {.bytes = counts ? sizeof(int) : sizeof(double)};
    json_open_array(&r->json);
    while (json_next_item(&r->json)) {
        void *next = list_next(&l);
        if (!(counts ? read_count(r, f->key, next) : read_real(r, f->key, next)))
            break;
        if (l.n > SAMPLES_MOST && !refuse(r, "'%s' has more than %d items", f->key, SAMPLES_MOST))
            break;
    }
    *count = (int)l.n;
    *out = list_end(&l, r->memory);
}

static bool read_pass(reading *r, int pass, list *seconds, list *rounds)
{
    double *s;
    json_open_array(&r->json);
    while (json_next_item(&r->json)) {
        s = list_next(seconds);
        if (!read_real(r, "seconds", s))
            return false;
        if (*s < TIME_LEAST || *s > TIME_MOST)
            return refuse(r, "a time is %g s; times must be between %g and %g s", *s, TIME_LEAST,
                          TIME_MOST);
        if (seconds->n > SAMPLES_MOST)
            return refuse(r, "there are more than %d samples", SAMPLES_MOST);
        *(int *)list_next(rounds) = pass;
    }
    return r->json.status == IG_OK;
}

static void read_samples(reading *r, result_row *row)
{
    list seconds = {.bytes = sizeof(double)}, rounds = {.bytes = sizeof(int)};
    json_open_array(&r->json);
    for (int pass = 0; json_next_item(&r->json); pass++)
        if (!read_pass(r, pass, &seconds, &rounds))
            break;
    row->n = (int)rounds.n;
    row->seconds = list_end(&seconds, r->memory);
    row->round = list_end(&rounds, r->memory);
}

static bool read_record(reading *r, const record *of, void *out);

static void read_list(reading *r, const field *f, void *out)
{
    list l = {.bytes = f->of->bytes};
    json_open_array(&r->json);
    while (json_next_item(&r->json) && read_record(r, f->of, list_next(&l)))
        if (l.n > LIST_MOST && !refuse(r, "'%s' has more than %d items", f->key, LIST_MOST))
            break;
    if (r->why->n && l.n)
        str_printf(r->why, " (%s %zu)", f->of->name, l.n);
    *(int *)((char *)out + f->count) = (int)l.n;
    *(void **)((char *)out + f->at) = list_end(&l, r->memory);
}

static bool read_field(reading *r, const field *f, void *out)
{
    void *place = (char *)out + f->at;
    int *count = (int *)((char *)out + f->count);
    switch (f->kind) {
    case TEXT:
        if (json_peek(&r->json) == JSON_NULL)
            return json_read_null(&r->json);
        return read_text(r, f->key, place);
    case NAME: return read_text(r, f->key, place);
    case YESNO: return json_read_bool(&r->json, place);
    case COUNT: return read_count(r, f->key, place);
    case SIZE: return json_read_uint(&r->json, place);
    case REAL: return read_real(r, f->key, place);
    case CACHES: return read_caches(r, place);
    case TEXTS: read_texts(r, f->key, place, count); break;
    case COUNTS:
    case REALS: read_numbers(r, f, place, count); break;
    case SAMPLES: read_samples(r, out); break;
    case LIST: read_list(r, f, out); break;
    }
    return !r->why->n && r->json.status == IG_OK;
}

/* Reads one object and checks that its required fields are present. */
static bool read_record(reading *r, const record *of, void *out)
{
    json_text key;
    json_open_object(&r->json);
    while (json_next_key(&r->json, &key)) {
        const field *f = of->fields;
        while (f->key && !json_text_is(key, f->key))
            f++;
        if (!(f->key ? read_field(r, f, out) : json_skip(&r->json)))
            return false;
    }
    if (r->json.status != IG_OK)
        return false;
    for (const field *f = of->fields; f->key; f++)
        if (f->kind == NAME && !*(const char **)((char *)out + f->at))
            return refuse(r, "'%s' is missing", f->key);
    return true;
}

/* Checks schema and verb before anything else. */
static bool read_head(const char *source, size_t n, str *why)
{
    json_reader r;
    json_text key, whose = {0};
    uint64_t schema = 0;
    json_begin(&r, source, n);
    bool object = json_peek(&r) == JSON_OBJECT && json_open_object(&r);
    while (object && json_next_key(&r, &key))
        if (json_text_is(key, "schema") && json_peek(&r) == JSON_NUMBER)
            json_read_uint(&r, &schema);
        else if (json_text_is(key, "verb") && json_peek(&r) == JSON_TEXT)
            json_read_text(&r, &whose);
        else
            json_skip(&r);
    if (!object)
        json_skip(&r);
    if (json_end(&r) != IG_OK)
        str_printf(why, "it is not JSON, or is incomplete: %s", r.problem);
    else if (!schema || !whose.at || !json_text_is(whose, "bench"))
        str_puts(why, "it is not a result of 'ingot bench'");
    else if (schema > RESULT_SCHEMA)
        str_printf(why,
                   "it has schema %llu; this version of ingot reads schema %d: use a newer version",
                   (unsigned long long)schema, RESULT_SCHEMA);
    return !why->n;
}

/* Limits the number of devices, because readers loop over all devices for each row. */
static bool few_devices(const result *r, str *why)
{
    const char *seen[DEVICES_MOST];
    int n = 0;
    for (int i = 0; i < r->n_devices + r->n_rows; i++) {
        const char *name = i < r->n_devices ? r->devices[i].name : r->rows[i - r->n_devices].device;
        int k = 0;
        while (k < n && strcmp(seen[k], name) != 0)
            k++;
        if (k == DEVICES_MOST) {
            str_printf(why, "it has more than %d devices", DEVICES_MOST);
            return false;
        }
        if (k == n)
            seen[n++] = name;
    }
    return true;
}

/* Checks that each sample has its waiting time and each pass has its process, in ascending order. */
static bool rows_fit(const result *r, str *why)
{
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        bool fit = !row->n_process || !row->n || row->round[row->n - 1] < row->n_process;
        for (int k = 1; k < row->n_process && fit; k++)
            fit = row->process[k - 1] <= row->process[k];
        if (!fit || (row->n_waited && row->n_waited != row->n)) {
            str_printf(why, "'%s' does not match 'seconds' (row %d)", fit ? "waited" : "process",
                       i + 1);
            return false;
        }
    }
    return true;
}

bool result_parse(result *r, const char *source, size_t n, str *why)
{
    *r = (result){0};
    if (!read_head(source, n, why))
        return false;
    reading reads = {.memory = &r->memory, .why = why};
    json_begin(&reads.json, source, n);
    read_record(&reads, &file_record, r);
    const ig_status status = why->n ? (json_end(&reads.json), IG_OK) : json_end(&reads.json);
    if (status != IG_OK)
        str_puts(why, reads.json.problem);
    for (int i = 0; i < r->n_rows; i++)
        r->rows[i].others = r->others;
    if (why->n || !few_devices(r, why) || !rows_fit(r, why))
        result_free(r);
    return !why->n;
}

bool result_read(result *r, const char *path, str *why, int *code)
{
    size_t n;
    str problem = {0};
    *r = (result){0};
    char *source = str_read_file(path, FILE_BYTES_MOST, &n);
    if (!source)
        str_puts(&problem, strerror(errno));
    else
        result_parse(r, source, n, &problem);
    free(source);
    if (problem.n)
        str_printf(why, "'%s': %s", path, problem.s);
    *code = problem.n ? EXIT_INPUT : EXIT_FINE;
    str_free(&problem);
    return *code == EXIT_FINE;
}

void result_free(result *r)
{
    arena_free(&r->memory);
    *r = (result){0};
}

timings row_timings(const result_row *r)
{
    return (timings){.seconds = r->seconds,
                     .waited = r->n_waited ? r->waited : NULL,
                     .pass = r->round,
                     .process = r->n_process ? r->process : NULL,
                     .n = r->n,
                     .others = r->threads > 1 ? r->others : 0};
}

const result_device *row_device(const result *r, const result_row *row)
{
    for (int i = 0; i < r->n_devices; i++)
        if (strcmp(r->devices[i].name, row->device) == 0)
            return &r->devices[i];
    return NULL;
}

/* Files of older versions have two peaks, with all threads: of f32 and of bytes. */
static double peak_of(const result_device *d, const char *of, int threads)
{
    for (int i = 0; i < d->n_peaks; i++)
        if (strcmp(d->peaks[i].of, of) == 0 && d->peaks[i].threads == threads)
            return d->peaks[i].rate;
    if (d->n_peaks || threads != d->threads)
        return 0;
    return strcmp(of, "bytes") == 0 ? d->peak_bytes : strcmp(of, "f32") == 0 ? d->peak_flops : 0;
}

/* True if a row's data do not fit the caches, so that its rate is a rate of memory. */
static bool is_beyond_caches(const result_device *d, const result_row *row)
{
    double caches = 0;
    for (int i = 0; i < 3; i++)
        caches = fmax(caches, (double)d->cache[i]);
    return row->bytes > 4 * caches;
}

static bool row_in_cache(const result *r, const result_row *row)
{
    const result_device *d = row_device(r, row);
    return d && !is_beyond_caches(d, row);
}

/* The highest rate of the whole run: of the peak's own measurement, or of a row with the same dtype and number of
 * threads. 0: the peak was not measured. */
static double highest(const result *r, const result_device *d, const char *of, int threads)
{
    const bool bytes = strcmp(of, "bytes") == 0;
    double most = peak_of(d, of, threads);
    if (!(most > 0))
        return 0;
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        if (!row->n || row->threads != threads || strcmp(row->device, d->name) != 0 ||
            (bytes ? !is_beyond_caches(d, row) || strcmp(row->group, "memory") != 0
                   : strcmp(row->dtype, of) != 0))
            continue;
        most =
            fmax(most, (bytes ? row->bytes : row->flops) / stats_typical(row_timings(row)).middle);
    }
    return most;
}

double row_best_s(const result *r, const result_row *row)
{
    const result_device *d = row_device(r, row);
    if (!d)
        return 0;
    const double flops = highest(r, d, row->dtype, row->threads);
    const double bytes = highest(r, d, "bytes", row->threads);
    const double compute_s = flops > 0 ? row->flops / flops : 0;
    const double move_s = bytes > 0 ? row->bytes / bytes : 0;
    const bool computes = row->flops >= 2 * row->bytes;
    if ((computes && !(flops > 0)) || (!computes && !(bytes > 0)))
        return 0;
    return fmax(compute_s, move_s);
}

void row_share_words(str *t, const result *r, const result_row *row)
{
    const double share = row_best_s(r, row) / stats_typical(row_timings(row)).middle;
    if (share > 1.005)
        str_puts(t, row_in_cache(r, row) ? "in cache" : "peak doubtful");
    else if (share > 0)
        str_printf(t, "%.0f %%", 100 * share);
}

const char *row_operations(const result_row *row)
{
    return row->dtype[0] == 'i' || row->dtype[0] == 'u' ? "OP/s" : "FLOP/s";
}

double row_amount(const result_row *row, const char **unit)
{
    const bool moves = strcmp(row->group, "memory") == 0;
    *unit = row->tokens > 0 ? "tokens/s" : moves ? "B/s" : row_operations(row);
    return row->tokens > 0 ? row->tokens : moves ? row->bytes : row->flops;
}

int row_passes(const result_row *row)
{
    int n = row->n > 0;
    for (int i = 1; i < row->n; i++)
        n += row->round[i] != row->round[i - 1];
    return n;
}

const char *row_doubt(const result_row *row)
{
    const interval s = stats_typical(row_timings(row));
    return row->n_warnings                  ? row->warnings[0]
           : row_passes(row) < PASSES_LEAST ? "measured in fewer than three passes"
           : s.high > 1.5 * s.low           ? "its 99 % interval spans more than a factor of 1.5"
                                            : NULL;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_samples(str *t, const result_row *row)
{
    str_json(t, "[");
    for (int i = 0, pass = 0; i < row->n; pass++) {
        str_json(t, "[");
        for (; i < row->n && row->round[i] <= pass; i++)
            str_json(t, "%.9g", row->seconds[i]);
        str_json(t, "]");
    }
    str_json(t, "]");
}

static void write_record(str *t, const record *of, const void *from);

/* Writes one record per line. */
static void write_list(str *t, const field *f, const void *from)
{
    const int n = *(const int *)((const char *)from + f->count);
    const char *items = *(char *const *)((const char *)from + f->at);
    str_json(t, "[");
    for (int i = 0; i < n; i++)
        write_record(t, f->of, items + (size_t)i * f->of->bytes);
    str_json(t, "]");
}

static void write_texts(str *t, const char *const *texts, int n)
{
    str_json(t, "[");
    for (int i = 0; i < n; i++)
        str_json(t, "%s", texts[i]);
    str_json(t, "]");
}

static void write_counts(str *t, const int *counts, int n)
{
    str_json(t, "[");
    for (int i = 0; i < n; i++)
        str_json(t, "%d", counts[i]);
    str_json(t, "]");
}

static void write_reals(str *t, const double *reals, int n)
{
    str_json(t, "[");
    for (int i = 0; i < n; i++)
        str_json(t, "%.9g", reals[i]);
    str_json(t, "]");
}

static void write_field(str *t, const field *f, const void *from)
{
    const void *place = (const char *)from + f->at;
    const int *count = (const int *)((const char *)from + f->count);
    const uint64_t *sizes = place;
    switch (f->kind) {
    case TEXT:
    case NAME: str_json(t, "%s", *(const char *const *)place); break;
    case YESNO: str_json(t, "%hhd", *(const bool *)place); break;
    case COUNT: str_json(t, "%d", *(const int *)place); break;
    case SIZE: str_json(t, "%llu", (unsigned long long)*sizes); break;
    case REAL: str_json(t, "%.15g", *(const double *)place); break;
    case CACHES:
        str_json(t, "[%llu, %llu, %llu]", (unsigned long long)sizes[0],
                 (unsigned long long)sizes[1], (unsigned long long)sizes[2]);
        break;
    case TEXTS: write_texts(t, *(const char *const *const *)place, *count); break;
    case COUNTS: write_counts(t, *(const int *const *)place, *count); break;
    case REALS: write_reals(t, *(const double *const *)place, *count); break;
    case SAMPLES: write_samples(t, from); break;
    case LIST: write_list(t, f, from); break;
    }
}

static void write_record(str *t, const record *of, const void *from)
{
    const bool outermost = of == &file_record;
    str_json(t, outermost ? "{" : "\n  {");
    for (const field *f = of->fields; f->key; f++) {
        str_json(t, outermost && f != of->fields ? "\n %s:" : "%s:", f->key);
        write_field(t, f, from);
    }
    str_json(t, "}");
}

void result_json(const result *r, str *t)
{
    result whole = *r;
    whole.schema = RESULT_SCHEMA;
    whole.verb = "bench";
    write_record(t, &file_record, &whole);
    str_puts(t, "\n");
}

bool result_write(const result *r, const char *path, str *why)
{
    str t = {0};
    result_json(r, &t);
    bool fine = write_file(path, &t, why);
    str_free(&t);
    return fine;
}
