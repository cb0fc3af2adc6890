/* Tokenizers on any bytes. The first byte chooses: the bytes are a tokenizer.json, which is loaded and encodes a text; or
 * they are a text for built-in tokenizers of each kind. Tokens must be within the text, and in order of ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const configs[] = {
    "{\"added_tokens\":[{\"id\":0,\"content\":\"[UNK]\",\"special\":true},{\"id\":9,\"content\":"
    "\"ab\",\"lstrip\":true,"
    "\"rstrip\":true,\"single_word\":true,\"normalized\":true}],\"normalizer\":{\"type\":"
    "\"BertNormalizer\"},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"unk_"
    "token\":\"[UNK]\","
    "\"vocab\":{\"[UNK]\":0,\"a\":1,\"##a\":2,\"b\":3,\"##b\":4,\"e\":5,\"##\\u0301\":6,"
    "\"\\u4e00\":7}}}",
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":"
    "\"Replace\",\"pattern\":"
    "{\"Regex\":\" {2,}\"},\"content\":\" "
    "\"}]},\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},"
    "\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"b\",1],\"cls\":[\"a\",0]},"
    "\"model\":{\"type\":\"BPE\",\"fuse_unk\":true,\"unk_token\":\"a\",\"vocab\":{\"a\":0,\"b\":1,"
    "\"ab\":2,"
    "\"\\u0120\":3,\"\\u0120ab\":4},\"merges\":[\"a b\",\"\\u0120 ab\"]}}",
    "{\"normalizer\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":"
    "\"\\u2581\","
    "\"prepend_scheme\":\"first\"},\"truncation\":{\"max_length\":9,\"strategy\":\"LongestFirst\","
    "\"stride\":0,"
    "\"direction\":\"Left\"},\"padding\":{\"strategy\":{\"Fixed\":12},\"pad_id\":0,\"direction\":"
    "\"Left\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"\\u2581\",-1],[\"a\","
    "-2],[\"ab\",-2.5],"
    "[\"\\u2581a\",-2]]}}",
};
enum { CONFIGS = sizeof configs / sizeof *configs };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_tokenizer: %s\n", what);
        abort();
    }
}

static ig_tokenizer *load(const char *text, size_t bytes)
{
    char path[] = "/tmp/ingot-fuzz-XXXXXX";
    const int fd = mkstemp(path);
    check(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes, "a file cannot be written");
    close(fd);
    ig_tokenizer *t = ig_tokenizer_load(path);
    unlink(path);
    return t;
}

static void encode(const ig_tokenizer *t, ig_text text)
{
    ig_encoding *e = ig_tokenizer_encode(t, &text, &text, 1, NULL);
    if (!e) {
        check(ig_error(NULL) != NULL, "it failed without an error");
        return;
    }
    for (int i = 0; i < e->n; i++) {
        check(e->starts[i] >= 0 && e->starts[i] <= e->ends[i] && (size_t)e->ends[i] <= text.bytes,
              "a token is outside the text");
        check(e->sequences[i] < 0 || e->mask[i] == 1, "a token of the text is padding");
    }
    ig_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ig_tokenizer *fixed[CONFIGS];
    if (size == 0)
        return 0;
    ig_set_threads(1);
    if (data[0] < 128) {
        const ig_text text = {(const char *)data + 1, size - 1};
        ig_tokenizer **t = &fixed[data[0] % CONFIGS];
        if (!*t)
            *t = load(configs[data[0] % CONFIGS], strlen(configs[data[0] % CONFIGS]));
        check(*t != NULL, "a tokenizer does not load");
        encode(*t, text);
        return 0;
    }
    ig_tokenizer *t = load((const char *)data + 1, size - 1);
    check(t || ig_error(NULL), "it failed without an error");
    if (t)
        encode(t, (ig_text){"a ab \xc3\xa9 \xff b\xe4\xb8\x80", 13});
    ig_tokenizer_free(t);
    return 0;
}
