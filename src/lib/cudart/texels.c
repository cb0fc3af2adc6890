/* Textures and surfaces on devices that run text. Such kernels follow no addresses, but reach the memory after the variables of
 * their module (module_texel_room). Each array that an object reads, and each descriptor, has a place there, the same in all
 * modules. Before a launch the places are filled; after it, those of surfaces are copied back. */
#include "lib/cudart/cudart.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { ALIGN = 256 };

typedef struct piece {
    struct piece *next; /* by place */
    uint64_t at;
    size_t bytes;
    char *source; /* memory of the device; NULL: the bytes follow */
    int users;
    bool is_written;
    const ig_module *in; /* the module that has its present bytes, or NULL */
    char held[];
} piece;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static piece *pieces;

static piece *find(uint64_t place)
{
    piece *p = pieces;
    while (p && p->at != place)
        p = p->next;
    return p;
}

/* Puts the piece into the first gap; false if there is none. */
static bool insert(piece *p)
{
    piece **to = &pieces;
    uint64_t end = MODULE_TEXELS_AT;
    while (*to && (*to)->at < end + p->bytes) {
        end = ((*to)->at + (*to)->bytes + ALIGN - 1) / ALIGN * ALIGN;
        to = &(*to)->next;
    }
    if (end + p->bytes > MODULE_TEXELS_AT + (uint64_t)module_texel_room(cudart_device()))
        return false;
    p->at = end;
    p->next = *to;
    *to = p;
    return true;
}

uint64_t cudart_texels_add(char *source, const void *bytes_of, size_t bytes, bool is_written)
{
    pthread_mutex_lock(&lock);
    piece *p = source ? pieces : NULL;
    while (p && (p->source != source || p->bytes != bytes))
        p = p->next;
    if (!p) {
        p = memory_new(sizeof *p + (source ? 0 : bytes));
        if (p) {
            *p = (piece){.bytes = bytes, .source = source};
            if (!source)
                memcpy(p->held, bytes_of, bytes);
        }
        if (p && !insert(p)) {
            memory_free(p);
            p = NULL;
        }
    }
    if (p) {
        p->users++;
        p->is_written |= is_written;
    }
    const uint64_t at = p ? p->at : 0;
    pthread_mutex_unlock(&lock);
    return at;
}

const void *cudart_texels_at(uint64_t place)
{
    pthread_mutex_lock(&lock);
    const piece *p = find(place);
    pthread_mutex_unlock(&lock);
    return p && !p->source ? p->held : NULL;
}

void cudart_texels_remove(uint64_t place)
{
    pthread_mutex_lock(&lock);
    piece *p = find(place), **from = &pieces;
    if (p && !--p->users) {
        while (*from != p)
            from = &(*from)->next;
        *from = p->next;
        memory_free(p);
    }
    pthread_mutex_unlock(&lock);
}

void cudart_texels_changed(const void *at)
{
    binding there, source;
    size_t bytes;
    int kind;
    const bool known = at && cudart_memory_find(at, &there, &bytes, &kind);
    pthread_mutex_lock(&lock);
    for (piece *p = pieces; p; p = p->next)
        if (!known || (p->source && cudart_memory_find(p->source, &source, &bytes, &kind) &&
                       source.buf == there.buf))
            p->in = NULL;
    pthread_mutex_unlock(&lock);
}

/* Copies pieces that the module does not have into it, or those that kernels write back. */
static ig_status exchange(const backend *dev, ig_module *m, bool in)
{
    binding texels, source;
    size_t bytes;
    int kind;
    TRY(module_variable(m, dev, "ig_texels", &texels, &bytes));
    for (piece *p = pieces; p; p = p->next) {
        if (in && p->in == m)
            continue;
        p->in = in || p->is_written ? m : p->in;
        const size_t at = texels.offset + (size_t)p->at;
        if (!p->source && in)
            TRY(dev->write(texels.buf, at, p->held, p->bytes));
        if (!p->source || (!in && !p->is_written) ||
            !cudart_memory_find(p->source, &source, &bytes, &kind) || bytes < p->bytes)
            continue;
        if (kind != IG_CUDA_DEVICE)
            p->in = NULL; /* the host may write it */
        if (in) {
            TRY(cudart_memory_mirror(dev, p->source, true));
            TRY(dev->copy(texels.buf, at, source.buf, source.offset, p->bytes));
        } else {
            TRY(dev->copy(source.buf, source.offset, texels.buf, at, p->bytes));
        }
    }
    return IG_OK;
}

ig_status cudart_texels_in(const backend *dev, ig_module *m)
{
    pthread_mutex_lock(&lock);
    const ig_status status = exchange(dev, m, true);
    pthread_mutex_unlock(&lock);
    return status;
}

ig_status cudart_texels_out(const backend *dev, ig_module *m)
{
    pthread_mutex_lock(&lock);
    const ig_status status = exchange(dev, m, false);
    pthread_mutex_unlock(&lock);
    return status;
}
