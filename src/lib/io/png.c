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
    png *(*begin)(const char *version, void *context, on_message *fail, on_message *warn);
    info *(*info_new)(png *);
    void (*end)(png **, info **, info **);
    void *(*fail_context)(const png *);
    void *(*read_context)(const png *);
    void (*set_read)(png *, void *context, on_read *);
    void (*set_sides)(png *, uint32_t width, uint32_t height);
    void (*set_crc)(png *, int critical, int other);
    void (*set_chunks)(png *, int keep, const unsigned char *names, int n);
    void (*set_tolerant)(png *, int allowed);
    void (*head)(png *, info *);
    uint32_t (*width)(const png *, const info *);
    uint32_t (*height)(const png *, const info *);
    unsigned char (*depth)(const png *, const info *);
    unsigned char (*color)(const png *, const info *);
    unsigned char (*channels)(const png *, const info *);
    size_t (*row_bytes)(const png *, const info *);
    uint32_t (*palette)(const png *, info *, unsigned char **colors, int *n);
    uint32_t (*alpha)(const png *, info *, unsigned char **alpha, int *n, void **values);
    void (*unpack)(png *);
    void (*widen)(png *);
    void (*swap)(png *);
    int (*passes)(png *);
    void (*update)(png *, info *);
    void (*row)(png *, unsigned char *row, unsigned char *shown);
    void (*tail)(png *, info *);
} lib;

static bool png_there(void)
{
    static const char *const files[] = {"libpng16.so.16", "libpng16.16.dylib", NULL};
    static const library_function functions[] = {{"png_create_read_struct", &lib.begin},
                                                 {"png_create_info_struct", &lib.info_new},
                                                 {"png_destroy_read_struct", &lib.end},
                                                 {"png_get_error_ptr", &lib.fail_context},
                                                 {"png_get_io_ptr", &lib.read_context},
                                                 {"png_set_read_fn", &lib.set_read},
                                                 {"png_set_user_limits", &lib.set_sides},
                                                 {"png_set_crc_action", &lib.set_crc},
                                                 {"png_set_keep_unknown_chunks", &lib.set_chunks},
                                                 {"png_set_benign_errors", &lib.set_tolerant},
                                                 {"png_read_info", &lib.head},
                                                 {"png_get_image_width", &lib.width},
                                                 {"png_get_image_height", &lib.height},
                                                 {"png_get_bit_depth", &lib.depth},
                                                 {"png_get_color_type", &lib.color},
                                                 {"png_get_channels", &lib.channels},
                                                 {"png_get_rowbytes", &lib.row_bytes},
                                                 {"png_get_PLTE", &lib.palette},
                                                 {"png_get_tRNS", &lib.alpha},
                                                 {"png_set_packing", &lib.unpack},
                                                 {"png_set_expand_gray_1_2_4_to_8", &lib.widen},
                                                 {"png_set_swap", &lib.swap},
                                                 {"png_set_interlace_handling", &lib.passes},
                                                 {"png_read_update_info", &lib.update},
                                                 {"png_read_row", &lib.row},
                                                 {"png_read_end", &lib.tail},
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
