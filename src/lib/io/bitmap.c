/* Images that are not compressed: BMP, PNM and TIFF. */
#include "lib/io/image.h"

#include "base/error.h"

#include <string.h>

enum { NUMBER_MOST = 1 << 28 }; /* of a PNM header */

/* True if the file has that many rows of bytes from `first` on. */
static bool has_rows(const image_source *in, size_t first, int64_t rows, size_t row)
{
    return rows > 0 && row > 0 && first <= in->n && (in->n - first) / row >= (size_t)rows;
}

static uint32_t little16(const unsigned char *p) { return (uint32_t)p[1] << 8 | p[0]; }

/* ---- PNM ---- */

/* The next number of the header; -1 if there is none. */
static int64_t pnm_number(const image_source *in, size_t *at)
{
    int64_t number = -1;
    while (*at < in->n && strchr(" \t\r\n#", in->at[*at])) {
        if (in->at[*at] == '#')
            while (*at < in->n && in->at[*at] != '\n')
                ++*at;
        else
            ++*at;
    }
    for (; *at < in->n && in->at[*at] >= '0' && in->at[*at] <= '9' && number < NUMBER_MOST; ++*at)
        number = (number < 0 ? 0 : number) * 10 + in->at[*at] - '0';
    return number;
}

ig_status pnm_decode(const image_source *in, image *out)
{
    size_t at = 2;
    const int channels = in->at[1] == '6' ? 3 : 1;
    const int64_t width = pnm_number(in, &at), height = pnm_number(in, &at),
                  most = pnm_number(in, &at);
    if (most < 1 || most > 255)
        return image_refused(in, "PNM images need numbers of 8 bits");
    if (width < 1 || !has_rows(in, at + 1, height, (size_t)(width * channels)))
        return image_broken(in, "the PNM image is cut off");
    TRY(image_new(in, out, height, width, channels, false));
    const size_t bytes = (size_t)(height * width * channels);
    for (size_t i = 0; i < bytes; i++) {
        const int64_t v = in->at[at + 1 + i] > most ? most : in->at[at + 1 + i];
        out->pixels[i] = (unsigned char)((v * 255 + most / 2) / most);
    }
    return IG_OK;
}

/* ---- BMP ---- */

ig_status bmp_decode(const image_source *in, image *out)
{
    if (in->n < 54)
        return image_broken(in, "the BMP image is cut off");
    const size_t first = image_little(in->at + 10), header = image_little(in->at + 14);
    const int64_t width = (int32_t)image_little(in->at + 18),
                  rows = (int32_t)image_little(in->at + 22);
    const uint32_t bits = little16(in->at + 28), packing = image_little(in->at + 30);
    const unsigned char *colors = header <= in->n - 14 ? in->at + 14 + header : NULL;
    if (header < 40 || packing != 0 || (bits != 8 && bits != 24 && bits != 32))
        return image_refused(in, "BMP images need 8, 24 or 32 bits, not compressed");
    const int64_t height = rows < 0 ? -rows : rows;
    const size_t row = width > 0 ? ((size_t)width * bits + 31) / 32 * 4 : 0;
    if (!has_rows(in, first, height, row))
        return image_broken(in, "the BMP image is cut off");
    TRY(image_new(in, out, height, width, 3, false));
    const size_t entries =
        colors && first <= in->n && first > 14 + header ? (first - 14 - header) / 4 : 0;
    for (int64_t y = 0; y < height; y++) {
        const unsigned char *from = in->at + first + (size_t)(rows < 0 ? y : height - 1 - y) * row;
        unsigned char *to = out->pixels + y * width * 3;
        for (int64_t x = 0; x < width; x++, from += bits / 8, to += 3) {
            if (bits == 8 && *from >= entries)
                return image_broken(in, "a BMP color is not in the table");
            const unsigned char *bgr = bits == 8 ? colors + (size_t)*from * 4 : from;
            to[0] = bgr[2];
            to[1] = bgr[1];
            to[2] = bgr[0];
        }
    }
    return IG_OK;
}

/* ---- TIFF ---- */

typedef struct tiff {
    const image_source *in;
    bool big_end;
    uint32_t width, height, bits, packing, meaning, samples, rows, planar;
    size_t offsets, n_offsets, offset_bytes; /* where the offsets of strips are */
} tiff;

/* A number of 2 or 4 bytes at a place; 0 if it is past the end. */
static uint32_t tiff_at(const tiff *t, size_t at, int bytes)
{
    if (at > t->in->n || t->in->n - at < (size_t)bytes)
        return 0;
    const unsigned char *p = t->in->at + at;
    if (bytes == 2)
        return t->big_end ? (uint32_t)p[0] << 8 | p[1] : little16(p);
    return t->big_end ? image_big(p) : image_little(p);
}

static void tiff_entry(tiff *t, size_t at)
{
    const uint32_t tag = tiff_at(t, at, 2), bytes = tiff_at(t, at + 2, 2) == 3 ? 2 : 4,
                   n = tiff_at(t, at + 4, 4);
    const size_t place = (size_t)n * bytes > 4 ? tiff_at(t, at + 8, 4) : at + 8;
    const uint32_t value = tiff_at(t, place, (int)bytes);
    switch (tag) {
    case 256: t->width = value; break;
    case 257: t->height = value; break;
    case 258: t->bits = value; break;
    case 259: t->packing = value; break;
    case 262: t->meaning = value; break;
    case 277: t->samples = value; break;
    case 278: t->rows = value; break;
    case 284: t->planar = value; break;
    case 273:
        t->offsets = place;
        t->n_offsets = n;
        t->offset_bytes = bytes;
        break;
    default: break;
    }
}

ig_status tiff_decode(const image_source *in, image *out)
{
    tiff t = {.in = in,
              .big_end = in->at[0] == 'M',
              .bits = 1,
              .packing = 1,
              .samples = 1,
              .rows = UINT32_MAX,
              .planar = 1};
    const size_t list = tiff_at(&t, 4, 4);
    for (uint32_t i = 0; i < tiff_at(&t, list, 2); i++)
        tiff_entry(&t, list + 2 + 12 * (size_t)i);
    const bool gray = t.meaning < 2;
    if (t.packing != 1 || t.bits != 8 || t.planar != 1 || t.meaning > 2 ||
        t.samples < (gray ? 1u : 3u) || t.samples > 5)
        return image_refused(in, "TIFF images need 8 bits, gray or RGB, in strips, not compressed");
    const size_t row = (size_t)t.width * t.samples;
    if (!has_rows(in, 0, t.height, row))
        return image_broken(in, "the TIFF image is cut off");
    TRY(image_new(in, out, t.height, t.width, gray ? 1 : 3, false));
    for (uint32_t y = 0; y < t.height; y++) {
        const size_t strip = t.rows ? y / t.rows : 0;
        const size_t start = tiff_at(&t, t.offsets + strip * t.offset_bytes, (int)t.offset_bytes);
        const size_t from = start + (y - strip * t.rows) * row;
        if (!start || strip >= t.n_offsets || from > in->n || in->n - from < row)
            return image_broken(in, "a strip of the TIFF image is not there");
        unsigned char *to = out->pixels + (size_t)y * t.width * (size_t)out->channels;
        for (uint32_t x = 0; x < t.width; x++)
            for (int k = 0; k < out->channels; k++, to++) {
                *to = in->at[from + (size_t)x * t.samples + (size_t)k];
                *to = t.meaning == 0 ? (unsigned char)(255 - *to) : *to;
            }
    }
    return IG_OK;
}
