/* Finds the libraries of CUDA; see find.h. The places are the same for all of them, in this order:
 *
 *   the path in the library's setting, and nothing else if it is set
 *   the toolkit in CUDA_HOME or CUDA_PATH
 *   the system's loader, by the names that the library has in CUDA 13, 12 and 11
 *   the toolkit of the nvcc on the PATH; VIRTUAL_ENV and CONDA_PREFIX; the packages of the python3 on the PATH
 *   the usual folders of toolkits and of Python's packages */
#define _GNU_SOURCE /* dladdr */
#include "engine/backend/cuda/find.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, NAMES_MOST = 4, WHY_BYTES = 400 };

typedef struct place {
    const char *name, *setting;
    const char *symbol; /* a function that it has */
    const char *files;  /* the pattern of its file */
    const char *names[NAMES_MOST];
    const char *package; /* of pip */
    const char *without; /* the consequence if it is missing */
} place;

static const place places[FIND_LIBRARIES] = {
    [FIND_NVRTC] = {"NVRTC",
                    "IG_NVRTC",
                    "nvrtcVersion",
                    "libnvrtc.so.*",
                    {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
                    "nvidia-cuda-nvrtc (for CUDA 12: nvidia-cuda-nvrtc-cu12)",
                    "kernels cannot be compiled"},
    [FIND_CUBLASLT] = {"cuBLASLt",
                       "IG_CUBLASLT",
                       "cublasLtCreate",
                       "libcublasLt.so.*",
                       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                       "nvidia-cublas (for CUDA 12: nvidia-cublas-cu12)",
                       "own kernels compute products"},
    [FIND_CUBLAS] = {"cuBLAS",
                     "IG_CUBLAS",
                     "cublasCreate_v2",
                     "libcublas.so.*",
                     {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
                     "nvidia-cublas (for CUDA 12: nvidia-cublas-cu12)",
                     "own kernels compute linear algebra"},
    [FIND_CUSOLVER] = {"cuSOLVER",
                       "IG_CUSOLVER",
                       "cusolverDnCreate",
                       "libcusolver.so.*",
                       {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"},
                       "nvidia-cusolver (for CUDA 12: nvidia-cusolver-cu12)",
                       "own kernels compute linear algebra"},
    [FIND_CUFFT] = {"cuFFT",
                    "IG_CUFFT",
                    "cufftCreate",
                    "libcufft.so.*",
                    {"libcufft.so.12", "libcufft.so.11", "libcufft.so"},
                    "nvidia-cufft (for CUDA 12: nvidia-cufft-cu12)",
                    "own kernels compute Fourier transforms"},
    [FIND_CUDNN] = {"cuDNN",
                    "IG_CUDNN",
                    "cudnnCreate",
                    "libcudnn.so.9",
                    {"libcudnn.so.9"},
                    "nvidia-cudnn-cu13 (for CUDA 12: nvidia-cudnn-cu12)",
                    "own kernels compute convolutions"},
};

/* Two libraries may be loaded at the same time. */
#define LOCKED \
    { \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }
static struct {
    pthread_mutex_t lock;
    bool looked;
    void *library;
    ig_library about;
    char path[PATH_BYTES], remedy[WHY_BYTES];
} found[FIND_LIBRARIES] = {LOCKED, LOCKED, LOCKED, LOCKED, LOCKED, LOCKED};

/* ---- folders ---- */

/* Opens the last of the files that match, which is the newest version. */
static void *open_matching(const char *pattern)
{
    glob_t all;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &all) == 0) {
        for (size_t i = all.gl_pathc; i-- > 0 && !library;)
            if (!strstr(all.gl_pathv[i], ".alt."))
                library = dlopen(all.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        globfree(&all);
    }
    return library;
}

/* Searches folders below a root, which may be a pattern or NULL. The list ends with NULL. */
static void *open_below(const char *root, const char *const *folders, const place *p)
{
    char path[2 * PATH_BYTES];
    void *library = NULL;
    for (int i = 0; root && *root && folders[i] && !library; i++) {
        const int n = snprintf(path, sizeof path, "%s/%s/%s", root, folders[i], p->files);
        if (n > 0 && (size_t)n < sizeof path)
            library = open_matching(path);
    }
    return library;
}

static void *open_toolkit(const char *root, const place *p)
{
    static const char *const folders[] = {"lib64", "lib", "targets/*/lib", NULL};
    return open_below(root, folders, p);
}

static void *open_python(const char *root, const place *p)
{
    static const char *const folders[] = {"lib/python3*/site-packages/nvidia/*/lib",
                                          "lib/python3*/site-packages/nvidia/*/lib64",
                                          "lib/python3*/dist-packages/nvidia/*/lib", NULL};
    return open_below(root, folders, p);
}

/* Finds ROOT of the first ROOT/bin/program on the PATH. linked: follows symbolic links, as of /usr/bin/nvcc. A Python of an
 * environment is a link, but its packages are in the environment. */
static bool root_of(const char *program, bool linked, char *root)
{
    char path[PATH_BYTES + 16], real[PATH_MAX];
    for (const char *at = getenv("PATH"); at && *at;) {
        const size_t n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)(n < PATH_BYTES - 32 ? n : 0), at, program);
        at += n + (at[n] == ':');
        if (n >= PATH_BYTES - 32 || access(path, X_OK) != 0)
            continue;
        const char *file = linked && realpath(path, real) ? real : path;
        const char *end = strstr(file, "/bin/");
        for (const char *next; end && (next = strstr(end + 1, "/bin/"));)
            end = next;
        if (!end || end - file >= PATH_BYTES)
            continue;
        snprintf(root, PATH_BYTES, "%.*s", (int)(end - file), file);
        return true;
    }
    return false;
}

