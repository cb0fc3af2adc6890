/* Compares outputs line by line. */
#include "cuda/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The result of a comparison. Numbers with a point or an exponent may differ by the tolerance, relative to
 * the larger one, or by one unit of the last printed digit. All other text must be identical. */
typedef struct output_comparison {
    bool same;
    bool reordered;     /* the same lines, in another order */
    int lines, numbers; /* of the first output; numbers: those that may differ */
    double largest;     /* the largest accepted relative difference */
    int line;           /* from 1: the first line that differs; 0: none */
    str first, second;  /* that line of both outputs; empty if there is none */
} output_comparison;

/* ---- numbers ---- */

/* The length of the number at s, or 0. *unit receives one unit of its last digit; 0 for an integer. */
static size_t number_at(const char *s, double *value, double *unit)
{
    size_t n = s[0] == '-' || s[0] == '+', digits = 0, after = 0;
    bool point = false, exponent = false;
    for (; isdigit((unsigned char)s[n]) || (s[n] == '.' && !point); n++) {
        point |= s[n] == '.';
        digits += s[n] != '.';
        after += point && s[n] != '.';
    }
    if (!digits)
        return 0;
    long scale = 0;
    if (s[n] == 'e' || s[n] == 'E') {
        char *end;
        scale = strtol(s + n + 1, &end, 10);
        exponent = end != s + n + 1;
        n = exponent ? (size_t)(end - s) : n;
    }
    *value = strtod(s, NULL);
    *unit = point || exponent ? pow(10.0, (double)scale - (double)after) : 0;
    return n;
}

/* True if a number may begin here: it does not continue a name or another number. */
static bool may_begin(const char *line, const char *at)
{
    const unsigned char before = at > line ? (unsigned char)at[-1] : ' ';
    return !isalnum(before) && before != '_' && before != '.';
}

/* True if the lines are equal except for numbers, within their tolerance. */
static bool same_line(const char *a, const char *b, double tolerance, int *numbers, double *largest)
{
    const char *begin_a = a, *begin_b = b;
    while (*a || *b) {
        double x, y, unit_x, unit_y;
        const size_t n = may_begin(begin_a, a) ? number_at(a, &x, &unit_x) : 0;
        const size_t m = may_begin(begin_b, b) ? number_at(b, &y, &unit_y) : 0;
        if (!n || !m || unit_x == 0 || unit_y == 0) {
            if (*a != *b)
                return false;
            a++;
            b++;
            continue;
        }
        const double apart = fabs(x - y), size = fmax(fabs(x), fabs(y));
        const double unit = fmax(unit_x, unit_y) * (1 + 1e-9);
        if (apart > tolerance * size && apart > unit)
            return false;
        ++*numbers;
        if (apart > 0)
            *largest = fmax(*largest, apart / size);
        a += n;
        b += m;
    }
    return true;
}

/* ---- lines ---- */

typedef struct line_list {
    char *text;
    char **at;
    int n;
} line_list;

static line_list lines_of(const char *text)
{
    line_list l = {.text = heap_string(text)};
    for (char *at = l.text; *at;) {
        const size_t n = strcspn(at, "\n");
        l.at = heap_resize(l.at, (size_t)(l.n + 1) * sizeof *l.at);
        l.at[l.n++] = at;
        at += n + (at[n] == '\n');
        l.at[l.n - 1][n] = 0;
    }
    return l;
}

