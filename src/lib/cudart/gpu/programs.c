/* Modules and programs of the GPU's target: images of ours are compiled by NVRTC, others are the driver's. */
#include "lib/cudart/gpu/gpu.h"

#include "engine/backend/cuda/nvrtc.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

int gpu_module_load(ig_cuda_module *m)
{
    CUmodule module = NULL;
    if (!m->unit.name) {
        const CUresult status = cu.module_load(&module, m->given);
        m->handle = module;
        return status;
    }
    gpu_image image;
    if (!m->unit.gpu_text)
        ig_fail(IG_ERR_UNSUPPORTED, "the module '%s' was compiled without its text for NVRTC",
                m->unit.name);
    const ig_status status = m->unit.gpu_text
                                 ? gpu_compile(&m->unit, gpu_capability(), NULL, 0, &image)
                                 : IG_ERR_UNSUPPORTED;
    if (status != IG_OK) {
        cudart_print_error();
        cudart_watch_unbuilt(status);
        return status == IG_ERR_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidKernelImage;
    }
    const CUresult loaded = cu.module_load(&module, image.data);
    gpu_image_free(&image);
    m->handle = module;
    return loaded;
}

int gpu_module_unload(ig_cuda_module *m) { return cu.module_unload(m->handle); }

int gpu_module_function(ig_cuda_module *m, ig_cuda_kernel *k)
{
    CUfunction found = NULL;
    const CUresult status = cu.module_function(&found, m->handle, k->name);
    k->function = found;
    return status;
}

int gpu_module_global(ig_cuda_module *m, const char *name, char **at, size_t *bytes)
{
    CUdeviceptr found = 0;
    const CUresult status = gpu.module_global(&found, bytes, m->handle, name);
    *at = (char *)(uintptr_t)found;
    return status;
}

/* The program's options, with this GPU as the architecture, and CUDA's headers as the last folders. */
static const char **options_of(const ig_cuda_program *p, char folders[][GPU_FOLDER_BYTES + 2],
                               int n_folders, const char *architecture, int *n)
{
    const char **all = memory_new((size_t)(p->n_options + n_folders + 2) * sizeof *all);
    *n = 0;
    for (int i = 0; i < p->n_options && all; i++) {
        const char *name = p->options[i] + strspn(p->options[i], "-");
        const size_t bytes = strcspn(name, "=");
        if ((bytes == 4 && !strncmp(name, "arch", 4)) ||
            (bytes == 16 && !strncmp(name, "gpu-architecture", 16)))
            i += !name[bytes]; /* its value is the next word */
        else
            all[(*n)++] = p->options[i];
    }
    if (all)
        all[(*n)++] = architecture;
    for (int i = 0; i < n_folders && all; i++)
        all[(*n)++] = folders[i];
    return all;
}

int gpu_program(ig_cuda_program *p)
{
    const nvrtc_library *nvrtc = nvrtc_get();
    if (nvrtc->why) {
        ig_fail(IG_ERR_DEVICE, "%s; %s, or run the program with '--device cpu'", nvrtc->why,
                nvrtc->remedy);
        cudart_print_error();
        return PROGRAM_INTERNAL;
    }
    char found[GPU_FOLDERS_MOST][GPU_FOLDER_BYTES];
    char folders[GPU_FOLDERS_MOST][GPU_FOLDER_BYTES + 2];
    char architecture[48];
    const void *inside;
    memcpy(&inside, &nvrtc->api.nvrtcVersion, sizeof inside);
    const int n_folders = gpu_toolkit_folders(inside, found);
    for (int i = 0; i < n_folders; i++)
        snprintf(folders[i], sizeof folders[i], "-I%s", found[i]);
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", gpu_capability());
    int n_options;
    const char **options = options_of(p, folders, n_folders, architecture, &n_options);
    const int n = cudart_count((const char *const *)p->headers) / 2;
    const char **names = memory_new((size_t)(2 * n + 1) * sizeof *names);
    if (!options || !names) {
        memory_free(options);
        memory_free(names);
        return PROGRAM_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        names[i] = p->headers[2 * i];
        names[n + i] = p->headers[2 * i + 1];
    }
    nvrtc_image image = {.symbols = p->symbols};
    const ig_status status =
        nvrtc_compile(&(nvrtc_source){.text = p->text,
                                      .name = p->name,
                                      .header_names = names,
                                      .header_texts = names + n,
                                      .n_headers = n,
                                      .options = options,
                                      .n_options = n_options,
                                      .expressions = (const char *const *)p->expressions,
                                      .n_expressions = p->n_expressions},
                      &image);
    memory_free(options);
    memory_free(names);
    p->log = image.log;
    p->image = image.data;
    p->image_bytes = image.data ? image.bytes : 0;
    if (status != IG_OK) {
        cudart_print_error();
        return PROGRAM_INTERNAL;
    }
    return image.data ? PROGRAM_FINE : PROGRAM_COMPILATION;
}
