/* Conversations: see conversation.h. The cache keeps the tokens that the next text begins with too. */
#include "lib/decoder/conversation.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "lib/chat/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conversation {
    decoder *d;
    const tokens_of *k;
    chat_template *t;
    session *s;
    int64_t capacity;
    text messages;  /* JSON objects with commas between */
    int32_t *known; /* the tokens of the session, and perhaps more */
    int64_t n_known;
    const generation *how;
    text answer;
};

/* ---- the template ---------------------------------------------------------------------------- */

static chat_template *template_from_file(const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    chat_template *t = NULL;
    if (file_read_whole(path, false, &data, &bytes) == IG_OK)
        t = chat_template_new((ig_text){data, bytes});
    free(data);
    return t;
}

static chat_template *template_from_folder(const char *folder)
{
    char path[DECODER_PATH];
    json_file f;
    size_t bytes = 0;
    chat_template *t = NULL;
    const int n = snprintf(path, sizeof path, "%s/chat_template.jinja", folder);
    if (n > 0 && n < (int)sizeof path && file_exists(path))
        return template_from_file(path);
    ig_status status = json_file_open(&f, folder, "tokenizer_config.json", true);
    char *source = status == IG_OK ? field_text(field_get(f.root, "chat_template"), &bytes) : NULL;
    if (source)
        t = chat_template_new((ig_text){source, bytes});
    else if (status == IG_OK)
        ig_fail(IG_ERR_FORMAT, "'%s' has no chat template; give one with --template FILE", folder);
    memory_free(source);
    json_file_close(&f);
    return t;
}

chat_template *conversation_template(const decoder *d, const char *path)
{
    if (path)
        return template_from_file(path);
    if (!d->is_gguf)
        return template_from_folder(d->path);
    const ig_text source = gguf_text(d->file, "tokenizer.chat_template");
    if (!source.at)
        FAIL_NULL(
            IG_ERR_FORMAT,
            "'%s' has no chat template (tokenizer.chat_template); give one with --template FILE",
            d->path);
    return chat_template_new(source);
}

int32_t *conversation_prompt(const chat_template *t, const tokens_of *k, const char *messages,
                             int64_t *n)
{
    text variables = {0};
    json_add(&variables, "{bos_token: %s, eos_token: %s, add_generation_prompt: %hhd, messages: ",
             tokens_begin_text(k), tokens_end_text(k), (bool)true);
    text_add(&variables, "%s", messages);
    json_add(&variables, "}");
    const size_t bytes = variables.used;
    char *json = text_take(&variables);
    chat_text *chars = json ? chat_template_render(t, (ig_text){json, bytes}, 0) : NULL;
    int32_t *ids = chars ? tokens_encode_chat(k, chars, n) : NULL;
    memory_free(chars);
    memory_free(json);
    return ids;
}

/* ---- messages -------------------------------------------------------------------------------- */

conversation *conversation_new(decoder *d, const tokens_of *k, const char *template_path,
                               int64_t capacity)
{
    conversation *c = memory_new(sizeof *c);
    if (!c)
        return NULL;
    const int64_t usual =
        d->config.context < CONVERSATION_TOKENS ? d->config.context : CONVERSATION_TOKENS;
    c->d = d;
    c->k = k;
    c->capacity = capacity ? capacity : usual;
    c->t = conversation_template(d, template_path);
    c->s = c->t ? session_new(d, c->capacity) : NULL;
    if (c->s)
        return c;
    conversation_free(c);
    return NULL;
}

void conversation_free(conversation *c)
{
    if (!c)
        return;
    session_free(c->s);
    chat_template_free(c->t);
    text_drop(&c->messages);
    text_drop(&c->answer);
    memory_free(c->known);
    memory_free(c);
}

ig_status conversation_add(conversation *c, const char *speaker, const char *content)
{
    json_add(&c->messages, "{role: %s, content: %s}", speaker, content);
    return c->messages.failed ? error_waiting(IG_ERR_MEMORY) : IG_OK;
}

void conversation_clear(conversation *c) { text_drop(&c->messages); }

/* ---- answers --------------------------------------------------------------------------------- */

/* Keeps the text and the tokens of the answer. */
static ig_status visit(void *context, const generated *g)
{
    conversation *c = context;
    text_add(&c->answer, "%.*s", (int)g->text.bytes, g->text.at);
    if (g->id >= 0)
        c->known[c->n_known++] = g->id;
    return c->how->visit ? c->how->visit(c->how->context, g) : IG_OK;
}

/* Generates after a prompt, which it takes. The cache keeps the tokens that both begin with. */
static ig_status prompt_answer(conversation *c, int32_t *ids, int64_t n, const generation *g,
                               generation_result *r, conversation_counts *counts)
{
    generation own = *g;
    int64_t same = 0;
    const int64_t cached = session_length(c->s) < c->n_known ? session_length(c->s) : c->n_known;
    while (same < cached && same < n && ids[same] == c->known[same])
        same++;
    session_cut(c->s, same);
    *counts = (conversation_counts){n, same};
    memory_free(c->known);
    c->known = ids;
    c->n_known = n;
    own.tokens = g->tokens < c->capacity - n ? g->tokens : c->capacity - n;
    own.visit = visit;
    own.context = c;
    c->how = g;
    int32_t *prompt = memory_get((size_t)n * sizeof *prompt);
    if (!prompt)
        return IG_ERR_MEMORY;
    memcpy(prompt, ids, (size_t)n * sizeof *prompt);
    const ig_status status = generate(c->s, c->k, prompt, n, &own, r);
    memory_free(prompt);
    return status;
}

ig_status conversation_answer(conversation *c, const generation *g, generation_result *r,
                              conversation_counts *counts)
{
    int64_t n = 0;
    text_drop(&c->answer);
    text messages = {0};
    text_add(&messages, "[%s]", c->messages.at ? c->messages.at : "");
    int32_t *ids = messages.failed ? NULL : conversation_prompt(c->t, c->k, messages.at, &n);
    text_drop(&messages);
    if (!ids)
        return error_waiting(IG_ERR_MEMORY);
    int32_t *all = n < c->capacity ? memory_resize(ids, (size_t)c->capacity * sizeof *ids) : NULL;
    if (!all) {
        memory_free(ids);
        if (n < c->capacity)
            return IG_ERR_MEMORY;
        FAIL(IG_ERR_ARGUMENT,
             "the conversation has %lld tokens, and the context has room for %lld; begin a new "
             "one, or give more with "
             "--context",
             (long long)n, (long long)c->capacity);
    }
    TRY(prompt_answer(c, all, n, g, r, counts));
    if (c->answer.failed)
        return error_waiting(IG_ERR_MEMORY);
    return conversation_add(c, "assistant", c->answer.at ? c->answer.at : "");
}
