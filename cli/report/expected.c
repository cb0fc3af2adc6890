/* Apple GPUs: measured times next to the times that a model predicts (bench/expected.def). */
#include "bench/expected.h"
#include "report/page.h"

static void expected_row(str *t, const contestant *who, const result_row *r)
{
    const interval s = row_time(r);
    const double expected_s = row_expected_s(&who->from->r, r);
    str word = {0};
    words_time(&word, expected_s);
    html_put(t, "<tr><th scope=\"row\">%s <span>%s %s</span></th>", r->work, r->size, r->dtype);
    part_cell_time(t, s);
    html_put(t, "<td class=\"n\">%s</td><td class=\"n\">%.2f</td></tr>\n", word.s,
             s.middle / expected_s);
    str_free(&word);
}

static bool has_expected(const contestant *who)
{
    for (const result_row *r = NULL; (r = row_next(who, r));)
        if (row_expected_s(&who->from->r, r) > 0)
            return true;
    return false;
}

void section_expected(str *t, const comparison *c)
{
    static const char *const heads[] = {"Work", "Measured", "Expected", "Measured / expected",
                                        NULL};
    int shown = 0;
    for (int i = 0; i < c->n_contestants; i++) {
        const contestant *who = &c->contestants[i];
        int left_out = 0;
        if (!has_expected(who))
            continue;
        if (!shown++)
            part_heading(t, "expected", "Expected and measured",
                         "Expected times come from bytes and instructions that were counted on a "
                         "simulator, and from public figures of the chip: see docs/METAL.md. A "
                         "ratio above 1 is slower than expected.");
        part_table(t, "ratios times", who->label, heads);
        for (const result_row *r = NULL; (r = row_next(who, r));)
            if (row_expected_s(&who->from->r, r) > 0 && page_has_room(t, FIRST_UNTIL, &left_out))
                expected_row(t, who, r);
        part_table_end(t);
        part_left_out(t, left_out);
    }
}
