/* The curves of training runs. See run_log.h. */
#include "report/run_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/page.h"

enum { LOG_BYTES_MOST = 1 << 28, POINTS_MOST = 300, ROWS_MOST = 20 };

/* Numbers above this are as infinite ones; sums and differences of others are finite. */
#define VALUE_MOST 1e100

/* ---- logs ----------------------------------------------------------------------------------- */

/* Adds a value; one at the same step is replaced. Those of later steps are gone. */
static void progress_add(progress *p, double step, double value)
{
    p->n -= p->n && p->step[p->n - 1] == step;
    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 64;
        p->step = heap_resize(p->step, (size_t)p->room * sizeof *p->step);
        p->value = heap_resize(p->value, (size_t)p->room * sizeof *p->value);
    }
    p->step[p->n] = step;
    p->value[p->n++] = value;
}

static double last_of(const progress *p) { return p->n ? p->value[p->n - 1] : NAN; }

/* Reads a number; null, and what is infinite, is NaN. */
static void read_value(json_reader *r, double *out)
{
    json_number n = {0};
    *out = NAN;
    if (json_peek(r) == JSON_NULL)
        json_read_null(r);
    else if (json_read_number(r, &n))
        *out = n.kind == JSON_F64 ? n.as.f : n.kind == JSON_U64 ? (double)n.as.u : (double)n.as.i;
    *out = fabs(*out) < VALUE_MOST ? *out : NAN;
}

static bool read_line(run_log *t, const char *line, size_t bytes, str *why)
{
    enum { STEP, LOSS, TEST, RATE, TOKENS, IMAGES, RIGHT, MEMORY, KEYS };
    static const char *const keys[KEYS] = {
        "step",          "loss",        "test_loss", "lr", "tokens_per_second", "images_per_second",
        "test_accuracy", "memory_bytes"};
    double values[KEYS];
    bool has[KEYS] = {false};
    json_reader r;
    json_text key;
    json_begin(&r, line, bytes);
    json_open_object(&r);
    while (json_next_key(&r, &key)) {
        int i = 0;
        while (i < KEYS && !json_text_is(key, keys[i]))
            i++;
        if (i == KEYS) {
            json_skip(&r);
        } else {
            read_value(&r, &values[i]);
            has[i] = true;
        }
    }
    if (json_end(&r) != IG_OK)
        str_printf(why, "it is not a JSON object: %s", r.problem);
    else if (!has[STEP] || !(values[STEP] >= 0))
        str_puts(why, "it has no \"step\", a number from 0 on");
    if (why->n)
        return false;
    progress *const into[KEYS] = {
        [LOSS] = &t->loss,    [TEST] = &t->test,    [RATE] = &t->rate,
        [TOKENS] = &t->speed, [IMAGES] = &t->speed, [RIGHT] = &t->accuracy};
    t->images |= has[IMAGES];
    for (int i = LOSS; i < MEMORY; i++) {
        while (into[i]->n && into[i]->step[into[i]->n - 1] > values[STEP])
            into[i]->n--;
        if (has[i] && isfinite(values[i]))
            progress_add(into[i], values[STEP], values[i]);
        t->lost += has[i] && !isfinite(values[i]) && (i == LOSS || i == TEST);
    }
    if (has[MEMORY] && isfinite(values[MEMORY]))
        t->memory = fmax(t->memory, values[MEMORY]);
    return true;
}

bool run_log_read(run_log *t, const char *path, str *why)
{
    size_t n;
    str problem = {0};
    *t = (run_log){.path = path};
    char *content = str_read_file(path, LOG_BYTES_MOST, &n);
    if (!content) {
        str_printf(why, "'%s': %s", path, strerror(errno));
        return false;
    }
    int number = 1;
    for (const char *at = content, *end; at < content + n && !problem.n; at = end + 1, number++) {
        end = memchr(at, '\n', (size_t)(content + n - at));
        const bool whole = end != NULL;
        end = end ? end : content + n;
        if (end == at || read_line(t, at, (size_t)(end - at), &problem))
            continue;
        if (whole)
            str_printf(why, "'%s', line %d: %s", path, number, problem.s);
        else
            str_free(&problem); /* the run was stopped while it wrote its last line */
        break;
    }
    if (!why->n && !t->loss.n && !t->test.n)
        str_printf(why,
                   "'%s': no line has a \"step\" and a \"loss\"; give the --log of ingot train",
                   path);
    free(content);
    str_free(&problem);
    return !why->n;
}

