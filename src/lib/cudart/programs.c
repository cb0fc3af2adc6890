/* Modules and programs of the modules' target: an image is a unit, and compiling a program checks its text. */
#include "lib/cudart/cudart.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/module/module.h"

#include <stdio.h>
#include <string.h>

int modules_module_load(ig_cuda_module *m)
{
    if (!m->unit.name) {
        const bool is_text = strstr(m->given, ".version") || strstr(m->given, ".target");
        ig_fail(IG_ERR_FORMAT,
                "a module has %s, which only an NVIDIA GPU runs; compile its source by 'ingot nvcc "
                "-fatbin' or nvrtcCompileProgram, or run the program with '--device cuda'",
                is_text ? "PTX" : "NVIDIA's device code");
        cudart_print_error();
        return is_text ? cudaErrorInvalidPtx : cudaErrorNoKernelImageForDevice;
    }
    ig_module *module;
    return modules_unit_module(&m->unit, &module);
}

int modules_module_unload(ig_cuda_module *m)
{
    modules_unit_drop(&m->unit);
    return cudaSuccess;
}

int modules_module_function(ig_cuda_module *m, ig_cuda_kernel *k)
{
    ig_module *module;
    const int error = modules_unit_module(&m->unit, &module);
    const ig_kernel_info *info = error ? NULL : ig_module_find(module, k->name);
    if (!info)
        return error ? error : cudaErrorSymbolNotFound;
    if (k->sizes)
        return cudaSuccess;
    size_t *sizes = memory_new((size_t)(info->n_params + 1) * sizeof *sizes);
    if (!sizes)
        return cudaErrorMemoryAllocation;
    for (int i = 0; i < info->n_params; i++)
        sizes[i] = info->params[i].bytes;
    k->sizes = sizes;
    k->n_sizes = info->n_params;
    return cudaSuccess;
}

int modules_module_global(ig_cuda_module *m, const char *name, char **at, size_t *bytes)
{
    return modules_unit_variable(&m->unit, name, at, bytes);
}

/* ---- programs ---- */

typedef struct words {
    const char **at;
    int n;
} words;

/* Options that have no effect, each with its value: "--std=" also stands for "--std" and "-std". */
static const char ignored[] =
    " gpu-architecture arch std relocatable-device-code rdc device-c dc device-w dw "
    "extensible-whole-program ewp device-debug G generate-line-info lineinfo dopt ptxas-options "
    "Xptxas maxrregcount ftz prec-sqrt prec-div fmad use_fast_math extra-device-vectorization "
    "modify-stack-limit dlink-time-opt dlto gen-opt-lto builtin-move-forward "
    "builtin-initializer-list restrict device-as-default-execution-space default-device "
    "optimization-info version-ident disable-warnings w no-source-include diag-error "
    "diag-suppress diag-warn display-error-number err-no minimal split-compile ";

/* The value of an option: after "=" or the name, or the next word. NULL: it is another option. */
static const char *value_of(const ig_cuda_program *p, int *i, const char *name)
{
    const char *option = p->options[*i];
    const size_t n = strlen(name);
    if (strncmp(option, name, n) != 0)
        return NULL;
    if (option[n] == '=')
        return option + n + 1;
    if (option[n])
        return strncmp(name, "--", 2) == 0 ? NULL : option + n;
    return *i + 1 < p->n_options ? p->options[++*i] : NULL;
}

static bool is_ignored(const char *option)
{
    const char *name = option + strspn(option, "-");
    const size_t n = strcspn(name, "=");
    for (const char *at = ignored; name > option && n && (at = strstr(at, " ")) && at[1]; at++)
        if (strncmp(at + 1, name, n) == 0 && at[1 + n] == ' ')
            return true;
    return false;
}

