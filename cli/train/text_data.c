/* The samples of ingot train text: see text_data.h. A record is one line, but in CSV it may span several. Its fields
 * have names if the file has a header, and always in JSON lines. Fields are parsed in place. */
#include "text_data.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DATA_MOST = 1 << 30, LABELS_MOST = 10000, COLUMNS_MOST = 64 };

/* A record and its terminated fields. */
typedef struct record {
    int64_t line; /* the line of the file where it begins */
    int n;
    char *fields[COLUMNS_MOST];
    bool is_text[COLUMNS_MOST]; /* in JSON: not a number */
} record;

/* The fields that hold the texts and the label. */
typedef struct columns {
    int label, texts[2], n_texts, n;
} columns;

typedef struct file_reading {
    const command *command;
    const char *path;
    char *at; /* the unread part of the file */
    int64_t line;
    enum { FILE_TSV, FILE_CSV, FILE_JSON } kind;
    text_samples *samples;
    int64_t room;
} file_reading;

static int fail_at(const file_reading *f, const record *r, const char *why)
{
    say(f->command, "%s:%lld: %s", f->path, (long long)r->line, why);
    return EXIT_INPUT;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* Cuts off the next line, without "\n" or "\r\n"; NULL at the end. */
static char *line_take(file_reading *f)
{
    char *line = f->at, *end = strchr(line, '\n');
    if (!*line)
        return NULL;
    f->line++;
    f->at = end ? end + 1 : line + strlen(line);
    if (end)
        *end = 0;
    const size_t n = strlen(line);
    if (n && line[n - 1] == '\r')
        line[n - 1] = 0;
    return line;
}

static void line_split_tabs(char *line, record *r)
{
    for (char *at = line; at && r->n < COLUMNS_MOST;) {
        r->fields[r->n++] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = 0;
    }
}

/* Takes a quoted field, in which "" is a quote. Returns the position after it; NULL if the quote is not closed. */
static char *quoted_take(file_reading *f, char *at, record *r)
{
    char *out = ++at;
    r->fields[r->n++] = out;
    while (*at && (*at != '"' || at[1] == '"')) {
        f->line += *at == '\n';
        at += *at == '"';
        *out++ = *at++;
    }
    if (!*at)
        return NULL;
    *out = 0;
    return at + 1;
}

/* Takes the next record of CSV (RFC 4180). */
static int csv_take(file_reading *f, record *r)
{
    for (char *at = f->at; r->n < COLUMNS_MOST; at++) {
        char *end;
        if (*at == '"') {
            end = quoted_take(f, at, r);
            if (!end)
                return fail_at(f, r, "a quote (\") does not end");
            if (*end && !strchr(",\r\n", *end))
                return fail_at(f, r, "text follows a field in quotes; write a quote in it as \"\"");
        } else {
            end = at + strcspn(at, ",\r\n");
            r->fields[r->n++] = at;
        }
        const char was = *end;
        *end = 0;
        at = end;
        if (was == '\r' && at[1] == '\n')
            at++;
        if (was != ',') {
            f->line += was != 0;
            f->at = was ? at + 1 : at;
            return -1;
        }
    }
    return fail_at(f, r, "it has too many columns");
}

/* Takes a JSON value as a field: a string, unescaped, or a number as written. */
static char *json_take(file_reading *f, json_reader *j, bool *is_text)
{
    json_text value = {0};
    *is_text = json_peek(j) == JSON_TEXT;
    if (!*is_text) {
        const char *begin = j->at;
        json_skip(j);
        return arena_string(&f->samples->copies, begin, (size_t)(j->at - begin));
    }
    json_read_text(j, &value);
    char *copy = j->status == IG_OK ? json_text_copy(value, NULL) : NULL;
    char *kept = copy ? arena_string(&f->samples->copies, copy, strlen(copy)) : NULL;
    ig_free(copy);
    return kept;
}

/* Takes {"text": "...", "label": 1}. names gets the keys. */
static int json_line_take(file_reading *f, char *line, record *r, record *names)
{
    json_reader j;
    json_text key;
    char why[200];
    names->n = 0;
    json_begin(&j, line, strlen(line));
    json_open_object(&j);
    while (r->n < COLUMNS_MOST && json_next_key(&j, &key)) {
        char *name = json_text_copy(key, NULL);
        if (name)
            names->fields[names->n++] = arena_string(&f->samples->copies, name, strlen(name));
        ig_free(name);
        char *value = json_take(f, &j, &r->is_text[r->n]);
        if (value)
            r->fields[r->n++] = value;
    }
    const bool many = r->n == COLUMNS_MOST;
    if (json_end(&j) == IG_OK && names->n == r->n)
        return -1;
    snprintf(why, sizeof why, "it is not a JSON object: %s", many ? "too many keys" : j.problem);
    return fail_at(f, r, why);
}

/* ---- columns ---------------------------------------------------------------------------------- */

static bool is_name(const char *field, const char *const *names)
{
    for (; *names; names++)
        if (strcasecmp(field, *names) == 0)
            return true;
    return false;
}

static bool is_label(const char *field)
{
    static const char *const names[] = {"label", "labels", NULL};
    return is_name(field, names);
}

/* Chooses fields by name: "label", and one or two others. "id" and similar names are ignored. */
static int columns_by_name(const file_reading *f, const record *names, columns *c)
{
    static const char *const numbers[] = {"id", "idx", "index", "guid", NULL};
    *c = (columns){.label = -1, .n = names->n};
    for (int i = 0; i < names->n; i++) {
        if (is_label(names->fields[i]))
            c->label = i;
        else if (!is_name(names->fields[i], numbers) && c->n_texts++ < 2)
            c->texts[c->n_texts - 1] = i;
    }
    return c->label >= 0 && (c->n_texts == 1 || c->n_texts == 2)
               ? -1
               : fail_at(f, names,
                         "expected a column 'label' and one or two columns with texts, besides "
                         "'id', 'idx', 'index' or 'guid'");
}

/* Chooses fields by position: the texts, then the label. */
static int columns_by_place(const file_reading *f, const record *r, columns *c)
{
    *c = (columns){.label = r->n - 1, .texts = {0, 1}, .n_texts = r->n - 1, .n = r->n};
    return r->n == 2 || r->n == 3
               ? -1
               : fail_at(f, r,
                         f->kind == FILE_CSV
                             ? "expected TEXT,LABEL or TEXT,TEXT,LABEL, or a header with 'label'"
                             : "expected TEXT<tab>LABEL or TEXT<tab>TEXT<tab>LABEL, or a header "
                               "with 'label'");
}

/* ---- samples ---------------------------------------------------------------------------------- */

static int label_index(label_list *l, const char *name, bool add)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->at[i], name) == 0)
            return i;
    if (!add || l->n == LABELS_MOST)
        return -1;
    l->at = heap_resize(l->at, (size_t)(l->n + 1) * sizeof *l->at);
    l->at[l->n] = name;
    return l->n++;
}

