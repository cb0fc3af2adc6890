/* Makes jobs from the tables of works, and opens, runs, checks and closes them. */
#include "bench/works.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const work *const tables[] = {works_dense, works_memory,   works_index,   works_train,
                                     works_text,  works_language, works_latency, works_model};
enum { TABLES = sizeof tables / sizeof *tables, TITLE_MOST = 128, KEYS = 16 };

/* ---- rows --------------------------------------------------------------------------------------- */

/* Copies the next word of a list to out. Returns the rest of the list, or NULL after the last word. */
static const char *next_word(const char *list, char *out, size_t size)
{
    list += strspn(list, " ,");
    size_t n = strcspn(list, " ,");
    if (n == 0)
        return NULL;
    snprintf(out, size, "%.*s", (int)n, list);
    return list + n;
}

/* "8x64x16M" */
static void read_dims(job *j, const char *size)
{
    for (int i = 0; i < WORK_DIMS && *size; i++) {
        char *end;
        j->dims[i] = strtoll(size, &end, 10);
        if (*end == 'M' || *end == 'K') {
            j->dims[i] *= *end == 'M' ? 1000000 : 1000;
            end++;
        }
        size = *end ? end + 1 : end;
    }
}

void job_title(str *t, const job *j)
{
    str_printf(t, "%s %s %s", j->work->name, j->size, ig_dtype_name(j->dtype));
}

/* True if a pattern matches the name, the group, "name size" or "name size dtype". */
static bool pattern_means(const char *pattern, const work *w, const char *size, const char *dtype)
{
    char title[TITLE_MOST];
    const char *of[] = {w->name, w->group, title, title};
    for (int i = 0; i < 4; i++) {
        snprintf(title, sizeof title, i == 2 ? "%s %s" : "%s %s %s", w->name, size, dtype);
        if (fnmatch(pattern, of[i], 0) == 0)
            return true;
    }
    return false;
}

/* Patterns are separated by commas and may contain blanks. */
static const char *next_pattern(const char *list, char *out)
{
    list += strspn(list, ",");
    size_t n = strcspn(list, ",");
    snprintf(out, TITLE_MOST, "%.*s", (int)n, list);
    return n ? list + n : NULL;
}

/* True if one of the patterns matches, or if there are no patterns. */
static bool chosen(const char *patterns, const work *w, const char *size, const char *dtype)
{
    char pattern[TITLE_MOST];
    bool meant = !patterns;
    for (const char *at = patterns; !meant && at && (at = next_pattern(at, pattern));)
        meant = pattern_means(pattern, w, size, dtype);
    return meant;
}

typedef void row_fn(void *context, const work *w, const char *size, const char *dtype);

/* Calls f for each size and dtype of each work. A size may begin with *. */
static void rows_walk(row_fn *f, void *context)
{
    for (int i = 0; i < TABLES; i++)
        for (const work *w = tables[i]; w->name; w++) {
            char size[TITLE_MOST], dtype[16];
            for (const char *d = w->dtypes; (d = next_word(d, dtype, sizeof dtype));)
                for (const char *s = w->sizes; (s = next_word(s, size, sizeof size));)
                    f(context, w, size, dtype);
        }
}

/* ---- choosing works ---------------------------------------------------------------------------- */

struct search {
    const char *pattern;
    const work_choice *choice;
    nearest near;
    int rows, chosen;
};

static void search_row(void *context, const work *w, const char *size, const char *dtype)
{
    struct search *s = context;
    const char *plain = size + (*size == '*');
    nearest_offer(&s->near, w->name);
    nearest_offer(&s->near, w->group);
    if (!pattern_means(s->pattern, w, plain, dtype))
        return;
    s->rows++;
    s->chosen += !s->choice->quick || *size == '*';
}

