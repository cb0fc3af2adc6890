/* Lists of devices that evaluate a graph together: "cpu,cuda:0". The first one is the device of new arrays, and
 * evaluates graphs that are not split. */
#ifndef ENGINE_DEVICE_LIST_H
#define ENGINE_DEVICE_LIST_H

#include "engine/backend/backend.h"

typedef struct device_list {
    int n; /* at least 2 */
    const backend *dev[BACKEND_LIST_MOST];
    char name[BACKEND_LIST_MOST * 20];
} device_list;

/* The list of the calling thread; NULL: it uses one device. */
const device_list *device_list_now(void);
/* The list that evaluates arrays of this device; NULL: the device does. */
const device_list *device_list_of(const backend *dev);
/* Sets the list of the calling thread by names. */
ig_status device_list_set(const char *names);
void device_list_clear(void);

#endif
