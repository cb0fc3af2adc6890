/* Optimizers and the training step: gradients, the update rule of each parameter, one evaluation. Model and
 * optimizer change only after the evaluation has succeeded. */
#include "lib/nn/optimizer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- constructors ---- */

/* Checks that a setting is in [0, below). */
static bool within(const rule *r, const char *what, double value, double below)
{
    const bool good = value >= 0 && value < below;
    if (!good && isinf(below))
        ig_fail(IG_ERR_ARGUMENT, "%s: %s is %g; give a finite number of at least 0", r->kind, what,
                value);
    else if (!good)
        ig_fail(IG_ERR_ARGUMENT, "%s: %s is %g; give at least 0 and less than %g", r->kind, what,
                value, below);
    return good;
}

static ig_optimizer *made(ig_optimizer settings)
{
    const rule *r = settings.rule;
    const char *one = r == &rule_sgd || r == &rule_rmsprop ? "momentum" : "beta1";
    if (!within(r, "lr", settings.lr, INFINITY) || !within(r, one, settings.beta1, 1) ||
        !within(r, r == &rule_rmsprop ? "alpha" : "beta2", settings.beta2, 1) ||
        !within(r, "eps", settings.eps, INFINITY) ||
        !within(r, "weight_decay", settings.decay, INFINITY))
        return NULL;
    ig_optimizer *o = malloc(sizeof *o);
    if (!o) {
        ig_fail(IG_ERR_MEMORY, "%s: no memory for an optimizer", r->kind);
        return NULL;
    }
    *o = settings;
    return o;
}

ig_optimizer *ig_sgd(double lr, double momentum, bool nesterov, double weight_decay)
{
    if (nesterov && !(momentum > 0)) {
        ig_fail(IG_ERR_ARGUMENT, "sgd: nesterov needs momentum; give one above 0, say 0.9");
        return NULL;
    }
    return made((ig_optimizer){.rule = &rule_sgd,
                               .lr = lr,
                               .beta1 = momentum,
                               .nesterov = nesterov,
                               .decay = weight_decay,
                               .slots = momentum != 0});
}

ig_optimizer *ig_adam(double lr, double beta1, double beta2, double eps)
{
    return made((ig_optimizer){
        .rule = &rule_adam, .lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .slots = 2});
}

ig_optimizer *ig_adamw(double lr, double beta1, double beta2, double eps, double weight_decay)
{
    return made((ig_optimizer){.rule = &rule_adamw,
                               .lr = lr,
                               .beta1 = beta1,
                               .beta2 = beta2,
                               .eps = eps,
                               .decay = weight_decay,
                               .slots = 2});
}

ig_optimizer *ig_rmsprop(double lr, double alpha, double eps, double momentum)
{
    return made((ig_optimizer){.rule = &rule_rmsprop,
                               .lr = lr,
                               .beta1 = momentum,
                               .beta2 = alpha,
                               .eps = eps,
                               .slots = 1 + (momentum != 0)});
}

ig_optimizer *ig_lion(double lr, double beta1, double beta2, double weight_decay)
{
    return made((ig_optimizer){.rule = &rule_lion,
                               .lr = lr,
                               .beta1 = beta1,
                               .beta2 = beta2,
                               .decay = weight_decay,
                               .slots = 1});
}

void optimizer_clear(ig_optimizer *o)
{
    for (int i = 0; i < o->n; i++)
        for (int k = 0; k < o->slots; k++)
            ig_release(o->state[i][k]);
    free(o->state);
    o->state = NULL;
    o->owner = 0;
    o->n = 0;
    o->is_split = false;
}

void ig_optimizer_free(ig_optimizer *o)
{
    if (!o)
        return;
    optimizer_clear(o);
    for (int i = 0; i < NUMBERS_MAX; i++) {
        ig_release(o->number[0].array[i]);
        ig_release(o->number[1].array[i]);
    }
    accumulate_drop(o);
    shards_free(o->shards);
    free(o->room);
    free(o);
}

