/* One array in npy format, as a file or as a member of an npz archive. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "lib/io/file.h"

enum { NPY_HEADER_MAX_BYTES = 640 }; /* 16 lengths of 19 digits fit */

/* Reads an array from an open file; NULL on failure. What follows it in the file is not read. */
ig_array *npy_read(struct io_file *file);

/* Writes the bytes before the elements of x, exactly as NumPy does; returns how many. */
size_t npy_header(const ig_array *x, unsigned char out[NPY_HEADER_MAX_BYTES]);

#endif
