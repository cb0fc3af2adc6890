/* Kernels of the user's as nodes of graphs.
 *
 *   ig_kernel_call -> recipe, what is the same for all arguments -> bound, with arguments -> nodes
 *
 * A node for each result shares one bound kernel, which is known by a key of its content: graphs find equal
 * ones by it. A gradient is one more call of the recipe's gradient, so it can have one itself. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/kernel_node.h"
#include "engine/module.h"
#include <string.h>

/* ---- recipes ---- */

typedef struct recipe {
    atomic_int refs;
    kernel_module *module;
    const ig_kernel_info *info;
    uint64_t content[4]; /* of the source, and the kernel's name */
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    ig_arg *number; /* for each parameter: what a gradient kernel was given, or IG_ARG_NONE */
    struct recipe *gradient;
} recipe;

static recipe *recipe_retain(recipe *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

static void recipe_release(recipe *r)
{
    while (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
        recipe *gradient = r->gradient;
        kernel_module_release(r->module);
        memory_free(r->number);
        memory_free(r);
        r = gradient;
    }
}

static ig_status fail_no_kernel(const ig_module *m, const char *kernel, const char *name)
{
    text t = {0};
    for (int i = 0; i < ig_module_count(m); i++)
        text_add(&t, "%s%s", i ? ", " : "; it has ", ig_module_at(m, i)->name);
    char *all = text_take(&t);
    ig_fail(IG_ERR_ARGUMENT, "there is no kernel '%s' in %s%s", kernel, name, all ? all : "");
    memory_free(all);
    return IG_ERR_ARGUMENT;
}

/* The kernel of the module, or what is wrong with it, there or on the device that is in use. */
static ig_status find_kernel(recipe *r, const ig_kernel_call *call, const char *name)
{
    ig_module *m = r->module->module;
    const kernel_entry *e = kernel_tree_find(module_tree(m), call->kernel);
    const backend *dev = engine_device();
    module_kernel ready;
    r->info = e ? ig_module_find(m, call->kernel) : NULL;
    if (!e)
        return fail_no_kernel(m, call->kernel, name);
    if (e->failed)
        FAIL(IG_ERR_FORMAT, "%s", e->errors ? e->errors : "the kernel has mistakes");
    if (!r->info->n_written)
        FAIL(IG_ERR_ARGUMENT,
             "kernel '%s' writes nothing: all its pointers are const, so it has no result",
             r->info->name);
    return dev->kernel_build ? module_prepare(m, dev, call->kernel, &ready) : IG_OK;
}

static void know_content(recipe *r)
{
    hash h;
    hash_begin(&h);
    hash_add(&h, r->module->content, sizeof r->module->content);
    hash_add(&h, r->info->name, strlen(r->info->name));
    hash_end(&h, (uint8_t *)r->content);
}

/* The numbers that a gradient kernel is given beside what it asks for by name. */
static ig_status keep_numbers(recipe *r, const ig_kernel_call *call)
{
    const ig_kernel_info *k = r->info;
    r->number = memory_new((size_t)(k->n_params + 1) * sizeof *r->number);
    if (!r->number)
        return IG_ERR_MEMORY;
    for (int i = 0; i < call->n_args; i++) {
        const ig_arg *a = &call->args[i];
        int p = 0;
        while (p < k->n_params && !(a->name && strcmp(a->name, k->params[p].name) == 0))
            p++;
        if (p == k->n_params ||
            !(a->kind == IG_ARG_INT || a->kind == IG_ARG_FLOAT || a->kind == IG_ARG_BOOL))
            FAIL(
                IG_ERR_ARGUMENT,
                "kernel '%s', a gradient, finds its arrays by their names; beside them it can only "
                "be given numbers, by the names of its parameters",
                k->name);
        r->number[p] = *a;
        r->number[p].name = NULL;
    }
    return IG_OK;
}

static recipe *recipe_new(const ig_kernel_call *call, const ig_kernel_call *around);

static ig_status recipe_fill(recipe *r, const ig_kernel_call *call, const ig_kernel_call *around)
{
    const bool own = call->source || !around;
    const ig_kernel_call *from = own ? call : around;
    const char *name = from->name ? from->name : "kernel.cu";
    if (!call->kernel || !from->source)
        FAIL(IG_ERR_ARGUMENT, "kernel: %s is missing", call->kernel ? "the source" : "its name");
    r->module = kernel_module_get(name, from->source, from->options, call->kernel);
    if (!r->module)
        return IG_ERR_FORMAT;
    TRY(find_kernel(r, call, name));
    know_content(r);
    if (around)
        TRY(keep_numbers(r, call));
    memcpy(r->grid, call->grid, sizeof r->grid);
    memcpy(r->block, call->block, sizeof r->block);
    r->shared_bytes = call->shared_bytes;
    if (!call->gradient)
        return IG_OK;
    /* What has no source of its own is in the one around it. */
    ig_kernel_call inner = *call;
    inner.name = from->name;
    inner.source = from->source;
    inner.options = from->options;
    r->gradient = recipe_new(call->gradient, &inner);
    return r->gradient ? IG_OK : IG_ERR_ARGUMENT;
}

static recipe *recipe_new(const ig_kernel_call *call, const ig_kernel_call *around)
{
    recipe *r = memory_new(sizeof *r);
    if (!r)
        return NULL;
    atomic_init(&r->refs, 1);
    if (recipe_fill(r, call, around) == IG_OK)
        return r;
    recipe_release(r);
    return NULL;
}

/* ---- arguments ---- */

typedef enum bound_kind { BOUND_NUMBER, BOUND_ARRAY, BOUND_SCALAR, BOUND_RESULT } bound_kind;

typedef struct bound_param {
    bound_kind kind;
    int input;     /* the array; of a result the one that it begins as; or -1 */
    int result;    /* of BOUND_RESULT */
    ig_arg number; /* of BOUND_NUMBER */
    uint64_t bits; /* as the kernel has it */
} bound_param;

typedef struct bound_result {
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
} bound_result;

typedef struct bound {
    node_kernel base;
    recipe *recipe;
    uint32_t grid[3], block[3];
    bool empty; /* there is no element to launch a thread for */
    bound_param *param;
    bound_result *result;
    node_result *plain; /* the same for graphs */
    kernel_arg *passed; /* room for a launch, while the engine's lock is held */
    int n_in;
} bound;

static void bound_destroy(node_kernel *k)
{
    bound *b = (bound *)k;
    recipe_release(b->recipe);
    memory_free(b->param);
    memory_free(b->result);
    memory_free(b->plain);
    memory_free(b->passed);
    memory_free((void *)b->base.key);
    memory_free((void *)b->base.label);
    memory_free(b);
}

static bound *bound_new(recipe *r)
{
    const size_t n = (size_t)r->info->n_params + 1, n_result = (size_t)r->info->n_written + 1;
    bound *b = memory_new(sizeof *b);
    if (!b)
        return NULL;
    atomic_init(&b->base.refs, 1);
    b->base.destroy = bound_destroy;
    b->base.name = r->info->name;
    b->recipe = recipe_retain(r);
    b->param = memory_new(n * sizeof *b->param);
    b->result = memory_new(n_result * sizeof *b->result);
    b->passed = memory_new(n * sizeof *b->passed);
    b->base.result = b->plain = memory_new(n_result * sizeof *b->plain);
    if (b->param && b->result && b->passed && b->plain)
        return b;
    bound_destroy(&b->base);
    return NULL;
}

/* x as an input that points to dtype; -1 on failure. */
static int add_input(bound *b, const ig_kernel_param *p, ig_array *x, ig_array **in)
{
    const char *kernel = b->recipe->info->name;
    if (!x) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "kernel '%s': the array for '%s' is NULL", kernel, p->name);
        return -1;
    }
    if (x->weak && p->dtype != IG_DTYPE_NONE && !(x = build_cast(x, p->dtype)))
        return -1;
    if (p->dtype != IG_DTYPE_NONE && x->dtype != p->dtype) {
        ig_fail(IG_ERR_DTYPE, "kernel '%s': '%s' is a %s, but the array is %s; convert with astype",
                kernel, p->name, p->type, ig_dtype_name((ig_dtype)x->dtype));
        return -1;
    }
    in[b->n_in] = x;
    return b->n_in++;
}