void run_log_free(run_log *t)
{
    progress *const all[] = {&t->loss, &t->test, &t->rate, &t->speed, &t->accuracy};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->step);
        free(all[i]->value);
    }
    *t = (run_log){0};
}

/* ---- the page ------------------------------------------------------------------------------- */

/* At most `most` points: means of as many neighbours, at the last of their steps. */
static progress thinned(const progress *p, int most)
{
    progress made = {0};
    const int by = (p->n + most - 1) / most;
    for (int i = 0; i < p->n; i += by) {
        const int n = p->n - i < by ? p->n - i : by;
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += p->value[i + k];
        progress_add(&made, p->step[i + n - 1], sum / n);
    }
    return made;
}

static void progress_free(progress *p)
{
    free(p->step);
    free(p->value);
}

typedef const progress *part_of(const run_log *t);
static const progress *loss_of(const run_log *t) { return &t->loss; }
static const progress *test_of(const run_log *t) { return &t->test; }
static const progress *rate_of(const run_log *t) { return &t->rate; }
static const progress *speed_of(const run_log *t) { return &t->speed; }
static const progress *accuracy_of(const run_log *t) { return &t->accuracy; }

static const char *unit_of(const run_log *runs, int n)
{
    int images = 0;
    for (int i = 0; i < n; i++)
        images += runs[i].images;
    return images == 0   ? "tokens per second"
           : images == n ? "images per second"
                         : "tokens or images per second";
}

