/* Images by their format: ig_image_from_memory, and what ig_load needs of them. */
#include "lib/io/image.h"

#include "base/error.h"

#include <string.h>

image_format image_format_of(const unsigned char *first, size_t n)
{
    static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char jpeg[] = {0xff, 0xd8, 0xff};
    if (n >= sizeof png && memcmp(first, png, sizeof png) == 0)
        return IMAGE_PNG;
    return n >= sizeof jpeg && memcmp(first, jpeg, sizeof jpeg) == 0 ? IMAGE_JPEG : IMAGE_NONE;
}

ig_array *image_read(struct io_file *file, image_format format)
{
    return format == IMAGE_PNG ? png_read(file) : jpeg_read(file);
}

ig_array *ig_image_from_memory(const void *bytes, size_t n)
{
    struct io_file file;
    if (!bytes)
        FAIL_NULL(IG_ERR_ARGUMENT, "load: the bytes of the image are NULL");
    io_open_memory(&file, bytes, n, "an image in memory");
    const image_format format = image_format_of(bytes, n);
    ig_array *x = NULL;
    if (format == IMAGE_NONE)
        io_fail(&file, IG_ERR_FORMAT, "it is neither PNG nor JPEG");
    else
        x = image_read(&file, format);
    io_close(&file);
    return x;
}