bool works_known(const work_choice *choice, str *why)
{
    char pattern[TITLE_MOST];
    for (const char *at = choice->only; at && (at = next_pattern(at, pattern));) {
        struct search s = {pattern, choice, nearest_to(pattern), 0, 0};
        rows_walk(search_row, &s);
        if (s.chosen)
            continue;
        str_printf(
            why, s.rows ? "'%s' is not part of a quick run; omit --quick" : "there is no work '%s'",
            pattern);
        if (!s.rows && s.near.best)
            str_did_you_mean(why, &s.near);
        else if (!s.rows)
            str_puts(why, "; see 'ingot bench --list'");
        return false;
    }
    if (choice->only && !next_pattern(choice->only, pattern)) {
        str_puts(why, "--only is empty; see 'ingot bench --list'");
        return false;
    }
    return true;
}

/* ---- jobs --------------------------------------------------------------------------------------- */

static void job_add(job_list *list, const work_choice *choice, const ig_device_info *device,
                    const work *w, const char *size, const char *dtype, int threads)
{
    list->jobs = heap_resize(list->jobs, sizeof *list->jobs * (size_t)(list->n + 1));
    job *j = &list->jobs[list->n++];
    str text = {0}, input = {0};
    *j = (job){.work = w,
               .model = choice->model,
               .device = device->name,
               .threads = threads,
               .seed = choice->seed};
    j->memory_limit = device->memory_limit ? device->memory_limit : ig_memory_limit();
    j->dtype = ig_dtype_parse(dtype);
    read_dims(j, size);
    w->cost(j);
    if (j->model) /* its context may be shorter */
        str_printf(&text, "%lld", (long long)j->dims[0]);
    else
        str_puts(&text, size);
    if (w->scaling) {
        str_printf(&text, "/%d", threads);
        j->extent = threads;
    }
    if (j->extent <= 0)
        j->extent = (double)j->dims[0];
    str_puts(&input, w->input);
    if (j->model)
        str_printf(&input, ", %s", strrchr(j->model, '/') ? strrchr(j->model, '/') + 1 : j->model);
    str_printf(&input, "; seed %llu", (unsigned long long)j->seed);
    j->size = text.s;
    j->input = input.s;
}

/* True if the work is measured with a model of the user. */
static bool needs_model(const work *w)
{
    for (const work *m = works_model; m->name; m++)
        if (m == w)
            return true;
    return false;
}

struct adding {
    job_list *list;
    const work_choice *choice;
    const ig_device_info *device;
};

static void add_row(void *context, const work *w, const char *size, const char *dtype)
{
    const struct adding *a = context;
    const work_choice *c = a->choice;
    const char *plain = size + (*size == '*');
    bool cpu = device_is_host(a->device->name);
    if (!chosen(c->only, w, plain, dtype) || (c->quick && *size != '*') || (w->scaling && !cpu) ||
        needs_model(w) != (c->model != NULL))
        return;
    if (!cpu) {
        job_add(a->list, c, a->device, w, plain, dtype, 0);
    } else if (w->scaling) {
        int most = c->threads[c->n_threads - 1];
        for (int t = 1; t < most; t *= 2)
            job_add(a->list, c, a->device, w, plain, dtype, t);
        job_add(a->list, c, a->device, w, plain, dtype, most);
    } else {
        for (int i = 0; i < c->n_threads; i++)
            job_add(a->list, c, a->device, w, plain, dtype, c->threads[i]);
    }
}

void jobs_add(job_list *list, const work_choice *choice, const ig_device_info *device)
{
    struct adding a = {list, choice, device};
    rows_walk(add_row, &a);
}

void jobs_free(job_list *list)
{
    for (int i = 0; i < list->n; i++) {
        free((char *)list->jobs[i].size);
        free((char *)list->jobs[i].input);
    }
    free(list->jobs);
    *list = (job_list){0};
}

/* ---- --list ------------------------------------------------------------------------------------- */

static void list_json(str *t)
{
    str_json(t, "{schema: 1, works: [");
    for (int i = 0; i < TABLES; i++)
        for (const work *w = tables[i]; w->name; w++)
            str_json(t, "\n  {name: %s, group: %s, sizes: %s, dtypes: %s, input: %s}", w->name,
                     w->group, w->sizes, w->dtypes, w->input);
    str_json(t, "]}\n");
}

