/* From text to a kernel: compiled by NVRTC for the GPU, or read from the cache on disk. */
#include "engine/backend/cuda/cuda.h"
#include "engine/backend/cuda/nvrtc.h"

#include "base/cache.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

enum {
    LOG_BYTES = 3000,
    OPTIONS = 7,
    MINIMAL_SINCE =
        13 /* NVRTC version that can leave out the declarations of textures and the runtime */
};

static const cache cached = {.kind = "cuda", .max_bytes = (uint64_t)256 << 20};

/* Everything that a compiled image depends on, except the version of NVRTC: an image that works stays valid. */
static char *key_of(const cuda_device *d, const kernel_image *image, size_t *bytes)
{
    text key = {0};
    const char *const parts[] = {ig_version(), d->level, image->options ? image->options : "",
                                 image->entry, image->source};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        text_add(&key, "%zu %s\n", strlen(parts[i]), parts[i]);
    *bytes = key.used;
    return text_take(&key);
}

/* ---- the compiler ---- */

/* The include folder of the toolkit that contains NVRTC, as an option; false if there is none. */
static bool include_option(const nvrtc_library *nvrtc, char *out, size_t room)
{
    char folder[500];
    snprintf(folder, sizeof folder, "%s", nvrtc->path ? nvrtc->path : "");
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    snprintf(out, room, "-I%s/include", folder);
    return true;
}

/* An image for exactly this GPU. The caller frees it with memory_free. */
static ig_status compile(const cuda_device *d, const kernel_image *image, void **out, size_t *bytes)
{
    char arch[32], include[520];
    const char *options[OPTIONS] = {arch, "--fmad=false", "--std=c++17", "-default-device"};
    const nvrtc_library *nvrtc = nvrtc_get();
    nvrtc_source source = {
        .text = image->source, .name = "kernel.cu", .options = options, .n_options = 4};
    nvrtc_image made = {0};
    if (nvrtc->why)
        FAIL(
            IG_ERR_DEVICE,
            "%s: %s; %s. Without NVRTC, use the same GPU through OpenCL: 'ingot devices' shows its "
            "name",
            d->base.name, nvrtc->why, nvrtc->remedy);
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%s", d->capability,
             image->options ? image->options : "");
    if (include_option(nvrtc, include, sizeof include))
        options[source.n_options++] = include;
    if (image->is_emitted && nvrtc->major >= MINIMAL_SINCE)
        options[source.n_options++] =
            "--minimal"; /* saves 5 of the 28 ms that the smallest kernel takes */
    ig_status status = nvrtc_compile(&source, &made);
    if (status == IG_OK && !made.data)
        status = ig_fail(IG_ERR_DEVICE, "%s: NVRTC refuses kernel '%s'%s%.*s", d->base.name,
                         image->entry, made.log ? ":\n" : "; it does not say why", LOG_BYTES,
                         made.log ? made.log : "");
    memory_free(made.log);
    *out = made.data;
    *bytes = made.bytes;
    return status;
}

/* ---- the kernel of an image ---- */

static CUresult take_function(const kernel_image *image, cuda_kernel *k)
{
    int threads = 0, shared = 0;
    CUresult status = cu.module_function(&k->function, k->module->module, image->entry);
    if (status == CUDA_SUCCESS)
        status =
            cu.function_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k->function);
    if (status == CUDA_SUCCESS)
        status = cu.function_attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k->function);
    k->base.threads = (uint64_t)threads;
    k->base.shared_static = (size_t)shared;
    return status;
}

static ig_status load(cuda_device *d, const kernel_image *images, int n, const void *data,
                      cuda_kernel **k)
{
    cuda_module *m = memory_new(sizeof *m);
    if (!m)
        return IG_ERR_MEMORY;
    ig_status result = cuda_enter(d);
    if (result != IG_OK) {
        memory_free(m);
        return result;
    }
    const int64_t began = trace_begin();
    CUresult status = cu.module_load(&m->module, data);
    for (int i = 0; i < n && status == CUDA_SUCCESS; i++) {
        k[i]->module = m;
        status = take_function(&images[i], k[i]);
    }
    if (status != CUDA_SUCCESS && m->module)
        cu.module_unload(m->module);
    trace_end(began, "load a kernel");
    m->users = n;
    d->n_kernels += status == CUDA_SUCCESS ? n : 0;
    result = cuda_check(d, status, "loading a kernel");
    cuda_leave(d);
    if (result != IG_OK)
        memory_free(m);
    return result;
}

