/* Answers in OpenAI's form. */
#include "lib/serve/job.h"

#include "base/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* A text, or null. */
static void value_add(text *t, const char *s)
{
    if (s)
        json_quote(t, s);
    else
        text_add(t, "null");
}

char *reply_error(int status, const char *name, const char *problem, const char *code)
{
    text out = {0};
    json_add(&out, "{error: {message: ");
    if (name && *name) { /* clients show the message only */
        text both = {0};
        text_add(&both, "%s: %s", name, problem);
        json_add(&out, "%s", both.at);
        text_drop(&both);
    } else {
        json_add(&out, "%s", problem);
    }
    json_add(&out, ", type: %s, param: ", status >= 500 ? "server_error" : "invalid_request_error");
    value_add(&out, name && *name ? name : NULL);
    json_add(&out, ", code: ");
    value_add(&out, code);
    json_add(&out, "}}\n");
    return text_take(&out);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static const char *finish_of(const job *j)
{
    return j->result.end == GENERATED_LENGTH ? "length" : "stop";
}

static void head_add(text *t, const job *j, const char *object)
{
    char id[48];
    snprintf(id, sizeof id, "%s-%lld-%lld", j->asked.kind == ASKED_CHAT ? "chatcmpl" : "cmpl",
             (long long)j->created, (long long)j->number);
    json_add(t, "{id: %s, object: %s, created: %lld, model: %s", id, object, (long long)j->created,
             j->server->options.name);
}

static void usage_add(text *t, const job *j)
{
    json_add(t,
             "usage: {prompt_tokens: %lld, completion_tokens: %lld, total_tokens: %lld, "
             "prompt_tokens_details: {cached_tokens: %lld}}",
             (long long)j->n, (long long)j->result.tokens, (long long)(j->n + j->result.tokens),
             (long long)j->reused);
}

/* The logarithms of the probabilities of tokens from `first` on; null if they were not asked for. */
static void logprobs_add(text *t, const job *j, int first)
{
    char bytes[TOKEN_BYTES + 1];
    if (!j->asked.logprobs) {
        text_add(t, "null");
        return;
    }
    const bool chat = j->asked.kind == ASKED_CHAT;
    text_add(t, chat ? "{\"content\": [" : "{\"tokens\": [");
    for (int i = first; i < j->n_said; i++) {
        const size_t n = tokens_decode(j->server->k, j->said[i].id, bytes);
        bytes[n] = '\0';
        text_add(t, i > first ? ", " : "");
        if (!chat) {
            json_quote(t, bytes);
            continue;
        }
        text_add(t, "{\"token\": ");
        json_quote(t, bytes);
        text_add(t, ", \"logprob\": %.9g, \"bytes\": [", j->said[i].logprob);
        for (size_t b = 0; b < n; b++)
            text_add(t, "%s%d", b ? ", " : "", (unsigned char)bytes[b]);
        text_add(t, "], \"top_logprobs\": []}");
    }
    if (!chat) {
        text_add(t, "], \"token_logprobs\": [");
        for (int i = first; i < j->n_said; i++)
            text_add(t, "%s%.9g", i > first ? ", " : "", j->said[i].logprob);
        text_add(t, "], \"text_offset\": [");
        for (int i = first; i < j->n_said; i++)
            text_add(t, "%s%zu", i > first ? ", " : "", i ? j->said[i - 1].end : 0);
    }
    text_add(t, chat ? "]}" : "], \"top_logprobs\": null}");
}

/* ---- whole answers --------------------------------------------------------------------------- */

char *reply_whole(job *j)
{
    text out = {0};
    const char *chars = j->answer.at ? j->answer.at : "";
    const bool chat = j->asked.kind == ASKED_CHAT;
    head_add(&out, j, chat ? "chat.completion" : "text_completion");
    text_add(&out, ", \"choices\": [{\"index\": 0, \"logprobs\": ");
    logprobs_add(&out, j, 0);
    if (chat)
        json_add(&out, ", message: {role: %s, content: %s, refusal: null}", "assistant", chars);
    else
        json_add(&out, ", text: %s", chars);
    json_add(&out, ", finish_reason: %s}], ", finish_of(j));
    usage_add(&out, j);
    text_add(&out, "}\n");
    return text_take(&out);
}

char *reply_vectors(const job *j)
{
    text out = {0};
    const int64_t width = j->server->d->config.width;
    json_add(&out, "{object: %s, model: %s, data: [", "list", j->server->options.name);
    for (int i = 0; i < j->asked.n_inputs; i++) {
        text_add(&out, "%s{\"object\": \"embedding\", \"index\": %d, \"embedding\": [",
                 i ? ", " : "", i);
        for (int64_t e = 0; e < width; e++)
            text_add(&out, "%s%.9g", e ? ", " : "", (double)j->vectors[i * width + e]);
        text_add(&out, "]}");
    }
    text_add(&out, "], \"usage\": {\"prompt_tokens\": %lld, \"total_tokens\": %lld}}\n",
             (long long)j->n, (long long)j->n);
    return text_take(&out);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void event_begin(job *j)
{
    text_add(&j->chunk, "data: ");
    head_add(&j->chunk, j,
             j->asked.kind == ASKED_CHAT ? "chat.completion.chunk" : "text_completion");
}

/* An event with this text, or with the reason of the end. */
static void choice_add(job *j, const char *chars, const char *finish)
{
    const bool chat = j->asked.kind == ASKED_CHAT;
    event_begin(j);
    text_add(&j->chunk, ", \"choices\": [{\"index\": 0, \"logprobs\": ");
    logprobs_add(&j->chunk, j, j->sent_tokens);
    json_add(&j->chunk, chat ? ", delta: {" : ", ");
    if (chat && !j->phase)
        json_add(&j->chunk, "role: %s, ", "assistant");
    if (chars)
        json_add(&j->chunk, chat ? "content: %s" : "text: %s", chars);
    else if (!chat)
        json_add(&j->chunk, "text: %s", "");
    text_add(&j->chunk, chat ? "}" : "");
    json_add(&j->chunk, ", finish_reason: ");
    value_add(&j->chunk, finish);
    text_add(&j->chunk, "}]}\n\n");
    j->phase = 1;
    j->sent_tokens = j->n_said;
}

void reply_piece(job *j)
{
    if (j->answer.used > j->sent) {
        choice_add(j, j->answer.at + j->sent, NULL);
        j->sent = j->answer.used;
    }
    if (!j->ended || j->phase == 2)
        return;
    if (j->status == IG_OK) {
        choice_add(j, j->phase ? NULL : "", finish_of(j));
        if (j->asked.usage) {
            event_begin(j);
            text_add(&j->chunk, ", \"choices\": []");
            usage_add(&j->chunk, j);
            text_add(&j->chunk, "}\n\n");
        }
        text_add(&j->chunk, "data: [DONE]\n\n");
    } else {
        char *error = reply_error(500, NULL, j->error, NULL);
        text_add(&j->chunk, "data: %s\n", error ? error : "{}\n");
        memory_free(error);
    }
    j->phase = 2;
}
