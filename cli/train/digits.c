/* The files of data/digits, embedded in the command. */
#include "train/digits.h"

#include <stdint.h>

#include "base/embed.h"

INCLUDE_FILE("digits_image_bytes", "data/digits/images.idx");
INCLUDE_FILE("digits_label_bytes", "data/digits/labels.idx");

extern const char digits_image_bytes[], digits_label_bytes[];
extern const uint64_t digits_image_bytes_size, digits_label_bytes_size;

digits_file digits_images(void)
{
    return (digits_file){digits_image_bytes, (size_t)digits_image_bytes_size};
}

digits_file digits_labels(void)
{
    return (digits_file){digits_label_bytes, (size_t)digits_label_bytes_size};
}
