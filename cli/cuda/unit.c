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

/* Adds the name and the text of a header to a list. */
typedef void header_adder(str *out, const char *list, const char *name, const char *text,
                          size_t bytes);

static void quote_header(str *out, const char *list, const char *name, const char *text,
                         size_t bytes)
{
    (void)list;
    unit_quote(out, name, strlen(name));
    str_puts(out, ",\n");
    unit_quote(out, text, bytes);
    str_puts(out, ",\n");
}

/* Adds the headers of the library that kernels use: macros that the compiler has, and ours. */
static void add_library(header_adder *add, const char *list, str *out)
{
    static const char *const macros[] = {"limits.h", "float.h", "math.h", "stdint.h"};
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++) {
        str name = {0};
        const char *text = cuda_header_macros(macros[i]);
        str_printf(&name, "ingot/%s", macros[i]);
        add(out, list, name.s, text, strlen(text));
        str_free(&name);
    }
    for (int i = 0; cuda_header_at(i).name; i++) {
        const cuda_header h = cuda_header_at(i);
        if (strcmp(h.name, "ingot_nvrtc.h") == 0)
            add(out, list, h.name, h.text, h.bytes);
        if (strcmp(h.name, "ingot_nvrtc_stdint.h") == 0)
            add(out, list, "cuda/std/cstdint", h.text, h.bytes);
    }
}

/* The texts of the files that a unit includes: alternating names and texts. */
static void add_headers(const rewrite_job *job, bool for_nvrtc, header_adder *add, str *out)
{
    const char *list = for_nvrtc ? "gpu_header" : "header";
    if (for_nvrtc)
        add_library(add, list, out);
    for (int i = 0; i < job->n_files; i++) {
        const rewritten *f = &job->files[i];
        const str *side = for_nvrtc ? &f->device : &f->source;
        str text = {0};
        if (f->is_unit || f->is_c)
            continue;
        str_puts(&text, "#line 1 ");
        unit_quote(&text, f->path, strlen(f->path));
        str_printf(&text, "\n%s", side->s ? side->s : "");
        add(out, list, f->name, text.s, text.n);
        str_free(&text);
    }
}

static void define_headers(const rewrite_job *job, bool for_nvrtc, str *out)
{
    str_printf(out, "static const char *const ig_cuda_%s[] = {",
               for_nvrtc ? "gpu_headers" : "headers");
    add_headers(job, for_nvrtc, quote_header, out);
    str_puts(out, "0};\n");
}

/* Adds the text with its lambdas, or 0, and the name of the list of its headers. */
static void add_text(const char *text, const char *lambdas, const char *headers, str *out)
{
    str all = {0};
    if (text) {
        str_printf(&all, *lambdas ? "%s\n%s" : "%s%s", text, lambdas);
        unit_quote(out, all.s, all.n);
    } else {
        str_puts(out, "0");
    }
    str_printf(out, ",\n%s,\n", text ? headers : "0");
    str_free(&all);
}

void unit_add(const rewrite_job *job, const char *path, const unit_texts *texts, str *out)
{
    str_puts(out, "#define __CUDACC__ 1\n#define __NVCC__ 1\n#include \"cuda_runtime.h\"\n");
    add_list(out, "ig_cuda_defines", job->defines);
    add_list(out, "ig_cuda_folders", job->folders);
    add_list(out, "ig_cuda_options", job->options);
    if (job->is_portable)
        define_headers(job, false, out);
    if (texts->device)
        define_headers(job, true, out);
    str_puts(out, "static ig_cuda_unit ig_cuda_here = {");
    unit_quote(out, path, strlen(path));
    str_puts(out, ",\n");
    add_text(texts->written, texts->lambdas, job->is_portable ? "ig_cuda_headers" : "0", out);
    add_text(texts->device, texts->lambdas, "ig_cuda_gpu_headers", out);
    str_printf(out, "ig_cuda_defines, ig_cuda_folders, ig_cuda_options, %d, 0, 0};\n",
               job->is_linked);
    if (job->is_linked)
        str_puts(out, "static const int ig_cuda_unit_known = ig_cuda_unit_add(&ig_cuda_here);\n");
}

/* ---- images ---- */

static void add_record(str *out, const char *name, const char *text, size_t bytes)
{
    str_printf(out, "%s %zu\n", name, bytes);
    str_add(out, text, bytes);
    str_puts(out, "\n");
}

static void record_header(str *out, const char *list, const char *name, const char *text,
                          size_t bytes)
{
    add_record(out, list, name, strlen(name));
    add_record(out, list, text, bytes);
}

static void record_list(str *out, const char *name, const char *const *list)
{
    for (; *list; list++)
        add_record(out, name, *list, strlen(*list));
}

void unit_image(const rewrite_job *job, const char *path, const unit_texts *texts, str *out)
{
    str_puts(out, "//ingot device code 1\n");
    add_record(out, "name", path, strlen(path));
    record_list(out, "define", job->defines);
    record_list(out, "folder", job->folders);
    record_list(out, "option", job->options);
    add_headers(job, false, record_header, out);
    add_headers(job, true, record_header, out);
    add_record(out, "text", texts->written, strlen(texts->written));
    if (texts->device)
        add_record(out, "gpu_text", texts->device, strlen(texts->device));
}