static ig_status bind_result(bound *b, const ig_kernel_param *p, const ig_arg *a, bound_param *out,
                             ig_array **in)
{
    const char *kernel = b->recipe->info->name;
    bound_result *r = &b->result[b->base.n_result];
    ig_ints shape;
    int64_t size;
    *out = (bound_param){.kind = BOUND_RESULT, .input = -1, .result = b->base.n_result};
    if (a->kind == IG_ARG_ARRAY) {
        if ((out->input = add_input(b, p, a->u.array, in)) < 0)
            return IG_ERR_ARGUMENT;
        r->dtype = (ig_dtype)in[out->input]->dtype;
        shape = ig_shape(in[out->input]);
    } else if ((a->kind == IG_ARG_INTS || a->kind == IG_ARG_INT) && p->dtype != IG_DTYPE_NONE) {
        r->dtype = p->dtype;
        shape = a->kind == IG_ARG_INTS ? a->u.ints : (ig_ints){&a->u.i, 1};
    } else {
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give %s", kernel, p->name, p->type,
             p->dtype == IG_DTYPE_NONE ? "an array that it begins as, which has a dtype"
                                       : "its shape, or an array that it begins as");
    }
    TRY(infer_size(OP_kernel, shape.n, shape.v, r->dtype, &size));
    r->ndim = shape.n;
    if (shape.n)
        memcpy(r->shape, shape.v, (size_t)shape.n * sizeof *r->shape);
    b->plain[b->base.n_result++] =
        (node_result){size * (int64_t)ig_dtype_bytes(r->dtype), out->input};
    return IG_OK;
}

