/* Tables of a result: a line for each row, with times, rates and the share of the peak. */
#include "bench/table.h"

#include "bench/expected.h"
#include "bench/stats.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 10, WARNED_MOST = 5 };
static const char *const heads[COLUMNS] = {"work",   "size",     "dtype", "device",    "threads",
                                           "median", "interval", "rate",  "% of peak", "expected"};
static const bool to_the_right[COLUMNS] = {
    [4] = true, [5] = true, [7] = true, [8] = true, [9] = true};

/* The last column is present only if a row has an expected time. */
static int columns_of(const result *r) { return result_has_expected(r) ? COLUMNS : COLUMNS - 1; }

/* The quantities of one row. */
typedef struct summary {
    interval seconds;
    double flops_s, bytes_s; /* 0: does not apply */
    double fraction;         /* of the peak; 0: unknown */
    double expected_s;       /* 0: unknown */
} summary;

static summary summarise(const result *r, const result_row *row)
{
    summary s = {.seconds = stats_typical(row_timings(row))};
    s.flops_s = row->flops / s.seconds.middle;
    s.bytes_s = row->bytes / s.seconds.middle;
    s.fraction = row_best_s(r, row) / s.seconds.middle;
    s.expected_s = row_expected_s(r, row);
    return s;
}

/* The unit for a time. */
static const char *unit_of(double seconds, double *scale)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    int i = 0;
    while (i < 3 && seconds < units[i].seconds)
        i++;
    *scale = 1 / units[i].seconds;
    return units[i].name;
}

/* The rate in tokens/s, in FLOP/s, or in bytes/s for works that compute less than 2 FLOP per byte. */
static void cell_rate(str *t, const summary *s, const result_row *row)
{
    bool moves = s->bytes_s > 0 && s->flops_s < 2 * s->bytes_s;
    double rate = moves ? s->bytes_s : s->flops_s;
    if (row->tokens > 0)
        str_printf(t, "%.4g tokens/s", row->tokens / s->seconds.middle);
    else if (rate > 0)
        str_printf(t, "%.3g G%s", rate * 1e-9, moves ? "B/s" : row_operations(row));
}

/* The cells of one row. */
static void row_cells(str cells[COLUMNS], const result *r, const result_row *row)
{
    summary s = summarise(r, row);
    double scale;
    const char *unit = unit_of(s.seconds.middle, &scale);
    str_puts(&cells[0], row->work);
    str_puts(&cells[1], row->size);
    str_puts(&cells[2], row->dtype);
    str_puts(&cells[3], row->device);
    str_printf(&cells[4], "%d", row->threads);
    str_printf(&cells[5], "%.4g %s", s.seconds.middle * scale, unit);
    str_printf(&cells[6], "%.4g .. %.4g", s.seconds.low * scale, s.seconds.high * scale);
    cell_rate(&cells[7], &s, row);
    if (s.fraction > 1.005)
        str_puts(&cells[8], "-"); /* the data is in a cache, or the peak is doubtful */
    else if (s.fraction > 0)
        str_printf(&cells[8], "%.0f", 100 * s.fraction);
    if (s.expected_s > 0)
        str_printf(&cells[9], "%.3g %s", s.expected_s * scale, unit);
    if (row->n_warnings)
        str_puts(&cells[6], " !");
}

static void cells_free(str cells[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        str_free(&cells[c]);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static void measure(const result *r, size_t width[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        width[c] = strlen(heads[c]);
    for (int i = 0; i < r->n_rows; i++) {
        str cells[COLUMNS] = {0};
        row_cells(cells, r, &r->rows[i]);
        for (int c = 0; c < COLUMNS; c++)
            width[c] = cells[c].n > width[c] ? cells[c].n : width[c];
        cells_free(cells);
    }
}

static void put_cell(str *t, const char *s, size_t width, bool right)
{
    size_t n = s ? strlen(s) : 0;
    str_fill(t, ' ', right ? width - n : 0);
    str_puts(t, s ? s : "");
    str_fill(t, ' ', 2 + (right ? 0 : width - n));
}

/* The first warning of some rows only: on a busy machine all rows have warnings. */
static void put_warnings(str *t, const result *r)
{
    int doubtful = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        doubtful += row->n_warnings > 0;
        if (row->n_warnings && doubtful <= WARNED_MOST)
            str_printf(t, "! %s %s %s: %s\n", row->work, row->size, row->dtype, row->warnings[0]);
    }
    if (doubtful > WARNED_MOST)
        str_printf(t,
                   "! and %d more of %d rows; 'ingot doctor' shows what keeps the machine busy\n",
                   doubtful - WARNED_MOST, r->n_rows);
}

void table_text(str *t, const result *r, bool color)
{
    size_t width[COLUMNS];
    const int columns = columns_of(r);
    measure(r, width);
    str_puts(t, color ? "\033[1m" : "");
    for (int c = 0; c < columns; c++)
        put_cell(t, heads[c], width[c], to_the_right[c]);
    str_trim(t);
    str_puts(t, color ? "\033[0m\n" : "\n");
    for (int i = 0; i < r->n_rows; i++) {
        str cells[COLUMNS] = {0};
        row_cells(cells, r, &r->rows[i]);
        if (i && strcmp(r->rows[i].group, r->rows[i - 1].group) != 0)
            str_puts(t, "\n");
        for (int c = 0; c < columns; c++)
            put_cell(t, cells[c].s, width[c], to_the_right[c]);
        str_trim(t);
        str_puts(t, "\n");
        cells_free(cells);
    }
    put_warnings(t, r);
}

/* ---- for other programs -------------------------------------------------------------------------- */

static void put_csv(str *t, const char *s)
{
    bool plain = !strpbrk(s, ",\"\n\r");
    str_puts(t, plain ? "" : "\"");
    for (; *s; s++)
        str_add(t, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    str_puts(t, plain ? "," : "\",");
}

void table_csv(str *t, const result *r)
{
    str_puts(t,
             "work,size,dtype,device,group,threads,median_s,low_s,high_s,flops_per_s,bytes_per_s,"
             "share_of_peak,samples,repeats,answer,warnings,expected_s\n");
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        const char *names[] = {row->work, row->size, row->dtype, row->device, row->group};
        summary s = summarise(r, row);
        for (int k = 0; k < 5; k++)
            put_csv(t, names[k]);
        str_printf(t, "%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.4g,%d,%d,%s,", row->threads, s.seconds.middle,
                   s.seconds.low, s.seconds.high, s.flops_s, s.bytes_s, s.fraction, row->n,
                   row->repeats, row->answer ? row->answer : "");
        str_printf(t, "%d,", row->n_warnings);
        if (s.expected_s > 0)
            str_printf(t, "%.4g", s.expected_s);
        str_puts(t, "\n");
    }
}

void table_markdown(str *t, const result *r)
{
    const int columns = columns_of(r);
    for (int c = 0; c < columns; c++)
        str_printf(t, "| %s ", heads[c]);
    str_puts(t, "|\n");
    for (int c = 0; c < columns; c++)
        str_puts(t, to_the_right[c] ? "|--:" : "|---");
    str_puts(t, "|\n");
    for (int i = 0; i < r->n_rows; i++) {
        str cells[COLUMNS] = {0};
        row_cells(cells, r, &r->rows[i]);
        for (int c = 0; c < columns; c++) {
            str_puts(t, "| ");
            for (const char *s = cells[c].s ? cells[c].s : ""; *s; s++)
                str_add(t, *s == '|' ? "\\|" : s, *s == '|' ? 2 : 1);
            str_puts(t, " ");
        }
        str_puts(t, "|\n");
        cells_free(cells);
    }
}
