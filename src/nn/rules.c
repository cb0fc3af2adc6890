/* The rules of the optimisers, one short function each, in as few ops as say it: a step builds them
 * anew for every parameter.
 *
 * A running mean is old + (new - old) * share. p is the parameter, g its gradient. */
#include "nn/optimizer.h"
#include <math.h>

static ig_array *add(ig_array *a, ig_array *b) { return ig_add(a, b); }
static ig_array *sub(ig_array *a, ig_array *b) { return ig_subtract(a, b); }
static ig_array *mul(ig_array *a, ig_array *b) { return ig_multiply(a, b); }

static ig_array *mean_of(ig_array *old, ig_array *now, ig_array *share)
{
    return add(old, mul(sub(now, old), share));
}

/* ---- SGD ---- */

static void sgd_numbers(const ig_optimizer *o, double rate, double *number)
{
    number[0] = rate;
    number[1] = o->beta1;
    number[2] = o->decay;
}

static ig_array *sgd(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                     ig_array *const *state, ig_array **next)
{
    ig_array *const rate = number[0], *const momentum = number[1], *const decay = number[2];
    if (o->decay != 0)
        g = add(g, mul(p, decay));
    if (o->slots) {
        next[0] = add(mul(state[0], momentum), g);
        g = o->nesterov ? add(g, mul(next[0], momentum)) : next[0];
    }
    return sub(p, mul(g, rate));
}

/* ---- Adam and AdamW ---- */

/* With m / c1 and v / c2 the corrected means, c being 1 - beta**t, the step is
 *
 *     rate * (m / c1) / (sqrt(v / c2) + eps) = m * (rate * sqrt(c2) / c1) / (sqrt(v) + eps * sqrt(c2))
 */
static void adam_numbers(const ig_optimizer *o, double rate, double *number)
{
    const double t = (double)(o->steps + 1);
    const double c1 = 1 - pow(o->beta1, t), c2 = sqrt(1 - pow(o->beta2, t));
    number[0] = 1 - o->beta1;
    number[1] = 1 - o->beta2;
    number[2] = rate * c2 / c1;
    number[3] = o->eps * c2;
    number[4] = 1 - rate * o->decay;
}

static ig_array *adam(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                      ig_array *const *state, ig_array **next)
{
    ig_array *const rate = number[2], *const eps = number[3], *const keep = number[4];
    ig_array *const m = next[0] = mean_of(state[0], g, number[0]);
    ig_array *const v = next[1] = mean_of(state[1], ig_square(g), number[1]);
    if (o->decay != 0)
        p = mul(p, keep);
    return sub(p, ig_divide(mul(m, rate), add(ig_sqrt(v), eps)));
}

/* ---- RMSprop ---- */

static void rmsprop_numbers(const ig_optimizer *o, double rate, double *number)
{
    number[0] = 1 - o->beta2;
    number[1] = o->eps;
    number[2] = o->beta1;
    number[3] = rate;
}

static ig_array *rmsprop(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                         ig_array *const *state, ig_array **next)
{
    ig_array *const eps = number[1], *const momentum = number[2], *const rate = number[3];
    next[0] = mean_of(state[0], ig_square(g), number[0]);
    g = ig_divide(g, add(ig_sqrt(next[0]), eps));
    if (o->slots == 2)
        g = next[1] = add(mul(state[1], momentum), g);
    return sub(p, mul(g, rate));
}

/* ---- Lion ---- */

static void lion_numbers(const ig_optimizer *o, double rate, double *number)
{
    number[0] = 1 - o->beta1;
    number[1] = 1 - o->beta2;
    number[2] = rate;
    number[3] = 1 - rate * o->decay;
}

static ig_array *lion(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                      ig_array *const *state, ig_array **next)
{
    ig_array *const rate = number[2], *const keep = number[3];
    ig_array *const way = ig_sign(mean_of(state[0], g, number[0]));
    next[0] = mean_of(state[0], g, number[1]);
    if (o->decay != 0)
        p = mul(p, keep);
    return sub(p, mul(way, rate));
}

const rule rule_sgd = {"sgd", {"momentum"}, 3, sgd_numbers, sgd};
const rule rule_adam = {"adam", {"mean", "square"}, 5, adam_numbers, adam};
const rule rule_adamw = {"adamw", {"mean", "square"}, 5, adam_numbers, adam};
const rule rule_rmsprop = {"rmsprop", {"square", "momentum"}, 4, rmsprop_numbers, rmsprop};
const rule rule_lion = {"lion", {"mean"}, 4, lion_numbers, lion};
