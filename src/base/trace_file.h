/* A timeline's events, and how they become a file: trace_file.c. */
#ifndef BASE_TRACE_FILE_H
#define BASE_TRACE_FILE_H

#include "base/trace.h"

/* Threads are numbered: those that call the library from 1, the pool's workers from here. */
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

/* Returns IG_ERR_FILE if path could not be written later. Changes nothing in it. */
ig_status trace_file_check(const char *path);

/* Writes beside path and renames, so that path has a complete file at every moment. */
ig_status trace_file_write(const char *path, const trace_event *events, int64_t n, int64_t dropped);

#endif
