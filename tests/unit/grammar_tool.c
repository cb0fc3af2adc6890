/* Draws texts of a grammar, for tests/test_grammar.py.
 *
 * grammar_tool gbnf|schema SEED COUNT: reads the grammar from standard input, and writes COUNT texts, each followed by a zero
 * byte. A text that becomes long takes the ways to its end. "-" in place of COUNT: reads texts of one line after the line "%%",
 * and writes 1 for those of the grammar, 0 for others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grammar/grammar.h"

enum { INPUT_MOST = 1 << 20, LONG = 150, END_MOST = 5000 };

static char input[INPUT_MOST];

/* A byte that may follow; -1: none. Of a long text, one that closes something. */
static int byte_draw(grammar *g, int32_t state, int length)
{
    int allowed[256], n = 0;
    for (int i = 0; i < 256; i++)
        if (grammar_next(g, state, (unsigned char)i) >= 0)
            allowed[n++] = i;
    for (int i = 0; i < n && length > LONG; i++)
        if (allowed[i] && strchr("\"}]0", allowed[i]))
            return allowed[i];
    return n ? allowed[rand() % n] : -1;
}

static bool text_draw(grammar *g)
{
    int32_t state = 0;
    for (int length = 0; length < END_MOST; length++) {
        const bool may = grammar_may_end(g, state);
        const int byte =
            may && (rand() % 8 == 0 || length > LONG) ? -1 : byte_draw(g, state, length);
        if (byte < 0) {
            putchar(0);
            return may;
        }
        putchar(byte);
        state = grammar_next(g, state, (unsigned char)byte);
    }
    return false;
}

static void texts_match(grammar *g, const char *texts)
{
    while (*texts) {
        const size_t n = strcspn(texts, "\n");
        int32_t state = 0;
        for (size_t i = 0; i < n && state >= 0; i++)
            state = grammar_next(g, state, (unsigned char)texts[i]);
        printf("%d\n", state >= 0 && grammar_may_end(g, state));
        texts += n + (texts[n] == '\n');
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: grammar_tool gbnf|schema SEED COUNT|-\n");
        return 2;
    }
    size_t n = fread(input, 1, sizeof input - 1, stdin);
    const char *texts = strcmp(argv[3], "-") == 0 ? strstr(input, "\n%%\n") : NULL;
    n = texts ? (size_t)(texts + 1 - input) : n;
    const ig_text source = {input, n};
    grammar *g = strcmp(argv[1], "schema") == 0 ? grammar_from_schema(source) : grammar_new(source);
    bool fine = g != NULL;
    srand((unsigned)atoi(argv[2]));
    if (g && texts)
        texts_match(g, texts + 4);
    for (int i = 0; i < atoi(argv[3]) && fine; i++)
        fine = text_draw(g);
    if (!fine)
        fprintf(stderr, "%s\n", ig_failed() ? ig_error(NULL) : "a text has no end");
    grammar_free(g);
    return !fine;
}
