/* ig_step_add: gradients of several losses are added up on the device, before one step uses their sum. */
#include "lib/nn/optimizer.h"
#include <stdlib.h>

void accumulate_drop(ig_optimizer *o)
{
    for (int i = 0; i < o->n_sum; i++)
        ig_release(o->sum[i]);
    free(o->sum);
    o->sum = NULL;
    o->n_sum = 0;
}

ig_status accumulate_join(const ig_optimizer *o, ig_array **grad, int n)
{
    if (!o->sum)
        return IG_OK;
    if (o->n_sum != n)
        return ig_fail(
            IG_ERR_ARGUMENT,
            "step: the model has %d parameters, but had %d at ig_step_add; call the same "
            "layers for each loss",
            n, o->n_sum);
    for (int i = 0; i < n; i++)
        if (!(grad[i] = ig_add(o->sum[i], ig_astype(grad[i], ig_dtype_of(o->sum[i])))))
            return error_code();
    return IG_OK;
}

/* Lists of arrays: gradients, which become the sums; with them state of the model, the loss and the caller's arrays
 * are evaluated. */
typedef struct addition {
    ig_array **grad, **param, **out;
    int n, n_out;
} addition;

static ig_status addition_build(addition *a, const ig_optimizer *o, ig_model *m, ig_array *loss)
{
    for (int i = 0; i < a->n; i++)
        a->param[i] = m->param.at[i].value;
    ig_status status = step_gradients(m, loss, a->param, a->grad);
    for (int i = 0; i < a->n && status == IG_OK; i++) {
        const ig_dtype fine = ig_dtype_of(a->param[i]) == IG_F64 ? IG_F64 : IG_F32;
        ig_array *g = ig_astype(a->grad[i], fine);
        /* The first sum needs memory of its own, as in model_own: a gradient may be an array of the caller. */
        if (!(a->grad[i] = o->sum ? g : ig_multiply(g, ig_float(1))))
            status = error_code();
    }
    return status == IG_OK ? accumulate_join(o, a->grad, a->n) : status;
}

/* Lists what is evaluated, and takes references to it. */
static void addition_list(addition *a, const ig_model *m, ig_array *loss, ig_array *const *also,
                          int n_also)
{
    for (int i = 0; i < a->n; i++)
        a->out[a->n_out++] = a->grad[i];
    for (int i = 0; i < m->state.n; i++)
        if (m->state.at[i].next)
            a->out[a->n_out++] = m->state.at[i].next;
    a->out[a->n_out++] = loss;
    for (int i = 0; i < n_also; i++)
        a->out[a->n_out++] = also[i];
    for (int i = 0; i < a->n_out; i++)
        ig_retain(a->out[i]);
}

/* Takes the new sums. */
static void addition_keep(const addition *a, ig_optimizer *o, ig_array **sum)
{
    for (int i = 0; i < a->n; i++)
        sum[i] = ig_retain(a->grad[i]);
    accumulate_drop(o);
    o->sum = sum;
    o->n_sum = a->n;
}

/* The scope of the gradients ends before they are evaluated. In an inner scope, the evaluation would keep what the loss is computed
 * from, which belongs to the caller's scope. */
static ig_status add(ig_optimizer *o, ig_model *m, ig_array *loss, ig_array *const *also,
                     int n_also)
{
    const size_t n = (size_t)m->param.n, all = 3 * n + (size_t)m->state.n + 1 + (size_t)n_also;
    ig_array **room = malloc(all * sizeof(ig_array *)), **sum = malloc(n * sizeof(ig_array *));
    addition a = {.grad = room, .param = room + n, .out = room + 2 * n, .n = (int)n};
    ig_status status =
        room && sum ? ig_scope_begin() : ig_fail(IG_ERR_MEMORY, "step_add: no memory for lists");
    if (status == IG_OK) {
        status = addition_build(&a, o, m, loss);
        if (status == IG_OK)
            addition_list(&a, m, loss, also, n_also);
        ig_scope_end();
    }
    if (status == IG_OK)
        status = ig_eval_donating(a.out, a.n_out, o->sum, o->n_sum);
    if (status == IG_OK)
        addition_keep(&a, o, sum);
    else
        free(sum);
    for (int i = 0; i < a.n_out; i++)
        ig_release(a.out[i]);
    free(room);
    return status;
}

ig_status ig_step_add(ig_optimizer *o, ig_model *m, ig_array *loss, double *value,
                      ig_array *const *also, int n)
{
    ig_status status = step_check(o, m, loss, also, n);
    if (status == IG_OK && (o->is_split || m->is_divided))
        status = ig_fail(IG_ERR_ARGUMENT, "step_add: the ranks have divided %s; use ig_shards_add",
                         o->is_split ? "this optimizer's state" : "this model");
    if (status == IG_OK) {
        const bool kept = ig_keep_history(false); /* parameters are constants */
        status = add(o, m, loss, also, n);
        ig_keep_history(kept);
    }
    if (status == IG_OK && value) {
        *value = ig_item(loss);
        status = ig_failed() ? error_code() : IG_OK;
    }
    if (status != IG_OK && o)
        accumulate_drop(o);
    if (status != IG_OK && m)
        model_step_end(m, false);
    return status;
}
