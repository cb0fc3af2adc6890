/* Tables as text: see ig_load and table.h. Each line is a row. ig_load reads a file as a whole; for long files, one pass
 * over the lines finds where rows begin, and rows are read when they are needed. */
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
#include <unistd.h>

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

/* m / 10^k, rounded to nearest. m > 0, k <= 19. */
static double divided(uint64_t m, int k)
{
    typedef unsigned __int128 wide;
    uint64_t d = 1;
    for (int i = 0; i < k; i++)
        d *= 10;
    if ((m | d) >> 53 == 0) /* both are exact */
        return (double)m / (double)d;
    /* The quotient has 64 or 65 bits. Its last bit is also set if there is a remainder, so it is rounded once. */
    const int shift = 64 + __builtin_clzll(m) - __builtin_clzll(d);
    const wide n = (wide)m << shift;
    wide q = n / d;
    q |= q * d != n;
    return q >> 64 ? ldexp((double)(uint64_t)(q >> 1 | (q & 1)), 1 - shift)
                   : ldexp((double)(uint64_t)q, -shift);
}

/* Reads a number m / 10^k, where m has up to 19 digits, with the value of strtod, which takes several times as long. False if
 * it is another number, or none. */
static bool short_number_read(slice s, number *out)
{
    enum { DIGITS_MOST = 19, EXPONENT_MOST = 99 };
    const char *at = s.first;
    const bool negative = *at == '-';
    bool whole = true;
    uint64_t m = 0;
    int digits = 0, below = 0; /* the number is m / 10^below */
    at += *at == '-' || *at == '+';
    for (; at < s.last && ((*at >= '0' && *at <= '9') || (*at == '.' && whole)); at++) {
        whole = whole && *at != '.';
        if (*at == '.')
            continue;
        m = 10 * m + (uint64_t)(*at - '0');
        below += !whole;
        if (++digits > DIGITS_MOST)
            return false;
    }
    if (digits && at < s.last && (*at == 'e' || *at == 'E')) {
        const bool down = ++at < s.last && *at == '-';
        int exponent = 0;
        at += at < s.last && (*at == '-' || *at == '+');
        const char *first = at;
        for (; at < s.last && *at >= '0' && *at <= '9' && exponent <= EXPONENT_MOST; at++)
            exponent = 10 * exponent + (*at - '0');
        if (at == first)
            return false;
        below += down ? exponent : -exponent;
        whole = false;
    }
    if (digits == 0 || at != s.last || below < 0 || below > DIGITS_MOST)
        return false;
    out->f = m == 0 ? 0 : below ? divided(m, below) : (double)m;
    out->f = negative ? -out->f : out->f;
    out->whole = whole && m <= (uint64_t)INT64_MAX + negative && !(negative && m == 0);
    out->i = (int64_t)(negative ? 0 - m : m);
    return true;
}

