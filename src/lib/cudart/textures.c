/* Arrays, textures and surfaces: the checks of all targets, and the functions of modules. There an array is device
 * memory, and an object is the address of a descriptor in device memory, by which kernels read texels
 * (src/compiler/library/textures.cu). */
#include "lib/cudart/cudart.h"

#include "base/memory.h"

#include <stddef.h>

enum { RESOURCE_ARRAY = 0, RESOURCE_LINEAR = 2, RESOURCE_PITCH = 3 };
enum { IS_LAYERED = 1, IS_CUBE = 4 };
enum { KIND_FLOAT = 2, KINDS = 3 };

/* The same struct as in textures.cu. */
typedef struct descriptor {
    uint64_t data, row, slice;
    int32_t size[3], bytes;
    uint8_t kind, bits, channels, is_float, is_linear, is_normalized, mode[3], is_plain;
    float border[4];
} descriptor;
_Static_assert(offsetof(descriptor, kind) == 40 && offsetof(descriptor, is_plain) == 49 &&
                   offsetof(descriptor, border) == 52 && sizeof(descriptor) == 72,
               "the layout of ig_texture in textures.cu");

static size_t at_least_1(size_t n) { return n ? n : 1; }

size_t cudart_texel_bytes(ig_cuda_texels t, int *channels)
{
    const int bits = t.bits[0];
    int n = 1;
    while (n < 4 && t.bits[n] == bits)
        n++;
    for (int i = n; i < 4; i++)
        if (t.bits[i])
            return 0;
    *channels = n;
    const bool fits = (bits == 8 && t.kind != KIND_FLOAT) || bits == 16 || bits == 32;
    return fits && n != 3 && t.kind >= 0 && t.kind < KINDS ? (size_t)(n * bits / 8) : 0;
}

int ig_cuda_array_new(ig_cuda_array **out, ig_cuda_texels texels, size_t width, size_t height,
                      size_t depth, unsigned flags)
{
    int channels;
    const size_t bytes = cudart_texel_bytes(texels, &channels), most = (size_t)1 << 30;
    if (!bytes)
        return cudart_set_last_error(cudaErrorInvalidChannelDescriptor);
    const bool is_cube = flags & IS_CUBE;
    if (!out || !width || width > most || height > most || depth > most ||
        ((flags & IS_LAYERED) && !depth) ||
        (is_cube &&
         (width != height || !depth || depth % 6 || (depth > 6 && !(flags & IS_LAYERED)))))
        return cudart_set_last_error(cudaErrorInvalidValue);
    ig_cuda_array *a = memory_new(sizeof *a);
    if (!a)
        return cudart_set_last_error(cudaErrorMemoryAllocation);
    *a = (ig_cuda_array){texels, width, height, depth, bytes, flags, NULL};
    int error;
    const cudart_target *t = cudart_enter(&error);
    error = t ? t->array_new(a) : error;
    if (error)
        memory_free(a);
    *out = error ? NULL : a;
    return cudart_set_last_error(error);
}

int modules_array_new(ig_cuda_array *a)
{
    void *data;
    const int error = ig_cuda_alloc(
        &data, a->width * a->texel_bytes * at_least_1(a->height) * at_least_1(a->depth),
        IG_CUDA_DEVICE);
    a->data = data;
    return error;
}

int ig_cuda_array_free(ig_cuda_array *a)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    error = t && a ? t->array_free(a) : error;
    memory_free(a);
    return cudart_set_last_error(error);
}

int modules_array_free(ig_cuda_array *a) { return ig_cuda_free(a->data, 0); }

/* The address, pitch and rows of a side; false if the extent is not in it. */
static bool side_of(const ig_cuda_box *b, const size_t extent[3], char **at, size_t *pitch,
                    size_t *plane)
{
    *pitch = b->array ? b->array->width * b->array->texel_bytes : b->pitch;
    const size_t rows = b->array ? at_least_1(b->array->height) : b->rows;
    *plane = rows * *pitch;
    char *const base = b->array ? b->array->data : b->at;
    *at = base ? base + b->z * *plane + b->y * *pitch + b->x : NULL;
    if (!b->array)
        return base != NULL;
    const size_t planes = at_least_1(b->array->depth);
    return b->x <= *pitch && extent[0] <= *pitch - b->x && b->y <= rows &&
           extent[1] <= rows - b->y && b->z <= planes && extent[2] <= planes - b->z;
}

int ig_cuda_copy_box(const ig_cuda_box *to, const ig_cuda_box *from, const size_t extent[3],
                     int kind, void *stream, int is_async)
{
    char *at;
    size_t pitch, plane;
    int error;
    if (!extent[0] || !extent[1] || !extent[2])
        return cudaSuccess;
    if (!side_of(to, extent, &at, &pitch, &plane) || !side_of(from, extent, &at, &pitch, &plane))
        return cudart_set_last_error(cudaErrorInvalidValue);
    const cudart_target *t = cudart_enter(&error);
    error = t ? t->copy_box(to, from, extent, kind, stream, is_async) : error;
    return cudart_set_last_error(error);
}

int modules_copy_box(const ig_cuda_box *to, const ig_cuda_box *from, const size_t extent[3],
                     int kind, void *stream, bool is_async)
{
    char *there, *here;
    size_t to_pitch, from_pitch, to_plane, from_plane;
    int error = cudaSuccess;
    side_of(to, extent, &there, &to_pitch, &to_plane);
    side_of(from, extent, &here, &from_pitch, &from_plane);
    for (size_t z = 0; z < extent[2] && !error; z++)
        error = ig_cuda_copy(there + z * to_plane, to_pitch, here + z * from_plane, from_pitch,
                             extent[0], extent[1], kind, stream, is_async);
    return error;
}

