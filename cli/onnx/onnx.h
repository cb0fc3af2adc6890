/* The commands of ingot onnx, and what they share. */
#ifndef CLI_ONNX_ONNX_H
#define CLI_ONNX_ONNX_H

#include "cli.h"

/* argv[0] is the word after "onnx". */
int onnx_export(int argc, char **argv);
int onnx_info(int argc, char **argv);
int onnx_bench(int argc, char **argv);
int onnx_run(int argc, char **argv);
int onnx_test(int argc, char **argv);
int onnx_verify(int argc, char **argv);

/* ---- inputs.c ---- */

enum { INPUTS_MOST = 256 };

/* The texts of --input in order, and the options --mean and --std of images. */
typedef struct input_texts {
    const char *at[INPUTS_MOST];
    int n;
    const char *mean, *std;
} input_texts;

#define INPUT_OPTION(texts) \
    { \
        "--input", 'i', "NAME=FILE", option_input, &(texts), \
            "an .npy or .pb file, an image, or a shape such as 1x3x224x224 for random numbers" \
    }

#define EXPLAIN_OPTION(place) \
    FLAG("--explain", place, "prints the programs of a run, and runs nothing")

bool option_input(const char *s, void *place); /* adds to input_texts */

/* Reads the options, then the words after them: a model, then inputs as for --input, or files without a name for a model with one
 * input, which are added to texts. Returns -1, or the exit code. */
int model_named(const command *c, int argc, char **argv, input_texts *texts);

/* A list of values that ends in NULL only by its length n; released by values_free. */
typedef struct values {
    ig_onnx_value **at;
    int n;
} values;

values values_new(int n);
void values_free(values *v);

/* The inputs of a model by the texts of --input. An input without a text gets random numbers if `fill` and the model states
 * its shape (an axis without a length gets 1). Returns -1, or the exit code after reporting a mistake. */
int inputs_read(const command *c, const ig_onnx *m, const input_texts *texts, uint64_t seed,
                bool fill, values *inputs);
/* Prints the programs of a run, for --explain. Returns the exit code. */
int plan_print(const command *c, ig_onnx *m, const values *in, bool json);
/* Adds "float 1x3x224x224". */
void info_text(str *t, const ig_onnx_info *info);
void value_text(str *t, const ig_onnx_value *v);

/* ---- compare.c ---- */

/* Compares a value with the expected one: floats by |got - expected| <= atol + rtol |expected|, or by
 * a few roundings of the largest element, all else exactly. False
 * with the reason in why. */
bool values_match(const ig_onnx_value *got, const ig_onnx_value *expected, double rtol, double atol,
                  str *why);

#endif
