/* Builders of random choices and of counts of them: choice, multinomial. */
#include "base/error.h"
#include "engine/ops/composite.h"

/* Indices of n elements, with weights p or equal ones; the elements that have been drawn are not drawn again. */
static ig_array *without_replacement(ig_array *key, int64_t n, ig_array *p, int64_t count)
{
    ig_array *order;
    if (p) { /* the largest of log(p) + Gumbel noise */
        ig_array *noise = ig_gumbel(key, IG_SHAPE(n), ig_dtype_of(p), NULL, NULL);
        order = ig_argsort(ig_add(noise, ig_log(p)), 0, true, true);
    } else
        order = ig_permutation(key, ig_int(n), 0);
    return ig_slice(order, IG_AXES(0), IG_AXES(count), IG_NONE);
}

static ig_array *with_replacement(ig_array *key, int64_t n, ig_array *p, ig_ints shape)
{
    if (!p) /* in 32 bits, as JAX draws them */
        return ig_astype(ig_randint(key, shape, 0, n, n <= INT32_MAX ? IG_I32 : IG_I64), IG_I64);
    ig_array *sums = ig_cumulative_sum(p, IG_AXES(0), IG_DTYPE_NONE, false);
    ig_array *all = ig_squeeze(ig_slice(sums, IG_AXES(n - 1), IG_AXES(n), IG_NONE), IG_AXES(0));
    ig_array *u = ig_uniform(key, shape, ig_dtype_of(p), NULL, NULL);
    return ig_searchsorted(sums, ig_multiply(all, ig_subtract(ig_float(1), u)), "left", NULL);
}

BUILDER(choice)
{
    ig_array *x = arg_array(&args[1]), *p = arg_array(&args[4]), *key = args[0].u.array;
    const void *given = x && x->weak && dtype_is_int(x->dtype) ? array_number_of(x) : NULL;
    const bool number = !x || given;
    int axis = 0;
    if (!number && infer_axis(op, args[5].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    const int64_t n = !x       ? args[1].u.i
                      : number ? (int64_t)dtype_fetch(x->dtype, given)
                               : x->view.shape[axis];
    const ig_ints shape = args[2].u.ints;
    int64_t count;
    if (infer_size(op, shape.n, shape.v, IG_I64, &count) != IG_OK)
        return 0;
    if (n < 1 && count > 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "choice: there is nothing to choose from");
    if (p && (p->view.ndim != 1 || p->view.shape[0] != n))
        FAIL_NONE(IG_ERR_SHAPE, "choice: p has a probability for each of %lld elements",
                  (long long)n);
    if (!args[3].u.b && count > n)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "choice: %lld of %lld elements cannot be drawn without repeating",
                  (long long)count, (long long)n);
    if (p)
        p = build_cast(p, p->dtype == IG_F64 ? IG_F64 : IG_F32);
    ig_array *at = args[3].u.b ? with_replacement(key, n, p, shape)
                               : ig_reshape(without_replacement(key, n, p, count), shape);
    return op_one(out, number ? at : ig_take(x, at, IG_AXES(axis)));
}

/* The first category has a binomial count, and the others share the rest in the same way. */
BUILDER(multinomial)
{
    ig_array *key = args[0].u.array, *n = args[1].u.array, *p = args[2].u.array;
    const int last = p->view.ndim - 1;
    if (last < 0 || p->view.shape[last] < 1 || p->view.shape[last] > 1024)
        FAIL_NONE(IG_ERR_SHAPE, "multinomial: the last axis of p has 1 to 1024 probabilities");
    const int k = (int)p->view.shape[last];
    const ig_ints shape =
        args[3].kind == IG_ARG_INTS ? args[3].u.ints : (ig_ints){p->view.shape, last};
    ig_array *count[1024], *part[1024], *rest = ig_broadcast_to(ig_astype(n, IG_I32), shape);
    p = build_cast(p, p->dtype == IG_F64 ? IG_F64 : IG_F32);
    ig_array *total = ig_sum(p, IG_AXES(-1), IG_DTYPE_NONE, false);
    if (!total || ig_unstack(p, last, part, 1024) != k)
        return 0;
    for (int i = 0; i < k && rest; i++) {
        ig_array *fraction = ig_clip(ig_divide(part[i], total), ig_float(0), ig_float(1));
        fraction = ig_where(ig_greater(total, ig_float(0)), fraction, ig_float(0));
        count[i] =
            i + 1 == k ? rest : ig_binomial(ig_fold_in(key, i), rest, fraction, shape, IG_I32);
        rest = ig_subtract(rest, count[i]);
        total = ig_subtract(total, part[i]);
    }
    if (!rest)
        return 0;
    return op_one(out, ig_astype(ig_stack(count, k, -1), args[4].u.dtype));
}

/* Poisson counts whose rates are gamma distributed. */
BUILDER(negative_binomial)
{
    ig_array *in[2] = {args[1].u.array, args[2].u.array}, *keys = ig_split_key(args[0].u.array, 2);
    ig_array *key[2];
    ig_dtype dtype;
    int64_t own[IG_MAX_NDIM];
    int ndim;
    if (infer_broadcast(op, in, 2, &ndim, own) != IG_OK ||
        composite_floats(op, in, 2, &dtype) != IG_OK || ig_unstack(keys, 0, key, 2) != 2)
        return 0;
    const ig_ints shape = args[3].kind == IG_ARG_INTS ? args[3].u.ints : (ig_ints){own, ndim};
    ig_array *ratio = ig_divide(ig_subtract(ig_float(1), in[1]), in[1]);
    ig_array *rate = ig_random_gamma(key[0], in[0], shape, ig_dtype_of(in[0]), NULL);
    return op_one(out, ig_poisson(key[1], ig_multiply(rate, ratio), shape, args[4].u.dtype));
}
