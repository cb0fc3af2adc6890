/* A kernel's head: how the host passes parameters, and the variables outside of functions. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "compiler/print/parts.h"

enum { COLUMNS = 100 };

/* ---- the kernel's parameters ------------------------------------------------------------------ */

static void param_add(kernel_printed *out, kernel_printed_kind kind, uint64_t offset,
                      uint64_t bytes)
{
    out->params[out->n_params++] = (kernel_printed_param){kind, offset, bytes};
}

bool print_uses_globals(const print_function *f)
{
    for (uint32_t i = 0; i < f->n_vars; i++)
        if (f->vars[i]->storage >= STORE_GLOBAL)
            return true;
    return false;
}

void print_find_params(printer *p, const print_function *f)
{
    kernel_printed *out = p->printed;
    out->params = kernel_arena_new(p->arena, (f->f->n_params + 2) * sizeof *out->params);
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const kernel_type *t = f->f->params[i]->type;
        param_add(out, type_is_pointer(t) ? PRINTED_BUFFER : PRINTED_BYTES,
                  kernel_argument_at(f->f, i), t->size);
    }
    const bool cuda = is_cuda(p);
    if (print_uses_globals(f) && (!cuda || p->target->hides_globals))
        param_add(out, PRINTED_GLOBALS, 0, 0);
    if (f->hands[HAND_LOG])
        param_add(out, PRINTED_LOG, 0, 0);
    for (uint32_t i = 0; i < f->n_vars && !cuda; i++)
        if (f->vars[i]->storage == STORE_DYNAMIC)
            out->dynamic_shared = true;
}

/* "    T *name = (T *)base;" for a parameter that is passed as bytes. */
static void from_bytes(printer *p, const char *declared, const char *type, const char *base)
{
    print_row(p, "%s = (%s)%s;", declared, type, base);
}

static void opencl_params(printer *p, const print_function *f)
{
    print_items s = {true, p->into};
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const kernel_var *v = f->f->params[i];
        const char *name = print_name_of(p, v);
        if (type_is_pointer(v->type))
            print_item(&s,
                       print_format(p, "__global char *%s, ulong %s", p->bases[i], p->offsets[i]));
        else
            print_item(&s, print_declare(p, v->type->plain, v->space,
                                         print_var_by_value(p, v) ? name : p->bases[i], true));
    }
    if (print_uses_globals(f))
        print_item(&s, "__global char *globals, ulong globals_offset");
    if (f->hands[HAND_LOG])
        print_item(&s, "__global uint *records, ulong log_offset");
    if (p->printed->dynamic_shared) /* drivers align it by its type, CUDA to 16 bytes */
        print_item(&s, "__local uint4 *dynamic_shared");
}

static void opencl_begin(printer *p, const print_function *f)
{
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const kernel_var *v = f->f->params[i];
        const char *name = print_name_of(p, v);
        if (type_is_pointer(v->type)) {
            const kernel_type *t = v->type->plain;
            from_bytes(p, print_declare(p, t, v->space, name, true),
                       print_type(p, t, v->space, true),
                       print_format(p, "(%s + %s)", p->bases[i], p->offsets[i]));
        } else if (!print_var_by_value(p, v)) {
            print_row(p, "%s = %s(%s);", print_declare(p, v->type->plain, v->space, name, false),
                      v->type->kind == TYPE_BF16 ? "ig_from_bf16" : "ig_from_half", p->bases[i]);
            print_use(p, v->type->kind == TYPE_BF16 ? PRELUDE_BF16 : PRELUDE_F16);
        }
    }
    if (print_uses_globals(f))
        print_row(p, "globals += globals_offset;");
    if (f->hands[HAND_LOG])
        print_row(p, "records += log_offset / 4;");
}

/* True for a parameter that can be read where the host put it. */
static bool is_read_only(const printer *p, const kernel_var *v)
{
    return !v->assigned && !v->addressed && type_is_arithmetic(v->type) &&
           !print_differs(p, v->type);
}

static void metal_params(printer *p, const print_function *f)
{
    static const char *const attributes[] = {"thread_position_in_threadgroup",
                                             "threadgroup_position_in_grid",
                                             "threads_per_threadgroup", "threadgroups_per_grid"};
    print_items s = {true, p->into};
    int at = 0;
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const kernel_var *v = f->f->params[i];
        const char *name = print_name_of(p, v);
        if (type_is_pointer(v->type))
            print_item(&s,
                       print_format(p, "%s [[buffer(%d)]]",
                                    print_declare(p, v->type->plain, v->space, name, true), at++));
        else
            print_item(&s, print_format(p, "constant %s &%s [[buffer(%d)]]",
                                        print_type(p, v->type->plain, v->space, true),
                                        is_read_only(p, v) ? name : p->bases[i], at++));
    }
    if (print_uses_globals(f))
        print_item(&s, print_format(p, "device char *globals [[buffer(%d)]]", at++));
    if (f->hands[HAND_LOG])
        print_item(&s, print_format(p, "device uint *records [[buffer(%d)]]", at++));
    if (p->printed->dynamic_shared)
        print_item(&s, "threadgroup char *dynamic_shared [[threadgroup(0)]]");
    for (int i = 0; i < 4; i++)
        if (f->hands[i])
            print_item(&s, print_format(p, "uint3 %s [[%s]]", print_index_names[i], attributes[i]));
    if (f->hands[HAND_LANE])
        print_item(&s, "uint lane [[thread_index_in_simdgroup]]");
}

