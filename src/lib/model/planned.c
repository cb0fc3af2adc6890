/* Compiles the computation for each shape of batches (ig_compile), so that it is rewritten, and the host neither builds the
 * graph again nor looks up its schedule. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

void plans_free(ig_text_model *m)
{
    for (int i = 0; i < MODEL_PLANS; i++)
        ig_compiled_free(m->plans[i].compiled);
    memset(m->plans, 0, sizeof m->plans);
}

static bool plan_fits(const model_plan *p, const model_plan *like)
{
    return p->compiled && p->head == like->head && p->math == like->math && p->n == like->n &&
           p->t == like->t && p->types == like->types && p->places == like->places &&
           p->mask == like->mask && strcmp(p->device, like->device) == 0;
}

/* The plan for such batches. A new plan replaces the least recently used one. */
static model_plan *plan_of(ig_text_model *m, head_kind head, const batch_arrays *b)
{
    model_plan like = {.head = head,
                       .math = ig_math_mode(),
                       .n = b->n,
                       .t = b->t,
                       .types = b->types != NULL,
                       .places = b->places != NULL,
                       .mask = b->mask != NULL};
    model_plan *oldest = &m->plans[0];
    snprintf(like.device, sizeof like.device, "%s", ig_device());
    for (int i = 0; i < MODEL_PLANS; i++) {
        if (plan_fits(&m->plans[i], &like))
            return &m->plans[i];
        if (m->plans[i].used < oldest->used)
            oldest = &m->plans[i];
    }
    ig_compiled_free(oldest->compiled);
    *oldest = like;
    return oldest;
}

static ig_array *rows_build(ig_text_model *m, head_kind head, const batch_arrays *b)
{
    ig_array *hidden = encoder_run(m, b, NULL);
    return hidden ? ig_astype(head_run(m, head, hidden, b->mask), IG_F32) : NULL;
}

ig_array *rows_run(ig_text_model *m, head_kind head, const batch_arrays *b)
{
    if (m->weights.trained || m->dropping) /* the computation changes between batches */
        return rows_build(m, head, b);
    model_plan *p = plan_of(m, head, b);
    ig_array *in[4], *out = NULL;
    int n = 0;
    in[n++] = b->ids;
    if (b->types)
        in[n++] = b->types;
    if (b->places)
        in[n++] = b->places;
    if (b->mask)
        in[n++] = b->mask;
    p->used = ++m->plan_clock;
    if (!p->compiled) {
        if (!(out = rows_build(m, head, b)) || !(p->compiled = ig_compile(in, n, 0, &out, 1)))
            return NULL;
    }
    return ig_run(p->compiled, in, &out) == IG_OK ? out : NULL;
}
