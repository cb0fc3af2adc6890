/* Images by their format: ig_image_from_memory, and what ig_load needs of them. */
#include "lib/io/image.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_MOST_BYTES = 1 << 30, SIDE_MOST = 1 << 28 };

static const struct {
    const char *name, *first;
    size_t n;
    image_decoder decode; /* NULL: known by name only */
} formats[] = {{"PNG", "\211PNG\r\n\032\n", 8, png_decode},
               {"JPEG", "\377\330\377", 3, jpeg_decode},
               {"BMP", "BM", 2, bmp_decode},
               {"PNM", "P5", 2, pnm_decode},
               {"PNM", "P6", 2, pnm_decode},
               {"TIFF", "II*\0", 4, tiff_decode},
               {"TIFF", "MM\0*", 4, tiff_decode},
               {"WebP", "RIFF", 4, NULL},
               {"JPEG 2000", "\0\0\0\014jP", 6, NULL},
               {"GIF", "GIF8", 4, NULL}};
enum { FORMATS = sizeof formats / sizeof *formats };

static int format_find(const unsigned char *first, size_t n)
{
    for (int i = 0; i < FORMATS; i++)
        if (n >= formats[i].n && memcmp(first, formats[i].first, formats[i].n) == 0)
            return i;
    return -1;
}

const char *image_format_of(const unsigned char *first, size_t n)
{
    const int i = format_find(first, n);
    return i < 0 ? NULL : formats[i].name;
}

ig_status image_broken(const image_source *in, const char *why)
{
    return io_fail(in->file, IG_ERR_FORMAT, "%s; the image is damaged: copy it again", why);
}

ig_status image_refused(const image_source *in, const char *why)
{
    return io_fail(in->file, IG_ERR_UNSUPPORTED, "%s; convert the image to PNG", why);
}

ig_status image_new(const image_source *in, image *m, int64_t height, int64_t width, int channels,
                    bool wide)
{
    const int64_t shape[] = {height, width, channels};
    if (height < 1 || width < 1 || height > SIDE_MOST || width > SIDE_MOST ||
        !io_measure(shape, 3, wide ? IG_U16 : IG_U8, &m->bytes))
        return image_broken(in, "it has no pixels, or more than can be addressed");
    TRY(io_admit(in->file, 2 * (uint64_t)m->bytes));
    m->height = height;
    m->width = width;
    m->channels = channels;
    m->wide = wide;
    m->pixels = memory_data_get(m->bytes);
    return m->pixels ? IG_OK : IG_ERR_MEMORY;
}

void image_free(image *m)
{
    if (m->pixels)
        memory_data_free(m->pixels, m->bytes);
    m->pixels = NULL;
}

static ig_array *image_array(const image_source *in)
{
    const int format = format_find(in->at, in->n);
    image m = {0};
    ig_array *x = NULL;
    if (format < 0)
        io_fail(in->file, IG_ERR_FORMAT,
                "it is not an image: PNG, JPEG, BMP, PNM and TIFF are read");
    else if (!formats[format].decode)
        io_fail(in->file, IG_ERR_UNSUPPORTED,
                "%s images are not read; convert it to PNG, JPEG, BMP, PNM or TIFF",
                formats[format].name);
    else if (formats[format].decode(in, &m) == IG_OK)
        x = ig_from_data(
            m.pixels,
            (ig_ints){(const int64_t[]){m.height, m.width, m.channels}, m.channels > 1 ? 3 : 2},
            m.wide ? IG_U16 : IG_U8);
    image_free(&m);
    return x;
}

ig_array *image_read(struct io_file *file)
{
    const int64_t most =
        file->left < 0 || file->left > FILE_MOST_BYTES ? FILE_MOST_BYTES : file->left;
    void *data = NULL;
    size_t n = 0;
    ig_array *x = NULL;
    if (io_read_new(file, (size_t)most, &data, &n) == IG_OK &&
        io_expect_end(file, "its first gigabyte") == IG_OK)
        x = image_array(&(image_source){file, data, n});
    free(data);
    return x;
}

ig_array *ig_image_from_memory(const void *bytes, size_t n)
{
    struct io_file file;
    if (!bytes)
        FAIL_NULL(IG_ERR_ARGUMENT, "load: the bytes of the image are NULL");
    io_open_memory(&file, bytes, n, "an image in memory");
    ig_array *x = image_array(&(image_source){&file, bytes, n});
    io_close(&file);
    return x;
}
