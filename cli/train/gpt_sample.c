/* Texts that a trained model continues. See gpt_sample.h. */
#include "gpt_sample.h"

#include "base/memory.h"
#include "lib/decoder/decoder.h"
#include <string.h>

static ig_status add(void *context, const generated *g)
{
    str_add(context, g->text.at, g->text.bytes);
    return IG_OK;
}

static ig_status sample(decoder *d, const tokens_of *k, session *s, const char *prompt, int64_t n,
                        uint64_t seed, str *out)
{
    int64_t begin;
    generation_result result;
    generation how = {.tokens = n, .sampling = sampling_default, .visit = add, .context = out};
    how.sampling.seed = seed;
    int32_t *ids = tokens_encode(k, (ig_text){prompt, strlen(prompt)}, &begin);
    const int64_t room = d->config.context - begin;
    how.tokens = n < room ? n : room;
    const ig_status status = ids ? generate(s, k, ids, begin, &how, &result) : IG_ERR_MEMORY;
    memory_free(ids);
    return status;
}

int gpt_sample_print(const command *c, const char *folder, const char *prompt, int64_t n,
                     uint64_t seed)
{
    str out = {0};
    decoder *d = decoder_open(folder);
    tokens_of *k = d ? tokens_open(d) : NULL;
    session *s = k ? session_new(d, d->config.context) : NULL;
    const bool fine = s && sample(d, k, s, prompt, n, seed, &out) == IG_OK;
    session_free(s);
    tokens_close(k);
    decoder_close(d);
    if (fine)
        text_printf(stderr, "%s%s\n", prompt, out.s ? out.s : "");
    str_free(&out);
    return fine ? -1 : fail_library(c);
}
