/* The names of tokens, and runs of angle brackets. */
#include "compiler/pp/token.h"

static const char *const kinds[TOKEN_KINDS] = {
    [TOKEN_END] = "the end of the source",
    [TOKEN_NAME] = "name",
    [TOKEN_INTEGER] = "integer",
    [TOKEN_FLOAT] = "number",
    [TOKEN_CHAR] = "character",
    [TOKEN_STRING] = "string",
    [TOKEN_PRAGMA] = "#pragma",
    [TOKEN_PRAGMA_END] = "the end of a #pragma",
    [TOKEN_OTHER] = "character that is not C",
#define PUNCTUATOR(name, spelling) [TOKEN_##name] = spelling,
#include "compiler/pp/token.def"
};

const char *kernel_token_kind_text(kernel_token_kind kind) { return kinds[kind]; }

const char *kernel_token_text(kernel_arena *arena, const kernel_token *t)
{
    enum { MOST = 40 };
    if (t->kind == TOKEN_END || t->bytes == 0)
        return kinds[t->kind];
    const bool cut = t->bytes > MOST;
    const uint32_t bytes = cut ? MOST : t->bytes;
    char *copy = kernel_arena_text(arena, t->text, bytes + (cut ? 3 : 0));
    for (uint32_t i = 0; i < bytes; i++)
        copy[i] = (uint8_t)t->text[i] < ' ' || t->text[i] == 0x7f ? '?' : t->text[i];
    for (uint32_t i = 0; cut && i < 3; i++)
        copy[bytes + i] = '.';
    return copy;
}

/* The number of tokens from t on that together form three of one character; 0 if they do not. */
static int triple(const kernel_token *t, kernel_token_kind one, kernel_token_kind two,
                  kernel_token_kind three)
{
    int characters = 0, n = 0;
    while (characters < 3) {
        const int kind = t[n++].kind;
        const int more = kind == (int)one ? 1 : kind == (int)two ? 2 : kind == (int)three ? 3 : 4;
        characters += more;
    }
    return characters == 3 ? n : 0;
}

int kernel_token_launch(const kernel_token *t)
{
    return triple(t, TOKEN_LT, TOKEN_SHL, TOKEN_LAUNCH);
}

int kernel_token_launch_end(const kernel_token *t)
{
    return triple(t, TOKEN_GT, TOKEN_SHR, TOKEN_LAUNCH_END);
}
