/* The samples of ingot train text: texts or pairs of texts with labels, from TSV, CSV or JSON lines. */
#ifndef CLI_TRAIN_TEXT_DATA_H
#define CLI_TRAIN_TEXT_DATA_H

#include "../cli.h"

#include <ingot.h>

/* One or two texts, and the index of their label. */
typedef struct text_sample {
    ig_text first, second;
    int label;
} text_sample;

typedef struct text_samples {
    text_sample *at;
    int64_t n;
    bool paired;
    char *source; /* the file; texts point into it */
    arena copies; /* texts that have escapes in the file */
} text_samples;

/* Label names, ordered by index. */
typedef struct label_list {
    const char **at;
    int n;
} label_list;

/* Reads a .csv or .jsonl file, or TSV with any other suffix. A label that is not in the list is added to it if `add`;
 * otherwise it is an error. The names stay valid as long as the samples. Returns -1, or the exit code after reporting
 * an error. Call text_samples_free in both cases. */
int text_samples_read(const command *c, const char *path, label_list *labels, bool add,
                      text_samples *out);
void text_samples_free(text_samples *s);

/* Sorts the labels; numbers by value. If the model's labels include all of them, uses the model's list and order. */
void labels_order(label_list *labels, const ig_text_info *info, text_samples *s);

/* Moves n samples to held, in the order of the indices. */
void text_samples_hold(text_samples *s, const int64_t *indices, int64_t n, text_samples *held);

#endif
