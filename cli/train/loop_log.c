/* Lines and log files of a training run. See loop_log.h. */
#include "loop_log.h"

#include "base/clock.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Seconds of a product; negative on failure. */
static double product_time(ig_array *x)
{
    const double begin = clock_s();
    if (ig_scope_begin() != IG_OK)
        return -1;
    ig_array *y = ig_matmul(x, x);
    const bool fine = ig_eval(&y, 1) == IG_OK && ig_synchronize(NULL) == IG_OK;
    ig_scope_end();
    return fine ? clock_s() - begin : -1;
}

/* Operations per second of a product of square matrices: the best of a few, after a first one. 0, without an error, if the
 * memory limit has no room for them. */
static double peak_measure(ig_dtype dtype)
{
    enum { PRODUCTS = 4 };
    const int64_t n = strcmp(ig_device(), "cpu") == 0 ? 512 : 8192;
    double least = INFINITY, seconds = 0;
    if (ig_scope_begin() != IG_OK)
        return 0;
    ig_array *x = ig_astype(ig_normal(ig_key(0, NULL), IG_SHAPE(n, n), IG_F32, NULL, NULL), dtype);
    bool fine = ig_eval(&x, 1) == IG_OK;
    for (int i = 0; i < PRODUCTS && fine; i++) {
        fine = (seconds = product_time(x)) >= 0;
        least = i ? fmin(least, seconds) : least;
    }
    ig_scope_end();
    ig_status status = IG_OK;
    char problem[400] = "";
    if (!fine)
        snprintf(problem, sizeof problem, "%s", ig_error(&status));
    if (!fine && status != IG_ERR_MEMORY)
        ig_fail(status, "%s", problem);
    return fine ? 2 * pow((double)n, 3) / least : 0;
}

int loop_log_open(const command *c, loop_log *l, const char *path, bool continues, ig_dtype dtype)
{
    if (path && !(l->file = fopen(path, continues ? "a" : "w"))) {
        say(c, "--log %s: it cannot be written: %s", path, strerror(errno));
        return EXIT_INPUT;
    }
    l->peak = l->quiet && !l->file ? 0 : peak_measure(dtype);
    l->begin_s = clock_s();
    return ig_failed() ? fail_library(c) : -1;
}

void loop_log_close(loop_log *l)
{
    if (l->file)
        fclose(l->file);
    l->file = NULL;
}

static void time_words(str *t, double seconds)
{
    const long long s = (long long)(seconds + 0.5);
    if (s >= 3600)
        str_printf(t, "%lld h %02lld min", s / 3600, s % 3600 / 60);
    else if (s >= 60)
        str_printf(t, "%lld min %02lld s", s / 60, s % 60);
    else
        str_printf(t, "%lld s", s);
}

static void line_end(loop_log *l, str *line)
{
    if (l->file) {
        str_puts(line, "\n");
        fwrite(line->s, 1, line->n, l->file);
        fflush(l->file);
    }
    str_free(line);
}

void loop_log_step(loop_log *l, int64_t step, int64_t total, double loss, double rate)
{
    ig_memory_info memory = {.size = sizeof memory};
    ig_device_memory(NULL, &memory);
    const double now = clock_s(), seconds = now - l->begin_s;
    const double each = seconds / (double)(step - l->begin_step);
    const double share = l->peak > 0 ? l->flops / each / l->peak : 0;
    l->begin_s = now;
    l->begin_step = step;
    if (!l->quiet) {
        str left = {0};
        time_words(&left, each * (double)(total - step));
        fprintf(stderr,
                "step %lld/%lld  loss %.4f  lr %.2e  %.0f %s/s  %.0f %% of a product's speed  "
                "%.2f GiB  %s left\n",
                (long long)step, (long long)total, loss, rate, l->units / each, l->unit,
                100 * share, (double)memory.peak / (1 << 30), left.s);
        str_free(&left);
    }
    str line = {0};
    str_json(&line, "{step: %lld, loss: %.9g, lr: %.9g", (long long)step, loss, rate);
    str_json(&line,
             strcmp(l->unit, "images") == 0 ? "images_per_second: %.6g" : "tokens_per_second: %.6g",
             l->units / each);
    str_json(&line, "peak_share: %.4g, memory_bytes: %llu, seconds_left: %.4g}", share,
             (unsigned long long)memory.peak, each * (double)(total - step));
    line_end(l, &line);
}

void loop_log_test(loop_log *l, int64_t step, const loop_score *score)
{
    const bool classes = score->accuracy >= 0;
    if (!l->quiet) {
        fprintf(stderr, "step %lld  loss on held-out %s %.4f", (long long)step, l->unit,
                score->loss);
        if (classes)
            fprintf(stderr, "  accuracy %.2f %%", 100 * score->accuracy);
        fputs("\n", stderr);
    }
    str line = {0};
    str_json(&line, "{step: %lld, test_loss: %.9g", (long long)step, score->loss);
    if (classes)
        str_json(&line, "test_accuracy: %.9g", score->accuracy);
    str_puts(&line, "}");
    line_end(l, &line);
    l->begin_s = clock_s(); /* the test takes no part in the speed of steps */
    l->begin_step = step;
}
