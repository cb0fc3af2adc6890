/* For fuzz targets of file formats: unnamed files, pipes, and checks. Without cmocka. */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

#include "ingot.h"

enum { SCRATCH_PIPE_BYTES = 16 * 1024 }; /* the bytes that every pipe holds without a reader */

struct scratch {
    int fd;
    char path[64];
};

/* Ends the process if a condition does not hold, so that the fuzzer reports it. */
void scratch_check(bool holds, const char *what);

/* An unnamed file, if the system supports that. */
struct scratch scratch_open(void);
/* Replaces the content by data. */
void scratch_fill(const struct scratch *scratch, const uint8_t *data, size_t size);

/* A pipe that holds data, at most SCRATCH_PIPE_BYTES, and then ends; close its fd. */
struct scratch scratch_pipe(const uint8_t *data, size_t size);

/* Checks that two arrays have the same bits. */
void scratch_check_same(ig_array *x, ig_array *y);

/* The result of ig_tensors_load for data in a pipe. */
ig_tensors *scratch_load_piped(const uint8_t *data, size_t size);
/* Checks that two sets have the same arrays, with the same names, in the same order. */
void scratch_check_tensors(const ig_tensors *a, const ig_tensors *b);

/* The code of the pending error; checks that its text is one line. */
ig_status scratch_error(void);

#endif
