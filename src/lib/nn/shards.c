/* Data-parallel steps: ig_shards_begin, ig_shards_add for each own shard, ig_shards_step. shards.h describes the order
 * of the sums. Model and optimizer change only after the new values have arrived from all ranks. */
#include "lib/nn/shards.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

char *shards_room(shards *s)
{
    if (s->n_spare)
        return s->spare[--s->n_spare];
    const uint64_t bytes = s->at[s->n].fine;
    char *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        ig_fail(IG_ERR_MEMORY, "shards: no memory for gradients of %llu bytes",
                (unsigned long long)bytes);
    return memory;
}

void shards_room_return(shards *s, char *memory)
{
    if (s->n_spare < NODES_MAX)
        s->spare[s->n_spare++] = memory;
    else
        free(memory);
}

static void drop_spare(shards *s)
{
    while (s->n_spare)
        free(s->spare[--s->n_spare]);
}

void shards_free(shards *s)
{
    if (!s)
        return;
    while (s->n_node)
        shards_room_return(s, s->node[--s->n_node].sum);
    drop_spare(s);
    vector_free(s);
    free(s->number);
    free(s);
}

void slots_free(slot_list *list, int n, int slots)
{
    for (int i = 0; list && i < n; i++)
        for (int k = 0; k < slots; k++)
            ig_release(list[i][k]);
    free(list);
}

ig_status shards_end(ig_optimizer *o, ig_model *m, ig_status status)
{
    shards *s = o ? o->shards : NULL;
    if (m) {
        m->shard = 0;
        model_step_end(m, false);
    }
    if (s) {
        while (s->n_node)
            shards_room_return(s, s->node[--s->n_node].sum);
        if (o->divides) /* memory is short */
            drop_spare(s);
        s->is_open = false;
    }
    if (status != IG_OK && team_is_on())
        team_fail(NULL);
    return status;
}

/* ---- begin ---- */

/* True if the places still describe the model. */
static bool vector_fits(const shards *s, const ig_model *m)
{
    return s->at && s->model == m->id && s->n_param == m->param.n &&
           s->n == m->param.n + m->state.n;
}

ig_status shards_ready(shards *s, const ig_model *m)
{
    if (vector_fits(s, m))
        return IG_OK;
    if (s->n_node)
        return ig_fail(IG_ERR_ARGUMENT, "shards: the shards of a step have different parameters; "
                                        "call the same layers for each");
    drop_spare(s);
    const int n_param = m->param.n, n = n_param + m->state.n;
    ig_array **list = malloc((size_t)n * sizeof(ig_array *));
    for (int i = 0; i < n && list; i++)
        list[i] = i < n_param ? m->param.at[i].value : m->state.at[i - n_param].value;
    const ig_status status =
        list ? vector_fill(s, list, n, n_param)
             : ig_fail(IG_ERR_MEMORY, "shards: no memory for a list of %d arrays", n);
    free(list);
    s->model = m->id;
    return status;
}

static ig_status begin_check(const ig_optimizer *o, const ig_model *m, int count, const int *first,
                             const int *end)
{
    if (!o || !m || !first || !end)
        return ig_fail(IG_ERR_ARGUMENT, "shards_begin: %s is NULL",
                       !o   ? "the optimizer"
                       : !m ? "the model"
                            : "a result");
    if (ig_failed())
        return error_code();
    if (count < 1 || count > SHARDS_MAX)
        return ig_fail(IG_ERR_ARGUMENT, "shards_begin: %d shards; give 1 to %d", count, SHARDS_MAX);
    return IG_OK;
}

