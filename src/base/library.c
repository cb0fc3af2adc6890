/* Libraries that are found at run time: see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *file_open(const char *name)
{
    void *at = dlopen(name, RTLD_NOW | RTLD_LOCAL);
#ifdef __APPLE__
    static const char *const folders[] = {"/opt/homebrew/lib", "/usr/local/lib"};
    for (int i = 0; i < 2 && !at; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        at = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
#endif
    return at;
}

static bool file_find(const library_file *l)
{
    void *at = NULL;
    for (const char *const *file = l->files; *file && !at; file++)
        at = file_open(*file);
    if (!at)
        return false;
    for (const library_function *f = l->functions; f->name; f++) {
        void *function = dlsym(at, f->name);
        if (!function)
            return false;
        memcpy(f->place, &function, sizeof function);
    }
    return !l->begin || l->begin();
}

bool library_there(library_file *l)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!l->looked)
        l->found = file_find(l);
    l->looked = true;
    const bool found = l->found;
    pthread_mutex_unlock(&lock);
    return found;
}
