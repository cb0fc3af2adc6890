/* The check of schedules: each element that is read was written by an earlier program, no later program writes the
 * slot, and each output is complete. Only the writers of an assembly, a scatter and a kernel may write an element
 * again. */
#include "engine/graph/check.h"

#include "base/error.h"
#include "base/memory.h"

/* The part of a slot that has been written. */
typedef struct content {
    bool whole;
    element_set set; /* unless it is whole; word is NULL if nothing was written */
    int64_t element_bytes;
    int writers; /* for an assembly: how many of its inputs have been written */
} content;

static const ig_array *node_of(const checker *c, int k)
{
    const int node = c->s->slot[k].node;
    return node >= 0 ? c->g->node[node] : NULL;
}

static bool is_assembly(const checker *c, int k)
{
    const ig_array *x = c->s->slot[k].kind == SLOT_LEAF ? NULL : node_of(c, k);
    return x && x->op == OP_assemble;
}

static bool is_empty(const view *v)
{
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] == 0)
            return true;
    return false;
}

/* Empty inputs have no writer. */
static void skip_empty(const ig_array *x, content *t)
{
    while (t->writers < x->n_in && is_empty(&x->attr.dst[t->writers]))
        t->writers++;
}

/* The inputs of an assembly are written in their order: a later one may cover an earlier one. */
static ig_status check_writer(const checker *c, const access *a, content *t)
{
    const ig_array *x = node_of(c, a->slot);
    skip_empty(x, t);
    if (t->writers == x->n_in || !a->t || !reach_is_same_walk(&a->o->v, &x->attr.dst[t->writers]))
        return schedule_broken(c, "writers in order", a->program, a->slot,
                               "it does not write input %d of the assembly", t->writers);
    t->writers++;
    return IG_OK;
}

static ig_status read_elements(const checker *c, const access *a, const content *t)
{
    if (c->written[a->slot] > a->program)
        return schedule_broken(c, "read after write", a->program, a->slot,
                               "it is read before program %d, which writes it",
                               c->written[a->slot] + 1);
    if (t->whole)
        return IG_OK;
    if (!t->set.word)
        return schedule_broken(c, "read after write", a->program, a->slot,
                               "it is read, but nothing was written there before");
    const bool has =
        a->element_bytes ? element_set_has_all(&t->set, &a->r) : t->set.count == t->set.n;
    if (!has)
        return schedule_broken(c, "read after write", a->program, a->slot,
                               "elements are read that no earlier program has written");
    return IG_OK;
}

static ig_status write_elements(const checker *c, const access *a, content *t)
{
    const program_kind kind = c->s->program[a->program].kind;
    const bool again = is_assembly(c, a->slot);
    const int64_t count = a->element_bytes ? reach_count(&a->r) : 0;
    if (kind == PROGRAM_KERNEL)
        t->whole = true;
    if (kind == PROGRAM_KERNEL || kind == PROGRAM_WRITE)
        return IG_OK;
    if (count < 0)
        return IG_ERR_MEMORY;
    if (count != a->r.points)
        return schedule_broken(c, "written once", a->program, a->slot,
                               "%lld points write %lld elements", (long long)a->r.points,
                               (long long)count);
    if (!again && (t->whole || (t->set.word && !element_set_has_none(&t->set, &a->r))))
        return schedule_broken(c, "written once", a->program, a->slot,
                               "an earlier program has written the same elements");
    const int64_t n = c->s->slot[a->slot].bytes / a->element_bytes;
    t->whole = t->whole || count == n;
    if (t->whole)
        return IG_OK;
    if (!t->set.word)
        TRY(element_set_new(&t->set, n));
    element_set_add(&t->set, &a->r);
    t->whole = t->set.count == n;
    return IG_OK;
}

/* All accesses of a slot count the same elements. */
static ig_status check_width(const checker *c, const access *a, content *t)
{
    if (a->element_bytes == 0)
        return IG_OK;
    if (t->element_bytes && t->element_bytes != a->element_bytes)
        return schedule_broken(c, "operands", a->program, a->slot,
                               "elements of %lld bytes are used as elements of %lld bytes",
                               (long long)t->element_bytes, (long long)a->element_bytes);
    t->element_bytes = a->element_bytes;
    return IG_OK;
}

static ig_status check_program(const checker *c, int i, content *all)
{
    for (int k = c->begin[i]; k < c->begin[i + 1]; k++) {
        const access *a = &c->access[k];
        if (c->s->slot[a->slot].kind != SLOT_LEAF) /* a leaf may be viewed as another type */
            TRY(check_width(c, a, &all[a->slot]));
        if (!a->writes && a->r.points > 0)
            TRY(read_elements(c, a, &all[a->slot]));
    }
    for (int k = c->begin[i]; k < c->begin[i + 1]; k++) {
        const access *a = &c->access[k];
        if (!a->writes)
            continue;
        if (is_assembly(c, a->slot))
            TRY(check_writer(c, a, &all[a->slot]));
        if (a->r.points > 0)
            TRY(write_elements(c, a, &all[a->slot]));
    }
    return IG_OK;
}

static ig_status check_complete(const checker *c, content *all)
{
    for (int k = 0; k < c->s->n_slot; k++) {
        if (c->s->slot[k].kind == SLOT_OUT && !all[k].whole)
            return schedule_broken(c, "outputs", -1, k, "not all of its elements are written");
        if (!is_assembly(c, k))
            continue;
        skip_empty(node_of(c, k), &all[k]);
        if (all[k].writers < node_of(c, k)->n_in)
            return schedule_broken(c, "writers in order", -1, k,
                                   "no program writes input %d of the assembly", all[k].writers);
    }
    return IG_OK;
}

ig_status schedule_check_values(const checker *c)
{
    const int n = c->s->n_slot;
    content *all = memory_new((size_t)(n + 1) * sizeof *all);
    if (!all)
        return IG_ERR_MEMORY;
    for (int k = 0; k < n; k++)
        all[k].whole = c->s->slot[k].kind == SLOT_LEAF || c->s->slot[k].bytes == 0;
    ig_status status = IG_OK;
    for (int i = 0; i < c->s->n_program && status == IG_OK; i++)
        status = check_program(c, i, all);
    if (status == IG_OK)
        status = check_complete(c, all);
    for (int k = 0; k < n; k++)
        element_set_free(&all[k].set);
    memory_free(all);
    return status;
}
