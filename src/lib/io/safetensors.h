/* The safetensors format, as its reader and its writer know it.
 *
 * A file is the header's length (u64), the header, the data; all little-endian. The header is JSON,
 * and spaces behind it:
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
    SAFETENSORS_HEADER_MAX_BYTES = 100000000, /* what the format's own reader takes */
    SAFETENSORS_ALIGN = 8                     /* where the data starts in a file of ours */
};

#define SAFETENSORS_METADATA "__metadata__"

/* What the format calls a dtype, for each from IG_BOOL to IG_F64. */
extern const char *const safetensors_codes[];

#endif
