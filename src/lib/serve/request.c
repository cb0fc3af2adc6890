/* Requests in OpenAI's form: see request.h. A field that is unknown, or that would be ignored, is refused by name. */
#include "lib/serve/request.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 2048, TOKENS_MOST = 1 << 24 };

typedef struct request {
    asked *a;
    mistake *m;
} request;

static bool wrong(const request *q, const char *name, const char *problem)
{
    snprintf(q->m->field, sizeof q->m->field, "%s", name);
    snprintf(q->m->problem, sizeof q->m->problem, "%s", problem);
    return false;
}

/* The library's pending error as a mistake. */
static bool wrong_error(const request *q, const char *name)
{
    const char *error = ig_error(NULL);
    return wrong(q, name, error ? error : "it cannot be read");
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct number_row {
    const char *name;
    size_t offset; /* in `sampling` */
    enum { AS_DOUBLE, AS_INTEGER } form;
    double low, high;
} number_row;

static const number_row numbers[] = {
    {"temperature", offsetof(sampling, temperature), AS_DOUBLE, 0, 100},
    {"top_p", offsetof(sampling, top_p), AS_DOUBLE, 0, 1},
    {"min_p", offsetof(sampling, min_p), AS_DOUBLE, 0, 1},
    {"typical_p", offsetof(sampling, typical), AS_DOUBLE, 0, 1},
    {"top_k", offsetof(sampling, top_k), AS_INTEGER, 0, 1e9},
    {"presence_penalty", offsetof(sampling, presence), AS_DOUBLE, -100, 100},
    {"frequency_penalty", offsetof(sampling, frequency), AS_DOUBLE, -100, 100},
    {"repetition_penalty", offsetof(sampling, repetition), AS_DOUBLE, 1e-6, 1e6},
    {0}};

static bool number_read(request *q, const number_row *row, field f)
{
    char problem[128];
    char *place = (char *)&q->a->sampling + row->offset;
    const double x = field_number(f, -1e300);
    const bool whole = row->form == AS_DOUBLE || x == (double)field_int(f, -1);
    snprintf(problem, sizeof problem, "it must be %s from %g to %g",
             row->form == AS_INTEGER ? "an integer" : "a number", row->low, row->high);
    if (f.kind != JSON_NUMBER || !(x >= row->low && x <= row->high) || !whole)
        return wrong(q, row->name, problem);
    if (row->form == AS_INTEGER)
        *(int64_t *)place = (int64_t)x;
    else
        *(double *)place = x;
    return true;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool bool_read(request *q, const char *name, field f, bool *out)
{
    *out = field_bool(f, false);
    return f.kind == JSON_BOOL || wrong(q, name, "it must be true or false");
}

static bool tokens_read(request *q, const char *name, field f)
{
    q->a->tokens = field_int(f, -1);
    return (f.kind == JSON_NUMBER && q->a->tokens >= 0 && q->a->tokens <= TOKENS_MOST) ||
           wrong(q, name, "it must be an integer that is not negative");
}

static ig_status stop_add(void *context, json_text key, field value)
{
    asked *a = context;
    (void)key;
    if (value.kind != JSON_TEXT || a->n_stops == STOPS_MOST)
        return IG_ERR_ARGUMENT;
    a->stops[a->n_stops] = field_text(value, NULL);
    if (!a->stops[a->n_stops])
        return IG_ERR_MEMORY;
    return *a->stops[a->n_stops++] ? IG_OK : IG_ERR_ARGUMENT;
}

static bool stop_read(request *q, field f)
{
    const bool fine = f.kind == JSON_TEXT
                          ? stop_add(q->a, (json_text){0}, f) == IG_OK
                          : f.kind == JSON_ARRAY && field_each(f, stop_add, q->a) == IG_OK;
    return fine || wrong(q, "stop", "it must be a text that is not empty, or an array of up to 16");
}

static bool format_read(request *q, field f)
{
    static const char any[] = "{\"type\": \"object\"}";
    const field type = field_get(f, "type"), schema = field_get(f, "json_schema.schema");
    if (field_is(type, "text"))
        return true;
    if (q->a->grammar)
        return wrong(q, "response_format", "it excludes 'grammar'");
    if (field_is(type, "json_object"))
        q->a->grammar = grammar_from_schema((ig_text){any, sizeof any - 1});
    else if (!field_is(type, "json_schema"))
        return wrong(q, "response_format.type", "it must be text, json_object or json_schema");
    else if (schema.kind != JSON_OBJECT)
        return wrong(q, "response_format.json_schema.schema", "it must be an object");
    else
        q->a->grammar = grammar_from_schema((ig_text){schema.at, schema.bytes});
    return q->a->grammar || wrong_error(q, "response_format.json_schema.schema");
}

static bool grammar_read(request *q, field f)
{
    size_t bytes = 0;
    char *source = field_text(f, &bytes);
    if (!source)
        return wrong(q, "grammar", "it must be a text in GBNF");
    if (q->a->grammar)
        return memory_free(source), wrong(q, "grammar", "it excludes 'response_format'");
    q->a->grammar = grammar_new((ig_text){source, bytes});
    memory_free(source);
    return q->a->grammar || wrong_error(q, "grammar");
}

/* ---- messages -------------------------------------------------------------------------------- */

typedef struct message_reader {
    request *q;
    text *out;
    int n;
    text parts; /* the texts of the content */
    int n_parts;
} message_reader;

static ig_status part_add(void *context, json_text key, field value)
{
    message_reader *r = context;
    char name[96];
    (void)key;
    char *chars = field_is(field_get(value, "type"), "text")
                      ? field_text(field_get(value, "text"), NULL)
                      : NULL;
    if (!chars) {
        snprintf(name, sizeof name, "messages[%d].content[%d]", r->n, r->n_parts);
        wrong(r->q, name,
              "it must be {\"type\": \"text\", \"text\": ...}; other parts are not supported");
        return IG_ERR_ARGUMENT;
    }
    text_add(&r->parts, "%s", chars);
    r->n_parts++;
    memory_free(chars);
    return IG_OK;
}

static ig_status message_read(void *context, json_text key, field value)
{
    message_reader *r = context;
    const field from = field_get(value, "role"), content = field_get(value, "content");
    char name[96];
    (void)key;
    snprintf(name, sizeof name, "messages[%d]%s", r->n,
             value.kind != JSON_OBJECT ? ""
             : from.kind != JSON_TEXT  ? ".role"
                                       : ".content");
    if (value.kind != JSON_OBJECT || from.kind != JSON_TEXT) {
        wrong(r->q, name, value.kind != JSON_OBJECT ? "it must be an object" : "it must be a text");
        return IG_ERR_ARGUMENT;
    }
    text_add(r->out, r->n ? ", " : "");
    if (content.kind == JSON_TEXT) {
        text_add(r->out, "%.*s", (int)value.bytes, value.at);
    } else if (content.kind == JSON_ARRAY) {
        TRY(field_each(content, part_add, r));
        text_add(r->out, "{\"role\": %.*s, \"content\": ", (int)from.bytes, from.at);
        json_quote(r->out, r->parts.at ? r->parts.at : "");
        text_add(r->out, "}");
        text_drop(&r->parts);
        r->n_parts = 0;
    } else {
        wrong(r->q, name, "it must be a text or an array of texts");
        return IG_ERR_ARGUMENT;
    }
    r->n++;
    return IG_OK;
}

static bool messages_read(request *q, field f)
{
    text out = {0};
    message_reader r = {.q = q, .out = &out};
    if (f.kind != JSON_ARRAY)
        return wrong(q, "messages", "it must be an array");
    text_add(&out, "[");
    const bool fine = field_each(f, message_read, &r) == IG_OK;
    text_add(&out, "]");
    text_drop(&r.parts);
    memory_free(q->a->messages);
    q->a->messages = fine && r.n ? text_take(&out) : NULL;
    text_drop(&out);
    if (q->a->messages || *q->m->field)
        return q->a->messages != NULL;
    return wrong(q, "messages", "it is empty");
}

/* ---- embeddings ------------------------------------------------------------------------------ */

static ig_status input_add(void *context, json_text key, field value)
{
    asked *a = context;
    size_t bytes = 0;
    (void)key;
    char *chars = field_text(value, &bytes);
    if (!chars || a->n_inputs == INPUTS_MOST ||
        !memory_room(&a->inputs, a->n_inputs, &a->inputs_room, sizeof *a->inputs)) {
        memory_free(chars);
        return IG_ERR_ARGUMENT;
    }
    a->inputs[a->n_inputs++] = (ig_text){chars, bytes};
    return IG_OK;
}

static bool inputs_read(request *q, field f)
{
    const bool fine = f.kind == JSON_TEXT
                          ? input_add(q->a, (json_text){0}, f) == IG_OK
                          : f.kind == JSON_ARRAY && field_each(f, input_add, q->a) == IG_OK;
    return (fine && q->a->n_inputs) ||
           wrong(q, "input", "it must be a text, or an array of up to 2048 texts");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Fields that change nothing here, and fields of which only one value is supported. */
static const char *const ignored[] = {
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", NULL};

static bool only_value(request *q, json_text key, field f, bool *known)
{
    static const struct {
        const char *name, *value, *problem;
    } rows[] = {{"n", "1", "only 1 is supported"},
                {"best_of", "1", "only 1 is supported"},
                {"echo", "false", "only false is supported"},
                {"top_logprobs", "0", "only 0 is supported: the chosen token"},
                {"parallel_tool_calls", "false", "tools are not supported"},
                {"encoding_format", "\"float\"", "only float is supported"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (json_text_is(key, rows[i].name)) {
            *known = true;
            return (f.bytes == strlen(rows[i].value) &&
                    memcmp(f.at, rows[i].value, f.bytes) == 0) ||
                   wrong(q, rows[i].name, rows[i].problem);
        }
    for (int i = 0; ignored[i]; i++)
        *known = *known || json_text_is(key, ignored[i]);
    return true;
}

/* Fields of all requests that generate. */
static bool generation_field(request *q, json_text key, field f, bool *known)
{
    asked *a = q->a;
    *known = true;
    for (const number_row *row = numbers; row->name; row++)
        if (json_text_is(key, row->name))
            return number_read(q, row, f);
    if (json_text_is(key, "seed")) {
        a->seeded = true;
        a->sampling.seed = (uint64_t)field_int(f, 0);
        return f.kind == JSON_NUMBER || wrong(q, "seed", "it must be an integer");
    }
    if (json_text_is(key, "max_tokens"))
        return tokens_read(q, "max_tokens", f);
    if (json_text_is(key, "max_completion_tokens"))
        return tokens_read(q, "max_completion_tokens", f);
    if (json_text_is(key, "stop"))
        return stop_read(q, f);
    if (json_text_is(key, "stream"))
        return bool_read(q, "stream", f, &a->stream);
    if (json_text_is(key, "ignore_eos"))
        return bool_read(q, "ignore_eos", f, &a->ignores_end);
    if (json_text_is(key, "stream_options")) {
        a->usage = field_bool(field_get(f, "include_usage"), false);
        return f.kind == JSON_OBJECT || wrong(q, "stream_options", "it must be an object");
    }
    if (json_text_is(key, "response_format"))
        return format_read(q, f);
    if (json_text_is(key, "grammar"))
        return grammar_read(q, f);
    *known = false;
    return true;
}

/* Fields of one kind of requests. */
static bool own_field(request *q, json_text key, field f, bool *known)
{
    asked *a = q->a;
    *known = true;
    if (a->kind == ASKED_CHAT && json_text_is(key, "messages"))
        return messages_read(q, f);
    if (a->kind == ASKED_CHAT && json_text_is(key, "logprobs"))
        return bool_read(q, "logprobs", f, &a->logprobs);
    if (a->kind == ASKED_COMPLETION && json_text_is(key, "logprobs")) {
        a->logprobs = true;
        return field_int(f, -1) == 0 ||
               wrong(q, "logprobs", "only 0 is supported: the chosen token");
    }
    if (a->kind == ASKED_COMPLETION && json_text_is(key, "prompt")) {
        memory_free(a->prompt);
        a->prompt = field_text(f, &a->prompt_bytes);
        return a->prompt || wrong(q, "prompt", "it must be one text");
    }
    if (a->kind == ASKED_EMBEDDINGS && json_text_is(key, "input"))
        return inputs_read(q, f);
    *known = false;
    return true;
}

static ig_status field_read(void *context, json_text key, field value)
{
    request *q = context;
    bool known = json_text_is(key, "model");
    bool fine = !known || value.kind == JSON_TEXT || wrong(q, "model", "it must be a text");
    const bool needed =
        json_text_is(key, "messages") || json_text_is(key, "prompt") || json_text_is(key, "input");
    if (!known && value.kind == JSON_NULL && !needed)
        return IG_OK; /* as if it were not there */
    if (!known)
        fine = own_field(q, key, value, &known);
    if (!known)
        fine = only_value(q, key, value, &known);
    if (!known && q->a->kind != ASKED_EMBEDDINGS)
        fine = generation_field(q, key, value, &known);
    if (!known) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(key.bytes < 60 ? key.bytes : 60), key.at);
        fine = wrong(q, name, "this field is not supported");
    }
    return fine ? IG_OK : IG_ERR_ARGUMENT;
}

bool asked_read(asked *a, asked_kind kind, const sampling *usual, ig_text body, mistake *m)
{
    static const char *const needed[] = {"messages", "prompt", "input"};
    json_reader r;
    *a = (asked){.kind = kind, .sampling = *usual, .tokens = -1};
    *m = (mistake){0};
    request q = {.a = a, .m = m};
    json_begin(&r, body.at, body.bytes);
    const field root = field_take(&r);
    const ig_status status = json_end(&r);
    if (status == IG_ERR_FORMAT) {
        char problem[200];
        snprintf(problem, sizeof problem, "the body is not valid JSON: %s", r.problem);
        return wrong(&q, "", problem);
    }
    if (status != IG_OK)
        return false;
    if (root.kind != JSON_OBJECT)
        return wrong(&q, "", "the body must be a JSON object");
    if (field_each(root, field_read, &q) != IG_OK)
        return false;
    const bool there = kind == ASKED_CHAT         ? a->messages != NULL
                       : kind == ASKED_COMPLETION ? a->prompt != NULL
                                                  : a->n_inputs > 0;
    return there || wrong(&q, needed[kind], "it is missing");
}

void asked_free(asked *a)
{
    for (int i = 0; i < a->n_stops; i++)
        memory_free(a->stops[i]);
    for (int i = 0; i < a->n_inputs; i++)
        memory_free((void *)(uintptr_t)a->inputs[i].at);
    memory_free(a->inputs);
    memory_free(a->messages);
    memory_free(a->prompt);
    grammar_free(a->grammar);
    *a = (asked){0};
}