static ig_text text_of(const char *s) { return (ig_text){s, strlen(s)}; }

static int sample_add(file_reading *f, const record *r, const columns *c, label_list *labels,
                      bool add)
{
    text_samples *s = f->samples;
    const char *name = r->fields[c->label];
    char why[200];
    if (!json_is_utf8(name))
        return fail_at(f, r, "the label is not UTF-8");
    if (f->kind == FILE_JSON && (!r->is_text[c->texts[0]] || !r->is_text[c->texts[c->n_texts - 1]]))
        return fail_at(f, r, "a text is not a string");
    if (f->kind == FILE_JSON && !r->is_text[c->label] && strchr("n[{", *name))
        return fail_at(f, r, "the label is not a string or a number");
    const int label = label_index(labels, name, add);
    if (label < 0) {
        if (add)
            snprintf(why, sizeof why,
                     "there are more than %d labels; is the last column the label?", LABELS_MOST);
        else
            snprintf(why, sizeof why, "the label '%.60s' is not in the data to train with", name);
        return fail_at(f, r, why);
    }
    if (s->n == f->room) {
        f->room = 2 * f->room + 256;
        s->at = heap_resize(s->at, (size_t)f->room * sizeof *s->at);
    }
    s->paired = c->n_texts == 2;
    s->at[s->n++] =
        (text_sample){text_of(r->fields[c->texts[0]]),
                      s->paired ? text_of(r->fields[c->texts[1]]) : (ig_text){"", 0}, label};
    return -1;
}

/* Takes the next record; in JSON lines also its names. Returns -1, or an exit code. r->n is 0 at the end. */
static int record_take(file_reading *f, record *r, record *names)
{
    char *line = f->at;
    *r = (record){.line = f->line + 1};
    names->line = r->line;
    if (!*line)
        return -1;
    if (f->kind == FILE_CSV)
        return csv_take(f, r);
    line = line_take(f);
    if (f->kind == FILE_JSON && line[strspn(line, " \t")])
        return json_line_take(f, line, r, names);
    if (f->kind == FILE_JSON)
        *line = 0;
    line_split_tabs(line, r);
    return -1;
}

