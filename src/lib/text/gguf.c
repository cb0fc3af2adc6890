/* Tokenizers of GGUF files: byte-level BPE with the pre-tokenizer that the file names, and the BPE of sentencepiece, whose
 * merges follow from scores. The vocabulary becomes a model; the rest is written as a tokenizer.json and parsed. */
#include "lib/text/tokenizer.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

enum { KIND_NORMAL = 1, KIND_UNKNOWN, KIND_CONTROL, KIND_USER, KIND_UNUSED, KIND_BYTE };

/* ---- pre-tokenizers -------------------------------------------------------------------------- */

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS_2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define BLANKS "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORDS_4(digits) \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| " \
                 "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" BLANKS
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(end, digits) \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" end "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER \
    "*" end "|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" BLANKS
#define HAN "[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+"
#define MARKS \
    "[!\"#$%&'()*+,\\-./" \
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| " \
    "?[\\p{P}\\p{S}]+[\\r\\n]*|" BLANKS

enum { PATTERNS_MOST = 6 };

/* Expressions that cut a text one after the other. whole: a word that is a token is not merged. */
static const struct pre_row {
    const char *names; /* with blanks around each */
    bool whole, bos;
    const char *patterns[PATTERNS_MOST];
} pre_rows[] = {
    {" default ",
     false,
     false,
     {"[\\p{P}\\$\\+<=>\\^~\\|]+", WORDS_2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {" gpt-2 phi-2 olmo jais mpt trillion granite-docling roberta-bpe jina-es jina-de jina-v1-en "
     "jina-v2-es jina-v2-de "
     "jina-v2-code a.x-4.0 mellum gigachat exaone4 modern-bert ",
     false,
     false,
     {WORDS_2}},
    {" smollm starcoder refact command-r codeshell exaone minerva-7b mellum2 ",
     false,
     false,
     {"\\p{N}", WORDS_2}},
    {" llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 ",
     true,
     true,
     {WORDS_4("\\p{N}{1,3}")}},
    {" dbrx smaug-bpe chatglm-bpe glm4 ", false, false, {WORDS_4("\\p{N}{1,3}")}},
    {" qwen2 stablelm2 hunyuan solar-open deepseek-r1-qwen kormo megrez grok-2 ",
     false,
     false,
     {WORDS_4("\\p{N}")}},
    {" qwen35 ",
     false,
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
                   "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" BLANKS}},
    {" tekken ", true, true, {CASED("", "\\p{N}")}},
    {" gpt-4o llama4 kanana2 talkie minimax-m2 ",
     false,
     false,
     {CASED(CONTRACTIONS "?", "\\p{N}{1,3}")}},
    {" deepseek-llm ",
     false,
     false,
     {"[\\r\\n]", "\\s?[\\p{Lu}\\p{Ll}\\p{Lt}&&[^\\u10d0-\\u10ff]]+",
      "\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+", "\\s+$", HAN,
      "\\p{N}+"}},
    {" deepseek-coder ", false, false, {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", HAN, "\\p{N}"}},
    {" deepseek-v3 hunyuan-dense joyai-llm hy_v4 ",
     false,
     false,
     {"\\p{N}{1,3}", "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+", MARKS}},
    {" falcon ", false, false, {"[\\p{P}\\$\\+<=>\\^~\\|`]+", WORDS_2, "[0-9][0-9][0-9]"}},
    {" poro-chat bloom gpt3-finnish ",
     false,
     false,
     {" ?[^(\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+"}},
    {" viking ",
     false,
     false,
     {" ?[^(\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+", "\\p{N}"}},
    {" bailingmoe bailingmoe2 llada-moe ",
     false,
     false,
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {" seed-coder ",
     false,
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" BLANKS}},
    {" superbpe ", false, false, {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
};

/* NULL: the file names another one. */
static const struct pre_row *pre_find(ig_text name)
{
    char padded[64] = " ";
    if (name.bytes == 0)
        return &pre_rows[0];
    if (name.bytes > sizeof padded - 3 || memchr(name.at, ' ', name.bytes))
        return NULL;
    memcpy(padded + 1, name.at, name.bytes);
    memcpy(padded + 1 + name.bytes, " ", 2);
    for (size_t i = 0; i < sizeof pre_rows / sizeof *pre_rows; i++)
        if (strstr(pre_rows[i].names, padded))
            return &pre_rows[i];
    return NULL;
}

/* ---- the rest of a tokenizer.json ------------------------------------------------------------ */

/* The tables of a file. */
typedef struct source {
    const gguf *g;
    ig_text *tokens, *merges;
    uint64_t n, n_merges;
    const gguf_value *kinds, *scores;
    const struct pre_row *pre; /* of byte-level BPE */
    bool scored;
} source;

static int kind_of(const source *s, uint64_t i)
{
    return s->kinds ? (int)gguf_item_int(s->kinds, i) : KIND_NORMAL;
}

/* A terminated copy, for JSON. */
static char *copied(ig_text s)
{
    char *copy = memory_get(s.bytes + 1);
    if (copy) {
        if (s.bytes)
            memcpy(copy, s.at, s.bytes);
        copy[s.bytes] = 0;
    }
    return copy;
}

static ig_status added_write(const source *s, text *t)
{
    json_add(t, "added_tokens: [");
    for (uint64_t i = 0; i < s->n; i++) {
        const int kind = kind_of(s, i);
        if ((kind != KIND_UNKNOWN && kind != KIND_CONTROL && kind != KIND_USER) ||
            s->tokens[i].bytes == 0)
            continue;
        char *name = copied(s->tokens[i]);
        if (!name)
            return IG_ERR_MEMORY;
        json_add(t, "{id: %lld, content: %s, special: %hhd, normalized: %hhd}", (long long)i, name,
                 (bool)(kind != KIND_USER), (bool)false);
        memory_free(name);
    }
    json_add(t, "]");
    return IG_OK;
}

/* A token that is added at an end of each text; -1: none. */
static int64_t end_token(const source *s, const char *wanted, const char *id, bool otherwise,
                         int64_t usual)
{
    const int64_t token = gguf_int(s->g, id, usual);
    return gguf_bool(s->g, wanted, otherwise) && token >= 0 && (uint64_t)token < s->n ? token : -1;
}

static ig_status ends_write(const source *s, text *t)
{
    const int64_t ends[2] = {
        end_token(s, "tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id",
                  s->scored || (s->pre && s->pre->bos), s->scored ? 1 : -1),
        end_token(s, "tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", false, -1)};
    if (ends[0] < 0 && ends[1] < 0)
        return IG_OK;
    json_add(t, "post_processor: {type: %s", "TemplateProcessing");
    for (int pair = 0; pair < 2; pair++) {
        json_add(t, pair ? "pair: [" : "single: [");
        for (int i = 0; i <= pair; i++) {
            if (ends[0] >= 0)
                json_add(t, "{SpecialToken: {id: %s, type_id: %d}}", "first", i);
            json_add(t, "{Sequence: {id: %s, type_id: %d}}", i ? "B" : "A", i);
            if (ends[1] >= 0)
                json_add(t, "{SpecialToken: {id: %s, type_id: %d}}", "last", i);
        }
        json_add(t, "]");
    }
    json_add(t, "special_tokens: {");
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) {
            const char *name = i ? "last" : "first";
            json_add(t, "%s: {id: %s, ids: [%lld], tokens: [%s]}", name, name, (long long)ends[i],
                     name);
        }
    json_add(t, "}}");
    return IG_OK;
}

static void pieces_write(const source *s, text *t)
{
    if (s->scored || !s->pre) {
        const bool prefix = s->scored && gguf_bool(s->g, "tokenizer.ggml.add_space_prefix", true);
        json_add(t, "normalizer: {type: %s, normalizers: [", "Sequence");
        if (prefix)
            json_add(t, "{type: %s, prepend: %s}", "Prepend", " ");
        json_add(t, "{type: %s, pattern: {String: %s}, content: %s}]}", "Replace", " ",
                 "\xe2\x96\x81");
        if (!s->scored)
            json_add(t,
                     "pre_tokenizer: {type: %s, pattern: {Regex: %s}, behavior: %s, invert: %hhd}",
                     "Split", "[^\\n]+|[\\n]+", "Isolated", (bool)false);
        return;
    }
    json_add(t, "pre_tokenizer: {type: %s, pretokenizers: [", "Sequence");
    for (int i = 0; i < PATTERNS_MOST && s->pre->patterns[i]; i++)
        json_add(t, "{type: %s, pattern: {Regex: %s}, behavior: %s, invert: %hhd}", "Split",
                 s->pre->patterns[i], "Isolated", (bool)false);
    json_add(t, "{type: %s, add_prefix_space: %hhd, trim_offsets: %hhd, use_regex: %hhd}]}",
             "ByteLevel", (bool)false, (bool)true, (bool)false);
}

static ig_tokenizer *rest_parse(const source *s, subword_model *model)
{
    text t = {0};
    const tokenizer_more none = {0};
    json_add(&t, "{version: %s", "1.0");
    const ig_status status = added_write(s, &t);
    pieces_write(s, &t);
    ends_write(s, &t);
    json_add(&t, "}");
    const size_t bytes = t.used;
    char *rest = status == IG_OK ? text_take(&t) : NULL;
    text_drop(&t);
    ig_tokenizer *k = NULL;
    if (rest)
        k = tokenizer_parse(rest, bytes, model, &none);
    else
        subword_model_free(model);
    memory_free(rest);
    if (k)
        k->literal = true;
    return k;
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

static subword_model *model_read(const source *s)
{
    const int64_t unknown = gguf_int(s->g, "tokenizer.ggml.unknown_token_id", s->scored ? 0 : -1);
    float *scores = s->scored ? memory_get((size_t)s->n * sizeof *scores) : NULL;
    if (s->scored && !scores)
        return NULL;
    for (uint64_t i = 0; scores && i < s->n; i++)
        scores[i] = (float)gguf_item_number(s->scores, i);
    const subword_lists lists = {
        .tokens = s->tokens,
        .n = s->n,
        .merges = s->merges,
        .n_merges = s->n_merges,
        .scores = scores,
        .unknown_id = s->scored && unknown >= 0 && (uint64_t)unknown < s->n ? unknown : -1,
        .byte_fallback = s->scored || !s->pre,
        .ignore_merges = s->pre && s->pre->whole};
    subword_model *m = subword_model_lists(&lists);
    memory_free(scores);
    return m;
}

static ig_status source_check(source *s)
{
    const ig_text model = gguf_text(s->g, "tokenizer.ggml.model"),
                  pre = gguf_text(s->g, "tokenizer.ggml.pre");
    const bool plain = gguf_text_is(s->g, "tokenizer.ggml.model", "gemma4");
    s->scored = gguf_text_is(s->g, "tokenizer.ggml.model", "llama");
    if (!s->scored && !plain && !gguf_text_is(s->g, "tokenizer.ggml.model", "gpt2"))
        return gguf_fail(s->g, IG_ERR_UNSUPPORTED,
                         "its tokenizer '%.*s' (tokenizer.ggml.model) is not supported; 'gpt2', "
                         "'llama' and 'gemma4' are",
                         (int)(model.bytes < 40 ? model.bytes : 40), model.at ? model.at : "");
    s->pre = s->scored || plain ? NULL : pre_find(pre);
    if (!s->pre && !s->scored && !plain)
        return gguf_fail(s->g, IG_ERR_UNSUPPORTED,
                         "its pre-tokenizer '%.*s' (tokenizer.ggml.pre) is not supported",
                         (int)(pre.bytes < 40 ? pre.bytes : 40), pre.at);
    s->kinds = gguf_find(s->g, "tokenizer.ggml.token_type");
    s->scores = gguf_find(s->g, "tokenizer.ggml.scores");
    s->tokens = gguf_texts(s->g, "tokenizer.ggml.tokens", &s->n);
    if (!s->tokens)
        return error_waiting(IG_ERR_FORMAT);
    if ((s->kinds && s->kinds->n != s->n) || (s->scored && (!s->scores || s->scores->n != s->n)))
        return gguf_fail(s->g, IG_ERR_FORMAT,
                         "tokenizer.ggml.token_type or tokenizer.ggml.scores does not have an item "
                         "for each of the %llu "
                         "tokens",
                         (unsigned long long)s->n);
    if (!s->scored)
        s->merges = gguf_texts(s->g, "tokenizer.ggml.merges", &s->n_merges);
    return s->scored || s->merges ? IG_OK : error_waiting(IG_ERR_FORMAT);
}

ig_tokenizer *tokenizer_read_gguf(const gguf *g)
{
    source s = {.g = g};
    ig_tokenizer *t = NULL;
    if (unicode_load() == IG_OK && source_check(&s) == IG_OK) {
        subword_model *m = model_read(&s);
        t = m ? rest_parse(&s, m) : NULL;
    }
    memory_free(s.tokens);
    memory_free(s.merges);
    return t;
}

ig_tokenizer *tokenizer_load_gguf(const char *path)
{
    gguf *g = gguf_open(path);
    ig_tokenizer *t = g ? tokenizer_read_gguf(g) : NULL;
    gguf_close(g);
    return t;
}
