/* Finds a library of CUDA; see find.h. */
#include "engine/backend/cuda/find.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 600 };

void *find_open(const char *path, const char **found)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return NULL;
    char *kept = memory_get(strlen(path) + 1); /* never freed, as the library is never closed */
    if (kept)
        strcpy(kept, path);
    *found = kept ? kept : "";
    return library;
}

/* Opens the last of the files that match, which is the newest version. */
static void *open_matching(const char *pattern, const char **found)
{
    glob_t all;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &all) == 0) {
        for (size_t i = all.gl_pathc; i-- > 0 && !library;)
            if (!strstr(all.gl_pathv[i], "builtins") && !strstr(all.gl_pathv[i], ".alt."))
                library = find_open(all.gl_pathv[i], found);
        globfree(&all);
    }
    return library;
}

static void *open_under(const char *root, const char *below, const char *pattern,
                        const char **found)
{
    char path[PATH_BYTES];
    if (!root || !*root)
        return NULL;
    const int n = snprintf(path, sizeof path, "%s%s%s", root, below, pattern);
    return n > 0 && (size_t)n < sizeof path ? open_matching(path, found) : NULL;
}

/* Searches the Python packages of NVIDIA under a root. */
static void *open_wheel(const char *root, const char *pattern, const char **found)
{
    static const char *const below[] = {
        "/lib/python3*/site-packages/nvidia/*/lib/",
        "/lib/python3*/site-packages/nvidia/*/lib64/",
        "/lib/python3*/dist-packages/nvidia/*/lib/",
    };
    void *library = NULL;
    for (size_t i = 0; i < sizeof below / sizeof below[0] && !library; i++)
        library = open_under(root, below[i], pattern, found);
    return library;
}

/* Searches the packages of the first Python on the PATH, whose folder is ROOT/bin. */
static void *open_python(const char *pattern, const char **found)
{
    char root[PATH_BYTES], program[PATH_BYTES + 16];
    for (const char *at = getenv("PATH"); at && *at;) {
        const size_t n = strcspn(at, ":");
        if (n > 4 && n < sizeof root && memcmp(at + n - 4, "/bin", 4) == 0) {
            snprintf(root, sizeof root, "%.*s", (int)(n - 4), at);
            snprintf(program, sizeof program, "%s/bin/python3", root);
            if (access(program, X_OK) == 0)
                return open_wheel(root, pattern, found);
        }
        at += n + (at[n] == ':');
    }
    return NULL;
}

void *find_library(const char *pattern, const char *const *names, const char **found)
{
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"};
    static const char *const places[] = {"/usr", "/usr/local", "/opt/venv", "/opt/conda"};
    const char *const environments[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
    void *library = NULL;
    for (int i = 0; names[i] && !library; i++)
        library = find_open(names[i], found);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0] && !library; i++)
        library = open_under(getenv(roots[i]), "/lib*/", pattern, found);
    if (!library)
        library = open_under("/usr/local/cuda*", "/lib64/", pattern, found);
    if (!library)
        library = open_under("/usr/local/cuda*", "/targets/*/lib/", pattern, found);
    for (int i = 0; i < 2 && !library; i++)
        library = open_wheel(environments[i], pattern, found);
    if (!library)
        library = open_python(pattern, found);
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !library; i++)
        library = open_wheel(places[i], pattern, found);
    char local[300];
    const char *home = getenv("HOME");
    snprintf(local, sizeof local, "%s/.local", home ? home : "");
    return library || !home ? library : open_wheel(local, pattern, found);
}
