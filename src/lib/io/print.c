/* Arrays as text, as NumPy prints them with its default options: ig_to_string and ig_print.
 *
 * First all elements that will be shown are measured, then they are laid out in columns of one width.
 * Lines end before column 75. If there are more than 1000 elements, 3 at each end of an axis are shown. */
#include "lib/io/element.h"
#include "lib/io/file.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 75, SHOWN_MOST = 1000, EDGE_ITEMS = 3, PLACES = 8, CORNERS_MOST = 64 };

/* The format of the elements of one array. */
typedef struct style {
    ig_dtype dtype;
    bool floats, scientific;
    int before, after;  /* columns left and right of the point; right includes an exponent */
    int places;         /* scientific: digits after the point */
    int exponent_width; /* scientific: its digits */
    bool sign;          /* always written: of an imaginary part */
} style;

typedef struct printer {
    text *out;
    const void *data;
    const int64_t *shape;
    int64_t strides[IG_MAX_NDIM]; /* in elements */
    int ndim;
    bool shorten;
    bool corners; /* data has only the elements that are shown */
    style style;
    bool pairs;  /* complex: element i has the parts 2 i and 2 i + 1 of data */
    style other; /* of the imaginary parts; style is for the real parts */
} printer;

/* ---- one element ------------------------------------------------------------------------------ */

element element_at(const void *data, ig_dtype dtype, int64_t i)
{
    switch (dtype) {
    case IG_BOOL: return (element){.i = ((const bool *)data)[i]};
    case IG_I8: return (element){.i = ((const int8_t *)data)[i]};
    case IG_I16: return (element){.i = ((const int16_t *)data)[i]};
    case IG_I32: return (element){.i = ((const int32_t *)data)[i]};
    case IG_U8: return (element){.i = ((const uint8_t *)data)[i]};
    case IG_U16: return (element){.i = ((const uint16_t *)data)[i]};
    case IG_U32: return (element){.i = ((const uint32_t *)data)[i]};
    case IG_F16: /* converted by the caller */
    case IG_BF16:
    case IG_F32: return (element){.f = ((const float *)data)[i]};
    case IG_F64: return (element){.f = ((const double *)data)[i]};
    default: return (element){.i = ((const int64_t *)data)[i]};
    }
}

int element_write_whole(element v, ig_dtype dtype, char out[DECIMAL_BYTES])
{
    if (dtype == IG_U64)
        return snprintf(out, DECIMAL_BYTES, "%" PRIu64, (uint64_t)v.i);
    return snprintf(out, DECIMAL_BYTES, "%" PRId64, v.i);
}

static int write_whole(element v, ig_dtype dtype, char out[DECIMAL_BYTES])
{
    return dtype == IG_BOOL ? snprintf(out, DECIMAL_BYTES, "%s", v.i ? "True" : "False")
                            : element_write_whole(v, dtype, out);
}

/* Adds spaces to a text of n characters; returns the new length. */
static int write_fill(char out[DECIMAL_BYTES], int n, int spaces)
{
    for (; spaces > 0; spaces--)
        out[n++] = ' ';
    out[n] = '\0';
    return n;
}

/* A float in the style of its array, without the spaces before it. */
static int write_float(double f, const style *s, char out[DECIMAL_BYTES])
{
    if (!isfinite(f))
        return ig_float_text(f, s->dtype, out);
    if (s->scientific) {
        const decimal d = decimal_scientific(f, s->dtype, s->places, s->places);
        return decimal_write_scientific(&d, s->places, s->exponent_width, out);
    }
    const decimal d = decimal_fixed(f, s->dtype, PLACES);
    return write_fill(out, decimal_write(&d, out), s->after - decimal_places(&d));
}

/* The same with its sign in any case. */
static int write_signed(double f, const style *s, char out[DECIMAL_BYTES])
{
    char word[DECIMAL_BYTES];
    write_float(fabs(f), s, word);
    return snprintf(out, DECIMAL_BYTES, "%c%s", signbit(f) ? '-' : '+', word);
}

/* Writes the element in its column; returns the width of the column. */
static int write_element(element v, const style *s, char out[DECIMAL_BYTES])
{
    char word[DECIMAL_BYTES];
    const int n = s->sign     ? write_signed(v.f, s, word)
                  : s->floats ? write_float(v.f, s, word)
                              : write_whole(v, s->dtype, word);
    const int width = s->before + s->after + s->floats;
    const int begin = write_fill(out, 0, width - n);
    memcpy(out + begin, word, (size_t)n + 1);
    return begin + n;
}