void works_list(str *t, bool json)
{
    if (json) {
        list_json(t);
        return;
    }
    for (int i = 0; i < TABLES; i++)
        for (const work *w = tables[i]; w->name; w++) {
            str_printf(t, "%-15s %-8s %s\n", w->name, w->group, w->input);
            str_printf(t, "%-15s %-8s   %s: %s\n", "", "", w->dtypes, w->sizes);
        }
    str_puts(t, "\n* marks the sizes of --quick.\n");
}

bool device_is_host(const char *name) { return strcmp(name, "cpu") == 0; }

/* ---- a job as a task ---------------------------------------------------------------------------- */

static outcome library_outcome(str *why)
{
    ig_status status = IG_OK;
    const char *message = ig_error(&status);
    str_puts(why, message ? message : "it failed without a message");
    return status == IG_ERR_UNSUPPORTED || status == IG_ERR_MEMORY ? OUTCOME_LEFT_OUT
                                                                   : OUTCOME_FAILED;
}

/* Most devices queue launches: a run ends when its device is done. */
static bool device_wait(const job *j)
{
    return device_is_host(j->device) || ig_synchronize(j->device) == IG_OK;
}

static outcome job_open(void *context, str *why)
{
    job *j = context;
    if (j->memory_bytes > (double)j->memory_limit) {
        str_puts(why, "it needs ");
        str_size(why, (uint64_t)j->memory_bytes);
        str_puts(why, "; the memory limit is ");
        str_size(why, j->memory_limit);
        return OUTCOME_LEFT_OUT;
    }
    if (ig_set_device(j->device) != IG_OK || ig_set_threads(j->threads) != IG_OK ||
        ig_scope_begin() != IG_OK)
        return library_outcome(why);
    bool fine = (!j->work->make || j->work->make(j)) && device_wait(j);
    ig_scope_end();
    return fine ? OUTCOME_FINE : library_outcome(why);
}

static outcome job_run(void *context, double *aside_s, str *why)
{
    job *j = context;
    if (ig_scope_begin() != IG_OK)
        return library_outcome(why);
    outcome o = OUTCOME_FINE;
    bool fine = true;
    if (j->work->run) {
        o = j->work->run(j, aside_s, why);
    } else {
        ig_array *y = j->work->build(j);
        fine = y && ig_eval(&y, 1) == IG_OK;
    }
    fine = fine && device_wait(j);
    ig_scope_end();
    return !fine || ig_failed() ? library_outcome(why) : o;
}

static outcome job_check(void *context, str *why)
{
    job *j = context;
    if (ig_scope_begin() != IG_OK)
        return library_outcome(why);
    ig_array *y = j->work->build ? j->work->build(j) : NULL;
    bool built = !j->work->build || (y && ig_eval(&y, 1) == IG_OK && ig_data(y));
    bool right = built && j->work->check(j, y, why);
    ig_scope_end();
    if (ig_failed())
        return library_outcome(why);
    return right ? OUTCOME_FINE : OUTCOME_WRONG;
}

static void job_close(void *context)
{
    job *j = context;
    for (int i = 0; i < JOB_INPUTS; i++)
        ig_release(j->in[i]);
    memset(j->in, 0, sizeof j->in);
    if (j->state && j->work->free)
        j->work->free(j->state);
    j->state = NULL;
}

const task_calls job_calls = {job_open, job_run, job_check, job_close};

/* ---- inputs ------------------------------------------------------------------------------------- */

uint64_t job_key(const job *j, int number) { return j->seed * KEYS + (uint64_t)number; }

ig_array *job_uniform(const job *j, int number, ig_ints shape, double low, double high)
{
    ig_array *key = ig_key(job_key(j, number), NULL);
    if (ig_isdtype(j->dtype, "integral"))
        return ig_randint(key, shape, (int64_t)low, (int64_t)high, j->dtype);
    return ig_uniform(key, shape, j->dtype, ig_float(low), ig_float(high));
}

bool job_keep(job *j, int i, ig_array *x)
{
    if (!x || ig_eval(&x, 1) != IG_OK)
        return false;
    j->in[i] = ig_scope_forget(x);
    return true;
}
