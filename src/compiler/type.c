/* The table of types: each type is made once and found by its parts. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "compiler/type.h"

typedef struct word_row {
    const char *name;
    uint8_t kind;
    uint32_t size;
} word_row;

static const word_row words[WORDS] = {
    [WORD_NONE] = {"", TYPE_VOID, 0},
    [WORD_VOID] = {"void", TYPE_VOID, 0},
    [WORD_BOOL] = {"bool", TYPE_BOOL, 1},
    [WORD_CHAR] = {"char", TYPE_I8, 1},
    [WORD_SCHAR] = {"signed char", TYPE_I8, 1},
    [WORD_UCHAR] = {"unsigned char", TYPE_U8, 1},
    [WORD_SHORT] = {"short", TYPE_I16, 2},
    [WORD_USHORT] = {"unsigned short", TYPE_U16, 2},
    [WORD_INT] = {"int", TYPE_I32, 4},
    [WORD_UINT] = {"unsigned int", TYPE_U32, 4},
    [WORD_LONG] = {"long", TYPE_I64, 8},
    [WORD_ULONG] = {"unsigned long", TYPE_U64, 8},
    [WORD_LLONG] = {"long long", TYPE_I64, 8},
    [WORD_ULLONG] = {"unsigned long long", TYPE_U64, 8},
    [WORD_HALF] = {"half", TYPE_F16, 2},
    [WORD_BF16] = {"bfloat16", TYPE_BF16, 2},
    [WORD_FLOAT] = {"float", TYPE_F32, 4},
    [WORD_DOUBLE] = {"double", TYPE_F64, 8},
    [WORD_NULL] = {"nullptr_t", TYPE_POINTER, 8},
    [WORD_BLOCK] = {"thread_block", TYPE_U32, 4},
    [WORD_TILE] = {"thread_block_tile", TYPE_U32, 4},
    [WORD_COALESCED] = {"coalesced_group", TYPE_U32, 4},
    [WORD_GRID] = {"grid_group", TYPE_U32, 4},
    [WORD_GROUP] = {"thread_group", TYPE_U32, 4},
};

/* The names of CUDA's vectors without their number. */
static const struct {
    uint8_t word;
    const char *name;
    bool upto4;
} vector_names[] = {{WORD_CHAR, "char", true},      {WORD_UCHAR, "uchar", true},
                    {WORD_SHORT, "short", true},    {WORD_USHORT, "ushort", true},
                    {WORD_INT, "int", true},        {WORD_UINT, "uint", true},
                    {WORD_LONG, "long", true},      {WORD_ULONG, "ulong", true},
                    {WORD_LLONG, "longlong", true}, {WORD_ULLONG, "ulonglong", true},
                    {WORD_FLOAT, "float", true},    {WORD_DOUBLE, "double", true},
                    {WORD_HALF, "half", false},     {WORD_BF16, "__nv_bfloat16", false}};

static kernel_type *make(kernel_types *t, type_kind kind, uint64_t size, uint32_t align)
{
    kernel_type *type = kernel_arena_new(t->arena, sizeof *type);
    *type = (kernel_type){.kind = kind, .size = size, .align = align, .plain = type};
    type->qualified[0] = type;
    return type;
}

static kernel_type *make_word(kernel_types *t, type_word word)
{
    const uint32_t size = words[word].size;
    kernel_type *type = make(t, words[word].kind, size, size ? size : 1);
    type->word = word;
    return type;
}

const kernel_type *type_vector(kernel_types *t, type_word element, unsigned count)
{
    return count <= 4 && element < WORDS ? t->vectors[element][count] : NULL;
}

/* CUDA aligns a vector to its size if that is a power of two, but to 16 bytes at most. */
static const kernel_type *make_vector(kernel_types *t, type_word word, const char *name, unsigned n)
{
    char spelled[24];
    snprintf(spelled, sizeof spelled, "%s%u", name, n);
    const kernel_name *full = kernel_name_get(t->names, spelled, strlen(spelled));
    kernel_struct *s = type_struct(t, full, 0);
    s->n_vector = (uint8_t)n;
    s->element = t->basic[word];
    static const char axes[] = "xyzw";
    for (unsigned i = 0; i < n; i++)
        type_member_add(t, s, kernel_name_get(t->names, axes + i, 1), s->element, 0);
    const uint64_t size = s->element->size * n;
    type_struct_end(t, s, n == 3 || n == 1 ? 0 : (uint32_t)(size < 16 ? size : 16));
    return s->type;
}