/* Element i of complex data in its column: "1.+2.j". */
static void write_pair(const printer *p, int64_t i, char out[2 * DECIMAL_BYTES])
{
    char word[DECIMAL_BYTES];
    const int n = write_element(element_at(p->data, p->style.dtype, 2 * i), &p->style, out);
    write_element(element_at(p->data, p->style.dtype, 2 * i + 1), &p->other, word);
    size_t end = strlen(word), digits = end;
    while (digits && word[digits - 1] == ' ')
        digits--;
    memcpy(out + n, word,
           digits); /* the j follows the last digit, before the spaces that fill the column */
    out[n + (int)digits] = 'j';
    memcpy(out + n + digits + 1, word + digits, end - digits + 1);
}

/* ---- which elements are shown --------------------------------------------------------------- */

static bool axis_is_shortened(const printer *p, int axis)
{
    return p->shorten && p->shape[axis] > 2 * EDGE_ITEMS;
}

/* The next index after i that is shown. */
static int64_t next_shown(const printer *p, int axis, int64_t i)
{
    bool jump = axis_is_shortened(p, axis) && i + 1 == EDGE_ITEMS;
    return jump ? p->shape[axis] - EDGE_ITEMS : i + 1;
}

typedef void visitor(style *s, element v, void *context);

/* Visits the elements with the style s: the printer's, or the other one for the second parts of pairs. */
/* The distance of element i of an axis from the first, in elements. */
static int64_t distance(const printer *p, int axis, int64_t i)
{
    const bool after = p->corners && i >= EDGE_ITEMS && axis_is_shortened(p, axis);
    return (after ? i - (p->shape[axis] - 2 * EDGE_ITEMS) : i) * p->strides[axis];
}

