/* Files of tokens. See token_data.h. */
#include "token_data.h"

#include "lib/decoder/decoder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- .bin ------------------------------------------------------------------------------------ */

enum { HEADER_NUMBERS = 256, MAGIC_U16 = 20240520, MAGIC_U32 = 20240801, TEXT_PIECE = 1 << 16 };

static int fail_read(const command *c, const char *path)
{
    say(c, "%s: it cannot be read: %s", path, strerror(errno));
    return EXIT_INPUT;
}

/* The header has 256 numbers of 32 bits: a magic number, a version, and the number of tokens. */
static int open_bin(const command *c, token_data *d)
{
    int32_t head[HEADER_NUMBERS] = {0};
    struct stat info;
    d->file = open(d->path, O_RDONLY | O_CLOEXEC);
    if (d->file < 0 || fstat(d->file, &info) != 0 || pread(d->file, head, sizeof head, 0) < 0)
        return fail_read(c, d->path);
    const bool marked = head[0] == MAGIC_U16 || head[0] == MAGIC_U32;
    d->width = head[0] == MAGIC_U32 ? 4 : 2;
    d->head = marked ? (int64_t)sizeof head : 0;
    d->n = (info.st_size - d->head) / d->width;
    if (marked && d->n != head[2]) {
        say(c, "%s: its header says %lld tokens, but it has %lld; make it again", d->path,
            (long long)head[2], (long long)d->n);
        return EXIT_INPUT;
    }
    return -1;
}

static bool read_bin(token_data *d, int64_t first, int64_t n)
{
    char *to = d->room;
    size_t left = (size_t)(n * d->width);
    off_t at = (off_t)(d->head + first * d->width);
    while (left) {
        const ssize_t got = pread(d->file, to, left, at);
        if (got <= 0) {
            errno = got ? errno : EIO;
            return false;
        }
        to += got;
        at += got;
        left -= (size_t)got;
    }
    return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* The end of a piece of the text: after a line feed between two other characters, where no tokenizer joins. */
static size_t piece_end(ig_text t, size_t from)
{
    size_t at = from + TEXT_PIECE;
    for (; at + 1 < t.bytes; at++)
        if (t.at[at - 1] == '\n' && !is_blank(t.at[at]) && !is_blank(t.at[at - 2]))
            return at;
    return t.bytes;
}

static bool encode(token_data *d, ig_text all, const ig_tokenizer *t)
{
    const ig_encode_options options = {.plain = true, .max_length = -1, .pad = -1};
    int64_t room = 0;
    for (size_t at = 0, end; at < all.bytes; at = end) {
        end = piece_end(all, at);
        const ig_text piece = {all.at + at, end - at};
        ig_encoding *e = ig_tokenizer_encode(t, &piece, NULL, 1, &options);
        if (!e)
            return false;
        if (d->n + e->n > room) {
            room = 2 * room + e->n;
            d->ids = heap_resize(d->ids, (size_t)room * sizeof *d->ids);
        }
        memcpy(d->ids + d->n, e->ids, (size_t)e->n * sizeof *d->ids);
        d->n += e->n;
        ig_free(e);
    }
    return true;
}

static int open_text(const command *c, token_data *d, const ig_tokenizer *t)
{
    char *all = NULL;
    size_t bytes = 0;
    bool fine = file_read_whole(d->path, false, &all, &bytes) == IG_OK;
    d->is_bytes = !t;
    d->words = t ? ig_tokenizer_count(t) : 256;
    if (fine && t)
        fine = encode(d, (ig_text){all, bytes}, t);
    if (fine && !t) {
        d->n = (int64_t)bytes;
        d->ids = heap_get(bytes * sizeof *d->ids + 1);
        for (size_t i = 0; i < bytes; i++)
            d->ids[i] = (unsigned char)all[i];
    }
    free(all);
    return fine ? -1 : fail_library(c);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_array(const command *c, token_data *d)
{
    d->store = ig_store_open(d->path);
    if (!d->store)
        return fail_library(c);
    const ig_ints shape = ig_store_shape(d->store);
    if (shape.n != 1 || !ig_isdtype(ig_store_dtype(d->store), "integral")) {
        say(c, "%s: it is an array of %s with %d axes; tokens are integers in one axis", d->path,
            ig_dtype_name(ig_store_dtype(d->store)), shape.n);
        return EXIT_INPUT;
    }
    d->n = shape.v[0];
    d->width = ig_dtype_bytes(ig_store_dtype(d->store));
    return -1;
}

int token_data_open(const command *c, token_data *d, const char *path, const ig_tokenizer *t)
{
    struct stat info;
    *d = (token_data){.path = path, .file = -1};
    if (str_ends(path, ".npy") || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) ||
        strstr(path, "://"))
        return open_array(c, d);
    return str_ends(path, ".bin") ? open_bin(c, d) : open_text(c, d, t);
}

void token_data_close(token_data *d)
{
    if (d->file >= 0 && d->path)
        close(d->file);
    ig_store_close(d->store);
    free(d->ids);
    free(d->room);
    *d = (token_data){.file = -1};
}

static int64_t number_at(const token_data *d, int64_t i)
{
    const ig_dtype dtype = d->store ? ig_store_dtype(d->store) : d->width == 4 ? IG_U32 : IG_U16;
    switch (dtype) {
    case IG_U8: return ((const uint8_t *)d->room)[i];
    case IG_I8: return ((const int8_t *)d->room)[i];
    case IG_U16: return ((const uint16_t *)d->room)[i];
    case IG_I16: return ((const int16_t *)d->room)[i];
    case IG_U32: return ((const uint32_t *)d->room)[i];
    case IG_I32: return ((const int32_t *)d->room)[i];
    default:
        return ((const int64_t *)d->room)[i]; /* a u64 that does not fit is refused as negative */
    }
}

static bool read_numbers(const command *c, token_data *d, int64_t first, int64_t n)
{
    if (n > d->room_tokens) {
        d->room = heap_resize(d->room, (size_t)(n * d->width));
        d->room_tokens = n;
    }
    if (d->store ? ig_store_read(d->store, IG_SHAPE(first), IG_SHAPE(n), d->room) == IG_OK
                 : read_bin(d, first, n))
        return true;
    if (d->store)
        fail_library(c);
    else
        fail_read(c, d->path);
    return false;
}

bool token_data_read(const command *c, token_data *d, int64_t first, int64_t n, int64_t words,
                     int32_t *out)
{
    if (!d->ids && !read_numbers(c, d, first, n))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = d->ids ? d->ids[first + i] : number_at(d, i);
        if (id < 0 || id >= words) {
            say(c, "%s: token %lld is %lld, but the model has %lld words; see --vocabulary",
                d->path, (long long)(first + i), (long long)id, (long long)words);
            return false;
        }
        out[i] = (int32_t)id;
    }
    return true;
}

