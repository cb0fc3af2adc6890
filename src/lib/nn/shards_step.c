/* The end of a data-parallel step: sums over all ranks, clipping, new values and state of the own part, and the exchange
 * of new values. Also collects the state for a checkpoint. */
#include "lib/nn/shards.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* Gives all ranks the numbers of all shards, and sums them. */
static ig_status sum_numbers(shards *s, double *value, double *sums, int n)
{
    const size_t stride = 1 + (size_t)n;
    uint64_t *at = malloc(((size_t)s->ranks + 1) * sizeof *at);
    double *all = malloc(stride * (size_t)s->count * sizeof *all);
    ig_status status = at && all ? IG_OK : ig_fail(IG_ERR_MEMORY, "shards_step: no memory");
    if (status == IG_OK) {
        const size_t from = stride * (size_t)s->first, to = stride * (size_t)s->end;
        if (to > from)
            memcpy(all + from, s->number + from, (to - from) * sizeof *all);
        for (int r = 0, end; r < s->ranks; r++) {
            int first;
            shards_of_rank(s->count, s->ranks, r, &first, &end);
            at[r] = (uint64_t)first * stride * sizeof *all;
        }
        at[s->ranks] = (uint64_t)s->count * stride * sizeof *all;
        status = s->ranks > 1 ? team_gather(TEAM_MAIN, all, at) : IG_OK;
    }
    if (status == IG_OK && value)
        *value = tree_sum(all, 0, s->count, (int)stride);
    for (int i = 0; i < n && status == IG_OK; i++)
        sums[i] = tree_sum(all + 1 + i, 0, s->count, (int)stride);
    free(at);
    free(all);
    return status;
}

/* ---- clipping ---- */

/* Calls f for the elements of each own piece of parameters, in order. */
static void each_piece(const shards *s, char *sum,
                       void (*f)(void *context, char *x, int64_t n, bool is_double), void *context)
{
    for (int i = 0; i < s->n_param; i++) {
        const size_t bytes = ig_dtype_bytes(s->at[i].fine_dtype);
        int64_t lo, hi;
        vector_span(s, i, s->rank, &lo, &hi);
        for (int64_t k = lo; k < hi; k += PIECE)
            f(context, sum + (s->at[i].fine - s->fine_cut[s->rank]) + (uint64_t)k * bytes,
              hi - k < PIECE ? hi - k : PIECE, s->at[i].fine_dtype == IG_F64);
    }
}

/* Appends the sum of the squares to *context. */
static void piece_square(void *context, char *x, int64_t n, bool is_double)
{
    double **to = context, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double one = is_double ? ((const double *)x)[i] : (double)((const float *)x)[i];
        sum += one * one;
    }
    *(*to)++ = sum;
}

static void piece_scale(void *context, char *x, int64_t n, bool is_double)
{
    const double scale = *(const double *)context;
    for (int64_t i = 0; i < n; i++)
        if (is_double)
            ((double *)x)[i] *= scale;
        else
            ((float *)x)[i] *= (float)scale;
}

/* Scales the own gradients by max_norm / max(norm, max_norm). The norm is the sum over pieces, in their order. */
static ig_status clip(const shards *s, double max_norm, char *sum)
{
    const int64_t pieces = s->at[s->n_param].piece;
    double *square = malloc((size_t)pieces * sizeof *square), norm = 0;
    uint64_t *at = malloc(((size_t)s->ranks + 1) * sizeof *at);
    ig_status status =
        square && at ? IG_OK : ig_fail(IG_ERR_MEMORY, "shards_step: no memory for the norm");
    if (status == IG_OK) {
        for (int r = 0; r <= s->ranks; r++) {
            const int64_t piece = vector_piece(s, r);
            at[r] = (uint64_t)(piece < pieces ? piece : pieces) * sizeof *square;
        }
        double *own = square + at[s->rank] / sizeof *square;
        each_piece(s, sum, piece_square, &own);
        status = s->ranks > 1 ? team_gather(TEAM_MAIN, square, at) : IG_OK;
    }
    for (int64_t i = 0; i < pieces && status == IG_OK; i++)
        norm += square[i];
    norm = sqrt(norm);
    double scale = max_norm / (norm > max_norm ? norm : max_norm);
    if (isnan(norm))
        scale = NAN;
    if (status == IG_OK && scale != 1)
        each_piece(s, sum, piece_scale, &scale);
    free(square);
    free(at);
    return status;
}