/* A number that is an array of one element is not a part of the graph's structure: it is data. */
static ig_status bind_scalar(bound *b, const ig_kernel_param *p, ig_array *x, bound_param *out,
                             ig_array **in)
{
    const char *kernel = b->recipe->info->name;
    if (x && view_size(&x->view) != 1)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s, but the array has %lld elements", kernel,
             p->name, p->type, (long long)view_size(&x->view));
    if (x && p->dtype != IG_DTYPE_NONE && dtype_is_float(p->dtype) &&
        dtype_is_float((ig_dtype)x->dtype))
        x = build_cast(x, p->dtype);
    *out = (bound_param){.kind = BOUND_SCALAR, .input = add_input(b, p, x, in)};
    return out->input < 0 ? IG_ERR_ARGUMENT : IG_OK;
}

static ig_status bind_param(bound *b, int i, const ig_arg *a, ig_array **in)
{
    const ig_kernel_info *k = b->recipe->info;
    const ig_kernel_param *p = &k->params[i];
    bound_param *out = &b->param[i];
    if (p->is_written)
        return bind_result(b, p, a, out, in);
    if (a->kind == IG_ARG_ARRAY && !p->is_pointer && p->dtype != IG_DTYPE_NONE)
        return bind_scalar(b, p, a->u.array, out, in);
    if (!p->is_pointer) {
        *out = (bound_param){.kind = BOUND_NUMBER, .input = -1, .number = *a};
        return module_number(k, p, a, &out->bits);
    }
    if (a->kind != IG_ARG_ARRAY)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give an array", k->name, p->name,
             p->type);
    *out = (bound_param){.kind = BOUND_ARRAY, .input = add_input(b, p, a->u.array, in)};
    return out->input < 0 ? IG_ERR_ARGUMENT : IG_OK;
}

/* ---- the launch's shape ---- */

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* A thread for each element of the first result: see ig_kernel_call. */
static ig_status spread(bound *b)
{
    const bound_result *r = &b->result[0];
    int axes = 3, axis = r->ndim - 1;
    while (axes > 1 && b->block[axes - 1] == 1)
        axes--;
    for (int i = 0; i < 3; i++) {
        int64_t n = 1;
        if (i == axes - 1)
            for (; axis >= 0; axis--)
                n *= r->shape[axis];
        else if (i < axes && axis >= 0)
            n = r->shape[axis--];
        const int64_t blocks = ceil_div(n, b->block[i]);
        if (blocks > INT32_MAX)
            FAIL(IG_ERR_ARGUMENT,
                 "kernel '%s': a thread for each element would be %lld blocks; give a grid, and a "
                 "loop over the elements in the kernel",
                 b->base.name, (long long)blocks);
        b->empty |= blocks == 0;
        b->grid[i] = (uint32_t)blocks;
    }
    return IG_OK;
}