ig_status ig_optimizer_clip(ig_optimizer *o, double max_norm)
{
    if (!o || !(max_norm >= 0))
        return ig_fail(IG_ERR_ARGUMENT, "optimizer_clip: %s",
                       o ? "a norm cannot be negative; give 0 (never) or more"
                         : "the optimizer is NULL");
    o->max_norm = isinf(max_norm) ? 0 : max_norm;
    return IG_OK;
}

ig_status ig_optimizer_decay_ndim(ig_optimizer *o, int ndim)
{
    if (!o || ndim < 0)
        return ig_fail(IG_ERR_ARGUMENT, "optimizer_decay_ndim: %s",
                       o ? "a number of axes cannot be negative" : "the optimizer is NULL");
    o->decay_ndim = ndim;
    return IG_OK;
}

int64_t ig_optimizer_steps(const ig_optimizer *o) { return o ? o->steps : 0; }

/* ---- one step ---- */

/* Lists of arrays, all in the optimizer's room. out is evaluated. It holds the new value and new state of each
 * parameter, n_made arrays that the step owns until it commits; then new states of the model, the loss, and the
 * caller's arrays. donated lists the old arrays that they replace. */
typedef struct step {
    ig_optimizer *o;
    ig_model *m;
    ig_array *loss;
    ig_array **param, **grad, **out, **donated;
    int n, n_out, n_made, n_donated;
    double value[NUMBERS_MAX];
} step;

ig_status step_pair_check(const ig_optimizer *o, const ig_model *m)
{
    if (m->param.n == 0)
        return ig_fail(IG_ERR_ARGUMENT,
                       "step: the model has no parameters; call its layers before the first step");
    if (o->owner && o->owner != m->id)
        return ig_fail(IG_ERR_ARGUMENT, "step: this optimizer holds the state of another model; "
                                        "make one for each model");
    if (o->owner && o->n != m->param.n)
        return ig_fail(IG_ERR_ARGUMENT,
                       "step: the model has %d parameters, but had %d at this optimizer's first "
                       "step; call all layers before it, or make a new optimizer",
                       m->param.n, o->n);
    return IG_OK;
}

ig_status step_check(const ig_optimizer *o, const ig_model *m, const ig_array *loss,
                     ig_array *const *also, int n)
{
    if (!o || !m || !loss || (n && !also))
        return ig_failed() ? error_code()
                           : ig_fail(IG_ERR_ARGUMENT, "step: %s is NULL",
                                     !o      ? "the optimizer"
                                     : !m    ? "the model"
                                     : !loss ? "the loss"
                                             : "the list of further arrays");
    if (n < 0)
        return ig_fail(IG_ERR_ARGUMENT, "step: %d further arrays; a count cannot be negative", n);
    if (ig_failed())
        return error_code();
    return step_pair_check(o, m);
}

/* Makes room for the lists, and creates the first state. */
static ig_status step_begin(step *s, int n_also)
{
    ig_optimizer *o = s->o;
    const size_t n = (size_t)s->n, values = n * (size_t)(1 + o->slots),
                 state = (size_t)s->m->state.n;
    const size_t donated = values + state + n; /* n: sums of gradients */
    const size_t size = 2 * n + donated + values + state + 1 + (size_t)n_also;
    if (!o->owner) {
        optimizer_clear(o);
        o->state = calloc(n, sizeof *o->state);
        if (!o->state)
            return ig_fail(IG_ERR_MEMORY, "step: no memory for the state of %d parameters", s->n);
    }
    if (size > o->room_size) {
        ig_array **room = realloc(o->room, size * sizeof *room);
        if (!room)
            return ig_fail(IG_ERR_MEMORY, "step: no memory for lists of %zu arrays", size);
        o->room = room;
        o->room_size = size;
    }
    s->param = o->room;
    s->grad = s->param + n;
    s->donated = s->grad + n;
    s->out = s->donated + donated;
    for (int i = 0; i < s->n; i++)
        s->param[i] = s->donated[s->n_donated++] = s->m->param.at[i].value;
    return IG_OK;
}

