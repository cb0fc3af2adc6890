/* Images as arrays: the formats by their first bytes, and their decoders. */
#ifndef IO_IMAGE_H
#define IO_IMAGE_H

#include "lib/io/file.h"

/* NULL if a file that begins with these bytes is not an image of a known format; else its name. */
const char *image_format_of(const unsigned char *first, size_t n);

/* Reads an image from an open file, which is at its first byte; NULL on failure. */
ig_array *image_read(struct io_file *file);

/* ---- decoders -------------------------------------------------------------------------------- */

/* The bytes of an image file. */
typedef struct image_source {
    struct io_file *file; /* for messages */
    const unsigned char *at;
    size_t n;
} image_source;

/* Pixels (height, width, channels); of u8, or of u16 if wide. */
typedef struct image {
    int64_t height, width;
    int channels; /* 1: gray, 2: gray and alpha, 3: RGB, 4: RGBA */
    bool wide;
    unsigned char *pixels;
    size_t bytes;
} image;

/* Sets the size and allocates pixels; frees them. image_new fails if the size is not valid or above the memory limit. */
ig_status image_new(const image_source *in, image *m, int64_t height, int64_t width, int channels,
                    bool wide);
void image_free(image *m);

/* An error: the image is damaged; or it has a feature that is not supported. */
ig_status image_broken(const image_source *in, const char *why);
ig_status image_refused(const image_source *in, const char *why);

/* The caller frees out, also after a failure. */
typedef ig_status (*image_decoder)(const image_source *in, image *out);
ig_status bmp_decode(const image_source *in, image *out);
ig_status pnm_decode(const image_source *in, image *out);
ig_status png_decode(const image_source *in, image *out);
ig_status tiff_decode(const image_source *in, image *out);
ig_status jpeg_decode(const image_source *in, image *out);

static inline uint32_t image_big(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint32_t image_little(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

#endif