void kernel_types_begin(kernel_types *t, kernel_arena *arena, kernel_names *names)
{
    *t = (kernel_types){.arena = arena, .names = names};
    t->last = &t->first;
    for (int word = 1; word < WORDS; word++)
        t->basic[word] = make_word(t, word);
    ((kernel_type *)t->basic[WORD_NULL])->of = t->basic[WORD_VOID];
    for (size_t i = 0; i < sizeof vector_names / sizeof *vector_names; i++)
        for (unsigned n = vector_names[i].upto4 ? 1 : 2; n <= (vector_names[i].upto4 ? 4u : 2u);
             n++)
            t->vectors[vector_names[i].word][n] =
                make_vector(t, vector_names[i].word, vector_names[i].name, n);
    kernel_struct *s = type_struct(t, kernel_name_get(names, "dim3", 4), 0);
    for (int i = 0; i < 3; i++)
        type_member_add(t, s, kernel_name_get(names, &"xyz"[i], 1), t->basic[WORD_UINT], 0);
    s->n_vector = 3;
    s->element = t->basic[WORD_UINT];
    type_struct_end(t, s, 0);
    t->dim3 = s->type;
    t->automatic = make(t, TYPE_AUTO, 0, 1);
}

const kernel_type *type_pointer(kernel_types *t, const kernel_type *to)
{
    if (!to->pointer) {
        kernel_type *type = make(t, TYPE_POINTER, 8, 8);
        type->of = to;
        ((kernel_type *)to)->pointer = type;
    }
    return to->pointer;
}

const kernel_type *type_reference(kernel_types *t, const kernel_type *to)
{
    if (to->kind == TYPE_REFERENCE)
        return to;
    if (!to->reference) {
        kernel_type *type = make(t, TYPE_REFERENCE, 8, 8);
        type->of = to;
        ((kernel_type *)to)->reference = type;
    }
    return to->reference;
}

const kernel_type *type_array(kernel_types *t, const kernel_type *of, uint64_t count)
{
    for (const kernel_type *a = of->arrays; a; a = a->next)
        if (a->count == count)
            return a;
    kernel_type *type = make(t, TYPE_ARRAY, of->size * count, of->align);
    type->of = of;
    type->count = count;
    type->quals = of->quals;
    type->next = of->arrays;
    ((kernel_type *)of)->arrays = type;
    if (of->quals)
        type->plain = type_array(t, of->plain, count);
    return type;
}

const kernel_type *type_qualify(kernel_types *t, const kernel_type *type, unsigned quals)
{
    quals |= type->quals;
    if (quals == type->quals || type->kind == TYPE_REFERENCE)
        return type;
    if (type->kind == TYPE_ARRAY)
        return type_array(t, type_qualify(t, type->of, quals), type->count);
    kernel_type *plain = (kernel_type *)type->plain;
    if (!plain->qualified[quals]) {
        kernel_type *q = make(t, plain->kind, plain->size, plain->align);
        *q = *plain;
        q->quals = (uint8_t)quals;
        q->pointer = q->reference = q->arrays = NULL;
        plain->qualified[quals] = q;
    }
    return plain->qualified[quals];
}

/* -1: not a power of two up to 32. */
static int log2_of(unsigned threads)
{
    int log2 = 0;
    while (log2 < 5 && (1u << log2) < threads)
        log2++;
    return (1u << log2) == threads ? log2 : -1;
}

const kernel_type *type_tile(kernel_types *t, unsigned threads, unsigned parent)
{
    const int log2 = log2_of(threads), outer = parent ? log2_of(parent) : 6;
    if (log2 < 0 || outer < log2)
        return NULL;
    if (!t->tiles[log2][outer]) {
        kernel_type *type = make_word(t, WORD_TILE);
        type->count = threads;
        type->parent = (uint8_t)parent;
        t->tiles[log2][outer] = type;
    }
    return t->tiles[log2][outer];
}