ig_status ig_shards_begin(ig_optimizer *o, ig_model *m, int count, int *first, int *end)
{
    ig_status status = begin_check(o, m, count, first, end);
    if (status == IG_OK && !o->shards && !(o->shards = calloc(1, sizeof *o->shards)))
        status = ig_fail(IG_ERR_MEMORY, "shards_begin: no memory");
    if (status != IG_OK)
        return shards_end(o, m, status);
    shards_end(o, m, IG_OK); /* drops a step that was not finished */
    shards *s = o->shards;
    s->rank = ig_team_rank();
    if (s->ranks != ig_team_size()) {
        vector_free(s);
        s->ranks = ig_team_size();
    }
    s->count = count;
    shards_of_rank(count, s->ranks, s->rank, &s->first, &s->end);
    s->next = s->first;
    s->n_also = 0;
    s->is_open = true;
    if (o->divides && (status = divided_begin(s, m)) != IG_OK)
        return shards_end(o, m, status);
    m->shard = s->first;
    *first = s->first;
    *end = s->end;
    return IG_OK;
}

/* ---- add: the vector of one shard ---- */

static ig_array *weighted(ig_array *x, ig_dtype fine, double weight)
{
    return ig_multiply(ig_astype(x, fine), ig_scalar(weight, fine));
}

/* Builds the vector's entries; NULL for a state that does not change. */
static ig_status build_entries(const shards *s, const ig_model *m, ig_array *loss, double weight,
                               ig_array **term)
{
    ig_array **param = malloc((size_t)s->n_param * sizeof(ig_array *));
    if (!param)
        return ig_fail(IG_ERR_MEMORY, "shards_add: no memory for a list of %d arrays", s->n_param);
    for (int i = 0; i < s->n_param; i++)
        param[i] = m->param.at[i].value;
    ig_status status = step_gradients(m, loss, param, term);
    free(param);
    for (int i = 0; i < s->n && status == IG_OK; i++) {
        const ig_dtype fine = s->at[i].fine_dtype;
        ig_array *x = term[i];
        if (i >= s->n_param) {
            const entry *e = &m->state.at[i - s->n_param];
            term[i] = NULL;
            if (!e->next)
                continue;
            x = ig_subtract(ig_astype(e->next, fine), ig_astype(e->value, fine));
        }
        term[i] = weighted(x, fine, weight);
        if (!term[i])
            status = error_code();
    }
    return status;
}

/* Evaluates the entries, the loss and the caller's scalars together. */
static ig_status eval_entries(ig_array **term, int n, ig_array *loss, ig_array *const *also,
                              int n_also)
{
    ig_array **list = malloc(((size_t)n + (size_t)n_also + 1) * sizeof(ig_array *));
    if (!list)
        return ig_fail(IG_ERR_MEMORY, "shards_add: no memory for a list of %d arrays", n);
    int used = 0;
    for (int i = 0; i < n; i++)
        if (term[i])
            list[used++] = term[i];
    list[used++] = loss;
    for (int i = 0; i < n_also; i++)
        list[used++] = also[i];
    const ig_status status = ig_eval(list, used);
    free(list);
    return status;
}

/* Copies the terms to the vector, or adds them. */
static ig_status read_entries(const shards *s, ig_array **term, char *vector, bool adds)
{
    for (int i = 0; i < s->n; i++) {
        const place *p = &s->at[i];
        const size_t bytes = (size_t)p->size * ig_dtype_bytes(p->fine_dtype);
        const void *data = term[i] ? ig_data(term[i]) : NULL;
        if (term[i] && !data)
            return error_code();
        if (data && adds)
            vector_add_entry(p, vector + p->fine, data, p->size);
        else if (data)
            memcpy(vector + p->fine, data, bytes);
        else if (!adds)
            memset(vector + p->fine, 0, bytes);
    }
    return IG_OK;
}

static ig_status read_numbers(shards *s, ig_array *loss, double weight, ig_array *const *also)
{
    const size_t stride = 1 + (size_t)s->n_also, size = stride * (size_t)s->count;
    if (size > s->number_room) {
        double *number = realloc(s->number, size * sizeof *number);
        if (!number)
            return ig_fail(IG_ERR_MEMORY, "shards_add: no memory for %zu numbers", size);
        s->number = number;
        s->number_room = size;
    }
    double *row = s->number + stride * (size_t)s->next;
    row[0] = weight * ig_item(loss);
    for (int i = 0; i < s->n_also; i++)
        row[1 + i] = ig_item(also[i]);
    return ig_failed() ? error_code() : IG_OK;
}

