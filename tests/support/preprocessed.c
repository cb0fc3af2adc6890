/* Sources, and the small headers that they include, become tokens and diagnostics. */
#include "support/preprocessed.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *name, *text;
} included[] = {{"guarded.h", "#ifndef GUARD\n#define GUARD\nguarded\n#endif\n"},
                {"once.h", "#pragma once\nonce\n"},
                {"x.def", "X(a)\nX(b)\n"},
                {"outer.h", "begin\n#include \"inner.h\"\nend\n"},
                {"inner.h", "inner __FILE__\n"},
                {"itself.h", "#include \"itself.h\"\n"},
                {"open.h", "#if 1\n"},
                {"mistake.h", "int x = 08;\n"},
                {"half.h", "TWICE(1\n"}};

static const char *find(void *context, const char *name, bool quoted, size_t *bytes)
{
    (void)context;
    (void)quoted;
    for (size_t i = 0; i < COUNT(included); i++)
        if (strcmp(included[i].name, name) == 0) {
            *bytes = strlen(included[i].text);
            return included[i].text;
        }
    return NULL;
}

void pp_show(text *out, const kernel_tokens *tokens)
{
    for (uint32_t i = 0; i + 1 < tokens->count; i++) {
        const kernel_token *t = &tokens->at[i];
        text_add(out, "%s", i ? " " : "");
        if (t->kind == TOKEN_STRING)
            text_add(out, "\"%s\"", t->as.string->text);
        else if (t->kind == TOKEN_PRAGMA)
            text_add(out, "{%s", t->as.name->text);
        else if (t->kind == TOKEN_PRAGMA_END)
            text_add(out, "}");
        else
            text_add(out, "%.*s", (int)t->bytes, t->text);
    }
}

pp_result pp_run_bytes(const char *source, size_t bytes, const kernel_options *options)
{
    kernel_unit u;
    kernel_tokens tokens = {0};
    pp_result r = {.status = kernel_unit_begin(&u, (size_t)512 << 20)};
    char *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, source, bytes);
    kernel_file *file = r.status == IG_OK ? kernel_unit_text(&u, "a.cu", copy, bytes) : NULL;
    free(copy);
    r.status = file ? kernel_preprocess(&u, file, options, &tokens) : IG_ERR_MEMORY;
    if (r.status == IG_OK) {
        text shown = {0}, said = {0};
        pp_show(&shown, &tokens);
        kernel_diags_render(&u.diags, false, &said);
        assert_int_equal(tokens.at[tokens.count - 1].kind, TOKEN_END);
        r.tokens = text_take(&shown);
        r.diags = text_take(&said);
        r.n_errors = u.diags.n_errors;
    }
    kernel_unit_end(&u);
    return r;
}

const kernel_options pp_usual = {.no_disk = true, .find = find};

pp_result pp_run(const char *source) { return pp_run_bytes(source, strlen(source), &pp_usual); }

void pp_drop(pp_result r)
{
    memory_free(r.tokens);
    memory_free(r.diags);
}

void pp_check(const char *source, const char *tokens, const char *diags)
{
    const pp_result r = pp_run(source);
    assert_int_equal(r.status, IG_OK);
    if (strcmp(r.tokens, tokens) != 0 || strcmp(r.diags, diags) != 0)
        print_message("of this source:\n%s\n", source);
    assert_string_equal(r.diags, diags);
    assert_string_equal(r.tokens, tokens);
    pp_drop(r);
}
