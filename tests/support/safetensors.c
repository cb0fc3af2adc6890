/* Files of tensors: see safetensors.h. */
#include "support/safetensors.h"

#include <string.h>

size_t tensors_file(unsigned char *out, const char *header, size_t length, const void *data,
                    size_t bytes)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(out + 8, header, length);
    if (bytes)
        memcpy(out + 8 + length, data, bytes);
    return 8 + length + bytes;
}

ig_tensors *tensors_of(const char *header, size_t bytes)
{
    unsigned char data[256];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = i & 1;
    const char *path = folder_path("x.safetensors");
    const size_t size = tensors_file(folder_content, header, strlen(header), data, bytes);
    folder_put(path, folder_content, size);
    return ig_tensors_load(path);
}

void tensors_fill(unsigned char *out, size_t bytes, ig_dtype dtype)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = dtype == IG_BOOL ? i % 3 == 1 : (unsigned char)(7 * i + 1);
}

ig_tensors *tensors_need(ig_tensors *t)
{
    if (!t)
        fail_msg("%s", ig_error(NULL));
    return t;
}
