/* GGUF files with quantized tensors. */
#ifndef DECODER_QUANTIZE_H
#define DECODER_QUANTIZE_H

#include "lib/decoder/decoder.h"

/* The number of general.file_type, the type for rows that are no multiple of 256, and the type of the tables of tokens. */
typedef struct quantize_choice {
    int type, file_type, narrow, table;
} quantize_choice;

/* The type that a tensor gets, by its name and shape. */
int quantize_type(const quantize_choice *c, const gguf_tensor *t);
/* Writes the data of a tensor. */
ig_status quantize_write(gguf_writer *w, ig_array *x, int type);

/* Writes a model folder as a GGUF file: convert.c. adapters: as for decoder_quantize. */
ig_status decoder_convert(const char *folder, const char *adapters, const quantize_choice *c,
                          const char *to);

#endif
