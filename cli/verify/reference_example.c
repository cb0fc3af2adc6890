/* The plan of an op that has no separate one: the examples of its row, in the shapes of the table and in larger ones.
 * The reference is the composition itself, node by node in float64 on the CPU (ig_verify). */
#include "verify/example.h"
#include "verify/plan.h"

enum { LARGE = 11 }; /* factor of all lengths above 1 */

static domain domain_of(const example_input *in, int64_t below)
{
    switch (in->from) {
    case '[': return (domain){in->low, in->high, false};
    case '+': return (domain){0.3, 2.3, false};
    case '#': return (domain){0, (double)below - 1, false};
    case '^': return (domain){-0.5, 0.5, false};
    case '~': return (domain){-(double)below, (double)below - 1, false};
    default: return (domain){-2, 2, true};
    }
}

/* Gives the matrices of t a diagonal that exceeds the sum of the rest of each row. */
static void dominate(tensor *t)
{
    const int64_t n = t->shape[t->ndim - 1];
    for (int64_t i = 0; i < t->size; i++)
        if (i % n == i / n % n)
            t->v[i] = t->dtype == IG_BOOL ? 1 : (real)(n + 1);
        else if (t->dtype == IG_BOOL)
            t->v[i] = 0;
}

/* Adds the inputs, as parts: the arguments refer to them. False if none of them depends on the dtype under test and this
 * is not the first dtype. */
static bool add_inputs(problem *p, const example *e, int64_t factor)
{
    bool depends = false;
    example_input in;
    for (const char *text = e->inputs; *text;) {
        text = example_input_read(text, &in);
        const ig_dtype fixed = example_input_dtype(&in);
        for (int a = 0; a < in.ndim && in.from != 'k'; a++)
            in.shape[a] *= in.shape[a] > 1 ? factor : 1;
        tensor *t = problem_part(p, fixed ? fixed : p->dtype, (ig_ints){in.shape, in.ndim},
                                 domain_of(&in, in.below * factor));
        if (in.from == '^' && p->mode != MODE_PLAIN)
            return false;
        if (in.from == '^')
            dominate(t);
        depends = depends || !fixed;
    }
    return depends || p->dtype == IG_F32;
}

static void add_arguments(problem *p, const example_call *c)
{
    for (int i = 0; i < c->n; i++) {
        const ig_arg *a = &c->arg[i];
        p->args[i] = *a;
        p->arg_first[i] = c->first[i];
        if (a->kind == IG_ARG_ARRAY)
            p->in[c->first[i]].is_part = false;
    }
    p->n_args = c->n;
}

/* Adds the results with their dtypes and shapes, which the op itself says. There are none if it refuses the call. */
static void add_results(problem *p)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS];
    ig_scope_begin();
    for (int i = 0; i < p->n_in; i++)
        x[i] = ig_zeros(tensor_shape(&p->in[i]), p->in[i].dtype);
    const int n = problem_call(p, x, y, MAX_OUTPUTS);
    for (int k = 0; k < n; k++)
        problem_out(p, ig_dtype_of(y[k]), ig_shape(y[k]));
    ig_error(NULL);
    ig_scope_end();
}

static bool make_example(problem *p, int variant)
{
    /* Every example in both sizes; quickly: only the first one in both. */
    const bool alone = p->quick && variant > 1;
    const example *e = example_at(p->op, alone ? variant - 1 : variant / 2);
    if (!e || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    if (!add_inputs(p, e, variant % 2 && !alone ? LARGE : 1))
        return false;
    add_arguments(p, example_parsed(e));
    add_results(p);
    p->by_nodes = true;
    return true;
}

bool plan_example(const char *op, plan *out)
{
    const example *e = example_at(op, 0);
    if (e)
        *out = (plan){e->op, e->takes, make_example, NULL};
    return e != NULL;
}