static ig_status shape_launch(bound *b)
{
    static const uint32_t threads[3] = {256, 1, 1};
    const recipe *r = b->recipe;
    const bool given = r->block[0] || r->block[1] || r->block[2];
    for (int i = 0; i < 3; i++) {
        b->block[i] = given ? (r->block[i] ? r->block[i] : 1) : threads[i];
        b->grid[i] = r->grid[i] ? r->grid[i] : 1;
    }
    return r->grid[0] || r->grid[1] || r->grid[2] ? IG_OK : spread(b);
}

/* "4", "4x2", "4x2x3". */
static void shape_text(text *t, const uint32_t v[3])
{
    text_add(t, "%u", v[0]);
    if (v[1] > 1 || v[2] > 1)
        text_add(t, "x%u", v[1]);
    if (v[2] > 1)
        text_add(t, "x%u", v[2]);
}

static ig_status name_bound(bound *b)
{
    text t = {0};
    text_add(&t, "%s<<<", b->base.name);
    shape_text(&t, b->grid);
    text_add(&t, ", ");
    shape_text(&t, b->block);
    text_add(&t, ">>>");
    b->base.label = text_take(&t);
    return b->base.label ? IG_OK : IG_ERR_MEMORY;
}

/* The content, the launch, what each parameter is and what each result begins as. */
static ig_status key_bound(bound *b)
{
    const recipe *r = b->recipe;
    const int n_params = r->info->n_params;
    uint64_t *key = memory_get((size_t)(4 + 6 + 1 + 2 * n_params + 2 * b->base.n_result) * 8);
    int n = 0;
    if (!key)
        return IG_ERR_MEMORY;
    for (int i = 0; i < 4; i++)
        key[n++] = r->content[i];
    for (int i = 0; i < 3; i++) {
        key[n++] = b->grid[i];
        key[n++] = b->block[i];
    }
    key[n++] = r->shared_bytes;
    for (int i = 0; i < n_params; i++) {
        const bound_param *p = &b->param[i];
        key[n++] = (uint64_t)p->kind;
        key[n++] = p->kind == BOUND_NUMBER ? p->bits : (uint64_t)p->input;
    }
    for (int i = 0; i < b->base.n_result; i++) {
        key[n++] = (uint64_t)b->plain[i].bytes;
        key[n++] = (uint64_t)b->plain[i].from;
    }
    b->base.key = key;
    b->base.n_key = n;
    return IG_OK;
}

/* ---- gradients: see ig_kernel for what the names of parameters mean ---- */

typedef enum grad_kind {
    GRAD_UNKNOWN,
    GRAD_NUMBER,    /* that it was given */
    GRAD_VALUE,     /* of the parameter `of` of the kernel */
    GRAD_COTANGENT, /* the gradient of the result `of` */
    GRAD_RESULT     /* the gradient of the argument `of`, which it writes */
} grad_kind;

typedef struct grad_param {
    grad_kind kind;
    int of; /* a parameter of the kernel */
} grad_param;

static int param_named(const ig_kernel_info *k, const char *name)
{
    for (int i = 0; i < k->n_params; i++)
        if (strcmp(k->params[i].name, name) == 0)
            return i;
    return -1;
}

static bool has_gradient(const bound *b, int param)
{
    return b->param[param].input >= 0 && dtype_is_float(b->recipe->info->params[param].dtype);
}

/* What parameter q of the gradient kernel stands for. */
static grad_param grad_param_of(const bound *b, int q)
{
    static const char prefix[] = "grad_";
    const ig_kernel_info *k = b->recipe->info;
    const ig_kernel_param *p = &b->recipe->gradient->info->params[q];
    const bool grad = strncmp(p->name, prefix, strlen(prefix)) == 0;
    const int of = grad ? param_named(k, p->name + strlen(prefix)) : -1;
    const int same = param_named(k, p->name);
    if (b->recipe->gradient->number[q].kind != IG_ARG_NONE)
        return (grad_param){GRAD_NUMBER, -1};
    if (p->is_written)
        return (grad_param){of >= 0 && has_gradient(b, of) ? GRAD_RESULT : GRAD_UNKNOWN, of};
    if (same >= 0)
        return (grad_param){GRAD_VALUE, same};
    if (of >= 0 && b->param[of].kind == BOUND_RESULT && b->param[of].input < 0)
        return (grad_param){GRAD_COTANGENT, of};
    return (grad_param){GRAD_UNKNOWN, -1};
}