/* Reads a decimal number, nan or inf; false if it is something else. An empty field is NaN. */
static bool number_read(slice s, number *out)
{
    char copy[IG_FLOAT_TEXT], *end;
    const size_t n = (size_t)(s.last - s.first);
    *out = (number){.f = NAN};
    if (n == 0 || short_number_read(s, out))
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

/* Reads a line, without its newline. Lines without numbers are skipped. */
static ig_status line_take(table *t, slice line)
{
    t->line++;
    if (line.last > line.first && line.last[-1] == '\r')
        line.last--;
    const char *first = line.first;
    while (first < line.last && is_blank(*first) && (*first != t->separator || *first == ' '))
        first++;
    if (first == line.last || *first == '#')
        return IG_OK;
    line.first = t->separator == ' ' ? first : line.first;
    return line_read(t, line);
}

/* The bytes of the byte order mark of UTF-8 at the beginning of a file. */
static size_t mark_bytes(const char *at, size_t n)
{
    return n >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static ig_status lines_read(table *t, const char *at, const char *end)
{
    at += mark_bytes(at, (size_t)(end - at));
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const slice line = {at, newline ? newline : end};
        at = newline ? newline + 1 : end;
        TRY(line_take(t, line));
    }
    return IG_OK;
}

static ig_status check_rows(const table *t)
{
    return t->rows ? IG_OK : io_fail(t->file, IG_ERR_FORMAT, "it has no line with numbers");
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
        if (status == IG_OK)
            status = check_rows(&t);
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

/* ---- long files ------------------------------------------------------------------------------ */

enum { LINES_ROOM = 1 << 18, PLACES_MOST = 1 << 16 };

/* The lines of a file from some place on. */
typedef struct lines {
    struct io_file *file;
    int64_t next; /* the place in the file after the bytes in `text` */
    char *text;
    size_t at, used, room;
} lines;

/* Reads more bytes after those that no line has taken yet. */
static ig_status lines_fill(lines *l, size_t *got)
{
    if (l->at)
        memmove(l->text, l->text + l->at, l->used - l->at);
    l->used -= l->at;
    l->at = 0;
    if (l->used == l->room || !l->text) {
        const size_t room = l->room ? 2 * l->room : LINES_ROOM;
        TRY(io_admit(l->file, room));
        char *larger = memory_resize(l->text, room);
        if (!larger)
            return IG_ERR_MEMORY;
        l->text = larger;
        l->room = room;
    }
    ssize_t n;
    do
        n = pread(l->file->fd, l->text + l->used, l->room - l->used, (off_t)l->next);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return io_fail_system(l->file, errno, "it cannot be read");
    l->next += n;
    l->used += (size_t)n;
    *got = (size_t)n;
    return IG_OK;
}

/* The next line; *place: where it begins. line->first is NULL after the last. */
static ig_status lines_next(lines *l, slice *line, int64_t *place)
{
    size_t seen = 0, got = 1;
    for (;;) {
        const char *from = l->text ? l->text + l->at : NULL;
        const size_t left = l->used - l->at;
        const char *newline = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
        if (newline || !got) {
            *place = l->next - (int64_t)left;
            *line = left ? (slice){from, newline ? newline : from + left} : (slice){NULL, NULL};
            l->at += newline ? (size_t)(newline + 1 - from) : left;
            return IG_OK;
        }
        seen = left;
        TRY(lines_fill(l, &got));
    }
}

/* Notes that a row begins at a place. If there are many places, every second one is dropped. */
static ig_status place_add(struct table_index *x, int64_t row, struct table_place place)
{
    if (row % x->step)
        return IG_OK;
    if (!x->places && !(x->places = memory_get(PLACES_MOST * sizeof *x->places)))
        return IG_ERR_MEMORY;
    if (x->n == PLACES_MOST) {
        for (size_t i = 0; i < x->n / 2; i++)
            x->places[i] = x->places[2 * i];
        x->n /= 2;
        x->step *= 2;
        if (row % x->step)
            return IG_OK;
    }
    x->places[x->n++] = place;
    return IG_OK;
}

static ig_status scan(table *t, lines *l, struct table_index *x)
{
    for (bool first = true;; first = false) {
        slice line;
        struct table_place place = {.line = t->line};
        const int64_t row = t->rows;
        TRY(lines_next(l, &line, &place.at));
        if (!line.first)
            return check_rows(t);
        line.first += first ? mark_bytes(line.first, (size_t)(line.last - line.first)) : 0;
        t->n = 0; /* the numbers of one line at a time */
        TRY(line_take(t, line));
        if (t->rows > row)
            TRY(place_add(x, row, place));
    }
}

ig_status table_scan(struct io_file *file, char separator, struct table_index *x)
{
    table t = {.file = file, .separator = separator, .whole = true};
    lines l = {.file = file};
    *x = (struct table_index){.step = 64, .separator = separator};
    if (file->left < 0)
        return io_fail(file, IG_ERR_FILE, "it is not a regular file; read it with load");
    x->bytes = file->left;
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain)
        return ig_fail(IG_ERR_MEMORY, "open: no memory for a locale");
    const locale_t ours = uselocale(plain);
    const ig_status status = scan(&t, &l, x);
    uselocale(ours);
    freelocale(plain);
    memory_free(t.at);
    memory_free(l.text);
    x->rows = t.rows;
    x->columns = t.columns;
    x->whole = t.whole;
    return status;
}

static ig_status rows_read(table *t, lines *l, const struct table_index *x, const int64_t *start,
                           const int64_t *size, element *to)
{
    const int64_t first = x->columns > 1 ? start[1] : 0, n = x->columns > 1 ? size[1] : 1;
    while (t->rows < start[0] + size[0]) {
        slice line;
        int64_t place;
        const int64_t row = t->rows;
        TRY(lines_next(l, &line, &place));
        if (!line.first)
            return io_fail(t->file, IG_ERR_FILE, "it has fewer lines than before; open it again");
        line.first += place == 0 ? mark_bytes(line.first, (size_t)(line.last - line.first)) : 0;
        t->n = 0;
        t->columns = x->columns;
        t->whole = x->whole;
        TRY(line_take(t, line));
        if (t->whole != x->whole)
            return io_fail(t->file, IG_ERR_FILE, "line %" PRId64 " has changed; open it again",
                           t->line);
        if (t->rows > row && row >= start[0])
            memcpy(to + (row - start[0]) * n, t->at + first, (size_t)n * sizeof *to);
    }
    return IG_OK;
}

ig_status table_rows(struct io_file *file, const struct table_index *x, const int64_t *start,
                     const int64_t *size, void *data)
{
    const int64_t nth = start[0] / x->step;
    const struct table_place place = x->places[nth];
    table t = {.file = file,
               .separator = x->separator,
               .line = place.line,
               .rows = nth * x->step,
               .header = true};
    lines l = {.file = file, .next = place.at};
    if (file->left != x->bytes)
        return io_fail(file, IG_ERR_FILE, "its size has changed; open it again");
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain)
        return ig_fail(IG_ERR_MEMORY, "open: no memory for a locale");
    const locale_t ours = uselocale(plain);
    const ig_status status = rows_read(&t, &l, x, start, size, data);
    uselocale(ours);
    freelocale(plain);
    memory_free(t.at);
    memory_free(l.text);
    return status;
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
