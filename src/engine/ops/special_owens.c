/* Builder of Owen's T function. */
#include "engine/ops/special.h"

/* Gaussian quadrature of an even function over [-1, 1], of order 40 and 18: the squares of positive nodes, and weights. */
typedef struct node {
    double square, weight;
} node;

static const node nodes_f64[20] = {
    {0.0015033003592635162, 0.0775059479784248}, {0.013475511464537647, 0.07703981816424797},
    {0.03713235760816143, 0.07611036190062624},  {0.0719055943241644, 0.07472316905796826},
    {0.11695995815973713, 0.07288658239580406},  {0.17121322997039845, 0.07061164739128678},
    {0.23336223017474425, 0.0679120458152339},   {0.3019141215603053, 0.06480401345660104},
    {0.3752222677473721, 0.06130624249292894},   {0.45152578599767995, 0.05743976909939155},
    {0.5289918443325199, 0.05322784698393682},   {0.6057596870424587, 0.04869580763507223},
    {0.6799853312398909, 0.04387090818567327},   {0.7498858612036233, 0.038782167974472016},
    {0.8137822575346664, 0.033460195282547844},  {0.870139735288751, 0.0279370069800234},
    {0.917604632532668, 0.02224584919416696},    {0.955037009842289, 0.01642105838190789},
    {0.9815384800475735, 0.010498284531152813},  {0.9964785250881827, 0.004521277098533191}};

static const node nodes_f32[9] = {
    {0.00718680283622639, 0.1691423829631436}, {0.06344667069311205, 0.16427648374583273},
    {0.1695390189659999, 0.15468467512626524}, {0.3133433833212179, 0.14064291467065065},
    {0.4784309655375749, 0.12255520671147846}, {0.6459416610770251, 0.10094204410628717},
    {0.7967391631975201, 0.07642573025488905}, {0.913599422574266, 0.0497145488949698},
    {0.9832014832256292, 0.02161601352648331}};

/* T(h, a) for h >= 0 and 0 <= a <= 1, divided by exp(-h^2 / 2). Beyond a = `end` / h, the integrand is below one unit in
 * the last place of the integral. */
static ig_array *owens_of(ig_array *h, ig_array *a)
{
    const bool wide = special_is_f64(h);
    const node *nodes = wide ? nodes_f64 : nodes_f32;
    const int n = wide ? 20 : 9;
    const double end = wide ? 8.5 : 5.6;
    ig_array *reach = ig_minimum(a, special_over(end, ig_maximum(h, ig_float(1))));
    ig_array *c = ig_square(reach), *power = ig_times(ig_square(ig_multiply(h, reach)), -0.5);
    ig_array *sum = NULL;
    for (int i = 0; i < n; i++) {
        ig_array *term = ig_exp(ig_times(power, nodes[i].square));
        term = ig_divide(ig_times(term, nodes[i].weight), ig_plus(ig_times(c, nodes[i].square), 1));
        sum = sum ? ig_add(sum, term) : term;
    }
    return ig_times(ig_multiply(sum, reach), 0.5 / M_PI);
}

/* The slope in h: -exp(-h^2 / 2) erf(a h / sqrt(2)) / sqrt(8 pi). */
static ig_array *slope_h(ig_array *const *x, ig_array *y)
{
    (void)y;
    ig_array *part = ig_erf(ig_times(ig_multiply(x[0], x[1]), M_SQRT1_2));
    return ig_times(ig_multiply(special_gauss(x[0], -0.5), part), -1 / sqrt(8 * M_PI));
}

static ig_array *slope_a(ig_array *const *x, ig_array *y)
{
    (void)y;
    ig_array *both =
        ig_multiply(special_gauss(x[0], -0.5), special_gauss(ig_multiply(x[0], x[1]), -0.5));
    return ig_divide(ig_times(both, 0.5 / M_PI), ig_plus(ig_square(x[1]), 1));
}

/* Above 1, with the tails p of h and q of a h: (p + q) / 2 - p q - T(a h, 1 / a). */
BUILDER(owens_t)
{
    static const special_slopes slopes = {{slope_h, slope_a}};
    ig_array *in[2] = {args[0].u.array, args[1].u.array}, *one = ig_float(1);
    ig_dtype dtype;
    if (special_floats(op, in, 2, &dtype) != IG_OK)
        return 0;
    ig_array *h_in = ig_abs(in[0]), *a_in = ig_abs(in[1]), *is_steep = ig_greater(a_in, one);
    /* Beyond 64, all of it is 0. */
    ig_array *h = ig_minimum(h_in, ig_float(64)), *steep = ig_where(is_steep, a_in, one);
    ig_array *product = ig_where(special_is(h, 0), h, ig_multiply(h, steep));
    product = ig_minimum(product, ig_float(64));
    ig_array *at = ig_where(is_steep, product, h);
    ig_array *y = owens_of(at, ig_where(is_steep, ig_reciprocal(steep), a_in));
    y = ig_multiply(y, special_gauss(at, -0.5));
    ig_array *p = special_tail(h), *q = special_tail(product);
    ig_array *rest = ig_subtract(ig_times(ig_add(p, q), 0.5), ig_multiply(p, q));
    y = ig_where(is_steep, ig_subtract(rest, y), y);
    y = ig_where(ig_isnan(ig_add(h_in, a_in)), ig_float(NAN), ig_copysign(y, in[1]));
    return composite_result(out, special_with_slopes(y, in, 2, &slopes), dtype);
}
