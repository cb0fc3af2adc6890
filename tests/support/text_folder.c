/* A tiny model folder: see text_folder.h. */
#include "support/text_folder.h"

#include <stdio.h>
#include <string.h>

#include "ingot.h"

enum { WIDTH = 4, INNER = 8, WORDS = 9, PLACES = 16 };

const char text_folder_tokenizer[] =
    "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": ["
    "{\"id\": 0, \"content\": \"[PAD]\", \"special\": true, \"normalized\": false},"
    "{\"id\": 1, \"content\": \"[UNK]\", \"special\": true, \"normalized\": false},"
    "{\"id\": 2, \"content\": \"[CLS]\", \"special\": true, \"normalized\": false},"
    "{\"id\": 3, \"content\": \"[SEP]\", \"special\": true, \"normalized\": false},"
    "{\"id\": 4, \"content\": \"[MASK]\", \"special\": true, \"normalized\": false}],"
    "\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": "
    "\"BertPreTokenizer\"},"
    "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": "
    "[\"[CLS]\", 2]},"
    "\"decoder\": null, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\","
    "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100, \"vocab\": "
    "{\"[PAD]\": 0,"
    "\"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, \"[MASK]\": 4, \"cat\": 5, \"##s\": 6, \"un\": 7, "
    "\"!\": 8}}}";

static const char config[] = "{\"model_type\": \"bert\", \"architectures\": "
                             "[\"BertForSequenceClassification\"], \"hidden_size\": 4,"
                             "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
                             "\"intermediate_size\": 8, \"vocab_size\": 9,"
                             "\"max_position_embeddings\": 16, \"type_vocab_size\": 2, "
                             "\"id2label\": {\"0\": \"no\", \"1\": \"yes\"}}";

static bool file_make(const char *folder, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    const bool fine = file && fputs(content, file) >= 0;
    return (file && fclose(file) == 0) && fine;
}

static bool put(ig_tensors *t, const char *name, ig_ints shape)
{
    float values[256];
    int64_t n = 1;
    for (int i = 0; i < shape.n; i++)
        n *= shape.v[i];
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)((i * 7 + (int64_t)strlen(name)) % 11 - 5) * 0.1f;
    return ig_tensors_put(t, name, ig_from_data(values, shape, IG_F32)) == IG_OK;
}

static bool put_layer(ig_tensors *t, const char *name, int64_t in, int64_t out)
{
    char full[128];
    snprintf(full, sizeof full, "%s.weight", name);
    const bool fine = put(t, full, in ? IG_SHAPE(out, in) : IG_SHAPE(out));
    snprintf(full, sizeof full, "%s.bias", name);
    return fine && put(t, full, IG_SHAPE(out));
}

bool text_folder_make(const char *folder)
{
    static const struct {
        const char *name;
        int64_t in, out;
    } layers[] = {{"bert.embeddings.LayerNorm", 0, WIDTH},
                  {"bert.encoder.layer.0.attention.self.query", WIDTH, WIDTH},
                  {"bert.encoder.layer.0.attention.self.key", WIDTH, WIDTH},
                  {"bert.encoder.layer.0.attention.self.value", WIDTH, WIDTH},
                  {"bert.encoder.layer.0.attention.output.dense", WIDTH, WIDTH},
                  {"bert.encoder.layer.0.attention.output.LayerNorm", 0, WIDTH},
                  {"bert.encoder.layer.0.intermediate.dense", WIDTH, INNER},
                  {"bert.encoder.layer.0.output.dense", INNER, WIDTH},
                  {"bert.encoder.layer.0.output.LayerNorm", 0, WIDTH},
                  {"bert.pooler.dense", WIDTH, WIDTH},
                  {"classifier", WIDTH, 2}};
    char path[512];
    ig_tensors *t = ig_tensors_new();
    bool fine = t && put(t, "bert.embeddings.word_embeddings.weight", IG_SHAPE(WORDS, WIDTH)) &&
                put(t, "bert.embeddings.position_embeddings.weight", IG_SHAPE(PLACES, WIDTH)) &&
                put(t, "bert.embeddings.token_type_embeddings.weight", IG_SHAPE(2, WIDTH));
    for (size_t i = 0; i < sizeof layers / sizeof *layers && fine; i++)
        fine = put_layer(t, layers[i].name, layers[i].in, layers[i].out);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    fine = fine && ig_tensors_save(t, path) == IG_OK;
    ig_tensors_free(t);
    return fine && file_make(folder, "config.json", config) &&
           file_make(folder, "tokenizer.json", text_folder_tokenizer);
}
