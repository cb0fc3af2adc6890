/* Parameters that the ranks divide (ig_shards_divide): each rank keeps its pieces, as it keeps the optimizer's state. The
 * value of a parameter is then a divided array (ingot/team.h). */
#include "lib/nn/shards.h"
#include <stdlib.h>

int64_t *divided_cuts(const shards *s)
{
    const size_t row = (size_t)s->ranks + 1;
    int64_t *cut = malloc(((size_t)s->n_param + 1) * row * sizeof *cut);
    for (int i = 0; i < s->n_param && cut; i++)
        for (int r = 0; r < s->ranks; r++)
            vector_span(s, i, r, &cut[(size_t)i * row + (size_t)r],
                        &cut[(size_t)i * row + (size_t)r + 1]);
    return cut;
}

ig_status divided_join(const shards *s, ig_model *m)
{
    const size_t n = (size_t)s->n_param;
    ig_part *part = calloc(n + 1, sizeof *part);
    ig_array **value = malloc((n + 1) * sizeof(ig_array *));
    int64_t *cut = divided_cuts(s);
    ig_status status =
        part && value && cut ? IG_OK : ig_fail(IG_ERR_MEMORY, "shards: no memory for parts");
    for (size_t i = 0; i < n && status == IG_OK; i++) {
        entry *e = &m->param.at[i];
        part[i] = (ig_part){e->part, ig_shape(e->value), s->at[i].own_dtype,
                            cut + i * ((size_t)s->ranks + 1)};
        value[i] = e->value;
    }
    if (status == IG_OK) {
        status = ig_team_join(part, (int)n, value);
        for (size_t i = 0; i < n; i++)
            m->param.at[i].value = value[i];
    }
    free(part);
    free(value);
    free(cut);
    return status;
}

/* Copies the own elements of each parameter. */
static ig_status take_parts(const shards *s, ig_model *m)
{
    for (int i = 0; i < s->n_param; i++) {
        entry *e = &m->param.at[i];
        int64_t lo, hi;
        vector_span(s, i, s->rank, &lo, &hi);
        ig_release(e->part);
        e->part = NULL;
        if (lo < hi && !(e->part = model_own(ig_slice(ig_reshape(e->value, IG_SHAPE(-1)),
                                                      IG_SHAPE(lo), IG_SHAPE(hi), IG_SHAPE(1)))))
            return error_code();
    }
    return IG_OK;
}

ig_status divided_begin(shards *s, ig_model *m)
{
    if (m->is_divided || s->ranks == 1)
        return IG_OK;
    ig_status status = shards_ready(s, m);
    if (status == IG_OK)
        status = vector_agree(s, m);
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status != IG_OK)
        return status;
    status = take_parts(s, m);
    ig_scope_end();
    if (status == IG_OK)
        status = divided_join(s, m);
    m->is_divided = status == IG_OK;
    return status;
}

ig_status ig_shards_divide(ig_optimizer *o, ig_model *m)
{
    int first, end;
    if (!o || !m)
        return ig_fail(IG_ERR_ARGUMENT, "shards_divide: %s is NULL",
                       o ? "the model" : "the optimizer");
    if (m->param.n == 0)
        return ig_fail(IG_ERR_ARGUMENT, "shards_divide: the model has no parameters; call its "
                                        "layers first");
    o->divides = true;
    return ig_shards_begin(o, m, 1, &first, &end);
}
