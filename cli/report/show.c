/* A comparison as text and as JSON. */
#include "report/show.h"

#include <stdlib.h>
#include <string.h>

/* ---- a table of text ------------------------------------------------------------------------ */

enum { COLUMNS = 6 };

typedef struct line {
    str cell[COLUMNS];
} line;

/* The width in characters, not bytes. */
static size_t width_of(const char *s)
{
    size_t n = 0;
    for (; s && *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* The first and the last column are aligned left, the others right. */
static void put_line(str *t, const line *l, const size_t *width)
{
    str row = {0};
    for (int i = 0; i < COLUMNS; i++) {
        const char *s = l->cell[i].s ? l->cell[i].s : "";
        const size_t pad = width[i] - width_of(s);
        const bool left = i == 0 || i == COLUMNS - 1;
        str_fill(&row, ' ', i ? 2 : 0);
        str_fill(&row, ' ', left ? 0 : pad);
        str_puts(&row, s);
        str_fill(&row, ' ', left ? pad : 0);
    }
    str_trim(&row);
    str_printf(t, "%s\n", row.s);
    str_free(&row);
}

static void fill_line(line *l, const pairing *p, bool color)
{
    static const char *const colors[] = {[VERDICT_SAME] = "",
                                         [VERDICT_FASTER] = "\033[32m",
                                         [VERDICT_SLOWER] = "\033[31m",
                                         [VERDICT_UNSURE] = "\033[33m"};
    words_old(&l->cell[0], p);
    words_time(&l->cell[1], p->old_s.middle);
    words_time(&l->cell[2], p->new_s.middle);
    words_ratio(&l->cell[3], p->speedup.middle);
    str_puts(&l->cell[3], "x");
    str_puts(&l->cell[4], "[");
    words_ratio(&l->cell[4], p->speedup.low);
    str_puts(&l->cell[4], ", ");
    words_ratio(&l->cell[4], p->speedup.high);
    str_puts(&l->cell[4], "]");
    str_printf(&l->cell[5], "%s%s%s%s", color ? colors[p->verdict] : "", verdict_name(p->verdict),
               color && *colors[p->verdict] ? "\033[0m" : "",
               p->old->n_warnings || p->new->n_warnings ? " !" : "");
}

static void match_table(str *t, const comparison *c, int number, bool color)
{
    const match *m = &c->matches[number];
    line *lines = heap_get((size_t)(m->n + 1) * sizeof *lines);
    size_t width[COLUMNS] = {0};
    const char *heads[COLUMNS] = {"work",
                                  c->contestants[m->old].label,
                                  c->contestants[m->new].label,
                                  "speedup",
                                  "99 % interval",
                                  "verdict"};
    int n = 1;
    for (int i = 0; i < COLUMNS; i++)
        str_puts(&lines[0].cell[i], heads[i]);
    for (int i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].match == number)
            fill_line(&lines[n++], &c->pairs[i], color);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < COLUMNS; j++)
            if (width_of(lines[i].cell[j].s) > width[j])
                width[j] = width_of(lines[i].cell[j].s);
    str_puts(t, "\n");
    for (int i = 0; i < n; i++) {
        put_line(t, &lines[i], width);
        for (int j = 0; j < COLUMNS; j++)
            str_free(&lines[i].cell[j]);
    }
    free(lines);
}

void show_text(str *t, const comparison *c, bool color)
{
    words_headline(t, c);
    str_puts(t, "\n");
    for (int i = 0; i < c->n_matches; i++)
        if (c->matches[i].n)
            match_table(t, c, i, color);
    str notes = {0};
    words_notes(&notes, c);
    if (notes.n)
        str_printf(t, "\n%s", notes.s);
    str_free(&notes);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_interval(str *t, const char *key, interval i)
{
    str_json(t, "%s: {low: %.6g, middle: %.6g, high: %.6g}", key, i.low, i.middle, i.high);
}

static void json_row(str *t, const comparison *c, int number, const result_row *r)
{
    const match *m = &c->matches[number];
    str_json(t, "\n  {work: %s, size: %s, dtype: %s, group: %s, threads: %d, old: %s, new: %s",
             r->work, r->size, r->dtype, r->group, r->threads, c->contestants[m->old].label,
             c->contestants[m->new].label);
}

void show_json(str *t, const comparison *c)
{
    str headline = {0};
    words_headline(&headline, c);
    str_json(t, "{schema: 1, verb: compare, headline: %s, files: [", headline.s);
    str_free(&headline);
    for (int i = 0; i < c->n_sources; i++)
        str_json(t, "%s", c->sources[i].path);
    str_json(t, "], same_machine: %hhd,\n rows: [", c->same_machine);
    for (int i = 0; i < c->n_pairs; i++) {
        const pairing *p = &c->pairs[i];
        json_row(t, c, p->match, p->old);
        json_interval(t, "old_s", p->old_s);
        json_interval(t, "new_s", p->new_s);
        json_interval(t, "speedup", p->speedup);
        str_json(t, "verdict: %s}", verdict_name(p->verdict));
    }
    str_json(t, "],\n left_out: [");
    for (int i = 0; i < c->n_left_out; i++) {
        json_row(t, c, c->left_out[i].match, c->left_out[i].row);
        str_json(t, "why: %s}", c->left_out[i].why);
    }
    str_json(t, "]}\n");
}
