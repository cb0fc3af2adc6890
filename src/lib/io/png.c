/* Reads PNG images (W3C, third edition): all color types, depths and interlacing.
 *
 * Gray images become (height, width), others (height, width, channels), in u8, or u16 for 16 bits. Colors of a palette
 * become RGB, or RGBA if the palette has transparent ones. Gamma and color profiles are ignored. The file is untrusted:
 * the checksum of each chunk must fit, and the pixels must be exactly as many as the header says. */
#include "lib/io/image.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/inflate.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIGNATURE_BYTES = 8,
    HEADER_BYTES = 13,
    ZLIB_HEADER_BYTES = 2,
    ZLIB_END_BYTES = 4,
    COLOR_GRAY = 0,
    COLOR_RGB = 2,
    COLOR_PALETTE = 3,
    COLOR_GRAY_ALPHA = 4,
    COLOR_RGBA = 6,
    PASSES = 7
};

struct png {
    const image_source *in;
    size_t at; /* bytes that were read */
    int64_t width, height;
    int depth, color;
    bool interlaced;
    int samples;  /* of a pixel in the file */
    int channels; /* of a pixel of the result */
    unsigned char palette[256][4];
    int colors;            /* of the palette */
    bool transparent;      /* the palette has an alpha channel */
    unsigned char *packed; /* the content of all IDAT chunks */
    size_t n_packed, room;
};

struct chunk {
    char name[5];
    const unsigned char *data;
    size_t n;
};

static ig_status fail_damaged(const struct png *p, const char *what)
{
    return image_broken(p->in, what);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static ig_status chunk_read(struct png *p, struct chunk *c)
{
    enum { HEAD = 8, END = 4 };
    const size_t left = p->in->n - p->at;
    if (left < HEAD + END)
        return fail_damaged(p, "it ends before its last chunk");
    const unsigned char *head = p->in->at + p->at;
    memcpy(c->name, head + 4, 4);
    c->n = image_big(head);
    c->data = head + HEAD;
    if (c->n > left - HEAD - END)
        return fail_damaged(p, "a chunk is longer than the file");
    p->at += HEAD + c->n + END;
    return image_big(c->data + c->n) == crc32_add(0, head + 4, c->n + 4)
               ? IG_OK
               : fail_damaged(p, "the checksum of a chunk does not fit");
}

static ig_status header_read(struct png *p, const struct chunk *c)
{
    static const struct {
        int color, samples;
        unsigned depths; /* a bit for each */
    } rows[] = {{COLOR_GRAY, 1, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16},
                {COLOR_RGB, 3, 1 << 8 | 1 << 16},
                {COLOR_PALETTE, 1, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8},
                {COLOR_GRAY_ALPHA, 2, 1 << 8 | 1 << 16},
                {COLOR_RGBA, 4, 1 << 8 | 1 << 16}};
    if (strcmp(c->name, "IHDR") != 0 || c->n != HEADER_BYTES)
        return fail_damaged(p, "it does not begin with its header");
    p->width = image_big(c->data);
    p->height = image_big(c->data + 4);
    p->depth = c->data[8];
    p->color = c->data[9];
    p->interlaced = c->data[12] == 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].color == p->color && p->depth <= 16 && rows[i].depths >> p->depth & 1)
            p->samples = rows[i].samples;
    if (!p->samples || c->data[10] || c->data[11] || c->data[12] > 1)
        return fail_damaged(p, "its header has a color type or method that the format lacks");
    if (p->width < 1 || p->height < 1 || p->width > INT32_MAX || p->height > INT32_MAX)
        return fail_damaged(p, "it has no pixels");
    p->channels = p->samples;
    return IG_OK;
}

static ig_status palette_read(struct png *p, const struct chunk *c)
{
    p->colors = (int)(c->n / 3);
    if (c->n % 3 || c->n > 256 * 3 || !p->colors)
        return fail_damaged(p, "its palette is not a list of up to 256 colors");
    for (int i = 0; i < p->colors; i++) {
        memcpy(p->palette[i], c->data + 3 * i, 3);
        p->palette[i][3] = 255;
    }
    return IG_OK;
}

