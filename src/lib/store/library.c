/* Libraries that are found at run time: see library.h. */
#include "lib/store/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

bool store_library_find(const char *const *files, const library_function *functions, size_t n)
{
    void *at = NULL;
    for (; *files && !at; files++)
        at = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
    if (!at)
        return false;
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(at, functions[i].name);
        if (!function)
            return false;
        memcpy(functions[i].place, &function, sizeof function);
    }
    return true;
}

bool store_library_has(store_library *l)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!l->looked)
        l->found = store_library_find(l->files, l->functions, l->n);
    l->looked = true;
    const bool found = l->found;
    pthread_mutex_unlock(&lock);
    return found;
}
