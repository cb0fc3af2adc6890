/* Plans: a model compiled for inputs of known shapes and dtypes (ig_compile), so that a run builds no graph.
 *
 * The graph of a plan is built on placeholders, which have no elements. An op that reads elements of a value that depends
 * on them fails, so a graph whose form depends on the content of the inputs never becomes a plan.
 */
#include "lib/onnx/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { PLANS = 8 };

typedef struct plan {
    uint64_t used; /* 0: free; else the time of its last use */
    char device[RUN_DEVICE];
    ig_math math;
    ig_compiled *compiled; /* NULL: the graph depends on the content of the inputs */
    struct plan_input {
        bool given;
        ig_onnx_type type;
        int ndim;
        int64_t dims[IG_MAX_NDIM];
    } * inputs;
    ig_onnx_type *types; /* of outputs */
} plan;

typedef struct plans {
    plan list[PLANS];
    uint64_t clock;
} plans;

static void plan_clear(plan *p)
{
    ig_compiled_free(p->compiled);
    memory_free(p->inputs);
    memory_free(p->types);
    *p = (plan){0};
}

static void plans_free(void *all)
{
    plans *p = all;
    if (!p)
        return;
    for (int i = 0; i < PLANS; i++)
        plan_clear(&p->list[i]);
    memory_free(p);
}

void plans_drop(ig_onnx *m)
{
    if (m->plans)
        plans_free(m->plans);
    m->plans = NULL;
}

/* True if all inputs are tensors. */
static bool plan_can(const ig_onnx *m, ig_onnx_value *const *inputs)
{
    for (int i = 0; i < m->model.graph.n_given; i++)
        if (inputs[i] && inputs[i]->kind != IG_ONNX_TENSOR)
            return false;
    return true;
}

/* ---- finding -------------------------------------------------------------------------------- */

static struct plan_input input_of(const ig_onnx_value *v)
{
    struct plan_input in = {.given = v != NULL};
    if (!v)
        return in;
    const ig_ints shape = ig_shape(v->array);
    in.type = v->type;
    in.ndim = shape.n;
    for (int i = 0; i < shape.n; i++)
        in.dims[i] = shape.v[i];
    return in;
}

static bool plan_fits(const plan *p, int n, ig_onnx_value *const *inputs)
{
    if (!p->used || p->math != ig_math_mode() || strcmp(p->device, ig_device()) != 0)
        return false;
    for (int i = 0; i < n; i++) {
        const struct plan_input in = input_of(inputs[i]), *own = &p->inputs[i];
        if (in.given != own->given || in.type != own->type || in.ndim != own->ndim ||
            memcmp(in.dims, own->dims, sizeof in.dims) != 0)
            return false;
    }
    return true;
}

/* ---- making --------------------------------------------------------------------------------- */

/* The outputs as arrays, each of which becomes an output of the computation. If explained is not NULL, it gets the
 * description of the computation, which is not made. */
static bool outputs_compile(plan *p, ig_array *const *in, int n_in, ig_onnx_value *const *values,
                            int n, char **explained)
{
    ig_array **list = memory_new((size_t)(n + 1) * sizeof *list);
    bool fine = list != NULL;
    for (int i = 0; i < n && fine; i++) {
        fine = values[i]->kind == IG_ONNX_TENSOR;
        p->types[i] = values[i]->type;
        list[i] = values[i]->array;
        values[i]->varies = false;
    }
    if (fine && explained)
        *explained = ig_compile_explain(in, n_in, 0, list, n);
    else if (fine)
        p->compiled = ig_compile(in, n_in, 0, list, n);
    memory_free(list);
    return fine && (explained ? *explained != NULL : p->compiled != NULL);
}

/* Builds the graph on placeholders, and compiles or explains it. */
static bool plan_build(plan *p, ig_onnx *m, ig_onnx_value *const *inputs, char **explained)
{
    const int n = m->model.graph.n_given, n_out = m->model.graph.n_outputs;
    ig_onnx_value **stand = memory_new((size_t)(n + 1) * sizeof *stand);
    ig_onnx_value **outputs = memory_new((size_t)(n_out + 1) * sizeof *outputs);
    ig_array **in = memory_new((size_t)(n + 1) * sizeof *in);
    bool fine = stand && outputs && in;
    int given = 0;
    for (int i = 0; i < n && fine; i++)
        if (inputs[i]) {
            in[given] = ig_placeholder(ig_shape(inputs[i]->array), ig_dtype_of(inputs[i]->array));
            stand[i] = value_array(in[given++], inputs[i]->type);
            fine = stand[i] != NULL;
        }
    onnx_run r = {.m = m};
    fine = fine && model_apply(&r, stand, outputs) && !r.changes &&
           outputs_compile(p, in, given, outputs, n_out, explained);
    for (int i = 0; i < n_out && outputs; i++)
        ig_onnx_value_release(outputs[i]);
    for (int i = 0; i < n && stand; i++)
        ig_onnx_value_release(stand[i]);
    memory_free(stand);
    memory_free(outputs);
    memory_free(in);
    return fine;
}

