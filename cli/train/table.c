/* Reads tables of numbers and texts. Fields may be quoted as in RFC 4180. Empty lines and lines that begin with '#' are skipped.
 *
 * The first line is a header if it has no number, or if one of its fields is not a number where the next line has one. */
#include "train/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MOST_BYTES = 1 << 30, CATEGORIES_MOST = 1000 };

/* The fields of a file, row by row. */
typedef struct table {
    const char *path;
    char *text;   /* the file; fields are terminated in place */
    char **field; /* rows * columns */
    int *line;    /* of each row */
    int64_t rows, columns, room;
    bool header; /* row 0 has the names of the columns */
} table;

static void table_free(table *t)
{
    free(t->text);
    free(t->field);
    free(t->line);
}

/* ---- rows and fields --------------------------------------------------------------------------- */

static bool is_number(const char *s, double *value)
{
    char *end;
    *value = strtod(s, &end);
    return end != s && *end == 0;
}

static void trim(char **field)
{
    while (**field == ' ')
        ++*field;
    for (char *end = *field + strlen(*field); end > *field && end[-1] == ' ';)
        *--end = 0;
}

/* The field that begins at s, without its quotes; *next: the separator or line end after it. Adds its lines to *line. */
static char *field_end(char *s, char separator, char **next, int *line)
{
    if (*s != '"') {
        *next = s + strcspn(s, (char[]){separator, '\r', '\n', 0});
        return s;
    }
    char *to = s;
    for (char *from = s + 1;; from++) {
        if (*from == '"' && from[1] == '"') {
            from++;
        } else if (*from == '"' || *from == 0) {
            *next = from + (*from == '"');
            break;
        }
        *line += *from == '\n';
        *to++ = *from;
    }
    if (*next > to)
        *to = 0;
    return s;
}

static void add_field(table *t, int64_t n, char *field)
{
    if (n == t->room) {
        t->room = t->room ? 2 * t->room : 1024;
        t->field = heap_resize(t->field, sizeof *t->field * (size_t)t->room);
    }
    t->field[n] = field;
}

/* Reads the line at *at as a row; *at becomes the next line. False if it has another number of fields. */
static bool read_row(table *t, char **at, char separator, int *line)
{
    int64_t n = 0, begin = t->rows * t->columns;
    const int first = *line;
    for (char *next, *s = *at;; s = next + 1) {
        char *field = field_end(s, separator, &next, line);
        const char stop = *next;
        *next = 0;
        trim(&field);
        add_field(t, begin + n++, field);
        if (stop == separator)
            continue;
        *at = next + (stop != 0);
        if (stop == '\r' && **at == '\n')
            ++*at;
        if (stop && stop != '\r' && stop != '\n') {
            ig_fail(IG_ERR_FORMAT, "%s: line %d: text follows a closing quote", t->path, first);
            return false;
        }
        break;
    }
    t->line = heap_resize(t->line, sizeof *t->line * (size_t)(t->rows + 1));
    t->line[t->rows++] = first;
    if (!t->columns)
        t->columns = n;
    if (n != t->columns)
        ig_fail(IG_ERR_FORMAT, "%s: line %d has %lld fields, and line %d has %lld", t->path, first,
                (long long)n, t->line[0], (long long)t->columns);
    return n == t->columns;
}

static char *field_at(const table *t, int64_t row, int64_t column)
{
    return t->field[(row + t->header) * t->columns + column];
}

static void find_header(table *t)
{
    double value;
    bool texts = true, above_number = false;
    for (int64_t i = 0; i < t->columns; i++) {
        const bool number = is_number(t->field[i], &value);
        texts &= !number;
        above_number |= !number && t->rows > 1 && is_number(t->field[t->columns + i], &value);
    }
    t->header = texts || above_number;
    t->rows -= t->header;
}

/* Reads the whole file. */
static bool table_read(table *t, const char *path)
{
    size_t bytes;
    int line = 1;
    t->path = path;
    t->text = str_read_file(path, TABLE_MOST_BYTES, &bytes);
    if (!t->text || strlen(t->text) != bytes) {
        ig_fail(IG_ERR_FORMAT, "%s: %s", path,
                t->text ? "it has a byte 0, so it is not a table" : "it cannot be read");
        return false;
    }
    const char separator = str_ends(path, ".tsv") ? '\t' : ',';
    char *at = t->text;
    if (memcmp(at, "\xef\xbb\xbf", bytes < 3 ? bytes : 3) == 0)
        at += bytes < 3 ? bytes : 3;
    for (; *at; line++) {
        const size_t blank = strspn(at, " \t\r"), n = strcspn(at, "\n");
        if (*at != '#' && at[blank] != '\n' && at[blank] != 0) {
            if (!read_row(t, &at, separator, &line))
                return false;
        } else {
            at += n + (at[n] != 0);
        }
    }
    if (t->rows)
        find_header(t);
    if (t->rows < 1)
        ig_fail(IG_ERR_FORMAT, "%s: it has no rows", path);
    return t->rows > 0;
}

