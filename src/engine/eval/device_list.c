/* Lists of devices; see device_list.h. */
#include "engine/eval/device_list.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Lists that were asked for. They stay, because ig_device returns their names. */
enum { LISTS_MOST = 64 };
static struct {
    pthread_mutex_t lock;
    device_list list[LISTS_MOST];
    int n;
} lists = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local const device_list *now;
static _Thread_local bool is_set; /* the environment no longer counts */

static ig_status check(const backend *const *dev, int n)
{
    for (int i = 0; i < n; i++) {
        if (dev[i]->no_arrays)
            FAIL(IG_ERR_UNSUPPORTED, "device '%s': %s", dev[i]->name, dev[i]->no_arrays);
        if (!dev[i]->computes)
            FAIL(IG_ERR_UNSUPPORTED,
                 "device '%s' computes nothing, so it cannot share the work of others",
                 dev[i]->name);
    }
    return IG_OK;
}

/* The list of these devices; NULL if there is no room for one more. */
static const device_list *intern(const device_list *g)
{
    const device_list *found = NULL;
    pthread_mutex_lock(&lists.lock);
    for (int i = 0; i < lists.n && !found; i++)
        if (strcmp(lists.list[i].name, g->name) == 0)
            found = &lists.list[i];
    if (!found && lists.n < LISTS_MOST) {
        lists.list[lists.n] = *g;
        found = &lists.list[lists.n++];
    }
    pthread_mutex_unlock(&lists.lock);
    return found;
}

ig_status device_list_set(const char *names)
{
    device_list g = {.n = backend_list(names, g.dev)};
    if (g.n == 0)
        return error_waiting(IG_ERR_DEVICE);
    TRY(check(g.dev, g.n));
    size_t used = 0;
    for (int i = 0; i < g.n; i++)
        used += (size_t)snprintf(g.name + used, sizeof g.name - used, "%s%s", i ? "," : "",
                                 g.dev[i]->name);
    const device_list *found = g.n > 1 ? intern(&g) : NULL;
    if (g.n > 1 && !found)
        FAIL(IG_ERR_DEVICE, "there were more than %d different lists of devices", LISTS_MOST);
    now = found;
    is_set = true;
    array_device_set(g.dev[0]->name);
    return IG_OK;
}

void device_list_clear(void)
{
    now = NULL;
    is_set = true;
}

const device_list *device_list_now(void)
{
    const char *asked = is_set ? NULL : getenv("IG_DEVICE");
    if (asked && backend_is_list(asked)) {
        const bool waits = ig_failed();
        if (device_list_set(asked) != IG_OK && !waits)
            ig_error(NULL);
    }
    is_set = true;
    return now;
}

const device_list *device_list_of(const backend *dev)
{
    const device_list *g = device_list_now();
    return g && g->dev[0] == dev ? g : NULL;
}
