/* Images: ig_image_from_memory on any bytes, and on PNG images with the checksums of their chunks repaired, as no fuzzer
 * guesses those. */
#include <stdlib.h>
#include <string.h>

#include "lib/io/image.h"
#include "base/inflate.h"
#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIGNATURE_BYTES = 8, CHUNK_BYTES = 12 }; /* of a chunk without content */

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void repair(uint8_t *png, size_t size)
{
    for (size_t at = SIGNATURE_BYTES; at + CHUNK_BYTES <= size;) {
        const size_t n = (size_t)png[at + 2] << 8 | png[at + 3]; /* the fuzzer's images are small */
        if (n > size - at - CHUNK_BYTES)
            return;
        png[at] = png[at + 1] = 0;
        put_u32(png + at + 8 + n, crc32_add(0, png + at + 4, n + 4));
        at += CHUNK_BYTES + n;
    }
}

static void try_image(const uint8_t *data, size_t size)
{
    ig_array *x = ig_image_from_memory(data, size);
    if (!x)
        scratch_error();
    scratch_check(!x || (ig_data(x) && ig_ndim(x) >= 2), "an image without pixels");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < SIGNATURE_BYTES || !image_format_of(data, size))
        return 0;
    ig_scope_begin();
    ig_set_memory_limit(64 << 20);
    try_image(data, size);
    uint8_t *copy = data[0] == 0x89 ? malloc(size) : NULL;
    if (copy) {
        memcpy(copy, data, size);
        repair(copy, size);
        try_image(copy, size);
    }
    free(copy);
    ig_set_memory_limit(0);
    ig_scope_end();
    return 0;
}
