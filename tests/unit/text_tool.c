/* Prints the results of a text model, for tests/test_text_models.py.
 *
 * text_tool DIR HEAD DEVICE DTYPE: reads lines (a tab separates the texts of a pair) and prints, for each, the values
 * of the head: one row for "embed" and "classify", one for each token otherwise. HEAD "dropout": many rows of logits of
 * the first line, by the folder's head, with dropout; of the first token, if the head has a row for each token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingot.h"

enum { LINES = 4096, BYTES = 1 << 22 };

static char buffer[BYTES];
static ig_text texts[LINES], pairs[LINES];

static int fail(void)
{
    fprintf(stderr, "%s\n", ig_error(NULL));
    return 1;
}

static int lines_read(bool *paired)
{
    const size_t n = fread(buffer, 1, sizeof buffer, stdin);
    int count = 0;
    for (size_t i = 0; i < n && count < LINES; count++) {
        const char *end = memchr(buffer + i, '\n', n - i);
        const size_t bytes = end ? (size_t)(end - buffer) - i : n - i;
        const char *tab = memchr(buffer + i, '\t', bytes);
        texts[count] = (ig_text){buffer + i, tab ? (size_t)(tab - buffer) - i : bytes};
        pairs[count] = tab ? (ig_text){tab + 1, bytes - texts[count].bytes - 1} : (ig_text){"", 0};
        *paired |= tab != NULL;
        i += bytes + 1;
    }
    return count;
}

static void rows_print(const float *values, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows * columns; i++)
        printf((i + 1) % columns ? "%.9g " : "%.9g\n", (double)values[i]);
}

static int tokens_run(ig_text_model *m, const char *head, int n, bool paired)
{
    const ig_encode_options options = {.pad = -1};
    ig_encoding *all =
        ig_tokenizer_encode(ig_text_model_tokenizer(m), texts, paired ? pairs : NULL, n, &options);
    ig_array *hidden = all ? ig_text_model_hidden(m, all, n) : NULL;
    ig_array *x = hidden ? ig_astype(ig_text_model_head(m, head, hidden, NULL, 0), IG_F32) : NULL;
    const float *values = x ? ig_data(x) : NULL;
    for (int i = 0; i < n && values; i++)
        rows_print(values + i * ig_dim(x, 1) * ig_dim(x, 2), all[i].n, ig_dim(x, 2));
    ig_free(all);
    return values ? 0 : fail();
}

/* Logits of the first line with dropout, drawn many times. */
static int dropout_run(ig_text_model *m)
{
    enum { DRAWS = 2000 };
    ig_text_info info = {0};
    const ig_encode_options options = {.pad = -1};
    ig_model *trained = ig_model_new(1);
    ig_encoding *e = ig_tokenizer_encode(ig_text_model_tokenizer(m), texts, NULL, 1, &options);
    bool fine = trained && e && ig_text_model_info(m, &info) == IG_OK &&
                ig_text_model_train(m, trained, info.head, info.n_labels, true) == IG_OK &&
                ig_text_model_override(m, trained) == IG_OK &&
                ig_text_model_dropout(m, trained, -1) == IG_OK;
    for (int i = 0; i < DRAWS && fine; i++) {
        ig_scope_begin();
        ig_array *hidden = ig_text_model_hidden(m, e, 1);
        ig_array *x = hidden ? ig_text_model_head(m, info.head, hidden, NULL, 0) : NULL;
        const float *values = x ? ig_data(x) : NULL;
        fine = values != NULL;
        if (fine)
            rows_print(values, 1, ig_dim(x, -1));
        ig_scope_end();
    }
    ig_text_model_override(m, NULL);
    ig_text_model_dropout(m, NULL, 0);
    ig_model_free(trained);
    ig_free(e);
    return fine ? 0 : fail();
}

int main(int argc, char **argv)
{
    bool paired = false;
    if (argc != 5 || ig_set_device(argv[3]) != IG_OK)
        return fail();
    const int n = lines_read(&paired);
    ig_text_model *m = ig_text_model_load(argv[1], ig_dtype_parse(argv[4]));
    if (!m)
        return fail();
    int code = 0;
    if (strcmp(argv[2], "embed") == 0 || strcmp(argv[2], "classify") == 0) {
        ig_array *x = ig_text_model_run(m, argv[2], texts, paired ? pairs : NULL, n);
        const float *values = x ? ig_data(x) : NULL;
        if (values)
            rows_print(values, ig_dim(x, 0), ig_dim(x, 1));
        code = values ? 0 : fail();
    } else if (strcmp(argv[2], "dropout") == 0) {
        code = dropout_run(m);
    } else {
        code = tokens_run(m, argv[2], n, paired);
    }
    ig_text_model_free(m);
    ig_shutdown();
    return code;
}
