/* The plan of an op that has no separate one: the examples of its row, in the shapes of the table and in larger ones.
 * The reference is the composition itself, node by node in float64 on the CPU (ig_verify); for calls that only move elements, the
 * same call on their places. */
#include "verify/example.h"
#include "verify/plan.h"
#include <stdlib.h>

/* The factor of all lengths above 1; less if an input would have more elements. */
enum { LARGE = 11, MOST_ELEMENTS = 1 << 18 };

static int64_t large_factor(const example *e)
{
    int64_t factor = LARGE, most;
    do {
        example_input in;
        most = 0;
        for (const char *text = e->inputs; *text;) {
            int64_t size = 1;
            text = example_input_read(text, &in);
            for (int a = 0; a < in.ndim && in.from != 'k'; a++)
                size *= in.shape[a] * (in.shape[a] > 1 ? factor : 1);
            most = size > most ? size : most;
        }
    } while (most > MOST_ELEMENTS && --factor > 1);
    return factor;
}

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

/* Adds the inputs. False if the call does not depend on the dtype under test and this is not the first dtype. */
static bool add_inputs(problem *p, int64_t factor)
{
    bool depends = example_names_dtype(p->example);
    example_input in;
    for (const char *text = p->example->inputs; *text;) {
        text = example_input_read(text, &in);
        const ig_dtype fixed = example_input_dtype(&in);
        for (int a = 0; a < in.ndim && in.from != 'k'; a++)
            in.shape[a] *= in.shape[a] > 1 ? factor : 1;
        tensor *t = problem_part(p, fixed ? fixed : p->dtype, (ig_ints){in.shape, in.ndim},
                                 domain_of(&in, in.below * factor));
        t->is_fixed = fixed != IG_DTYPE_NONE;
        if (in.from == '^' && p->mode != MODE_PLAIN)
            return false;
        if (in.from == '^')
            dominate(t);
        depends = depends || !fixed;
    }
    return depends || p->dtype == IG_F32;
}

/* Adds the results with their dtypes and shapes, which the op itself says. */
static bool add_results(problem *p)
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
    return n > 0;
}

/* The place of element i of an input, counted through all inputs from 1. Inputs with a fixed dtype, such as indices, keep their
 * values. */
static ig_array *places_of(const tensor *t, int64_t first)
{
    int64_t *v = heap_get(((size_t)t->size + 1) * sizeof *v);
    for (int64_t i = 0; i < t->size; i++)
        v[i] = t->is_fixed ? (int64_t)t->v[i] : first + i;
    ig_array *x = ig_from_data(v, tensor_shape(t), IG_I64);
    free(v);
    return t->is_fixed ? ig_astype(x, t->dtype) : x;
}

/* The element of an input at this place; 0 at place 0. */
static real element_at(const problem *p, int64_t place)
{
    for (int k = 0; k < p->n_in && place > 0; k++) {
        const tensor *t = &p->in[k];
        if (!t->is_fixed && place <= t->size)
            return t->v[place - 1];
        place -= t->is_fixed ? 0 : t->size;
    }
    return 0;
}

/* The results of a call that moves elements: the call on the CPU with the numbers of places in i64 says from where each element
 * comes. All dtypes, layouts and devices must then give the same elements. */
static void move_elements(problem *p)
{
    ig_array *x[MAX_INPUTS] = {NULL}, *y[MAX_OUTPUTS];
    const char *device = ig_device();
    int64_t first = 1;
    ig_set_device("cpu");
    ig_scope_begin();
    for (int k = 0; k < p->n_in; k++) {
        x[k] = places_of(&p->in[k], first);
        first += p->in[k].is_fixed ? 0 : p->in[k].size;
    }
    const int n = example_build(p->example, IG_I64, x, y, MAX_OUTPUTS);
    for (int k = 0; k < n && k < p->n_out; k++) {
        const int64_t *place = ig_data(ig_to_device(y[k], "cpu"));
        for (int64_t i = 0; i < p->out[k].size && place; i++)
            p->out[k].v[i] = element_at(p, place[i]);
    }
    ig_scope_end();
    ig_set_device(device);
    p->signed_zeros = true;
}

/* The k-th example of the op that takes the dtype under test; NULL past the last. If none takes it, each must refuse it. */
static const example *example_for(const problem *p, int k)
{
    const example *e = example_at(p->op, 0);
    const bool refused = e && !dtype_in(p->dtype, e->takes);
    for (int i = 0; (e = example_at(p->op, i)); i++)
        if ((refused || dtype_in(p->dtype, e->takes)) && k-- == 0)
            break;
    return e;
}

/* Variant 2k is the k-th example, 2k + 1 the same with longer axes, or with other values if the call allows no other lengths.
 * Quickly: only the first example in both sizes. */
static bool make_example(problem *p, int variant)
{
    const bool alone = p->quick && variant > 1, larger = variant % 2 && !alone;
    p->example = example_for(p, alone ? variant - 1 : variant / 2);
    if (!p->example || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    if (!add_inputs(p, larger ? large_factor(p->example) : 1))
        return false;
    if (!add_results(p) && larger) {
        problem_end(p);
        add_inputs(p, 1);
        add_results(p);
    }
    p->by_nodes = p->example->kind != EXAMPLE_MOVED && p->example->kind != EXAMPLE_STOP;
    if (!p->by_nodes && dtype_in(p->dtype, p->example->takes))
        move_elements(p);
    return true;
}

bool plan_example(const char *op, plan *out, unsigned *takes)
{
    const example *e = example_at(op, 0);
    if (!e)
        return false;
    *out = (plan){e->op, make_example, NULL};
    *takes = e->takes;
    return true;
}
