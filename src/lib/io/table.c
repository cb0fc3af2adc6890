/* Tables as text: see ig_load and table.h. A file is read as a whole, and each line is a row. */
#include "lib/io/table.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/element.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char table_separator(const char *path)
{
    static const struct {
        const char *suffix;
        char separator;
    } rows[] = {{".csv", ','}, {".tsv", '\t'}, {".txt", ' '}};
    const char *dot = path ? strrchr(path, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(dot, rows[i].suffix) == 0)
            return rows[i].separator;
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A number. It has a whole value if it is an integer that fits i64, and always a float value. */
typedef struct number {
    bool whole;
    int64_t i;
    double f;
} number;

typedef struct table {
    struct io_file *file;
    char separator;
    int64_t line, rows, columns;
    bool header, whole; /* a header was seen; all numbers so far are whole */
    element *at;        /* elements of all rows; i while `whole`, else f */
    size_t n, room;
} table;

/* The characters of a field: [first, last). */
typedef struct slice {
    const char *first, *last;
} slice;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static slice trimmed(slice s)
{
    while (s.first < s.last && is_blank(*s.first))
        s.first++;
    while (s.first < s.last && is_blank(s.last[-1]))
        s.last--;
    if (s.last - s.first >= 2 && *s.first == '"' && s.last[-1] == '"')
        return (slice){s.first + 1, s.last - 1};
    return s;
}

/* Takes the next field from a line that is not empty. A separator in quotes does not count. */
static slice field_take(const table *t, slice *line, bool *more)
{
    const char *at = line->first;
    bool quoted = false;
    for (; at < line->last; at++) {
        quoted ^= *at == '"';
        if (!quoted && (t->separator == ' ' ? is_blank(*at) : *at == t->separator))
            break;
    }
    const slice field = trimmed((slice){line->first, at});
    *more = at < line->last;
    line->first = *more ? at + 1 : at;
    while (t->separator == ' ' && line->first < line->last && is_blank(*line->first))
        line->first++;
    return field;
}

/* Reads a decimal number, nan or inf; false if it is something else. An empty field is NaN. */
static bool number_read(slice s, number *out)
{
    char copy[IG_FLOAT_TEXT], *end;
    const size_t n = (size_t)(s.last - s.first);
    *out = (number){.f = NAN};
    if (n == 0)
        return true;
    if (n >= sizeof copy)
        return false;
    memcpy(copy, s.first, n);
    copy[n] = 0;
    const char *digits = copy + (*copy == '-' || *copy == '+');
    if (strspn(copy, "0123456789+-.eE") != n && strcasecmp(digits, "nan") != 0 &&
        strcasecmp(digits, "inf") != 0 && strcasecmp(digits, "infinity") != 0)
        return false;
    out->f = strtod(copy, &end);
    if (*end || end == copy)
        return false;
    errno = 0;
    out->i = strtoll(copy, &end, 10);
    out->whole = !*end && !errno && !(out->f == 0 && signbit(out->f));
    return true;
}

static ig_status number_add(table *t, number x)
{
    if (t->n == t->room) {
        const size_t room = 2 * t->room + 1024;
        TRY(io_admit(t->file, room * sizeof *t->at));
        element *at = memory_resize(t->at, room * sizeof *at);
        if (!at)
            return IG_ERR_MEMORY;
        t->at = at;
        t->room = room;
    }
    for (size_t i = 0; t->whole && !x.whole && i < t->n; i++)
        t->at[i].f = (double)t->at[i].i;
    t->whole &= x.whole;
    t->at[t->n++] = t->whole ? (element){.i = x.i} : (element){.f = x.f};
    return IG_OK;
}

static ig_status not_a_number(const table *t, slice s, int64_t column)
{
    char copy[64], shown[IO_SHOWN_BYTES];
    const size_t n = (size_t)(s.last - s.first), most = n < sizeof copy ? n : sizeof copy - 1;
    memcpy(copy, s.first, most);
    copy[most] = 0;
    io_show(copy, shown);
    return io_fail(t->file, IG_ERR_FORMAT,
                   "field %" PRId64 " of line %" PRId64 " is '%s%s', not a number; a table has "
                   "numbers only, except in a header line",
                   column, t->line, shown, most < n ? "..." : "");
}

static ig_status line_read(table *t, slice line)
{
    const size_t before = t->n;
    const bool whole = t->whole;
    int64_t column = 0;
    for (bool more = true; more;) {
        number x;
        const slice field = field_take(t, &line, &more);
        if (t->separator == ' ' && !more && field.first == field.last && column)
            break; /* blanks at the end of a line */
        column++;
        if (!number_read(field, &x)) {
            if (t->rows || t->header)
                return not_a_number(t, field, column);
            t->header = true;
            t->n = before;
            t->whole = whole;
            return IG_OK;
        }
        TRY(number_add(t, x));
    }
    if (t->rows++ && column != t->columns)
        return io_fail(t->file, IG_ERR_FORMAT,
                       "line %" PRId64 " has %" PRId64 " fields, and the lines before have %" PRId64
                       "; fill the missing ones with nan",
                       t->line, column, t->columns);
    t->columns = column;
    return IG_OK;
}

static ig_status lines_read(table *t, const char *at, const char *end)
{
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) /* the byte order mark of UTF-8 */
        at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        slice line = {at, newline ? newline : end};
        at = newline ? newline + 1 : end;
        t->line++;
        if (line.last > line.first && line.last[-1] == '\r')
            line.last--;
        const char *first = line.first;
        while (first < line.last && is_blank(*first) && (*first != t->separator || *first == ' '))
            first++;
        if (first == line.last || *first == '#')
            continue;
        line.first = t->separator == ' ' ? first : line.first;
        TRY(line_read(t, line));
    }
    if (t->rows == 0)
        return io_fail(t->file, IG_ERR_FORMAT, "it has no line with numbers");
    return IG_OK;
}

