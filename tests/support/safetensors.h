/* For tests of .safetensors files. */
#ifndef SUPPORT_SAFETENSORS_H
#define SUPPORT_SAFETENSORS_H

#include "support/folder.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A file with this header and these bytes of data; returns its size. */
size_t tensors_file(unsigned char *out, const char *header, size_t length, const void *data,
                    size_t bytes);
/* Loads a file with this header and this many bytes of data: 0, 1, 0, 1, ... */
ig_tensors *tensors_of(const char *header, size_t bytes);
/* Bytes that are all different within an element; 0 and 1 for bool. */
void tensors_fill(unsigned char *out, size_t bytes, ig_dtype dtype);
/* t; fails with the error if it is NULL. */
ig_tensors *tensors_need(ig_tensors *t);

#endif
