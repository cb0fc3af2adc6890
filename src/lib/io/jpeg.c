/* JPEG images of 8 bits with Huffman codes and one scan (baseline and extended sequential). libturbojpeg reads others.
 *
 * Results have the same bits as libjpeg's with its default settings. The inverse cosine transform uses the factorization of
 * Loeffler, Ligtenberg and Moschytz with 13 fractional bits. Colors of half the resolution are interpolated linearly.
 */
#include "lib/io/image.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

typedef struct huffman {
    bool known;
    int first[17], start[17],
        count[17]; /* of codes of each length: the first code, and where its symbols are */
    unsigned char symbol[256];
} huffman;

typedef struct component {
    int id, h, v, table, dc, ac;
    int64_t width, height; /* samples of the image */
    int64_t stride, rows;  /* samples of whole blocks */
    unsigned char *samples;
    int previous; /* DC */
} component;

typedef struct jpeg {
    const image_source *in;
    bool other; /* it is valid, but of a kind that only libturbojpeg reads */
    const unsigned char *at, *end;
    int64_t width, height, across, down; /* across, down: units of all components */
    int n, h, v;                         /* components; the largest factors */
    component part[3];
    image planes[3]; /* their samples */
    uint16_t quant[4][64];
    huffman dc[4], ac[4];
    int64_t restart;
    bool rgb;
    uint64_t bits; /* the next ones, from the top */
    int n_bits;
} jpeg;

static bool broken(jpeg *j, const char *why)
{
    image_broken(j->in, why);
    return false;
}

static bool other(jpeg *j)
{
    j->other = true;
    return false;
}