/* ---- new values ---- */

/* Lists of arrays. made: for each entry its new value, and for parameters the new slots after it; NULL: this rank
 * owns no element. */
typedef struct renewal {
    ig_optimizer *o;
    ig_model *m;
    shards *s;
    ig_array *(*made)[1 + SLOTS_MAX];
    ig_array **out, **donated, **fresh;
    int n_out, n_donated;
} renewal;

static entry *entry_of(const renewal *w, int i)
{
    const int n = w->s->n_param;
    return i < n ? &w->m->param.at[i] : &w->m->state.at[i - n];
}

static ig_status renewal_begin(renewal *w)
{
    const size_t n = (size_t)w->s->n;
    w->made = calloc(n, sizeof *w->made);
    w->out = malloc(n * (1 + SLOTS_MAX) * sizeof(ig_array *));
    w->donated = malloc(n * (1 + SLOTS_MAX) * sizeof(ig_array *));
    w->fresh = calloc(n, sizeof(ig_array *));
    if (!w->made || !w->out || !w->donated || !w->fresh)
        return ig_fail(IG_ERR_MEMORY, "shards_step: no memory for lists of %zu arrays", n);
    return IG_OK;
}

static void renewal_end(renewal *w)
{
    for (int i = 0; i < w->s->n; i++) {
        for (int k = 0; w->made && k <= SLOTS_MAX; k++)
            ig_release(w->made[i][k]);
        if (w->fresh)
            ig_release(w->fresh[i]);
    }
    free(w->made);
    free(w->out);
    free(w->donated);
    free(w->fresh);
}

/* Elements [lo, hi) of x, flat; x itself in a team of one. */
static ig_array *span_of(const shards *s, ig_array *x, int64_t lo, int64_t hi)
{
    if (s->ranks == 1)
        return x;
    return ig_slice(ig_reshape(x, IG_SHAPE(-1)), IG_SHAPE(lo), IG_SHAPE(hi), IG_SHAPE(1));
}

/* Builds the new value of the own span of entry i, and of its slots. */
static ig_status renew(renewal *w, int i, const double *number, char *sum)
{
    const shards *s = w->s;
    ig_optimizer *o = w->o;
    entry *e = entry_of(w, i);
    const place *p = &s->at[i];
    int64_t lo, hi;
    vector_span(s, i, s->rank, &lo, &hi);
    if (lo == hi)
        return IG_OK;
    const char *data =
        sum + (p->fine - s->fine_cut[s->rank]) + (uint64_t)lo * ig_dtype_bytes(p->fine_dtype);
    ig_array *old = e->part ? e->part : span_of(s, e->value, lo, hi);
    ig_array *g =
        ig_from_data(data, s->ranks == 1 ? ig_shape(e->value) : IG_SHAPE(hi - lo), p->fine_dtype);
    ig_array **made = w->made[i];
    ig_status status = IG_OK;
    if (i >= s->n_param)
        made[0] =
            ig_scope_forget(ig_astype(ig_add(ig_astype(old, p->fine_dtype), g), p->own_dtype));
    else
        status = optimizer_update(o, number, ig_ndim(e->value), old, g,
                                  o->owner ? o->state[i] : NULL, made);
    if (status != IG_OK || !made[0])
        return error_code();
    const int slots = i < s->n_param ? o->slots : 0;
    for (int k = 0; k <= slots; k++)
        w->out[w->n_out++] = made[k];
    for (int k = 0; k < slots && o->owner; k++)
        w->donated[w->n_donated++] = o->state[i][k];
    if (s->ranks == 1)
        w->donated[w->n_donated++] = e->value;
    return IG_OK;
}

static ig_status renew_all(renewal *w, char *sum)
{
    double number[NUMBERS_MAX];
    ig_status status = IG_OK;
    w->o->rule->numbers(w->o, schedule_rate(w->o, w->o->steps), number);
    for (int i = 0; i < w->s->n && status == IG_OK; i++)
        status = renew(w, i, number, sum);
    if (status == IG_OK && w->n_out)
        status = ig_eval_donating(w->out, w->n_out, w->donated, w->n_donated);
    return status;
}

/* Makes the whole new value of each entry that is not divided from the parts of all ranks. first: the first of them; all:
 * memory for their values; at: ranks + 1 offsets, to be filled. */
