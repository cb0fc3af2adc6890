/* JPEG images of all kinds, by libturbojpeg, which is found at run time. */
#include "lib/io/image.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Values of turbojpeg.h. */
enum { PIXELS_RGB = 0, PIXELS_GRAY = 6, COLORS_GRAY = 2, COLORS_CMYK = 3, ACCURATE = 4096 };

static struct {
    bool found;
    void *(*begin)(void);
    int (*header)(void *handle, const unsigned char *in, unsigned long n, int *width, int *height,
                  int *sampling, int *colors);
    int (*decode)(void *handle, const unsigned char *in, unsigned long n, unsigned char *out,
                  int width, int pitch, int height, int format, int flags);
    char *(*error)(void *handle);
    int (*end)(void *handle);
} library;

static void find_library(void)
{
    static const char *const files[] = {"libturbojpeg.so.0", "libturbojpeg.0.dylib",
                                        "/opt/homebrew/lib/libturbojpeg.0.dylib"};
    static const char *const names[] = {"tjInitDecompress", "tjDecompressHeader3", "tjDecompress2",
                                        "tjGetErrorStr2", "tjDestroy"};
    void *const places[] = {&library.begin, &library.header, &library.decode, &library.error,
                            &library.end};
    void *at = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files && !at; i++)
        at = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    library.found = at != NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && library.found; i++) {
        void *function = dlsym(at, names[i]);
        library.found = function != NULL;
        memcpy(places[i], &function, sizeof function);
    }
}

static ig_status decode(void *handle, const image_source *in, image *out)
{
    int width = 0, height = 0, sampling = 0, colors = 0;
    if (library.header(handle, in->at, in->n, &width, &height, &sampling, &colors) != 0)
        return image_broken(in, library.error(handle));
    if (colors >= COLORS_CMYK)
        return image_refused(in, "its colors are CMYK");
    const bool gray = colors == COLORS_GRAY;
    const int channels = gray ? 1 : 3;
    TRY(image_new(in, out, height, width, channels, false));
    return library.decode(handle, in->at, in->n, out->pixels, width, width * channels, height,
                          gray ? PIXELS_GRAY : PIXELS_RGB, ACCURATE) == 0
               ? IG_OK
               : image_broken(in, library.error(handle));
}

ig_status turbojpeg_decode(const image_source *in, image *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_library);
    if (!library.found)
        return IG_ERR_UNSUPPORTED;
    void *handle = library.begin();
    if (!handle)
        return io_fail(in->file, IG_ERR_MEMORY, "libturbojpeg cannot begin; free some memory");
    const ig_status status = decode(handle, in, out);
    library.end(handle);
    return status;
}