ig_array *table_read(struct io_file *file, char separator)
{
    table t = {.file = file, .separator = separator, .whole = true};
    void *data = NULL;
    size_t got = 0;
    ig_array *x = NULL;
    const uint64_t most = file->left >= 0 ? (uint64_t)file->left : ig_memory_limit();
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    ig_status status = plain ? io_admit(file, file->left >= 0 ? most : 0)
                             : ig_fail(IG_ERR_MEMORY, "load: no memory for a locale");
    if (status == IG_OK)
        status = io_read_new(file, most, &data, &got);
    if (status == IG_OK) {
        const locale_t ours = uselocale(plain); /* in which the decimal point is '.' */
        status = lines_read(&t, data, (const char *)data + got);
        uselocale(ours);
    }
    if (status == IG_OK)
        x = ig_from_data(t.at, t.columns == 1 ? IG_SHAPE(t.rows) : IG_SHAPE(t.rows, t.columns),
                         t.whole ? IG_I64 : IG_F64);
    if (plain)
        freelocale(plain);
    memory_free(t.at);
    free(data);
    return x;
}

/* ---- writing ------------------------------------------------------------------------------- */

ig_status table_write(struct io_file *file, ig_array *x, char separator)
{
    enum { ROOM = 1 << 16 };
    const ig_dtype dtype = ig_dtype_of(x);
    const bool floats = ig_isdtype(dtype, "real floating");
    const int64_t rows = ig_ndim(x) ? ig_dim(x, 0) : 1, columns = ig_ndim(x) > 1 ? ig_dim(x, 1) : 1;
    ig_array *wide = dtype == IG_F16 || dtype == IG_BF16 ? ig_astype(x, IG_F32) : x;
    const void *data = wide ? ig_data(wide) : NULL;
    if (!data && (ig_size(x) != 0 || ig_failed()))
        return io_waiting();
    char *text = memory_get(ROOM + IG_FLOAT_TEXT + 1);
    size_t n = 0;
    ig_status status = text ? IG_OK : IG_ERR_MEMORY;
    for (int64_t i = 0; status == IG_OK && i < rows * columns; i++) {
        const element v = element_at(data, ig_dtype_of(wide), i);
        n += (size_t)(floats ? ig_float_text(v.f, dtype, text + n)
                             : element_write_whole(v, dtype, text + n));
        text[n++] = (i + 1) % columns ? separator : '\n';
        if (n >= ROOM || i + 1 == rows * columns) {
            status = io_write(file, text, n);
            n = 0;
        }
    }
    memory_free(text);
    return status;
}
