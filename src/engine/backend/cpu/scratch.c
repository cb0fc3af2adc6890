/* Scratch memory of the workers: one block for each, grown by compile and kept between launches. */
#include "engine/backend/cpu/cpu.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"

#include <assert.h>

enum { LINE = 64 };

static struct {
    char *block;  /* as allocated */
    char *first;  /* aligned */
    size_t bytes; /* for each worker */
    size_t most;  /* the largest request so far */
    int workers;
} scratch;

ig_status scratch_reserve(size_t bytes)
{
    const int workers = pool_threads();
    bytes = (bytes + LINE - 1) & ~(size_t)(LINE - 1);
    if (bytes > scratch.most)
        scratch.most = bytes;
    if (bytes <= scratch.bytes && workers <= scratch.workers)
        return IG_OK;
    if (bytes < scratch.bytes)
        bytes = scratch.bytes;
    char *block = memory_get(bytes * (size_t)workers + LINE);
    if (!block)
        return IG_ERR_MEMORY;
    memory_free(scratch.block);
    scratch.block = block;
    scratch.first = block + (LINE - (uintptr_t)block % LINE) % LINE;
    scratch.bytes = bytes;
    scratch.workers = workers;
    return IG_OK;
}

ig_status scratch_renew(void) { return scratch_reserve(scratch.most); }

void *scratch_of(int worker)
{
    assert(worker >= 0 && worker < scratch.workers);
    return scratch.first + (size_t)worker * scratch.bytes;
}

void scratch_free(void)
{
    memory_free(scratch.block);
    scratch.block = scratch.first = NULL;
    scratch.bytes = 0;
    scratch.workers = 0;
}