/* "line 7, column 'age'", or the column's number without a header. */
static void place(const table *t, int64_t row, int64_t column, str *s)
{
    str_printf(s, "%s: line %d, column ", t->path, t->line[row + t->header]);
    if (t->header) {
        str_puts(s, "'");
        str_visible(s, t->field[column]);
        str_puts(s, "'");
    } else {
        str_printf(s, "%lld", (long long)column + 1);
    }
}

static void fail_at(const table *t, int64_t row, int64_t column, const char *why)
{
    str s = {0};
    place(t, row, column, &s);
    ig_fail(IG_ERR_FORMAT, "%s: %s", s.s, why);
    str_free(&s);
}

/* ---- columns ----------------------------------------------------------------------------------- */

/* True if all fields that are not empty are numbers. */
static bool column_is_numbers(const table *t, int64_t column)
{
    double value;
    for (int64_t i = 0; i < t->rows; i++)
        if (*field_at(t, i, column) && !is_number(field_at(t, i, column), &value))
            return false;
    return true;
}

/* Writes the column of numbers to out, at a distance of `step`. */
static bool column_numbers(const table *t, int64_t column, double *out, int64_t step)
{
    for (int64_t i = 0; i < t->rows; i++) {
        const char *field = field_at(t, i, column);
        if (is_number(field, &out[i * step]) && isfinite(out[i * step]))
            continue;
        str why = {0};
        str_puts(&why, *field ? "'" : "the field is empty");
        str_visible(&why, field);
        str_puts(&why, *field ? "' is not a finite number" : "");
        str_puts(&why, "; fill it in, or remove the row");
        fail_at(t, i, column, why.s);
        str_free(&why);
        return false;
    }
    return true;
}

/* The sorted texts of a column, each once. */
static name_list column_categories(const table *t, int64_t column)
{
    name_list l = {0};
    for (int64_t i = 0; i < t->rows; i++)
        name_list_add(&l, field_at(t, i, column));
    name_list_sort(&l);
    name_list_unique(&l);
    return l;
}

/* Writes which of the categories each row has to out, at a distance of `step`: a number, or one-hot. */
static bool column_encode(const table *t, int64_t column, const name_list *categories, bool one_hot,
                          double *out, int64_t step)
{
    for (int64_t i = 0; i < t->rows; i++) {
        const int64_t k = name_list_find(categories, field_at(t, i, column));
        if (k < 0) {
            str why = {0};
            str_puts(&why, "'");
            str_visible(&why, field_at(t, i, column));
            str_puts(&why, "' is not a category of the training data, which has ");
            for (int64_t j = 0; j < categories->n && j < 5; j++) {
                str_puts(&why, j ? ", " : "");
                str_visible(&why, categories->at[j]);
            }
            str_puts(&why, categories->n > 5 ? ", ..." : "");
            fail_at(t, i, column, why.s);
            str_free(&why);
            return false;
        }
        out[i * step + (one_hot ? k : 0)] = one_hot ? 1 : (double)k;
    }
    return true;
}

/* ---- encodings --------------------------------------------------------------------------------- */

void encoding_free(encoding *e)
{
    for (int64_t i = 0; i < e->n; i++) {
        free(e->at[i].name);
        name_list_free(&e->at[i].categories);
    }
    free(e->at);
    *e = (encoding){0};
}

static feature *encoding_add(encoding *e, const char *name)
{
    e->at = heap_resize(e->at, sizeof *e->at * (size_t)(e->n + 1));
    e->at[e->n] = (feature){.name = heap_string(name)};
    return &e->at[e->n++];
}

void encoding_write(const encoding *e, str *t)
{
    for (int64_t i = 0; i < e->n; i++) {
        const feature *f = &e->at[i];
        str_puts(t, "column ");
        str_json(t, "[%s", f->name);
        for (int64_t k = 0; k < f->categories.n; k++)
            str_json(t, "%s", f->categories.at[k]);
        str_json(t, "]\n");
    }
}

bool encoding_read(encoding *e, const char *text)
{
    name_list list = {0};
    bool fine = name_list_read(&list, text) && list.n > 0;
    if (fine) {
        feature *f = encoding_add(e, list.at[0]);
        for (int64_t k = 1; k < list.n; k++)
            name_list_add(&f->categories, list.at[k]);
        for (int64_t k = 1; k < f->categories.n; k++)
            fine &= strcmp(f->categories.at[k - 1], f->categories.at[k]) < 0;
    }
    name_list_free(&list);
    return fine;
}

static int64_t feature_width(const feature *f) { return f->categories.n ? f->categories.n : 1; }

