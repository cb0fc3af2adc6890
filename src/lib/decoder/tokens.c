/* The tokenizer of a decoder, and the bytes of each token. The text of a user never becomes a control token. */
#include "lib/decoder/decoder.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "lib/chat/chat.h"
#include "lib/text/tokenizer.h"
#include "lib/text/unicode.h"

#include <stdio.h>
#include <string.h>

enum { KIND_NORMAL = 1, KIND_UNKNOWN, KIND_CONTROL, KIND_USER, KIND_UNUSED, KIND_BYTE };

struct tokens_of {
    ig_tokenizer *tokenizer;
    int64_t n;
    ig_text *pieces; /* of GGUF files; NULL: ask the tokenizer */
    unsigned char *kinds;
    bool
        by_bytes; /* characters stand for bytes, as in GPT-2; otherwise pieces are text with U+2581 for blanks */
    int16_t byte_of[512];
    int32_t bos, ends[8];
    int n_ends;
    bool adds_bos;
};

/* ---- the byte alphabet ----------------------------------------------------------------------- */

static bool is_visible(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

static void alphabet_make(int16_t byte_of[512])
{
    for (int i = 0; i < 512; i++)
        byte_of[i] = -1;
    for (int byte = 0, next = 256; byte < 256; byte++)
        byte_of[is_visible(byte) ? byte : next++] = (int16_t)byte;
}

/* ---- GGUF ------------------------------------------------------------------------------------ */

static void end_add(tokens_of *k, int64_t id)
{
    for (int i = 0; i < k->n_ends; i++)
        if (k->ends[i] == id)
            return;
    if (id >= 0 && id < k->n && k->n_ends < (int)(sizeof k->ends / sizeof *k->ends))
        k->ends[k->n_ends++] = (int32_t)id;
}

/* Control tokens that end a turn, whatever the file calls its last token. */
static const char *const turn_ends[] = {"<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>",
                                        "<|endoftext|>"};

/* Finds out whether texts begin with a first token. */
static ig_status begin_find(tokens_of *k)
{
    const ig_text empty = {"", 0};
    ig_encoding *e = ig_tokenizer_encode(k->tokenizer, &empty, NULL, 1, NULL);
    k->adds_bos = e && e->n > 0 && e->ids[0] == k->bos;
    ig_free(e);
    return e ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status gguf_tokens(tokens_of *k, const gguf *g)
{
    uint64_t n = 0;
    k->pieces = gguf_texts(g, "tokenizer.ggml.tokens", &n);
    if (!k->pieces)
        return error_waiting(IG_ERR_FORMAT);
    const gguf_value *kinds = gguf_find(g, "tokenizer.ggml.token_type");
    k->n = (int64_t)n;
    k->kinds = memory_new((size_t)n + 1);
    if (!k->kinds)
        return IG_ERR_MEMORY;
    if (kinds && kinds->n != n)
        return gguf_fail(
            g, IG_ERR_FORMAT,
            "key 'tokenizer.ggml.token_type' has %llu items for %llu tokens; convert it again",
            (unsigned long long)kinds->n, (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        k->kinds[i] = kinds ? (unsigned char)gguf_item_int(kinds, i) : KIND_NORMAL;
    k->bos = (int32_t)gguf_int(g, "tokenizer.ggml.bos_token_id", -1);
    end_add(k, gguf_int(g, "tokenizer.ggml.eos_token_id", -1));
    end_add(k, gguf_int(g, "tokenizer.ggml.eot_token_id", -1));
    for (int64_t i = 0; i < k->n; i++)
        for (size_t e = 0; e < sizeof turn_ends / sizeof *turn_ends && k->kinds[i] == KIND_CONTROL;
             e++)
            if (k->pieces[i].bytes == strlen(turn_ends[e]) &&
                memcmp(k->pieces[i].at, turn_ends[e], k->pieces[i].bytes) == 0)
                end_add(k, i);
    k->by_bytes = gguf_text_is(g, "tokenizer.ggml.model", "gpt2");
    k->tokenizer = tokenizer_read_gguf(g);
    return k->tokenizer ? begin_find(k) : error_waiting(IG_ERR_MEMORY);
}

/* ---- folders --------------------------------------------------------------------------------- */

static ig_status folder_tokens(tokens_of *k, const char *folder)
{
    json_file f;
    k->tokenizer = ig_tokenizer_load(folder);
    if (!k->tokenizer)
        return error_waiting(IG_ERR_FILE);
    k->n = ig_tokenizer_count(k->tokenizer);
    k->by_bytes = ig_tokenizer_id(k->tokenizer, "\xc4\xa0") >= 0; /* a blank in the byte alphabet */
    ig_status status = json_file_open(&f, folder, "generation_config.json", true);
    if (status == IG_OK && !field_given(field_get(f.root, "eos_token_id"))) {
        json_file_close(&f);
        status = json_file_open(&f, folder, "config.json", true);
    }
    const field ends = field_get(f.root, "eos_token_id");
    if (status == IG_OK && ends.kind == JSON_ARRAY) {
        json_reader r;
        json_begin(&r, ends.at, ends.bytes);
        json_open_array(&r);
        while (json_next_item(&r)) {
            uint64_t id = 0;
            if (json_read_uint(&r, &id) && id < INT32_MAX)
                end_add(k, (int64_t)id);
        }
        json_end(&r);
    } else {
        end_add(k, field_int(ends, -1));
    }
    json_file_close(&f);
    return status;
}

/* The tokenizer of a GGUF file that holds a tokenizer.json. */
static ig_status gguf_json_tokens(tokens_of *k, const gguf *g)
{
    const ig_text source = gguf_text(g, "tokenizer.huggingface.json");
    TRY(unicode_load());
    k->tokenizer = tokenizer_parse(source.at, source.bytes, NULL, &(tokenizer_more){0});
    if (!k->tokenizer)
        return error_waiting(IG_ERR_FORMAT);
    k->n = ig_tokenizer_count(k->tokenizer);
    k->by_bytes = ig_tokenizer_id(k->tokenizer, "\xc4\xa0") >= 0;
    const gguf_value *ends = gguf_find(g, "tokenizer.ggml.eos_token_ids");
    for (uint64_t i = 0; ends && i < ends->n; i++)
        end_add(k, gguf_item_int(ends, i));
    return IG_OK;
}

/* ---- use ------------------------------------------------------------------------------------- */

tokens_of *tokens_open(const decoder *d)
{
    tokens_of *k = memory_new(sizeof *k);
    if (!k)
        return NULL;
    k->bos = -1;
    alphabet_make(k->byte_of);
    const bool by_json = d->is_gguf && !gguf_find(d->file, "tokenizer.ggml.model") &&
                         gguf_text(d->file, "tokenizer.huggingface.json").at;
    if ((by_json      ? gguf_json_tokens(k, d->file)
         : d->is_gguf ? gguf_tokens(k, d->file)
                      : folder_tokens(k, d->path)) == IG_OK)
        return k;
    tokens_close(k);
    return NULL;
}

void tokens_close(tokens_of *k)
{
    if (!k)
        return;
    ig_tokenizer_free(k->tokenizer);
    memory_free(k->pieces);
    memory_free(k->kinds);
    memory_free(k);
}

/* The ids of an encoding, which is freed. begins: with the first token of texts in front. */
static int32_t *ids_of(const tokens_of *k, ig_encoding *e, bool begins, int64_t *n)
{
    int32_t *ids = e ? memory_get(((size_t)e->n + 1) * sizeof *ids) : NULL;
    *n = 0;
    if (ids && begins)
        ids[(*n)++] = k->bos;
    for (int i = 0; ids && i < e->n; i++)
        ids[(*n)++] = e->ids[i];
    ig_free(e);
    return ids;
}

int32_t *tokens_encode(const tokens_of *k, ig_text s, int64_t *n)
{
    const ig_encode_options options = {
        .size = sizeof options, .max_length = -1, .pad = -1, .plain = k->pieces != NULL};
    int32_t *ids =
        ids_of(k, ig_tokenizer_encode(k->tokenizer, &s, NULL, 1, &options), k->adds_bos, n);
    if (ids && *n == 0 && k->bos >= 0) /* an empty text begins with the first token */
        ids[(*n)++] = k->bos;
    return ids;
}

void tokens_begin(const tokens_of *k, int32_t *id)
{
    if (k->adds_bos)
        *id = k->bos;
}

int32_t *tokens_encode_chat(const tokens_of *k, const chat_text *s, int64_t *n)
{
    const ig_text chars = {s->at, s->bytes};
    return ids_of(k, tokenizer_encode_marked(k->tokenizer, chars, s->data, s->n_data), false, n);
}

const char *tokens_begin_text(const tokens_of *k)
{
    const char *chars = k->bos >= 0 ? ig_tokenizer_token(k->tokenizer, k->bos) : NULL;
    return chars ? chars : "";
}

const char *tokens_end_text(const tokens_of *k)
{
    const char *chars = k->n_ends ? ig_tokenizer_token(k->tokenizer, k->ends[0]) : NULL;
    return chars ? chars : "";
}

bool tokens_is_end(const tokens_of *k, int32_t id)
{
    for (int i = 0; i < k->n_ends; i++)
        if (k->ends[i] == id)
            return true;
    return false;
}

int tokens_ends(const tokens_of *k, const int32_t **ids)
{
    *ids = k->ends;
    return k->n_ends;
}

/* The byte of a piece such as <0x0A>; -1: none. */
static int byte_piece(ig_text p)
{
    unsigned byte = 0;
    char copy[8] = "";
    if (p.bytes != 6 || memcmp(p.at, "<0x", 3) != 0)
        return -1;
    memcpy(copy, p.at, 6);
    return sscanf(copy, "<0x%2X>", &byte) == 1 ? (int)byte : -1;
}

static size_t bytes_decode(const tokens_of *k, ig_text p, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < p.bytes;) {
        const unsigned char c = (unsigned char)p.at[i];
        /* The alphabet ends at U+0143; other characters of added tokens stand for themselves. */
        const int wide = c >= 0xc2 && c <= 0xc5 && i + 1 < p.bytes ? 2 : 1;
        const int code = wide == 1 ? c : (c & 31) << 6 | (p.at[i + 1] & 63);
        if ((wide == 2 || c < 0x80) && k->byte_of[code] >= 0)
            out[n++] = (char)k->byte_of[code];
        else
            for (int j = 0; j < wide; j++)
                out[n++] = p.at[i + (size_t)j];
        i += (size_t)wide;
    }
    return n;
}

static size_t blanks_decode(ig_text p, char *out)
{
    size_t n = 0;
    const int byte = byte_piece(p);
    if (byte >= 0) {
        out[0] = (char)byte;
        return 1;
    }
    for (size_t i = 0; i < p.bytes;)
        if (p.bytes - i >= 3 && memcmp(p.at + i, "\xe2\x96\x81", 3) == 0) {
            out[n++] = ' ';
            i += 3;
        } else {
            out[n++] = p.at[i++];
        }
    return n;
}

size_t tokens_decode(const tokens_of *k, int32_t id, char out[TOKEN_BYTES])
{
    const char *plain = k->pieces ? NULL : ig_tokenizer_token(k->tokenizer, id);
    const bool hidden = k->kinds && id >= 0 && id < k->n && k->kinds[id] == KIND_CONTROL;
    if (id < 0 || id >= k->n || hidden || (!k->pieces && !plain))
        return 0;
    ig_text p = k->pieces ? k->pieces[id] : (ig_text){plain, strlen(plain)};
    p.bytes = p.bytes < TOKEN_BYTES ? p.bytes : TOKEN_BYTES;
    return k->by_bytes ? bytes_decode(k, p, out) : blanks_decode(p, out);
}

bool tokens_same(const decoder *d, const tokens_of *k)
{
    char a[TOKEN_BYTES], b[TOKEN_BYTES];
    tokens_of *other = tokens_open(d);
    bool same = other && other->n == k->n;
    for (int32_t i = 0; same && i < k->n; i++) {
        const size_t n = tokens_decode(k, i, a);
        same = tokens_decode(other, i, b) == n && memcmp(a, b, n) == 0;
    }
    tokens_close(other);
    return same;
}