/* A figure of one value of all runs; nothing if no run has it. */
static void figure(str *t, const run_log *runs, int n, part_of *part, const char *title,
                   const char *unit)
{
    static const char *const heads[] = {"Run", "Step", "Value", NULL};
    chart ch = {.x_words = axis_plain, .y_words = axis_plain, .x_title = "step", .y_title = unit};
    progress lines[RUN_LOGS_MOST];
    int points = 0;
    for (int i = 0; i < n; i++) {
        lines[i] = thinned(part(&runs[i]), POINTS_MOST);
        points += lines[i].n;
        for (int k = lines[i].n - 1; k >= 0; k--) { /* an empty scale does not keep a first 0 */
            scale_see(&ch.x, lines[i].step[k]);
            scale_see(&ch.y, lines[i].value[k]);
        }
    }
    if (points) {
        part_figure(t, title);
        chart_begin(t, &ch, title, "A line for each run, over its steps.");
        for (int i = 0; i < n; i++) {
            const char class[] = {'s', (char)('0' + i), 0};
            if (lines[i].n > 1)
                chart_line(t, &ch, lines[i].step, lines[i].value, lines[i].n, class);
            if (lines[i].n)
                chart_dot(t, &ch, lines[i].step[lines[i].n - 1], lines[i].value[lines[i].n - 1], i,
                          runs[i].path);
        }
        chart_end(t);
        part_figure_table(t, title, heads);
        for (int i = 0; i < n; i++) {
            progress rows = thinned(part(&runs[i]), ROWS_MOST);
            for (int k = 0; k < rows.n; k++)
                html_put(t,
                         "<tr><th scope=\"row\">%s</th><td class=\"n\">%.0f</td>"
                         "<td class=\"n\">%.6g</td></tr>\n",
                         runs[i].path, rows.step[k], rows.value[k]);
            progress_free(&rows);
        }
        part_figure_end(t);
    }
    for (int i = 0; i < n; i++)
        progress_free(&lines[i]);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value in the middle: a few slow steps do not change it. */
static double median(const progress *p)
{
    if (!p->n)
        return 0;
    double *sorted = heap_get((size_t)p->n * sizeof *sorted);
    memcpy(sorted, p->value, (size_t)p->n * sizeof *sorted);
    qsort(sorted, (size_t)p->n, sizeof *sorted, ascending);
    const double middle = (sorted[(p->n - 1) / 2] + sorted[p->n / 2]) / 2;
    free(sorted);
    return middle;
}

static double steps_of(const run_log *t)
{
    const double loss = t->loss.n ? t->loss.step[t->loss.n - 1] : 0;
    return fmax(loss, t->test.n ? t->test.step[t->test.n - 1] : 0);
}

static void cell_number(str *t, double value)
{
    if (isfinite(value))
        html_put(t, "<td class=\"n\">%.4f</td>", value);
    else
        str_puts(t, "<td class=\"n\">–</td>");
}

static void section_runs(str *t, const run_log *runs, int n)
{
    static const char *const heads[] = {
        "Run", "Steps", "Loss", "Held-out loss", "Tokens or images per second", "Memory", NULL};
    int lost = 0;
    part_heading(t, "runs", "The runs", NULL);
    part_table(t, "small", "Where each run ended", heads);
    for (int i = 0; i < n; i++) {
        str memory = {0};
        if (runs[i].memory > 0)
            str_size(&memory, (uint64_t)runs[i].memory);
        str_puts(t, "<tr><th scope=\"row\">");
        series_key(t, i);
        html_put(t, " %s</th><td class=\"n\">%.0f</td>", runs[i].path, steps_of(&runs[i]));
        cell_number(t, last_of(&runs[i].loss));
        cell_number(t, last_of(&runs[i].test));
        part_cell_rate(t, median(&runs[i].speed), "");
        html_put(t, "<td class=\"n\">%s</td></tr>\n", memory.n ? memory.s : "–");
        lost += runs[i].lost;
        str_free(&memory);
    }
    part_table_end(t);
    if (lost)
        html_put(t, "<p class=\"note\">%d loss%s not finite and left out.</p>\n", lost,
                 lost == 1 ? " is" : "es are");
}

void run_log_headline(str *t, const run_log *runs, int n)
{
    if (n > 1) {
        str_printf(t, "%d training runs", n);
        return;
    }
    const double steps = steps_of(runs);
    str_printf(t, "%.0f step%s of training", steps, steps == 1 ? "" : "s");
    if (runs->loss.n)
        str_printf(t, ": the loss is %.4f", last_of(&runs->loss));
    if (runs->test.n)
        str_printf(t, "%s on held-out data %.4f", runs->loss.n ? "," : ": the loss is",
                   last_of(&runs->test));
}

void run_log_page(str *t, const run_log *runs, int n, const char *command)
{
    str headline = {0};
    run_log_headline(&headline, runs, n);
    page_begin(t, "Ingot training report");
    html_put(t, "<header><p class=\"brand\">Ingot training report</p><h1>%s</h1></header><main>\n",
             headline.s);
    section_runs(t, runs, n);
    part_heading(t, "curves", "Over the steps", NULL);
    str_puts(t, "<div class=\"figures\">\n");
    figure(t, runs, n, loss_of, "Loss", "loss");
    figure(t, runs, n, test_of, "Loss on held-out data", "loss");
    figure(t, runs, n, accuracy_of, "Accuracy on held-out data", "share of images");
    figure(t, runs, n, speed_of, "Speed", unit_of(runs, n));
    figure(t, runs, n, rate_of, "Learning rate", "rate");
    str_puts(t, "</div>\n");
    part_heading(t, "data", "How to make this page", NULL);
    html_put(t,
             "<p>A curve has at most %d points, a table at most %d rows for each run. Each is the "
             "mean of neighbours.</p><pre>%s\n</pre>\n",
             POINTS_MOST, ROWS_MOST, command);
    str_puts(t, "</main></body></html>\n");
    str_free(&headline);
}
