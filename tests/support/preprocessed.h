/* For tests of the preprocessor of CUDA C: the tokens of a source. Expected texts are tokens separated by one space;
 * strings are shown by their value. */
#ifndef SUPPORT_PREPROCESSED_H
#define SUPPORT_PREPROCESSED_H

#include "base/text.h"
#include "compiler/pp/preprocess.h"
#include "support/unit.h"

typedef struct pp_result {
    ig_status status;
    char *tokens, *diags;
    uint32_t n_errors;
} pp_result;

/* No files except the headers in preprocessed.c. */
extern const kernel_options pp_usual;

/* All tokens except the last, as text. */
void pp_show(text *out, const kernel_tokens *tokens);

/* Preprocesses a copy of exactly its size, so that a sanitizer detects reads past the end. The source is called
 * "a.cu". */
pp_result pp_run_bytes(const char *source, size_t bytes, const kernel_options *options);
pp_result pp_run(const char *source);
void pp_drop(pp_result r);
/* Fails the test unless the source gives these tokens and diagnostics. */
void pp_check(const char *source, const char *tokens, const char *diags);

#endif
