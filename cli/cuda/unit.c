/* Units as C++ text: see unit.h. */
#include "cuda/unit.h"

#include "cuda/headers.h"

#include <string.h>

void unit_quote(str *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (i % 2000 == 0)
            str_puts(out, i ? "\"\n\"" : "\"");
        if (c == '\n')
            str_puts(out, "\\n");
        else if (c == '"' || c == '\\' || c == '?')
            str_printf(out, "\\%c", c);
        else if (c < 32 || c > 126)
            str_printf(out, "\\%03o", c);
        else
            str_add(out, text + i, 1);
    }
    str_puts(out, bytes ? "\"" : "\"\"");
}

static void add_list(str *out, const char *name, const char *const *list)
{
    str_printf(out, "static const char *const %s[] = {", name);
    for (; *list; list++) {
        unit_quote(out, *list, strlen(*list));
        str_puts(out, ", ");
    }
    str_puts(out, "0};\n");
}

static void add_header(str *out, const char *name, const char *text, size_t bytes)
{
    unit_quote(out, name, strlen(name));
    str_puts(out, ",\n");
    unit_quote(out, text, bytes);
    str_puts(out, ",\n");
}

/* Adds the headers of the library that kernels use: macros that the compiler has, and ours. */
static void add_library(str *out)
{
    static const char *const macros[] = {"limits.h", "float.h", "math.h", "stdint.h"};
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++) {
        str name = {0};
        const char *text = cuda_header_macros(macros[i]);
        str_printf(&name, "ingot/%s", macros[i]);
        add_header(out, name.s, text, strlen(text));
        str_free(&name);
    }
    for (int i = 0; cuda_header_at(i).name; i++) {
        const cuda_header h = cuda_header_at(i);
        if (strcmp(h.name, "ingot_nvrtc.h") == 0)
            add_header(out, h.name, h.text, h.bytes);
        if (strcmp(h.name, "ingot_nvrtc_stdint.h") == 0)
            add_header(out, "cuda/std/cstdint", h.text, h.bytes);
    }
}

/* The texts of the files that units include, for NVRTC: alternating names and texts. */
static void add_headers(const rewrite_job *job, str *out)
{
    str_puts(out, "static const char *const ig_cuda_headers[] = {");
    if (job->for_nvrtc)
        add_library(out);
    for (int i = 0; i < job->n_files && job->for_nvrtc; i++) {
        const rewritten *f = &job->files[i];
        str text = {0};
        if (f->is_unit || f->is_c)
            continue;
        str_puts(&text, "#line 1 ");
        unit_quote(&text, f->path, strlen(f->path));
        str_printf(&text, "\n%s", f->device.s ? f->device.s : "");
        add_header(out, f->name, text.s, text.n);
        str_free(&text);
    }
    str_puts(out, "0};\n");
}

void unit_add(const rewrite_job *job, const char *path, const char *text, const char *lambdas,
              str *out)
{
    str all = {0};
    str_printf(&all, *lambdas ? "%s\n%s" : "%s%s", text, lambdas);
    str_puts(out, "#include \"cuda_runtime.h\"\n");
    add_list(out, "ig_cuda_defines", job->defines);
    add_list(out, "ig_cuda_folders", job->folders);
    add_list(out, "ig_cuda_options", job->options);
    add_headers(job, out);
    str_puts(out, "static ig_cuda_unit ig_cuda_here = {");
    unit_quote(out, path, strlen(path));
    str_puts(out, ",\n");
    unit_quote(out, all.s, all.n);
    str_free(&all);
    str_puts(out, ",\nig_cuda_defines, ig_cuda_folders, ig_cuda_options, ig_cuda_headers, 0};\n");
}
