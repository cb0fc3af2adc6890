/* The lines that ingot train gpt and ingot train vision write: on standard error for people, and to a file with one JSON object in
 * each line. */
#ifndef CLI_TRAIN_LOOP_LOG_H
#define CLI_TRAIN_LOOP_LOG_H

#include "../cli.h"

typedef struct loop_log {
    FILE *file; /* of --log, or NULL */
    bool quiet;
    const char *unit;    /* "tokens", "images" */
    double units, flops; /* of a step; flops: operations of its products */
    double peak;         /* operations per second of a large product; 0: not measured */
    double begin_s;      /* the clock at the last line */
    int64_t begin_step;
} loop_log;

/* The result of a test. */
typedef struct loop_score {
    double loss;
    double
        accuracy; /* the share of samples that were classified correctly; -1: there are no classes */
} loop_score;

/* Opens --log (NULL: none), at its end if the run continues, and measures a large product in dtype. Returns -1, or the exit code. */
int loop_log_open(const command *c, loop_log *l, const char *path, bool continues, ig_dtype dtype);
void loop_log_close(loop_log *l);

/* The line for `step` steps of `total`. */
void loop_log_step(loop_log *l, int64_t step, int64_t total, double loss, double rate);
/* The line for a test. */
void loop_log_test(loop_log *l, int64_t step, const loop_score *score);

#endif
