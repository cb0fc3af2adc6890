/* A custom gradient. The derivative of sign(x) is 0, so a network cannot learn through it. With the "straight
 * through" rule the gradient passes as if sign were the identity between -1 and 1. */
#include <ingot.h>
#include <stdio.h>

/* From g, the gradient of out, to that of the only input: g where |x| <= 1, else 0. */
static ig_status straight_through(void *context, ig_array *const *inputs, int n, ig_array *out,
                                  ig_array *g, ig_array **grads)
{
    (void)context, (void)n, (void)out;
    ig_array *inside = ig_less_equal(ig_abs(inputs[0]), ig_float(1));
    grads[0] = ig_where(inside, g, ig_float(0));
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_array *binary(ig_array *x)
{
    return ig_custom_grad(ig_sign(x), &x, 1, straight_through, NULL, NULL);
}

static void print(const char *label, ig_array *x)
{
    const float *data = ig_data(x);
    printf("%s", label);
    for (int64_t i = 0; data && i < ig_size(x); i++)
        printf(" %g", data[i]);
    printf("\n");
}

int main(void)
{
    ig_scope_begin();
    const float numbers[] = {-2, -0.5F, 0.25F, 3}, weights[] = {1, 2, 3, 4};
    ig_array *x = ig_from_data(numbers, IG_SHAPE(4), IG_F32);
    ig_array *w = ig_from_data(weights, IG_SHAPE(4), IG_F32);

    ig_array *plain, *own;
    ig_grad(ig_vecdot(ig_sign(x), w, -1), &x, 1, &plain);
    ig_grad(ig_vecdot(binary(x), w, -1), &x, 1, &own);
    print("value    ", binary(x));
    print("sign's   ", plain);
    print("our own  ", own);

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
value     -1 -1 1 1
sign's    0 0 0 0
our own   0 2 3 0
*/
