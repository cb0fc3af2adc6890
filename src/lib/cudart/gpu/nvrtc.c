/* From the text of a unit to an image, by NVRTC. */
#include "lib/cudart/gpu/gpu.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { LOG_BYTES = 6000, ROUNDS_MOST = 2 };

static struct {
    pthread_once_t once;
    nvrtc_api api;
    const char *why, *remedy, *path;
    char folders[GPU_FOLDERS_MOST][GPU_FOLDER_BYTES];
    int n_folders;
} nvrtc = {.once = PTHREAD_ONCE_INIT};

static void find_nvrtc(void)
{
    const void *inside;
    nvrtc.why = nvrtc_api_load(&nvrtc.api, &nvrtc.remedy, &nvrtc.path);
    if (!nvrtc.why && !(nvrtc.api.nvrtcAddNameExpression && nvrtc.api.nvrtcGetLoweredName))
        nvrtc.why = "NVRTC has no name expressions: it is too old";
    if (nvrtc.why)
        return;
    memcpy(&inside, &nvrtc.api.nvrtcVersion, sizeof inside);
    nvrtc.n_folders = gpu_toolkit_folders(inside, nvrtc.folders);
}

/* ---- options ---- */

/* Words for the compiler; the text is the list's. */
typedef struct words {
    char **at;
    int n;
    bool failed;
} words;

static void add_word(words *w, const char *format, const char *value)
{
    text t = {0};
    text_add(&t, format, value);
    char *word = text_take(&t);
    char **at = word ? memory_resize(w->at, (size_t)(w->n + 1) * sizeof *at) : NULL;
    if (!at) {
        memory_free(word);
        w->failed = true;
        return;
    }
    w->at = at;
    w->at[w->n++] = word;
}

static void words_free(words *w)
{
    for (int i = 0; i < w->n; i++)
        memory_free(w->at[i]);
    memory_free(w->at);
}

/* Functions without a qualifier belong to the device: those of the host are not in the text, and constexpr
 * functions may be called from both sides. */
static words options_of(const ig_cuda_unit *u, int capability)
{
    words w = {0};
    char number[16];
    bool standard = false;
    snprintf(number, sizeof number, "%d", capability);
    add_word(&w, "--gpu-architecture=sm_%s", number);
    add_word(&w, "%s", "-default-device");
    add_word(&w, "%s", "-w");
    for (int i = 0; i < cudart_count(u->options); i++) {
        add_word(&w, "%s", u->options[i]);
        standard |= strncmp(u->options[i], "-std=", 5) == 0;
    }
    if (!standard)
        add_word(&w, "%s", "-std=c++17");
    for (int i = 0; i < cudart_count(u->defines); i++)
        add_word(&w, "-D%s", u->defines[i]);
    for (int i = 0; i < cudart_count(u->folders); i++)
        add_word(&w, "-I%s", u->folders[i]);
    for (int i = 0; i < nvrtc.n_folders; i++)
        add_word(&w, "-I%s", nvrtc.folders[i]);
    return w;
}

/* ---- messages ---- */

static char *log_of(nvrtcProgram p)
{
    size_t bytes = 0;
    if (nvrtc.api.nvrtcGetProgramLogSize(p, &bytes) != 0)
        return NULL;
    char *log = memory_new(bytes + 1);
    if (log && nvrtc.api.nvrtcGetProgramLog(p, log) != 0)
        log[0] = '\0';
    return log;
}

/* NVRTC names an expression that it does not understand in a line of its own. Removes those from the list;
 * returns how many there were. */
static int drop_bad(const char *log, const char **expressions, int n)
{
    static const char *const begin = "#pragma nv_mangled_name ";
    int dropped = 0;
    for (const char *at = log ? log : ""; (at = strstr(at, begin));) {
        at += strlen(begin);
        const size_t bytes = strcspn(at, "\n");
        for (int i = 0; i < n; i++)
            if (expressions[i] && strlen(expressions[i]) == bytes &&
                memcmp(expressions[i], at, bytes) == 0) {
                expressions[i] = NULL;
                dropped++;
            }
    }
    return dropped;
}

static ig_status failed(const ig_cuda_unit *u, const char *log)
{
    const bool header = log && strstr(log, "could not open source file");
    FAIL(IG_ERR_FORMAT, "NVRTC does not compile '%s'%s%.*s%s", u->name,
         log && *log ? ":\n" : "; it does not say why", LOG_BYTES, log ? log : "",
         header && !nvrtc.n_folders
             ? "\nThe headers of CUDA were not found: install those of a CUDA toolkit, or pip "
               "install nvidia-cuda-runtime; CUDA_HOME is the folder of a toolkit that is elsewhere"
             : "");
}

