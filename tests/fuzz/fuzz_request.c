/* Bodies of requests to ingot serve on any bytes; the first one chooses the kind of request. A body is read, or its mistake is
 * named, or an error is pending. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const asked_kind kinds[] = {ASKED_CHAT, ASKED_COMPLETION, ASKED_EMBEDDINGS};
    asked a;
    mistake m;
    if (size == 0 || size > 1 << 12)
        return 0;
    const ig_text body = {(const char *)data + 1, size - 1};
    const bool fine = asked_read(&a, kinds[data[0] % 3], &sampling_default, body, &m);
    if (!fine && !*m.problem && !ig_failed()) {
        fprintf(stderr, "fuzz_request: it failed without a message\n");
        abort();
    }
    asked_free(&a);
    ig_error(NULL);
    return 0;
}
