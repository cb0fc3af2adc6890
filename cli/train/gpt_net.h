/* GPT-2: its sizes, its graph, and its model folder, with the names of the Python package transformers. */
#ifndef CLI_TRAIN_GPT_NET_H
#define CLI_TRAIN_GPT_NET_H

#include "../cli.h"

typedef struct gpt_config {
    int64_t layers, heads, width, length, words; /* length: tokens of a window */
    double dropout;
} gpt_config;

/* Parses "124M", or sizes that replace those of 124M, such as "layers=2,heads=4,width=64,length=32". False, with the
 * reason in why. */
bool gpt_config_read(gpt_config *g, const char *text, str *why);

/* The mean cross entropy of ids (n, length + 1) of i32: each token but the first is predicted. */
ig_array *gpt_loss(ig_model *m, const gpt_config *g, ig_array *ids);
/* The logits of ids (n, t). */
ig_array *gpt_logits(ig_model *m, const gpt_config *g, ig_array *ids);

/* The operations of the products for one token, forward and backward. */
double gpt_flops(const ig_model *m, const gpt_config *g);

/* Writes config.json and model.safetensors into a folder. */
ig_status gpt_save(const ig_model *m, const gpt_config *g, const char *folder);
/* Loads the weights of such a folder into a model whose parameters exist. */
ig_status gpt_load(ig_model *m, const char *folder);

#endif
