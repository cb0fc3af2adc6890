/* A complete C program that runs one kernel through the library: its source, an argument for each parameter, a launch,
 * and the first elements of the results. */
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

#include "translate.h"

static void add_line(str *t, const char *s, size_t n)
{
    str_printf(t, "    \"");
    for (size_t i = 0; i < n; i++)
        if (s[i] == '"' || s[i] == '\\')
            str_printf(t, "\\%c", s[i]);
        else
            str_add(t, s + i, 1);
    str_printf(t, "\\n\"");
}

/* A text as a C string, line by line. */
static void add_source(str *t, const char *s)
{
    while (*s) {
        const size_t n = strcspn(s, "\n");
        add_line(t, s, n);
        s += n + (s[n] == '\n');
        str_printf(t, *s ? "\n" : ";\n\n");
    }
}

static void add_dtype(str *t, ig_dtype dtype)
{
    str_printf(t, "IG_");
    for (const char *c = ig_dtype_name(dtype); *c; c++)
        str_printf(t, "%c", toupper((unsigned char)*c));
}

static bool is_float(ig_dtype d)
{
    return d == IG_F16 || d == IG_BF16 || d == IG_F32 || d == IG_F64;
}

/* A struct or a vector, or a pointer to them. */
static bool is_record(const ig_kernel_param *p)
{
    return p->dtype == IG_DTYPE_NONE || (p->holds && p->holds->n_fields > 0);
}

static void add_argument(str *t, const ig_kernel_param *p, int at)
{
    str_printf(t, "        {\"%s\", ", p->name);
    if (p->is_pointer && p->dtype == IG_DTYPE_NONE)
        str_printf(t, "IG_ARG_ARRAY, {.array = ig_zeros(IG_SHAPE(N * N * %zu), IG_U8)}}",
                   p->holds ? p->holds->bytes : p->bytes);
    else if (p->is_pointer) {
        const size_t lanes = p->holds ? p->holds->bytes / ig_dtype_bytes(p->dtype) : 1;
        str_printf(t, "IG_ARG_ARRAY, {.array = ig_ones(IG_SHAPE(N * N%s), ",
                   lanes == 2   ? " * 2"
                   : lanes == 3 ? " * 3"
                   : lanes == 4 ? " * 4"
                                : "");
        add_dtype(t, p->dtype);
        str_printf(t, ")}}");
    } else if (is_record(p))
        str_printf(t, "IG_ARG_BYTES, {.bytes = {value_%d, sizeof value_%d}}}", at, at);
    else if (is_float(p->dtype))
        str_printf(t, "IG_ARG_FLOAT, {.f = 1}}");
    else
        str_printf(t, "IG_ARG_INT, {.i = %s}}", p->dtype == IG_BOOL ? "1" : "N");
    str_printf(t, ", /* %s */\n", p->type);
}

static void add_main(str *t, const ig_kernel_info *k, const char *file, const char *device)
{
    str_printf(t, "/* Integers are N, arrays have N * N elements, and there are N * N threads. */\n"
                  "enum { N = 32, BLOCK = 256, SHOWN = 8 };\n\n"
                  "int main(int argc, char **argv)\n{\n    ig_scope_begin();\n");
    for (int i = 0; i < k->n_params; i++)
        if (!k->params[i].is_pointer && is_record(&k->params[i]))
            str_printf(t, "    static const unsigned char value_%d[%zu]; /* %s */\n", i,
                       k->params[i].bytes, k->params[i].type);
    if (k->n_params)
        str_printf(t, "    const ig_arg args[] = {\n");
    for (int i = 0; i < k->n_params; i++)
        add_argument(t, &k->params[i], i);
    str_printf(t,
               "%s    const ig_launch launch = {.size = sizeof launch,\n"
               "                              .device = argc > 1 ? argv[1] : \"%s\",\n"
               "                              .grid = {N * N / BLOCK},\n"
               "                              .block = {BLOCK}%s};\n",
               k->n_params ? "    };\n" : "", device,
               k->n_params ? ",\n                              .args = args,\n"
                             "                              .n_args = sizeof args / sizeof *args"
                           : "");
    str_printf(t,
               "    ig_array *results[%d] = {0};\n"
               "    ig_module *module = ig_module_new(\"%s\", source, NULL);\n"
               "    if (module && ig_module_launch(module, kernel, &launch, results) == IG_OK)\n"
               "        for (int i = 0; i < %d; i++) {\n"
               "            ig_array *numbers = ig_astype(results[i], IG_F64);\n"
               "            const double *data = ig_data(numbers);\n"
               "            for (int k = 0; data && k < SHOWN && k < ig_size(numbers); k++)\n"
               "                printf(\"%%g%%c\", data[k], k + 1 < SHOWN ? ' ' : '\\n');\n"
               "        }\n"
               "    const char *problem = ig_error(NULL);\n"
               "    if (problem)\n        fprintf(stderr, \"%%s\\n\", problem);\n"
               "    ig_module_free(module);\n    ig_scope_end();\n    return problem != NULL;\n"
               "}\n",
               k->n_written ? k->n_written : 1, file, k->n_written);
}

bool translate_host(const char *path, const ig_translation *made, const char *device)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    ig_module *m = ig_module_new(file, made->text, NULL);
    const ig_kernel_info *k = m ? ig_module_find(m, made->entry) : NULL;
    if (k) {
        str t = {0};
        str_printf(&t,
                   "/* Runs the kernel %s of %s: cc -o %s THIS.c -lingot, and ./%s [DEVICE] */\n"
                   "#include <ingot.h>\n#include <stdio.h>\n\n"
                   "static const char kernel[] = \"%s\";\nstatic const char source[] =\n",
                   made->kernel, file, made->entry, made->entry, made->entry);
        add_source(&t, made->text);
        add_main(&t, k, file, device);
        text_print(stdout, t.s);
        str_free(&t);
    }
    ig_module_free(m);
    return k != NULL;
}
