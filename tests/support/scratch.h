/* For fuzz targets of file formats: files without a name, pipes, and what must hold. No cmocka
 * here. */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

#include "ingot.h"

enum { SCRATCH_PIPE_BYTES = 16 * 1024 }; /* what every pipe holds without a reader */

struct scratch {
    int fd;
    char path[64];
};

/* Ends the process if a condition does not hold, so that the fuzzer reports it. */
void scratch_check(bool holds, const char *what);

/* A file without a name where the system has that. */
struct scratch scratch_open(void);
/* Makes data all that is in it. */
void scratch_fill(const struct scratch *scratch, const uint8_t *data, size_t size);

/* A pipe that holds data, at most SCRATCH_PIPE_BYTES, and then ends; close its fd. */
struct scratch scratch_pipe(const uint8_t *data, size_t size);

/* Two arrays are the same to the last bit. */
void scratch_check_same(ig_array *x, ig_array *y);

/* What ig_tensors_load gives for data in a pipe. */
ig_tensors *scratch_load_piped(const uint8_t *data, size_t size);
/* Two sets have the same arrays, with the same names, in the same order. */
void scratch_check_tensors(const ig_tensors *a, const ig_tensors *b);

/* The code of the error that waits; its text is one line. */
ig_status scratch_error(void);

#endif
