/* Finds CUDA's headers: NVRTC does not contain the headers of half precision, cooperative groups and others. */
#define _GNU_SOURCE /* dladdr */
#include "lib/cudart/gpu/gpu.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has(const char *folder, const char *name)
{
    char path[GPU_FOLDER_BYTES + 40];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, R_OK) == 0;
}

/* The first folder that matches the pattern and has CUDA's headers. */
static bool find(const char *pattern, char *out)
{
    glob_t all;
    bool found = false;
    if (glob(pattern, 0, NULL, &all) == 0) {
        for (size_t i = 0; i < all.gl_pathc && !found; i++) {
            found = strlen(all.gl_pathv[i]) < GPU_FOLDER_BYTES - 8 &&
                    has(all.gl_pathv[i], "cuda_fp16.h");
            if (found)
                snprintf(out, GPU_FOLDER_BYTES, "%s", all.gl_pathv[i]);
        }
        globfree(&all);
    }
    return found;
}

static bool find_under(const char *root, const char *below, char *out)
{
    char pattern[GPU_FOLDER_BYTES + 64];
    snprintf(pattern, sizeof pattern, "%s%s", root ? root : "", below);
    return root && *root && strlen(root) < GPU_FOLDER_BYTES && find(pattern, out);
}

/* The folder of the library that a function is in. */
static bool library_folder(const void *inside, char *out)
{
    Dl_info about;
    char path[PATH_MAX];
    if (!dladdr(inside, &about) || !about.dli_fname || !realpath(about.dli_fname, path))
        return false;
    char *slash = strrchr(path, '/');
    if (!slash || slash - path >= GPU_FOLDER_BYTES)
        return false;
    *slash = '\0';
    memcpy(out, path, (size_t)(slash - path) + 1);
    return true;
}

int gpu_toolkit_folders(const void *nvrtc_function, char out[GPU_FOLDERS_MOST][GPU_FOLDER_BYTES])
{
    /* Relative to a toolkit's library, and to the library in Python packages. */
    static const char *const near[] = {"/../include", "/../../../include", "/../../include",
                                       "/../../cuda_runtime/include", "/../../*/include"};
    static const char *const places[] = {"/usr/local/cuda/include", "/usr/local/cuda*/include",
                                         "/usr/local/cuda*/targets/*/include", "/usr/include"};
    char library[GPU_FOLDER_BYTES] = "";
    bool found = find_under(getenv("CUDA_HOME"), "/include", out[0]) ||
                 find_under(getenv("CUDA_PATH"), "/include", out[0]);
    if (!found && library_folder(nvrtc_function, library))
        for (size_t i = 0; i < sizeof near / sizeof *near && !found; i++)
            found = find_under(library, near[i], out[0]);
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
        found = find(places[i], out[0]);
    if (!found)
        return 0;
    if (!has(out[0], "cccl")) /* libcu++, since CUDA 13 */
        return 1;
    memcpy(out[1], out[0], GPU_FOLDER_BYTES);
    strcat(out[1], "/cccl");
    return 2;
}