/* Reads the options; false: the log names an unknown one. */
static bool read_options(ig_cuda_program *p, words *defines, words *folders)
{
    static const char *const names[] = {"--define-macro", "-D", "--include-path", "-I"};
    for (int i = 0; i < p->n_options; i++) {
        const char *value = NULL;
        for (int k = 0; k < 4 && !value; k++) {
            value = value_of(p, &i, names[k]);
            if (value) {
                words *to = k < 2 ? defines : folders;
                to->at[to->n++] = value;
            }
        }
        if (!value && !is_ignored(p->options[i])) {
            text t = {0};
            text_add(&t, "nvrtc: error: unrecognized option %s found\n", p->options[i]);
            p->log = text_take(&t);
            return false;
        }
        /* the value of an option as the next word */
        if (!value && i + 1 < p->n_options && p->options[i + 1][0] != '-')
            i++;
    }
    return true;
}

static void add_record(text *t, const char *name, const char *bytes)
{
    text_add(t, "%s %zu\n%s\n", name, strlen(bytes), bytes);
}

static void add_records(text *t, const char *name, const char *const *list)
{
    for (; list && *list; list++)
        add_record(t, name, *list);
}

/* The name of a kernel or variable in an expression: "&ns::k<int>" is "ns::k<int>". */
static const char *name_in(const char *expression) { return expression + strspn(expression, "& "); }

static char *image_of(const ig_cuda_program *p, const ig_cuda_unit *u)
{
    text t = {0};
    text_add(&t, "%s", IG_CUDA_IMAGE);
    add_record(&t, "name", u->name);
    add_records(&t, "header", u->headers);
    add_records(&t, "define", u->defines);
    add_records(&t, "folder", u->folders);
    for (int i = 0; i < p->n_expressions; i++)
        if (strchr(p->expressions[i], '<'))
            add_record(&t, "expression", name_in(p->expressions[i]));
    add_record(&t, "text", u->text);
    return text_take(&t);
}

/* Adds what is wrong with the name expressions to the log. */
static void check_expressions(ig_cuda_program *p, ig_module *m, text *log)
{
    for (int i = 0; i < p->n_expressions; i++) {
        const char *name = name_in(p->expressions[i]);
        binding where;
        size_t bytes;
        text t = {0};
        text_add(&t, "%s", name);
        memory_free(p->symbols[i]);
        p->symbols[i] = text_take(&t);
        if (!ig_module_find(m, name) &&
            module_variable(m, cudart_device(), name, &where, &bytes) != IG_OK) {
            ig_error(NULL);
            text_add(log, "%s: error: the name expression '%s' names no kernel and no variable\n",
                     p->name, p->expressions[i]);
        }
    }
}

int modules_program(ig_cuda_program *p)
{
    const size_t room = (size_t)p->n_options + 1;
    const char **lists = memory_new((2 * room + (size_t)p->n_expressions + 1) * sizeof *lists);
    if (!lists)
        return PROGRAM_MEMORY;
    words defines = {lists, 0}, folders = {lists + room, 0};
    if (!read_options(p, &defines, &folders)) {
        memory_free(lists);
        return PROGRAM_OPTION;
    }
    const char **expressions = lists + 2 * room;
    int n = 0;
    for (int i = 0; i < p->n_expressions; i++)
        if (strchr(p->expressions[i], '<'))
            expressions[n++] = name_in(p->expressions[i]);
    const ig_cuda_unit u = {.name = p->name,
                            .text = p->text,
                            .headers = (const char *const *)p->headers,
                            .defines = defines.at,
                            .folders = folders.at};
    char *said = NULL;
    text log = {0};
    ig_module *m = modules_unit_parse(&u, expressions, n, &said);
    if (!m) {
        const char *why = ig_error(NULL);
        text_add(&log, "%s\n", why ? why : "the program was not compiled");
    }
    if (said)
        text_add(&log, "%s", said);
    if (m && !said)
        check_expressions(p, m, &log);
    const bool fine = !log.used;
    if (fine)
        p->image = image_of(p, &u);
    p->image_bytes = p->image ? strlen(p->image) + 1 : 0;
    p->log = text_take(&log);
    ig_module_free(m);
    memory_free(said);
    memory_free(lists);
    return !fine ? PROGRAM_COMPILATION : p->image ? PROGRAM_FINE : PROGRAM_MEMORY;
}
