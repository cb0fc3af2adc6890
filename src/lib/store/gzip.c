/* The codecs gzip and zlib, by zlib, which is found at run time. Without it, streams of one member are still read, by
 * base/inflate. */
#include "lib/store/codec.h"

#include "base/error.h"
#include "base/inflate.h"
#include "base/library.h"

#include <limits.h>
#include <string.h>

/* Values of zlib.h. */
enum {
    Z_NO_FLUSH = 0,
    Z_FINISH = 4,
    Z_STREAM_END = 1,
    Z_MEM_ERROR = -4,
    Z_BUF_ERROR = -5,
    Z_DEFLATED = 8,
    GZIP_BITS = 15 + 16,
    ZLIB_BITS = 15,
    MEMORY_LEVEL = 8,
    PIECE_BYTES = 1 << 30, /* counts of the library are unsigned int */
    GZIP_HEAD = 10,
    GZIP_TAIL = 8,
    ZLIB_HEAD = 2,
    ZLIB_TAIL = 4
};

typedef struct z_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *alloc, *release, *opaque;
    int data_type;
    unsigned long adler, reserved;
} z_stream;

static struct {
    int (*inflate_begin)(z_stream *z, int bits, const char *version, int size);
    int (*inflate)(z_stream *z, int flush);
    int (*inflate_reset)(z_stream *z);
    int (*inflate_end)(z_stream *z);
    int (*deflate_begin)(z_stream *z, int level, int method, int bits, int memory, int strategy,
                         const char *version, int size);
    int (*deflate)(z_stream *z, int flush);
    int (*deflate_end)(z_stream *z);
} library;

static const char version[] = "1.2.0"; /* the first digit must be the library's */

