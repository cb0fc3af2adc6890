/* Grammars on any bytes: GBNF, or a JSON schema if they begin with '{', optionally with a zero byte and a text after it. Errors
 * must have a message; a state that must end allows no byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grammar/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_grammar: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 12)
        return 0;
    const char *chars = (const char *)data, *zero = size ? memchr(chars, 0, size) : NULL;
    const size_t n = zero ? (size_t)(zero - chars) : size;
    const ig_text source = {chars, n};
    grammar *g = n && chars[0] == '{' ? grammar_from_schema(source) : grammar_new(source);
    check(g || ig_error(NULL), "it failed without an error");
    int32_t state = g ? 0 : GRAMMAR_NONE;
    for (size_t i = n + 1; i < size && state >= 0; i++) {
        const bool must = grammar_must_end(g, state);
        state = grammar_next(g, state, data[i]);
        check(!must || state < 0, "a text goes on after its end");
    }
    ig_error(NULL);
    grammar_free(g);
    return 0;
}
