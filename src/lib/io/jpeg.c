/* JPEG images of all kinds, by libturbojpeg, which is found at run time. Results have the bits of libjpeg's default settings:
 * the accurate cosine transform, and colors of half the resolution interpolated linearly. */
#include "lib/io/image.h"

#include "base/error.h"
#include "base/library.h"

/* Values of turbojpeg.h. */
enum { PIXELS_RGB = 0, PIXELS_GRAY = 6, COLORS_GRAY = 2, COLORS_CMYK = 3, ACCURATE = 4096 };

static struct {
    void *(*begin)(void);
    int (*header)(void *handle, const unsigned char *in, unsigned long n, int *width, int *height,
                  int *sampling, int *colors);
    int (*decode)(void *handle, const unsigned char *in, unsigned long n, unsigned char *out,
                  int width, int pitch, int height, int format, int flags);
    char *(*error)(void *handle);
    int (*end)(void *handle);
} lib;

static bool jpeg_there(void)
{
    static const char *const files[] = {"libturbojpeg.so.0", "libturbojpeg.0.dylib", NULL};
    static const library_function functions[] = {
        {"tjInitDecompress", &lib.begin}, {"tjDecompressHeader3", &lib.header},
        {"tjDecompress2", &lib.decode},   {"tjGetErrorStr2", &lib.error},
        {"tjDestroy", &lib.end},          {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    return library_there(&wanted);
}

static ig_status decode(void *handle, const image_source *in, image *out)
{
    int width = 0, height = 0, sampling = 0, colors = 0;
    if (lib.header(handle, in->at, in->n, &width, &height, &sampling, &colors) != 0)
        return image_broken(in, lib.error(handle));
    if (colors >= COLORS_CMYK)
        return image_refused(in, "its colors are CMYK");
    /* Each block of 8 x 8 has a bit or more. */
    if ((uint64_t)width * (uint64_t)height / (64 * 8) > in->n)
        return image_broken(in, "it has fewer pixels than its header says");
    const bool gray = colors == COLORS_GRAY;
    const int channels = gray ? 1 : 3;
    TRY(image_new(in, out, height, width, channels, false));
    return lib.decode(handle, in->at, in->n, out->pixels, width, width * channels, height,
                      gray ? PIXELS_GRAY : PIXELS_RGB, ACCURATE) == 0
               ? IG_OK
               : image_broken(in, lib.error(handle));
}

ig_status jpeg_decode(const image_source *in, image *out)
{
    if (!jpeg_there())
        return io_fail(in->file, IG_ERR_UNSUPPORTED,
                       "JPEG images are read by libturbojpeg, which was not found; install it "
                       "(Debian: libturbojpeg0, Fedora: turbojpeg, Homebrew: jpeg-turbo)");
    void *handle = lib.begin();
    if (!handle)
        return io_fail(in->file, IG_ERR_MEMORY, "libturbojpeg cannot begin; free some memory");
    const ig_status status = decode(handle, in, out);
    lib.end(handle);
    return status;
}
