/* Writes messages of protocol buffers into memory. After a failed allocation, additions do nothing. */
#ifndef ONNX_WRITE_H
#define ONNX_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct onnx_writer {
    char *at; /* the message; the writer owns it */
    size_t used, room;
    bool failed;
} onnx_writer;

/* Fields with their numbers. A list of ints is packed. */
void onnx_write_int(onnx_writer *w, int number, int64_t value);
void onnx_write_float(onnx_writer *w, int number, float value);
/* 4 or 8 bytes as they are in a file. */
void onnx_write_fixed(onnx_writer *w, int number, const char *bytes, size_t n);
void onnx_write_text(onnx_writer *w, int number, const char *text);
void onnx_write_bytes(onnx_writer *w, int number, const void *bytes, size_t n);
void onnx_write_ints(onnx_writer *w, int number, const int64_t *values, int n);
/* The calls between begin and end write the fields of a message that is a field. end takes the result of begin. */
size_t onnx_write_begin(onnx_writer *w, int number);
void onnx_write_end(onnx_writer *w, size_t begin);
/* Bytes as they are. */
void onnx_write_raw(onnx_writer *w, const void *bytes, size_t n);
void onnx_writer_free(onnx_writer *w);

#endif