static void lines_free(line_list *l)
{
    free(l->text);
    free(l->at);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The number of the first line that differs, from 1; 0 if none does. */
static int first_difference(const line_list *a, const line_list *b, double tolerance,
                            output_comparison *out)
{
    out->numbers = 0;
    out->largest = 0;
    for (int i = 0; i < a->n || i < b->n; i++)
        if (i >= a->n || i >= b->n ||
            !same_line(a->at[i], b->at[i], tolerance, &out->numbers, &out->largest))
            return i + 1;
    return 0;
}

static void output_compare(const char *a, const char *b, double tolerance, output_comparison *out)
{
    line_list x = lines_of(a), y = lines_of(b);
    *out = (output_comparison){.lines = x.n};
    out->line = first_difference(&x, &y, tolerance, out);
    if (out->line) {
        str_puts(&out->first, out->line <= x.n ? x.at[out->line - 1] : "");
        str_puts(&out->second, out->line <= y.n ? y.at[out->line - 1] : "");
        output_comparison sorted = {0};
        if (x.n)
            qsort(x.at, (size_t)x.n, sizeof *x.at, by_text);
        if (y.n)
            qsort(y.at, (size_t)y.n, sizeof *y.at, by_text);
        out->reordered = first_difference(&x, &y, tolerance, &sorted) == 0;
        if (out->reordered) {
            out->numbers = sorted.numbers;
            out->largest = sorted.largest;
        }
    }
    out->same = !out->line || out->reordered;
    lines_free(&x);
    lines_free(&y);
}

static void output_comparison_free(output_comparison *c)
{
    str_free(&c->first);
    str_free(&c->second);
}

/* ---- programs ---- */

static void report(const command *c, const char *first, const char *second,
                   const output_comparison *r)
{
    str t = {0};
    if (!r->same) {
        say(c, "line %d differs:\n  %s: %s\n  %s: %s", r->line, first,
            r->first.n ? r->first.s : "(no such line)", second,
            r->second.n ? r->second.s : "(no such line)");
        return;
    }
    str_printf(&t, "%s and %s printed the same %d line%s", first, second, r->lines,
               r->lines == 1 ? "" : "s");
    if (r->reordered)
        str_puts(&t, ", in another order");
    if (r->largest > 0)
        str_printf(&t, "; of %d numbers with decimals, the largest relative difference is %.2g",
                   r->numbers, r->largest);
    say(c, "%s", t.s);
    str_free(&t);
}

/* Compares the second output with the first, and reports. */
static bool compare_two(const command *c, const program_options *o, const char *const names[2],
                        const str outputs[2], const int codes[2])
{
    output_comparison r;
    output_compare(outputs[0].s ? outputs[0].s : "", outputs[1].s ? outputs[1].s : "", o->tolerance,
                   &r);
    report(c, names[0], names[1], &r);
    if (codes[0] != codes[1])
        say(c, "the exit code is %d on %s and %d on %s", codes[0], names[0], codes[1], names[1]);
    const bool same = r.same && codes[0] == codes[1];
    output_comparison_free(&r);
    return same;
}

static int run_on(const command *c, const program_options *o, const char *device, str *output)
{
    program_options one = *o;
    one.device = device;
    one.compare = NULL;
    one.output = output;
    return run_program(c, &one);
}

/* A missing device is already reported and ends the comparison. */
static bool is_absent(int code, const str *output) { return code == EXIT_ABSENT && !output->n; }

int program_compare(const command *c, const program_options *o)
{
    str outputs[2] = {{0}, {0}};
    int codes[2] = {0, 0};
    const char *names[2] = {o->device ? o->device : "cpu", NULL};
    char *others = heap_string(o->compare), *rest = NULL;
    bool same = true, absent;
    codes[0] = run_on(c, o, names[0], &outputs[0]);
    fwrite(outputs[0].s ? outputs[0].s : "", 1, outputs[0].n, stdout);
    fflush(stdout);
    absent = is_absent(codes[0], &outputs[0]);
    for (char *name = strtok_r(others, ",", &rest); name && !absent;
         name = strtok_r(NULL, ",", &rest)) {
        names[1] = name;
        codes[1] = run_on(c, o, name, &outputs[1]);
        absent = is_absent(codes[1], &outputs[1]);
        if (!absent)
            same &= compare_two(c, o, names, outputs, codes);
        str_free(&outputs[1]);
    }
    str_free(&outputs[0]);
    free(others);
    return absent ? EXIT_ABSENT : same ? codes[0] : EXIT_FAILED;
}
