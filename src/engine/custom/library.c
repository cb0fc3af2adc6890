/* Calls of the library's kernels: see library.h. */
#include "engine/custom/library.h"

#include "base/error.h"
#include "engine/array/array.h"
#include <assert.h>
#include <string.h>

library_args args_like(const ig_array *like, int lead)
{
    library_args a = {.like = like, .lead = lead, .count = 1};
    for (int i = 0; i < lead; i++)
        a.count *= like->view.shape[i];
    return a;
}

static ig_arg *next(library_args *a)
{
    assert(a->n < LIBRARY_PARAMS);
    return &a->arg[a->n++];
}

void args_ints(library_args *a, const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *next(a) = (ig_arg){.kind = IG_ARG_INT, .u.i = v[i]};
}

void args_float(library_args *a, double v) { *next(a) = (ig_arg){.kind = IG_ARG_FLOAT, .u.f = v}; }

void args_arrays(library_args *a, ig_array *const *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *next(a) = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x[i]};
}

void args_result(library_args *a, const int64_t *lengths, size_t n)
{
    assert(a->n_results < LIBRARY_RESULTS && a->lead + (int)n <= IG_MAX_NDIM);
    int64_t *shape = a->shape[a->n_results++];
    if (a->lead)
        memcpy(shape, a->like->view.shape, (size_t)a->lead * sizeof *shape);
    if (n)
        memcpy(shape + a->lead, lengths, n * sizeof *shape);
    *next(a) = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {shape, a->lead + (int)n}};
}

int args_call(const library_args *a, const library_kernel *k, const char *name,
              const char *const *defines, int64_t blocks, int64_t threads, const int64_t *number,
              ig_array **out)
{
    ig_module_options options = {.size = sizeof options, .defines = defines};
    while (defines && defines[options.n_defines])
        options.n_defines++;
    if (blocks > INT32_MAX)
        FAIL_NONE(IG_ERR_UNSUPPORTED, "%s: the arrays need more than 2^31 blocks of threads", name);
    const ig_kernel_call call = {.kernel = name,
                                 .options = &options,
                                 .args = a->arg,
                                 .n_args = a->n,
                                 .grid = {(uint32_t)blocks, 1, 1},
                                 .block = {(uint32_t)threads, 1, 1},
                                 .shared_bytes = a->shared_bytes};
    return library_call(k, &call, number, out, LIBRARY_RESULTS);
}

ig_array *args_call_one(const library_args *a, const library_kernel *k, const char *name,
                        const char *const *defines, int64_t blocks, const int64_t *number)
{
    ig_array *out[LIBRARY_RESULTS];
    return args_call(a, k, name, defines, blocks, LIBRARY_THREADS, number, out) ? out[0] : NULL;
}
