/* Kernels that are built together; see module.h. */
#include "engine/module/device.h"
#include "engine/module/module.h"

#include "base/memory.h"
#include "base/threads.h"
#include "compiler/print/join.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* Kernels per text. More would not be slower to compile, but a failure would affect more kernels. */
enum { GROUP = 32 };

typedef struct deferred {
    module_built *built;
    kernel_image image;
    kernel_param *params; /* of the image */
} deferred;

bool batch_takes(module_batch *batch, module_built *b, const kernel_image *image,
                 kernel_param *params)
{
    if (!batch || !b->whole_warps || b->dev != batch->dev)
        return false;
    const bool failed = ig_failed();
    if (!memory_room(&batch->at, batch->n, &batch->room, sizeof *batch->at)) {
        if (!failed)
            ig_error(NULL);
        return false;
    }
    batch->at[batch->n++] = (deferred){b, *image, params};
    b->batch = batch;
    return true;
}

void batch_forget(module_built *b)
{
    module_batch *batch = b->batch;
    for (int i = 0; batch && i < batch->n; i++)
        if (batch->at[i].built == b) {
            memory_free(batch->at[i].params);
            batch->at[i] = batch->at[--batch->n];
            return;
        }
}

/* True if both kernels are compiled with the same options. */
static bool is_alike(const kernel_image *a, const kernel_image *b)
{
    return a->avoid_optimizer == b->avoid_optimizer;
}

static ig_status build_text(const backend *dev, deferred *const *w, int n, kernel_code **codes)
{
    print_joined joined = {0};
    kernel_image images[GROUP];
    char *entries[GROUP] = {NULL};
    ig_status status = IG_OK;
    for (int i = 0; i < n && status == IG_OK; i++) {
        images[i] = w[i]->image;
        status = print_join(&joined, w[i]->built->printed, NULL, &entries[i]);
    }
    char *all = print_joined_take(&joined);
    for (int i = 0; i < n && status == IG_OK; i++) {
        images[i].source = all;
        images[i].entry = entries[i];
    }
    if (status == IG_OK && all)
        status = dev->kernels_build(dev, images, n, codes);
    for (int i = 0; i < n; i++)
        memory_free(entries[i]);
    const bool made = all != NULL;
    memory_free(all);
    return made ? status : IG_ERR_MEMORY;
}

/* Builds the kernels of one text. If it fails, none is built; a later request builds each alone and gets the error. */
static void build_group(const backend *dev, deferred *const *w, int n)
{
    kernel_code *codes[GROUP] = {NULL};
    const bool failed = ig_failed();
    const ig_status status =
        n == 1 ? dev->kernel_build(dev, &w[0]->image, codes) : build_text(dev, w, n, codes);
    for (int i = 0; i < n && status == IG_OK; i++)
        w[i]->built->code = codes[i];
    if (status != IG_OK && !failed)
        ig_error(NULL);
}

/* ---- one text for each kernel ---- */

/* Compilers recurse deeply. */
enum { THREADS_MOST = 32, STACK_BYTES = 8 << 20 };

typedef struct shared_work {
    const module_batch *batch;
    atomic_int next;
} shared_work;

static void *build_some(void *context)
{
    shared_work *w = context;
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->batch->n;)
        build_group(w->batch->dev, (deferred *[]){&w->batch->at[i]}, 1);
    return NULL;
}

/* Builds with this thread and others. Only this thread receives signals. */
static void build_apart(const module_batch *batch)
{
    pthread_t threads[THREADS_MOST];
    pthread_attr_t attr;
    sigset_t all, before;
    shared_work work = {batch, 0};
    int n = 0, wanted = batch->n < pool_threads() ? batch->n - 1 : pool_threads() - 1;
    wanted = wanted < THREADS_MOST ? wanted : THREADS_MOST;
    sigfillset(&all);
    if (wanted > 0 && pthread_attr_init(&attr) == 0) {
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        while (n < wanted && pthread_create(&threads[n], &attr, build_some, &work) == 0)
            n++;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attr);
    }
    build_some(&work);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* ---- many kernels in one text ---- */

static void build_joined(const module_batch *batch)
{
    for (int i = 0; i < batch->n; i++) {
        deferred *group[GROUP];
        int n = 0;
        for (int k = i; k < batch->n && n < GROUP && batch->at[i].built; k++)
            if (batch->at[k].built && is_alike(&batch->at[i].image, &batch->at[k].image))
                group[n++] = &batch->at[k];
        if (n)
            build_group(batch->dev, group, n);
        for (int k = 0; k < n; k++)
            group[k]->built = NULL;
    }
}

void module_batch_end(module_batch *batch, batch_way way)
{
    for (int i = 0; i < batch->n; i++)
        batch->at[i].built->batch = NULL;
    if (way == BATCH_JOINED)
        build_joined(batch);
    else if (way == BATCH_APART)
        build_apart(batch);
    for (int i = 0; i < batch->n; i++)
        memory_free(batch->at[i].params);
    memory_free(batch->at);
    *batch = (module_batch){0};
}
