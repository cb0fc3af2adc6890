/* What the verbs of text models share: options, loading, and the loop over texts. */
#ifndef CLI_TEXT_COMMON_H
#define CLI_TEXT_COMMON_H

#include "lines.h"

/* Texts that a note names, by their numbers from 1 on. */
enum { NAMED_TEXTS = 8 };
typedef struct text_list {
    int64_t first[NAMED_TEXTS], n;
} text_list;

/* The format of the answers. */
typedef enum text_format {
    FORMAT_TEXT,  /* lines for people */
    FORMAT_JSON,  /* an object in each line */
    FORMAT_TABLE, /* a row in each line, with `separator` between fields */
    FORMAT_ARRAYS /* the verb keeps numbers and saves them when all texts are answered */
} text_format;

typedef struct text_settings {
    const char *model, *file, *dtype, *output;
    bool json, quiet;
    engine_options engine;
    text_format format;
    char separator;
    int64_t done;    /* texts before this batch */
    text_list empty; /* texts without words */
    int64_t cut;     /* texts with more tokens than the model reads */
    int most_tokens;
    str written; /* for the file */
} text_settings;

/* clang-format off */
#define TEXT_OPTIONS(s) \
    {"--model", 'm', "DIR", option_text, &(s).model, "the model folder"}, \
    {"--file", 'f', "FILE", option_text, &(s).file, "reads texts from a file, one in each line"}, \
    {"--dtype", 0, "f32|f16|bf16", option_text, &(s).dtype, "the dtype of the computation (f32)"}
#define OUTPUT_OPTION(s, help) {"--output", 'o', "FILE", option_text, &(s).output, help}
/* clang-format on */

/* Sets the format by --json or by the suffix of -o FILE, which is checked. Returns -1, or the exit code after the mistake
 * was reported. */
int text_format_choose(const command *c, text_settings *s);

/* Saves arrays with names as .npz or .safetensors, or the first of them as any other kind of file. Returns the exit code. */
int text_arrays_save(const command *c, const text_settings *s, const char *const *names,
                     ig_array *const *arrays, int n);

/* Adds a field of a table, and what separates it from the next one or ends the row. */
void field_add(str *t, const text_settings *s, const char *text, bool last);

/* Adds the text to the list. */
void text_list_add(text_list *l, int64_t number);
/* "lines 2, 5 and 7 more"; texts that are arguments are "texts". */
void text_list_say(str *t, const text_list *l, bool are_lines);

/* Applies the options and loads the model onto the device. Returns -1, or the exit code after the mistake was reported.
 */
int text_model_open(const command *c, text_settings *s, ig_text_model **m, ig_text_info *info);

/* Answers one batch of texts into out; false on failure, which is the library's error. */
typedef bool (*text_answer)(void *context, const ig_text *texts, int n, str *out);

/* Reads texts, answers and prints them batch by batch, or writes them to the file, with a progress bar. Ctrl-C ends it
 * after the batch; a file is then not written. Returns the exit code. */
int text_loop(const command *c, text_settings *s, char **words, int n_words, text_answer answer,
              void *context);

/* Counts the texts that are longer than the model reads, for a note at the end of text_loop. */
void text_cut_count(text_settings *s, const ig_text_model *m, const ig_text_info *info,
                    const ig_text *texts, int n);

/* Writes the probabilities of n logits: softmax, or sigmoid if each stands alone. */
void probabilities(const float *logits, int n, bool independent, double *out);

/* Adds a float as JSON: shortest digits; null if it is not finite. */
void json_float(str *t, double value);

#endif
