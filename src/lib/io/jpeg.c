/* Reads JPEG images by libturbojpeg, which is found at run time: (height, width, 3), or (height, width) if gray. */
#include "lib/io/image.h"

#include "base/error.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST_BYTES = 1 << 30 };

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

static ig_array *decode(struct io_file *file, void *handle, const unsigned char *in, size_t n)
{
    int width = 0, height = 0, sampling = 0, colors = 0;
    size_t bytes = 0;
    ig_array *x = NULL;
    if (library.header(handle, in, n, &width, &height, &sampling, &colors) != 0) {
        io_fail(file, IG_ERR_FORMAT, "%s; the image is damaged: copy it again",
                library.error(handle));
        return NULL;
    }
    const bool gray = colors == COLORS_GRAY;
    const int channels = gray ? 1 : 3;
    const int64_t shape[] = {height, width, channels};
    if (colors >= COLORS_CMYK || !io_measure(shape, 3, IG_U8, &bytes)) {
        io_fail(file, IG_ERR_UNSUPPORTED, "its colors are CMYK; convert it to RGB");
        return NULL;
    }
    if (io_admit(file, 2 * (uint64_t)bytes) != IG_OK)
        return NULL;
    unsigned char *out = memory_data_get(bytes);
    if (out && library.decode(handle, in, n, out, width, width * channels, height,
                              gray ? PIXELS_GRAY : PIXELS_RGB, ACCURATE) != 0)
        io_fail(file, IG_ERR_FORMAT, "%s; the image is damaged: copy it again",
                library.error(handle));
    else if (out)
        x = ig_from_data(out, (ig_ints){shape, gray ? 2 : 3}, IG_U8);
    memory_data_free(out, bytes);
    return x;
}

ig_array *jpeg_read(struct io_file *file)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *data = NULL;
    size_t n = 0;
    ig_array *x = NULL;
    pthread_once(&once, find_library);
    if (!library.found) {
        io_fail(file, IG_ERR_UNSUPPORTED,
                "JPEG images are read by libturbojpeg, which is not installed; install it "
                "(Debian: libturbojpeg0, Homebrew: jpeg-turbo), or convert the image to PNG");
        return NULL;
    }
    const int64_t left =
        file->left < 0 || file->left > FILE_MOST_BYTES ? FILE_MOST_BYTES : file->left;
    if (io_read_new(file, (size_t)left, &data, &n) == IG_OK &&
        io_expect_end(file, "its first gigabyte") == IG_OK) {
        void *handle = library.begin();
        if (!handle)
            io_fail(file, IG_ERR_MEMORY, "libturbojpeg cannot begin; free some memory");
        else
            x = decode(file, handle, data, n);
        if (handle)
            library.end(handle);
    }
    free(data);
    return x;
}
