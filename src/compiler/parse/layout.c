/* The layout of structs: the Itanium C++ ABI, as gcc and clang implement it on the host.
 *
 * Two rules go beyond C. Two empty objects of the same type never share an address, so the second one is
 * moved, with the object that contains it. A base that is not plain old data in the sense of C++03 leaves
 * its tail padding to the members of the derived struct. */
#include "compiler/parse/parser.h"

static uint64_t round_up(uint64_t n, uint64_t align) { return (n + align - 1) / align * align; }

static const empty_base *empty_bases_of(const kernel_struct *s)
{
    return s->syntax ? s->syntax->empty_bases : NULL;
}

/* True if s, as laid out so far, has an empty object of the type at byte `where`. */
static bool has_empty(const kernel_struct *s, const kernel_type *wanted, uint64_t where);

static bool object_has_empty(const kernel_type *type, uint64_t at, const kernel_type *wanted,
                             uint64_t where)
{
    if (where < at || where >= at + type->size)
        return false;
    for (; type->kind == TYPE_ARRAY; type = type->of)
        at += (where - at) / type->of->size * type->of->size;
    if (type->kind != TYPE_STRUCT)
        return false;
    return (type->plain == wanted && at == where) || has_empty(type->record, wanted, where - at);
}

static bool has_empty(const kernel_struct *s, const kernel_type *wanted, uint64_t where)
{
    for (const empty_base *b = empty_bases_of(s); b; b = b->next)
        if (object_has_empty(b->type, b->offset, wanted, where))
            return true;
    for (uint32_t i = 0; i < s->n_members; i++)
        if (object_has_empty(s->members[i].type, s->members[i].offset, wanted, where))
            return true;
    return false;
}

/* True if an object at this offset would put an empty object where s already has one of the same type. */
static bool collides(const kernel_struct *s, const kernel_type *type, uint64_t at)
{
    if (type->kind == TYPE_ARRAY) {
        for (uint64_t i = 0; i < type->count && at < s->type->size; i++, at += type->of->size)
            if (collides(s, type->of, at))
                return true;
        return false;
    }
    if (type->kind != TYPE_STRUCT || at >= s->type->size)
        return false;
    const kernel_struct *inner = type->record;
    if (!inner->n_members && has_empty(s, type->plain, at))
        return true;
    for (const empty_base *b = empty_bases_of(inner); b; b = b->next)
        if (collides(s, b->type, at + b->offset))
            return true;
    for (uint32_t i = 0; i < inner->n_members; i++)
        if (collides(s, inner->members[i].type, at + inner->members[i].offset))
            return true;
    return false;
}

static uint64_t place_for(const kernel_struct *s, const kernel_type *type, uint64_t from)
{
    uint64_t at = round_up(from, type->align);
    while (!s->is_union && collides(s, type, at))
        at += type->align;
    return at;
}

void layout_member(parser *p, kernel_struct *s, const kernel_name *name, const kernel_type *type,
                   kernel_place place)
{
    const kernel_type *element = type;
    while (element->kind == TYPE_ARRAY)
        element = element->of;
    s->not_pod |= s->syntax->is_private;
    s->not_pod |= element->kind == TYPE_STRUCT && element->record->not_pod;
    const uint64_t at = s->is_union ? 0 : place_for(s, type, s->data_size);
    s->bits = 0;
    type_member_place(p->types, s, name, type, place, at, type->size);
}

/* Bit-fields follow each other without gaps, but none crosses a boundary of its type. */
void layout_bits(parser *p, kernel_struct *s, const kernel_name *name, const kernel_type *type,
                 kernel_place place, uint64_t bits)
{
    const uint64_t whole = 8 * type->size;
    uint64_t from = s->is_union ? 0 : s->bits ? s->bits : 8 * s->data_size;
    if (!bits || from % whole + bits > whole)
        from = round_up(from, whole);
    s->bits = from + bits;
    s->not_pod |= s->syntax->is_private;
    if (name) {
        uint64_t unit = 1; /* the smallest that has it */
        while (from % (8 * unit) + bits > 8 * unit)
            unit *= 2;
        type_member_place(p->types, s, name, type, place, from / (8 * unit) * unit, 0);
        kernel_member *m = &s->members[s->n_members - 1];
        m->bits = (uint8_t)bits;
        m->bit = (uint8_t)(from % (8 * unit));
        m->unit = (uint8_t)unit;
    }
    if ((s->bits + 7) / 8 > s->data_size)
        s->data_size = (s->bits + 7) / 8;
    kernel_type *made = (kernel_type *)s->type;
    if (s->data_size > made->size)
        made->size = s->data_size;
}

void layout_base(parser *p, kernel_struct *s, const kernel_type *base, kernel_place place)
{
    const kernel_struct *inner = base->record;
    s->not_pod = true;
    if (inner->n_members) {
        type_member_place(p->types, s, NULL, base, place, place_for(s, base, s->data_size),
                          inner->data_size);
        return;
    }
    empty_base *made = kernel_arena_get(p->arena, sizeof *made);
    const uint64_t at = collides(s, base, 0) ? place_for(s, base, s->data_size) : 0;
    *made = (empty_base){base, at, s->syntax->empty_bases};
    s->syntax->empty_bases = made;
    type_struct_cover(s, base, at);
}