static ig_status gather_values(renewal *w, int first, char *all, uint64_t *at)
{
    const shards *s = w->s;
    const uint64_t base = s->at[first].own;
    ig_status status = IG_OK;
    for (int r = 0; r <= s->ranks; r++)
        at[r] = s->own_cut[r] > base ? s->own_cut[r] - base : 0;
    for (int i = first; i < s->n && status == IG_OK; i++) {
        const size_t bytes = ig_dtype_bytes(s->at[i].own_dtype);
        int64_t lo, hi;
        vector_span(s, i, s->rank, &lo, &hi);
        if (w->made[i][0])
            status = ig_read(w->made[i][0], all + (s->at[i].own - base) + (size_t)lo * bytes,
                             (size_t)(hi - lo) * bytes);
    }
    if (status == IG_OK)
        status = team_gather(TEAM_MAIN, all, at);
    for (int i = first; i < s->n && status == IG_OK; i++) {
        w->fresh[i] = ig_scope_forget(ig_from_data(
            all + (s->at[i].own - base), ig_shape(entry_of(w, i)->value), s->at[i].own_dtype));
        if (!w->fresh[i])
            status = error_code();
    }
    return status;
}

static ig_status gather_whole(renewal *w)
{
    const shards *s = w->s;
    const int first = w->m->is_divided ? s->n_param : 0;
    if (first == s->n)
        return IG_OK;
    char *all = malloc(s->at[s->n].own - s->at[first].own + 1);
    uint64_t *at = malloc(((size_t)s->ranks + 1) * sizeof *at);
    const ig_status status = all && at
                                 ? gather_values(w, first, all, at)
                                 : ig_fail(IG_ERR_MEMORY, "shards_step: no memory for new values");
    free(all);
    free(at);
    return status;
}

static ig_array *taken(ig_array **from)
{
    ig_array *x = *from;
    *from = NULL;
    return x;
}

/* Replaces the divided parameters by their new parts. */
static ig_status renew_divided(renewal *w)
{
    const shards *s = w->s;
    for (int i = 0; i < s->n_param; i++) {
        entry *e = entry_of(w, i);
        ig_release(e->part);
        e->part = taken(&w->made[i][0]);
    }
    return divided_join(s, w->m);
}

/* Replaces the old arrays by the new ones. */
static void renewal_commit(renewal *w)
{
    ig_optimizer *o = w->o;
    const shards *s = w->s;
    for (int i = 0; i < s->n; i++) {
        entry *e = entry_of(w, i);
        const bool divided = w->m->is_divided && i < s->n_param; /* divided_join has replaced it */
        ig_array *value = divided        ? NULL
                          : s->ranks > 1 ? taken(&w->fresh[i])
                                         : taken(&w->made[i][0]);
        if (value) { /* NULL: it has no elements */
            ig_release(e->value);
            e->value = value;
        }
        for (int k = 0; i < s->n_param && k < o->slots; k++) {
            ig_release(o->state[i][k]);
            o->state[i][k] = taken(&w->made[i][1 + k]);
        }
    }
    o->owner = w->m->id;
    o->n = s->n_param;
    o->is_split = s->ranks > 1;
    o->steps++;
    w->m->steps++;
}

/* ---- step ---- */

/* Makes room for the first state, or keeps only the own spans of a whole one. */
static ig_status split_state(ig_optimizer *o, const shards *s)
{
    if (!o->owner) {
        optimizer_clear(o);
        o->state = calloc((size_t)s->n_param, sizeof *o->state);
        return o->state ? IG_OK
                        : ig_fail(IG_ERR_MEMORY, "shards_step: no memory for a list of %d arrays",
                                  s->n_param);
    }
    if (o->is_split || s->ranks == 1)
        return IG_OK;
    slot_list *part = calloc((size_t)s->n_param, sizeof *part);
    ig_status status = part ? IG_OK : ig_fail(IG_ERR_MEMORY, "shards_step: no memory");
    for (int i = 0; i < s->n_param && status == IG_OK; i++)
        for (int k = 0; k < o->slots && status == IG_OK; k++) {
            int64_t lo, hi;
            vector_span(s, i, s->rank, &lo, &hi);
            if (lo < hi && !(part[i][k] = model_own(span_of(s, o->state[i][k], lo, hi))))
                status = error_code();
        }
    if (status != IG_OK) {
        slots_free(part, s->n_param, o->slots);
        return status;
    }
    slots_free(o->state, s->n_param, o->slots);
    o->state = part;
    o->is_split = true;
    return IG_OK;
}

