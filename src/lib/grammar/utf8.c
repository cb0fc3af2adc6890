/* Characters as sequences of ranges of bytes in UTF-8. */
#include "lib/grammar/rules.h"

#include "base/error.h"

enum { SURROGATE_FIRST = 0xd800, SURROGATE_LAST = 0xdfff };

int utf8_write(uint32_t c, unsigned char out[4])
{
    const int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)(marks[n] | c);
    return n;
}

/* The end of the first part of low to high whose encodings differ in each byte independently; high: it needs no cut. */
static uint32_t part_end(uint32_t low, uint32_t high)
{
    static const uint32_t lengths[] = {0x7f, 0x7ff, 0xffff};
    for (int i = 0; i < 3; i++)
        if (low <= lengths[i] && lengths[i] < high)
            return lengths[i];
    unsigned char bytes[4];
    const int n = utf8_write(low, bytes);
    for (int i = 1; i < n; i++) {
        const uint32_t mask = ((uint32_t)1 << 6 * i) - 1;
        if ((low & ~mask) == (high & ~mask))
            continue;
        if (low & mask)
            return low | mask;
        if ((high & mask) != mask)
            return (high & ~mask) - 1;
    }
    return high;
}

ig_status utf8_sequences(uint32_t low, uint32_t high,
                         ig_status (*visit)(void *context, const element *bytes, int n),
                         void *context)
{
    while (low <= high) {
        if (low >= SURROGATE_FIRST && low <= SURROGATE_LAST) {
            low = SURROGATE_LAST + 1;
            continue;
        }
        const uint32_t most =
            low < SURROGATE_FIRST && high >= SURROGATE_FIRST ? SURROGATE_FIRST - 1 : high;
        uint32_t end = most;
        for (uint32_t next; (next = part_end(low, end)) != end;)
            end = next;
        unsigned char first[4], last[4];
        element bytes[4];
        const int n = utf8_write(low, first);
        utf8_write(end, last);
        for (int i = 0; i < n; i++)
            bytes[i] = (element){.kind = ELEMENT_BYTE, .low = first[i], .high = last[i]};
        TRY(visit(context, bytes, n));
        low = end + 1;
    }
    return IG_OK;
}
