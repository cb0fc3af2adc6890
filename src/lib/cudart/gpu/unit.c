/* Units on the GPU. Each is compiled and loaded by the first call that needs it. By then all instances of its
 * templates are known, since stubs register before main. */
#include "lib/cudart/gpu/gpu.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A unit after compilation, successful or not. */
typedef struct loaded {
    struct loaded *next;
    ig_cuda_unit *unit;
    CUmodule module; /* NULL: compiling or loading it failed, which was reported */
    int error;       /* of all its kernels and variables, if module is NULL */
    gpu_image image;
    gpu_expression *expressions;
    int n_expressions;
} loaded;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static loaded *all;

/* ---- expressions ---- */

/* True if the unit has another kernel of that name with other parameters. */
static bool is_overloaded(const ig_cuda_kernel *k)
{
    for (const ig_cuda_kernel *o = cudart_kernels(); o; o = o->next)
        if (o->unit == k->unit && strcmp(o->name, k->name) == 0 &&
            strcmp(o->request, k->request) != 0)
            return true;
    return false;
}

/* The kernel's name, with a cast for overloads. memory_free. */
static char *name_of(const ig_cuda_kernel *k)
{
    return memory_text(is_overloaded(k) ? k->request : k->name);
}

/* Overloads that the program never launches are unknown here, so a name may turn out to need its cast. */
static gpu_expression expression_of(const ig_cuda_kernel *k)
{
    return (gpu_expression){name_of(k), is_overloaded(k) ? NULL : memory_text(k->request)};
}

static gpu_expression expression_of_variable(const cudart_variable *v)
{
    text t = {0};
    text_add(&t, "&%s", v->name);
    return (gpu_expression){text_take(&t), NULL};
}

static void expression_free(gpu_expression e)
{
    memory_free(e.name);
    memory_free(e.exact);
}

/* Adds an expression that the list does not have yet. The list takes ownership. */
static void add_expression(gpu_expression *list, int *n, gpu_expression made)
{
    bool known = !made.name;
    for (int i = 0; i < *n && !known; i++)
        known = strcmp(list[i].name, made.name) == 0;
    if (known)
        expression_free(made);
    else
        list[(*n)++] = made;
}

/* All kernels and variables of the unit; NULL if out of memory. Managed variables have no expression. */
static gpu_expression *expressions_of(const ig_cuda_unit *unit, int *n)
{
    size_t most = 1;
    for (const ig_cuda_kernel *k = cudart_kernels(); k; k = k->next)
        most++;
    for (const cudart_variable *v = cudart_variables(); v; v = v->next)
        most++;
    gpu_expression *list = memory_new(most * sizeof *list);
    *n = 0;
    for (const ig_cuda_kernel *k = list ? cudart_kernels() : NULL; k; k = k->next)
        if (k->unit == unit && !cudart_is_of_lambda(k->name))
            add_expression(list, n, expression_of(k));
    for (const cudart_variable *v = list ? cudart_variables() : NULL; v; v = v->next)
        if (v->unit == unit && !v->managed)
            add_expression(list, n, expression_of_variable(v));
    return list;
}

static const char *symbol_of(const loaded *l, const char *name)
{
    for (int i = 0; i < l->image.n && name; i++)
        if (strcmp(l->expressions[i].name, name) == 0)
            return l->image.symbols[i];
    return NULL;
}

/* The symbol of a managed variable: its mangled name. */
static char *mangled(const char *name)
{
    text t = {0};
    if (!strstr(name, "::")) {
        text_add(&t, "%s", name);
        return text_take(&t);
    }
    text_add(&t, "_ZN");
    for (const char *at = name; *at;) {
        const char *end = strstr(at, "::");
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        text_add(&t, "%zu%.*s", n, (int)n, at);
        at += n + (end ? 2 : 0);
    }
    text_add(&t, "E");
    return text_take(&t);
}

/* ---- loading ---- */

/* Ends the program with ingot's exit code for a missing installation. */
_Noreturn static void end_without_compiler(void)
{
    enum { NOT_THERE = 4 };
    cudart_print_error();
    fflush(NULL);
    _Exit(NOT_THERE);
}