static void metal_begin(printer *p, const print_function *f)
{
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const kernel_var *v = f->f->params[i];
        if (type_is_pointer(v->type) || is_read_only(p, v))
            continue;
        const char *name = print_name_of(p, v);
        const bool bits = v->type->kind == TYPE_BF16 && !print_var_stored(v);
        print_row(p, bits ? "%s = ig_from_bf16(%s);" : "%s = %s;",
                  print_declare(p, v->type->plain, v->space, name, print_var_stored(v)),
                  p->bases[i]);
        if (bits)
            print_use(p, PRELUDE_BF16);
    }
}

/* Shared and global variables of the kernel, at its top. */
static void declare_vars(printer *p, const print_function *f)
{
    for (uint32_t i = 0; i < f->n_vars; i++) {
        const kernel_var *v = f->vars[i];
        const char *name = print_name_of(p, v);
        if (v->storage == STORE_SHARED) {
            const bool aligned = v->align > v->type->align, metal = is_metal(p);
            const char *align = aligned ? print_align(p, v->align) : "";
            print_row(p, "%s%s%s%s%s%s;", metal ? align : "", metal && aligned ? " " : "",
                      p->lang->shared, print_declare(p, v->type, v->space, name, true),
                      !metal && aligned ? " " : "", metal ? "" : align);
        } else if (v->storage == STORE_DYNAMIC) {
            from_bytes(p, print_var_pointer(p, v, name), print_var_pointer(p, v, ""),
                       "dynamic_shared");
        } else {
            from_bytes(p, print_var_pointer(p, v, name), print_var_pointer(p, v, ""),
                       print_format(p, "(globals + %llu)",
                                    (unsigned long long)kernel_global_at(p->tree, v)));
        }
    }
    if (f->hands[HAND_VOTE])
        print_row(p, is_metal(p) ? "threadgroup atomic_uint vote;" : "__local uint vote;");
}

/* Breaks the parameters into aligned lines as needed. */
static void wrap(printer *p)
{
    const char *s = p->head.at ? p->head.at : "", *open = strchr(s, '(');
    const int indent = open ? (int)(open - s) + 1 : 0;
    text out = {0};
    int column = 0, depth = 0;
    for (; *s; s++) {
        depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
        const bool may = depth == 1 && s[0] == ',' && s[1] == ' ';
        size_t next = 1;
        for (int inner = 0; may && s[next] && !(inner == 0 && (s[next] == ',' || s[next] == ')'));
             next++)
            inner += (s[next] == '(' || s[next] == '[') - (s[next] == ')' || s[next] == ']');
        if (may && column + (int)next > COLUMNS) {
            text_add(&out, ",\n%*s", indent, "");
            column = indent;
            s++;
        } else {
            text_add(&out, "%c", *s);
            column = *s == '\n' ? 0 : column + 1;
        }
    }
    p->head.used = 0;
    text_add(&p->head, "%s", out.at ? out.at : "");
    p->head.failed = p->head.failed || out.failed;
    text_drop(&out);
}

/* Names the parameters that are not used in the form in which they are passed. */
static void name_params(printer *p, const print_function *f)
{
    const char *suffix = is_metal(p) ? "given" : "base";
    p->bases = kernel_arena_new(p->arena, (f->f->n_params + 1) * sizeof *p->bases);
    p->offsets = kernel_arena_new(p->arena, (f->f->n_params + 1) * sizeof *p->offsets);
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const char *name = print_name_of(p, f->f->params[i]);
        p->bases[i] = print_name_new(p, print_format(p, "%s_%s", name, suffix));
        p->offsets[i] = print_name_new(p, print_format(p, "%s_offset", name));
    }
}

void print_kernel_head(printer *p, const print_function *f)
{
    const bool metal = is_metal(p);
    name_params(p, f);
    print_out(p, "%svoid %s(", p->lang->kernel, f->name);
    if (metal)
        metal_params(p, f);
    else
        opencl_params(p, f);
    print_out(p, ")\n");
    wrap(p);
    print_out(p, "{\n");
    if (metal)
        metal_begin(p, f);
    else
        opencl_begin(p, f);
    declare_vars(p, f);
}
