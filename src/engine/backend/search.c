/* The search for devices; see search.h. */
#include "engine/backend/search.h"

#include "base/error.h"
#include "engine/backend/driver.h"

#include <stdio.h>

/* Number of forks in the ancestry of the process. Reading it is cheaper than getpid. */
static atomic_int forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forked(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }
static void watch_forks(void) { pthread_atfork(NULL, NULL, forked); }

/* An error that was set before is the caller's and is kept. An error of the search is cleared; its reason is kept. */
int search_count(device_search *s)
{
    if (s->looked)
        return s->count;
    pthread_mutex_lock(&s->lock);
    if (!s->looked) {
        const bool failed = ig_failed();
        s->count = 0;
        s->why[0] = '\0';
        pthread_once(&once, watch_forks);
        s->forks = atomic_load_explicit(&forks, memory_order_relaxed);
        s->look();
        /* If devices were not found for lack of memory, a later search may find them. */
        s->looked = failed || error_waiting(IG_OK) != IG_ERR_MEMORY;
        if (!failed && s->looked)
            ig_error(NULL);
    }
    pthread_mutex_unlock(&s->lock);
    return s->count;
}

static const backend *at(const device_search *s, int i)
{
    return (const backend *)((const char *)s->devices + (size_t)i * s->device_bytes);
}

const backend *search_at(device_search *s, int i)
{
    return i >= 0 && i < search_count(s) ? at(s, i) : NULL;
}

const char *search_absent(device_search *s, const char **remedy)
{
    const bool none = search_count(s) == 0;
    *remedy = none ? s->remedy : NULL;
    return none ? s->why : NULL;
}

void search_because(device_search *s, const char *what, const char *status, const char *remedy)
{
    if (s->why[0])
        return;
    s->remedy = remedy;
    snprintf(s->why, sizeof s->why, "%s%s%s", what, status ? ": " : "", status ? status : "");
}

bool search_is_ours(const device_search *s)
{
    return s->forks == atomic_load_explicit(&forks, memory_order_relaxed);
}

ig_status search_check(device_search *s, const backend *dev)
{
    const char *name = dev->name;
    if (dev >= at(s, search_count(s)))
        FAIL(IG_ERR_DEVICE, "%s is not there any more; see 'ingot devices'", name);
    if (!search_is_ours(s))
        FAIL(IG_ERR_DEVICE,
             "%s: a process that forked cannot go on with %s; start it with exec, or use %s after "
             "the fork only",
             name, s->what, s->what);
    return IG_OK;
}

void search_release(device_search *s)
{
    bool open = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; s->looked && search_is_ours(s) && i < s->count; i++) {
        const backend *dev = at(s, i);
        dev->release(dev);
        open |= driver_of(dev)->is_open;
    }
    s->looked = open;
    pthread_mutex_unlock(&s->lock);
}
