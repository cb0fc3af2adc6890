/* The lines that ingot train gpt writes: on standard error for people, and to a file with one JSON object in each line. */
#ifndef CLI_TRAIN_GPT_LOG_H
#define CLI_TRAIN_GPT_LOG_H

#include "../cli.h"

typedef struct gpt_log {
    FILE *file; /* of --log, or NULL */
    bool quiet;
    double tokens, flops; /* of a step; flops: operations of its products */
    double peak;          /* operations per second of a large product; 0: not measured */
    double begin_s;       /* the clock at the last line */
    int64_t begin_step;
} gpt_log;

/* Opens --log (NULL: none), at its end if the run continues, and measures a large product in dtype. Returns -1, or the exit code. */
int gpt_log_open(const command *c, gpt_log *l, const char *path, bool continues, ig_dtype dtype);
void gpt_log_close(gpt_log *l);

/* The line for `step` steps of `total`. */
void gpt_log_step(gpt_log *l, int64_t step, int64_t total, double loss, double rate);
/* The line for a loss on held-out tokens. */
void gpt_log_test(gpt_log *l, int64_t step, double loss);

#endif