const kernel_type *type_function(kernel_types *t, const kernel_type *result,
                                 const kernel_type *const *parameters, uint32_t count)
{
    for (const kernel_type *f = t->functions; f; f = f->next)
        if (f->of == result && f->count == count &&
            (!count || !memcmp(f->parameters, parameters, count * sizeof *parameters)))
            return f;
    kernel_type *type = make(t, TYPE_FUNCTION, 1, 1);
    type->of = result;
    type->count = count;
    type->parameters = kernel_arena_get(t->arena, count * sizeof *parameters);
    if (count)
        memcpy(type->parameters, parameters, count * sizeof *parameters);
    type->next = t->functions;
    t->functions = type;
    return type;
}

kernel_struct *type_struct(kernel_types *t, const kernel_name *name, kernel_place place)
{
    kernel_struct *s = kernel_arena_new(t->arena, sizeof *s);
    kernel_type *type = make(t, TYPE_STRUCT, 0, 1);
    type->record = s;
    s->type = type;
    s->source_name = name;
    s->name = name ? name->text : "unnamed";
    s->place = place;
    return s;
}

const kernel_type *type_enum(kernel_types *t, const kernel_name *name, const kernel_type *integer,
                             bool scoped)
{
    kernel_enum *e = kernel_arena_new(t->arena, sizeof *e);
    kernel_type *type = make(t, integer->kind, integer->size, integer->align);
    type->word = integer->word;
    type->enumeration = e;
    *e = (kernel_enum){.name = name, .scoped = scoped, .type = type};
    return type;
}

void type_struct_cover(kernel_struct *s, const kernel_type *type, uint64_t offset)
{
    kernel_type *whole = (kernel_type *)s->type;
    if (offset + type->size > whole->size)
        whole->size = offset + type->size;
    if (type->align > whole->align)
        whole->align = type->align;
}

void type_member_place(kernel_types *t, kernel_struct *s, const kernel_name *name,
                       const kernel_type *type, kernel_place place, uint64_t offset, uint64_t bytes)
{
    ARENA_ADD(t->arena, s->members, s->n_members, s->room,
              (kernel_member){.name = name, .type = type, .offset = offset, .place = place});
    if (offset + bytes > s->data_size)
        s->data_size = offset + bytes;
    const kernel_type part = {.size = bytes ? type->size : 0, .align = type->align};
    type_struct_cover(s, &part, offset);
}

void type_member_add(kernel_types *t, kernel_struct *s, const kernel_name *name,
                     const kernel_type *type, kernel_place place)
{
    const uint64_t align = type->align;
    const uint64_t offset = s->is_union ? 0 : (s->data_size + align - 1) / align * align;
    type_member_place(t, s, name, type, place, offset, type->size);
}

/* Qualified copies that were made while the struct was incomplete get its final size and alignment here. */
void type_struct_end(kernel_types *t, kernel_struct *s, uint32_t align_least)
{
    kernel_type *whole = (kernel_type *)s->type;
    if (align_least > whole->align)
        whole->align = align_least;
    if (!whole->size)
        whole->size = 1;
    whole->size = (whole->size + whole->align - 1) / whole->align * whole->align;
    if (!s->not_pod)
        s->data_size = whole->size;
    for (int q = 1; q < 4; q++)
        if (whole->qualified[q]) {
            kernel_type *copy = (kernel_type *)whole->qualified[q];
            copy->size = whole->size;
            copy->align = whole->align;
        }
    s->complete = true;
    LIST_ADD(t->last, s, next);
}

