/* The driver API and NVRTC: modules that a program loads and launches by name, and programs that it compiles at run time.
 * An image of ours is text (IG_CUDA_IMAGE), which becomes a unit. */
#include "lib/cudart/cudart.h"
#include "lib/cudart/graphs.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- images ---- */

typedef struct record {
    const char *name, *text;
} record;

/* The next record at *at, as strings: its bytes end with a zero byte afterwards. False at the end. */
static bool next(char **at, record *out)
{
    char *name = *at, *space = strchr(name, ' ');
    if (!space)
        return false;
    char *end;
    const unsigned long bytes = strtoul(space + 1, &end, 10);
    if (*end != '\n' || strnlen(end + 1, bytes + 1) <= bytes)
        return false;
    *space = 0;
    *out = (record){name, end + 1};
    end[1 + bytes] = 0;
    *at = end + 2 + bytes;
    return true;
}

/* The lists of a unit: all records with one of these names. */
enum { HEADERS, GPU_HEADERS, DEFINES, FOLDERS, OPTIONS, EXPRESSIONS, LISTS };
static const char *const list_names[LISTS] = {"header", "gpu_header", "define",
                                              "folder", "option",     "expression"};

/* Fills the unit of an image of ours. */
static bool read_image(ig_cuda_module *m)
{
    const char *given = m->given;
    const size_t bytes = strlen(given);
    size_t records = 0;
    for (const char *c = given; *c; c++)
        records += *c == '\n'; /* at least */
    m->image = memory_new(bytes + 1);
    const char **lists = memory_new((records + LISTS + 1) * sizeof *lists);
    m->lists = lists;
    if (!m->image || !lists)
        return false;
    for (int k = 0; k < LISTS; k++) {
        const char *const *const list = lists;
        memcpy(m->image, given, bytes + 1);
        char *at = m->image + strlen(IG_CUDA_IMAGE);
        record r;
        while (next(&at, &r)) {
            const bool is_name = !strcmp(r.name, "name"), is_text = !strcmp(r.name, "text");
            if (!strcmp(r.name, list_names[k]))
                *lists++ = r.text;
            else if (is_name || is_text)
                *(is_name ? &m->unit.name : &m->unit.text) = r.text;
            else if (!strcmp(r.name, "gpu_text"))
                m->unit.gpu_text = r.text;
        }
        *lists++ = NULL;
        *(k == HEADERS       ? &m->unit.headers
          : k == GPU_HEADERS ? &m->unit.gpu_headers
          : k == DEFINES     ? &m->unit.defines
          : k == FOLDERS     ? &m->unit.folders
          : k == OPTIONS     ? &m->unit.options
                             : &m->expressions) = list;
    }
    return m->unit.name && (m->unit.text || m->unit.gpu_text);
}

/* ---- modules ---- */

static void module_free(ig_cuda_module *m)
{
    for (ig_cuda_kernel *k = cudart_kernels(), *rest; k; k = rest) {
        rest = k->next;
        if (k->unit == &m->unit) {
            cudart_kernel_remove(k);
            memory_free(k->linked_name);
            memory_free((void *)(uintptr_t)k->sizes);
            memory_free(k);
        }
    }
    memory_free(m->lists);
    memory_free(m->image);
    memory_free(m);
}

/* A kernel of the module: its name is its request, and it is its own stub. */
static ig_cuda_kernel *kernel_new(ig_cuda_module *m, const char *name)
{
    const size_t bytes = strlen(name);
    ig_cuda_kernel *k = memory_new(sizeof *k + bytes + 1);
    if (!k)
        return NULL;
    k->unit = &m->unit;
    k->stub = k;
    memcpy(k->name, name, bytes);
    k->request = k->name;
    cudart_kernel_add(k);
    return k;
}

static ig_cuda_kernel *kernel_named(const ig_cuda_module *m, const char *name)
{
    ig_cuda_kernel *k = cudart_kernels();
    while (k && (k->unit != &m->unit || strcmp(k->name, name) != 0))
        k = k->next;
    return k;
}