/* The samples: column[i] of the table is feature i. */
static ig_array *encode(const table *t, const encoding *e, const int64_t *column)
{
    int64_t width = 0, at = 0;
    for (int64_t i = 0; i < e->n; i++)
        width += feature_width(&e->at[i]);
    double *out = heap_get(sizeof *out * (size_t)(t->rows * width));
    bool fine = true;
    for (int64_t i = 0; i < e->n && fine; i++) {
        const name_list *categories = &e->at[i].categories;
        fine = categories->n ? column_encode(t, column[i], categories, true, out + at, width)
                             : column_numbers(t, column[i], out + at, width);
        at += feature_width(&e->at[i]);
    }
    ig_array *x = fine ? ig_from_data(out, IG_SHAPE(t->rows, width), IG_F64) : NULL;
    free(out);
    return x;
}

/* ---- learning ---------------------------------------------------------------------------------- */

bool table_is(const char *path) { return str_ends(path, ".csv") || str_ends(path, ".tsv"); }

/* The column of the target; -1 after an error. */
static int64_t find_target(const table *t, const char *target)
{
    if (!target)
        return t->columns - 1;
    for (int64_t i = 0; i < t->columns && t->header; i++)
        if (strcmp(t->field[i], target) == 0)
            return i;
    if (!t->header) {
        ig_fail(IG_ERR_FORMAT, "%s: it has no header, so no column is named '%s'", t->path, target);
        return -1;
    }
    str has = {0};
    for (int64_t i = 0; i < t->columns && has.n < 200; i++) {
        str_puts(&has, i ? ", " : "");
        str_visible(&has, t->field[i]);
    }
    ig_fail(IG_ERR_FORMAT, "%s: no column is named '%s'; there are %s", t->path, target, has.s);
    str_free(&has);
    return -1;
}

static bool add_features(const table *t, int64_t target, encoding *e, int64_t *column)
{
    for (int64_t i = 0; i < t->columns; i++) {
        if (i == target)
            continue;
        column[e->n] = i;
        feature *f = encoding_add(e, t->header ? t->field[i] : "");
        if (column_is_numbers(t, i))
            continue;
        f->categories = column_categories(t, i);
        if (f->categories.n > CATEGORIES_MOST) {
            char why[160];
            snprintf(why, sizeof why,
                     "the column has %lld different texts; at most %d can be categories: remove it",
                     (long long)f->categories.n, CATEGORIES_MOST);
            fail_at(t, 0, i, why);
            return false;
        }
    }
    if (!e->n)
        ig_fail(IG_ERR_FORMAT, "%s: it has one column; samples need columns besides the target",
                t->path);
    return e->n > 0;
}

static ig_array *read_target(const table *t, int64_t target, bool numbers, name_list *classes)
{
    double *out = heap_get(sizeof *out * (size_t)t->rows);
    bool fine;
    if (column_is_numbers(t, target)) {
        fine = column_numbers(t, target, out, 1);
    } else if (numbers) {
        fail_at(t, 0, target, "with --loss mse the target must be numbers; leave out --loss");
        fine = false;
    } else {
        *classes = column_categories(t, target);
        fine = column_encode(t, target, classes, false, out, 1);
    }
    ig_array *y = fine ? ig_from_data(out, IG_SHAPE(t->rows), IG_F64) : NULL;
    free(out);
    return y;
}

bool table_learn(const char *path, const char *target, bool numbers, encoding *e, ig_array **x,
                 ig_array **y, name_list *classes)
{
    table t = {0};
    bool fine = table_read(&t, path);
    const int64_t y_column = fine ? find_target(&t, target) : -1;
    int64_t *column = heap_get(sizeof *column * (size_t)(t.columns + 1));
    fine = y_column >= 0 && add_features(&t, y_column, e, column);
    *x = fine ? encode(&t, e, column) : NULL;
    *y = *x ? read_target(&t, y_column, numbers, classes) : NULL;
    free(column);
    table_free(&t);
    return *y != NULL;
}

/* ---- samples of a trained network -------------------------------------------------------------- */

/* Finds the features by name, or by position without names. */
static bool find_columns(const table *t, const encoding *e, int64_t *column)
{
    const bool named = t->header && *e->at[0].name;
    for (int64_t i = 0; i < e->n; i++) {
        column[i] = named ? -1 : i;
        for (int64_t k = 0; k < t->columns && named; k++)
            if (strcmp(t->field[k], e->at[i].name) == 0)
                column[i] = k;
        if (column[i] < 0) {
            ig_fail(IG_ERR_FORMAT, "%s: it has no column '%s', which the network was trained with",
                    t->path, e->at[i].name);
            return false;
        }
    }
    if (!named && t->columns != e->n)
        ig_fail(IG_ERR_FORMAT, "%s: it has %lld columns, but the network takes %lld%s", t->path,
                (long long)t->columns, (long long)e->n,
                t->columns == e->n + 1 ? "; leave out the column of classes or targets" : "");
    return named || t->columns == e->n;
}

ig_array *table_samples(const char *path, const encoding *e)
{
    table t = {0};
    int64_t *column = heap_get(sizeof *column * (size_t)e->n);
    ig_array *x = NULL;
    if (table_read(&t, path) && find_columns(&t, e, column))
        x = encode(&t, e, column);
    free(column);
    table_free(&t);
    return x;
}