static ig_status packed_add(struct png *p, const struct chunk *c)
{
    if (p->n_packed + c->n > p->room) {
        const size_t room = 2 * (p->n_packed + c->n);
        void *more = memory_counted_resize(p->packed, p->room, room, "load: a PNG image");
        if (!more)
            return IG_ERR_MEMORY;
        p->packed = more;
        p->room = room;
    }
    if (c->n)
        memcpy(p->packed + p->n_packed, c->data, c->n);
    p->n_packed += c->n;
    return IG_OK;
}

/* Reads one chunk after another. Chunks that do not change the pixels are skipped. */
static ig_status chunks_read(struct png *p)
{
    bool first = true;
    for (;;) {
        struct chunk c = {.data = NULL};
        ig_status status = chunk_read(p, &c);
        if (status == IG_OK && first)
            status = header_read(p, &c);
        else if (status == IG_OK && strcmp(c.name, "PLTE") == 0)
            status = palette_read(p, &c);
        else if (status == IG_OK && strcmp(c.name, "IDAT") == 0)
            status = packed_add(p, &c);
        else if (status == IG_OK && strcmp(c.name, "tRNS") == 0 && p->color == COLOR_PALETTE)
            for (size_t i = 0; i < c.n && i < 256; i++) {
                p->palette[i][3] = c.data[i];
                p->transparent = true;
            }
        else if (status == IG_OK && strcmp(c.name, "IEND") != 0 && !(c.name[0] & 0x20))
            status = fail_damaged(p, "it needs a chunk that is unknown");
        const bool last = strcmp(c.name, "IEND") == 0;
        first = false;
        if (status != IG_OK || last)
            return status;
    }
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* All pixels, or the pixels of one pass of interlacing. */
struct pass {
    int64_t x, y, dx, dy;
};
static const struct pass whole = {0, 0, 1, 1};
static const struct pass passes[PASSES] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

static int64_t pass_columns(const struct png *p, const struct pass *s)
{
    return (p->width - s->x + s->dx - 1) / s->dx;
}

static int64_t pass_rows(const struct png *p, const struct pass *s)
{
    return (p->height - s->y + s->dy - 1) / s->dy;
}

static size_t row_bytes(const struct png *p, int64_t columns)
{
    return ((size_t)columns * (size_t)(p->samples * p->depth) + 7) / 8;
}

/* The bytes of a pass: each row has one for its filter. A pass without columns has none. */
static size_t pass_bytes(const struct png *p, const struct pass *s)
{
    const int64_t columns = pass_columns(p, s), rows = pass_rows(p, s);
    return columns > 0 && rows > 0 ? (size_t)rows * (row_bytes(p, columns) + 1) : 0;
}

static int nearest_of(int left, int above, int corner)
{
    const int guess = left + above - corner;
    const int a = abs(guess - left), b = abs(guess - above), c = abs(guess - corner);
    return a <= b && a <= c ? left : b <= c ? above : corner;
}

/* Undoes the filter of a row of n bytes in place. above is NULL for the first row. step: bytes between a byte and the one
 * of the pixel before it. False if there is no such filter. */
static bool row_restore(int filter, unsigned char *row, const unsigned char *above, size_t n,
                        size_t step)
{
    if (filter > 4)
        return false;
    for (size_t i = 0; i < n; i++) {
        const int left = i >= step ? row[i - step] : 0, up = above ? above[i] : 0;
        const int corner = i >= step && above ? above[i - step] : 0;
        const int guess = filter == 0   ? 0
                          : filter == 1 ? left
                          : filter == 2 ? up
                          : filter == 3 ? (left + up) / 2
                                        : nearest_of(left, up, corner);
        row[i] = (unsigned char)(row[i] + guess);
    }
    return true;
}

/* The i-th sample of a row with less than 16 bits. */
static int sample_at(const struct png *p, const unsigned char *row, int64_t i)
{
    if (p->depth == 8)
        return row[i];
    const int64_t bit = i * p->depth;
    return row[bit / 8] >> (8 - p->depth - bit % 8) & ((1 << p->depth) - 1);
}

/* Writes a row of a pass to the pixels of the result. False if a color is not in the palette. */
static bool row_unpack(const struct png *p, const struct pass *s, const unsigned char *row,
                       int64_t y, void *out)
{
    const int64_t columns = pass_columns(p, s);
    const int64_t base = (s->y + y * s->dy) * p->width + s->x;
    const int scale = p->color == COLOR_PALETTE || p->depth > 8 ? 1 : 255 / ((1 << p->depth) - 1);
    unsigned char *bytes = out;
    uint16_t *words = out;
    for (int64_t i = 0; i < columns; i++) {
        const int64_t at = (base + i * s->dx) * p->channels;
        if (p->color == COLOR_PALETTE) {
            const int color = sample_at(p, row, i);
            if (color >= p->colors)
                return false;
            memcpy(bytes + at, p->palette[color], (size_t)p->channels);
            continue;
        }
        for (int k = 0; k < p->samples; k++) {
            const int64_t from = i * p->samples + k;
            if (p->depth == 16)
                words[at + k] = (uint16_t)(row[2 * from] << 8 | row[2 * from + 1]);
            else
                bytes[at + k] = (unsigned char)(sample_at(p, row, from) * scale);
        }
    }
    return true;
}

static ig_status pass_unpack(const struct png *p, const struct pass *s, unsigned char **from,
                             void *out)
{
    const int64_t rows = pass_bytes(p, s) ? pass_rows(p, s) : 0;
    const size_t n = rows ? row_bytes(p, pass_columns(p, s)) : 0;
    const size_t step = (size_t)(p->samples * p->depth + 7) / 8;
    const unsigned char *above = NULL;
    for (int64_t y = 0; y < rows; y++) {
        unsigned char *row = *from + 1;
        if (!row_restore(**from, row, above, n, step))
            return fail_damaged(p, "a row has a filter that the format lacks");
        if (!row_unpack(p, s, row, y, out))
            return fail_damaged(p, "a pixel has a color that is not in the palette");
        above = row;
        *from += n + 1;
    }
    return IG_OK;
}

static ig_status pixels_unpack(const struct png *p, unsigned char *pixels, void *out)
{
    if (!p->interlaced)
        return pass_unpack(p, &whole, &pixels, out);
    for (int i = 0; i < PASSES; i++)
        TRY(pass_unpack(p, &passes[i], &pixels, out));
    return IG_OK;
}

static size_t filtered_bytes(const struct png *p)
{
    size_t bytes = p->interlaced ? 0 : pass_bytes(p, &whole);
    for (int i = 0; i < PASSES && p->interlaced; i++)
        bytes += pass_bytes(p, &passes[i]);
    return bytes;
}

/* Decompresses and restores the pixels into out. */
static ig_status pixels_read(const struct png *p, void *out)
{
    const size_t n = filtered_bytes(p);
    unsigned char *pixels = memory_data_get(n);
    if (!pixels)
        return IG_ERR_MEMORY;
    /* The checksums of the chunks have covered what zlib's would. */
    ig_status status =
        inflate(p->packed + ZLIB_HEADER_BYTES, p->n_packed - ZLIB_HEADER_BYTES, pixels, n);
    if (status == IG_ERR_FORMAT)
        status = fail_damaged(p, "its pixels cannot be decompressed");
    if (status == IG_OK)
        status = pixels_unpack(p, pixels, out);
    memory_data_free(pixels, n);
    return status;
}

ig_status png_decode(const image_source *in, image *out)
{
    struct png p = {.in = in, .at = SIGNATURE_BYTES};
    ig_status status = chunks_read(&p);
    if (p.color == COLOR_PALETTE)
        p.channels = p.transparent ? 4 : 3;
    if (status == IG_OK && (p.n_packed <= ZLIB_HEADER_BYTES + ZLIB_END_BYTES ||
                            filtered_bytes(&p) / INFLATE_MAX_RATIO > p.n_packed))
        status = fail_damaged(&p, "it has fewer pixels than its header says");
    if (status == IG_OK)
        status = image_new(in, out, p.height, p.width, p.channels, p.depth == 16);
    if (status == IG_OK)
        status = pixels_read(&p, out->pixels);
    memory_counted_free(p.packed, p.room);
    return status;
}
