/* Lists of devices; see group.h. */
#include "engine/eval/group.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Groups that were asked for. They stay, because ig_device returns their names. */
enum { GROUPS_MOST = 64 };
static struct {
    pthread_mutex_t lock;
    device_group list[GROUPS_MOST];
    int n;
} groups = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local const device_group *now;
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

/* The group of these devices; NULL if there is no room for one more. */
static const device_group *intern(const device_group *g)
{
    const device_group *found = NULL;
    pthread_mutex_lock(&groups.lock);
    for (int i = 0; i < groups.n && !found; i++)
        if (strcmp(groups.list[i].name, g->name) == 0)
            found = &groups.list[i];
    if (!found && groups.n < GROUPS_MOST) {
        groups.list[groups.n] = *g;
        found = &groups.list[groups.n++];
    }
    pthread_mutex_unlock(&groups.lock);
    return found;
}

ig_status group_set(const char *names)
{
    device_group g = {.n = backend_list(names, g.dev)};
    if (g.n == 0)
        return error_waiting(IG_ERR_DEVICE);
    TRY(check(g.dev, g.n));
    size_t used = 0;
    for (int i = 0; i < g.n; i++)
        used += (size_t)snprintf(g.name + used, sizeof g.name - used, "%s%s", i ? "," : "",
                                 g.dev[i]->name);
    const device_group *found = g.n > 1 ? intern(&g) : NULL;
    if (g.n > 1 && !found)
        FAIL(IG_ERR_DEVICE, "there were more than %d different lists of devices", GROUPS_MOST);
    now = found;
    is_set = true;
    array_device_set(g.dev[0]->name);
    return IG_OK;
}

void group_clear(void)
{
    now = NULL;
    is_set = true;
}

const device_group *group_now(void)
{
    const char *asked = is_set ? NULL : getenv("IG_DEVICE");
    if (asked && backend_is_list(asked)) {
        const bool waits = ig_failed();
        if (group_set(asked) != IG_OK && !waits)
            ig_error(NULL);
    }
    is_set = true;
    return now;
}

const device_group *group_of(const backend *dev)
{
    const device_group *g = group_now();
    return g && g->dev[0] == dev ? g : NULL;
}
