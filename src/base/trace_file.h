/* The events of a timeline, and writing them to a file. */
#ifndef BASE_TRACE_FILE_H
#define BASE_TRACE_FILE_H

#include "base/trace.h"

/* Thread numbers: threads that call the library are numbered from 1, the pool's workers from here. */
enum { TRACE_WORKERS = 1000 };

typedef struct trace_event {
    enum { TRACE_SPAN, TRACE_PROGRAM, TRACE_SHARE, TRACE_COUNTER } kind;
    int thread;
    const char *name;
    const char *device; /* of a program */
    int64_t begin, end; /* ns */
    int64_t count;      /* tasks of a share, bytes of the counter */
    trace_cost cost;    /* of a program */
} trace_event;

/* Returns IG_ERR_FILE if path cannot be written. Does not change it. */
ig_status trace_file_check(const char *path);

/* Writes a file next to path and renames it, so that path is a complete file at every moment. */
ig_status trace_file_write(const char *path, const trace_event *events, int64_t n, int64_t dropped);

#endif