static const unsigned char ZIGZAG[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* ---- bits ---- */

/* At least n bits; zeros after the end of the scan. */
static void fill(jpeg *j, int n)
{
    while (j->n_bits < n) {
        unsigned byte = 0;
        if (j->at < j->end && !(j->at[0] == 0xff && (j->end - j->at < 2 || j->at[1] != 0))) {
            byte = *j->at;
            j->at += byte == 0xff ? 2 : 1;
        }
        j->bits |= (uint64_t)byte << (56 - j->n_bits);
        j->n_bits += 8;
    }
}

static int take(jpeg *j, int n)
{
    if (n == 0)
        return 0;
    fill(j, n);
    const int v = (int)(j->bits >> (64 - n));
    j->bits <<= n;
    j->n_bits -= n;
    return v;
}

/* A number of n bits; those without the top bit are negative. */
static int take_signed(jpeg *j, int n)
{
    const int v = take(j, n);
    return n && v < 1 << (n - 1) ? v - (1 << n) + 1 : v;
}

/* The next symbol; -1 if no code matches. */
static int take_symbol(jpeg *j, const huffman *t)
{
    fill(j, 16);
    for (int n = 1; n <= 16; n++) {
        const int code = (int)(j->bits >> (64 - n));
        if (t->count[n] && code - t->first[n] < t->count[n] && code >= t->first[n]) {
            take(j, n);
            return t->symbol[t->start[n] + code - t->first[n]];
        }
    }
    return -1;
}

/* ---- blocks ---- */

static int64_t shifted(int64_t x, int bits) { return (x + ((int64_t)1 << (bits - 1))) >> bits; }

/* Eight numbers, `step` apart, transformed in place; results are divided by 2**bits. */
static void transform(int64_t *x, int step, int bits)
{
    const int64_t a = (x[2 * step] + x[6 * step]) * 4433;
    const int64_t low = a - x[6 * step] * 15137, high = a + x[2 * step] * 6270;
    const int64_t sum = (x[0] + x[4 * step]) * 8192, difference = (x[0] - x[4 * step]) * 8192;
    const int64_t even[4] = {sum + high, difference + low, difference - low, sum - high};
    const int64_t p = x[7 * step], q = x[5 * step], r = x[3 * step], s = x[step];
    const int64_t all = (p + r + q + s) * 9633;
    const int64_t ps = (p + s) * -7373, qr = (q + r) * -20995;
    const int64_t pr = (p + r) * -16069 + all, qs = (q + s) * -3196 + all;
    const int64_t odd[4] = {s * 12299 + ps + qs, r * 25172 + qr + pr, q * 16819 + qr + qs,
                            p * 2446 + ps + pr};
    for (int i = 0; i < 4; i++) {
        x[i * step] = shifted(even[i] + odd[i], bits);
        x[(7 - i) * step] = shifted(even[i] - odd[i], bits);
    }
}

static unsigned char clamped(int64_t x) { return (unsigned char)(x < 0 ? 0 : x > 255 ? 255 : x); }

static bool read_block(jpeg *j, component *p, unsigned char *to)
{
    int64_t x[64] = {0};
    const uint16_t *quant = j->quant[p->table];
    const int length = take_symbol(j, &j->dc[p->dc]);
    if (length < 0 || length > 11)
        return broken(j, "a code is unknown");
    p->previous += take_signed(j, length);
    if (p->previous > 1 << 20 || p->previous < -(1 << 20))
        return broken(j, "a coefficient is too large");
    x[0] = (int64_t)p->previous * quant[0];
    for (int k = 1; k < 64; k++) {
        const int symbol = take_symbol(j, &j->ac[p->ac]);
        if (symbol < 0)
            return broken(j, "a code is unknown");
        if (symbol == 0)
            break;
        k += symbol >> 4;
        if (k > 63)
            return broken(j, "a block has too many coefficients");
        x[ZIGZAG[k]] = (int64_t)take_signed(j, symbol & 15) * quant[k];
    }
    for (int i = 0; i < 8; i++)
        transform(x + i, 8, 11);
    for (int i = 0; i < 8; i++) {
        transform(x + 8 * i, 1, 18);
        for (int k = 0; k < 8; k++)
            to[i * p->stride + k] = clamped(x[8 * i + k] + 128);
    }
    return true;
}

/* A marker between groups of units: the bits before it end. */
static bool read_restart(jpeg *j)
{
    j->bits = 0;
    j->n_bits = 0;
    if (j->end - j->at < 2 || j->at[0] != 0xff || (j->at[1] & 0xf8) != 0xd0)
        return broken(j, "a restart marker is missing");
    j->at += 2;
    for (int i = 0; i < j->n; i++)
        j->part[i].previous = 0;
    return true;
}

static bool read_scan(jpeg *j)
{
    for (int64_t unit = 0; unit < j->across * j->down; unit++) {
        if (j->restart && unit && unit % j->restart == 0 && !read_restart(j))
            return false;
        const int64_t column = unit % j->across, row = unit / j->across;
        for (int i = 0; i < j->n; i++) {
            component *p = &j->part[i];
            for (int k = 0; k < p->h * p->v; k++) {
                const int64_t x = column * p->h + k % p->h, y = row * p->v + k / p->h;
                if (!read_block(j, p, p->samples + (y * p->stride + x) * 8))
                    return false;
            }
        }
    }
    return true;
}

/* ---- segments ---- */

static bool read_tables(jpeg *j, const unsigned char *at, size_t n)
{
    while (n > 0) {
        const int wide = at[0] >> 4, number = at[0] & 15;
        const size_t bytes = wide ? 129 : 65;
        if (wide > 1 || number > 3 || n < bytes)
            return broken(j, "a table of quantization");
        for (int i = 0; i < 64; i++)
            j->quant[number][i] = (uint16_t)(wide ? at[1 + 2 * i] << 8 | at[2 + 2 * i] : at[1 + i]);
        at += bytes;
        n -= bytes;
    }
    return true;
}

static bool read_codes(jpeg *j, const unsigned char *at, size_t n)
{
    while (n > 0) {
        if (n < 17 || (at[0] & 0xec) != 0)
            return broken(j, "a table of codes");
        huffman *t = at[0] >> 4 ? &j->ac[at[0] & 3] : &j->dc[at[0] & 3];
        int code = 0, all = 0;
        *t = (huffman){.known = true};
        for (int i = 1; i <= 16; i++, code <<= 1) {
            t->first[i] = code;
            t->start[i] = all;
            t->count[i] = at[i];
            all += at[i];
            code += at[i];
            if (code > 1 << i || all > 256)
                return broken(j, "a table of codes");
        }
        if (n < 17 + (size_t)all)
            return broken(j, "a table of codes");
        memcpy(t->symbol, at + 17, (size_t)all);
        at += 17 + all;
        n -= 17 + (size_t)all;
    }
    return true;
}

static bool read_frame(jpeg *j, const unsigned char *at, size_t n)
{
    if (n < 6 || j->n || at[0] != 8 || n != 6 + 3 * (size_t)at[5] || (at[5] != 1 && at[5] != 3)) {
        return other(j);
    }
    j->height = at[1] << 8 | at[2];
    j->width = at[3] << 8 | at[4];
    j->n = at[5];
    for (int i = 0; i < j->n; i++) {
        const unsigned char *p = at + 6 + 3 * i;
        j->part[i] = (component){.id = p[0], .h = p[1] >> 4, .v = p[1] & 15, .table = p[2]};
        if (j->n == 1)
            j->part[i].h = j->part[i].v = 1;
        if (p[2] > 3 || j->part[i].h < 1 || j->part[i].h > 2 || j->part[i].v < 1 ||
            j->part[i].v > 2 || (i && (j->part[i].h > 1 || j->part[i].v > 1)) ||
            (j->part[0].h == 1 && j->part[0].v == 2)) {
            return other(j);
        }
    }
    j->h = j->part[0].h;
    j->v = j->part[0].v;
    j->across = (j->width + 8 * j->h - 1) / (8 * j->h);
    j->down = (j->height + 8 * j->v - 1) / (8 * j->v);
    /* Each block has at least two codes, of a bit or more. */
    if (j->across * j->down > 4 * (int64_t)j->in->n)
        return broken(j, "it has fewer pixels than its header says");
    for (int i = 0; i < j->n; i++) {
        component *p = &j->part[i];
        p->width = (j->width * p->h + j->h - 1) / j->h;
        p->height = (j->height * p->v + j->v - 1) / j->v;
        p->stride = j->across * p->h * 8;
        p->rows = j->down * p->v * 8;
        if (image_new(j->in, &j->planes[i], p->rows, p->stride, 1, false) != IG_OK)
            return false;
        p->samples = j->planes[i].pixels;
    }
    return true;
}

static bool read_start(jpeg *j, const unsigned char *at, size_t n)
{
    if (n < 1 || n != 4 + 2 * (size_t)at[0] || at[0] != j->n || !j->n) {
        return other(j);
    }
    for (int i = 0; i < j->n; i++) {
        component *p = &j->part[i];
        p->dc = at[2 + 2 * i] >> 4;
        p->ac = at[2 + 2 * i] & 15;
        if (at[1 + 2 * i] != p->id || p->dc > 3 || p->ac > 3 || !j->dc[p->dc].known ||
            !j->ac[p->ac].known)
            return broken(j, "a scan without its tables");
    }
    return true;
}

/* Reads up to the end of the scan. */
static bool read_segments(jpeg *j)
{
    for (j->at += 2;;) {
        while (j->end - j->at >= 2 && j->at[0] == 0xff && j->at[1] == 0xff)
            j->at++;
        if (j->end - j->at < 4 || j->at[0] != 0xff)
            return broken(j, "a marker is missing");
        const int marker = j->at[1];
        const size_t n = (size_t)(j->at[2] << 8 | j->at[3]);
        const unsigned char *data = j->at + 4;
        if (n < 2 || (size_t)(j->end - j->at) < n + 2)
            return broken(j, "it is cut off");
        j->at += n + 2;
        bool fine = true;
        if (marker == 0xdb)
            fine = read_tables(j, data, n - 2);
        else if (marker == 0xc4)
            fine = read_codes(j, data, n - 2);
        else if (marker == 0xc0 || marker == 0xc1)
            fine = read_frame(j, data, n - 2);
        else if (marker == 0xdd)
            j->restart = n >= 4 ? data[0] << 8 | data[1] : 0;
        else if (marker == 0xee && n >= 14 && memcmp(data, "Adobe", 5) == 0)
            j->rgb = data[11] == 0;
        else if (marker == 0xda)
            return read_start(j, data, n - 2) && read_scan(j);
        else if (marker >= 0xc2 && marker <= 0xcf) {
            fine = other(j);
        }
        if (!fine)
            return false;
    }
}

/* ---- colors ---- */

/* Sample x, y of a component at the resolution of the image. At half the resolution, a sample is 3/4 of the nearest one
 * and 1/4 of the next nearest along each axis; at the edges there is only the nearest. */
static int sample_at(const jpeg *j, const component *p, int64_t x, int64_t y)
{
    const unsigned char *s = p->samples;
    if (p->h == j->h)
        return s[y * p->stride + x];
    const int64_t column = x / 2, other = column + (x % 2 ? 1 : -1);
    int near, next, shift = 2, half = x % 2 ? 2 : 1;
    const bool edge = other < 0 || other >= p->width, plain = p->width <= 2;
    if (p->v == j->v) {
        near = s[y * p->stride + column];
        next = edge ? near : s[y * p->stride + other];
        if (edge || plain)
            return near;
    } else {
        const int64_t row = y / 2, beside = row + (y % 2 ? 1 : -1);
        const int64_t from = beside < 0 ? 0 : beside >= p->height ? p->height - 1 : beside;
        if (plain)
            return s[row * p->stride + column];
        near = 3 * s[row * p->stride + column] + s[from * p->stride + column];
        next = edge ? near : 3 * s[row * p->stride + other] + s[from * p->stride + other];
        shift = 4;
        half = x % 2 ? 7 : 8;
    }
    return (3 * near + next + half) >> shift;
}

static void fill_pixels(const jpeg *j, image *out)
{
    unsigned char *to = out->pixels;
    for (int64_t y = 0; y < j->height; y++)
        for (int64_t x = 0; x < j->width; x++, to += j->n) {
            int v[3] = {0, 0, 0};
            for (int i = 0; i < j->n; i++)
                v[i] = sample_at(j, &j->part[i], x, y);
            if (j->n == 1 || j->rgb) {
                for (int i = 0; i < j->n; i++)
                    to[i] = (unsigned char)v[i];
                continue;
            }
            const int cb = v[1] - 128, cr = v[2] - 128;
            to[0] = clamped(v[0] + ((91881 * cr + 32768) >> 16));
            to[1] = clamped(v[0] + ((-22554 * cb - 46802 * cr + 32768) >> 16));
            to[2] = clamped(v[0] + ((116130 * cb + 32768) >> 16));
        }
}

ig_status jpeg_decode(const image_source *in, image *out)
{
    jpeg *j = memory_new(sizeof *j);
    if (!j)
        return IG_ERR_MEMORY;
    j->in = in;
    j->at = in->at;
    j->end = in->at + in->n;
    ig_status status = read_segments(j) ? image_new(in, out, j->height, j->width, j->n, false)
                       : j->other       ? turbojpeg_decode(in, out)
                                        : error_waiting(IG_ERR_FORMAT);
    if (status == IG_OK && !j->other)
        fill_pixels(j, out);
    if (status == IG_ERR_UNSUPPORTED && !ig_failed())
        status = image_refused(in, "JPEG images that are progressive, or of another rare kind, are "
                                   "read by libturbojpeg, which is not installed; install it "
                                   "(Debian: libturbojpeg0, Homebrew: jpeg-turbo)");
    for (int i = 0; i < 3; i++)
        image_free(&j->planes[i]);
    memory_free(j);
    return status;
}
