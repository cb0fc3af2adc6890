/* The JSON reader on any bytes: it ends, and what it reads keeps its meaning through json_quote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_json: %s\n", what);
        abort();
    }
}

/* A string without zero bytes, quoted anew, means the same. */
static void check_string(json_text string)
{
    text t = {0};
    json_reader r;
    json_text again;
    size_t bytes = 0;
    char *plain = json_text_copy(string, &bytes);
    check(plain && bytes <= string.bytes, "a string grew");
    if (strlen(plain) == bytes) {
        check(json_is_utf8(plain), "a string is not UTF-8");
        json_quote(&t, plain);
        char *quoted = text_take(&t);
        json_begin(&r, quoted, strlen(quoted));
        check(json_read_text(&r, &again) && json_end(&r) == IG_OK, "a quoted string is refused");
        char *second = json_text_copy(again, NULL);
        check(second && strcmp(plain, second) == 0, "a quoted string differs");
        memory_free(second);
        memory_free(quoted);
    }
    memory_free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_reader r;
    json_text string;
    json_begin(&r, size ? (const char *)data : "", size);
    json_skip(&r);
    const ig_status whole = json_end(&r);
    check(whole == IG_OK || r.problem[0], "no problem is told");

    json_begin(&r, size ? (const char *)data : "", size);
    json_open_array(&r);
    while (json_next_item(&r))
        if (json_peek(&r) != JSON_TEXT)
            json_skip(&r);
        else if (json_read_text(&r, &string))
            check_string(string);
    check(json_end(&r) != IG_OK || whole == IG_OK, "two ways through one text differ");
    return 0;
}