static void visit_shown(printer *p, style *s, int axis, int64_t offset, visitor *visit,
                        void *context)
{
    if (axis == p->ndim) {
        const int64_t at = p->pairs ? 2 * offset + (s == &p->other) : offset;
        visit(s, element_at(p->data, s->dtype, at), context);
        return;
    }
    for (int64_t i = 0; i < p->shape[axis]; i = next_shown(p, axis, i))
        visit_shown(p, s, axis + 1, offset + distance(p, axis, i), visit, context);
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* Properties of the elements to be shown. */
typedef struct survey {
    double largest, smallest; /* magnitudes that are finite and not zero; 0: there are none */
    bool finite, nan, inf, minus_inf;
} survey;

static void widen(int *width, int to)
{
    if (*width < to)
        *width = to;
}

static void survey_float(style *s, element v, void *context)
{
    (void)s;
    survey *seen = context;
    double magnitude = fabs(v.f);
    seen->nan |= isnan(v.f) != 0;
    seen->inf |= isinf(v.f) != 0;
    seen->minus_inf |= isinf(v.f) && v.f < 0;
    if (!isfinite(v.f))
        return;
    seen->finite = true;
    if (magnitude > seen->largest)
        seen->largest = magnitude;
    if (magnitude != 0 && (seen->smallest == 0 || magnitude < seen->smallest))
        seen->smallest = magnitude;
}

static void measure_float(style *s, element v, void *context)
{
    (void)context;
    if (!isfinite(v.f))
        return;
    if (s->scientific) {
        decimal d = decimal_scientific(v.f, s->dtype, 0, PLACES);
        widen(&s->before, 1 + (d.negative || s->sign));
        widen(&s->places, d.n - 1);
        widen(&s->exponent_width, d.point - 1 >= 100 || d.point - 1 <= -100 ? 3 : 2);
        s->after = s->places + 2 + s->exponent_width;
    } else {
        decimal d = decimal_fixed(v.f, s->dtype, PLACES);
        widen(&s->before, (d.negative || s->sign) + (d.point > 0 ? d.point : 1));
        widen(&s->after, decimal_places(&d));
    }
}

static void measure_whole(style *s, element v, void *context)
{
    (void)context;
    char word[DECIMAL_BYTES];
    widen(&s->before, write_whole(v, s->dtype, word));
    if (s->dtype == IG_BOOL)
        s->before = (int)strlen("False");
}

/* True if a magnitude needs more digits than the dtype holds (at most 8) or is below 0.0001, or if
 * magnitudes differ too much; all compared in the dtype itself. */
static bool wants_exponents(const survey *seen, ig_dtype dtype)
{
    dtype = dtype == IG_BF16 ? IG_F32 : dtype;
    double ratio = decimal_round(seen->largest / seen->smallest, dtype);
    return seen->smallest != 0 && (seen->largest >= fmin(decimal_whole_limit(dtype), 1e8) ||
                                   seen->smallest < decimal_round(1e-4, dtype) || ratio > 1000);
}

static void measure(printer *p, style *s)
{
    s->floats = ig_isdtype(s->dtype, "real floating");
    if (!s->floats) {
        visit_shown(p, s, 0, 0, measure_whole, NULL);
        return;
    }
    survey seen = {0};
    visit_shown(p, s, 0, 0, survey_float, &seen);
    s->scientific = wants_exponents(&seen, s->dtype);
    visit_shown(p, s, 0, 0, measure_float, NULL);
    if (seen.nan)
        widen(&s->before, 3 + s->sign - (s->after + 1));
    if (seen.inf)
        widen(&s->before, 3 + (seen.minus_inf || s->sign) - (s->after + 1));
}

/* ---- laying out ------------------------------------------------------------------------------- */

static void text_fill(text *t, const char *with, int n)
{
    for (int i = 0; i < n; i++)
        text_add(t, "%s", with);
}

static void text_trim(text *t)
{
    while (t->used && t->at[t->used - 1] == ' ')
        t->used--;
}

/* Adds a word to the row, which is *column columns long, or to a new line if it does not fit. */
static void row_add(printer *p, const char *word, int *column)
{
    const int indent = p->ndim, width = LINE_WIDTH - p->ndim, n = (int)strlen(word);
    if (*column + n > width && *column > indent) {
        text_trim(p->out);
        text_add(p->out, "\n");
        text_fill(p->out, " ", indent);
        *column = indent;
    }
    text_add(p->out, "%s", word);
    *column += n;
}

static void row_space(printer *p, int *column)
{
    text_add(p->out, " ");
    ++*column;
}

static void print_row(printer *p, int64_t offset)
{
    const int axis = p->ndim - 1;
    int column = p->ndim;
    char word[2 * DECIMAL_BYTES];
    for (int64_t i = 0; i < p->shape[axis]; i = next_shown(p, axis, i)) {
        if (i > 0)
            row_space(p, &column);
        if (axis_is_shortened(p, axis) && i == p->shape[axis] - EDGE_ITEMS) {
            row_add(p, "...", &column);
            row_space(p, &column);
        }
        const int64_t at = offset + distance(p, axis, i);
        if (p->pairs)
            write_pair(p, at, word);
        else
            write_element(element_at(p->data, p->style.dtype, at), &p->style, word);
        row_add(p, word, &column);
    }
}

static void print_axis(printer *p, int axis, int64_t offset)
{
    text_add(p->out, "[");
    if (axis == p->ndim - 1) {
        print_row(p, offset);
    } else {
        const int lines = p->ndim - 1 - axis, indent = axis + 1;
        for (int64_t i = 0; i < p->shape[axis]; i = next_shown(p, axis, i)) {
            if (axis_is_shortened(p, axis) && i == p->shape[axis] - EDGE_ITEMS) {
                text_fill(p->out, "\n", lines);
                text_fill(p->out, " ", indent);
                text_add(p->out, "...");
            }
            if (i > 0) {
                text_fill(p->out, "\n", lines);
                text_fill(p->out, " ", indent);
            }
            print_axis(p, axis + 1, offset + distance(p, axis, i));
        }
    }
    text_add(p->out, "]");
}

/* ---- the public functions --------------------------------------------------------------------- */

/* One complex number as Python prints it: "(1+2j)". */
static void print_number(text *t, double re, double im, ig_dtype dtype)
{
    char word[2][DECIMAL_BYTES];
    for (int i = 0; i < 2; i++) {
        ig_float_text(i ? im : re, dtype, word[i]);
        char *zero = strstr(word[i], ".0");
        if (zero && zero[2] == '\0')
            *zero = '\0';
    }
    text_add(t, "(%s%s%sj)", word[0], word[1][0] == '-' ? "" : "+", word[1]);
}

/* Prints contiguous data of the shape and dtype of x, or of its corners. */
static void array_print(text *t, const ig_array *x, const void *data, bool full, bool corners)
{
    const ig_ints shape = ig_shape(x);
    char word[DECIMAL_BYTES];
    printer p = {.out = t, .data = data, .shape = shape.v, .ndim = shape.n};
    p.pairs = ig_isdtype(ig_dtype_of(x), "complex floating");
    p.style.dtype = p.pairs ? (ig_dtype_of(x) == IG_C128 ? IG_F64 : IG_F32) : ig_dtype_of(x);
    p.other = (style){.dtype = p.style.dtype, .sign = true};
    int64_t size = 1, stride = 1;
    for (int axis = shape.n - 1; axis >= 0; axis--)
        size *= shape.v[axis];
    p.shorten = !full && size > SHOWN_MOST;
    p.corners = corners;
    for (int axis = shape.n - 1; axis >= 0; axis--) {
        p.strides[axis] = stride;
        stride *= corners && axis_is_shortened(&p, axis) ? 2 * EDGE_ITEMS : shape.v[axis];
    }
    measure(&p, &p.style);
    if (p.pairs)
        measure(&p, &p.other);
    if (size == 0) {
        text_add(t, "[]");
    } else if (shape.n > 0) {
        print_axis(&p, 0, 0);
    } else {
        const element v = element_at(data, p.style.dtype, 0);
        if (p.pairs)
            print_number(t, v.f, element_at(data, p.style.dtype, 1).f, p.style.dtype);
        else if (p.style.floats)
            ig_float_text(v.f, p.style.dtype, word);
        else
            write_whole(v, p.style.dtype, word);
        text_add(t, "%s", p.pairs ? "" : word);
    }
}

/* Where the elements of a corner go. */
typedef struct corner {
    void *data;
    size_t bytes;
} corner;

static ig_status take_corner(void *context, const int64_t *start, const int64_t *size,
                             const void *data)
{
    (void)start, (void)size; /* one chunk is the whole corner */
    const corner *c = context;
    memcpy(c->data, data, c->bytes);
    return IG_OK;
}

/* An evaluated copy of a view; its root is not evaluated. */
static ig_array *corner_of(ig_array *view)
{
    if (!view)
        return NULL;
    const ig_dtype dtype = ig_dtype_of(view);
    corner c = {.bytes = (size_t)ig_size(view) * ig_dtype_bytes(dtype)};
    if (!(c.data = memory_get(c.bytes)))
        return NULL;
    const ig_block_sink sink = {
        .size = sizeof sink, .chunk = ig_shape(view), .write = take_corner, .context = &c};
    ig_array *y = ig_eval_to(&view, &(const ig_block_sink *){&sink}, 1) == IG_OK
                      ? ig_from_data(c.data, ig_shape(view), dtype)
                      : NULL;
    memory_free(c.data);
    return y;
}

/* The elements of x that are shown, if x is read block by block and not all are shown; else x. Each corner is evaluated
 * by itself, so that the blocks between them are not read. NULL on failure. */
static ig_array *shown_of(ig_array *x, bool full)
{
    const ig_ints shape = ig_shape(x);
    if (full || ig_size(x) <= SHOWN_MOST || !ig_reads_blocks(x))
        return x;
    ig_array *part[CORNERS_MOST];
    int n = 1;
    for (int axis = 0; axis < shape.n; axis++)
        n *= n <= CORNERS_MOST && shape.v[axis] > 2 * EDGE_ITEMS ? 2 : 1;
    if (n > CORNERS_MOST)
        return x;
    for (int i = 0; i < n; i++) {
        int64_t start[IG_MAX_NDIM], stop[IG_MAX_NDIM];
        for (int axis = 0, bits = i; axis < shape.n; axis++) {
            const bool cut = shape.v[axis] > 2 * EDGE_ITEMS, last = cut && (bits & 1);
            bits >>= cut;
            start[axis] = last ? shape.v[axis] - EDGE_ITEMS : 0;
            stop[axis] = cut && !last ? EDGE_ITEMS : shape.v[axis];
        }
        part[i] =
            corner_of(ig_slice(x, (ig_ints){start, shape.n}, (ig_ints){stop, shape.n}, IG_NONE));
        if (!part[i])
            return NULL;
    }
    for (int axis = 0; axis < shape.n; axis++) { /* neighbours along the axis are joined */
        if (shape.v[axis] <= 2 * EDGE_ITEMS)
            continue;
        n /= 2;
        for (int i = 0; i < n; i++)
            if (!(part[i] = ig_concat(part + 2 * i, 2, IG_AXES(axis))))
                return NULL;
    }
    return part[0];
}

char *ig_to_string(ig_array *x, bool full)
{
    text t = {0};
    if (require_pointer("to_string", "x", x) != IG_OK || ig_scope_begin() != IG_OK)
        return NULL;
    const bool half = ig_dtype_of(x) == IG_F16 || ig_dtype_of(x) == IG_BF16;
    ig_array *shown = shown_of(x, full);
    const void *data = !shown ? NULL : ig_data(half ? ig_astype(shown, IG_F32) : shown);
    if (data || !ig_failed())
        array_print(&t, x, data, full, shown != x);
    else
        t.failed = true;
    char *result = text_take(&t);
    ig_scope_end();
    return result;
}

ig_status ig_print(ig_array *x)
{
    char *string = ig_to_string(x, false);
    if (!string)
        return io_waiting();
    const bool written = puts(string) >= 0;
    ig_free(string);
    if (!written)
        FAIL(IG_ERR_FILE, "print: standard output cannot be written: %s", strerror(errno));
    return IG_OK;
}
