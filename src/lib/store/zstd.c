/* The codec zstd, by libzstd, which is found at run time. Contexts are kept for the next chunk. */
#include "lib/store/codec.h"

#include "base/error.h"
#include "base/library.h"

#include <pthread.h>

enum { PARAMETER_LEVEL = 100, PARAMETER_CHECKSUM = 201, KEPT_MAX = 64 }; /* zstd.h */

/* Chunks of floats often become only some percent smaller, at a tenth of the speed. Such a chunk is written with level -1, which
 * only looks for repeated bytes: it stays as large as it is, and is read 20 times as fast. Pieces of the chunk tell. */
enum {
    SAMPLE = 16 << 10,
    SAMPLES = 4,
    SAMPLED_LEAST = 256 << 10,
    SAMPLED_LEVEL_MOST = 3,
    FAST_LEVEL = -1
};

static struct {
    void *(*decoder_new)(void);
    size_t (*decoder_free)(void *);
    size_t (*decompress)(void *context, void *out, size_t room, const void *in, size_t n);
    void *(*encoder_new)(void);
    size_t (*encoder_free)(void *);
    size_t (*set)(void *context, int parameter, int value);
    size_t (*compress)(void *context, void *out, size_t room, const void *in, size_t n);
    unsigned (*is_error)(size_t code);
    const char *(*error)(size_t code);
    pthread_mutex_t lock;
    void *decoders[KEPT_MAX], *encoders[KEPT_MAX];
    int n_decoders, n_encoders;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool zstd_find(void)
{
    static const char *const files[] = {"libzstd.so.1", "libzstd.1.dylib", NULL};
    static const library_function functions[] = {
        {"ZSTD_createDCtx", &library.decoder_new},    {"ZSTD_freeDCtx", &library.decoder_free},
        {"ZSTD_decompressDCtx", &library.decompress}, {"ZSTD_createCCtx", &library.encoder_new},
        {"ZSTD_freeCCtx", &library.encoder_free},     {"ZSTD_CCtx_setParameter", &library.set},
        {"ZSTD_compress2", &library.compress},        {"ZSTD_isError", &library.is_error},
        {"ZSTD_getErrorName", &library.error},        {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    return library_there(&wanted);
}

/* Takes a context that is kept, or makes one; NULL if there is no memory. */
static void *context_take(void **kept, int *n, void *(*make)(void))
{
    pthread_mutex_lock(&library.lock);
    void *context = *n ? kept[--*n] : NULL;
    pthread_mutex_unlock(&library.lock);
    return context ? context : make();
}

static void context_give(void *context, void **kept, int *n, size_t (*release)(void *))
{
    pthread_mutex_lock(&library.lock);
    const bool keep = *n < KEPT_MAX;
    if (keep)
        kept[(*n)++] = context;
    pthread_mutex_unlock(&library.lock);
    if (!keep)
        release(context);
}

static size_t zstd_most(size_t bytes) { return bytes + bytes / 255 + 1024; }

static ig_status zstd_decode(const codec_step *step, const struct io_file *file, const void *in,
                             size_t n_in, void *out, size_t n_out, size_t *got)
{
    (void)step;
    void *context = context_take(library.decoders, &library.n_decoders, library.decoder_new);
    if (!context)
        return io_fail(file, IG_ERR_MEMORY, "libzstd cannot begin; free some memory");
    const size_t n = library.decompress(context, out, n_out, in, n_in);
    context_give(context, library.decoders, &library.n_decoders, library.decoder_free);
    if (library.is_error(n))
        return io_fail(file, IG_ERR_FORMAT, "it is damaged: libzstd says '%s'; write it again",
                       library.error(n));
    return codec_sized(file, n, n_out, got);
}

/* True if pieces of the chunk become less than a tenth smaller. */
static bool gains_little(void *context, const unsigned char *in, size_t n, unsigned char *out,
                         size_t room)
{
    size_t sum = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t got =
            library.compress(context, out, room, in + (n - SAMPLE) / (SAMPLES - 1) * i, SAMPLE);
        if (library.is_error(got))
            return false;
        sum += got;
    }
    return sum * 10 > (size_t)SAMPLES * SAMPLE * 9;
}

static ig_status zstd_encode(const codec_step *step, const struct io_file *file, const void *in,
                             size_t n_in, void *out, size_t room, size_t *got)
{
    void *context = context_take(library.encoders, &library.n_encoders, library.encoder_new);
    if (!context)
        return io_fail(file, IG_ERR_MEMORY, "libzstd cannot begin; free some memory");
    library.set(context, PARAMETER_LEVEL, step->level);
    library.set(context, PARAMETER_CHECKSUM, step->checksum);
    if (n_in >= SAMPLED_LEAST && step->level >= 0 && step->level <= SAMPLED_LEVEL_MOST &&
        gains_little(context, in, n_in, out, room))
        library.set(context, PARAMETER_LEVEL, FAST_LEVEL);
    *got = library.compress(context, out, room, in, n_in);
    context_give(context, library.encoders, &library.n_encoders, library.encoder_free);
    if (library.is_error(*got))
        return io_fail(file, IG_ERR_INTERNAL, "libzstd says '%s'; please report it",
                       library.error(*got));
    return IG_OK;
}

const codec_kind codec_zstd = {.name = "zstd",
                               .library = "libzstd",
                               .level = 3,
                               .level_min = -131072,
                               .level_max = 22,
                               .find = zstd_find,
                               .most = zstd_most,
                               .decode = zstd_decode,
                               .encode = zstd_encode};
