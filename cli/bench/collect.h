/* From measured tasks to a result: who measured, on what, and every sample. */
#ifndef CLI_BENCH_COLLECT_H
#define CLI_BENCH_COLLECT_H

#include "bench/child.h"
#include "bench/result.h"
#include "bench/works.h"

/* The facts of the run and the machine, at its beginning. False: the library's error is set. */
bool collect_begin(result *r, int argc, char **argv);
/* The facts of a device that was chosen; its limits are per second, 0 where they are unknown. */
void collect_device(result *r, const ig_device_info *d, int threads, double flops, double bytes);
/* A peak of a device that was collected before; see result_peak. */
void collect_peak(result *r, const char *device, const char *of, int threads, double rate);
/* Which dtypes each op takes on the device. */
void collect_ops(result *r, const char *device);
/* A line among what disturbed the measuring. */
void collect_disturbance(result *r, const char *text);
/* A row with the samples of a task; the job's, or the command's where j is NULL. spread: each pass was
 * made by a process of its own. */
void collect_row(result *r, const task *t, const job *j, const user_command *c, bool spread);

#endif
