/* Chains of codecs: see codec.h. */
#include "lib/store/codec.h"

#include "base/error.h"

#include <string.h>

static const codec_kind *const kinds[] = {&codec_crc32c, &codec_gzip, &codec_zlib, &codec_zstd,
                                          &codec_blosc};

ig_status codec_sized(const struct io_file *file, size_t n, size_t n_out, size_t *got)
{
    if (n > n_out || (!got && n != n_out))
        return io_fail(file, IG_ERR_FORMAT,
                       "it is damaged: it decompresses to %zu bytes, and a chunk has %zu; write it "
                       "again",
                       n, n_out);
    if (got)
        *got = n;
    return IG_OK;
}

const codec_kind *codec_find(const char *name, bool v2)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0 &&
            (v2 ? kinds[i] != &codec_crc32c : kinds[i] != &codec_zlib))
            return kinds[i];
    return NULL;
}

ig_status codec_chain_ready(const codec_chain *c, const struct io_file *file)
{
    for (int i = 0; i < c->n_steps; i++) {
        const codec_kind *kind = c->steps[i].kind;
        if (kind->find && !kind->find())
            return io_fail(file, IG_ERR_UNSUPPORTED,
                           "its codec '%s' needs %s, which is not installed; install it, or write "
                           "the array with another codec",
                           kind->name, kind->library);
    }
    return IG_OK;
}

size_t codec_chain_most(const codec_chain *c)
{
    size_t most = c->bytes;
    for (int i = 0; i < c->n_steps; i++)
        most = c->steps[i].kind->most(most);
    return most;
}

void codec_room_release(codec_room *r)
{
    store_release(&r->index);
    store_release(&r->stored);
    store_release(&r->chunk);
    store_release(&r->steps[0]);
    store_release(&r->steps[1]);
}

/* The last step to be decoded gives exactly c->bytes bytes; an earlier step at most the bytes that encoding by
 * the later steps could have made. A checksum only makes the input shorter, so it copies nothing. */
ig_status codec_decode(const codec_chain *c, const struct io_file *file, const void *in, size_t n,
                       void *out, codec_room *room)
{
    size_t most[CODEC_STEPS_MAX + 1] = {c->bytes};
    int side = 0;
    for (int i = 0; i < c->n_steps; i++)
        most[i + 1] = c->steps[i].kind->most(most[i]);
    int exact = 0; /* the first step that is not a checksum is decoded into out */
    while (exact < c->n_steps && c->steps[exact].kind == &codec_crc32c)
        exact++;
    for (int i = c->n_steps - 1; i >= 0; i--) {
        const codec_step *step = &c->steps[i];
        if (step->kind == &codec_crc32c) {
            TRY(step->kind->decode(step, file, in, n, NULL, 0, &n));
        } else if (i == exact) {
            /* Checksums that are inside the compressor follow the elements. */
            const size_t tail = most[exact] - c->bytes;
            void *to = out;
            if (tail) {
                TRY(store_reserve(&room->steps[side], most[exact]));
                to = room->steps[side].at;
            }
            TRY(step->kind->decode(step, file, in, n, to, most[exact], NULL));
            in = to;
            n = most[exact];
        } else {
            TRY(store_reserve(&room->steps[side], most[i]));
            TRY(step->kind->decode(step, file, in, n, room->steps[side].at, most[i], &n));
            in = room->steps[side].at;
            side ^= 1;
        }
    }
    if (n != c->bytes)
        return io_fail(file, IG_ERR_FORMAT,
                       "it is damaged: it has %zu bytes of elements, and a chunk has %zu; write it "
                       "again",
                       n, c->bytes);
    if (in != out)
        memcpy(out, in, n);
    if (c->swap)
        io_swap(out, c->bytes, c->swap_bytes);
    unsigned char *element = out;
    for (size_t i = 0; c->truth && i < c->bytes; i++)
        element[i] = element[i] != 0;
    return IG_OK;
}

ig_status codec_encode(const codec_chain *c, const struct io_file *file, void *in, codec_room *room,
                       const void **out, size_t *n)
{
    int side = 0;
    if (c->swap)
        io_swap(in, c->bytes, c->swap_bytes);
    *out = in;
    *n = c->bytes;
    for (int i = 0; i < c->n_steps; i++) {
        const codec_step *step = &c->steps[i];
        const size_t most = step->kind->most(*n);
        TRY(store_reserve(&room->steps[side], most));
        TRY(step->kind->encode(step, file, *out, *n, room->steps[side].at, most, n));
        *out = room->steps[side].at;
        side ^= 1;
    }
    return IG_OK;
}