/* Finds and names the parameter whose gradient failed. */
static ig_status grad_failed(const ig_model *m, ig_array *loss, ig_array *const *param)
{
    ig_status code;
    const char *why = ig_error(&code);
    for (int i = 0; i < m->param.n; i++) {
        ig_array *alone;
        if (ig_grad(loss, &param[i], 1, &alone) == IG_OK)
            continue;
        why = ig_error(&code);
        return ig_fail(code, "step: '%s': %s", m->param.at[i].name, why ? why : "no gradient");
    }
    return ig_fail(code, "step: %s", why ? why : "no gradient");
}

ig_status step_gradients(const ig_model *m, ig_array *loss, ig_array *const *param, ig_array **grad)
{
    if (ig_grad(loss, param, m->param.n, grad) != IG_OK)
        return grad_failed(m, loss, param);
    return IG_OK;
}

/* Scales all gradients by max_norm / max(norm, max_norm). */
static ig_status clip(step *s)
{
    ig_array *sum = NULL, *const most = ig_scalar(s->o->max_norm, IG_F32);
    for (int i = 0; i < s->n; i++) {
        const ig_dtype fine = ig_dtype_of(s->grad[i]) == IG_F64 ? IG_F64 : IG_F32;
        ig_array *own = ig_sum(ig_square(ig_astype(s->grad[i], fine)), IG_NONE, fine, false);
        sum = i ? ig_add(sum, own) : own;
    }
    ig_array *scale = ig_divide(most, ig_maximum(ig_sqrt(sum), most));
    for (int i = 0; i < s->n; i++) {
        const ig_dtype fine = ig_dtype_of(s->grad[i]) == IG_F64 ? IG_F64 : IG_F32;
        s->grad[i] = ig_multiply(ig_astype(s->grad[i], fine), ig_astype(scale, fine));
        if (!s->grad[i])
            return error_code();
    }
    return IG_OK;
}

/* The step's numbers as scalars, NULL on failure. A number that has not changed since the last step keeps
 * its scalar. */
static ig_array *const *numbers_in(ig_optimizer *o, const double *value, ig_dtype dtype)
{
    numbers *const own = &o->number[dtype == IG_F64];
    for (int i = 0; i < o->rule->n_numbers; i++) {
        if (own->array[i] && own->value[i] == value[i])
            continue;
        ig_release(own->array[i]);
        own->array[i] = ig_scope_forget(ig_scalar(value[i], dtype));
        own->value[i] = value[i];
        if (!own->array[i])
            return NULL;
    }
    return own->array;
}

ig_status optimizer_update(ig_optimizer *o, const double *value, int ndim, ig_array *p, ig_array *g,
                           ig_array *const *state, ig_array **out)
{
    const ig_dtype own = ig_dtype_of(p), fine = own == IG_F64 ? IG_F64 : IG_F32;
    ig_array *old[SLOTS_MAX];
    for (int k = 0; k < o->slots; k++) {
        out[1 + k] = NULL;
        old[k] = state ? state[k] : ig_zeros(ig_shape(p), fine);
    }
    if (own != fine) {
        p = ig_astype(p, fine);
        g = ig_astype(g, fine);
    }
    ig_array *const *number = numbers_in(o, value, fine);
    ig_optimizer settings = *o;
    if (ndim < o->decay_ndim)
        settings.decay = 0;
    out[0] = number ? o->rule->update(&settings, number, p, g, old, out + 1) : NULL;
    if (own != fine)
        out[0] = ig_astype(out[0], own);
    if (!out[0])
        return error_code();
    for (int k = 0; k <= o->slots; k++)
        ig_scope_forget(out[k]);
    return IG_OK;
}

/* Appends the new value and state of parameter i to out. */
static ig_status update(step *s, int i)
{
    ig_optimizer *o = s->o;
    for (int k = 0; k < o->slots && o->owner; k++)
        s->donated[s->n_donated++] = o->state[i][k];
    const ig_status status =
        optimizer_update(o, s->value, ig_ndim(s->param[i]), s->param[i], s->grad[i],
                         o->owner ? o->state[i] : NULL, s->out + s->n_out);
    if (status == IG_OK)
        s->n_made = s->n_out += 1 + o->slots;
    return status;
}

