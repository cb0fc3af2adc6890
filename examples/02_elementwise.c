/* A chain of elementwise ops over a million numbers becomes one loop: ig_explain shows that no intermediate
 * result is stored. */
#include <ingot.h>
#include <stdio.h>

int main(void)
{
    ig_scope_begin();

    /* y = exp(-x**2 / 2) / sqrt(2 pi), for x from -5 to 5. Numbers take the dtype of the array. */
    ig_array *x = ig_linspace(-5, 5, 1000001, IG_F32, true);
    ig_array *y = ig_exp(ig_divide(ig_negative(ig_square(x)), ig_float(2)));
    y = ig_multiply(y, ig_float(0.3989422804014327));

    char *plan = ig_explain(&y, 1);
    printf("%s", plan ? plan : "");
    ig_free(plan);

    /* The area under it. The sum joins the same pass. */
    ig_array *area = ig_multiply(ig_sum(y, IG_NONE, IG_DTYPE_NONE, false), ig_float(1e-5));
    printf("area %.4f\n", ig_item(area));

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
device cpu: ... nodes in 1 program
...
area 1.0000
*/