/* Searches toolkits and Python environments that PATH, VIRTUAL_ENV or CONDA_PREFIX leads to. */
static void *open_near(const place *p)
{
    char root[PATH_BYTES];
    const char *const environments[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
    void *library = root_of("nvcc", true, root) ? open_toolkit(root, p) : NULL;
    for (int i = 0; i < 2 && !library; i++) {
        library = open_toolkit(environments[i], p);
        if (!library)
            library = open_python(environments[i], p);
    }
    return !library && root_of("python3", false, root) ? open_python(root, p) : library;
}

static void *open_usual(const place *p)
{
    static const char *const toolkits[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"};
    static const char *const pythons[] = {"/usr", "/usr/local", "/opt/venv", "/opt/conda"};
    const char *home = getenv("HOME");
    char local[PATH_BYTES];
    void *library = NULL;
    for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits && !library; i++)
        library = open_toolkit(toolkits[i], p);
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons && !library; i++)
        library = open_python(pythons[i], p);
    if (library || !home)
        return library;
    snprintf(local, sizeof local, "%.*s/.local", PATH_BYTES - 16, home);
    return open_python(local, p);
}

/* ---- libraries ---- */

static void *open_library(const place *p)
{
    const char *wish = getenv(p->setting);
    if (wish && *wish)
        return strcmp(wish, "off") == 0 ? NULL : dlopen(wish, RTLD_NOW | RTLD_LOCAL);
    void *library = open_toolkit(getenv("CUDA_HOME"), p);
    if (!library)
        library = open_toolkit(getenv("CUDA_PATH"), p);
    for (int i = 0; i < NAMES_MOST && p->names[i] && !library; i++)
        library = dlopen(p->names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_near(p);
    return library ? library : open_usual(p);
}

/* Describes a library: its path, or why it is missing and what helps. */
static void describe(find_which which)
{
    const place *p = &places[which];
    const char *wish = getenv(p->setting);
    char *path = found[which].path, *remedy = found[which].remedy;
    ig_library *about = &found[which].about;
    Dl_info inside;
    const void *symbol = found[which].library ? dlsym(found[which].library, p->symbol) : NULL;
    *about = (ig_library){.name = p->name};
    if (found[which].library) {
        const bool known = symbol && dladdr(symbol, &inside) && inside.dli_fname;
        snprintf(path, PATH_BYTES, "%s", known ? inside.dli_fname : p->names[0]);
        about->path = path;
        return;
    }
    if (wish && strcmp(wish, "off") == 0)
        snprintf(remedy, WHY_BYTES, "%s; unset %s", p->without, p->setting);
    else
        snprintf(remedy, WHY_BYTES, "%s; install a CUDA toolkit, or pip install %s; %s %s",
                 p->without, p->package, p->setting,
                 wish && *wish ? "names a library that does not load"
                               : "is the path of the library if it is elsewhere");
    about->remedy = remedy;
}

static void look(find_which which)
{
    pthread_mutex_lock(&found[which].lock);
    if (!found[which].looked) {
        found[which].library = open_library(&places[which]);
        describe(which);
        found[which].looked = true;
    }
    pthread_mutex_unlock(&found[which].lock);
}

void *find_library(find_which which)
{
    look(which);
    return found[which].library;
}

const ig_library *find_about(int which)
{
    if (which < 0 || which >= FIND_LIBRARIES)
        return NULL;
    look((find_which)which);
    return &found[which].about;
}
