/* Matches the rows of files and compares them. */
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *kept_text(comparison *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *kept_text(comparison *c, const char *format, ...)
{
    str t = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&t, format, args);
    va_end(args);
    const char *kept = arena_string(&c->memory, t.s, t.n);
    str_free(&t);
    return kept;
}

const char *verdict_name(verdict v)
{
    static const char *const names[] = {[VERDICT_SAME] = "SAME",
                                        [VERDICT_FASTER] = "FASTER",
                                        [VERDICT_SLOWER] = "SLOWER",
                                        [VERDICT_UNSURE] = "UNSURE"};
    return names[v];
}

bool row_is_of(const result_row *r, const contestant *c)
{
    return strcmp(r->device, c->device) == 0;
}

/* ---- machines ------------------------------------------------------------------------------- */

static bool same_device(const result_device *a, const result_device *b)
{
    return same_text(a->name, b->name) && same_text(a->model, b->model) && a->cores == b->cores &&
           a->memory == b->memory && same_text(a->isa, b->isa);
}

static bool same_machine(const result *a, const result *b)
{
    if (!same_text(a->system, b->system) || !same_text(a->arch, b->arch) ||
        a->n_devices != b->n_devices || !a->n_devices)
        return false;
    for (int i = 0; i < a->n_devices; i++)
        if (!same_device(&a->devices[i], &b->devices[i]))
            return false;
    return true;
}

static bool same_run(const result *a, const result *b)
{
    str ta = {0}, tb = {0};
    result_json(a, &ta);
    result_json(b, &tb);
    bool same = strcmp(ta.s, tb.s) == 0;
    str_free(&ta);
    str_free(&tb);
    return same;
}

static void find_same_machines(comparison *c)
{
    c->same_machine = c->n_sources > 1;
    for (int i = 1; i < c->n_sources; i++) {
        c->same_machine &= same_machine(&c->sources[0].r, &c->sources[i].r);
        for (int j = 0; j < i; j++)
            c->twins |= same_run(&c->sources[j].r, &c->sources[i].r);
    }
}

/* ---- contestants ---------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The file name without ".json"; the whole path, or a number, if another source has the same name. */
static const char *short_name(comparison *c, int i)
{
    const char *path = c->sources[i].path, *name = base_name(path);
    bool numbered = false;
    for (int j = 0; j < c->n_sources; j++) {
        numbered |= j < i && strcmp(path, c->sources[j].path) == 0;
        if (j != i && strcmp(base_name(path), base_name(c->sources[j].path)) == 0 &&
            strcmp(path, c->sources[j].path) != 0)
            name = path;
    }
    size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, ".json") == 0)
        n -= 5;
    return numbered ? kept_text(c, "%.*s (%d)", (int)n, name, i + 1)
                    : arena_string(&c->memory, name, n);
}

static bool has_rows(const result *r, const char *device)
{
    for (int i = 0; i < r->n_rows; i++)
        if (strcmp(r->rows[i].device, device) == 0)
            return true;
    return false;
}

/* The devices that have rows: first those in the file's list, in its order, then all others. */
static int list_devices(const result *r, const char **out)
{
    int n = 0;
    for (int i = 0; i < r->n_devices + r->n_rows; i++) {
        const char *name = i < r->n_devices ? r->devices[i].name : r->rows[i - r->n_devices].device;
        int j = 0;
        while (j < n && strcmp(out[j], name) != 0)
            j++;
        if (j == n && has_rows(r, name))
            out[n++] = name;
    }
    return n;
}

static void add_contestants(comparison *c, int i, bool by_device)
{
    const source *from = &c->sources[i];
    const char **names =
        arena_get(&c->memory, (size_t)(from->r.n_devices + from->r.n_rows) * sizeof *names);
    const int n = list_devices(&from->r, names);
    const char *file = c->names[i];
    for (int k = 0; k < n; k++) {
        str label = {0};
        str_puts(&label, c->n_sources == 1 ? names[k] : file);
        if (c->n_sources > 1 && by_device)
            str_printf(&label, " %s", names[k]);
        c->contestants[c->n_contestants++] =
            (contestant){from, names[k], arena_string(&c->memory, label.s, label.n)};
        str_free(&label);
    }
}

static void find_contestants(comparison *c)
{
    int most = 0;
    bool by_device = false;
    for (int i = 0; i < c->n_sources; i++) {
        const result *r = &c->sources[i].r;
        most += r->n_devices + r->n_rows;
        for (int k = 1; k < r->n_rows; k++)
            by_device |= strcmp(r->rows[k].device, r->rows[0].device) != 0;
        by_device |= r->n_rows && c->sources[0].r.n_rows &&
                     strcmp(r->rows[0].device, c->sources[0].r.rows[0].device) != 0;
    }
    c->contestants = arena_get(&c->memory, (size_t)most * sizeof *c->contestants);
    c->names = arena_get(&c->memory, (size_t)c->n_sources * sizeof *c->names);
    for (int i = 0; i < c->n_sources; i++)
        c->names[i] = short_name(c, i);
    for (int i = 0; i < c->n_sources; i++)
        add_contestants(c, i, by_device);
}

