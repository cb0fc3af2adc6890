/* A thread that does one job at a time while the caller goes on. */
#ifndef BLOCKS_BACKGROUND_H
#define BLOCKS_BACKGROUND_H

#include "ingot/base.h"
#include <pthread.h>

typedef struct background {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ig_status (*job)(void *context); /* NULL: nothing to do */
    void *context;
    bool started, ends;
    ig_status status; /* of the last job */
    char message[512];
} background;

void background_init(background *b);
/* Begins a job, after the one before it has ended. If no thread can be started, does it at once. */
void background_begin(background *b, ig_status (*job)(void *context), void *context);
/* Waits for the job. Returns its status, once; its error becomes the calling thread's. */
ig_status background_wait(background *b);
/* Waits, and ends the thread. */
void background_end(background *b);

#endif