static bool zlib_find(void)
{
    static const char *const files[] = {"libz.so.1", "libz.1.dylib", "/usr/lib/libz.1.dylib", NULL};
    static const library_function functions[] = {
        {"inflateInit2_", &library.inflate_begin}, {"inflate", &library.inflate},
        {"inflateReset", &library.inflate_reset},  {"inflateEnd", &library.inflate_end},
        {"deflateInit2_", &library.deflate_begin}, {"deflate", &library.deflate},
        {"deflateEnd", &library.deflate_end},      {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    return library_there(&wanted);
}

static bool always(void) { return true; }

static size_t gzip_most(size_t bytes) { return bytes + bytes / 1000 + 1024; }

static ig_status damaged(const struct io_file *file, const char *why)
{
    return io_fail(file, IG_ERR_FORMAT, "it is damaged: %s; write it again", why);
}

/* ---- reading ----------------------------------------------------------------------------------------- */

static unsigned piece_of(size_t left) { return left < PIECE_BYTES ? (unsigned)left : PIECE_BYTES; }

/* Inflates all members of a gzip stream, or one zlib stream. */
static ig_status members_inflate(z_stream *z, const struct io_file *file, bool gzip, const void *in,
                                 size_t n_in, void *out, size_t room, size_t *got)
{
    const unsigned char *const in_end = (const unsigned char *)in + n_in;
    unsigned char *const out_end = (unsigned char *)out + room;
    unsigned char none;
    z->next_in = in;
    z->next_out = out;
    for (;;) {
        z->avail_in = piece_of((size_t)(in_end - z->next_in));
        z->avail_out = piece_of((size_t)(out_end - z->next_out));
        const bool full = z->avail_out == 0;
        if (full) { /* a stream that ends here writes nothing more */
            unsigned char *const kept = z->next_out;
            z->next_out = &none;
            z->avail_out = 1;
            const int code = library.inflate(z, Z_NO_FLUSH);
            if (z->avail_out == 0)
                return damaged(file, "it decompresses to more bytes than a chunk has");
            z->next_out = kept;
            if (code == Z_STREAM_END)
                goto ended;
            if (code != 0)
                return damaged(file, z->msg ? z->msg : "it is cut short");
            continue;
        }
        const int code = library.inflate(z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return io_fail(file, IG_ERR_MEMORY, "zlib has no memory; free some");
        if (code != 0 && code != Z_STREAM_END)
            return damaged(file, z->msg ? z->msg : "it is cut short");
        if (code != Z_STREAM_END)
            continue;
    ended:
        if (z->next_in == in_end)
            break;
        if (!gzip || library.inflate_reset(z) != 0)
            return damaged(file, "bytes follow its end");
    }
    *got = (size_t)(z->next_out - (unsigned char *)out);
    return IG_OK;
}

/* One member without optional fields, as gzip codecs write it, by base/inflate. */
static ig_status plain_inflate(const struct io_file *file, bool gzip, const unsigned char *in,
                               size_t n_in, void *out, size_t n_out)
{
    const size_t head = gzip ? GZIP_HEAD : ZLIB_HEAD, tail = gzip ? GZIP_TAIL : ZLIB_TAIL;
    if (n_in < head + tail || (gzip && (in[0] != 0x1f || in[1] != 0x8b || in[2] != 8)) ||
        (!gzip && (in[0] & 0x0f) != 8))
        return damaged(file, "it is not a stream of zlib");
    if (gzip ? in[3] : in[1] & 0x20)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "its stream has optional fields, which need zlib (libz.so.1); install it");
    const ig_status status = inflate(in + head, n_in - head - tail, out, n_out);
    if (status == IG_ERR_FORMAT)
        return damaged(file, "its compressed data is not valid or has another size");
    TRY(status);
    const unsigned char *at = in + n_in - tail;
    const uint32_t crc =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return gzip && crc != crc32_add(0, out, n_out) ? damaged(file, "its checksum differs") : IG_OK;
}

static ig_status stream_decode(const codec_step *step, const struct io_file *file, const void *in,
                               size_t n_in, void *out, size_t n_out, size_t *got)
{
    const bool gzip = step->kind == &codec_gzip;
    size_t n = 0;
    if (!zlib_find()) {
        if (got)
            return io_fail(file, IG_ERR_UNSUPPORTED,
                           "its codecs need zlib (libz.so.1), which is not installed; install it");
        return plain_inflate(file, gzip, in, n_in, out, n_out);
    }
    z_stream z = {0};
    if (library.inflate_begin(&z, gzip ? GZIP_BITS : ZLIB_BITS, version, (int)sizeof z) != 0)
        return io_fail(file, IG_ERR_MEMORY, "zlib cannot begin; free some memory");
    const ig_status status = members_inflate(&z, file, gzip, in, n_in, out, n_out, &n);
    library.inflate_end(&z);
    TRY(status);
    return codec_sized(file, n, n_out, got);
}

/* ---- writing ----------------------------------------------------------------------------------------- */

static ig_status gzip_encode(const codec_step *step, const struct io_file *file, const void *in,
                             size_t n_in, void *out, size_t room, size_t *got)
{
    z_stream z = {0};
    const unsigned char *const in_end = (const unsigned char *)in + n_in;
    unsigned char *const out_end = (unsigned char *)out + room;
    if (!zlib_find())
        return io_fail(
            file, IG_ERR_UNSUPPORTED,
            "its codec 'gzip' needs zlib (libz.so.1), which is not installed; install it");
    if (library.deflate_begin(&z, step->level, Z_DEFLATED, GZIP_BITS, MEMORY_LEVEL, 0, version,
                              (int)sizeof z) != 0)
        return io_fail(file, IG_ERR_MEMORY, "zlib cannot begin; free some memory");
    z.next_in = in;
    z.next_out = out;
    int code = 0;
    while (code == 0) {
        z.avail_in = piece_of((size_t)(in_end - z.next_in));
        z.avail_out = piece_of((size_t)(out_end - z.next_out));
        const bool last = z.avail_in == (size_t)(in_end - z.next_in);
        code = library.deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
    }
    *got = (size_t)(z.next_out - (unsigned char *)out);
    library.deflate_end(&z);
    return code == Z_STREAM_END
               ? IG_OK
               : io_fail(file, IG_ERR_INTERNAL, "zlib fails with code %d; please report it", code);
}

const codec_kind codec_gzip = {.name = "gzip",
                               .library = "zlib (libz.so.1)",
                               .level = 5,
                               .level_min = 0,
                               .level_max = 9,
                               .find = always,
                               .most = gzip_most,
                               .decode = stream_decode,
                               .encode = gzip_encode};
const codec_kind codec_zlib = {.name = "zlib",
                               .library = "zlib (libz.so.1)",
                               .level = 5,
                               .level_min = 0,
                               .level_max = 9,
                               .find = always,
                               .most = gzip_most,
                               .decode = stream_decode,
                               .encode = NULL};
