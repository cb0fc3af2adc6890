/* kernel(path, name, ...): a kernel in CUDA C as a function of the calculator.
 *
 *   kernel("k.cu", "saxpy", n=8, a=2.0, x=x, y=8, block=128)
 *
 * The arguments are the kernel's parameters, by name or in order. A parameter that the kernel writes takes a shape, or
 * an array with its initial values. grid, block, shared, defines and gradient go by name only. */
#include "calc/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_MOST = 16 << 20, GRADIENTS_MOST = 8, DEFINES_MOST = 64 };

/* The call that is being read. */
typedef struct call {
    calc *c;
    const expr *n;
    const char *path;
    ig_kernel_call kernel;
    ig_kernel_call gradient[GRADIENTS_MOST]; /* of the kernel, of its gradient, and so on */
    ig_module_options options;
    const char *defines[DEFINES_MOST];
    ig_arg *args;
} call;

/* ---- launch settings ---- */

/* One to three lengths, x first: 256, or (16, 16). */
static bool read_lengths(call *k, const expr *at, const value *v, uint32_t out[3])
{
    const bool many = value_has_items(v);
    const int n = many ? v->u.items.n : 1;
    for (int i = 0; i < n && n <= 3; i++) {
        const value *one = many ? &v->u.items.v[i] : v;
        if (one->kind != V_INT || one->u.i < 1 || one->u.i > INT32_MAX)
            break;
        out[i] = (uint32_t)one->u.i;
        if (i == n - 1)
            return true;
    }
    return calc_fail(k->c, at->where, "this takes one to three lengths, such as 256 or (16, 16)");
}

static bool read_grid(call *k, const expr *at, const value *v)
{
    return read_lengths(k, at, v, k->kernel.grid);
}

static bool read_block(call *k, const expr *at, const value *v)
{
    return read_lengths(k, at, v, k->kernel.block);
}

static bool read_shared(call *k, const expr *at, const value *v)
{
    int64_t bytes;
    if (!calc_to_int(k->c, at->where, v, 0, &bytes))
        return false;
    k->kernel.shared_bytes = (size_t)bytes;
    return bytes >= 0 || calc_fail(k->c, at->where, "shared is a number of bytes");
}

/* One text or a list of texts. */
static bool read_texts(call *k, const expr *at, const value *v, const char **out, int most, int *n)
{
    const bool many = value_has_items(v);
    *n = many ? v->u.items.n : 1;
    for (int i = 0; i < *n && *n <= most; i++) {
        const value *one = many ? &v->u.items.v[i] : v;
        if (one->kind != V_STRING)
            break;
        out[i] = one->u.s;
        if (i == *n - 1)
            return true;
    }
    return calc_fail(k->c, at->where, "this takes a string, or a list of %d at most", most);
}

static bool read_defines(call *k, const expr *at, const value *v)
{
    k->options.defines = k->defines;
    return read_texts(k, at, v, k->defines, DEFINES_MOST, &k->options.n_defines);
}

static bool read_gradient(call *k, const expr *at, const value *v)
{
    const char *names[GRADIENTS_MOST];
    int n;
    if (!read_texts(k, at, v, names, GRADIENTS_MOST, &n))
        return false;
    for (int i = 0; i < n; i++) {
        k->gradient[i].kernel = names[i];
        (i ? &k->gradient[i - 1] : &k->kernel)->gradient = &k->gradient[i];
    }
    return true;
}

static const struct {
    const char *name;
    bool (*read)(call *k, const expr *at, const value *v);
} words[] = {{"grid", read_grid},
             {"block", read_block},
             {"shared", read_shared},
             {"defines", read_defines},
             {"gradient", read_gradient}};
enum { WORDS = sizeof words / sizeof *words };

/* ---- the kernel's arguments ---- */

static bool read_shape(call *k, const expr *at, const value *v, ig_arg *out)
{
    int64_t *shape = arena_get(&k->c->scratch, sizeof *shape * (size_t)(v->u.items.n + 1));
    for (int i = 0; i < v->u.items.n; i++)
        if (!calc_to_int(k->c, at->where, &v->u.items.v[i], -1, &shape[i]))
            return false;
    out->kind = IG_ARG_INTS;
    out->u.ints = (ig_ints){shape, v->u.items.n};
    return true;
}