static void load(loaded *l)
{
    l->expressions = expressions_of(l->unit, &l->n_expressions);
    l->error = cudaErrorMemoryAllocation;
    if (!l->expressions)
        return;
    if (!l->unit->gpu_text)
        ig_fail(IG_ERR_UNSUPPORTED, "%s was compiled without its text for NVRTC", l->unit->name);
    const ig_status status =
        !l->unit->gpu_text
            ? IG_ERR_UNSUPPORTED
            : gpu_compile(l->unit, gpu_capability(), l->expressions, l->n_expressions, &l->image);
    if (status == IG_ERR_DEVICE)
        end_without_compiler();
    if (status != IG_OK) {
        cudart_print_error();
        cudart_watch_unbuilt(status);
        l->error =
            status == IG_ERR_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidDeviceFunction;
        return;
    }
    l->error = cu.module_load(&l->module, l->image.data);
    if (l->error) {
        ig_fail(IG_ERR_DEVICE, "the driver does not load '%s': %s", l->unit->name,
                ig_cuda_error_text(l->error));
        cudart_print_error();
        cudart_watch_unbuilt(IG_ERR_UNSUPPORTED);
        l->module = NULL;
    }
}

/* The unit; the caller holds the lock. NULL if out of memory. */
static loaded *loaded_of(ig_cuda_unit *unit)
{
    if (!unit->state) {
        loaded *l = memory_new(sizeof *l);
        if (!l)
            return NULL;
        l->unit = unit;
        load(l);
        l->next = all;
        all = unit->state = l;
    }
    return unit->state;
}

void gpu_units_forget(void)
{
    pthread_mutex_lock(&lock);
    for (ig_cuda_kernel *k = cudart_kernels(); k; k = k->next)
        k->function = NULL;
    for (cudart_variable *v = cudart_variables(); v; v = v->next) {
        memory_free(v->known);
        v->known = NULL;
    }
    for (loaded *l = all, *next; l; l = next) {
        next = l->next;
        l->unit->state = NULL;
        for (int i = 0; i < l->n_expressions; i++)
            expression_free(l->expressions[i]);
        memory_free(l->expressions);
        gpu_image_free(&l->image);
        memory_free(l);
    }
    all = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- kernels and variables ---- */

static int find_function(ig_cuda_kernel *k)
{
    if (k->refused || cudart_refuses_lambda(k))
        return k->refused;
    const loaded *l = loaded_of(k->unit);
    if (!l || !l->module)
        return l ? l->error : cudaErrorMemoryAllocation;
    char *name = name_of(k);
    const char *symbol = symbol_of(l, name);
    CUfunction found = NULL;
    const CUresult status =
        symbol ? cu.module_function(&found, l->module, symbol) : cudaErrorInvalidDeviceFunction;
    if (status != CUDA_SUCCESS) {
        ig_fail(IG_ERR_FORMAT, "NVRTC finds no kernel '%s' in '%s'", name ? name : "",
                l->unit->name);
        cudart_print_error();
        cudart_watch_unbuilt(IG_ERR_FORMAT);
        k->refused = cudaErrorInvalidDeviceFunction;
    }
    memory_free(name);
    k->function = found;
    return k->refused;
}

int gpu_function_find(ig_cuda_kernel *k, CUfunction *function)
{
    pthread_mutex_lock(&lock);
    const int error = k->function ? cudaSuccess : find_function(k);
    *function = k->function;
    pthread_mutex_unlock(&lock);
    return error;
}

static int find_variable(const cudart_variable *v, CUdeviceptr *at)
{
    size_t bytes = 0;
    const loaded *l = loaded_of(v->unit);
    if (!l || !l->module)
        return l ? l->error : cudaErrorMemoryAllocation;
    char *made = v->managed ? mangled(v->name) : expression_of_variable(v).name;
    const char *symbol = v->managed ? made : symbol_of(l, made);
    const CUresult status =
        symbol ? gpu.module_global(at, &bytes, l->module, symbol) : cudaErrorInvalidSymbol;
    memory_free(made);
    if (status == CUDA_SUCCESS && bytes == v->bytes)
        return cudaSuccess;
    ig_fail(IG_ERR_INTERNAL,
            status == CUDA_SUCCESS ? "variable '%s' has %zu bytes in kernels but %zu on the host"
                                   : "NVRTC finds no variable '%s'",
            v->name, bytes, v->bytes);
    cudart_print_error();
    return cudaErrorInvalidSymbol;
}

int gpu_variable(const cudart_variable *v, CUdeviceptr *at)
{
    pthread_mutex_lock(&lock);
    const int error = find_variable(v, at);
    pthread_mutex_unlock(&lock);
    return error;
}
