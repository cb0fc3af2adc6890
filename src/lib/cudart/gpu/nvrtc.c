/* From the text of a unit to an image, with NVRTC. */
#include "lib/cudart/gpu/gpu.h"

#include "engine/backend/cuda/nvrtc.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { LOG_BYTES = 6000, ROUNDS_MOST = 2 };

/* The folders of CUDA's headers. */
static struct {
    pthread_once_t once;
    char at[GPU_FOLDERS_MOST][GPU_FOLDER_BYTES];
    int n;
} folders = {.once = PTHREAD_ONCE_INIT};

static void find_folders(void)
{
    const void *inside;
    memcpy(&inside, &nvrtc_get()->api.nvrtcVersion, sizeof inside);
    folders.n = gpu_toolkit_folders(inside, folders.at);
}

/* ---- options ---- */

/* Options for the compiler; the list owns their text. */
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

/* Functions without a qualifier are compiled for the device: host functions are not in the text, and
 * constexpr functions may be called from both sides. */
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
    for (int i = 0; i < folders.n; i++)
        add_word(&w, "-I%s", folders.at[i]);
    return w;
}

/* ---- messages ---- */

/* NVRTC reports an unknown or ambiguous expression on a separate line. Replaces each such expression by its
 * exact form, or removes it from the list; returns their number. */
static int drop_bad(const char *log, const gpu_expression *all, const char **expressions, int n)
{
    static const char *const begin = "#pragma nv_mangled_name ";
    int dropped = 0;
    for (const char *at = log ? log : ""; (at = strstr(at, begin));) {
        at += strlen(begin);
        const size_t bytes = strcspn(at, "\n");
        for (int i = 0; i < n; i++)
            if (expressions[i] && strlen(expressions[i]) == bytes &&
                memcmp(expressions[i], at, bytes) == 0) {
                expressions[i] = expressions[i] == all[i].name ? all[i].exact : NULL;
                dropped++;
            }
    }
    return dropped;
}

static ig_status failed(const ig_cuda_unit *u, const char *log)
{
    const bool header = log && strstr(log, "could not open source file");
    FAIL(
        IG_ERR_FORMAT, "NVRTC does not compile '%s'%s%.*s%s", u->name,
        log && *log ? ":\n" : "; it does not say why", LOG_BYTES, log ? log : "",
        header && !folders.n
            ? "\nThe headers of CUDA were not found: install the headers of a CUDA toolkit, or pip "
              "install nvidia-cuda-runtime; CUDA_HOME is the folder of a toolkit that is elsewhere"
            : "");
}

/* ---- compiling ---- */

/* The unit's text, preceded by the header with the parts of the C and C++ libraries that kernels use. */
static char *source_of(const ig_cuda_unit *u)
{
    text t = {0};
    text_add(&t, "#include \"ingot_nvrtc.h\"\n#line 1 \"");
    for (const char *c = u->name; *c; c++)
        text_add(&t, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    text_add(&t, "\"\n%s", u->gpu_text);
    return text_take(&t);
}

/* One attempt. *again receives true if it failed because of expressions, which are then changed or
 * removed. */
static ig_status attempt(const ig_cuda_unit *u, const char *source, const words *options,
                         const gpu_expression *all, const char **expressions, gpu_image *out,
                         bool *again)
{
    const int n = cudart_count(u->gpu_headers) / 2;
    const char **names = memory_new((size_t)(2 * n + 1) * sizeof *names);
    if (!names)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        names[i] = u->gpu_headers[2 * i];
        names[n + i] = u->gpu_headers[2 * i + 1];
    }
    nvrtc_image image = {.symbols = out->symbols};
    ig_status status = nvrtc_compile(&(nvrtc_source){.text = source,
                                                     .name = u->name,
                                                     .header_names = names,
                                                     .header_texts = names + n,
                                                     .n_headers = n,
                                                     .options = (const char *const *)options->at,
                                                     .n_options = options->n,
                                                     .expressions = expressions,
                                                     .n_expressions = out->n},
                                     &image);
    memory_free(names);
    *again = false;
    if (status == IG_OK && !image.data) {
        *again = drop_bad(image.log, all, expressions, out->n) > 0;
        status = failed(u, image.log);
    }
    memory_free(image.log);
    out->data = image.data;
    out->bytes = image.bytes;
    return status;
}

static ig_status compile(const ig_cuda_unit *u, const words *options, const gpu_expression *all,
                         const char **expressions, gpu_image *out)
{
    bool again = true;
    ig_status status = IG_OK;
    char *source = source_of(u);
    if (!source)
        return IG_ERR_MEMORY;
    for (int round = 0; round < ROUNDS_MOST && again; round++) {
        if (round)
            ig_error(NULL);
        status = attempt(u, source, options, all, expressions, out, &again);
    }
    memory_free(source);
    return status;
}

ig_status gpu_nvrtc(const ig_cuda_unit *unit, int capability, const gpu_expression *expressions,
                    gpu_image *out)
{
    const nvrtc_library *nvrtc = nvrtc_get();
    const bool old =
        !nvrtc->why && !(nvrtc->api.nvrtcAddNameExpression && nvrtc->api.nvrtcGetLoweredName);
    if (nvrtc->why || old)
        FAIL(IG_ERR_DEVICE, "%s; %s, or run the program with '--device cpu'",
             old ? "NVRTC has no name expressions: it is too old" : nvrtc->why, nvrtc->remedy);
    pthread_once(&folders.once, find_folders);
    const char **kept = memory_new((size_t)(out->n + 1) * sizeof *kept);
    words options = options_of(unit, capability);
    ig_status status = kept && !options.failed ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        for (int i = 0; i < out->n; i++)
            kept[i] = expressions[i].name;
        status = compile(unit, &options, expressions, kept, out);
    }
    memory_free(kept);
    words_free(&options);
    return status;
}