static int find(const kernel_struct *s, const kernel_name *name, const kernel_member **path, int n)
{
    for (uint32_t i = 0; i < s->n_members; i++)
        if (s->members[i].name == name) { /* it hides a member of a base */
            path[n] = &s->members[i];
            return n + 1;
        }
    for (uint32_t i = 0; i < s->n_members; i++) {
        const kernel_member *m = &s->members[i];
        path[n] = m;
        if (!m->name && m->type->kind == TYPE_STRUCT && n + 1 < 8) {
            const int found = find(m->type->record, name, path, n + 1);
            if (found)
                return found;
            path[n] = m;
        }
    }
    return 0;
}

int type_member_find(const kernel_struct *s, const kernel_name *name, const kernel_member *path[8])
{
    return find(s, name, path, 0);
}

/* ---- as text ---------------------------------------------------------------------------------- */

enum { TEXT_DEPTH = 32, TEXT_MOST = 256 };

static void add_base(text *out, const kernel_type *t)
{
    if (t->quals & TYPE_CONST)
        text_add(out, "const ");
    if (t->quals & TYPE_VOLATILE)
        text_add(out, "volatile ");
    if (t->kind == TYPE_STRUCT)
        text_add(out, "%s", t->record->name);
    else if (t->enumeration)
        text_add(out, "%s", t->enumeration->name ? t->enumeration->name->text : "enum");
    else if (t->word == WORD_TILE && t->parent)
        text_add(out, "thread_block_tile<%u, thread_block_tile<%u>>", (unsigned)t->count,
                 t->parent);
    else if (t->word == WORD_TILE)
        text_add(out, "thread_block_tile<%u>", (unsigned)t->count);
    else
        text_add(out, "%s", t->kind == TYPE_AUTO ? "auto" : words[t->word].name);
}

/* From the outside in: "*" and "&" are gathered on the left, "[n]" on the right. */
static void add(text *out, const kernel_type *t, int depth)
{
    const kernel_type *inner[TEXT_DEPTH];
    int n = 0;
    while ((t->kind == TYPE_REFERENCE || t->kind == TYPE_ARRAY || t->kind == TYPE_FUNCTION ||
            (t->kind == TYPE_POINTER && t->word != WORD_NULL)) &&
           n < TEXT_DEPTH) {
        inner[n++] = t;
        t = t->of;
    }
    add_base(out, t);
    for (int i = n - 1; i >= 0; i--) {
        const bool pointer = inner[i]->kind == TYPE_POINTER || inner[i]->kind == TYPE_REFERENCE;
        if (!pointer)
            continue;
        const bool wraps = inner[i]->of->kind == TYPE_ARRAY || inner[i]->of->kind == TYPE_FUNCTION;
        const bool spaced = i == n - 1 || wraps;
        text_add(out, "%s%s%s", spaced ? " " : "", wraps ? "(" : "",
                 inner[i]->kind == TYPE_POINTER ? "*" : "&");
        if (inner[i]->quals & TYPE_CONST)
            text_add(out, " const");
    }
    for (int i = 0; i < n; i++) {
        const bool wraps =
            inner[i]->kind != TYPE_ARRAY && inner[i]->kind != TYPE_FUNCTION &&
            (inner[i]->of->kind == TYPE_ARRAY || inner[i]->of->kind == TYPE_FUNCTION);
        if (wraps)
            text_add(out, ")");
        if (inner[i]->kind == TYPE_ARRAY) {
            if (inner[i]->count)
                text_add(out, "[%llu]", (unsigned long long)inner[i]->count);
            else
                text_add(out, "[]");
        } else if (inner[i]->kind == TYPE_FUNCTION && depth < 4) {
            text_add(out, "(");
            for (uint64_t k = 0; k < inner[i]->count; k++) {
                text_add(out, "%s", k ? ", " : "");
                add(out, inner[i]->parameters[k], depth + 1);
            }
            text_add(out, ")");
        }
    }
}

void type_spell(const kernel_type *type, char *into, size_t room)
{
    text out = {0};
    add(&out, type, 0);
    char *made = text_take(&out);
    snprintf(into, room, "%s", made ? made : "?");
    memory_free(made);
}

const char *type_text(kernel_types *t, const kernel_type *type)
{
    char made[TEXT_MOST];
    type_spell(type, made, sizeof made);
    return kernel_arena_text(t->arena, made, strlen(made));
}
