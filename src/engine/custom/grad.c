/* Gradients of kernels are kernels. The name of a parameter determines what it receives (see ig_kernel). The
 * gradient is attached as a custom gradient, which calls the gradient kernel's spec. So it can be
 * differentiated again if that kernel has a gradient. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/custom/custom.h"
#include <string.h>

typedef enum grad_kind {
    GRAD_UNKNOWN,
    GRAD_NUMBER,    /* a number from ig_kernel_call */
    GRAD_VALUE,     /* the value of the kernel's parameter `of` */
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

static bool has_gradient(const kernel_call *b, int param)
{
    return b->param[param].input >= 0 && dtype_is_float(b->spec->info->params[param].dtype);
}

/* The value that parameter q of the gradient kernel receives. */
static grad_param grad_param_of(const kernel_call *b, int q)
{
    static const char prefix[] = "grad_";
    const ig_kernel_info *k = b->spec->info;
    const ig_kernel_param *p = &b->spec->gradient->info->params[q];
    const bool grad = strncmp(p->name, prefix, strlen(prefix)) == 0;
    const int of = grad ? param_named(k, p->name + strlen(prefix)) : -1;
    const int same = param_named(k, p->name);
    if (b->spec->gradient->number[q].kind != IG_ARG_NONE)
        return (grad_param){GRAD_NUMBER, -1};
    if (p->is_written)
        return (grad_param){of >= 0 && has_gradient(b, of) ? GRAD_RESULT : GRAD_UNKNOWN, of};
    if (same >= 0)
        return (grad_param){GRAD_VALUE, same};
    if (of >= 0 && b->param[of].kind == FROM_RESULT && b->param[of].input < 0)
        return (grad_param){GRAD_COTANGENT, of};
    return (grad_param){GRAD_UNKNOWN, -1};
}

ig_status kernel_grad_check(const kernel_call *b, ig_array *const *in)
{
    const ig_kernel_info *k = b->spec->info, *g = b->spec->gradient->info;
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

/* ---- the gradient of a result ---- */

/* The result that is differentiated. */
typedef struct pull_context {
    kernel_call *b;
    int result;
} pull_context;

static void pull_release(void *context)
{
    pull_context *c = context;
    node_kernel_release(&c->b->base);
    memory_free(c);
}

static ig_arg arg_of_array(ig_array *x) { return (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x}; }
static ig_arg arg_of_shape(ig_ints v) { return (ig_arg){.kind = IG_ARG_INTS, .u.ints = v}; }

static ig_ints shape_of(const call_result *r) { return (ig_ints){r->shape, r->ndim}; }

/* The argument of parameter i of b, taken from these inputs. */
static ig_arg arg_again(const kernel_call *b, int i, ig_array *const *inputs)
{
    const call_param *p = &b->param[i];
    return p->input >= 0            ? arg_of_array(inputs[p->input])
           : p->kind == FROM_RESULT ? arg_of_shape(shape_of(&b->result[p->result]))
                                    : p->number;
}

/* Calls r with an argument for each parameter. */
static ig_status apply_all(kernel_spec *r, const ig_arg *args, ig_array **results)
{
    const ig_arg **each = memory_get((size_t)(r->info->n_params + 1) * sizeof *each);
    if (!each)
        return IG_ERR_MEMORY;
    for (int i = 0; i < r->info->n_params; i++)
        each[i] = &args[i];
    const ig_status status = kernel_apply(r, each, NULL, results);
    memory_free(each);
    return status;
}

/* The results of the kernel for these inputs: nodes equal to the existing ones. */
static ig_status results_again(const kernel_call *b, ig_array *const *inputs, ig_array **results)
{
    const int n = b->spec->info->n_params;
    ig_arg *args = memory_get((size_t)(n + 1) * sizeof *args);
    if (!args)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        args[i] = arg_again(b, i, inputs);
    const ig_status status = apply_all(b->spec, args, results);
    memory_free(args);
    return status;
}

/* The arguments of the gradient kernel. values has the results, cotangents their gradients. */
static void grad_args(const kernel_call *b, ig_array *const *inputs, ig_array *const *values,
                      ig_array *const *cotangents, ig_arg *args)
{
    const kernel_spec *g = b->spec->gradient;
    for (int q = 0; q < g->info->n_params; q++) {
        const grad_param what = grad_param_of(b, q);
        const call_param *of = what.of >= 0 ? &b->param[what.of] : NULL;
        switch (what.kind) {
        case GRAD_VALUE:
            args[q] = of->kind == FROM_RESULT && of->input < 0 ? arg_of_array(values[of->result])
                                                               : arg_again(b, what.of, inputs);
            break;
        case GRAD_COTANGENT: args[q] = arg_of_array(cotangents[of->result]); break;
        case GRAD_RESULT:
            args[q] = of->kind == FROM_RESULT ? arg_of_array(cotangents[of->result])
                                              : arg_of_shape(ig_shape(inputs[of->input]));
            break;
        default: args[q] = g->number[q]; break;
        }
    }
}

/* True if the gradient kernel reads a result other than that one. */
static bool reads_others(const kernel_call *b, int result)
{
    for (int q = 0; q < b->spec->gradient->info->n_params; q++) {
        const grad_param what = grad_param_of(b, q);
        const call_param *of = what.kind == GRAD_VALUE ? &b->param[what.of] : NULL;
        if (of && of->kind == FROM_RESULT && of->input < 0 && of->result != result)
            return true;
    }
    return false;
}

/* Memory for one pullback: results, their gradients, and the results of the gradient kernel. */
typedef struct pull_room {
    ig_array **values, **cotangents, **made;
    ig_arg *args;
} pull_room;

static ig_status pull_with(const pull_context *c, ig_array *const *inputs, ig_array *out,
                           ig_array *g, const pull_room *room, ig_array **grads)
{
    const kernel_call *b = c->b;
    kernel_spec *gradient = b->spec->gradient;
    if (reads_others(b, c->result))
        TRY(results_again(b, inputs, room->values));
    room->values[c->result] = out;
    for (int i = 0; i < b->base.n_result; i++) {
        const call_result *r = &b->result[i];
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

/* The pullback of one result. The gradients of the others count as zero, since gradients add up. */
static ig_status pull(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                      ig_array **grads)
{
    const pull_context *c = context;
    const ig_kernel_info *gradient = c->b->spec->gradient->info;
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

ig_array *kernel_grad_attach(kernel_call *b, int i, ig_array *x, ig_array *const *in)
{
    pull_context *c = memory_get(sizeof *c);
    if (!c)
        return NULL;
    node_kernel_retain(&b->base);
    *c = (pull_context){b, i};
    return ig_custom_grad(x, in, b->n_in, pull, c, pull_release);
}