/* Fails unless the gradient kernel has a use for each of its parameters, and a gradient for each float. */
static ig_status check_gradient(const bound *b, ig_array *const *in)
{
    const ig_kernel_info *k = b->recipe->info, *g = b->recipe->gradient->info;
    for (int q = 0; q < g->n_params; q++) {
        const ig_kernel_param *p = &g->params[q];
        const grad_param what = grad_param_of(b, q);
        if (what.kind == GRAD_UNKNOWN)
            FAIL(IG_ERR_ARGUMENT,
                 "kernel '%s', the gradient of '%s': nothing is known for '%s' (%s); it may %s",
                 g->name, k->name, p->name, p->type,
                 p->is_written
                     ? "write 'grad_' and the name of a float argument"
                     : "read a parameter by its name, or 'grad_' and the name of a result");
        const ig_kernel_param *of = what.of >= 0 ? &k->params[what.of] : NULL;
        if (of &&
            (p->dtype != of->dtype || (what.kind == GRAD_VALUE && p->is_pointer != of->is_pointer)))
            FAIL(IG_ERR_DTYPE, "kernel '%s', the gradient of '%s': '%s' is a %s, but '%s' is a %s",
                 g->name, k->name, p->name, p->type, of->name, of->type);
    }
    for (int i = 0; i < k->n_params; i++) {
        bool found = !has_gradient(b, i) || in[b->param[i].input]->op == OP_stop_gradient;
        for (int q = 0; q < g->n_params && !found; q++) {
            const grad_param what = grad_param_of(b, q);
            found = what.kind == GRAD_RESULT && what.of == i;
        }
        if (!found)
            FAIL(IG_ERR_ARGUMENT,
                 "kernel '%s', the gradient of '%s', gives none for '%s': add a parameter that it "
                 "writes, 'grad_%s', or pass the argument through stop_gradient",
                 g->name, k->name, k->params[i].name, k->params[i].name);
    }
    return IG_OK;
}

/* One question to the gradient: what is known while it is answered. */
typedef struct pull_context {
    bound *b;
    int result;
} pull_context;

static void pull_release(void *context)
{
    pull_context *c = context;
    node_kernel_release(&c->b->base);
    memory_free(c);
}

static ig_status apply(recipe *r, const ig_arg *const *args, ig_array **results);

static ig_arg arg_of_array(ig_array *x) { return (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x}; }
static ig_arg arg_of_shape(ig_ints v) { return (ig_arg){.kind = IG_ARG_INTS, .u.ints = v}; }

static ig_ints shape_of(const bound_result *r) { return (ig_ints){r->shape, r->ndim}; }

/* The argument that parameter i of b had, with other inputs. */
static ig_arg arg_again(const bound *b, int i, ig_array *const *inputs)
{
    const bound_param *p = &b->param[i];
    return p->input >= 0             ? arg_of_array(inputs[p->input])
           : p->kind == BOUND_RESULT ? arg_of_shape(shape_of(&b->result[p->result]))
                                     : p->number;
}

/* Calls r with an argument for each parameter. */
static ig_status apply_all(recipe *r, const ig_arg *args, ig_array **results)
{
    const ig_arg **each = memory_get((size_t)(r->info->n_params + 1) * sizeof *each);
    if (!each)
        return IG_ERR_MEMORY;
    for (int i = 0; i < r->info->n_params; i++)
        each[i] = &args[i];
    const ig_status status = apply(r, each, results);
    memory_free(each);
    return status;
}

/* What the kernel gives for these inputs: nodes that are equal to those that are there already. */
static ig_status results_again(const bound *b, ig_array *const *inputs, ig_array **results)
{
    const int n = b->recipe->info->n_params;
    ig_arg *args = memory_get((size_t)(n + 1) * sizeof *args);
    if (!args)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        args[i] = arg_again(b, i, inputs);
    const ig_status status = apply_all(b->recipe, args, results);
    memory_free(args);
    return status;
}

