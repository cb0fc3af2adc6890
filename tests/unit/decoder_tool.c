/* Computes logits of a decoder, for tests/test_decoder.py and tests/test_lora.py.
 *
 * decoder_tool MODEL FIRST ID...: reads the first FIRST tokens at once, the rest one by one, and writes the logits after each
 * token to standard output, as f32. LORA names a folder of adapters. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/decoder/lora.h"

static ig_status write_row(void *context, int64_t token, const float *logits)
{
    const decoder *d = context;
    (void)token;
    fwrite(logits, sizeof *logits, (size_t)d->config.vocabulary, stdout);
    return IG_OK;
}

static ig_status run(decoder *d, int64_t first, const int32_t *ids, int64_t n)
{
    session *s = session_new(d, n);
    ig_status status = s ? session_each(s, ids, first, write_row, d) : IG_ERR_ARGUMENT;
    for (int64_t i = first; i < n && status == IG_OK; i++) {
        const float *logits = session_add(s, ids + i, 1);
        status = logits ? write_row(d, i, logits) : IG_ERR_ARGUMENT;
    }
    session_free(s);
    return status;
}

int main(int argc, char **argv)
{
    decoder *d = argc > 3 ? decoder_open_adapted(argv[1], getenv("LORA")) : NULL;
    int32_t *ids = d ? memory_get((size_t)argc * sizeof *ids) : NULL;
    const int n = argc - 3;
    for (int i = 0; ids && i < n; i++)
        ids[i] = atoi(argv[3 + i]);
    const ig_status status = ids ? run(d, atoi(argv[2]), ids, n) : IG_ERR_ARGUMENT;
    if (status != IG_OK)
        fprintf(stderr, "%s\n",
                ig_failed() ? ig_error(NULL) : "usage: decoder_tool MODEL FIRST ID...");
    memory_free(ids);
    decoder_close(d);
    ig_shutdown();
    return status != IG_OK;
}
