/* Modules shared by content, so that a loop which builds the same kernel repeatedly parses it once. A module is
 * identified by all the text that went into it, including options and included files, so two different sources are
 * never confused. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sized.h"
#include "engine/module/device.h"
#include "engine/module/module.h"
#include "engine/module/shared.h"
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static shared_module *all;

/* A child of fork must not inherit a lock that a thread of its parent held. */
static void enter(void) { pthread_mutex_lock(&lock); }
static void leave(void) { pthread_mutex_unlock(&lock); }
static void start(void) { pthread_atfork(enter, leave, leave); }

/* Hashes texts with their terminators, so that different lists of texts have different hashes. */
static void add_text(hash *h, const char *s) { hash_add(h, s, strlen(s) + 1); }

static void add_texts(hash *h, const char *const *texts, int n)
{
    hash_add(h, &n, sizeof n);
    for (int i = 0; i < n; i++)
        add_text(h, texts[i]);
}

/* A source of the library is identified by its name. */
static void hash_request(shared_module *m, const char *name, const char *source,
                         const ig_module_options *o, bool is_library)
{
    hash h;
    hash_begin(&h);
    hash_add(&h, &is_library, sizeof is_library);
    add_text(&h, name);
    add_text(&h, is_library ? "" : source);
    add_texts(&h, o->defines, o->n_defines);
    add_texts(&h, o->folders, o->n_folders);
    add_texts(&h, o->instances, o->n_instances);
    hash_end(&h, m->request);
}

/* Files from the disk have a folder. So does the source itself, which is the first file. */
static void hash_content(shared_module *m)
{
    const kernel_source *s = &m->module->tree->unit.source;
    int with_folder = 0;
    hash h;
    hash_begin(&h);
    for (uint32_t i = 0; i < s->n_files; i++) {
        add_text(&h, s->files[i]->name);
        add_text(&h, s->files[i]->text);
        with_folder += s->files[i]->folder != NULL;
    }
    hash_end(&h, m->content);
    m->reads_files = with_folder > 1;
}

/* The equal module, retained; NULL if there is none. The lock is held. */
static shared_module *find(const shared_module *like, bool by_content)
{
    for (shared_module *m = all; m; m = m->next) {
        const bool same = by_content ? memcmp(m->content, like->content, sizeof m->content) == 0 &&
                                           memcmp(m->request, like->request, sizeof m->request) == 0
                                     : !m->reads_files && memcmp(m->request, like->request,
                                                                 sizeof m->request) == 0;
        /* Skip a module without references: its last holder is about to remove it from the list. */
        int refs = atomic_load(&m->refs);
        while (same && refs > 0)
            if (atomic_compare_exchange_weak(&m->refs, &refs, refs + 1))
                return m;
    }
    return NULL;
}

/* Adds m to the list. If the list has an equal module, frees m and returns that one. */
static shared_module *add(shared_module *m)
{
    enter();
    shared_module *same = find(m, true);
    if (!same) {
        m->next = all;
        if (all)
            all->prev = m;
        all = m;
    }
    leave();
    if (!same)
        return m;
    ig_module_free(m->module);
    memory_free(m);
    return same;
}

shared_module *shared_module_get(const char *name, const char *source, const ig_module_options *o,
                                 const char *kernel, bool is_library)
{
    ig_module_options options = {0};
    if (o && sized_read(SIZED(ig_module_options, is_program), &options, o) != IG_OK)
        return NULL;
    shared_module *m = memory_new(sizeof *m);
    if (!m)
        return NULL;
    if (!options.n_instances && strchr(kernel, '<')) {
        options.instances = &kernel;
        options.n_instances = 1;
    }
    atomic_init(&m->refs, 1);
    hash_request(m, name, source, &options, is_library);
    pthread_once(&once, start);
    enter();
    shared_module *same = find(m, false);
    leave();
    m->module = same ? NULL : module_open(name, source, &options, is_library);
    if (!m->module) {
        memory_free(m);
        return same;
    }
    hash_content(m);
    return add(m);
}

void shared_module_release(shared_module *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    enter();
    if (m->prev)
        m->prev->next = m->next;
    else
        all = m->next;
    if (m->next)
        m->next->prev = m->prev;
    leave();
    ig_module_free(m->module);
    memory_free(m);
}
