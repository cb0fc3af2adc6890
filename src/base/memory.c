/* Counting allocator. The counters are atomic; nothing here takes a lock. */
#include "base/memory.h"
#include "base/error.h"
#include "base/machine.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int_fast64_t n_allocations, n_live, fail_at;
static atomic_uint_fast64_t data_used, data_peak, limit_set;

/* True if this allocation is the one that a test chose to fail. */
static bool refused(void)
{
    int64_t n = atomic_fetch_add(&n_allocations, 1) + 1;
    int64_t at = n;
    return atomic_load(&fail_at) != 0 && atomic_compare_exchange_strong(&fail_at, &at, 0);
}

static void *counted(void *block, size_t bytes)
{
    if (!block)
        FAIL_NULL(IG_ERR_MEMORY, "out of memory: the system refused %zu bytes", bytes);
    atomic_fetch_add(&n_live, 1);
    return block;
}

void *memory_get(size_t bytes)
{
    return counted(refused() ? NULL : malloc(bytes ? bytes : 1), bytes);
}

void *memory_new(size_t bytes)
{
    return counted(refused() ? NULL : calloc(1, bytes ? bytes : 1), bytes);
}

void *memory_resize(void *block, size_t bytes)
{
    if (!block)
        return memory_get(bytes);
    void *moved = refused() ? NULL : realloc(block, bytes ? bytes : 1);
    if (!moved)
        FAIL_NULL(IG_ERR_MEMORY, "out of memory: the system refused %zu bytes", bytes);
    return moved;
}

void memory_free(void *block)
{
    if (!block)
        return;
    atomic_fetch_sub(&n_live, 1);
    free(block);
}

char *memory_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memory_get(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void ig_free(void *text) { memory_free(text); }

/* ---- array data and its budget ---- */

uint64_t ig_memory_limit(void)
{
    uint64_t limit = atomic_load(&limit_set);
    return limit ? limit : (uint64_t)machine_get()->memory_limit_bytes;
}

ig_status ig_set_memory_limit(uint64_t bytes)
{
    atomic_store(&limit_set, bytes);
    return IG_OK;
}

uint64_t ig_memory_used(void) { return atomic_load(&data_used); }
uint64_t ig_memory_peak(void) { return atomic_load(&data_peak); }

ig_status memory_admit(uint64_t bytes, const char *what)
{
    uint64_t used = atomic_load(&data_used), limit = ig_memory_limit();
    if (bytes <= limit && used <= limit - bytes)
        return IG_OK;
    FAIL(IG_ERR_MEMORY,
         "%s needs %llu bytes, but %llu of the limit of %llu bytes are in use; release arrays or "
         "raise the limit (ig_set_memory_limit, --memory-limit)",
         what, (unsigned long long)bytes, (unsigned long long)used, (unsigned long long)limit);
}

/* Room for whole vectors behind the last element, so that loops may read (never write) past it. */
static size_t data_room(size_t bytes) { return (bytes + 127) & ~(size_t)63; }

void *memory_data_get(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        FAIL_NULL(IG_ERR_MEMORY, "out of memory: %zu bytes are more than can be addressed", bytes);
    if (memory_admit(bytes, "this array") != IG_OK)
        return NULL;
    void *data = counted(refused() ? NULL : aligned_alloc(64, data_room(bytes)), bytes);
    if (!data)
        return NULL;
    uint64_t used = atomic_fetch_add(&data_used, bytes) + bytes;
    uint64_t peak = atomic_load(&data_peak);
    while (used > peak && !atomic_compare_exchange_weak(&data_peak, &peak, used))
        ;
    return data;
}

void memory_data_free(void *data, size_t bytes)
{
    if (!data)
        return;
    atomic_fetch_sub(&data_used, bytes);
    memory_free(data);
}

/* ---- for tests ---- */

void memory_fail_at(int64_t n)
{
    atomic_store(&fail_at, n ? atomic_load(&n_allocations) + n : 0);
}

int64_t memory_count(void) { return atomic_load(&n_allocations); }
int64_t memory_live(void) { return atomic_load(&n_live); }
