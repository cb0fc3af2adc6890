/* The files of data/digits as bytes of the command. The assembler takes them in as they are; their
 * paths are from the root of the sources, where make runs. */
#include "digits_data.h"

#include <stdint.h>

#ifdef __APPLE__
#define SECTION "__TEXT,__const"
#define SYMBOL(name) "_" name
#else
#define SECTION ".rodata"
#define SYMBOL(name) name
#endif

/* Defines name, the bytes of a file, and name_size, how many there are: a number that is made here,
 * since Apple's linker may move apart what stands under two names. */
/* clang-format off */
#define INCLUDE_FILE(name, path) \
    __asm__(".pushsection " SECTION "\n" \
            ".balign 16\n" \
            ".globl " SYMBOL(name) "\n" \
            SYMBOL(name) ":\n" \
            ".incbin \"" path "\"\n" \
            "1:\n" \
            ".balign 8\n" \
            ".globl " SYMBOL(name) "_size\n" \
            SYMBOL(name) "_size:\n" \
            ".quad 1b - " SYMBOL(name) "\n" \
            ".popsection\n")
/* clang-format on */

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
