/* The search for the devices of a family: on first use, and again after all of them were closed. */
#ifndef BACKEND_SEARCH_H
#define BACKEND_SEARCH_H

#include "engine/backend/backend.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct device_search {
    void (*look)(
        void);     /* finds the devices: calls driver_add, counts them, and calls search_because */
    void *devices; /* an array of structs that begin with a driver_device; it never moves */
    size_t device_bytes;
    int most;
    const char *what; /* for messages: "CUDA" */
    pthread_mutex_t lock;
    atomic_bool looked;
    int forks; /* at the search: a child of fork cannot use objects that its parent opened */
    int count;
    char why[600]; /* the first reason why there is no device */
    const char *remedy;
} device_search;

int search_count(device_search *s);
/* Device i; NULL if there are fewer. */
const backend *search_at(device_search *s, int i);
/* Why there is no device, and what would help; NULL if there is one. */
const char *search_absent(device_search *s, const char **remedy);
/* Keeps the first reason. status is the driver's name of the error, or NULL. */
void search_because(device_search *s, const char *what, const char *status, const char *remedy);

/* False in a child of fork: the open objects belong to the parent. */
bool search_is_ours(const device_search *s);
/* Fails if the device no longer exists, or belongs to the parent. */
ig_status search_check(device_search *s, const backend *dev);
/* Closes all devices. */
void search_release(device_search *s);

#endif
