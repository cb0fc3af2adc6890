/* Turns measured tasks into a result: the machine, the devices, and every sample. */
#ifndef CLI_BENCH_COLLECT_H
#define CLI_BENCH_COLLECT_H

#include "bench/child.h"
#include "bench/result.h"
#include "bench/works.h"

/* Fills in the run and the machine, at the beginning. Returns false with the library's error set. */
bool collect_begin(result *r, int argc, char **argv);
/* Adds a device. flops and bytes are its peaks per second; 0: unknown. */
void collect_device(result *r, const ig_device_info *d, int threads, double flops, double bytes);
/* Adds a peak of a device that has been added; see result_peak. */
void collect_peak(result *r, const char *device, const char *of, int threads, double rate);
/* Adds the dtypes that each op supports on the device. */
void collect_ops(result *r, const char *device);
/* Adds a disturbance. */
void collect_disturbance(result *r, const char *text);
/* Adds a row with the samples of a task: of the job j, or of the command c if j is NULL. spread: each pass was made by
 * a separate process. */
void collect_row(result *r, const task *t, const job *j, const user_command *c, bool spread);

#endif