/* The arguments of the gradient kernel. values has the results, cotangents their gradients. */
static void grad_args(const bound *b, ig_array *const *inputs, ig_array *const *values,
                      ig_array *const *cotangents, ig_arg *args)
{
    const recipe *g = b->recipe->gradient;
    for (int q = 0; q < g->info->n_params; q++) {
        const grad_param what = grad_param_of(b, q);
        const bound_param *of = what.of >= 0 ? &b->param[what.of] : NULL;
        switch (what.kind) {
        case GRAD_VALUE:
            args[q] = of->kind == BOUND_RESULT && of->input < 0 ? arg_of_array(values[of->result])
                                                                : arg_again(b, what.of, inputs);
            break;
        case GRAD_COTANGENT: args[q] = arg_of_array(cotangents[of->result]); break;
        case GRAD_RESULT:
            args[q] = of->kind == BOUND_RESULT ? arg_of_array(cotangents[of->result])
                                               : arg_of_shape(ig_shape(inputs[of->input]));
            break;
        default: args[q] = g->number[q]; break;
        }
    }
}

/* True if the gradient kernel reads a result other than that one. */
static bool reads_others(const bound *b, int result)
{
    for (int q = 0; q < b->recipe->gradient->info->n_params; q++) {
        const grad_param what = grad_param_of(b, q);
        const bound_param *of = what.kind == GRAD_VALUE ? &b->param[what.of] : NULL;
        if (of && of->kind == BOUND_RESULT && of->input < 0 && of->result != result)
            return true;
    }
    return false;
}

/* Room for one question: arrays for results, their gradients and the gradients' results. */
typedef struct pull_room {
    ig_array **values, **cotangents, **made;
    ig_arg *args;
} pull_room;

static ig_status pull_with(const pull_context *c, ig_array *const *inputs, ig_array *out,
                           ig_array *g, const pull_room *room, ig_array **grads)
{
    const bound *b = c->b;
    recipe *gradient = b->recipe->gradient;
    if (reads_others(b, c->result))
        TRY(results_again(b, inputs, room->values));
    room->values[c->result] = out;
    for (int i = 0; i < b->base.n_result; i++) {
        const bound_result *r = &b->result[i];
        room->cotangents[i] =
            i == c->result ? build_cast(g, r->dtype) : ig_zeros(shape_of(r), r->dtype);
        if (!room->cotangents[i])
            return IG_ERR_MEMORY;
    }
    grad_args(b, inputs, room->values, room->cotangents, room->args);
    TRY(apply_all(gradient, room->args, room->made));
    for (int q = 0, n = 0; q < gradient->info->n_params; q++)
        if (gradient->info->params[q].is_written)
            grads[b->param[grad_param_of(b, q).of].input] = room->made[n++];
    return IG_OK;
}

/* The gradient of one result. Those of the others count as zero: gradients add up. */
static ig_status pull(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                      ig_array **grads)
{
    const pull_context *c = context;
    const ig_kernel_info *gradient = c->b->recipe->gradient->info;
    const size_t n_result = (size_t)c->b->base.n_result;
    const pull_room room = {memory_new(n_result * sizeof(ig_array *)),
                            memory_new(n_result * sizeof(ig_array *)),
                            memory_new((size_t)gradient->n_written * sizeof(ig_array *)),
                            memory_new((size_t)gradient->n_params * sizeof(ig_arg))};
    const ig_status status = room.values && room.cotangents && room.made && room.args
                                 ? pull_with(c, inputs, out, g, &room, grads)
                                 : IG_ERR_MEMORY;
    (void)n;
    memory_free(room.values);
    memory_free(room.cotangents);
    memory_free(room.made);
    memory_free(room.args);
    return status;
}

/* ---- nodes ---- */

static ig_array *result_node(bound *b, int i, ig_array *const *in)
{
    const bound_result *r = &b->result[i];
    ig_array *x = array_node(OP_kernel, r->dtype, r->ndim, r->shape, in, b->n_in,
                             &(node_attr){.axis_len = i, .kernel = &b->base});
    if (!x || !b->recipe->gradient || !b->n_in || !dtype_is_float(r->dtype))
        return x;
    pull_context *c = memory_get(sizeof *c);
    if (!c)
        return NULL;
    node_kernel_retain(&b->base);
    *c = (pull_context){b, i};
    return ig_custom_grad(x, in, b->n_in, pull, c, pull_release);
}

static ig_status bind_all(bound *b, const ig_arg *const *args, ig_array **in)
{
    for (int i = 0; i < b->recipe->info->n_params; i++)
        TRY(bind_param(b, i, args[i], in));
    TRY(shape_launch(b));
    TRY(name_bound(b));
    TRY(key_bound(b));
    return b->recipe->gradient ? check_gradient(b, in) : IG_OK;
}