int ig_cuda_module_load(void **module, const void *image)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    *module = NULL;
    if (!t || !image)
        return cudart_set_last_error(t ? cudaErrorInvalidValue : error);
    ig_cuda_module *m = memory_new(sizeof *m);
    if (!m)
        return cudart_set_last_error(cudaErrorMemoryAllocation);
    m->given = image;
    const bool ours = strncmp(image, IG_CUDA_IMAGE, strlen(IG_CUDA_IMAGE)) == 0;
    if (ours && !read_image(m))
        error = cudaErrorInvalidKernelImage;
    for (const char *const *e = m->expressions; !error && e && *e; e++)
        if (!kernel_new(m, *e))
            error = cudaErrorMemoryAllocation;
    error = error ? error : t->module_load(m);
    m->given = NULL;
    if (error)
        module_free(m);
    else
        *module = m;
    return cudart_set_last_error(error);
}

int ig_cuda_module_unload(ig_cuda_module *m)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    if (!m)
        return cudart_set_last_error(cudaErrorInvalidResourceHandle);
    error = t ? t->module_unload(m) : error;
    module_free(m);
    return cudart_set_last_error(error);
}

/* The name in a mangled one: "_ZN2ns1kEPf" is "ns::k". Other names stay. */
static void plain_name(const char *name, char *out, size_t room)
{
    const char *at = name;
    size_t used = 0;
    const bool mangled = strncmp(name, "_Z", 2) == 0;
    at += mangled ? 2 : 0;
    const bool nested = mangled && *at == 'N';
    at += nested;
    do {
        char *end;
        const unsigned long n = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
        if (!mangled || !n || n > strlen(end) || used + n + 3 > room) {
            if (!used)
                snprintf(out, room, "%s", name);
            return;
        }
        used += (size_t)snprintf(out + used, room - used, "%s%.*s", used ? "::" : "", (int)n, end);
        at = end + n;
    } while (nested && *at != 'E');
}

int ig_cuda_module_function(ig_cuda_module *m, const char *name, ig_cuda_kernel **kernel)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    *kernel = NULL;
    if (!t)
        return error;
    if (!m || !name)
        return cudart_set_last_error(m ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    char plain[512];
    plain_name(name, plain, sizeof plain);
    ig_cuda_kernel *k = kernel_named(m, name);
    if (!k && t != &cudart_gpu)
        k = kernel_named(m, plain);
    if (!k)
        k = kernel_new(m, t == &cudart_gpu ? name : plain);
    error = k ? t->module_function(m, k) : cudaErrorMemoryAllocation;
    *kernel = error ? NULL : k;
    return cudart_set_last_error(error);
}

