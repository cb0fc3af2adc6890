/* Names and types in the text. */
#include <stdarg.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/print/parts.h"

const char *print_format(printer *p, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    char *made = kernel_arena_get(p->arena, (size_t)n + 1);
    vsnprintf(made, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return made;
}

/* ---- names ------------------------------------------------------------------------------------ */

static uint32_t slot_of(const void *of) { return (uint32_t)((uintptr_t)of >> 4) % NAME_SLOTS; }

static uint32_t slot_of_text(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h % NAME_SLOTS;
}

static void put(printer *p, print_name **slot, const void *of, const char *name)
{
    *slot = kernel_arena_copy(p->arena, &(print_name){of, name, *slot}, sizeof **slot);
}

const char *print_name_of(printer *p, const void *of)
{
    for (const print_name *n = p->names[slot_of(of)]; n; n = n->next)
        if (n->of == of)
            return n->name;
    return NULL;
}

void print_name_set(printer *p, const void *of, const char *name)
{
    put(p, &p->names[slot_of(of)], of, name);
}

static bool is_taken(printer *p, const char *name)
{
    for (const print_name *n = p->taken[slot_of_text(name)]; n; n = n->next)
        if (strcmp(n->name, name) == 0)
            return true;
    return false;
}

void print_name_take(printer *p, const char *name)
{
    if (!is_taken(p, name))
        put(p, &p->taken[slot_of_text(name)], NULL, name);
}

static int by_text(const void *key, const void *row) { return strcmp(key, *(char *const *)row); }

static bool is_reserved(const printer *p, const char *name)
{
    return !is_cuda(p) &&
           (strncmp(name, "ig_", 3) == 0 || strncmp(name, "as_", 3) == 0 ||
            strncmp(name, "convert_", 8) == 0 || strncmp(name, "get_", 4) == 0 ||
            strncmp(name, "cuda_", 5) == 0 ||
            bsearch(name, p->lang->reserved, (size_t)p->lang->n_reserved, sizeof(char *), by_text));
}

/* The name, with an underscore if it is reserved. */
static const char *print_word(printer *p, const char *name)
{
    return is_reserved(p, name) ? print_format(p, "%s_", name) : name;
}

const char *print_name_new(printer *p, const char *name)
{
    const char *made = print_word(p, name);
    for (int i = 2; is_taken(p, made); i++)
        made = print_format(p, "%s_%d", name, i);
    print_name_take(p, made);
    return made;
}

const char *print_name_local(printer *p, const char *name)
{
    const char *made = print_word(p, name);
    while (is_taken(p, made))
        made = print_format(p, "%s_", made);
    return made;
}

const char *print_member_name(printer *p, const kernel_struct *s, const kernel_member *m)
{
    return m->name ? print_word(p, m->name->text)
                   : print_format(p, "unnamed_%d", (int)(m - s->members));
}

/* ---- kinds ------------------------------------------------------------------------------------ */

type_kind print_kind(const printer *p, const kernel_type *t)
{
    if (is_cuda(p))
        return t->kind;
    if (t->kind == TYPE_BF16 || (t->kind == TYPE_F16 && !p->target->f16))
        return TYPE_F32;
    return t->kind;
}

type_kind print_kind_of(const printer *p, const kernel_expr *e)
{
    if (e->type->kind == TYPE_F64 && e->soft && !p->target->f64)
        return TYPE_F32;
    return print_kind(p, e->type);
}

bool print_differs(const printer *p, const kernel_type *t)
{
    return print_kind(p, t) != (type_kind)t->kind || (t->kind == TYPE_BOOL && is_opencl(p));
}

bool print_var_stored(const kernel_var *v)
{
    return v->addressed || v->storage > STORE_LOCAL || v->type->kind == TYPE_ARRAY;
}

bool print_var_by_value(const printer *p, const kernel_var *v)
{
    return print_kind(p, v->type) == (type_kind)v->type->kind || print_var_stored(v);
}

bool print_is_stored(const printer *p, const kernel_expr *place)
{
    (void)p;
    return place->kind != EXPR_VAR || print_var_stored(place->as.var);
}

bool print_native(const printer *p, const kernel_type *t)
{
    if (t->kind != TYPE_STRUCT || t->record->n_vector < 2 || t->record->n_vector == 3)
        return false;
    const kernel_type *e = t->record->element;
    return print_kind(p, e) == (type_kind)e->kind && t->align == t->size && !is_cuda(p);
}

/* ---- types ------------------------------------------------------------------------------------ */

static const char *scalar(const printer *p, type_kind kind, bool stored)
{
    if (stored && !is_cuda(p)) {
        if (kind == TYPE_BF16 || (kind == TYPE_F16 && !p->target->f16))
            return "ushort";
        if (kind == TYPE_BOOL && is_opencl(p))
            return "uchar";
    }
    if (!is_cuda(p) && (kind == TYPE_BF16 || (kind == TYPE_F16 && !p->target->f16)))
        kind = TYPE_F32;
    assert(kind <= TYPE_F64);
    return p->lang->values[kind];
}

static void use_struct(printer *p, const kernel_struct *s)
{
    if (print_name_of(p, s))
        return;
    print_name_set(p, s,
                   is_cuda(p)    ? s->name
                   : s->n_vector ? print_format(p, "cuda_%s", s->name)
                                 : print_name_new(p, s->name));
    ARENA_ADD(p->arena, p->structs, p->n_structs, p->structs_room, s);
    for (uint32_t i = 0; i < s->n_members; i++) { /* types of members are used, too */
        const kernel_type *t = s->members[i].type;
        while (t->kind == TYPE_ARRAY || t->kind == TYPE_POINTER)
            t = t->of;
        if (t->kind == TYPE_STRUCT && !print_native(p, t))
            use_struct(p, t->record);
    }
}

static const char *record(printer *p, const kernel_type *t)
{
    const kernel_struct *s = t->record;
    if (print_native(p, t))
        return print_format(p, "%s%u", scalar(p, s->element->kind, true), s->n_vector);
    use_struct(p, s);
    return print_name_of(p, s);
}

static const char *base(printer *p, const kernel_type *t, bool stored)
{
    const char *name = t->kind == TYPE_STRUCT ? record(p, t->plain) : scalar(p, t->kind, stored);
    return print_format(p, "%s%s%s", t->quals & TYPE_CONST ? "const " : "",
                        t->quals & TYPE_VOLATILE ? "volatile " : "", name);
}

/* Builds the declarator from the name outwards. where: the address space of a pointee; "" for variables. */
static const char *declare(printer *p, const kernel_type *t, uint8_t space, const char *name,
                           bool stored, const char *where)
{
    if (t->kind == TYPE_ARRAY) {
        name = t->count ? print_format(p, "%s[%llu]", name, (unsigned long long)t->count)
                        : print_format(p, "%s[]", name);
        return declare(p, t->of, space, name, true, where);
    }
    if (t->kind != TYPE_POINTER)
        return print_format(p, "%s%s%s%s", where, base(p, t, stored), *name ? " " : "", name);
    const bool wrap = t->of->kind == TYPE_ARRAY;
    name = print_format(p, "%s*%s%s%s%s%s", wrap ? "(" : "", where,
                        t->quals & TYPE_CONST ? "const " : "",
                        t->quals & TYPE_VOLATILE ? "volatile " : "", name, wrap ? ")" : "");
    /* Pointers in memory point to global memory. */
    return declare(p, t->of, SPACE_GLOBAL, name, true, p->lang->spaces[space]);
}

const kernel_type *print_assignable(const kernel_type *t)
{
    const kernel_type *of = t;
    while (of->kind == TYPE_ARRAY)
        of = of->of;
    return of->quals == TYPE_CONST ? t->plain : t;
}

const char *print_declare(printer *p, const kernel_type *t, uint8_t space, const char *name,
                          bool stored)
{
    return declare(p, t, space, name, stored, "");
}

const char *print_type(printer *p, const kernel_type *t, uint8_t space, bool stored)
{
    return print_declare(p, t, space, "", stored);
}

/* ---- structs ---------------------------------------------------------------------------------- */

const char *print_align(printer *p, uint32_t bytes)
{
    static const char *const formats[] = {[LANGUAGE_OPENCL] = "__attribute__((aligned(%u)))",
                                          [LANGUAGE_METAL] = "alignas(%u)",
                                          [LANGUAGE_CUDA] = "__align__(%u)"};
    char words[48];
    snprintf(words, sizeof words, formats[p->target->language], bytes);
    return print_format(p, "%s", words);
}

/* Prints padding before a member where C would not leave it by itself; returns the end of the member. C
 * cannot place members in the tail padding of a base. */
static uint64_t print_gap(printer *p, const kernel_struct *s, const kernel_member *m, uint64_t end)
{
    const uint64_t natural = (end + m->type->align - 1) / m->type->align * m->type->align;
    if (m->offset < natural)
        print_refuse(p, s->place, "IG-LAYOUT", "its members lie in the tail padding of a base",
                     "run it on the CPU, or make the base a member",
                     "struct '%s' has a layout that this language cannot express", s->name);
    if (m->offset > natural)
        text_add(&p->top, "    char padding_%u[%u];\n", (unsigned)(m - s->members),
                 (unsigned)(m->offset - end));
    return m->offset + m->type->size;
}

static void print_struct(printer *p, const kernel_struct *s)
{
    const bool c = is_opencl(p);
    const char *word = s->is_union ? "union" : "struct";
    const char *name = print_name_of(p, s);
    uint32_t natural = 1;
    for (uint32_t i = 0; i < s->n_members; i++)
        if (s->members[i].type->align > natural)
            natural = s->members[i].type->align;
    const char *align = s->type->align > natural ? print_align(p, s->type->align) : "";
    text_add(&p->top, "%s%s %s%s%s {\n", c ? "typedef " : "", word, c ? "" : align,
             !c && *align ? " " : "", name);
    uint64_t end = 0;
    for (uint32_t i = 0; i < s->n_members; i++) {
        const kernel_member *m = &s->members[i];
        if (m->bits && !is_cuda(p))
            print_refuse(p, m->place, "IG-LAYOUT", NULL, "use a whole integer and masks there",
                         "struct '%s' has bit-fields, which this language does not have", s->name);
        if (m->bits) {
            text_add(&p->top, "    %s : %d;\n",
                     print_declare(p, m->type, SPACE_GLOBAL, print_member_name(p, s, m), true),
                     m->bits);
            end = m->offset + m->unit;
            continue;
        }
        if (!s->is_union && !s->fragment)
            end = print_gap(p, s, m, end);
        text_add(&p->top, "    %s;\n",
                 s->fragment ? print_wmma_member(p, s)
                             : print_declare(p, print_assignable(m->type), SPACE_GLOBAL,
                                             print_member_name(p, s, m), true));
    }
    if (!s->n_members && !is_cuda(p)) /* one byte in C++ */
        text_add(&p->top, "    char unused;\n");
    text_add(&p->top, c ? "} %s%s%s;\n\n" : "};\n\n", align, *align ? " " : "", name);
}

void print_structs(printer *p)
{
    for (const kernel_struct *s = p->tree->types.first; s; s = s->next) {
        if (is_cuda(p) && (s->n_vector || s->fragment || !s->place))
            continue; /* CUDA's own */
        for (uint32_t i = 0; i < p->n_structs; i++)
            if (p->structs[i] == s) {
                print_part_begin(p, &p->top, print_name_of(p, s));
                print_struct(p, s);
            }
    }
}
