/* The wire format of protocol buffers: a message is a list of fields, each with a number and a wire type.
 *
 * A reader never looks past the end of its message. Malformed bytes end it with a text that says why. */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include "lib/onnx/model.h"

typedef enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
} wire_type;

typedef struct wire {
    const unsigned char *at, *end;
    const char *wrong; /* why reading ended early; NULL: it did not */
} wire;

typedef struct wire_field {
    uint32_t number;
    wire_type type;
    uint64_t value;   /* of a varint or of fixed bytes */
    onnx_bytes bytes; /* of WIRE_BYTES; of other types: as they are in the message */
} wire_field;

wire wire_open(onnx_bytes message);
/* The next field; false at the end, or if the bytes are malformed. */
bool wire_next(wire *w, wire_field *field);
/* The next number of a packed list. False at the end, or if the bytes are malformed. */
bool wire_varint(wire *w, uint64_t *value);
/* Little-endian numbers. */
uint32_t wire_fixed32(const char *at);
uint64_t wire_fixed64(const char *at);

#endif
