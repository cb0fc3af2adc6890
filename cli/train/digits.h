/* The handwritten digits of data/digits, embedded in the command as idx files for
 * ig_idx_from_memory. */
#ifndef CLI_DIGITS_DATA_H
#define CLI_DIGITS_DATA_H

#include <stddef.h>

/* bytes is NULL if there was no memory to decompress the file. */
typedef struct digits_file {
    const void *bytes;
    size_t n;
} digits_file;

digits_file digits_images(void); /* u8, 1797 x 8 x 8, from 0 to 16 */
digits_file digits_labels(void); /* u8, 1797, from 0 to 9 */

#endif