static void plan_make(plan *p, ig_onnx *m, ig_onnx_value *const *inputs)
{
    const int n = m->model.graph.n_given, n_out = m->model.graph.n_outputs;
    plan_clear(p);
    p->math = ig_math_mode();
    snprintf(p->device, sizeof p->device, "%s", ig_device());
    p->inputs = memory_new((size_t)(n + 1) * sizeof *p->inputs);
    p->types = memory_new((size_t)(n_out + 1) * sizeof *p->types);
    if (p->inputs && p->types && ig_scope_begin() == IG_OK) {
        for (int i = 0; i < n; i++)
            p->inputs[i] = input_of(inputs[i]);
        plan_build(p, m, inputs, NULL);
        ig_scope_end();
    }
    /* A run without a plan reports the error, if it is one. */
    ig_status code = IG_OK;
    if (ig_error(&code) && (code == IG_ERR_MEMORY || code == IG_ERR_CANCELLED))
        plan_clear(p); /* the next run tries again */
}

char *plan_explain(ig_onnx *m, ig_onnx_value *const *inputs)
{
    plan p = {.types = memory_new((size_t)(m->model.graph.n_outputs + 1) * sizeof *p.types)};
    char *explained = NULL;
    if (p.types && plan_can(m, inputs) && ig_scope_begin() == IG_OK) {
        plan_build(&p, m, inputs, &explained);
        ig_scope_end();
    }
    plan_clear(&p);
    ig_error(NULL);
    return explained;
}

static plan *plan_find(ig_onnx *m, ig_onnx_value *const *inputs)
{
    plans *all = m->plans ? m->plans : memory_new(sizeof *all);
    if (!all)
        return NULL;
    m->plans = all;
    m->plans_free = plans_free;
    plan *oldest = &all->list[0], *found = NULL;
    for (int i = 0; i < PLANS && !found; i++) {
        if (plan_fits(&all->list[i], m->model.graph.n_given, inputs))
            found = &all->list[i];
        else if (all->list[i].used < oldest->used)
            oldest = &all->list[i];
    }
    if (!found)
        plan_make(oldest, m, inputs);
    found = found ? found : oldest;
    found->used = found->inputs && found->types ? ++all->clock : 0;
    return found->used ? found : NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

static ig_status compiled_run(const plan *p, const ig_onnx *m, ig_onnx_value *const *inputs,
                              ig_onnx_value **outputs)
{
    const int n = m->model.graph.n_given, n_out = m->model.graph.n_outputs;
    ig_array **in = memory_new((size_t)(n + 1) * sizeof *in);
    ig_array **out = memory_new((size_t)(n_out + 1) * sizeof *out);
    ig_status status = in && out ? ig_scope_begin() : IG_ERR_MEMORY;
    const bool open = status == IG_OK;
    int given = 0;
    for (int i = 0; i < n && status == IG_OK; i++)
        if (inputs[i] && !(in[given++] = value_on(inputs[i], p->device, false)))
            status = error_waiting(IG_ERR_DEVICE);
    if (status == IG_OK)
        status = ig_run(p->compiled, in, out);
    for (int i = 0; i < n_out && status == IG_OK; i++)
        if (!(outputs[i] = value_array(out[i], p->types[i])))
            status = error_waiting(IG_ERR_MEMORY);
    if (open)
        ig_scope_end();
    for (int i = 0; i < n_out && status != IG_OK; i++) {
        ig_onnx_value_release(outputs[i]);
        outputs[i] = NULL;
    }
    memory_free(in);
    memory_free(out);
    return status;
}

bool plan_run(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs, ig_status *status)
{
    const plan *p = plan_can(m, inputs) ? plan_find(m, inputs) : NULL;
    if (!p || !p->compiled)
        return false;
    *status = compiled_run(p, m, inputs, outputs);
    return true;
}
