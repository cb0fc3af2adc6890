/* The shim's own functions: see failing.c. A test finds them by dlsym. */
#ifndef OPENCL_FAILING_H
#define OPENCL_FAILING_H

#include <stdbool.h>
#include <stdint.h>

/* The n-th call from now on fails, once or from there on always; 0: none does. */
typedef void failing_at_fn(long n, bool always);
/* The n-th launch from now on is taken, and turns out to have failed when somebody waits for it. */
typedef void failing_launch_fn(long n);
/* The largest buffer that devices report and allow, for devices that are looked for from now on, and the bytes of all buffers
 * together; 0: as it is. */
typedef void failing_memory_fn(uint64_t largest, uint64_t all);
/* How many calls there were since failing_at, and how many of all that have made something (objects
 * that are alive now; programs that were ever made of text). */
typedef long failing_count_fn(void);

/* How often a program was asked for its binary. */
failing_count_fn failing_binaries;
/* The options of the last build. */
typedef const char *failing_text_fn(void);

failing_text_fn failing_options;
failing_at_fn failing_at;
failing_launch_fn failing_launch;
failing_memory_fn failing_memory;
failing_count_fn failing_calls, failing_objects, failing_compiled;

#endif
