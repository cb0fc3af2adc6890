/* Random numbers come from keys, not from a hidden state: the same key gives the same bits on every
 * device and for any number of threads. Split a key to get independent numbers. */
#include <ingot.h>
#include <stdio.h>

int main(void)
{
    ig_scope_begin();

    ig_array *keys = ig_split_key(ig_key(42, NULL), 2); /* (2, 4): two keys */
    ig_array *first = ig_get(keys, &(ig_index){.kind = IG_INDEX_INT, .start = 0}, 1);
    ig_array *second = ig_get(keys, &(ig_index){.kind = IG_INDEX_INT, .start = 1}, 1);

    enum { N = 1 << 20 };
    ig_array *a = ig_normal(first, IG_SHAPE(N), IG_F32, NULL, NULL);
    ig_array *b = ig_normal(second, IG_SHAPE(N), IG_F32, NULL, NULL);
    ig_array *again = ig_normal(first, IG_SHAPE(N), IG_F32, NULL, NULL);

    /* Independent: their mean product is near 0. With itself it is the variance, near 1. The numbers
     * are drawn inside the sum and never stored. */
    printf("a . b / n = %.2f\n", ig_item(ig_vecdot(a, b, -1)) / N);
    printf("a . a / n = %.2f\n", ig_item(ig_vecdot(a, again, -1)) / N);
    printf("the same key, the same bits: %s\n",
           ig_item(ig_all(ig_equal(a, again), IG_NONE, false)) == 1 ? "yes" : "no");

    /* A loop folds its number into a key. */
    for (int i = 0; i < 3; i++) {
        ig_array *dice = ig_randint(ig_fold_in(first, i), IG_SHAPE(5), 1, 7, IG_I32);
        const int32_t *d = ig_data(dice);
        if (d)
            printf("throw %d: %d %d %d %d %d\n", i, d[0], d[1], d[2], d[3], d[4]);
    }

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
a . b / n = 0.00
a . a / n = 1.00
the same key, the same bits: yes
throw 0: 4 4 4 4 3
throw 1: 3 1 4 6 4
throw 2: 5 4 1 5 3
*/
