/* Arrays of lanes in local memory. If a program accesses an array only by its name, all lanes of a group have the elements of
 * one index next to each other, so that an access with the same index in all lanes is a vector access. Other local memory
 * stays lane by lane. */
#include "compiler/native/plan.h"

enum { ELEMENTS_MOST = 4096 };

static bool is_local(const native_plan *p, int32_t r)
{
    return r != CODE_NONE && p->c->reg[r].origin == ORIGIN_LOCAL;
}

/* Marks the objects that contain the offset, except for one, as not interleaved. */
static void forget(native_plan *p, int64_t offset, int except)
{
    for (int n = 0; n < p->c->n_object; n++) {
        const code_object *o = &p->c->object[n];
        if (n != except && o->origin == ORIGIN_LOCAL && offset >= (int64_t)o->offset &&
            offset <= (int64_t)(o->offset + o->bytes))
            p->own[n].fits = false;
    }
}

static int contains(const native_plan *p, const code_inst *i)
{
    int found = -1;
    if (i->object)
        return p->c->object[i->object - 1].origin == ORIGIN_LOCAL ? i->object - 1 : -1;
    for (int n = 0; n < p->c->n_object; n++) {
        const code_object *o = &p->c->object[n];
        if (o->origin != ORIGIN_LOCAL || i->offset < (int64_t)o->offset ||
            i->offset >= (int64_t)(o->offset + o->bytes))
            continue;
        if (found >= 0)
            return -1;
        found = n;
    }
    return found;
}

/* An access by the array's name. */
static void use(native_plan *p, const code_inst *i, int k)
{
    const int n = contains(p, i);
    const int bytes = (int)ig_dtype_bytes((ig_dtype)i->to);
    if (n < 0) {
        forget(p, i->offset, -1);
        return;
    }
    native_own *own = &p->own[n];
    const code_object *o = &p->c->object[n];
    const int64_t at = i->offset - (int64_t)o->offset;
    const bool first = own->home == HOME_NONE;
    const int32_t part = p->part[k];
    own->dtype = first ? i->to : own->dtype;
    own->home = first || own->home == part ? part : HOME_MANY;
    own->elements = (int)(o->bytes / (uint64_t)bytes);
    own->fits = own->fits && own->dtype == i->to && bytes >= 4 &&
                o->bytes / (uint64_t)bytes <= ELEMENTS_MOST && at >= 0 && at < (int64_t)o->bytes &&
                at % bytes == 0 && o->offset % (uint64_t)bytes == 0 &&
                (i->b == CODE_NONE || i->scale % bytes == 0) && part != REGION_NONE &&
                !p->region[part].by_lane && !(i->flags & CODE_VOLATILE);
}

static bool only_place(const code_inst *i)
{
    return (i->op == CODE_LOAD || i->op == CODE_STORE) && !(i->flags & CODE_LOCALS);
}

/* The address of a lane's memory is used for something else. */
static void find_escapes(native_plan *p, const code_inst *i)
{
    const bool other =
        is_local(p, i->b) || is_local(p, i->c) || is_local(p, i->e) || is_local(p, i->d);
    if (i->op == CODE_ADDRESS && is_local(p, i->a) && !(i->flags & CODE_LOCALS))
        forget(p, i->offset, -1);
    if (!other && (!is_local(p, i->a) || i->op == CODE_ADDRESS || only_place(i)) &&
        !(i->flags & CODE_LOCALS))
        return;
    for (int n = 0; n < p->c->n_object; n++)
        p->own[n].fits = false;
}

void plan_own(native_plan *p)
{
    for (int n = 0; n < p->c->n_object; n++)
        p->own[n] = (native_own){.fits = p->c->object[n].origin == ORIGIN_LOCAL, .home = HOME_NONE};
    for (int k = 0; k < p->c->n_inst; k++) {
        const code_inst *i = &p->c->inst[k];
        find_escapes(p, i);
        if (only_place(i) && is_local(p, i->a))
            use(p, i, k);
    }
    for (int n = 0; n < p->c->n_object; n++)
        p->own[n].fits = p->own[n].fits && p->own[n].home != HOME_NONE;
}

int plan_own_of(const native_plan *p, const code_inst *i)
{
    const int n = only_place(i) && is_local(p, i->a) ? contains(p, i) : -1;
    return n >= 0 && p->own[n].fits ? n : -1;
}

size_t plan_own_frame(native_plan *p, size_t at)
{
    for (int n = 0; n < p->c->n_object; n++) {
        native_own *own = &p->own[n];
        if (!own->fits)
            continue;
        own->frame = (int64_t)at;
        at += ((size_t)own->elements + 1) * (size_t)(p->groups * p->lanes) *
              ig_dtype_bytes((ig_dtype)own->dtype);
        at = (at + 63) / 64 * 64;
    }
    return at;
}
