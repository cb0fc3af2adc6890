/* Trains a network with 32-128-10 units on random data: it learns a random linear map. */
#include <ingot.h>
#include <stdio.h>

enum { EXAMPLES = 1024, INPUTS = 32, HIDDEN = 128, CLASSES = 10, EPOCHS = 5, BATCH = 64 };

/* The forward function is the whole description: layers make their parameters at the first call. */
static ig_array *net(ig_model *m, ig_array *x)
{
    x = ig_relu(ig_nn_linear(m, "hidden", x, HIDDEN, true));
    return ig_nn_linear(m, "out", x, CLASSES, true);
}

static ig_array *rows(ig_array *x, int start)
{
    return ig_get(x, &(ig_index){IG_INDEX_SLICE, start, start + BATCH, 1, NULL}, 1);
}

/* One pass over the data; returns the mean loss. */
static double epoch(ig_model *m, ig_optimizer *o, ig_array *x, ig_array *labels)
{
    double sum = 0;
    for (int start = 0; start < EXAMPLES; start += BATCH) {
        double loss = 0;
        ig_scope_begin(); /* what a step makes ends with it; model and optimizer stay */
        ig_array *logits = net(m, rows(x, start));
        ig_step(o, m, ig_cross_entropy(logits, rows(labels, start), -1, NULL), &loss, NULL, 0);
        ig_scope_end();
        sum += loss * BATCH;
    }
    return sum / EXAMPLES;
}

int main(void)
{
    ig_scope_begin();
    ig_array *x = ig_normal(ig_key(1, NULL), IG_SHAPE(EXAMPLES, INPUTS), IG_F32, NULL, NULL);
    ig_array *map = ig_normal(ig_key(2, NULL), IG_SHAPE(INPUTS, CLASSES), IG_F32, NULL, NULL);
    ig_array *labels = ig_argmax(ig_matmul(x, map), IG_AXES(-1), false);
    ig_eval((ig_array *[]){x, labels}, 2); /* once, not in every step */

    ig_model *m = ig_model_new(0);
    ig_optimizer *o = ig_adam(1e-2, 0.9, 0.999, 1e-8);
    for (int e = 1; e <= EPOCHS && !ig_failed(); e++)
        printf("epoch %d loss %.2f\n", e, epoch(m, o, x, labels));

    ig_array *right = ig_equal(ig_argmax(net(m, x), IG_AXES(-1), false), labels);
    double accuracy = ig_item(ig_mean(ig_astype(right, IG_F32), IG_NONE, false));
    printf("accuracy above 90 %%: %s\n", accuracy > 0.9 ? "yes" : "no");

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_optimizer_free(o);
    ig_model_free(m);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
epoch 1 loss ...
epoch 2 loss ...
epoch 3 loss ...
epoch 4 loss ...
epoch 5 loss ...
accuracy above 90 %: yes
*/