/* Nodes of the recipe with an argument for each parameter. */
static ig_status apply(recipe *r, const ig_arg *const *args, ig_array **results)
{
    ig_array **in = memory_new((size_t)(r->info->n_params + 1) * sizeof *in);
    bound *b = in ? bound_new(r) : NULL;
    ig_status status = b ? bind_all(b, args, in) : IG_ERR_MEMORY;
    for (int i = 0; status == IG_OK && i < b->base.n_result; i++)
        if (!(results[i] = result_node(b, i, in)))
            status = IG_ERR_MEMORY;
    if (b)
        node_kernel_release(&b->base);
    memory_free(in);
    return status;
}

int ig_kernel(const ig_kernel_call *call, ig_array **out, int max_out)
{
    recipe *r = recipe_new(call, NULL);
    if (!r)
        return 0;
    const int n = r->info->n_written;
    const ig_arg **args = memory_new((size_t)(r->info->n_params + 1) * sizeof *args);
    ig_status status = args ? module_match(r->info, call->args, call->n_args, args) : IG_ERR_MEMORY;
    if (status == IG_OK && n > max_out)
        status = ig_fail(IG_ERR_ARGUMENT, "kernel '%s' has %d results, but there is room for %d",
                         r->info->name, n, max_out);
    if (status == IG_OK)
        status = apply(r, args, out);
    memory_free(args);
    recipe_release(r);
    return status == IG_OK ? n : 0;
}

/* ---- running ---- */

ig_status kernel_node_compile(const program *p, const backend *dev)
{
    const recipe *r = ((const bound *)p->kernel)->recipe;
    return dev->computes ? module_prepare_held(r->module->module, dev, r->info->name) : IG_OK;
}

/* The variables of the source as it has them: an operation remembers nothing. */
static ig_status reset_variables(ig_module *m, const backend *dev)
{
    const kernel_tree *tree = module_tree(m);
    for (const kernel_var *v = tree->globals; v; v = v->next) {
        binding at;
        size_t bytes;
        if (v->storage != STORE_GLOBAL)
            continue;
        TRY(module_variable(m, dev, v->source_name ? v->source_name->text : v->name, &at, &bytes));
        at.offset = (size_t)kernel_global_at(tree, v);
        bytes = (size_t)v->type->size;
        TRY(v->init ? dev->write(at.buf, at.offset, v->init, bytes)
                    : dev->fill(at.buf, at.offset, 0, bytes));
    }
    return IG_OK;
}

/* Where an operand lies in this run. */
static binding place_of(const operand *o, const binding *bindings)
{
    binding b = bindings[o->slot];
    b.offset += (size_t)o->v.offset * ig_dtype_bytes(o->dtype);
    return b;
}

static ig_status pass(bound *b, const program *p, const backend *dev, const binding *bindings)
{
    for (int i = 0; i < b->recipe->info->n_params; i++) {
        bound_param *param = &b->param[i];
        const operand *o = param->kind == BOUND_RESULT ? &p->post.operand[param->result]
                           : param->input >= 0         ? &p->pre.operand[param->input]
                                                       : NULL;
        const binding at = o ? place_of(o, bindings) : (binding){0};
        if (param->kind == BOUND_SCALAR)
            TRY(dev->read(at.buf, at.offset, &param->bits, ig_dtype_bytes(o->dtype)));
        if (param->kind == BOUND_RESULT && param->input < 0 && b->plain[param->result].bytes)
            TRY(dev->fill(at.buf, at.offset, 0, (size_t)b->plain[param->result].bytes));
        b->passed[i] = (kernel_arg){at, &param->bits};
    }
    return IG_OK;
}

ig_status kernel_node_launch(const program *p, const backend *dev, const binding *bindings)
{
    bound *b = (bound *)p->kernel;
    const recipe *r = b->recipe;
    kernel_launch l = {.args = b->passed, .shared_bytes = r->shared_bytes};
    memcpy(l.grid, b->grid, sizeof l.grid);
    memcpy(l.block, b->block, sizeof l.block);
    if (!dev->computes)
        return IG_OK;
    TRY(pass(b, p, dev, bindings));
    TRY(reset_variables(r->module->module, dev));
    return b->empty ? IG_OK : module_launch_held(r->module->module, dev, r->info->name, &l);
}
