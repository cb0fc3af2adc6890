/* The update rules of the optimizers, one function each, in as few ops as possible: each step builds them
 * for every parameter.
 *
 * p is the parameter, g its gradient. Where the papers keep a running mean, beta * m + (1 - beta) * g,
 * the state here is the sum beta * s + g. So m = (1 - beta) * s, and the factor is folded into a scalar. */
#include "lib/nn/optimizer.h"
#include "engine/ops/formula.h"
#include <math.h>

static ig_array *add(ig_array *a, ig_array *b) { return ig_add(a, b); }
static ig_array *sub(ig_array *a, ig_array *b) { return ig_subtract(a, b); }
static ig_array *mul(ig_array *a, ig_array *b) { return ig_multiply(a, b); }
/* sum * factor + x, and the same of squares. */
static ig_array *decayed(ig_array *sum, ig_array *factor, ig_array *x)
{
    return build_formula(FORMULA_DECAYED_SUM, (ig_array *[]){sum, factor, x});
}
static ig_array *decayed_squares(ig_array *sum, ig_array *factor, ig_array *x)
{
    return build_formula(FORMULA_DECAYED_SQUARES, (ig_array *[]){sum, factor, x});
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
        next[0] = decayed(state[0], momentum, g);
        g = o->nesterov ? add(g, mul(next[0], momentum)) : next[0];
    }
    return sub(p, mul(g, rate));
}

/* ---- Adam and AdamW ---- */

/* The paper's step, where m and v are the means of g and g**2, and c1 and c2 their corrections (1 - beta**t), is
 *
 *     rate * (m / c1) / (sqrt(v / c2) + eps)
 *
 * With the sums s and q, m = (1 - beta1) * s and v = (1 - beta2) * q. With k = sqrt((1 - beta2) / c2) the step is
 *
 *     s * (rate * (1 - beta1) / c1 / k) / (sqrt(q) + eps / k) */
static void adam_numbers(const ig_optimizer *o, double rate, double *number)
{
    const double t = (double)(o->steps + 1);
    const double c1 = 1 - pow(o->beta1, t), c2 = 1 - pow(o->beta2, t);
    const double k = sqrt((1 - o->beta2) / c2);
    number[0] = o->beta1;
    number[1] = o->beta2;
    number[2] = rate * (1 - o->beta1) / c1 / k;
    number[3] = o->eps / k;
    number[4] = 1 - rate * o->decay;
}

static ig_array *adam(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                      ig_array *const *state, ig_array **next)
{
    ig_array *const beta1 = number[0], *const beta2 = number[1];
    ig_array *const rate = number[2], *const eps = number[3], *const keep = number[4];
    ig_array *const s = next[0] = decayed(state[0], beta1, g);
    ig_array *const q = next[1] = decayed_squares(state[1], beta2, g);
    if (o->decay != 0)
        p = mul(p, keep);
    return build_formula(FORMULA_ADAM, (ig_array *[]){p, s, q, rate, eps});
}

/* ---- RMSprop ---- */

/* rate * g / (sqrt(v) + eps), with v = (1 - alpha) * q as above. Momentum is linear in it, so the constant
 * factor can be applied last. */
static void rmsprop_numbers(const ig_optimizer *o, double rate, double *number)
{
    const double k = sqrt(1 - o->beta2);
    number[0] = o->beta2;
    number[1] = o->eps / k;
    number[2] = o->beta1;
    number[3] = rate / k;
}

static ig_array *rmsprop(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                         ig_array *const *state, ig_array **next)
{
    ig_array *const alpha = number[0], *const eps = number[1];
    ig_array *const momentum = number[2], *const rate = number[3];
    ig_array *const q = next[0] = decayed_squares(state[0], alpha, g);
    g = ig_divide(g, add(ig_sqrt(q), eps));
    if (o->slots == 2)
        g = next[1] = decayed(state[1], momentum, g);
    return sub(p, mul(g, rate));
}

/* ---- Lion ---- */

/* With m = (1 - beta2) * s, the sign of beta1 * m + (1 - beta1) * g is the sign of s * k + g. */
static void lion_numbers(const ig_optimizer *o, double rate, double *number)
{
    number[0] = o->beta1 * (1 - o->beta2) / (1 - o->beta1);
    number[1] = o->beta2;
    number[2] = rate;
    number[3] = 1 - rate * o->decay;
}

static ig_array *lion(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                      ig_array *const *state, ig_array **next)
{
    ig_array *const k = number[0], *const beta2 = number[1];
    ig_array *const rate = number[2], *const keep = number[3];
    ig_array *const way = ig_sign(add(mul(state[0], k), g));
    next[0] = decayed(state[0], beta2, g);
    if (o->decay != 0)
        p = mul(p, keep);
    return sub(p, mul(way, rate));
}

const rule rule_sgd = {"sgd", {"momentum"}, 3, sgd_numbers, sgd};
const rule rule_adam = {"adam", {"sum", "squares"}, 5, adam_numbers, adam};
const rule rule_adamw = {"adamw", {"sum", "squares"}, 5, adam_numbers, adam};
const rule rule_rmsprop = {"rmsprop", {"squares", "momentum"}, 4, rmsprop_numbers, rmsprop};
const rule rule_lion = {"lion", {"sum"}, 4, lion_numbers, lion};
