/* Units as C++ text: see unit.h. */
#include "cuda/unit.h"

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

void unit_add(const rewrite_job *job, const char *path, const char *text, const char *lambdas,
              str *out)
{
    str all = {0};
    str_printf(&all, *lambdas ? "%s\n%s" : "%s%s", text, lambdas);
    str_puts(out, "#include \"cuda_runtime.h\"\n");
    add_list(out, "ig_cuda_defines", job->defines);
    add_list(out, "ig_cuda_folders", job->folders);
    str_puts(out, "static ig_cuda_unit ig_cuda_here = {");
    unit_quote(out, path, strlen(path));
    str_puts(out, ",\n");
    unit_quote(out, all.s, all.n);
    str_free(&all);
    str_puts(out, ",\nig_cuda_defines, ig_cuda_folders, 0};\n");
}
