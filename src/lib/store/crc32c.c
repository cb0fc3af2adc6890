/* The codec crc32c: a checksum of four bytes after the data. The processor's instruction is used where it has one. */
#include "lib/store/codec.h"

#include <pthread.h>
#include <string.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

enum { CRC_BYTES = 4, POLYNOMIAL = (int)0x82f63b78u };

/* ---- by the processor ---------------------------------------------------------------------------- */

#if defined(__aarch64__)

static bool instruction_there(void)
{
#if defined(__linux__)
    enum { HWCAP_HAS_CRC32 = 1 << 7 };
    return (getauxval(AT_HWCAP) & HWCAP_HAS_CRC32) != 0;
#else
    return true; /* all of Apple's have it */
#endif
}
static inline uint32_t crc_word(uint32_t crc, uint64_t word)
{
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    return crc;
}
static inline uint32_t crc_byte(uint32_t crc, unsigned char byte)
{
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)byte));
    return crc;
}

#elif defined(__x86_64__)

static bool instruction_there(void) { return __builtin_cpu_supports("sse4.2"); }
static inline uint32_t crc_word(uint32_t crc, uint64_t word)
{
    uint64_t wide = crc;
    __asm__("crc32q %1, %0" : "+r"(wide) : "r"(word));
    return (uint32_t)wide;
}
static inline uint32_t crc_byte(uint32_t crc, unsigned char byte)
{
    __asm__("crc32b %1, %0" : "+r"(crc) : "q"(byte));
    return crc;
}

#else

static bool instruction_there(void) { return false; }
static inline uint32_t crc_word(uint32_t crc, uint64_t word) { return crc ^ (uint32_t)word; }
static inline uint32_t crc_byte(uint32_t crc, unsigned char byte) { return crc ^ byte; }

#endif

static uint32_t crc_by_instruction(uint32_t crc, const unsigned char *at, size_t bytes)
{
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        crc = crc_word(crc, word);
    }
    for (; bytes; at++, bytes--)
        crc = crc_byte(crc, *at);
    return crc;
}

/* ---- by tables: eight bytes at a time -------------------------------------------------------------- */

static uint32_t tables[8][256];
static bool by_instruction;

static void crc_begin(void)
{
    by_instruction = instruction_there();
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ (uint32_t)POLYNOMIAL : crc >> 1;
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 0xff];
}

static uint32_t crc_by_table(uint32_t crc, const unsigned char *at, size_t bytes)
{
    for (; bytes >= 8; at += 8, bytes -= 8) {
        crc ^=
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        crc = tables[7][crc & 0xff] ^ tables[6][crc >> 8 & 0xff] ^ tables[5][crc >> 16 & 0xff] ^
              tables[4][crc >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
              tables[0][at[7]];
    }
    for (; bytes; at++, bytes--)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
    return crc;
}

uint32_t crc32c(const void *data, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, crc_begin);
    return ~(by_instruction ? crc_by_instruction : crc_by_table)(~0u, data, bytes);
}

uint32_t crc32c_plain(const void *data, size_t bytes)
{
    crc32c(NULL, 0);
    return ~crc_by_table(~0u, data, bytes);
}

/* ---- the codec --------------------------------------------------------------------------------------- */

static size_t crc_most(size_t bytes) { return bytes + CRC_BYTES; }

/* Checks the checksum; *got is the number of bytes before it. Nothing is copied. */
static ig_status crc_decode(const codec_step *step, const struct io_file *file, const void *in,
                            size_t n_in, void *out, size_t n_out, size_t *got)
{
    (void)step, (void)out, (void)n_out;
    if (n_in < CRC_BYTES)
        return io_fail(file, IG_ERR_FORMAT,
                       "it is damaged: it has %zu bytes, fewer than its checksum; write it again",
                       n_in);
    *got = n_in - CRC_BYTES;
    const unsigned char *at = (const unsigned char *)in + *got;
    const uint32_t stored =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    const uint32_t computed = crc32c(in, *got);
    if (stored == computed)
        return IG_OK;
    return io_fail(file, IG_ERR_FORMAT,
                   "it is damaged: its checksum is %08x, and its bytes give %08x; write it again",
                   stored, computed);
}

static ig_status crc_encode(const codec_step *step, const struct io_file *file, const void *in,
                            size_t n_in, void *out, size_t room, size_t *got)
{
    (void)step, (void)file, (void)room;
    const uint32_t crc = crc32c(in, n_in);
    unsigned char *at = (unsigned char *)out + n_in;
    memcpy(out, in, n_in);
    for (int i = 0; i < CRC_BYTES; i++)
        at[i] = (unsigned char)(crc >> 8 * i);
    *got = n_in + CRC_BYTES;
    return IG_OK;
}

const codec_kind codec_crc32c = {
    .name = "crc32c", .most = crc_most, .decode = crc_decode, .encode = crc_encode};
