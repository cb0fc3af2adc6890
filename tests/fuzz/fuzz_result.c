/* Results of bench runs, from any bytes: what is read is written and read back the same, compares with
 * itself without a difference, and makes a page of bounded size in which no markup comes from the file. */
#include <string.h>

#include "cli/report/compare.h"
#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE_MOST = 500000 };

static void check_page(const comparison *c)
{
    str page = {0};
    page_make(&page, c, "ingot report a.json");
    scratch_check(page.n <= PAGE_MOST, "a page is too large");
    scratch_check(!strstr(page.s, "<script") && !strstr(page.s, "<img"), "markup came from a file");
    scratch_check(!strstr(page.s, "\"nan") && !strstr(page.s, "\"Mnan") &&
                      !strstr(page.s, "\"left:nan"),
                  "a place in a picture is none");
    str_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source both[2] = {{.path = "a.json"}, {.path = "b.json"}};
    str why = {0}, once = {0}, again = {0};
    if (!result_parse(&both[0].r, (const char *)data, size, &why)) {
        scratch_check(why.n && !strchr(why.s, '\n'), "it is not said in one line what is wrong");
        str_free(&why);
        return 0;
    }
    result_json(&both[0].r, &once);
    scratch_check(result_parse(&both[1].r, once.s, once.n, &why), "what was written is not read");
    result_json(&both[1].r, &again);
    scratch_check(strcmp(once.s, again.s) == 0, "what was written reads otherwise");

    comparison c;
    comparison_make(&c, both, 2);
    for (int i = 0; i < c.n_pairs; i++)
        scratch_check(c.pairs[i].verdict == VERDICT_SAME || c.pairs[i].verdict == VERDICT_UNSURE,
                      "a result differs from itself");
    check_page(&c);
    comparison_free(&c);
    comparison_make(&c, both, 1);
    check_page(&c);
    comparison_free(&c);
    for (int i = 0; i < 2; i++)
        result_free(&both[i].r);
    str_free(&once);
    str_free(&again);
    return 0;
}
