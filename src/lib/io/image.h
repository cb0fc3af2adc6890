/* Images as arrays: PNG, and JPEG by libturbojpeg where it is installed. */
#ifndef IO_IMAGE_H
#define IO_IMAGE_H

#include "lib/io/file.h"

/* The formats by their first bytes. */
typedef enum image_format { IMAGE_NONE, IMAGE_PNG, IMAGE_JPEG } image_format;
image_format image_format_of(const unsigned char *first, size_t n);

/* Reads an image from an open file whose format is known; NULL on failure. */
ig_array *image_read(struct io_file *file, image_format format);

/* The readers. The file is at its first byte. */
ig_array *png_read(struct io_file *file);
ig_array *jpeg_read(struct io_file *file);

#endif
