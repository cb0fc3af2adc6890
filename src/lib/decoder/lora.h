/* Low-rank adapters of a decoder's linear layers: a layer computes x W^T + scale (x A^T) B^T, with A (rank, in) and B (out, rank).
 *
 * Files are those of the Python package peft: adapter_config.json and adapter_model.safetensors, with the names that modules have
 * in the package transformers. A *module* is a layer as transformers has it, which may hold several layers of the network: query,
 * key and value, or gate and up. Its rows of B are those of its parts, in the order that transformers has them. */
#ifndef DECODER_LORA_H
#define DECODER_LORA_H

#include "lib/decoder/decoder.h"

typedef struct lora_settings {
    int64_t rank;
    double alpha; /* scale = alpha / rank */
    double dropout;
    const char *
        targets; /* names of modules, "q_proj,v_proj"; NULL: all linear layers between the tables of tokens */
} lora_settings;

/* New adapters, or those of a folder (from), whose arrays are parameters of the model m. d uses them until it is closed. m must
 * stay until then. */
ig_status lora_begin(decoder *d, ig_model *m, const lora_settings *how, const char *from);
/* decoder_open with the adapters of a folder (NULL: none). */
decoder *decoder_open_adapted(const char *path, const char *folder);
/* Writes the adapters as a folder. */
ig_status lora_save(const decoder *d, const char *folder);
void lora_free(lora *l);

/* y + what the adapter of the role adds for the input x; y if there is none. NULL on failure. */
ig_array *lora_add(decoder *d, role r, int64_t layer, ig_array *x, ig_array *y);
/* The matrix w of a role with its adapter merged: w + scale B A, as f32; w if there is no adapter. NULL on failure. */
ig_array *lora_merged(decoder *d, role r, int64_t layer, ig_array *w);
/* The same for the tensor of that name in a GGUF file, which may hold several layers. */
ig_array *lora_merged_tensor(decoder *d, const char *name, ig_array *w);

/* The mean loss of n windows of length + 1 tokens each: of every token after the first one of its window. NULL on failure. */
ig_array *lora_loss(decoder *d, const int32_t *ids, int64_t n, int64_t length);

#endif