/* ---- objects ---- */

/* Sets what is read: the texels and their places. */
static int describe(const ig_cuda_texture *t, descriptor *d)
{
    int channels;
    const ig_cuda_array *a = t->array;
    const bool is_array = t->resource == RESOURCE_ARRAY;
    const ig_cuda_texels texels = is_array ? a->texels : t->texels;
    const size_t bytes = cudart_texel_bytes(texels, &channels);
    const size_t width = is_array                         ? a->width
                         : t->resource == RESOURCE_LINEAR ? t->width / bytes
                                                          : t->width;
    const size_t height = is_array ? at_least_1(a->height) : at_least_1(t->height);
    const size_t row = t->resource == RESOURCE_PITCH ? t->pitch : width * bytes;
    if (width > INT32_MAX || height > INT32_MAX || row < width * bytes)
        return cudaErrorInvalidValue;
    *d = (descriptor){
        .data = is_array ? (uintptr_t)a->data : (uintptr_t)t->at,
        .row = row,
        .slice = row * height,
        .size = {(int32_t)width, (int32_t)height, (int32_t)at_least_1(is_array ? a->depth : 1)},
        .bytes = (int32_t)bytes,
        .kind = (uint8_t)texels.kind,
        .bits = (uint8_t)texels.bits[0],
        .channels = (uint8_t)channels};
    return cudaSuccess;
}

/* Writes the descriptor to device memory. */
static int publish(const descriptor *d, unsigned long long *object)
{
    void *at;
    int error = ig_cuda_alloc(&at, sizeof *d, IG_CUDA_DEVICE);
    if (!error) {
        error = ig_cuda_copy(at, sizeof *d, d, sizeof *d, sizeof *d, 1, COPY_TO_DEVICE, NULL, 0);
        if (error)
            ig_cuda_free(at, 0);
    }
    *object = error ? 0 : (uintptr_t)at;
    return error;
}

/* The same on a device that runs text: the object has a place in the texels of modules, and so has its data. */
static int place(descriptor *d, bool is_written, unsigned long long *object)
{
    const size_t bytes = (size_t)d->slice * (size_t)d->size[2];
    char *const data = (char *)(uintptr_t)d->data;
    const uint64_t texels = cudart_texels_add(data, NULL, bytes, is_written);
    d->data = texels;
    *object = texels ? cudart_texels_add(NULL, d, sizeof *d, false) : 0;
    if (texels && !*object)
        cudart_texels_remove(texels);
    return *object ? cudaSuccess : cudaErrorMemoryAllocation;
}

static int check(const ig_cuda_texture *t, bool is_surface)
{
    int channels;
    const bool is_array = t->resource == RESOURCE_ARRAY;
    if ((is_array && !t->array) || (!is_array && (!t->at || is_surface)))
        return cudaErrorInvalidValue;
    if (!is_array && t->resource != RESOURCE_LINEAR && t->resource != RESOURCE_PITCH)
        return cudaErrorNotSupported; /* several levels */
    const ig_cuda_texels texels = is_array ? t->array->texels : t->texels;
    if (!cudart_texel_bytes(texels, &channels))
        return cudaErrorInvalidChannelDescriptor;
    if (t->read_mode && texels.kind != KIND_FLOAT && texels.bits[0] == 32)
        return cudaErrorInvalidNormSetting;
    if (t->filter && texels.kind != KIND_FLOAT && !t->read_mode)
        return cudaErrorInvalidFilterSetting;
    return cudaSuccess;
}

static int object_new(unsigned long long *object, const ig_cuda_texture *about, bool is_surface)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    error = error ? error : check(about, is_surface);
    return cudart_set_last_error(error ? error : t->object_new(object, about, is_surface));
}

int modules_object_new(unsigned long long *object, const ig_cuda_texture *t, bool is_surface)
{
    descriptor d;
    const int error = t->srgb ? cudaErrorNotSupported : describe(t, &d);
    if (error)
        return error;
    if (!is_surface) {
        d.is_float = d.kind == KIND_FLOAT || t->read_mode;
        d.is_linear = t->filter != 0 && t->resource != RESOURCE_LINEAR;
        d.is_normalized = t->normalized != 0 && t->resource != RESOURCE_LINEAR;
        d.is_plain = d.kind == KIND_FLOAT && d.bits == 32 && d.channels == 1;
        for (int i = 0; i < 3; i++)
            d.mode[i] = (uint8_t)t->address[i];
        for (int i = 0; i < 4; i++)
            d.border[i] = t->border[i];
    }
    return cudart_device()->language ? place(&d, is_surface, object) : publish(&d, object);
}

static int object_free(unsigned long long object, bool is_surface)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    return cudart_set_last_error(t ? t->object_free(object, is_surface) : error);
}

int modules_object_free(unsigned long long object, bool is_surface)
{
    (void)is_surface;
    if (!cudart_device()->language)
        return ig_cuda_free((void *)(uintptr_t)object, 0);
    const descriptor *d = cudart_texels_at(object);
    if (!d)
        return cudaErrorInvalidValue;
    cudart_texels_remove(d->data);
    cudart_texels_remove(object);
    return cudaSuccess;
}

int ig_cuda_texture_new(unsigned long long *object, const ig_cuda_texture *t)
{
    return object_new(object, t, false);
}
int ig_cuda_surface_new(unsigned long long *object, const ig_cuda_texture *t)
{
    return object_new(object, t, true);
}
int ig_cuda_texture_free(unsigned long long object) { return object_free(object, false); }
int ig_cuda_surface_free(unsigned long long object) { return object_free(object, true); }
