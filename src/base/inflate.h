/* Decompression of deflate streams (RFC 1951), and the checksum that zip files keep of the result. */
#ifndef BASE_INFLATE_H
#define BASE_INFLATE_H

#include "ingot/base.h"

/* Decompresses in, a whole deflate stream, into out. Returns IG_ERR_FORMAT, without setting an error,
 * unless the stream is valid, ends within n_in bytes and gives exactly n_out bytes; IG_ERR_MEMORY, with
 * the error set, if there is no memory for its tables. */
ig_status inflate(const unsigned char *in, size_t n_in, unsigned char *out, size_t n_out);

/* The maximum ratio of decompressed to compressed bytes of any deflate stream. */
enum { INFLATE_MAX_RATIO = 1032 };

/* The CRC-32 of zip files. crc is 0 for the first piece, then the result for the previous piece. */
uint32_t crc32_add(uint32_t crc, const void *data, size_t bytes);

#endif
