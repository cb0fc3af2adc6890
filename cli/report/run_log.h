/* The page of training runs, from the logs of 'ingot train --log': curves of the loss, the speed and the learning rate. */
#ifndef CLI_REPORT_RUN_LOG_H
#define CLI_REPORT_RUN_LOG_H

#include "report/html.h"

/* More would have no mark of their own. */
enum { RUN_LOGS_MOST = SVG_SERIES };

/* Values over steps, ascending. */
typedef struct progress {
    double *step, *value;
    int n, room;
} progress;

typedef struct run_log {
    const char *path;
    progress loss, test, rate, accuracy; /* test, accuracy: on held-out data */
    progress speed;                      /* tokens or images per second */
    bool images;                         /* which of them */
    double memory;                       /* the peak in bytes; 0: unknown */
    int lost;                            /* losses that were not finite */
} run_log;

/* Reads a file with a JSON object in each line: "step", and any of "loss", "test_loss", "lr", "tokens_per_second" or
 * "images_per_second", "test_accuracy" and "memory_bytes". A step below an earlier one continues an older checkpoint: what was reported for later steps does not
 * count. On failure returns false; *why is then one line. */
bool run_log_read(run_log *t, const char *path, str *why);
void run_log_free(run_log *t);

/* "2 runs", or of one run its steps and losses. */
void run_log_headline(str *t, const run_log *runs, int n);
/* command: makes the page again. */
void run_log_page(str *t, const run_log *runs, int n, const char *command);

#endif
