/* What the verbs of text models share: options, loading, and the loop over texts. */
#ifndef CLI_TEXT_COMMON_H
#define CLI_TEXT_COMMON_H

#include "lines.h"

typedef struct text_settings {
    const char *model, *file, *dtype;
    bool json, quiet;
    engine_options engine;
    int64_t cut; /* texts with more tokens than the model reads */
    int most_tokens;
} text_settings;

/* clang-format off */
#define TEXT_OPTIONS(s) \
    {"--model", 'm', "DIR", option_text, &(s).model, "the model folder"}, \
    {"--file", 'f', "FILE", option_text, &(s).file, "reads texts from a file, one in each line"}, \
    {"--dtype", 0, "f32|f16|bf16", option_text, &(s).dtype, "the dtype of the computation (f32)"}
/* clang-format on */

/* Applies the options and loads the model onto the device. Returns -1, or the exit code after the mistake was reported.
 */
int text_model_open(const command *c, const text_settings *s, ig_text_model **m,
                    ig_text_info *info);

/* Answers one batch of texts into out; false on failure, which is the library's error. */
typedef bool (*text_answer)(void *context, const ig_text *texts, int n, str *out);

/* Reads texts, answers and prints them batch by batch, with a progress bar. Ctrl-C ends it after the batch. Returns the
 * exit code. */
int text_loop(const command *c, const text_settings *s, char **words, int n_words,
              text_answer answer, void *context);

/* Counts the texts that are longer than the model reads, for a note at the end of text_loop. */
void text_cut_count(text_settings *s, const ig_text_model *m, const ig_text_info *info,
                    const ig_text *texts, int n);

/* Writes the probabilities of n logits: softmax, or sigmoid if each stands alone. */
void probabilities(const float *logits, int n, bool independent, double *out);

/* Adds a float as JSON: shortest digits; null if it is not finite. */
void json_float(str *t, double value);

#endif
