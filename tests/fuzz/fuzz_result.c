/* Results of bench runs, from any bytes.
 *
 * Bytes that begin like JSON are read as a file. All others choose the numbers of a result that is always
 * valid, because few mutations of a file survive the reader, and the page writer must be reached too.
 * Whatever was read is written and read back unchanged, does not differ from itself, and makes a page of
 * bounded size without markup from the file. */
#include <math.h>
#include <string.h>

#include "cli/report/compare.h"
#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE_MOST = 500000, DEVICES_MOST = 3, ROWS_MOST = 12, SAMPLES_MOST = 6 };

/* ---- results from bytes --------------------------------------------------------------------- */

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

/* The next byte; 0 at the end. */
static unsigned draw(input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

/* A number whose decimal exponent is between low and high; 0 in some of the cases, if zero allows it. */
static double draw_number(input *in, int low, int high, bool zero)
{
    const unsigned exponent = draw(in), digits = draw(in);
    if (zero && exponent % 8 == 7)
        return 0;
    return (1 + digits / 256.0) * pow(10, low + (int)exponent % (high - low));
}

static const char *draw_name(input *in, const char *const *names, unsigned n)
{
    return names[draw(in) % n];
}

#define DRAW(in, ...) \
    draw_name(in, (const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static result_row draw_row(input *in, double seconds[SAMPLES_MOST], int round[SAMPLES_MOST])
{
    result_row r = {.work = DRAW(in, "matmul", "sum", "start", "else"),
                    .size = DRAW(in, "1", "2", "1/1", "1/2", "64x64", "<img>"),
                    .dtype = DRAW(in, "f32", "f64", "bf16", "i8"),
                    .device = DRAW(in, "cpu", "gpu", "other"),
                    .group =
                        DRAW(in, "compute", "memory", "train", "latency", "scaling", "command"),
                    .input = DRAW(in, "uniform", "\xe2\x80\xae", ""),
                    .math = "strict",
                    .threads = (int)draw(in) % 4,
                    .extent = draw_number(in, -30, 30, true),
                    .flops = draw_number(in, -30, 30, true),
                    .bytes = draw_number(in, -30, 30, true),
                    .n = (int)draw(in) % (SAMPLES_MOST + 1),
                    .seconds = seconds,
                    .round = round};
    for (int i = 0; i < r.n; i++) {
        seconds[i] = draw_number(in, -12, 9, false);
        round[i] = i ? round[i - 1] + (int)draw(in) % 2 : 0;
    }
    return r;
}

static void draw_result(str *t, input *in)
{
    static const char *const names[DEVICES_MOST] = {"cpu", "gpu", "other"};
    result_device devices[DEVICES_MOST] = {0};
    result_row rows[ROWS_MOST] = {0};
    double seconds[ROWS_MOST][SAMPLES_MOST];
    int round[ROWS_MOST][SAMPLES_MOST];
    result r = {.version = "0", .devices = devices, .rows = rows};
    r.n_devices = (int)draw(in) % (DEVICES_MOST + 1);
    r.n_rows = (int)draw(in) % (ROWS_MOST + 1);
    for (int i = 0; i < r.n_devices; i++)
        devices[i] = (result_device){.name = names[i],
                                     .threads = (int)draw(in) % 4,
                                     .peak_flops = draw_number(in, -30, 30, true),
                                     .peak_bytes = draw_number(in, -30, 30, true)};
    for (int i = 0; i < r.n_rows; i++)
        rows[i] = draw_row(in, seconds[i], round[i]);
    result_json(&r, t);
}

/* ---- what must hold ------------------------------------------------------------------------- */

static void check_page(const comparison *c)
{
    str page = {0};
    page_make(&page, c, "ingot report a.json");
    scratch_check(page.n <= PAGE_MOST, "a page is too large");
    scratch_check(!strstr(page.s, "<script") && !strstr(page.s, "<img"), "markup came from a file");
    scratch_check(!strstr(page.s, "\"nan") && !strstr(page.s, "\"Mnan") &&
                      !strstr(page.s, "\"left:nan") && !strstr(page.s, "\"inf"),
                  "a coordinate is not a number");
    scratch_check(!strstr(page.s, "\xe2\x80\xae"),
                  "a bidirectional control character came from a file");
    str_free(&page);
}

static void check_result(const char *text, size_t n, bool valid)
{
    source both[2] = {{.path = "a.json"}, {.path = "b.json"}};
    str why = {0}, once = {0}, again = {0};
    if (!result_parse(&both[0].r, text, n, &why)) {
        scratch_check(!valid, "a valid result is refused");
        scratch_check(why.n && !strchr(why.s, '\n'), "the reason is not one line");
        str_free(&why);
        return;
    }
    result_json(&both[0].r, &once);
    scratch_check(result_parse(&both[1].r, once.s, once.n, &why), "what was written is refused");
    result_json(&both[1].r, &again);
    scratch_check(strcmp(once.s, again.s) == 0, "what was written reads differently");

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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool json = size && (data[0] == '{' || data[0] == '[' || data[0] <= ' ');
    str text = {0};
    if (json) {
        check_result((const char *)data, size, false);
        return 0;
    }
    draw_result(&text, &(input){data, size});
    check_result(text.s, text.n, true);
    str_free(&text);
    return 0;
}
