#include "lib/onnx/wire.h"

enum { VARINT_BYTES = 10, TOP_BITS = 1 /* of a 64-bit number in the last byte */ };

wire wire_open(onnx_bytes message)
{
    const unsigned char *at = (const unsigned char *)message.at;
    return (wire){at, at ? at + message.n : at, NULL};
}

static bool wire_fail(wire *w, const char *why)
{
    w->wrong = why;
    w->at = w->end;
    return false;
}

bool wire_varint(wire *w, uint64_t *value)
{
    uint64_t result = 0;
    if (w->at == w->end)
        return false;
    for (int i = 0; i < VARINT_BYTES; i++) {
        if (w->at == w->end)
            return wire_fail(w, "a number is cut short");
        const unsigned char byte = *w->at++;
        if (i == VARINT_BYTES - 1 && byte > TOP_BITS)
            break;
        result |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (!(byte & 0x80)) {
            *value = result;
            return true;
        }
    }
    return wire_fail(w, "a number has more than 64 bits");
}

uint32_t wire_fixed32(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)(unsigned char)at[i] << 8 * i;
    return value;
}

uint64_t wire_fixed64(const char *at)
{
    return wire_fixed32(at) | (uint64_t)wire_fixed32(at + 4) << 32;
}

/* Takes n bytes of the message. */
static bool take(wire *w, uint64_t n, onnx_bytes *bytes)
{
    if (n > (uint64_t)(w->end - w->at))
        return wire_fail(w, "a field is longer than its message");
    *bytes = (onnx_bytes){(const char *)w->at, (size_t)n};
    w->at += n;
    return true;
}

bool wire_next(wire *w, wire_field *field)
{
    uint64_t tag, n;
    if (!wire_varint(w, &tag))
        return false;
    if (tag >> 3 == 0 || tag >> 32 != 0)
        return wire_fail(w, "a field has an invalid number");
    field->number = (uint32_t)(tag >> 3);
    field->type = (wire_type)(tag & 7);
    field->value = 0;
    const unsigned char *from = w->at;
    switch (field->type) {
    case WIRE_VARINT:
        if (!wire_varint(w, &field->value))
            return w->wrong ? false : wire_fail(w, "a number is cut short");
        field->bytes = (onnx_bytes){(const char *)from, (size_t)(w->at - from)};
        return true;
    case WIRE_FIXED32:
        if (!take(w, 4, &field->bytes))
            return false;
        field->value = wire_fixed32(field->bytes.at);
        return true;
    case WIRE_FIXED64:
        if (!take(w, 8, &field->bytes))
            return false;
        field->value = wire_fixed64(field->bytes.at);
        return true;
    case WIRE_BYTES:
        if (!wire_varint(w, &n))
            return w->wrong ? false : wire_fail(w, "a number is cut short");
        return take(w, n, &field->bytes);
    }
    return wire_fail(w, "a field has an unknown wire type");
}
