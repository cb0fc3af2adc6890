/* The samples of ingot train text: texts or pairs of texts with labels, from TSV, CSV or JSON lines. */
#ifndef CLI_TRAIN_TEXT_DATA_H
#define CLI_TRAIN_TEXT_DATA_H

#include "../cli.h"

#include <ingot.h>

/* One text or two, and the index of a label. */
typedef struct text_sample {
    ig_text first, second;
    int label;
} text_sample;

typedef struct text_samples {
    text_sample *at;
    int64_t n;
    bool paired;
    char *source; /* the file, in which texts are */
    arena copies; /* texts with escapes in the file */
} text_samples;

/* Names in the order of their indices. */
typedef struct label_list {
    const char **at;
    int n;
} label_list;

/* Reads a file; its name ends with .csv or .jsonl, or it is TSV. A label that is not in the list is added to it (add), or is
 * a mistake. The names stay valid as long as the samples. Returns -1, or the exit code after the mistake was reported. Call
 * text_samples_free afterwards, also then. */
int text_samples_read(const command *c, const char *path, label_list *labels, bool add,
                      text_samples *out);
void text_samples_free(text_samples *s);

/* Sorts the labels, numbers by value. If the model's labels contain them all, takes those instead, in their order. */
void labels_order(label_list *labels, const ig_text_info *info, text_samples *s);

/* Moves n samples to held, in the order of the indices. */
void text_samples_hold(text_samples *s, const int64_t *indices, int64_t n, text_samples *held);

#endif