/* ---- the tokenizer of bytes ------------------------------------------------------------------ */

/* The alphabet of byte-level BPE: a byte is its own character if that is visible, else one from U+0100 on. */
static void byte_character(int byte, int *hidden, char out[8])
{
    const bool visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    const int rune = visible ? byte : 256 + (*hidden)++;
    if (rune < 128)
        snprintf(out, 8, "%s%c", rune == '"' || rune == '\\' ? "\\" : "", rune);
    else
        snprintf(out, 8, "%c%c", 0xC0 | rune >> 6, 0x80 | (rune & 63));
}

void token_data_bytes_json(str *t)
{
    const char *level = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": "
                        "true, \"use_regex\": false}";
    int hidden = 0;
    str_printf(t,
               "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": "
               "[], \"normalizer\": null,\n \"pre_tokenizer\": %s,\n \"post_processor\": null,\n "
               "\"decoder\": %s,\n \"model\": {\"type\": \"BPE\", \"dropout\": null, "
               "\"unk_token\": null, \"continuing_subword_prefix\": null, "
               "\"end_of_word_suffix\": null, \"fuse_unk\": false, \"byte_fallback\": false,\n  "
               "\"vocab\": {",
               level, level);
    for (int byte = 0; byte < 256; byte++) {
        char character[8];
        byte_character(byte, &hidden, character);
        str_printf(t, "%s\"%s\": %d", byte ? ", " : "", character, byte);
    }
    str_puts(t, "},\n  \"merges\": []}}\n");
}
