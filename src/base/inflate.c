/* Inflate and CRC-32: see inflate.h.
 *
 * The input is untrusted. Bits past its end read as 0, and the overrun is an error once the symbol has
 * been decoded, so single reads need no check. A Huffman code becomes a table that is indexed by as many
 * bits as its longest code has.
 */
#include "base/inflate.h"

#include "base/memory.h"

#include <pthread.h>
#include <string.h>

/* ---- CRC-32, eight bytes at a time ------------------------------------------------------------ */

static uint32_t crc_table[8][256];

static void crc_fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        crc_table[0][i] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) {
            const uint32_t before = crc_table[k - 1][i];
            crc_table[k][i] = before >> 8 ^ crc_table[0][before & 0xff];
        }
}

uint32_t crc32_add(uint32_t crc, const void *data, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, crc_fill);
    const unsigned char *p = data;
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t next = 0;
        for (unsigned k = 0; k < 4; k++)
            next ^= crc_table[7 - k][(crc >> 8 * k & 0xff) ^ p[k]];
        for (int k = 4; k < 8; k++)
            next ^= crc_table[7 - k][p[k]];
        crc = next;
    }
    for (; bytes; bytes--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

/* ---- bits ------------------------------------------------------------------------------------- */

enum {
    MAX_LENGTH = 15,     /* bits of a code */
    LITERALS = 288,      /* symbols of the first code: bytes, end of block, match lengths */
    DISTANCES = 30,      /* symbols of the second code */
    LENGTH_LENGTHS = 19, /* symbols of the code that encodes the lengths of the other codes */
    END_OF_BLOCK = 256,
};

struct stream {
    const unsigned char *in, *in_end;
    unsigned char *out, *out_begin, *out_end;
    uint64_t bits; /* the next bits, lowest first */
    int n_bits;    /* how many are in bits */
    int overrun;   /* bits among them that are past the end of the input */
};

/* Makes sure that at least 32 bits are available. */
static void bits_fill(struct stream *s)
{
    while (s->n_bits <= 56) {
        if (s->in < s->in_end)
            s->bits |= (uint64_t)*s->in++ << s->n_bits;
        else
            s->overrun += 8;
        s->n_bits += 8;
    }
}

/* True if no bit past the end of the input was taken. */
static bool bits_are_real(const struct stream *s) { return s->overrun <= s->n_bits; }

static unsigned bits_take(struct stream *s, int n)
{
    const unsigned value = (unsigned)(s->bits & (((uint64_t)1 << n) - 1));
    s->bits >>= n;
    s->n_bits -= n;
    return value;
}

/* ---- Huffman codes ---------------------------------------------------------------------------- */

struct code {
    int width;                       /* bits that index entry */
    uint16_t entry[1 << MAX_LENGTH]; /* symbol << 4 | length; length 0: no such code */
};

/* Builds the canonical code of these lengths (0: the symbol is not used). Refuses incomplete codes, except
 * codes of one symbol, which the format allows. */
static bool code_build(struct code *c, const unsigned char *length, int n)
{
    int count[MAX_LENGTH + 1] = {0}, used = 0;
    unsigned next[MAX_LENGTH + 2] = {0};
    for (int i = 0; i < n; i++)
        count[length[i]]++;
    used = n - count[0];
    count[0] = 0;
    c->width = 1;
    int left = 1; /* codes of this length that are still free */
    for (int bits = 1; bits <= MAX_LENGTH; bits++) {
        next[bits + 1] = (next[bits] + (unsigned)count[bits]) << 1;
        left = 2 * left - count[bits];
        if (left < 0)
            return false;
        if (count[bits])
            c->width = bits;
    }
    if (left > 0 && used > 1)
        return false;
    memset(c->entry, 0, sizeof *c->entry << c->width);
    for (int i = 0; i < n; i++) {
        const int bits = length[i];
        if (!bits)
            continue;
        unsigned code = next[bits]++, turned = 0;
        for (int k = 0; k < bits; k++, code >>= 1)
            turned = turned << 1 | (code & 1);
        for (unsigned at = turned; at < 1u << c->width; at += 1u << bits)
            c->entry[at] = (uint16_t)(i << 4 | bits);
    }
    return true;
}

/* The next symbol; -1 if the bits are not a code. At least MAX_LENGTH bits must be available. */
static int code_take(struct stream *s, const struct code *c)
{
    const unsigned entry = c->entry[s->bits & ((1u << c->width) - 1)];
    if (!(entry & 15))
        return -1;
    bits_take(s, entry & 15);
    return (int)(entry >> 4);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

struct codes {
    struct code literal, distance;
};

static bool block_stored(struct stream *s)
{
    bits_take(s, s->n_bits & 7);
    bits_fill(s);
    const unsigned length = bits_take(s, 16), complement = bits_take(s, 16);
    if (!bits_are_real(s) || (length ^ complement) != 0xffff)
        return false;
    /* Whole bytes that were read ahead go back. */
    s->in -= (s->n_bits - s->overrun) / 8;
    s->bits = 0;
    s->n_bits = s->overrun = 0;
    if (length > (size_t)(s->in_end - s->in) || length > (size_t)(s->out_end - s->out))
        return false;
    if (length)
        memcpy(s->out, s->in, length);
    s->in += length;
    s->out += length;
    return true;
}

/* Copies length bytes from distance bytes back; source and destination may overlap. */
static bool copy_match(struct stream *s, size_t length, size_t distance)
{
    if (distance > (size_t)(s->out - s->out_begin) || length > (size_t)(s->out_end - s->out))
        return false;
    const unsigned char *from = s->out - distance;
    if (distance >= length) {
        memcpy(s->out, from, length);
        s->out += length;
        return true;
    }
    while (length--)
        *s->out++ = *from++;
    return true;
}

static bool block_symbols(struct stream *s, const struct codes *c)
{
    static const uint16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                           15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                           67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (;;) {
        bits_fill(
            s); /* 57 bits: a length and a distance, each with its extra bits, take at most 48 */
        const int symbol = code_take(s, &c->literal);
        if (symbol < 0 || !bits_are_real(s))
            return false;
        if (symbol == END_OF_BLOCK)
            return true;
        if (symbol < END_OF_BLOCK) {
            if (s->out == s->out_end)
                return false;
            *s->out++ = (unsigned char)symbol;
            continue;
        }
        const int which = symbol - END_OF_BLOCK - 1;
        if (which >= (int)sizeof length_extra)
            return false;
        const size_t length = length_base[which] + bits_take(s, length_extra[which]);
        const int far = code_take(s, &c->distance);
        if (far < 0 || far >= DISTANCES)
            return false;
        const size_t distance = distance_base[far] + bits_take(s, far < 2 ? 0 : far / 2 - 1);
        if (!bits_are_real(s) || !copy_match(s, length, distance))
            return false;
    }
}

static bool codes_fixed(struct codes *c)
{
    unsigned char length[LITERALS];
    memset(length, 8, 144);
    memset(length + 144, 9, 112);
    memset(length + 256, 7, 24);
    memset(length + 280, 8, 8);
    if (!code_build(&c->literal, length, LITERALS))
        return false;
    memset(length, 5, 32); /* 30 and 31 complete the code, but are refused in the data */
    return code_build(&c->distance, length, 32);
}

/* Reads the lengths of both codes, which are encoded themselves. */
static bool codes_read(struct stream *s, struct codes *c)
{
    static const uint8_t order[LENGTH_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char length[LITERALS + 32] = {0}, of_lengths[LENGTH_LENGTHS] = {0};
    bits_fill(s);
    const int literals = 257 + (int)bits_take(s, 5), distances = 1 + (int)bits_take(s, 5);
    const int given = 4 + (int)bits_take(s, 4), total = literals + distances;
    if (literals > 286 || distances > DISTANCES)
        return false;
    for (int i = 0; i < given; i++) {
        bits_fill(s);
        of_lengths[order[i]] = (unsigned char)bits_take(s, 3);
    }
    if (!bits_are_real(s) || !code_build(&c->literal, of_lengths, LENGTH_LENGTHS))
        return false;
    for (int i = 0; i < total;) {
        bits_fill(s);
        const int symbol = code_take(s, &c->literal);
        if (symbol < 0 || !bits_are_real(s))
            return false;
        if (symbol < 16) {
            length[i++] = (unsigned char)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return false;
        const int times = symbol == 16   ? 3 + (int)bits_take(s, 2)
                          : symbol == 17 ? 3 + (int)bits_take(s, 3)
                                         : 11 + (int)bits_take(s, 7);
        if (!bits_are_real(s) || times > total - i)
            return false;
        memset(length + i, symbol == 16 ? length[i - 1] : 0, (size_t)times);
        i += times;
    }
    return length[END_OF_BLOCK] && code_build(&c->literal, length, literals) &&
           code_build(&c->distance, length + literals, distances);
}

/* Decompresses one block; *last says if it is the last one. */
static bool block_read(struct stream *s, struct codes *c, bool *last)
{
    enum { STORED, FIXED, DYNAMIC };
    bits_fill(s);
    *last = bits_take(s, 1);
    switch (bits_take(s, 2)) {
    case STORED: return block_stored(s);
    case FIXED: return codes_fixed(c) && block_symbols(s, c);
    case DYNAMIC: return codes_read(s, c) && block_symbols(s, c);
    default: return false;
    }
}

ig_status inflate(const unsigned char *in, size_t n_in, unsigned char *out, size_t n_out)
{
    struct stream s = {
        .in = in, .in_end = in + n_in, .out = out, .out_begin = out, .out_end = out + n_out};
    struct codes *codes = memory_get(sizeof *codes);
    if (!codes)
        return IG_ERR_MEMORY;
    bool valid = true;
    for (bool last = false; valid && !last;)
        valid = block_read(&s, codes, &last);
    memory_free(codes);
    return valid && s.out == s.out_end ? IG_OK : IG_ERR_FORMAT;
}