static int records_read(file_reading *f, label_list *labels, bool add)
{
    record r, names = {0};
    columns c = {0};
    int code = -1;
    while (code < 0 && (code = record_take(f, &r, &names)) < 0 && r.n) {
        if (r.n == 1 && !*r.fields[0])
            continue; /* an empty line */
        if (f->kind == FILE_JSON) {
            code = columns_by_name(f, &names, &c);
        } else if (!c.n) {
            bool header = false;
            for (int i = 0; i < r.n; i++)
                header |= is_label(r.fields[i]);
            code = header ? columns_by_name(f, &r, &c) : columns_by_place(f, &r, &c);
            if (header)
                continue;
        }
        if (code < 0 && r.n != c.n)
            code = fail_at(f, &r, "it has another number of columns than the first line");
        if (code < 0 && f->samples->n && f->samples->paired != (c.n_texts == 2))
            code = fail_at(f, &r, "some lines have one text, and others two");
        if (code < 0)
            code = sample_add(f, &r, &c, labels, add);
    }
    return code;
}

int text_samples_read(const command *c, const char *path, label_list *labels, bool add,
                      text_samples *out)
{
    size_t bytes = 0;
    *out = (text_samples){.source = str_read_file(path, DATA_MOST, &bytes)};
    file_reading f = {.command = c, .path = path, .at = out->source, .samples = out};
    f.kind = str_ends(path, ".csv")                                  ? FILE_CSV
             : str_ends(path, ".jsonl") || str_ends(path, ".ndjson") ? FILE_JSON
                                                                     : FILE_TSV;
    if (!out->source || memchr(out->source, 0, bytes)) {
        say(c, "cannot read '%s': %s", path,
            out->source ? "it has a zero byte, so it is not a text file" : strerror(errno));
        return EXIT_INPUT;
    }
    if (strncmp(f.at, "\xef\xbb\xbf", 3) == 0)
        f.at += 3; /* a byte order mark */
    const int code = records_read(&f, labels, add);
    if (code < 0 && out->n == 0) {
        say(c, "%s: it has no lines", path);
        return EXIT_INPUT;
    }
    return code;
}

void text_samples_free(text_samples *s)
{
    free(s->at);
    free(s->source);
    arena_free(&s->copies);
}

void text_samples_hold(text_samples *s, const int64_t *indices, int64_t n, text_samples *held)
{
    *held = (text_samples){
        .at = heap_get((size_t)(n + 1) * sizeof *held->at), .n = n, .paired = s->paired};
    for (int64_t i = 0; i < n; i++) {
        held->at[i] = s->at[indices[i]];
        s->at[indices[i]].label = -1;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (s->at[i].label >= 0)
            s->at[kept++] = s->at[i];
    s->n = kept;
}

/* ---- labels ----------------------------------------------------------------------------------- */

static int compare_labels(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    char *ends[2];
    const double x = strtod(a, &ends[0]), y = strtod(b, &ends[1]);
    const bool numbers = *a && *b && !*ends[0] && !*ends[1];
    return numbers && x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

void labels_order(label_list *labels, const ig_text_info *info, text_samples *s)
{
    const int most = labels->n > info->n_labels ? labels->n : info->n_labels;
    const char **order = heap_get((size_t)(most + 1) * sizeof *order);
    int *index = heap_get((size_t)(labels->n + 1) * sizeof *index);
    bool known = strcmp(info->head, "classify") == 0;
    for (int i = 0; i < labels->n && known; i++) {
        known = false;
        for (int j = 0; j < info->n_labels; j++)
            known |= strcmp(labels->at[i], info->labels[j]) == 0;
    }
    const int n = known ? info->n_labels : labels->n;
    memcpy(order, known ? (const void *)info->labels : (const void *)labels->at,
           (size_t)n * sizeof *order);
    if (!known)
        qsort(order, (size_t)n, sizeof *order, compare_labels);
    for (int i = 0; i < labels->n; i++)
        for (int j = 0; j < n; j++)
            if (strcmp(order[j], labels->at[i]) == 0)
                index[i] = j;
    for (int64_t i = 0; i < s->n; i++)
        s->at[i].label = index[s->at[i].label];
    free(index);
    free(labels->at);
    *labels = (label_list){order, n};
}