void shards_merge(shards *s, node *list, int *n, int rank)
{
    for (; nodes_are_halves(list, *n, s->count); --*n) {
        vector_add(s, rank, list[*n - 2].sum, list[*n - 1].sum);
        list[*n - 2].hi = list[*n - 1].hi;
        if (rank < 0)
            shards_room_return(s, list[*n - 1].sum);
    }
}

/* Makes a node of evaluated terms. If the last node is its sibling, they are added to its vector, not to a new one. */
ig_status shards_push(shards *s, ig_array **term)
{
    node *const list = s->node;
    const int n = s->n_node;
    list[n] = (node){.lo = s->next, .hi = s->next + 1};
    const bool adds = nodes_are_halves(list, n + 1, s->count);
    char *vector = adds ? list[n - 1].sum : shards_room(s);
    const ig_status status = vector ? read_entries(s, term, vector, adds) : error_code();
    if (adds) {
        list[n - 1].hi = list[n].hi; /* a step that failed is dropped */
    } else if (vector) {
        list[n].sum = vector;
        s->n_node++;
    }
    if (status == IG_OK)
        shards_merge(s, list, &s->n_node, -1);
    return status;
}

/* The scope of the terms ends before they are evaluated. In an inner scope, the evaluation would keep what the loss is computed
 * from, which belongs to the caller's scope. */
static ig_status add_shard(shards *s, const ig_model *m, ig_array *loss, double weight,
                           ig_array *const *also)
{
    ig_array **term = calloc((size_t)s->n, sizeof(ig_array *));
    ig_status status = term ? ig_scope_begin()
                            : ig_fail(IG_ERR_MEMORY, "shards_add: no memory for %d arrays", s->n);
    bool built = false;
    if (status == IG_OK) {
        status = build_entries(s, m, loss, weight, term);
        built = status == IG_OK;
        for (int i = 0; i < s->n && built; i++)
            ig_retain(term[i]);
        ig_scope_end();
    }
    if (status == IG_OK)
        status = eval_entries(term, s->n, loss, also, s->n_also);
    if (status == IG_OK)
        status = read_numbers(s, loss, weight, also);
    if (status == IG_OK)
        status = shards_push(s, term);
    for (int i = 0; i < s->n && built; i++)
        ig_release(term[i]);
    free(term);
    return status;
}

static ig_status add_check(const ig_optimizer *o, const ig_model *m, const ig_array *loss,
                           double weight, ig_array *const *also, int n)
{
    const ig_status status = step_check(o, m, loss, also, n);
    if (status != IG_OK)
        return status;
    const shards *s = o->shards;
    if (!s || !s->is_open)
        return ig_fail(IG_ERR_ARGUMENT, "shards_add: call ig_shards_begin first");
    if (s->next == s->end)
        return ig_fail(IG_ERR_ARGUMENT,
                       "shards_add: all %d shards of this rank were added; call ig_shards_step",
                       s->end - s->first);
    if (!isfinite(weight))
        return ig_fail(IG_ERR_ARGUMENT, "shards_add: the weight is %g; give a finite number",
                       weight);
    if (s->next > s->first && n != s->n_also)
        return ig_fail(IG_ERR_ARGUMENT, "shards_add: %d further arrays, but the first shard had %d",
                       n, s->n_also);
    return IG_OK;
}

ig_status ig_shards_add(ig_optimizer *o, ig_model *m, ig_array *loss, double weight,
                        ig_array *const *also, int n)
{
    ig_status status = add_check(o, m, loss, weight, also, n);
    if (status == IG_OK) {
        shards *s = o->shards;
        const bool kept = ig_keep_history(false); /* parameters are constants */
        s->n_also = n;
        status = shards_ready(s, m);
        if (status == IG_OK)
            status = add_shard(s, m, loss, weight, also);
        ig_keep_history(kept);
    }
    if (status != IG_OK)
        return shards_end(o, m, status);
    model_step_end(m, false);
    m->shard = ++o->shards->next;
    return IG_OK;
}