/* A number with a trace is passed as its trace, so that grad can differentiate by it. */
static bool read_arg(call *k, const expr *at, const value *v, ig_arg *out)
{
    if (v->kind == V_TUPLE)
        return read_shape(k, at, v, out);
    if (v->kind == V_INT)
        *out = (ig_arg){out->name, IG_ARG_INT, {.i = v->u.i}};
    else if (v->kind == V_BOOL)
        *out = (ig_arg){out->name, IG_ARG_BOOL, {.b = v->u.b}};
    else if (v->kind == V_FLOAT && !v->trace)
        *out = (ig_arg){out->name, IG_ARG_FLOAT, {.f = v->u.f}};
    else if (v->kind == V_FLOAT || v->kind == V_ARRAY || v->kind == V_LIST) {
        out->kind = IG_ARG_ARRAY;
        return calc_to_array(k->c, at->where, v, &out->u.array);
    } else
        return calc_fail(k->c, at->where, "a kernel takes numbers, arrays and shapes, not %s",
                         value_kind_name(v->kind));
    return true;
}

/* ---- the call ---- */

static bool read_name(call *k, const expr *at, const value *v, const char **out)
{
    *out = v->u.s;
    return v->kind == V_STRING ||
           calc_fail(k->c, at->where, "kernel(\"k.cu\", \"name\", ...) takes a string here, not %s",
                     value_kind_name(v->kind));
}

static bool read_argument(call *k, const expr *a, int position)
{
    const bool keyword = a->kind == N_KEYWORD;
    const expr *at = keyword ? a->child : a;
    value v;
    if (!calc_eval(k->c, at, &v))
        return false;
    if (!keyword && position < 2)
        return read_name(k, at, &v, position ? &k->kernel.kernel : &k->path);
    for (int i = 0; i < WORDS && keyword; i++)
        if (strcmp(words[i].name, a->name) == 0)
            return words[i].read(k, at, &v);
    ig_arg *out = &k->args[k->kernel.n_args++];
    *out = (ig_arg){.name = keyword ? a->name : NULL};
    return read_arg(k, at, &v, out);
}

/* The gradient kernel has the same launch settings as the kernel. */
static bool finish(call *k, value *out)
{
    size_t n;
    char *source = str_read_file(k->path, SOURCE_MOST, &n);
    if (!source || strlen(source) != n) {
        calc_fail(k->c, k->n->where, "%s: %s", k->path, source ? "not a text" : strerror(errno));
        free(source);
        k->c->wrong.code = IG_ERR_FILE;
        return false;
    }
    for (int i = 0; i < GRADIENTS_MOST; i++) {
        memcpy(k->gradient[i].grid, k->kernel.grid, sizeof k->kernel.grid);
        memcpy(k->gradient[i].block, k->kernel.block, sizeof k->kernel.block);
        k->gradient[i].shared_bytes = k->kernel.shared_bytes;
    }
    k->kernel.name = k->path;
    k->kernel.source = source;
    k->kernel.options = &k->options;
    k->kernel.args = k->args;
    const int results = ig_kernel(&k->kernel, k->c->results, RESULTS_MOST);
    free(source);
    if (results == 0)
        return calc_fail_library(k->c, k->n->where);
    if (results == 1)
        return calc_give(k->c, k->n->where, k->c->results[0], out);
    *out = value_arrays(&k->c->scratch, k->c->results, results);
    return true;
}

bool run_kernel(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    if (c->options.no_files)
        return calc_fail(c, n->where, "files are switched off here");
    call *k = arena_get(&c->scratch, sizeof *k);
    *k = (call){.c = c, .n = n};
    int count = 0;
    for (const expr *a = n->child; a; a = a->next)
        count++;
    k->args = arena_get(&c->scratch, sizeof *k->args * (size_t)(count + 1));
    int position = 0;
    for (const expr *a = n->child; a; a = a->next, position++)
        if (!read_argument(k, a, position))
            return false;
    if (!k->path || !k->kernel.kernel)
        return calc_fail(c, n->where,
                         "kernel needs a file and the name of a kernel in it: "
                         "kernel(\"k.cu\", \"saxpy\", n=8, x=x, y=8)");
    return finish(k, out);
}
