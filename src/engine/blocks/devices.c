/* The devices of a plan; see devices.h. */
#include "engine/blocks/devices.h"

#include "base/error.h"
#include "base/team.h"
#include "engine/eval/device_list.h"
#include <string.h>

int device_workers(const backend *dev) { return dev->stream ? 3 : 2; }

ig_status devices_set(block_plan *p, const backend *dev)
{
    const device_list *g = device_list_of(dev);
    p->n_dev = p->workers = 0;
    if (g) {
        p->n_dev = g->n;
        memcpy(p->dev, g->dev, sizeof p->dev);
    } else if (dev->pool && dev->computes) {
        p->n_dev = 1;
        p->dev[0] = dev;
    }
    for (int i = 0; i < p->n_dev; i++)
        p->workers += device_workers(p->dev[i]);
    if (!team_shares())
        return IG_OK;
    uint64_t least = (uint64_t)p->workers, most = UINT64_MAX - least;
    TRY(team_least(TEAM_MAIN, &least));
    TRY(team_least(TEAM_MAIN, &most));
    if (least != UINT64_MAX - most)
        p->n_dev = p->workers = 0;
    return IG_OK;
}

bool devices_are_mixed(ig_array *const *arrays, int n)
{
    return n > 0 && arrays[0] && device_list_of(engine_device_of(arrays[0]));
}

bool stage_can_divide(const block_plan *p, const stage *s)
{
    const char *device = s->root[0]->device;
    bool can = p->n_dev > 0 && stage_tiles(s) * stage_parts(s) > 1;
    for (int i = 0; can && i < s->work.n; i++) { /* nothing moves to a device of its own */
        const ig_array *root = s->work.step[i].root;
        can = !root->attr.device && (!root->device || !device || strcmp(root->device, device) == 0);
    }
    return can;
}
