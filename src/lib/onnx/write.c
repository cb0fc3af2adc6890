#include "lib/onnx/write.h"

#include "base/memory.h"
#include "lib/onnx/wire.h"

#include <string.h>

enum { FIRST_BYTES = 1024, VARINT_BYTES = 10 };

static bool room_make(onnx_writer *w, size_t n)
{
    if (w->failed || n <= w->room - w->used)
        return !w->failed;
    size_t room = w->room ? w->room : FIRST_BYTES;
    while (room - w->used < n && room <= SIZE_MAX / 2)
        room *= 2;
    char *at = memory_counted_resize(w->at, w->room, room, "the model that is written");
    if (!at) {
        w->failed = true;
        return false;
    }
    w->at = at;
    w->room = room;
    return true;
}

void onnx_write_raw(onnx_writer *w, const void *bytes, size_t n)
{
    if (n == 0 || !room_make(w, n))
        return;
    memcpy(w->at + w->used, bytes, n);
    w->used += n;
}

static size_t varint_encode(unsigned char out[VARINT_BYTES], uint64_t value)
{
    size_t n = 0;
    for (; value > 0x7f; value >>= 7)
        out[n++] = (unsigned char)(value | 0x80);
    out[n++] = (unsigned char)value;
    return n;
}

static void varint_write(onnx_writer *w, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    onnx_write_raw(w, bytes, varint_encode(bytes, value));
}

static void tag_write(onnx_writer *w, int number, wire_type type)
{
    varint_write(w, (uint64_t)number << 3 | (uint64_t)type);
}

void onnx_write_int(onnx_writer *w, int number, int64_t value)
{
    tag_write(w, number, WIRE_VARINT);
    varint_write(w, (uint64_t)value);
}

void onnx_write_float(onnx_writer *w, int number, float value)
{
    uint32_t bits;
    unsigned char bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    onnx_write_fixed(w, number, (char *)bytes, sizeof bytes);
}

void onnx_write_fixed(onnx_writer *w, int number, const char *bytes, size_t n)
{
    tag_write(w, number, n == 4 ? WIRE_FIXED32 : WIRE_FIXED64);
    onnx_write_raw(w, bytes, n);
}

void onnx_write_bytes(onnx_writer *w, int number, const void *bytes, size_t n)
{
    tag_write(w, number, WIRE_BYTES);
    varint_write(w, n);
    onnx_write_raw(w, bytes, n);
}

void onnx_write_text(onnx_writer *w, int number, const char *text)
{
    onnx_write_bytes(w, number, text, strlen(text));
}

void onnx_write_ints(onnx_writer *w, int number, const int64_t *values, int n)
{
    const size_t begin = onnx_write_begin(w, number);
    for (int i = 0; i < n; i++)
        varint_write(w, (uint64_t)values[i]);
    onnx_write_end(w, begin);
}

size_t onnx_write_begin(onnx_writer *w, int number)
{
    tag_write(w, number, WIRE_BYTES);
    return w->used;
}

/* The length goes before the content, which moves. */
void onnx_write_end(onnx_writer *w, size_t begin)
{
    unsigned char length[VARINT_BYTES];
    if (w->failed)
        return;
    const size_t n = w->used - begin, bytes = varint_encode(length, n);
    if (!room_make(w, bytes))
        return;
    memmove(w->at + begin + bytes, w->at + begin, n);
    memcpy(w->at + begin, length, bytes);
    w->used += bytes;
}

void onnx_writer_free(onnx_writer *w)
{
    if (w->at)
        memory_counted_free(w->at, w->room);
    *w = (onnx_writer){0};
}