static ig_status build(cuda_device *d, const kernel_image *images, int n, cuda_kernel **k)
{
    size_t key_bytes, bytes = 0;
    void *data = NULL, *made = NULL;
    char *key = key_of(d, images, &key_bytes);
    if (!key)
        return IG_ERR_MEMORY;
    if (cache_get(&cached, key, key_bytes, &data, &bytes)) {
        const bool failed = ig_failed();
        if (load(d, images, n, data, k) == IG_OK) {
            memory_free(data);
            memory_free(key);
            return IG_OK;
        }
        if (!failed)
            ig_error(NULL);
        cache_remove(&cached, key, key_bytes);
        memory_free(data);
    }
    const int64_t began = driver_compile_begin(&d->base.dev);
    ig_status status = compile(d, images, &made, &bytes);
    driver_compile_end(began);
    if (status == IG_OK)
        status = load(d, images, n, made, k);
    if (status == IG_OK)
        cache_put(&cached, key, key_bytes, made, bytes);
    memory_free(made);
    memory_free(key);
    return status;
}

static cuda_kernel *kernel_new(const backend *dev, const kernel_image *image)
{
    cuda_kernel *k = driver_kernel_new(dev, image, sizeof *k);
    if (k)
        k->dev = cuda_device_of(dev);
    return k;
}

ig_status cuda_kernels_build(const backend *dev, const kernel_image *images, int n,
                             kernel_code **out)
{
    cuda_device *d = cuda_device_of(dev);
    TRY(cuda_enter(d)); /* otherwise a lost device would look like an error of the compiler */
    cuda_leave(d);
    cuda_kernel **k = memory_new((size_t)n * sizeof *k);
    ig_status status = k ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < n && status == IG_OK; i++)
        status = (k[i] = kernel_new(dev, &images[i])) ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = build(d, images, n, k);
    for (int i = 0; i < n && k; i++) {
        if (status == IG_OK)
            out[i] = &k[i]->base.code;
        else
            memory_free(k[i]);
    }
    memory_free(k);
    return status;
}

ig_status cuda_kernel_build(const backend *dev, const kernel_image *image, kernel_code **out)
{
    return cuda_kernels_build(dev, image, 1, out);
}

void cuda_kernel_discard(kernel_code *code)
{
    cuda_kernel *k = (cuda_kernel *)code;
    if (!k)
        return;
    cuda_device *d = k->dev;
    pthread_mutex_lock(&d->base.lock);
    const bool last = --k->module->users == 0;
    if (last && cuda_push(d)) {
        cuda_note(d, cuda_wait(d), "waiting for the GPU"); /* launches may be queued */
        cu.module_unload(k->module->module);
        cu.context_pop(&(CUcontext){NULL});
    }
    d->n_kernels--;
    pthread_mutex_unlock(&d->base.lock);
    if (last)
        memory_free(k->module);
    memory_free(k);
}

/* ---- handwritten kernels ---- */

/* A kernel of a text of kernels/, compiled after some definitions. The device owns it. */
struct cuda_text_kernel {
    struct cuda_text_kernel *next;
    const char *text[4], *entry;
    cuda_kernel *kernel;
    char definitions[];
};

void cuda_text_release(cuda_device *d)
{
    while (d->texts) {
        struct cuda_text_kernel *k = d->texts;
        d->texts = k->next;
        cuda_kernel_discard(&k->kernel->base.code);
        memory_free(k);
    }
}

ig_status cuda_text_kernel(cuda_device *d, const cuda_text *t, cuda_kernel **out)
{
    for (struct cuda_text_kernel *k = d->texts; k; k = k->next)
        if (memcmp(k->text, t->text, sizeof k->text) == 0 && strcmp(k->entry, t->entry) == 0 &&
            strcmp(k->definitions, t->definitions) == 0) {
            *out = k->kernel;
            return IG_OK;
        }
    const size_t bytes = strlen(t->definitions) + 1;
    struct cuda_text_kernel *k = memory_new(sizeof *k + bytes);
    text source = {0};
    kernel_code *code = NULL;
    text_add(&source, "%s", t->definitions);
    for (int i = 0; i < 4 && t->text[i]; i++)
        text_add(&source, "%s", t->text[i]);
    char *all = text_take(&source);
    ig_status status = k && all ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        const kernel_image image = {.source = all,
                                    .entry = t->entry,
                                    .options = t->suffix,
                                    .params = t->params,
                                    .n_params = t->n_params,
                                    .dynamic_shared = true};
        status = cuda_kernel_build(&d->base.dev, &image, &code);
    }
    memory_free(all);
    if (status != IG_OK) {
        memory_free(k);
        return status;
    }
    k->next = d->texts;
    memcpy(k->text, t->text, sizeof k->text);
    k->entry = t->entry;
    k->kernel = *out = (cuda_kernel *)code;
    memcpy(k->definitions, t->definitions, bytes);
    d->texts = k;
    return IG_OK;
}
