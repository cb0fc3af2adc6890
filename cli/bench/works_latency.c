/* Works limited by latency: launching a graph, moving data, starting a process. */
#include "bench/child.h"
#include "bench/works.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a tiny graph, cached by its structure ---------------------------------------------------------- */

static void launch_cost(job *j) { j->memory_bytes = 1 << 16; }

static bool launch_make(job *j)
{
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(j->dims[0]), -1, 1)) &&
           job_keep(j, 1, job_uniform(j, 1, IG_SHAPE(j->dims[0]), -1, 1));
}

static ig_array *launch_build(job *j)
{
    ig_array *a = j->in[0], *b = j->in[1];
    ig_array *t = ig_subtract(ig_multiply(ig_add(a, b), a), b);
    t = ig_negative(ig_maximum(t, a));
    t = ig_multiply(ig_add(ig_abs(t), b), a);
    return ig_square(ig_minimum(t, b));
}

static bool launch_check(job *j, ig_array *y, str *why)
{
    int64_t n = j->dims[0];
    const float *a = ig_data(j->in[0]), *b = ig_data(j->in[1]), *got = ig_data(y);
    float *expected = heap_get(sizeof *expected * (size_t)n);
    bool fine = a && b && got;
    for (int64_t i = 0; i < n && fine; i++) {
        float t = fmaxf((a[i] + b[i]) * a[i] - b[i], a[i]);
        t = fminf((fabsf(-t) + b[i]) * a[i], b[i]);
        expected[i] = t * t;
    }
    fine = fine && check_same(why, got, expected, IG_F32, n);
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)n);
    free(expected);
    return fine;
}

/* ---- transfers ---------------------------------------------------------------------------------- */

enum { PAGE = 1024 }; /* elements */

static void transfer_cost(job *j)
{
    j->bytes = 4 * (double)j->dims[0];
    j->memory_bytes = 12 * (double)j->dims[0];
}

/* Plain data in host memory. */
static bool upload_make(job *j)
{
    float *x = heap_get(sizeof *x * (size_t)j->dims[0]);
    uint64_t state = job_key(j, 0);
    for (int64_t i = 0; i < j->dims[0]; i++)
        x[i] = philox_unit((uint32_t)check_draw(&state));
    j->state = x;
    return true;
}

/* A device may delay the copy until something reads the array. Reading one element of each page forces
 * it. */
static ig_array *upload_build(job *j)
{
    ig_array *x = ig_from_data(j->state, IG_SHAPE(j->dims[0]), IG_F32);
    return ig_negative(ig_slice(x, IG_SHAPE(0), IG_SHAPE(j->dims[0]), IG_SHAPE(PAGE)));
}

static bool upload_check(job *j, ig_array *y, str *why)
{
    const float *x = j->state, *got = ig_data(y);
    bool fine = got != NULL;
    for (int64_t i = 0; i < ig_size(y) && fine; i++)
        fine = check_close(why, "element", i * PAGE, (double)got[i], -(double)x[i * PAGE], 0);
    return fine;
}

static bool download_make(job *j)
{
    j->state = heap_get(4 * (size_t)j->dims[0]);
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(j->dims[0]), -1, 1));
}

/* An array that has been read may already be in host memory, so each repetition reads a new one. */
static outcome download_run(job *j, double *aside_s, str *why)
{
    (void)why;
    double begin_s = clock_s();
    ig_array *y = ig_negative(j->in[0]);
    bool made = y && ig_eval(&y, 1) == IG_OK && ig_synchronize(j->device) == IG_OK;
    *aside_s += clock_s() - begin_s;
    if (made)
        ig_read(y, j->state, 4 * (size_t)j->dims[0]);
    return OUTCOME_FINE; /* the caller checks for library errors */
}

static bool download_check(job *j, ig_array *unused, str *why)
{
    (void)unused;
    double aside_s = 0;
    memset(j->state, 0, 4 * (size_t)j->dims[0]);
    download_run(j, &aside_s, why);
    const float *x = ig_data(j->in[0]), *got = j->state;
    bool fine = x && !ig_failed();
    for (int64_t i = 0; i < j->dims[0] && fine; i++)
        fine = check_close(why, "element", i, (double)got[i], -(double)x[i], 0);
    if (fine)
        job_answer(j, got, sizeof *got * (size_t)j->dims[0]);
    return fine;
}

/* ---- from the start of a process to its first result -------------------------------------------------- */

static void start_cost(job *j) { j->memory_bytes = 1 << 26; }

/* Runs this program; its output goes to out. */
static outcome start_child(job *j, str *out, str *why)
{
    char threads[16];
    str program = {0};
    char *self = child_self();
    snprintf(threads, sizeof threads, "%d", j->threads ? j->threads : 1);
    str_printf(&program, "a = uniform(key(%llu), [%lld, %lld]); mean(a @ a.T)",
               (unsigned long long)job_key(j, 0), (long long)j->dims[0], (long long)j->dims[0]);
    char *const argv[] = {
        self,    "eval", program.s, "--device", (char *)j->device, j->threads ? "--threads" : NULL,
        threads, NULL};
    int code = self ? child_run(argv, false, out, why) : -1;
    if (code > 0)
        str_printf(why, "'%s eval' ended with exit code %d", self, code);
    else if (code < 0 && !self)
        str_puts(why, "the path of this program cannot be found out");
    free(self);
    str_free(&program);
    return code == 0 ? OUTCOME_FINE : code < 0 ? OUTCOME_LEFT_OUT : OUTCOME_FAILED;
}

static outcome start_run(job *j, double *aside_s, str *why)
{
    str out = {0};
    (void)aside_s;
    outcome o = start_child(j, &out, why);
    str_free(&out);
    return o;
}

/* The mean of a @ a.T is the sum of the squared column sums, divided by n^2. */
static bool start_check(job *j, ig_array *unused, str *why)
{
    (void)unused;
    int64_t n = j->dims[0];
    double *sums = heap_get(sizeof *sums * (size_t)n), expected = 0;
    uint32_t block[4];
    for (int64_t i = 0; i < n * n; i++) {
        if (i % 4 == 0)
            philox_block(job_key(j, 0), (uint64_t)(i / 4), block);
        sums[i % n] += (double)philox_unit(block[i % 4]);
    }
    for (int64_t i = 0; i < n; i++)
        expected += sums[i] * sums[i] / (double)(n * n);
    free(sums);
    str out = {0};
    bool fine = start_child(j, &out, why) == OUTCOME_FINE &&
                check_close(why, "the mean, element", 0, strtod(out.n ? out.s : "nan", NULL),
                            expected, 1e-5 * expected);
    str_free(&out);
    return fine;
}

const work works_latency[] = {
    {"launch", "latency", "*64", "f32", "ten ops on few elements, planned before", launch_cost,
     launch_make, launch_build, NULL, launch_check, NULL, false},
    {"to_device", "transfer", "*16M", "f32", "an array from host memory", transfer_cost,
     upload_make, upload_build, NULL, upload_check, free, false},
    {"from_device", "transfer", "*16M", "f32", "an array to host memory", transfer_cost,
     download_make, NULL, download_run, download_check, free, false},
    {"start", "latency", "*1000", "f32", "a process: mean(a @ a.T) of uniform in [0, 1)",
     start_cost, NULL, NULL, start_run, start_check, NULL, false},
    {0}};
