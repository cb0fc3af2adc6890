/* PNG images of all kinds, by libpng, which is found at run time.
 *
 * Gray images become (height, width), others (height, width, channels), in u8, or u16 for 16 bits. Colors of a palette
 * become RGB, or RGBA if the palette has transparent ones. Chunks that do not change the pixels are skipped, gamma and
 * color profiles among them. The file is untrusted: the checksum of each chunk must fit, and what libpng only warns of in
 * pixels is an error. An error jumps out of libpng, so everything that is freed later is in the struct.
 */
#include "lib/io/image.h"

#include "base/error.h"
#include "base/inflate.h"
#include "base/library.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* Values of png.h. */
enum { PALETTE = 3, CRC_FAIL = 1, CHUNK_SKIP = 1, ALL_CHUNKS = -1, SIDE_MOST = 1 << 28 };

typedef void png;
typedef void info;
typedef void on_message(png *, const char *text);
typedef void on_read(png *, unsigned char *to, size_t n);

static struct {
#define FUNCTION(result, name, symbol, parameters) result(*name) parameters;
#include "lib/io/png.def"
} lib;

static bool png_there(void)
{
    static const char *const files[] = {"libpng16.so.16", "libpng16.16.dylib", NULL};
    static const library_function functions[] = {
#define FUNCTION(result, name, symbol, parameters) {#symbol, &lib.name},
#include "lib/io/png.def"
        {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    return library_there(&wanted);
}

typedef struct reader {
    const image_source *in;
    size_t at;
    png *png;
    info *info;
    image indices; /* of colors in the palette */
    jmp_buf failed;
    char why[80];
} reader;

static void stop(png *p, const char *why)
{
    reader *r = lib.fail_context(p);
    snprintf(r->why, sizeof r->why, "libpng says: %s", why);
    longjmp(r->failed, 1);
}

static void ignore(png *p, const char *warning)
{
    (void)p;
    (void)warning;
}

static void copy_bytes(png *p, unsigned char *to, size_t n)
{
    reader *r = lib.read_context(p);
    if (n > r->in->n - r->at)
        stop(p, "the file ends before its last chunk");
    memcpy(to, r->in->at + r->at, n);
    r->at += n;
}

static ig_status rows_read(reader *r, const image *to, int passes)
{
    const size_t stride = to->bytes / (size_t)to->height;
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < to->height; y++)
            lib.row(r->png, to->pixels + (size_t)y * stride, NULL);
    lib.tail(r->png, NULL);
    return IG_OK;
}

static ig_status colors_look_up(reader *r, image *out)
{
    unsigned char *color = NULL, *alpha = NULL;
    int n = 0, n_alpha = 0;
    lib.palette(r->png, r->info, &color, &n);
    lib.alpha(r->png, r->info, &alpha, &n_alpha, NULL);
    const int channels = n_alpha ? 4 : 3;
    TRY(image_new(r->in, out, r->indices.height, r->indices.width, channels, false));
    unsigned char *to = out->pixels;
    for (size_t i = 0; i < r->indices.bytes; i++, to += channels) {
        const int k = r->indices.pixels[i];
        if (k >= n)
            return image_broken(r->in, "a pixel has a color that is not in the palette");
        memcpy(to, color + 3 * k, 3);
        if (n_alpha)
            to[3] = k < n_alpha ? alpha[k] : 255;
    }
    return IG_OK;
}

static ig_status decode(reader *r, image *out)
{
    png *p = r->png;
    lib.set_read(p, r, copy_bytes);
    lib.set_sides(p, SIDE_MOST, SIDE_MOST);
    lib.set_crc(p, CRC_FAIL, CRC_FAIL);
    lib.set_chunks(p, CHUNK_SKIP, NULL, ALL_CHUNKS);
    lib.set_tolerant(p, 0);
    lib.head(p, r->info);
    const int64_t width = lib.width(p, r->info), height = lib.height(p, r->info);
    if ((uint64_t)height * lib.row_bytes(p, r->info) / INFLATE_MAX_RATIO > r->in->n)
        return image_broken(r->in, "it has fewer pixels than its header says");
    const bool palette = lib.color(p, r->info) == PALETTE, wide = lib.depth(p, r->info) == 16;
    if (palette)
        lib.unpack(p);
    else
        lib.widen(p);
    if (wide && !IO_BIG_ENDIAN)
        lib.swap(p);
    const int passes = lib.passes(p);
    lib.update(p, r->info);
    image *to = palette ? &r->indices : out;
    TRY(image_new(r->in, to, height, width, lib.channels(p, r->info), wide));
    TRY(rows_read(r, to, passes));
    return palette ? colors_look_up(r, out) : IG_OK;
}

ig_status png_decode(const image_source *in, image *out)
{
    if (!png_there())
        return io_fail(
            in->file, IG_ERR_UNSUPPORTED,
            "PNG images are read by libpng 1.6, which was not found; install it (Debian: "
            "libpng16-16, Fedora and Homebrew: libpng)");
    reader r = {.in = in};
    ig_status status = IG_ERR_MEMORY;
    if (setjmp(r.failed) == 0) {
        r.png = lib.begin("1.6.0", &r, stop, ignore);
        r.info = r.png ? lib.info_new(r.png) : NULL;
        status = r.info ? decode(&r, out)
                        : io_fail(in->file, IG_ERR_MEMORY, "libpng cannot begin; free some memory");
    } else
        status = image_broken(in, r.why);
    if (r.png)
        lib.end(&r.png, &r.info, NULL);
    image_free(&r.indices);
    return status;
}
