/* Describes the fields of a kernel's parameter: types of the tree as public structs. */
#include "engine/module/fields.h"

#include "base/memory.h"
#include "compiler/lower/lower.h"

static void free_inside(const ig_kernel_field *f)
{
    for (int i = 0; i < f->n_fields; i++)
        free_inside(&f->fields[i]);
    memory_free((void *)f->fields);
}

static ig_status describe(kernel_types *types, const kernel_type *t, ig_kernel_field *f)
{
    f->type = type_text(types, t);
    f->bytes = (size_t)t->size;
    for (; t->kind == TYPE_ARRAY; t = t->of)
        f->count = (f->count ? f->count : 1) * (int64_t)t->count;
    if (type_is_arithmetic(t))
        f->dtype = lower_stored(t);
    if (t->kind != TYPE_STRUCT || !t->record->complete)
        return IG_OK;
    const kernel_struct *record = t->record;
    ig_kernel_field *inside = memory_new((record->n_members + 1) * sizeof *inside);
    f->fields = inside;
    f->is_union = record->is_union;
    if (!inside)
        return IG_ERR_MEMORY;
    for (uint32_t i = 0; i < record->n_members; i++) {
        const kernel_member *m = &record->members[i];
        inside[i] =
            (ig_kernel_field){.name = m->name ? m->name->text : "", .offset = (size_t)m->offset};
        f->n_fields++;
        const ig_status status = describe(types, m->type, &inside[i]);
        if (status != IG_OK)
            return status;
    }
    return IG_OK;
}

ig_kernel_field *module_field_new(kernel_types *types, const kernel_type *t, const char *name)
{
    ig_kernel_field *f = memory_new(sizeof *f);
    if (!f)
        return NULL;
    f->name = name;
    if (describe(types, t, f) == IG_OK)
        return f;
    module_field_free(f);
    return NULL;
}

void module_field_free(const ig_kernel_field *f)
{
    if (f)
        free_inside(f);
    memory_free((void *)f);
}
