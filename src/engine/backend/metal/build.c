/* Compiles text to a kernel. Metal compiles the text when it first sees it; the system caches the result. */
#include "engine/backend/metal/metal.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { LOG_BYTES = 3000 };

static id string(const char *text)
{
    return objc_send(string, objc.get_class("NSString"), text, NSUTF8StringEncoding);
}

/* Fast math would reorder sums, drop NaN, and approximate divisions. Language version 2.3 is the version of macOS 11,
 * the first for these GPUs. */
static id options_new(void)
{
    const id options = objc_send(init, objc_send(alloc, objc.get_class("MTLCompileOptions")));
    objc_send(set_fast_math, options, false);
    objc_send(set_language, options, MTLLanguageVersion2_3);
    return options;
}

static ig_status refused(const metal_device *d, const kernel_image *image, id error)
{
    char log[LOG_BYTES];
    const char *said = metal_error_text(error, NULL);
    snprintf(log, sizeof log, "%s", said ? said : "");
    FAIL(IG_ERR_DEVICE, "%s: Metal refuses kernel '%s'%s%s", d->base.name, image->entry,
         said ? ":\n" : "; it does not say why", log);
}

static ig_status build(metal_device *d, const kernel_image *image, metal_kernel *k)
{
    id error = NULL, function = NULL, library = NULL;
    const id options = options_new(), text = string(image->source), name = string(image->entry);
    if (options && text && name)
        library = objc_send(new_library, d->device, text, options, &error);
    if (library)
        function = objc_send(new_function, library, name);
    if (function)
        k->pipeline = objc_send(new_pipeline, d->device, function, &error);
    const ig_status status = k->pipeline ? IG_OK : refused(d, image, error);
    objc_send(release, function);
    objc_send(release, library);
    objc_send(release, options);
    TRY(status);
    k->base.threads = objc_send(pipeline_threads, k->pipeline);
    k->base.shared_static = objc_send(pipeline_shared, k->pipeline);
    if (objc_send(pipeline_width, k->pipeline) == (NSUInteger)d->base.dev.limits.subgroup)
        return IG_OK;
    objc_send(release, k->pipeline);
    FAIL(IG_ERR_DEVICE, "%s: kernel '%s' has simdgroups of another width than 32", d->base.name,
         image->entry);
}

ig_status metal_kernel_build(const backend *dev, const kernel_image *image, kernel_code **out)
{
    metal_device *d = metal_device_of(dev);
    const int indices = image->n_params;
    if (indices > METAL_BUFFERS)
        FAIL(IG_ERR_UNSUPPORTED, "%s: kernel '%s' has %d parameters; %d are allowed", d->base.name,
             image->entry, indices, METAL_BUFFERS);
    metal_kernel *k = driver_kernel_new(dev, image, sizeof *k);
    if (!k)
        return IG_ERR_MEMORY;
    k->dev = d;
    ig_status status = driver_enter(&d->base.dev);
    if (status == IG_OK) {
        const int64_t began = driver_compile_begin(dev);
        status = build(d, image, k);
        driver_compile_end(began);
        driver_unlock(&d->base.dev);
    }
    if (status == IG_OK)
        *out = &k->base.code;
    else
        memory_free(k);
    return status;
}

void metal_kernel_discard(kernel_code *code)
{
    metal_kernel *k = (metal_kernel *)code;
    if (!k)
        return;
    if (driver_lock_open(&k->dev->base.dev)) {
        objc_send(release, k->pipeline);
        driver_unlock(&k->dev->base.dev);
    }
    memory_free(k);
}
