/* The compiler's messages quote the missing names. A CUDA name that our headers do not declare belongs to an
 * unsupported part of CUDA; any other name is a mistake in the program. */
#include "cuda/explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 8, NAME_MOST = 64 };

typedef struct part {
    const char *name, *advice;
} part;

static const part graphs = {"this part of CUDA graphs is", "launch the kernels one by one"};
static const part textures = {"texture references, mipmaps and views are",
                              "use a texture object with one level"};
static const part driver = {"this part of the CUDA driver API is",
                            "use the runtime API (cudaMalloc, kernel<<<>>>)"};
static const part graphics = {"OpenGL, Vulkan and Direct3D buffers are",
                              "copy the data to the host"};
static const part library = {"this CUDA library is", "write the operation as a kernel"};
static const part runtime = {"this part of the CUDA runtime is",
                             "run it on an NVIDIA GPU with nvcc"};

/* Prefixes of names; the first match wins. */
static const struct {
    const part *part;
    const char *prefixes;
} names[] = {
    {&graphics, "cudaGraphics cudaGL cudaExternal cudaImportExternal"},
    {&graphs, "cudaGraph cudaStreamCapture cudaUserObject cudaDeviceGraph cudaGraphKernelNodePort"},
    {&textures,
     "cudaBindTexture cudaUnbindTexture cudaBindSurface cudaMipmapped cudaMallocMipmapped "
     "cudaFreeMipmapped cudaGetMipmapped cudaResourceView cudaArraySparse texture surface"},
    {&library,
     "cublas CUBLAS cufft CUFFT curand CURAND cusparse CUSPARSE cusolver CUSOLVER cudnn CUDNN "
     "nvrtc NVRTC nvJitLink nccl"},
    {&driver, "cudaDevResource CUDA_SUCCESS CUDA_ERROR"}};

static bool begins(const char *name, size_t bytes, const char *prefix)
{
    const size_t n = strlen(prefix);
    return bytes >= n && memcmp(name, prefix, n) == 0;
}

/* The part of CUDA that a name belongs to; NULL if it is not a CUDA name. */
static const part *part_of(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *p = names[i].prefixes; *p; p += strspn(p, " ")) {
            const size_t n = strcspn(p, " ");
            if (bytes >= n && memcmp(name, p, n) == 0)
                return names[i].part;
            p += n;
        }
    if (bytes < 4)
        return NULL;
    const bool upper = isupper((unsigned char)name[2]), lower = islower((unsigned char)name[2]);
    if ((begins(name, bytes, "cu") && upper) || (begins(name, bytes, "CU") && lower))
        return &driver; /* cuInit, CUdevice */
    if (begins(name, bytes, "cuda") && isupper((unsigned char)name[4]))
        return &runtime;
    return NULL;
}

/* The missing name of an error line: the quoted text after "error:". */
static bool missing_name(const char *line, const char *end, const char **name, size_t *bytes)
{
    static const char *const words[] = {
        "not declared",      "undeclared",           "unknown type name", "no member",
        "not been declared", "does not name a type", "no template",       "use of undeclared",
        "incomplete type",   "unknown class",        "not a member"};
    str text = {0};
    str_add(&text, line, (size_t)(end - line));
    const char *error = strstr(text.s, "error:");
    bool missing = false;
    for (size_t i = 0; error && i < sizeof words / sizeof *words; i++)
        missing |= strstr(error, words[i]) != NULL;
    const char *quote = missing ? strchr(error, '\'') : NULL;
    *name = quote ? line + (quote + 1 - text.s) : NULL;
    str_free(&text);
    if (!*name)
        return false;
    *bytes = 0;
    while (*name + *bytes < end &&
           (isalnum((unsigned char)(*name)[*bytes]) || (*name)[*bytes] == '_'))
        ++*bytes;
    return true;
}

typedef struct finding {
    const part *part;
    str names; /* some of them */
    int n_names;
} finding;

static void add_name(finding *f, const char *name, size_t bytes)
{
    enum { NAMES_MOST = 3 };
    str text = {0};
    str_add(&text, name, bytes);
    if (!(f->names.s && strstr(f->names.s, text.s)) && f->n_names < NAMES_MOST) {
        str_printf(&f->names, "%s%s", f->n_names ? ", " : "", text.s);
        f->n_names++;
    }
    str_free(&text);
}

/* An #error of our headers, at the line of the program that includes them. Of several such lines gcc prints the innermost
 * first and ends all but the last one with a comma; clang prints the outermost first. */
static bool explain_own(const char *printed, str *out)
{
    static const char mark[] = "\"ingot: ", from[] = "from ";
    const char *text = strstr(printed, mark), *at = strstr(printed, from);
    while (text && at && at < text && at[strcspn(at, ",\n")] == ',')
        at = strstr(at + 1, from);
    if (!text || !at || at > text)
        return false;
    at += sizeof from - 1;
    text += sizeof mark - 1;
    const size_t name = strcspn(at, ":") + 1;
    str_printf(out, "%.*s: %.*s\n", (int)(name + strspn(at + name, "0123456789")), at,
               (int)strcspn(text, "\""), text);
    return true;
}

bool explain_missing(const char *printed, str *out)
{
    if (explain_own(printed, out))
        return true;
    finding found[PARTS_MOST] = {{0}};
    str places[PARTS_MOST] = {{0}};
    int n = 0;
    for (const char *line = printed; *line;) {
        const char *end = line + strcspn(line, "\n"), *name = NULL;
        size_t bytes = 0;
        const part *p = missing_name(line, end, &name, &bytes) ? part_of(name, bytes) : NULL;
        int i = 0;
        while (i < n && found[i].part != p)
            i++;
        if (p && i == n && n < PARTS_MOST) {
            const char *at = line;
            for (int colons = 0; at < end; at++) /* file:line */
                if (*at == ':' && ++colons == 2)
                    break;
            str_add(&places[n], line, (size_t)(at - line));
            found[n++].part = p;
        }
        if (p && i < n)
            add_name(&found[i], name, bytes);
        line = end + (*end == '\n');
    }
    for (int i = 0; i < n; i++) {
        str_printf(out, "%s: %s not supported (%s); %s\n", places[i].s, found[i].part->name,
                   found[i].names.s, found[i].part->advice);
        str_free(&places[i]);
        str_free(&found[i].names);
    }
    return n > 0;
}
