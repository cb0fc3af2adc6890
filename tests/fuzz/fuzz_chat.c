/* Chat templates on any bytes: a template, optionally with a zero byte and the variables as JSON after it. Errors must have a
 * message, and ranges of data must be in order and within the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lib/chat/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char usual[] = "{\"messages\":[{\"role\":\"user\",\"content\":\" Hi <b> "
                            "\xc3\xa9\\n\"},{\"role\":\"assistant\",\"content\":null,"
                            "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1,"
                            "\"b\":[1.5,true]}}}]}],\"bos_token\":\"<s>\","
                            "\"add_generation_prompt\":true}";

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_chat: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    const char *chars = (const char *)data, *zero = size ? memchr(chars, 0, size) : NULL;
    const size_t n = zero ? (size_t)(zero - chars) : size;
    const ig_text source = {chars, n};
    const ig_text variables =
        zero ? (ig_text){zero + 1, size - n - 1} : (ig_text){usual, sizeof usual - 1};
    chat_template *t = chat_template_new(source);
    chat_text *text = t ? chat_template_render(t, variables, 1700000000) : NULL;
    check(text || ig_error(NULL), "it failed without an error");
    size_t at = 0;
    for (int i = 0; text && i < text->n_data; i++) {
        check(text->data[i].first >= at && text->data[i].last > text->data[i].first &&
                  text->data[i].last <= text->bytes,
              "a range of data is wrong");
        at = text->data[i].last;
    }
    memory_free(text);
    chat_template_free(t);
    return 0;
}
