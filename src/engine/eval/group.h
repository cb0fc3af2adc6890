/* Lists of devices that evaluate a graph together: "cpu,cuda:0". The first one is the device of new arrays, and
 * evaluates graphs that are not split. */
#ifndef ENGINE_GROUP_H
#define ENGINE_GROUP_H

#include "engine/backend/backend.h"

typedef struct device_group {
    int n; /* at least 2 */
    const backend *dev[BACKEND_LIST_MOST];
    char name[BACKEND_LIST_MOST * 20];
} device_group;

/* The group of the calling thread; NULL: it uses one device. */
const device_group *group_now(void);
/* The group that evaluates arrays of this device; NULL: the device does. */
const device_group *group_of(const backend *dev);
/* Makes a list of names the calling thread's group. */
ig_status group_set(const char *names);
void group_clear(void);

#endif
