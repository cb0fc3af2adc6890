/* The shim's control functions: see failing.c. A test finds them by dlsym. */
#ifndef OPENCL_FAILING_H
#define OPENCL_FAILING_H

#include <stdbool.h>
#include <stdint.h>

/* The n-th call from now on fails: once, or with `always` it and all later calls. 0: no call fails. */
typedef void failing_at_fn(long n, bool always);
/* The n-th launch from now on is accepted, and reports its failure when it is waited for. */
typedef void failing_launch_fn(long n);
/* The largest buffer that devices report and allow, for devices found from now on, and the bytes of all buffers
 * together; 0: no change. */
typedef void failing_memory_fn(uint64_t largest, uint64_t all);
/* The number of calls since failing_at; the number of live objects; the number of programs created from text. */
typedef long failing_count_fn(void);

/* How often a program's binary was requested. */
failing_count_fn failing_binaries;
/* The options of the last build. */
typedef const char *failing_text_fn(void);

failing_text_fn failing_options;
failing_at_fn failing_at;
failing_launch_fn failing_launch;
failing_memory_fn failing_memory;
failing_count_fn failing_calls, failing_objects, failing_compiled;

#endif
