/* ingot serve: answers requests to a decoder model over HTTP. */
#include "../progress.h"
#include "common.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/decoder/lora.h"
#include "lib/serve/server.h"

/* A port; 0: any free one. */
static bool option_port(const char *s, void *place)
{
    uint64_t port;
    if (!option_seed(s, &port) || port > 65535)
        return false;
    *(int64_t *)place = (int64_t)port;
    return true;
}

/* The name of the model in answers: its file, without folders and suffix. */
static void name_make(const char *path, char name[256])
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t first = n;
    while (first > 0 && path[first - 1] != '/')
        first--;
    if (n - first > 5 && memcmp(path + n - 5, ".gguf", 5) == 0)
        n -= 5;
    snprintf(name, 256, "%.*s", (int)(n - first), path + first);
}

int verb_serve(int argc, char **argv)
{
    text_settings set = {0};
    server_options o = server_options_default;
    uint64_t body = (uint64_t)o.body_most;
    cache_settings cache = {0};
    char name[256];
    o.sampling = sampling_default;
    o.sampling.temperature = 0;
    const option options[] = {
        {"--model", 'm', "FILE", option_text, &set.model, "the model: a .gguf file or a folder"},
        {"--port", 'p', "N", option_port, &o.port, "the port (8080); 0: any free one"},
        {"--address", 0, "IP", option_text, &o.address,
         "the address that is listened to (127.0.0.1: only this machine)"},
        {"--key", 0, "TEXT", option_text, &o.key,
         "requests must have it: Authorization: Bearer TEXT"},
        {"--name", 0, "TEXT", option_text, &o.name, "the name of the model (that of its file)"},
        {"--template", 0, "FILE", option_text, &o.template_path,
         "a chat template instead of the model's"},
        {"--texts", 0, "N", option_count, &o.texts, "answers at the same time, at most 256 (4)"},
        {"--context", 0, "N", option_count, &o.context,
         "tokens of a prompt and its answer (the model's context, at most 2048)"},
        {"--queue", 0, "N", option_count, &o.queue, "requests that wait, at most (256)"},
        {"--body", 0, "SIZE", option_bytes, &body, "bytes of a request, at most (4MiB)"},
        {"--seconds", 0, "N", option_count, &o.seconds, "time of a request, at most (600)"},
        LORA_OPTION(set.lora),
        CACHE_OPTIONS(cache),
        SAMPLING_OPTIONS(o.sampling),
        ENGINE_OPTIONS(set.engine),
        {0}};
    const command c = {
        "serve", "--model FILE [options]",
        "Answers requests in OpenAI's form over HTTP: /v1/chat/completions, /v1/completions,\n"
        "/v1/embeddings, /v1/models, /health, /metrics, and a chat page. Several answers are made "
        "at\n"
        "the same time. Options for drawing tokens hold for requests that do not say otherwise.\n"
        "Needs the library libmicrohttpd. Ctrl-C ends it.\n\n"
        "  ingot serve --model SmolLM2.gguf --port 8080",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &set.engine);
    if (code < 0 && (!set.model || argc > 0 || o.texts > 256 || o.queue > 10000)) {
        say(&c, !set.model ? "--model FILE is missing; see 'ingot serve --help'"
                : argc > 0 ? "it takes no words; see 'ingot serve --help'"
                           : "--texts is at most 256, --queue at most 10000");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    o.body_most = (int64_t)(body < INT32_MAX ? body : INT32_MAX);
    name_make(set.model, name);
    o.name = o.name ? o.name : name;
    signal(SIGPIPE, SIG_IGN); /* clients may leave */
    decoder *d = decoder_open_adapted(set.model, set.lora);
    const bool fine = d && cache_choose(d, cache.form, cache.limit) == IG_OK;
    tokens_of *k = fine ? tokens_open(d) : NULL;
    server *s = k ? server_new(d, k, &o) : NULL;
    interrupt_watch();
    interrupt_cancel();
    if (s)
        say(&c, "listening at http://%s:%d/", o.address, server_port(s));
    code = s && server_run(s, interrupt_asked) == IG_OK ? EXIT_FINE : fail_library(&c);
    server_free(s);
    tokens_close(k);
    decoder_close(d);
    return code;
}
