/* Chat templates: reading and rendering them. See chat.h. */
#include "lib/chat/chat.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/chat/variables.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEPS_MOST = 20 << 20 };
enum { MEMORY_MOST = 512 << 20 };

/* Copies the source with "\n" as the end of lines, and without the last one. */
static ig_status source_copy(ig_text from, arena *memory, string *out)
{
    char *at = chat_arena_get(memory, from.bytes + 1);
    size_t n = 0;
    if (!at)
        return IG_ERR_MEMORY;
    for (size_t i = 0; i < from.bytes; i++) {
        if (from.at[i] == '\r' && i + 1 < from.bytes && from.at[i + 1] == '\n')
            continue;
        at[n++] = from.at[i] == '\r' ? '\n' : from.at[i];
    }
    if (strlen(at) != n || !json_is_utf8(at))
        FAIL(IG_ERR_FORMAT, "the chat template is not UTF-8 text");
    n -= n > 0 && at[n - 1] == '\n';
    *out = (string){at, NULL, n};
    return IG_OK;
}

static ig_status template_read(chat_template *t, ig_text source)
{
    string s;
    token_list all = {0};
    if (source.bytes > TEMPLATE_BYTES_MOST)
        FAIL(IG_ERR_FORMAT, "the chat template has %zu bytes; there may be at most %d",
             source.bytes, TEMPLATE_BYTES_MOST);
    TRY(source_copy(source, &t->memory, &s));
    ig_status status = chat_scan(s, &t->memory, &all);
    if (status == IG_OK)
        status = chat_parse(t, all.at);
    memory_free(all.at);
    return status;
}

chat_template *chat_template_new(ig_text source)
{
    chat_template *t = memory_new(sizeof *t);
    if (!t)
        return NULL;
    t->memory.most = MEMORY_MOST;
    if (template_read(t, source) == IG_OK)
        return t;
    chat_template_free(t);
    return NULL;
}

void chat_template_free(chat_template *t)
{
    if (!t)
        return;
    chat_arena_free(&t->memory);
    vocabulary_free(&t->symbols);
    memory_free(t);
}

/* ---- rendering ------------------------------------------------------------------------------ */

static ig_status variables_read(render *r, ig_text json)
{
    json_reader j;
    json_begin(&j, json.at, json.bytes);
    if (json_peek(&j) == JSON_OBJECT)
        r->variables = chat_dict_read(r, &j, true).as.dict;
    else
        json_skip(&j);
    const ig_status status = json_end(&j);
    if (status == IG_OK && !r->failed && r->variables)
        return IG_OK;
    if (status != IG_ERR_MEMORY && !r->failed)
        FAIL(IG_ERR_FORMAT, "the variables of the chat template are not a JSON object %s",
             status == IG_OK ? "" : j.problem);
    return error_waiting(IG_ERR_MEMORY);
}

/* Copies the text, and the ranges of bytes that come from data. */
static chat_text *text_copy(string s)
{
    size_t ranges = 0;
    for (size_t i = 0; s.from && i < s.n; i++)
        ranges += s.from[i] && (i == 0 || !s.from[i - 1]);
    const size_t head = sizeof(chat_text) + ranges * sizeof(text_range);
    chat_text *out = memory_new(head + s.n + 1);
    if (!out)
        return NULL;
    text_range *at = (text_range *)(out + 1);
    char *chars = (char *)out + head;
    *out = (chat_text){chars, s.n, at, (int)ranges};
    memcpy(chars, s.at, s.n);
    for (size_t i = 0; s.from && i < s.n; i++) {
        if (!s.from[i])
            continue;
        const size_t first = i;
        while (i < s.n && s.from[i])
            i++;
        *at++ = (text_range){first, i};
    }
    return out;
}

chat_text *chat_template_render(const chat_template *t, ig_text variables, int64_t now)
{
    builder out = {0};
    render r = {.t = t, .memory.most = MEMORY_MOST, .out = &out, .steps = STEPS_MOST, .line = 1};
    chat_text *result = NULL;
    r.now = now > 0 ? now : (int64_t)time(NULL);
    if (variables_read(&r, variables) == IG_OK) {
        statements_run(&r, frame_new(&r, NULL), &t->body);
        if (!r.failed)
            result = text_copy(builder_string(&out));
    }
    chat_arena_free(&r.memory);
    return result;
}
