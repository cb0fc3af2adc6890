/* The preprocessor on any bytes: it ends within its memory, its tokens are whole, and every place leads
 * back into the text. Behind a first zero byte is the text of the file "f", which may be included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "compiler/pp/preprocess.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CAP_BYTES = 512 << 20 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_kernel_pp: %s\n", what);
        abort();
    }
}

typedef struct second {
    const char *text;
    size_t bytes;
} second;

static const char *find(void *context, const char *name, bool quoted, size_t *bytes)
{
    const second *file = context;
    (void)quoted;
    *bytes = file->bytes;
    return strcmp(name, "f") == 0 ? file->text : NULL;
}

static void check_tokens(const kernel_unit *u, const kernel_tokens *tokens)
{
    bool pragma = false;
    check(tokens->count && tokens->at[tokens->count - 1].kind == TOKEN_END, "no end");
    for (uint32_t i = 0; i < tokens->count; i++) {
        const kernel_token *t = &tokens->at[i];
        kernel_where where;
        check(kernel_source_where(&u->source, t->place, &where), "a token is nowhere");
        check(where.column >= 1 && where.physical_line <= where.file->n_lines, "no such column");
        check(kernel_source_spelled(&u->source, t->place) < PLACE_EXPANDED, "spelled in no file");
        check(t->kind < TOKEN_KINDS && t->kind != TOKEN_OTHER && t->kind != TOKEN_HASH, "a kind");
        check((t->kind == TOKEN_END) == (i + 1 == tokens->count), "an end in the middle");
        if (t->kind == TOKEN_NAME)
            check(t->as.name->bytes == strlen(t->as.name->text), "a name");
        if (t->kind == TOKEN_STRING)
            check(t->as.string->text[t->as.string->bytes] == '\0', "a string");
        check(pragma ? t->kind != TOKEN_END : t->kind != TOKEN_PRAGMA_END, "an open pragma");
        pragma = t->kind == TOKEN_PRAGMA || (pragma && t->kind != TOKEN_PRAGMA_END);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t bytes = zero ? (size_t)(zero - data) : size;
    second file = {.text = "", .bytes = 0};
    if (zero) {
        file.text = (const char *)zero + 1;
        file.bytes = size - bytes - 1;
    }
    const kernel_options options = {.no_disk = true, .find = find, .context = &file};
    kernel_unit u;
    kernel_tokens tokens;
    text said = {0};
    check(kernel_unit_begin(&u, CAP_BYTES) == IG_OK, "no unit");
    kernel_file *main_file = kernel_unit_text(&u, "m", size ? (const char *)data : "", bytes);
    if (main_file && kernel_preprocess(&u, main_file, &options, &tokens) == IG_OK) {
        check_tokens(&u, &tokens);
        kernel_diags_render(&u.diags, size & 1, &said);
        char *rendered = text_take(&said);
        check(rendered && (!u.diags.n_errors || rendered[0]), "an error without a word");
        memory_free(rendered);
    } else {
        check(ig_error(NULL), "a failure without a word");
    }
    kernel_unit_end(&u);
    return 0;
}
