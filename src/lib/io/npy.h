/* One array in npy format, as a file or as a member of an npz archive. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "lib/io/file.h"

enum { NPY_HEADER_MAX_BYTES = 640 }; /* 16 lengths of 19 digits fit */

/* The content of a header. The elements follow the header. */
struct npy_layout {
    ig_dtype dtype;
    bool swap; /* the file's byte order is not ours */
    bool fortran;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    size_t bytes; /* of all elements */
};
ig_status npy_read_layout(struct io_file *file, struct npy_layout *layout);

/* Reads an array from an open file; NULL on failure. Bytes after the array are not read. */
ig_array *npy_read(struct io_file *file);

/* Writes the header of x exactly as NumPy does; returns its size in bytes. */
size_t npy_header(const ig_array *x, unsigned char out[NPY_HEADER_MAX_BYTES]);

#endif
