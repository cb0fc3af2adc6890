#include "engine/blocks/background.h"

#include <signal.h>
#include <stdio.h>

void background_init(background *b)
{
    *b = (background){.status = IG_OK};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
}

/* Does the job and keeps its error. */
static void do_job(background *b, ig_status (*job)(void *context), void *context)
{
    const ig_status status = job(context);
    const char *why = status == IG_OK ? NULL : ig_error(NULL);
    pthread_mutex_lock(&b->lock);
    b->status = status;
    snprintf(b->message, sizeof b->message, "%s", why ? why : "a job in the background failed");
    b->job = NULL;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void *loop(void *context)
{
    background *b = context;
    for (;;) {
        pthread_mutex_lock(&b->lock);
        while (!b->job && !b->ends)
            pthread_cond_wait(&b->changed, &b->lock);
        ig_status (*job)(void *) = b->job;
        void *with = b->context;
        pthread_mutex_unlock(&b->lock);
        if (!job)
            return NULL;
        do_job(b, job, with);
    }
}

/* Signals are for the threads of the program. */
static bool start(background *b)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    b->started = pthread_create(&b->thread, NULL, loop, b) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return b->started;
}

void background_begin(background *b, ig_status (*job)(void *context), void *context)
{
    if (!b->started && !start(b)) {
        do_job(b, job, context);
        return;
    }
    pthread_mutex_lock(&b->lock);
    b->job = job;
    b->context = context;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

ig_status background_wait(background *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->job)
        pthread_cond_wait(&b->changed, &b->lock);
    const ig_status status = b->status;
    b->status = IG_OK;
    pthread_mutex_unlock(&b->lock);
    return status == IG_OK ? IG_OK : ig_fail(status, "%s", b->message);
}

void background_end(background *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->job)
        pthread_cond_wait(&b->changed, &b->lock);
    b->ends = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (b->started)
        pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
}
