/* Loads the CUDA driver and its libraries with dlopen. */
#include "engine/backend/cuda/api.h"

#include "engine/backend/cuda/find.h"

#include <dlfcn.h>
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
#include "engine/backend/cuda/api.def"
};
static const symbol program_symbols[] = {
#define CU_PROGRAM(name, symbol, parameters) {#symbol, false},
#include "engine/backend/cuda/api.def"
};
static const symbol nvrtc_symbols[] = {
#define NVRTC_FUNCTION(name, parameters) {#name, false},
#define NVRTC_PROGRAM(name, parameters) {#name, true},
#include "engine/backend/cuda/api.def"
};
static const symbol lt_symbols[] = {
#define LT_FUNCTION(name, parameters) {#name, false},
#include "engine/backend/cuda/lt.def"
};
static const symbol dnn_symbols[] = {
#define DNN_FUNCTION(name, parameters) {#name, false},
#include "engine/backend/cuda/dnn.def"
};

static const symbol fft_symbols[] = {
#define FFT_FUNCTION(name, parameters) {#name, false},
#include "engine/backend/cuda/fft.def"
};

/* The functions of cuSOLVER and cuBLAS: which library, and their names, the second of complex types. */
typedef struct solver_symbol {
    bool blas;
    const char *name[2];
} solver_symbol;
static const solver_symbol solver_symbols[] = {
#define SOLVER_FUNCTION(name, parameters) {false, {#name, #name}},
#define BLAS_FUNCTION(name, parameters) {true, {#name, #name}},
#include "engine/backend/cuda/solver.def"
};
static const solver_symbol solver_typed[] = {
#define SOLVER_TYPED(field, real, complex, parameters) {false, {real, complex}},
#define BLAS_TYPED(field, name, parameters) {true, {name, name}},
#include "engine/backend/cuda/solver.def"
};

enum {
    DRIVER_SYMBOLS = sizeof driver_symbols / sizeof driver_symbols[0],
    PROGRAM_SYMBOLS = sizeof program_symbols / sizeof program_symbols[0],
    NVRTC_SYMBOLS = sizeof nvrtc_symbols / sizeof nvrtc_symbols[0],
    LT_SYMBOLS = sizeof lt_symbols / sizeof lt_symbols[0],
    DNN_SYMBOLS = sizeof dnn_symbols / sizeof dnn_symbols[0],
    FFT_SYMBOLS = sizeof fft_symbols / sizeof fft_symbols[0],
    SOLVER_SYMBOLS = sizeof solver_symbols / sizeof solver_symbols[0],
    SOLVER_TYPED_SYMBOLS = sizeof solver_typed / sizeof solver_typed[0]
};
_Static_assert(sizeof(fft_api) == FFT_SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(solver_functions) == SOLVER_SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(solver_type) == SOLVER_TYPED_SYMBOLS * sizeof(void *),
               "only functions in it");
_Static_assert(sizeof(cuda_api) == DRIVER_SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(cuda_program_api) == PROGRAM_SYMBOLS * sizeof(void *),
               "only functions in it");
_Static_assert(sizeof(nvrtc_api) == NVRTC_SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(dnn_api) == DNN_SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(lt_api) == LT_SYMBOLS * sizeof(void *), "only functions in it");

/* Fills a struct of functions. Returns the first symbol that is missing, or NULL. */
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

static void *driver; /* the library, once it is loaded */

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
    driver = library;
    const char *missing = fill(library, driver_symbols, DRIVER_SYMBOLS, api);
    if (!missing)
        return NULL;
    snprintf(why, sizeof why, "the driver lacks %s: it is too old", missing);
    *remedy = "install a newer NVIDIA driver";
    return why;
}

const char *cuda_program_api_load(cuda_program_api *api, const char **remedy)
{
    static char why[512];
    const char *missing =
        driver ? fill(driver, program_symbols, PROGRAM_SYMBOLS, api) : "everything";
    if (!missing)
        return NULL;
    snprintf(why, sizeof why, "the driver lacks %s, which whole programs need: it is too old",
             missing);
    *remedy = "install a newer NVIDIA driver";
    return why;
}

/* ---- NVRTC and the libraries ---- */

/* The same for a library; false if it is missing or too old. */
static bool load(find_which which, const symbol *symbols, int n, void *api)
{
    void *library = find_library(which);
    return library && !fill(library, symbols, n, api);
}

const char *nvrtc_api_load(nvrtc_api *api, const char **remedy, const char **path)
{
    static char why[512];
    void *library = find_library(FIND_NVRTC);
    const ig_library *about = find_about(FIND_NVRTC);
    *remedy = about->remedy ? about->remedy : "install a newer NVRTC";
    *path = about->path;
    if (!library)
        return "NVRTC, the compiler of kernels, was not found";
    const char *missing = fill(library, nvrtc_symbols, NVRTC_SYMBOLS, api);
    if (!missing)
        return NULL;
    snprintf(why, sizeof why, "NVRTC lacks %s: it is too old", missing);
    return why;
}

bool lt_api_load(lt_api *api) { return load(FIND_CUBLASLT, lt_symbols, LT_SYMBOLS, api); }
bool dnn_api_load(dnn_api *api) { return load(FIND_CUDNN, dnn_symbols, DNN_SYMBOLS, api); }
bool fft_api_load(fft_api *api) { return load(FIND_CUFFT, fft_symbols, FFT_SYMBOLS, api); }

/* Fills a struct of functions of both libraries; letter: of the type, or 0. False if one is missing. */
static bool solver_fill(void *const library[2], const solver_symbol *symbols, int n, char letter,
                        bool complex, void *api)
{
    static const char *const prefix[2] = {"cusolverDn", "cublas"};
    for (int i = 0; i < n; i++) {
        const solver_symbol *s = &symbols[i];
        char name[64];
        if (letter)
            snprintf(name, sizeof name, "%s%c%s", prefix[s->blas], letter, s->name[complex]);
        else
            snprintf(name, sizeof name, "%s", s->name[complex]);
        void *at = dlsym(library[s->blas], name);
        if (!at)
            return false;
        memcpy((char *)api + (size_t)i * sizeof at, &at, sizeof at);
    }
    return true;
}

bool solver_api_load(solver_api *api)
{
    void *const library[2] = {find_library(FIND_CUSOLVER), find_library(FIND_CUBLAS)};
    if (!library[0] || !library[1] ||
        !solver_fill(library, solver_symbols, SOLVER_SYMBOLS, 0, false, &api->f))
        return false;
    for (int i = 0; i < 4; i++)
        if (!solver_fill(library, solver_typed, SOLVER_TYPED_SYMBOLS, "SDCZ"[i], i >= 2,
                         &api->type[i]))
            return false;
    return true;
}
