/* The safetensors format, for its reader and its writer.
 *
 * A file is the header's length (u64), the header, the data; all little-endian. The header is JSON,
 * followed by spaces:
 *
 *     {"__metadata__": {"key": "text"},
 *      "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * Offsets count from the first byte of the data, whose tensors are in row-major order.
 */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "ingot.h"

enum {
    SAFETENSORS_LENGTH_BYTES = 8,
    SAFETENSORS_HEADER_MAX_BYTES = 100000000, /* the limit of the format's own reader */
    SAFETENSORS_ALIGN = 8                     /* of the start of the data in files that we write */
};

#define SAFETENSORS_METADATA "__metadata__"

/* The format's name of each dtype, from IG_BOOL to IG_F64. */
extern const char *const safetensors_codes[];

#endif