static ig_status step_build(step *s)
{
    ig_status status = step_gradients(s->m, s->loss, s->param, s->grad);
    if (status == IG_OK)
        status = accumulate_join(s->o, s->grad, s->n);
    for (int i = 0; i < s->o->n_sum; i++)
        s->donated[s->n_donated++] = s->o->sum[i];
    if (status == IG_OK && s->o->max_norm > 0)
        status = clip(s);
    s->o->rule->numbers(s->o, schedule_rate(s->o, s->o->steps), s->value);
    for (int i = 0; i < s->n && status == IG_OK; i++)
        status = update(s, i);
    return status;
}

/* Evaluates the lists; donated arrays may be overwritten. explained (may be NULL) receives the schedule instead. */
static ig_status step_eval(step *s, ig_array *const *also, int n_also, char **explained)
{
    for (int i = 0; i < s->m->state.n; i++)
        if (s->m->state.at[i].next) {
            s->out[s->n_out++] = s->m->state.at[i].next;
            s->donated[s->n_donated++] = s->m->state.at[i].value;
        }
    s->out[s->n_out++] = s->loss;
    for (int i = 0; i < n_also; i++)
        s->out[s->n_out++] = also[i];
    if (!explained)
        return ig_eval_donating(s->out, s->n_out, s->donated, s->n_donated);
    *explained = ig_explain_donating(s->out, s->n_out, s->donated, s->n_donated);
    return *explained ? IG_OK : error_code();
}

/* Replaces the old arrays by the new ones. */
static void step_commit(step *s)
{
    ig_optimizer *o = s->o;
    ig_array **from = s->out;
    for (int i = 0; i < s->n; i++) {
        ig_release(s->m->param.at[i].value);
        s->m->param.at[i].value = *from++;
        for (int k = 0; k < o->slots; k++) {
            ig_release(o->state[i][k]);
            o->state[i][k] = *from++;
        }
    }
    o->owner = s->m->id;
    o->n = s->n;
    o->steps++;
}

static ig_status step_run(step *s, ig_array *const *also, int n_also, char **explained)
{
    ig_status status = step_begin(s, n_also);
    if (status == IG_OK)
        status = step_build(s);
    if (status == IG_OK)
        status = step_eval(s, also, n_also, explained);
    if (status == IG_OK && !explained)
        step_commit(s);
    else
        for (int i = 0; i < s->n_made; i++)
            ig_release(s->out[i]);
    return status;
}

static ig_status step_make(ig_optimizer *o, ig_model *m, ig_array *loss, ig_array *const *also,
                           int n, char **explained)
{
    ig_status status = step_check(o, m, loss, also, n);
    if (status == IG_OK && (o->is_split || m->is_divided))
        status = ig_fail(IG_ERR_ARGUMENT,
                         "step: the ranks have divided %s; go on with "
                         "ig_shards_step",
                         o->is_split ? "this optimizer's state" : "this model");
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        step s = {.o = o, .m = m, .loss = loss, .n = m->param.n};
        const bool kept = ig_keep_history(false); /* parameters are constants */
        status = step_run(&s, also, n, explained);
        ig_keep_history(kept);
        ig_scope_end();
    }
    return status;
}

ig_status ig_step(ig_optimizer *o, ig_model *m, ig_array *loss, double *value,
                  ig_array *const *also, int n)
{
    ig_status status = step_make(o, m, loss, also, n, NULL);
    if (o)
        accumulate_drop(o);
    if (m)
        model_step_end(m, status == IG_OK);
    if (status == IG_OK && value) {
        *value = ig_item(loss);
        status = ig_failed() ? error_code() : IG_OK;
    }
    return status;
}

char *ig_step_explain(ig_optimizer *o, ig_model *m, ig_array *loss, ig_array *const *also, int n)
{
    char *explained = NULL;
    step_make(o, m, loss, also, n, &explained);
    if (m)
        model_step_end(m, false);
    return explained;
}
