/* Finding the CUDA driver and NVRTC by dlopen. */
#include "backend/cuda/api.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct symbol {
    const char *name;
    bool optional;
} symbol;

static const symbol driver_symbols[] = {
#define CU_FUNCTION(name, symbol, parameters) {#symbol, false},
#define CU_OPTIONAL(name, symbol, parameters) {#symbol, true},
#include "backend/cuda/api.def"
};
static const symbol nvrtc_symbols[] = {
#define NVRTC_FUNCTION(name, parameters) {#name, false},
#include "backend/cuda/api.def"
};

enum {
    DRIVER_SYMBOLS = sizeof driver_symbols / sizeof driver_symbols[0],
    NVRTC_SYMBOLS = sizeof nvrtc_symbols / sizeof nvrtc_symbols[0]
};
_Static_assert(sizeof(cuda_api) == DRIVER_SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(nvrtc_api) == NVRTC_SYMBOLS * sizeof(void *), "only functions in it");

/* Fills a struct of functions; returns the first symbol that is missing, or NULL. */
static const char *fill(void *library, const symbol *symbols, int n, void *api)
{
    for (int i = 0; i < n; i++) {
        void *at = dlsym(library, symbols[i].name);
        if (!at && !symbols[i].optional)
            return symbols[i].name;
        memcpy((char *)api + (size_t)i * sizeof at, &at, sizeof at);
    }
    return NULL;
}

const char *cuda_api_load(cuda_api *api, const char **remedy)
{
    static char why[512];
    const char *wish = getenv("IG_CUDA");
    if (wish && strcmp(wish, "off") == 0) {
        *remedy = "unset IG_CUDA";
        return "IG_CUDA=off switches it off";
    }
    void *library = dlopen(wish && *wish ? wish : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library && wish && *wish) {
        const char *said = dlerror();
        snprintf(why, sizeof why, "IG_CUDA names a library that does not load: %s",
                 said ? said : wish);
        *remedy = "unset IG_CUDA";
        return why;
    }
    if (!library) {
        *remedy = "install NVIDIA's driver, if there is an NVIDIA GPU";
        return "libcuda.so.1, the driver of NVIDIA GPUs, is not installed";
    }
    const char *missing = fill(library, driver_symbols, DRIVER_SYMBOLS, api);
    if (!missing)
        return NULL;
    snprintf(why, sizeof why, "the driver lacks %s: it is too old", missing);
    *remedy = "install a newer NVIDIA driver";
    return why;
}

/* ---- NVRTC ---- */

static void *open_at(const char *path, const char **found)
{
    static char kept[512];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) {
        snprintf(kept, sizeof kept, "%s", path);
        *found = kept;
    }
    return library;
}

/* The last of the files that match, which is the newest version. */
static void *open_matching(const char *pattern, const char **found)
{
    glob_t all;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &all) == 0) {
        for (size_t i = all.gl_pathc; i-- > 0 && !library;)
            if (!strstr(all.gl_pathv[i], "builtins"))
                library = open_at(all.gl_pathv[i], found);
        globfree(&all);
    }
    return library;
}

static void *open_under(const char *root, const char *below, const char **found)
{
    char pattern[600];
    if (!root || !*root)
        return NULL;
    snprintf(pattern, sizeof pattern, "%s%s", root, below);
    return open_matching(pattern, found);
}

static void *find_nvrtc(const char **found)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"};
    static const char *const wheels[] = {
        "/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*",
        "/lib/python3*/site-packages/nvidia/*/lib64/libnvrtc.so.*",
        "/lib/python3*/dist-packages/nvidia/*/lib/libnvrtc.so.*",
    };
    static const char *const places[] = {"/usr", "/usr/local", "/opt/venv", "/opt/conda"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
        library = open_at(names[i], found);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0] && !library; i++)
        library = open_under(getenv(roots[i]), "/lib*/libnvrtc.so.*", found);
    if (!library)
        library = open_matching("/usr/local/cuda*/lib64/libnvrtc.so.*", found);
    if (!library)
        library = open_matching("/usr/local/cuda*/targets/*/lib/libnvrtc.so.*", found);
    const char *const environments[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
    for (size_t k = 0; k < sizeof wheels / sizeof wheels[0] && !library; k++) {
        for (int i = 0; i < 2 && !library; i++)
            library = open_under(environments[i], wheels[k], found);
        for (size_t i = 0; i < sizeof places / sizeof places[0] && !library; i++)
            library = open_under(places[i], wheels[k], found);
        char local[300];
        const char *home = getenv("HOME");
        snprintf(local, sizeof local, "%s/.local", home ? home : "");
        if (home && !library)
            library = open_under(local, wheels[k], found);
    }
    return library;
}

const char *nvrtc_api_load(nvrtc_api *api, const char **remedy, const char **path)
{
    static char why[512];
    const char *wish = getenv("IG_NVRTC");
    void *library = wish && *wish ? open_at(wish, path) : find_nvrtc(path);
    *remedy = "install NVRTC: the package cuda-nvrtc of a CUDA toolkit, or pip install "
              "nvidia-cuda-nvrtc; IG_NVRTC is the path of its library if it is elsewhere";
    if (!library)
        return wish && *wish ? "IG_NVRTC names a library that does not load"
                             : "NVRTC, the compiler of kernels, was not found";
    const char *missing = fill(library, nvrtc_symbols, NVRTC_SYMBOLS, api);
    if (!missing)
        return NULL;
    snprintf(why, sizeof why, "NVRTC lacks %s: it is too old", missing);
    return why;
}
