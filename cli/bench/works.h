/* The works of `ingot bench`: what is computed, what it costs, how its answer is checked.
 *
 * A work is a row of a table in one of the works_*.c; a job is one work at one size and dtype, on one
 * device, with a number of threads: a row of the result. Inputs come from the seed alone. Answers are
 * checked against plain C: integers exactly, floats against double. */
#ifndef CLI_BENCH_WORKS_H
#define CLI_BENCH_WORKS_H

#include <ingot.h>

#include "bench/runner.h"

enum { WORK_DIMS = 4, JOB_INPUTS = 4, ANSWER_CHARS = 20 };

typedef struct job job;

typedef struct work {
    const char *name, *group;
    const char *sizes;  /* "*256 8x64 16M": numbers joined by x; * marks those of a quick run */
    const char *dtypes; /* "f32 f64" */
    const char *input;  /* what is computed, for people */
    void (*cost)(job *j);
    /* Fills in and state, in a scope; false: the library's error is set. May be NULL. */
    bool (*make)(job *j);
    /* The expression to evaluate, in a scope of its own; or, where that is not all: */
    ig_array *(*build)(job *j);
    outcome (*run)(job *j, double *aside_s, str *why);
    /* What is wrong with an answer goes to why. y is evaluated, in a scope, or NULL without build. */
    bool (*check)(job *j, ig_array *y, str *why);
    void (*free)(void *state);
    bool scaling; /* measured with 1, 2, 4 .. threads */
} work;

struct job {
    const work *work;
    const char *size; /* of the row; in the heap */
    const char *input;
    const char *device;
    ig_dtype dtype;
    uint64_t memory_limit; /* of the device */
    int threads;           /* 0: as many as the device has */
    uint64_t seed;
    int64_t dims[WORK_DIMS];
    /* cost() fills these in for one repetition. */
    double flops, bytes, memory_bytes;
    double extent; /* 0: the first of dims */
    /* While the job is open. */
    ig_array *in[JOB_INPUTS];
    void *state;
    char answer[ANSWER_CHARS]; /* "" where machines may differ in the last bits */
};

extern const task_calls job_calls; /* of a task whose context is a job */

/* ---- works.c: all of them ---- */

/* Which jobs there are to be. */
typedef struct work_choice {
    bool quick;
    const char *only; /* patterns, by commas; NULL: all */
    const int *threads;
    int n_threads;
    uint64_t seed;
} work_choice;

typedef struct job_list {
    job *jobs;
    int n;
} job_list;

/* Whether this device is the CPU that we run on, with threads of ours. */
bool device_is_host(const char *name);

/* Adds the jobs of one device. */
void jobs_add(job_list *list, const work_choice *choice, const ig_device_info *device);
void jobs_free(job_list *list);
/* "matmul 1024 f32" */
void job_title(str *t, const job *j);
/* Whether some work is meant by each pattern; else why names the nearest. */
bool works_known(const work_choice *choice, str *why);
/* The table for people, or as JSON. */
void works_list(str *t, bool json);

/* ---- for the works ---- */

/* What the rows of each file are, ended by one without a name. */
extern const work works_dense[], works_memory[], works_index[], works_train[], works_latency[];

/* Uniform in [low, high), or integers in it, of the job's dtype; each number gives another one. */
ig_array *job_uniform(const job *j, int number, ig_ints shape, double low, double high);
/* The key from which it draws. */
uint64_t job_key(const job *j, int number);
/* Evaluates x and keeps it as the i-th input. False: failed. */
bool job_keep(job *j, int i, ig_array *x);

/* ---- check.c ---- */

/* Element i of row-major data as a double. */
double element(const void *data, ig_dtype dtype, int64_t i);
/* All of an array, from the heap; NULL: the library's error is set. */
double *elements(ig_array *x);

/* Whether got is expected within tolerance; else why says which it is: "element 7", "row 3". */
bool check_close(str *why, const char *what, int64_t i, double got, double expected,
                 double tolerance);
/* Whether n elements have the very same bits. */
bool check_same(str *why, const void *got, const void *expected, ig_dtype dtype, int64_t n);
/* Sets the answer to a digest of these bytes, which are the same on every right machine. */
void job_answer(job *j, const void *data, size_t bytes);

/* ---- reference.c ---- */

/* One row of attention: softmax(q k.T / sqrt(width)) v, where rows of k and v are stride apart. */
void reference_attention(const double *q, const double *k, const double *v, int64_t tokens,
                         int64_t width, int64_t stride, double *out);
/* One place of one picture, with one 3 x 3 filter over all channels and zeros around it. */
double reference_conv(const double *x, const double *w, int64_t channels, int64_t side, int64_t row,
                      int64_t column);
/* The linear layer of the model on rows of x: (rows, in) to (rows, out), from the heap. NULL: the
 * library's error is set. */
double *reference_linear(const ig_model *m, const char *name, const double *x, int64_t rows,
                         int64_t in, int64_t out);

/* ---- check.c: random bits ---- */

/* Philox 4x32-10 in plain C: block number of the key that ig_key(seed) is. */
void philox_block(uint64_t seed, uint64_t number, uint32_t out[4]);
/* What ig_uniform gives as f32 from a word. */
static inline float philox_unit(uint32_t word) { return (float)(word >> 9) * 0x1p-23f; }

/* Of the reference calculations: another series of numbers than the inputs have. */
uint64_t check_draw(uint64_t *state);

#endif
