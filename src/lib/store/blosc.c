/* The codec blosc, by libblosc, which is found at run time. */
#include "lib/store/codec.h"

#include "base/error.h"
#include "base/library.h"

#include <limits.h>

enum { OVERHEAD = 16, HEADER_BYTES = 16 }; /* blosc.h */

static struct {
    int (*compress)(int level, int shuffle, size_t typesize, size_t n, const void *in, void *out,
                    size_t room, const char *compressor, size_t blocksize, int threads);
    int (*decompress)(const void *in, void *out, size_t room, int threads);
    int (*validate)(const void *in, size_t n, size_t *decoded);
} library;

static bool blosc_find(void)
{
    static const char *const files[] = {"libblosc.so.1", "libblosc.1.dylib", NULL};
    static const library_function functions[] = {{"blosc_compress_ctx", &library.compress},
                                                 {"blosc_decompress_ctx", &library.decompress},
                                                 {"blosc_cbuffer_validate", &library.validate},
                                                 {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    return library_there(&wanted);
}

static size_t blosc_most(size_t bytes) { return bytes + OVERHEAD; }

static ig_status blosc_decode(const codec_step *step, const struct io_file *file, const void *in,
                              size_t n_in, void *out, size_t n_out, size_t *got)
{
    (void)step;
    size_t n = 0;
    if (n_in < HEADER_BYTES || library.validate(in, n_in, &n) != 0)
        return io_fail(file, IG_ERR_FORMAT,
                       "it is damaged: it is not a blosc buffer of %zu bytes; write it again",
                       n_in);
    TRY(codec_sized(file, n, n_out, got));
    const int result = library.decompress(in, out, n_out, 1);
    if (result < 0 || (size_t)result != n)
        return io_fail(file, IG_ERR_FORMAT,
                       "it is damaged: libblosc cannot decompress it (code %d); write it again, or "
                       "install a libblosc that has its compressor",
                       result);
    return IG_OK;
}

static ig_status blosc_encode(const codec_step *step, const struct io_file *file, const void *in,
                              size_t n_in, void *out, size_t room, size_t *got)
{
    if (n_in > INT_MAX - OVERHEAD)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "a chunk has %zu bytes, and blosc allows 2 GiB; choose smaller chunks",
                       n_in);
    const int n = library.compress(step->level, step->shuffle, (size_t)step->typesize, n_in, in,
                                   out, room, step->inner, step->blocksize, 1);
    if (n <= 0)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "libblosc cannot compress with '%s' (code %d); choose lz4 or zstd",
                       step->inner, n);
    *got = (size_t)n;
    return IG_OK;
}

const codec_kind codec_blosc = {.name = "blosc",
                                .library = "libblosc",
                                .level = 5,
                                .level_min = 0,
                                .level_max = 9,
                                .find = blosc_find,
                                .most = blosc_most,
                                .decode = blosc_decode,
                                .encode = blosc_encode};
