/* ingot chat: a conversation with a decoder model. */
#include "../progress.h"
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/decoder/conversation.h"
#include "lib/decoder/lora.h"

typedef struct chatting {
    text_settings set;
    cache_settings cache;
    generation g;
    grammar_files grammar;
    const char *system, *template;
    int64_t context;
    bool timed;
    conversation *talk;
} chatting;

static ig_status show(void *context, const generated *token)
{
    str piece = {0};
    (void)context;
    str_add(&piece, token->text.at, token->text.bytes);
    text_print(stdout, piece.s ? piece.s : "");
    fflush(stdout);
    str_free(&piece);
    return interrupt_asked() ? ig_fail(IG_ERR_CANCELLED, "chat: interrupted") : IG_OK;
}

static bool begin(const chatting *t)
{
    conversation_clear(t->talk);
    return !t->system || conversation_add(t->talk, "system", t->system) == IG_OK;
}

/* Answers one line of the user. */
static bool answer(const command *c, chatting *t, const ig_text *line)
{
    generation_result r;
    conversation_counts n;
    str copy = {0};
    str_add(&copy, line->at, line->bytes);
    const char *content = copy.s ? copy.s : "";
    if (strcmp(content, "/new") == 0) {
        str_free(&copy);
        return begin(t);
    }
    bool fine = conversation_add(t->talk, "user", content) == IG_OK;
    str_free(&copy);
    fine = fine && conversation_answer(t->talk, &t->g, &r, &n) == IG_OK;
    text_print(stdout, "\n");
    fflush(stdout);
    if (fine && t->timed)
        say(c, "prompt: %lld tokens, %lld of them in the cache; answer: %lld tokens",
            (long long)n.prompt, (long long)n.reused, (long long)r.tokens);
    return fine;
}

static void ask(bool terminal)
{
    if (!terminal)
        return;
    text_print(stdout, "> ");
    fflush(stdout);
}

static int answers(const command *c, chatting *t, char **words, int n_words)
{
    lines input;
    ig_text line;
    const bool terminal =
        n_words == 0 && !t->set.file && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    int code = lines_open(c, &input, words, n_words, t->set.file);
    interrupt_watch();
    interrupt_cancel();
    ask(terminal);
    while (code < 0 && !interrupt_asked() && lines_next(&input, &line, 1) > 0) {
        if (!answer(c, t, &line))
            code = interrupt_asked() ? EXIT_INTERRUPTED : fail_library(c);
        else
            ask(terminal);
    }
    if (code < 0 && errno && !interrupt_asked()) {
        say(c, "the messages cannot be read: %s", strerror(errno));
        code = EXIT_INPUT;
    }
    lines_close(&input);
    return code >= 0 ? code : interrupt_asked() ? EXIT_INTERRUPTED : EXIT_FINE;
}

int verb_chat(int argc, char **argv)
{
    chatting t = {.g = {.tokens = 512, .sampling = sampling_default, .visit = show}};
    const option options[] = {
        {"--model", 'm', "FILE", option_text, &t.set.model, "the model: a .gguf file or a folder"},
        {"--file", 'f', "FILE", option_text, &t.set.file,
         "reads messages from a file, one in each line"},
        {"--system", 0, "TEXT", option_text, &t.system, "a first message of the role 'system'"},
        {"--template", 0, "FILE", option_text, &t.template,
         "a chat template instead of the model's"},
        {"--context", 0, "N", option_count, &t.context,
         "tokens of all messages, at most (the model's context, at most 2048)"},
        {"--tokens", 'n', "N", option_count, &t.g.tokens, "the most tokens of an answer (512)"},
        LORA_OPTION(t.set.lora),
        SAMPLING_OPTIONS(t.g.sampling),
        GRAMMAR_OPTIONS(t.grammar),
        FLAG("--time", &t.timed,
             "prints how many tokens were computed, and how many were in the cache"),
        CACHE_OPTIONS(t.cache),
        ENGINE_OPTIONS(t.set.engine),
        {0}};
    const command c = {
        "chat", "--model FILE [options] [TEXT...]",
        "Answers messages by a decoder model, as its chat template says. The answer is printed as "
        "it\n"
        "is made. Without TEXT, each line of standard input is a message; the line /new begins a "
        "new\n"
        "conversation. Special tokens in messages are plain text.\n\n"
        "  ingot chat --model SmolLM2.gguf\n"
        "  ingot chat --model SmolLM2.gguf --system \"Answer in one word.\" \"Is water wet?\"",
        options};
    t.g.sampling.temperature = 0;
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &t.set.engine);
    if (code < 0 && !t.set.model) {
        say(&c, "--model FILE is missing; see 'ingot chat --help'");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    decoder *d = decoder_open_adapted(t.set.model, t.set.lora);
    const bool chosen = d && cache_choose(d, t.cache.form, t.cache.limit) == IG_OK;
    tokens_of *k = chosen ? tokens_open(d) : NULL;
    t.talk = k ? conversation_new(d, k, t.template, t.context) : NULL;
    const bool fine = t.talk && grammar_open(&t.grammar, &t.g.grammar);
    code = fine && begin(&t) ? answers(&c, &t, argv, argc) : fail_library(&c);
    conversation_free(t.talk);
    grammar_free(t.g.grammar);
    tokens_close(k);
    decoder_close(d);
    return code;
}