/* ---- compiling ---- */

/* The text behind the header that has what kernels use of the C and C++ libraries. */
static char *source_of(const ig_cuda_unit *u)
{
    text t = {0};
    text_add(&t, "#include \"ingot_nvrtc.h\"\n#line 1 \"");
    for (const char *c = u->name; *c; c++)
        text_add(&t, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    text_add(&t, "\"\n%s", u->text);
    return text_take(&t);
}

static ig_status create(const ig_cuda_unit *u, const char *source, nvrtcProgram *p)
{
    const int n = cudart_count(u->headers) / 2;
    const char **names = memory_new((size_t)(2 * n + 1) * sizeof *names);
    if (!names)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        names[i] = u->headers[2 * i];
        names[n + i] = u->headers[2 * i + 1];
    }
    const int status = nvrtc.api.nvrtcCreateProgram(p, source, u->name, n, names + n, names);
    memory_free(names);
    if (status != 0)
        FAIL(IG_ERR_MEMORY, "NVRTC cannot take '%s'", u->name);
    return IG_OK;
}

static ig_status take_symbol(nvrtcProgram p, const char *expression, char **out)
{
    const char *symbol;
    if (nvrtc.api.nvrtcGetLoweredName(p, expression, &symbol) != 0)
        return IG_OK;
    *out = memory_new(strlen(symbol) + 1);
    if (!*out)
        return IG_ERR_MEMORY;
    memcpy(*out, symbol, strlen(symbol));
    return IG_OK;
}

static ig_status take_image(nvrtcProgram p, const char *const *expressions, gpu_image *out)
{
    if (nvrtc.api.nvrtcGetCUBINSize(p, &out->bytes) != 0 ||
        !(out->data = memory_new(out->bytes + 1)))
        return IG_ERR_MEMORY;
    if (nvrtc.api.nvrtcGetCUBIN(p, out->data) != 0)
        FAIL(IG_ERR_DEVICE, "NVRTC gives no image");
    for (int i = 0; i < out->n; i++)
        if (expressions[i])
            TRY(take_symbol(p, expressions[i], &out->symbols[i]));
    return IG_OK;
}

/* One attempt. *again receives true if it failed for expressions, which were removed from the list. */
static ig_status attempt(const ig_cuda_unit *u, const char *source, const words *options,
                         const char **expressions, gpu_image *out, bool *again)
{
    nvrtcProgram p = NULL;
    TRY(create(u, source, &p));
    for (int i = 0; i < out->n; i++)
        if (expressions[i])
            nvrtc.api.nvrtcAddNameExpression(p, expressions[i]);
    ig_status status;
    *again = false;
    if (nvrtc.api.nvrtcCompileProgram(p, options->n, (const char *const *)options->at) == 0) {
        status = take_image(p, expressions, out);
    } else {
        char *log = log_of(p);
        *again = drop_bad(log, expressions, out->n) > 0;
        status = failed(u, log);
        memory_free(log);
    }
    nvrtc.api.nvrtcDestroyProgram(&p);
    return status;
}

static ig_status compile(const ig_cuda_unit *u, const words *options, const char **expressions,
                         gpu_image *out)
{
    bool again = true;
    ig_status status = IG_OK;
    char *source = source_of(u);
    if (!source)
        return IG_ERR_MEMORY;
    for (int round = 0; round < ROUNDS_MOST && again; round++) {
        if (round)
            ig_error(NULL);
        status = attempt(u, source, options, expressions, out, &again);
    }
    memory_free(source);
    return status;
}

ig_status gpu_nvrtc(const ig_cuda_unit *unit, int capability, const char *const *expressions,
                    gpu_image *out)
{
    pthread_once(&nvrtc.once, find_nvrtc);
    if (nvrtc.why)
        FAIL(IG_ERR_DEVICE, "%s; %s, or run the program with '--device cpu'", nvrtc.why,
             nvrtc.remedy);
    const char **kept = memory_new((size_t)(out->n + 1) * sizeof *kept);
    words options = options_of(unit, capability);
    ig_status status = kept && !options.failed ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        memcpy(kept, expressions, (size_t)out->n * sizeof *kept);
        status = compile(unit, &options, kept, out);
    }
    memory_free(kept);
    words_free(&options);
    return status;
}
