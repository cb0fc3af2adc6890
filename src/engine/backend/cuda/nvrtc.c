/* NVRTC: from a text to an image; see nvrtc.h. */
#include "engine/backend/cuda/nvrtc.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"

#include <pthread.h>
#include <string.h>

static nvrtc_library library;

static void find(void)
{
    const int64_t began = trace_begin();
    library.why = nvrtc_api_load(&library.api, &library.remedy, &library.path);
    if (!library.why)
        library.api.nvrtcVersion(&library.major, &library.minor);
    trace_end(began, "load NVRTC");
}

const nvrtc_library *nvrtc_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return &library;
}

static char *log_of(nvrtcProgram p)
{
    size_t bytes = 0;
    if (library.api.nvrtcGetProgramLogSize(p, &bytes) != 0 || bytes <= 1)
        return NULL;
    char *log = memory_new(bytes + 1);
    if (log && library.api.nvrtcGetProgramLog(p, log) != 0)
        log[0] = '\0';
    return log;
}

static ig_status take_symbol(nvrtcProgram p, const char *expression, char **out)
{
    const char *symbol;
    if (library.api.nvrtcGetLoweredName(p, expression, &symbol) != 0)
        return IG_OK;
    *out = memory_new(strlen(symbol) + 1);
    if (!*out)
        return IG_ERR_MEMORY;
    memcpy(*out, symbol, strlen(symbol));
    return IG_OK;
}

static ig_status take_image(nvrtcProgram p, const nvrtc_source *s, nvrtc_image *out)
{
    if (library.api.nvrtcGetCUBINSize(p, &out->bytes) != 0)
        FAIL(IG_ERR_DEVICE, "NVRTC gives no image of '%s'", s->name);
    out->data = memory_new(out->bytes + 1);
    if (!out->data)
        return IG_ERR_MEMORY;
    if (library.api.nvrtcGetCUBIN(p, out->data) != 0)
        FAIL(IG_ERR_DEVICE, "NVRTC gives no image of '%s'", s->name);
    for (int i = 0; i < s->n_expressions; i++)
        if (s->expressions[i])
            TRY(take_symbol(p, s->expressions[i], &out->symbols[i]));
    return IG_OK;
}

ig_status nvrtc_compile(const nvrtc_source *s, nvrtc_image *out)
{
    nvrtcProgram p = NULL;
    ig_status status = IG_OK;
    if (library.api.nvrtcCreateProgram(&p, s->text, s->name, s->n_headers, s->header_texts,
                                       s->header_names) != 0)
        FAIL(IG_ERR_MEMORY, "NVRTC cannot take '%s'", s->name);
    for (int i = 0; i < s->n_expressions; i++)
        if (s->expressions[i])
            library.api.nvrtcAddNameExpression(p, s->expressions[i]);
    if (library.api.nvrtcCompileProgram(p, s->n_options, s->options) != 0)
        out->log = log_of(p);
    else
        status = take_image(p, s, out);
    library.api.nvrtcDestroyProgram(&p);
    if (status != IG_OK) {
        memory_free(out->data);
        out->data = NULL;
    }
    return status;
}
