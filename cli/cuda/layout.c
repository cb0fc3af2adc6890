/* Layouts as static assertions. Types are not named: a struct is found as the type of a kernel's parameter,
 * or its pointee, so namespaces, typedefs and template arguments need not be written. A member that the host
 * cannot access, such as a private one, is skipped. */
#include "cuda/layout.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE_MOST_BYTES = 64 << 20, CHECKS_MOST = 2000, PATH_MOST = 400 };

typedef struct writer {
    const char *kernel; /* "math::sum" */
    const char *param;
    int index; /* of the parameter */
    int n;     /* checks so far */
    str *out;
} writer;

static void add_type(const writer *w)
{
    str_printf(w->out, "::ig_cuda::ig_pointed<decltype(&::%s), %d>", w->kernel, w->index);
}

static void add_offset(writer *w, const char *path, size_t offset)
{
    const int n = w->n++;
    str_printf(w->out,
               "namespace ig_layouts { template <typename T, typename = void> struct ig_at_%d { "
               "enum { differs = 0 }; }; template <typename T> struct ig_at_%d<T, "
               "std::enable_if_t<__builtin_offsetof(T, %s) != %zu>> { enum { differs = 1 }; }; }\n"
               "static_assert(!ig_layouts::ig_at_%d<",
               n, n, path, offset, n);
    add_type(w);
    str_printf(
        w->out,
        ">::differs, \"kernel '%s': member '%s' of '%s' is at byte %zu on the device, but not "
        "on the host\");\n",
        w->kernel, path, w->param, offset);
}

/* The number of members of that name that are visible in a struct, also through its bases. */
static int count_name(const ig_kernel_field *f, const char *name)
{
    int n = 0;
    for (int i = 0; i < f->n_fields; i++)
        n += *f->fields[i].name ? strcmp(f->fields[i].name, name) == 0
                                : count_name(&f->fields[i], name);
    return n;
}

static void add_members(writer *w, const ig_kernel_field *outer, const ig_kernel_field *f,
                        const char *prefix, size_t offset)
{
    for (int i = 0; i < f->n_fields && w->n < CHECKS_MOST; i++) {
        const ig_kernel_field *m = &f->fields[i];
        const size_t at = offset + m->offset;
        if (!*m->name) { /* a base, or an anonymous struct */
            add_members(w, outer, m, prefix, at);
            continue;
        }
        str path = {0};
        str_printf(&path, "%s%s", prefix, m->name);
        if (count_name(outer, m->name) == 1 && path.n < PATH_MOST) {
            add_offset(w, path.s, at);
            str_puts(&path, m->count ? "[0]." : ".");
            if (m->n_fields && m->dtype == IG_DTYPE_NONE && !strchr(m->type, '*'))
                add_members(w, m, m, path.s, at);
        }
        str_free(&path);
    }
}

static bool is_struct(const ig_kernel_param *p)
{
    return p->holds && p->holds->n_fields && !p->holds->count;
}

static void add_kernel(writer *w, const ig_kernel_info *k)
{
    w->kernel = k->name;
    for (int i = 0; i < k->n_params && w->n < CHECKS_MOST; i++) {
        const ig_kernel_param *p = &k->params[i];
        if (!is_struct(p))
            continue;
        w->param = p->name;
        w->index = i;
        str_puts(w->out, "static_assert(sizeof(");
        add_type(w);
        str_printf(w->out,
                   ") == %zu, \"kernel '%s': '%s' has another size on the host than the %zu bytes "
                   "on the device\");\n",
                   p->holds->bytes, k->name, p->name, p->holds->bytes);
        w->n++;
        add_members(w, p->holds, p->holds, "", 0);
    }
}

/* False for template instances and overloads: the kernel's name alone does not identify them. */
static bool is_nameable(const ig_module *m, const ig_kernel_info *k)
{
    int n = 0;
    for (int i = 0; i < ig_module_count(m); i++)
        n += strcmp(ig_module_at(m, i)->name, k->name) == 0;
    return n == 1 && !strpbrk(k->name, "<(");
}

static int count(const char *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return n;
}

ig_module *layout_module(const program_options *o, const char *path, bool is_program)
{
    const ig_module_options options = {.defines = o->defines,
                                       .n_defines = count(o->defines),
                                       .folders = o->folders,
                                       .n_folders = count(o->folders),
                                       .is_program = is_program};
    size_t bytes;
    char *text = str_read_file(path, SOURCE_MOST_BYTES, &bytes);
    ig_module *m = text ? ig_module_new(path, text, &options) : NULL;
    free(text);
    return m;
}

void layout_add(const program_options *o, const char *path, str *out)
{
    ig_module *m = layout_module(o, path, true);
    writer w = {.out = out};
    ig_error(NULL); /* kernels with errors are reported when they are launched */
    str_puts(out, "\n#line 1 \"" LAYOUT_NAME "\"\n");
    for (int i = 0; m && i < ig_module_count(m); i++)
        if (is_nameable(m, ig_module_at(m, i)))
            add_kernel(&w, ig_module_at(m, i));
    ig_module_free(m);
}
