/* A matrix product. Builders only record nodes; reading the elements (here: ig_print) evaluates them. */
#include <ingot.h>
#include <stdio.h>

int main(void)
{
    ig_scope_begin(); /* owns every array that is made until ig_scope_end */

    const float numbers[] = {1, 2, 3, 4, 5, 6};
    ig_array *a = ig_from_data(numbers, IG_SHAPE(2, 3), IG_F32);
    ig_array *b = ig_reshape(ig_arange(0, 6, 1, IG_F32), IG_SHAPE(3, 2));
    ig_array *c = ig_matmul(a, b); /* (2, 3) @ (3, 2) is (2, 2) */

    ig_print(c);

    /* A builder that fails returns NULL, and so do builders that are given it. The message is one line. */
    ig_array *wrong = ig_add(ig_matmul(a, a), ig_float(1));
    if (!wrong)
        printf("%s\n", ig_error(NULL));

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
[[16. 22.]
 [34. 49.]]
matmul: ...
*/