static ig_status finish_check(const ig_optimizer *o, const ig_model *m, const double *sums, int n)
{
    if (!o || !m || (n > 0 && !sums) || n < 0)
        return ig_fail(IG_ERR_ARGUMENT, "shards_step: %s",
                       !o      ? "the optimizer is NULL"
                       : !m    ? "the model is NULL"
                       : n < 0 ? "a count cannot be negative"
                               : "the list of sums is NULL");
    const ig_status status = step_pair_check(o, m);
    if (status != IG_OK)
        return status;
    const shards *s = o->shards;
    if (!s || !s->is_open)
        return ig_fail(IG_ERR_ARGUMENT, "shards_step: call ig_shards_begin first");
    if (s->next < s->end)
        return ig_fail(IG_ERR_ARGUMENT, "shards_step: %d of the %d shards of this rank were added",
                       s->next - s->first, s->end - s->first);
    if (s->first < s->end && n != s->n_also)
        return ig_fail(IG_ERR_ARGUMENT, "shards_step: %d sums are asked for, but shards had %d", n,
                       s->n_also);
    return IG_OK;
}

static ig_status finish(ig_optimizer *o, ig_model *m, double *value, double *sums, int n)
{
    shards *s = o->shards;
    exchange x = {0};
    renewal w = {.o = o, .m = m, .s = s};
    ig_status status = shards_ready(s, m);
    if (status == IG_OK)
        status = vector_agree(s, m);
    if (status == IG_OK)
        status = split_state(o, s);
    if (status == IG_OK)
        status = exchange_sum(s, &x);
    if (status == IG_OK)
        status = sum_numbers(s, value, sums, n);
    char *sum = x.n ? x.node[0].sum : NULL;
    if (status == IG_OK && o->max_norm > 0)
        status = clip(s, o->max_norm, sum);
    if (status == IG_OK)
        status = renewal_begin(&w);
    if (status == IG_OK)
        status = renew_all(&w, sum);
    exchange_free(&x); /* the sums are in arrays now */
    if (status == IG_OK && s->ranks > 1)
        status = gather_whole(&w);
    if (status == IG_OK && m->is_divided)
        status = renew_divided(&w);
    if (status == IG_OK)
        renewal_commit(&w);
    renewal_end(&w);
    return status;
}

ig_status ig_shards_step(ig_optimizer *o, ig_model *m, double *value, double *sums, int n)
{
    ig_status status = finish_check(o, m, sums, n);
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        const bool kept = ig_keep_history(false);
        status = finish(o, m, value, sums, n);
        ig_keep_history(kept);
        ig_scope_end();
    }
    return shards_end(o, m, status);
}

/* ---- saving ---- */

bool shards_in_team(const ig_optimizer *o) { return o->shards && o->shards->ranks > 1; }

ig_status shards_collect(const ig_optimizer *o, const ig_model *m, slot_list **whole)
{
    const shards *s = o->shards;
    const size_t n = (size_t)o->n * (size_t)o->slots;
    slot_list *list = calloc((size_t)o->n + 1, sizeof *list);
    ig_array **x = calloc(n + 1, sizeof(ig_array *));
    ig_part *part = calloc(n + 1, sizeof *part);
    int64_t *cut = divided_cuts(s);
    ig_status status =
        list && x && part && cut ? IG_OK : ig_fail(IG_ERR_MEMORY, "model_save: no memory");
    for (int i = 0, j = 0; i < o->n && status == IG_OK; i++)
        for (int k = 0; k < o->slots; k++, j++)
            part[j] = (ig_part){o->state[i][k], ig_shape(m->param.at[i].value), s->at[i].fine_dtype,
                                cut + (size_t)i * ((size_t)s->ranks + 1)};
    if (status == IG_OK)
        status = ig_team_join(part, (int)n, x);
    for (int i = 0, j = 0; i < o->n && x && list; i++)
        for (int k = 0; k < o->slots; k++, j++)
            list[i][k] = x[j];
    free(x);
    free(part);
    free(cut);
    if (status != IG_OK) {
        slots_free(list, o->n, o->slots);
        list = NULL;
    }
    *whole = list;
    return status;
}
