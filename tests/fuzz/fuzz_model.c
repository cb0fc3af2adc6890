/* Model folders with one file of any bytes. The first byte chooses the file; the others are a valid model. The folder loads
 * or fails with an error, and a model that loads gives a vector. */
#include "support/text_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Files and, where it changes what is read, one that is removed for it. */
static const struct {
    const char *name, *without;
} files[] = {{"config.json", NULL},
             {"modules.json", NULL},
             {"1_Pooling/config.json", NULL},
             {"2_Dense/config.json", NULL},
             {"tokenizer_config.json", NULL},
             {"special_tokens_map.json", NULL},
             {"added_tokens.json", NULL},
             {"sentence_bert_config.json", NULL},
             {"vocab.txt", "tokenizer.json"},
             {"vocab.json", "tokenizer.json"},
             {"merges.txt", "tokenizer.json"},
             {"model.safetensors.index.json", "model.safetensors"}};
enum { FILES = sizeof files / sizeof *files };

static char folder[64];

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_model: %s\n", what);
        abort();
    }
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(path_of(name), "wb");
    check(file && fwrite(data, 1, bytes, file) == bytes, "a file cannot be written");
    fclose(file);
}

static void remove_all(void)
{
    static const char *const more[] = {"config.json",
                                       "tokenizer.json",
                                       "model.safetensors",
                                       "2_Dense/model.safetensors",
                                       "tokenizer.kept",
                                       "model.kept",
                                       "1_Pooling",
                                       "2_Dense",
                                       ""};
    for (int i = 0; i < FILES; i++)
        remove(path_of(files[i].name));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        remove(path_of(more[i]));
}

/* A dense layer from 4 elements to 3. */
static bool dense_make(void)
{
    static const char config[] = "{\"in_features\": 4, \"out_features\": 3}";
    ig_tensors *t = ig_tensors_new();
    ig_scope_begin();
    const bool fine =
        ig_tensors_put(t, "linear.weight", ig_ones(IG_SHAPE(3, 4), IG_F32)) == IG_OK &&
        ig_tensors_put(t, "linear.bias", ig_ones(IG_SHAPE(3), IG_F32)) == IG_OK &&
        ig_tensors_save(t, path_of("2_Dense/model.safetensors")) == IG_OK;
    ig_scope_end();
    ig_tensors_free(t);
    put("2_Dense/config.json", config, strlen(config));
    return fine;
}

static void folder_make(void)
{
    static const char modules[] =
        "[{\"type\": \"m.Transformer\", \"path\": \"\"}, {\"type\": \"m.Pooling\", \"path\": "
        "\"1_Pooling\"}, {\"type\": \"m.Dense\", \"path\": \"2_Dense\"}]";
    static const char vocabulary[] = "{\"<s>\": 0, \"</s>\": 1, \"a\": 2, \"b\": 3, \"ab\": 4}";
    snprintf(folder, sizeof folder, "/tmp/ingot-fuzz-XXXXXX");
    check(mkdtemp(folder) && text_folder_make(folder), "the folder cannot be made");
    check(mkdir(path_of("1_Pooling"), 0700) == 0 && mkdir(path_of("2_Dense"), 0700) == 0,
          "a module cannot be made");
    check(dense_make(), "a layer cannot be made");
    put("1_Pooling/config.json", "{}", 2);
    put("modules.json", modules, strlen(modules));
    put("vocab.json", vocabulary, strlen(vocabulary));
    put("merges.txt", "a b\n", 4);
    atexit(remove_all);
}

static void rename_file(const char *from, const char *to)
{
    char path[256];
    snprintf(path, sizeof path, "%s", path_of(from));
    check(rename(path, path_of(to)) == 0, "a file cannot be renamed");
}

static const char *kept_name(const char *name)
{
    return strcmp(name, "tokenizer.json") == 0 ? "tokenizer.kept" : "model.kept";
}

/* The bytes of a file that the folder has from the beginning. */
static char *bytes_of(const char *name, size_t *n)
{
    FILE *file = fopen(path_of(name), "rb");
    char *data = NULL;
    if (file) {
        data = malloc(1 << 16);
        *n = fread(data, 1, 1 << 16, file);
        fclose(file);
    }
    return data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (!*folder)
        folder_make();
    ig_set_threads(1);
    const int chosen = data[0] % FILES;
    size_t n = 0;
    char *before = bytes_of(files[chosen].name, &n);
    put(files[chosen].name, data + 1, size - 1);
    if (files[chosen].without)
        rename_file(files[chosen].without, kept_name(files[chosen].without));
    ig_text_model *m = ig_text_model_load(folder, IG_F32);
    check(m || ig_error(NULL), "it failed without an error");
    if (m) {
        const ig_text text = {"a ab \xc3\xa9 b", 9};
        ig_scope_begin();
        ig_array *x = ig_text_model_run(m, "embed", &text, NULL, 1);
        check((x && ig_data(x)) || ig_error(NULL), "it ran without a result or an error");
        ig_scope_end();
    }
    ig_text_model_free(m);
    ig_tokenizer *t = ig_tokenizer_load(folder);
    check(t || ig_error(NULL), "the tokenizer failed without an error");
    ig_tokenizer_free(t);
    if (files[chosen].without)
        rename_file(kept_name(files[chosen].without), files[chosen].without);
    if (before)
        put(files[chosen].name, before, n);
    else
        remove(path_of(files[chosen].name));
    free(before);
    return 0;
}