int ig_cuda_module_global(ig_cuda_module *m, const char *name, void **at, size_t *bytes)
{
    int error;
    const cudart_target *t = cudart_enter(&error);
    if (!t)
        return error;
    if (!m || !name)
        return cudart_set_last_error(m ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    char plain[512], *found = NULL;
    plain_name(name, plain, sizeof plain);
    error = t->module_global(m, t == &cudart_gpu ? name : plain, &found, bytes);
    *at = found;
    return cudart_set_last_error(error);
}

int ig_cuda_launch_function(ig_cuda_kernel *k, void *const *args, void **extra, int cooperative)
{
    cudart_shape shape = cudart_shape_take();
    int error;
    const cudart_target *t = cudart_enter(&error);
    if (!t || !shape.there)
        return cudart_set_last_error(t ? cudaErrorMissingConfiguration : error);
    shape.cooperative = cooperative;
    shape.extra = extra;
    if (cudart_is_captured(
            shape.stream)) /* a node keeps the arguments, so their sizes must be known */
        return cudart_set_last_error(k->sizes && !extra ? cudart_capture_launch(k, &shape, args)
                                                        : cudaErrorStreamCaptureUnsupported);
    error = t->launch(k, &shape, args, NULL, -1);
    /* A fault of the kernel is the result of the next call, as on a GPU. */
    const bool is_fault = error == cudaErrorAssert || error == cudaErrorLaunchFailure ||
                          error == cudaErrorIllegalAddress;
    return cudart_set_last_error(is_fault ? cudaSuccess : error);
}

/* ---- programs ---- */

int ig_cuda_program_new(ig_cuda_program **out, const char *source, const char *name, int n,
                        const char *const *headers, const char *const *header_names)
{
    *out = NULL;
    if (!source || n < 0 || (n && (!headers || !header_names)))
        return PROGRAM_INPUT;
    ig_cuda_program *p = memory_new(sizeof *p);
    if (!p)
        return PROGRAM_MEMORY;
    p->text = memory_text(source);
    p->name = memory_text(name && *name ? name : "default_program");
    p->headers = memory_new((size_t)(2 * n + 1) * sizeof *p->headers);
    bool fine = p->text && p->name && p->headers;
    for (int i = 0; i < n && fine; i++) {
        p->headers[2 * i] = memory_text(header_names[i]);
        p->headers[2 * i + 1] = memory_text(headers[i]);
        fine = p->headers[2 * i] && p->headers[2 * i + 1];
    }
    if (!fine) {
        ig_cuda_program_free(p);
        return PROGRAM_MEMORY;
    }
    *out = p;
    return PROGRAM_FINE;
}

void ig_cuda_program_free(ig_cuda_program *p)
{
    if (!p)
        return;
    for (char **h = p->headers; h && *h; h++)
        memory_free(*h);
    for (int i = 0; i < p->n_expressions; i++) {
        memory_free(p->expressions[i]);
        memory_free(p->symbols[i]);
    }
    memory_free(p->headers);
    memory_free(p->expressions);
    memory_free(p->symbols);
    memory_free(p->name);
    memory_free(p->text);
    memory_free(p->log);
    memory_free(p->image);
    memory_free(p);
}

int ig_cuda_program_expression(ig_cuda_program *p, const char *expression)
{
    if (!p || !expression)
        return PROGRAM_INPUT;
    if (p->compiled)
        return PROGRAM_COMPILED_ALREADY;
    const size_t n = (size_t)p->n_expressions + 1;
    char **expressions = memory_resize(p->expressions, n * sizeof *expressions);
    p->expressions = expressions ? expressions : p->expressions;
    char **symbols = memory_resize(p->symbols, n * sizeof *symbols);
    p->symbols = symbols ? symbols : p->symbols;
    char *made = expressions && symbols ? memory_text(expression) : NULL;
    if (!made)
        return PROGRAM_MEMORY;
    p->expressions[n - 1] = made;
    p->symbols[n - 1] = NULL;
    p->n_expressions = (int)n;
    return PROGRAM_FINE;
}

int ig_cuda_program_compile(ig_cuda_program *p, int n, const char *const *options)
{
    int error;
    if (!p || n < 0 || (n && !options))
        return PROGRAM_INPUT;
    const cudart_target *t = cudart_enter(&error);
    if (!t)
        return PROGRAM_INTERNAL;
    memory_free(p->log);
    memory_free(p->image);
    p->log = p->image = NULL;
    p->image_bytes = 0;
    p->options = options;
    p->n_options = n;
    p->compiled = true;
    error = t->program(p);
    p->options = NULL;
    return error;
}

int ig_cuda_program_symbol(const ig_cuda_program *p, const char *expression, const char **name)
{
    if (!p || !expression || !name)
        return PROGRAM_INPUT;
    if (!p->image)
        return PROGRAM_NOT_COMPILED;
    for (int i = 0; i < p->n_expressions; i++)
        if (strcmp(p->expressions[i], expression) == 0 && p->symbols[i]) {
            *name = p->symbols[i];
            return PROGRAM_FINE;
        }
    return PROGRAM_NO_EXPRESSION;
}

int ig_cuda_program_log(const ig_cuda_program *p, size_t *bytes, char *log)
{
    if (!p)
        return PROGRAM_INPUT;
    const char *words = p->log ? p->log : "";
    if (bytes)
        *bytes = strlen(words) + 1;
    if (log)
        strcpy(log, words);
    return PROGRAM_FINE;
}

int ig_cuda_program_image(const ig_cuda_program *p, size_t *bytes, char *image)
{
    if (!p || !p->image)
        return PROGRAM_INPUT;
    if (bytes)
        *bytes = p->image_bytes;
    if (image)
        memcpy(image, p->image, p->image_bytes);
    return PROGRAM_FINE;
}
