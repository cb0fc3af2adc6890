/* Storage formats: arrays whose buffers hold blocks of packed elements, such as quantized weights.
 *
 * Such an array has a shape and a dtype (f32, f16 or bf16), and ops use it like any other array of that dtype. Matrix products,
 * elementwise ops, reductions and reads at indices unpack elements when they read them; other ops get a plain copy. Results
 * are plain. The blocks never change: an evaluation does not overwrite them, even if the array is donated.
 *
 * Formats (blocks lie along the last axis):
 *
 *   f8_e4m3 f8_e5m2 f8_e4m3fnuz f8_e5m2fnuz           floats of 8 bits
 *   q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl mxfp4             32 elements, as in GGUF files
 *   q2_k q3_k q4_k q5_k q6_k iq4_xs                   256 elements, as in GGUF files
 *   i2 i4 i8   u2 u4 u8   z2 z4 z8                    codes of 2, 4 or 8 bits in blocks of any multiple of 8 elements, each
 *                                                     with an f32 scale: (code - zero) * scale. zero is half of the codes
 *                                                     (i), a byte of the block (u) or an f32 (z) */
#ifndef INGOT_STORAGE_H
#define INGOT_STORAGE_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ig_storage {
    size_t size;         /* sizeof(ig_storage) */
    const char *format;  /* "q4_0"; "plain": elements are values of the dtype. Never NULL */
    int64_t block;       /* elements of a block */
    int64_t block_bytes; /* bytes of a block */
    int64_t bytes;       /* of all elements of the array's buffer */
} ig_storage;

/* Evaluates x and says how its elements are stored. */
IG_API ig_status ig_storage_of(ig_array *x, ig_storage *s);

/* Evaluates x, of f32, f16 or bf16, and returns an array with the same shape and dtype whose elements are packed. Each code is
 * the nearest to its element. block: elements of a block, for formats that allow a choice; 0: 32. The last axis has whole
 * blocks. NULL on failure. */
IG_API ig_array *ig_quantize(ig_array *x, const char *format, int64_t block);

/* An array over blocks in memory that the caller keeps, unchanged, until release (may be NULL) is called, also on failure. The
 * last axis of shape has whole blocks. Nothing is copied. NULL on failure. */
IG_API ig_array *ig_from_packed(const char *format, int64_t block, ig_dtype dtype, ig_ints shape,
                                void *data, size_t bytes, void (*release)(void *context),
                                void *context);

/* The bytes of an array that is stored in blocks, as a 1-d array of u8. A view of some of its elements has the bytes of all. */
IG_API ig_array *ig_packed_bytes(ig_array *x);

#ifdef __cplusplus
}
#endif

#endif
