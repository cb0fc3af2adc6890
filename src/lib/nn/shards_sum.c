/* Sums of arrays over the shards of all ranks, for loops with their own optimizers. They are added in the order that
 * ig_shards_step uses. */
#include "lib/nn/shards.h"
#include <stdlib.h>
#include <string.h>

static ig_status sum_check(int count, ig_array *const *like, int n, ig_array *const *terms,
                           ig_array *const *sums)
{
    if (!like || n < 1 || !sums)
        return ig_fail(IG_ERR_ARGUMENT, "shards_sum: %s",
                       n < 1 ? "there are no arrays" : "a list is NULL");
    if (ig_failed())
        return error_code();
    if (count < 1 || count > SHARDS_MAX)
        return ig_fail(IG_ERR_ARGUMENT, "shards_sum: %d shards; give 1 to %d", count, SHARDS_MAX);
    int first, end;
    shards_of_rank(count, ig_team_size(), ig_team_rank(), &first, &end);
    for (int i = 0; i < n; i++)
        if (!like[i] || !ig_isdtype(ig_dtype_of(like[i]), "real floating"))
            return ig_fail(IG_ERR_DTYPE, "shards_sum: array %d is not of real floats", i);
    for (int k = 0; k < (end - first) * n; k++) {
        char have[SHAPE_TEXT_BYTES], want[SHAPE_TEXT_BYTES];
        if (!terms || !terms[k])
            return ig_fail(IG_ERR_ARGUMENT, "shards_sum: array %d of shard %d is NULL", k % n,
                           first + k / n);
        if (!shape_equal(ig_shape(terms[k]), ig_shape(like[k % n])))
            return ig_fail(IG_ERR_SHAPE,
                           "shards_sum: array %d of shard %d has shape %s, and must have %s", k % n,
                           first + k / n, shape_text(ig_shape(terms[k]), have),
                           shape_text(ig_shape(like[k % n]), want));
    }
    return IG_OK;
}

/* Adds the shards of this rank. */
static ig_status add_terms(shards *s, ig_array *const *terms)
{
    ig_array **fine = malloc((size_t)s->n * sizeof(ig_array *));
    ig_status status = fine ? IG_OK : ig_fail(IG_ERR_MEMORY, "shards_sum: no memory");
    for (; s->next < s->end && status == IG_OK; s->next++) {
        for (int i = 0; i < s->n; i++)
            fine[i] = ig_astype(*terms++, s->at[i].fine_dtype);
        status = ig_failed() ? error_code() : ig_eval(fine, s->n);
        if (status == IG_OK)
            status = shards_push(s, fine);
    }
    free(fine);
    return status;
}

/* Gives all ranks the sums of all parts. */
static ig_status gather_sums(shards *s, const char *own, ig_array *const *like, ig_array **sums)
{
    char *all = shards_room(s);
    if (!all)
        return error_code();
    const uint64_t from = s->fine_cut[s->rank];
    memcpy(all + from, own, s->fine_cut[s->rank + 1] - from);
    ig_status status = s->ranks > 1 ? team_gather(TEAM_MAIN, all, s->fine_cut) : IG_OK;
    for (int i = 0; i < s->n && status == IG_OK; i++) {
        const place *p = &s->at[i];
        ig_array *x = ig_from_data(all + p->fine, ig_shape(like[i]), p->fine_dtype);
        sums[i] = p->own_dtype == p->fine_dtype ? x : ig_astype(x, p->own_dtype);
        if (!sums[i])
            status = error_code();
    }
    shards_room_return(s, all);
    return status;
}

static ig_status sum_all(shards *s, ig_array *const *like, int n, ig_array *const *terms,
                         ig_array **sums)
{
    exchange x = {0};
    ig_status status = vector_fill(s, like, n, n);
    if (status == IG_OK)
        status = vector_agree(s, NULL);
    if (status == IG_OK)
        status = add_terms(s, terms);
    if (status == IG_OK)
        status = exchange_sum(s, &x);
    if (status == IG_OK)
        status = gather_sums(s, x.node[0].sum, like, sums);
    exchange_free(&x);
    return status;
}

ig_status ig_shards_sum(int count, ig_array *const *like, int n, ig_array *const *terms,
                        ig_array **sums)
{
    shards *s = NULL;
    ig_status status = sum_check(count, like, n, terms, sums);
    if (status == IG_OK && !(s = calloc(1, sizeof *s)))
        status = ig_fail(IG_ERR_MEMORY, "shards_sum: no memory");
    if (status == IG_OK) {
        s->rank = ig_team_rank();
        s->ranks = ig_team_size();
        s->count = count;
        shards_of_rank(count, s->ranks, s->rank, &s->first, &s->end);
        s->next = s->first;
        status = sum_all(s, like, n, terms, sums);
    }
    shards_free(s);
    if (status != IG_OK && team_is_on())
        team_fail(NULL);
    return status;
}

ig_status ig_shards_own(int count, int *first, int *end)
{
    if (count < 1 || count > SHARDS_MAX || !first || !end)
        return ig_fail(IG_ERR_ARGUMENT, "shards_own: %d shards; give 1 to %d", count, SHARDS_MAX);
    shards_of_rank(count, ig_team_size(), ig_team_rank(), first, end);
    return IG_OK;
}