static void find_matches(comparison *c)
{
    c->matches = arena_get(&c->memory, (size_t)c->n_contestants * sizeof *c->matches);
    for (int i = 1; i < c->n_contestants; i++) {
        const contestant *new = &c->contestants[i];
        if (new->from == c->sources && c->n_sources > 1)
            continue;
        int old = 0;
        if (c->contestants[0].from != c->sources)
            continue; /* the first file has no rows */
        for (int j = 0; j < i && c->n_sources > 1 && c->contestants[j].from == c->sources; j++)
            if (strcmp(c->contestants[j].device, new->device) == 0)
                old = j;
        c->matches[c->n_matches++] = (match){.old = old, .new = i};
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

bool row_same_work(const result_row *a, const result_row *b)
{
    return strcmp(a->work, b->work) == 0 && strcmp(a->size, b->size) == 0 &&
           strcmp(a->dtype, b->dtype) == 0 && strcmp(a->group, b->group) == 0;
}

/* The row of r with the same work as like; if there are several, the one with the same number of threads. */
static const result_row *find_row(const result *r, const char *device, const result_row *like,
                                  int *alike)
{
    const result_row *found = NULL;
    *alike = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        if (strcmp(row->device, device) != 0 || !row_same_work(row, like))
            continue;
        if (!found || (row->threads == like->threads && found->threads != like->threads))
            found = row;
        ++*alike;
    }
    return found;
}

/* Why two rows are not comparable; NULL if they are. */
static const char *not_comparable(comparison *c, const match *m, const result_row *a,
                                  const result_row *b)
{
    const char *va = c->contestants[m->old].from->r.version;
    const char *vb = c->contestants[m->new].from->r.version;
    str versions = {0};
    if (strcmp(va, vb) != 0)
        str_printf(&versions, " (versions %s and %s)", va, vb);
    const char *note = versions.n ? versions.s : "", *why = NULL;
    if (strcmp(a->input, b->input) != 0)
        why = kept_text(c, "different inputs: '%s' and '%s'%s", a->input, b->input, note);
    else if (strcmp(a->math, b->math) != 0)
        why = kept_text(c, "different math: %s and %s", a->math, b->math);
    else if (a->flops != b->flops || a->bytes != b->bytes)
        why = kept_text(c, "different work: %g and %g operations, %g and %g bytes%s", a->flops,
                        b->flops, a->bytes, b->bytes, note);
    else if (a->answer && b->answer && strcmp(a->answer, b->answer) != 0)
        why = kept_text(c, "different answers: %s and %s; one of them is wrong%s", a->answer,
                        b->answer, note);
    else if (!a->n || !b->n)
        why = kept_text(c, "not measured by %s", c->contestants[a->n ? m->new : m->old].label);
    str_free(&versions);
    return why;
}

static void compare_rows(comparison *c, int number, const result_row *a, const result_row *b,
                         bool by_threads)
{
    match *m = &c->matches[number];
    const char *why = not_comparable(c, m, a, b);
    if (why) {
        c->left_out[c->n_left_out++] = (refusal){number, a, why};
        return;
    }
    pairing *p = &c->pairs[c->n_pairs++];
    *p = (pairing){.match = number, .old = a, .new = b, .by_threads = by_threads};
    p->old_s = stats_typical(row_timings(a));
    p->new_s = stats_typical(row_timings(b));
    p->verdict = stats_compare(row_timings(a), row_timings(b), &p->speedup);
    int *const counts[] = {[VERDICT_SAME] = &m->same,
                           [VERDICT_FASTER] = &m->faster,
                           [VERDICT_SLOWER] = &m->slower,
                           [VERDICT_UNSURE] = &m->unsure};
    ++*counts[p->verdict];
    m->n++;
}

static void match_rows(comparison *c, int number)
{
    const match *m = &c->matches[number];
    const contestant *old = &c->contestants[m->old], *new = &c->contestants[m->new];
    const result *ra = &old->from->r, *rb = &new->from->r;
    int mine, theirs, met = 0, rows_of_new = 0;
    for (int i = 0; i < ra->n_rows; i++) {
        const result_row *a = &ra->rows[i];
        if (!row_is_of(a, old))
            continue;
        if (find_row(ra, old->device, a, &mine) != a) {
            c->only_old++; /* a duplicate: only the first counts */
            continue;
        }
        const result_row *b = find_row(rb, new->device, a, &theirs);
        if (b && (b->threads == a->threads || (mine == 1 && theirs == 1))) {
            compare_rows(c, number, a, b, mine > 1);
            met++;
        } else {
            c->only_old++;
        }
    }
    for (int i = 0; i < rb->n_rows; i++)
        rows_of_new += row_is_of(&rb->rows[i], new);
    c->only_new += rows_of_new > met ? rows_of_new - met : 0;
}

void comparison_make(comparison *c, const source *sources, int n)
{
    *c = (comparison){.sources = sources, .n_sources = n};
    find_same_machines(c);
    find_contestants(c);
    find_matches(c);
    size_t most = 0;
    for (int i = 0; i < c->n_matches; i++)
        most += (size_t)c->contestants[c->matches[i].old].from->r.n_rows;
    c->pairs = arena_get(&c->memory, most * sizeof *c->pairs);
    c->left_out = arena_get(&c->memory, most * sizeof *c->left_out);
    for (int i = 0; i < c->n_matches; i++)
        match_rows(c, i);
}

void comparison_free(comparison *c) { arena_free(&c->memory); }
