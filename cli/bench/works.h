/* The works of `ingot bench`: the computation, its cost, and the check of its answer.
 *
 * A work is an entry of a table in works_*.c. A job is one work at one size and dtype, on one device, with
 * one number of threads; it becomes a row of the result. Inputs depend only on the seed. Answers are checked
 * against plain C: integers exactly, floats against double. */
#ifndef CLI_BENCH_WORKS_H
#define CLI_BENCH_WORKS_H

#include <ingot.h>

#include "bench/runner.h"

enum { WORK_DIMS = 4, JOB_INPUTS = 4, ANSWER_CHARS = 20 };

typedef struct job job;

typedef struct work {
    const char *name, *group;
    const char *sizes;  /* "*256 8x64 16M": dimensions joined by x; * marks sizes of a quick run */
    const char *dtypes; /* "f32 f64" */
    const char *input;  /* what is computed, for readers */
    void (*cost)(job *j);
    /* Fills the inputs and the state, in a scope. Returns false with the library's error set. May be NULL. */
    bool (*make)(job *j);
    /* Builds the expression to evaluate, in a scope. Works that do more have run instead: */
    ig_array *(*build)(job *j);
    outcome (*run)(job *j, double *aside_s, str *why);
    /* Checks an answer and sets why if it is wrong. y is evaluated, in a scope; NULL without build. */
    bool (*check)(job *j, ig_array *y, str *why);
    void (*free)(void *state);
    bool scaling; /* measured with 1, 2, 4 .. threads */
} work;

struct job {
    const work *work;
    const char *size;  /* allocated */
    const char *model; /* a file of the user, for works_model; otherwise NULL */
    const char *input;
    const char *device;
    ig_dtype dtype;
    uint64_t memory_limit; /* of the device */
    int threads;           /* 0: as many as the device has */
    uint64_t seed;
    int64_t dims[WORK_DIMS];
    /* Set by cost(), for one repetition. */
    double flops, bytes, memory_bytes;
    double extent; /* the size as one number; 0: the first dimension */
    double tokens; /* of text; 0: not applicable */
    /* While the job is open. */
    ig_array *in[JOB_INPUTS];
    void *state;
    char answer[ANSWER_CHARS]; /* "" if devices may differ in the last bits */
};

extern const task_calls job_calls; /* of a task whose context is a job */

/* ---- works.c ---- */

/* Which jobs to make. */
typedef struct work_choice {
    bool quick;
    const char *only;  /* patterns, separated by commas; NULL: all */
    const char *model; /* only works_model, with this file; NULL: all other works */
    const int *threads;
    int n_threads;
    uint64_t seed;
} work_choice;

typedef struct job_list {
    job *jobs;
    int n;
} job_list;

/* Whether this device is the CPU that runs this program. */
bool device_is_host(const char *name);

/* Adds the jobs of one device. */
void jobs_add(job_list *list, const work_choice *choice, const ig_device_info *device);
void jobs_free(job_list *list);
/* "matmul 1024 f32" */
void job_title(str *t, const job *j);
/* True if each pattern matches a work; otherwise why suggests the nearest name. */
bool works_known(const work_choice *choice, str *why);
/* False, with the library's error set, if the file is not a language model. */
bool model_opens(const char *path);
/* The list of works, as text or as JSON. */
void works_list(str *t, bool json);

/* ---- for works_*.c ---- */

/* The tables; the last entry has no name. */
extern const work works_dense[], works_memory[], works_index[], works_train[], works_text[],
    works_language[], works_latency[], works_model[];

/* Uniform values in [low, high) of the job's dtype. Each `number` gives a different array. */
ig_array *job_uniform(const job *j, int number, ig_ints shape, double low, double high);
/* The key of the array with this number. */
uint64_t job_key(const job *j, int number);
/* Evaluates x and keeps it as the i-th input. Returns false on failure. */
bool job_keep(job *j, int i, ig_array *x);

/* ---- check.c ---- */

/* Element i of row-major data as a double. */
double element(const void *data, ig_dtype dtype, int64_t i);
/* All elements of an array; release with free. Returns NULL with the library's error set. */
double *elements(ig_array *x);

/* True if got equals expected within tolerance; otherwise sets why: "element 7 is ...". */
bool check_close(str *why, const char *what, int64_t i, double got, double expected,
                 double tolerance);
/* True if n elements have the same bits; otherwise sets why. */
bool check_same(str *why, const void *got, const void *expected, ig_dtype dtype, int64_t n);
/* Sets the answer to a digest of these bytes, which are the same on every correct machine. */
void job_answer(job *j, const void *data, size_t bytes);

/* ---- reference.c ---- */

/* One row of attention: softmax(q k.T / sqrt(width)) v, where rows of k and v are stride apart. */
void reference_attention(const double *q, const double *k, const double *v, int64_t tokens,
                         int64_t width, int64_t stride, double *out);
/* One pixel of one channel: a 3 x 3 filter over all input channels, with zero padding. */
double reference_conv(const double *x, const double *w, int64_t channels, int64_t side, int64_t row,
                      int64_t column);
/* The linear layer of the model, from (rows, in) to (rows, out); release with free. Returns NULL with the
 * library's error set. */
double *reference_linear(const ig_model *m, const char *name, const double *x, int64_t rows,
                         int64_t in, int64_t out);

/* ---- check.c: random bits ---- */

/* Philox 4x32-10 in plain C: the block with this number of ig_key(seed). */
void philox_block(uint64_t seed, uint64_t number, uint32_t out[4]);
/* The f32 that ig_uniform makes from a word. */
static inline float philox_unit(uint32_t word) { return (float)(word >> 9) * 0x1p-23f; }

/* The next random number for checks, independent of the inputs. */
uint64_t check_draw(uint64_t *state);

#endif
