/* See shutdown.h. */
#include "engine/array/shutdown.h"
#include <assert.h>
#include <pthread.h>

enum { MOST = 8 };
static void (*list[MOST])(void);
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void shutdown_add(void (*release)(void))
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < count && list[i] != release)
        i++;
    assert(i < MOST);
    list[i] = release;
    count += i == count;
    pthread_mutex_unlock(&lock);
}

void shutdown_run(void)
{
    for (int i = 0; i < count; i++)
        list[i]();
}
