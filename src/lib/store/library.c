/* Libraries that are found at run time: see library.h. */
#include "lib/store/library.h"

#include <dlfcn.h>
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
