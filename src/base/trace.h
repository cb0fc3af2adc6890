/* A timeline of the library: spans by device and thread, and the memory that arrays hold.
 *
 * While nothing is traced, each of these calls is one branch. Any thread may record at any time. A timeline holds a
 * fixed number of events; later ones are only counted. The spans of a thread nest, because each ends in the function
 * that began it. */
#ifndef BASE_TRACE_H
#define BASE_TRACE_H

#include "ingot/base.h"

#include <stdatomic.h>

enum { TRACE_NAME_BYTES = 1 << 18 };

/* The number of events that the next timeline holds. Tests make it small. */
extern int64_t trace_room;

/* The cost of a program. */
typedef struct trace_cost {
    int64_t flops, bytes_read, bytes_written;
} trace_cost;

extern atomic_bool trace_running;

static inline bool trace_on(void)
{
    return atomic_load_explicit(&trace_running, memory_order_relaxed);
}

int64_t trace_clock(void); /* in ns, above 0 */

/* Begins a span; 0 if nothing is traced. The functions that end a span do nothing for 0. */
static inline int64_t trace_begin(void) { return trace_on() ? trace_clock() : 0; }

/* Work of the host: order, fuse, plan. name is a literal. */
void trace_end_work(int64_t begin, const char *name);
static inline void trace_end(int64_t begin, const char *name)
{
    if (begin)
        trace_end_work(begin, name);
}
/* A program on a device. label is the argument of trace_program. */
void trace_end_program(int64_t begin, const char *device, const char *label,
                       const trace_cost *cost);
/* One worker's share of a parallel run, inside the program `name`, which trace_label returned. */
void trace_end_share(int64_t begin, const char *name, int worker, int64_t tasks);

/* The bytes that arrays hold from now on. */
void trace_memory(uint64_t bytes);

/* Sets the label of the program that the calling thread is about to run; the shares of its workers get this name.
 * trace_label returns it as a text that stays valid; NULL if there is none. */
void trace_program(const char *label);
const char *trace_label(void);

/* Begins to trace if the environment has IG_TRACE and nothing is traced yet. */
void trace_begin_by_environment(void);

#endif
