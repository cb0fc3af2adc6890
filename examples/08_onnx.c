/* An ONNX model: written, loaded, fine-tuned as ordinary arrays, and saved again. */
#include <ingot.h>
#include <stdio.h>

/* y = softmax(x @ w + b), as another program might have exported it. */
static void write_model(const char *path)
{
    static const char *const axes[] = {"n", NULL};
    ig_onnx_builder *b = ig_onnx_builder_new("two classes");
    ig_onnx_builder_input(b, "x", IG_ONNX_FLOAT, IG_SHAPE(-1, 2), axes);
    ig_onnx_builder_weight(b, "w", ig_zeros(IG_SHAPE(2, 2), IG_F32));
    ig_onnx_builder_weight(b, "b", ig_zeros(IG_SHAPE(2), IG_F32));
    ig_onnx_builder_node(b, "Gemm", "x w b", "z", NULL, 0);
    ig_onnx_builder_node(b, "Softmax", "z", "y", NULL, 0);
    ig_onnx_builder_output(b, "y", IG_ONNX_FLOAT, IG_SHAPE(-1, 2), axes);
    ig_onnx_builder_save(b, path);
    ig_onnx_builder_free(b);
}

/* One step of gradient descent on all weights of all layers. Returns the loss before it. */
static double step(ig_onnx *m, ig_onnx_value *x, ig_array *labels, double rate)
{
    enum { MOST = 8 };
    ig_array *weights[MOST], *grads[MOST];
    int at[MOST], n = 0;
    for (int i = 0; i < ig_onnx_weight_count(m) && n < MOST; i++)
        if (ig_onnx_weight_layer(m, i) >= 0) { /* not shapes, constants and statistics */
            at[n] = i;
            weights[n++] = ig_onnx_weight(m, i);
        }
    ig_array *loss = ig_cross_entropy(ig_onnx_logits(m, &x), labels, -1, NULL);
    if (ig_grad(loss, weights, n, grads) != IG_OK)
        return -1;
    for (int i = 0; i < n; i++) {
        ig_array *w = ig_subtract(weights[i], ig_multiply(grads[i], ig_float(rate)));
        if (!w || ig_eval(&w, 1) != IG_OK)
            return -1;
        ig_onnx_set_weight(m, at[i], w);
    }
    return ig_item(loss);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "08_onnx.onnx";
    const float points[] = {1, 0, 2, 1, 1, 3, 0, 2}; /* the class is 1 above the diagonal */
    const int64_t classes[] = {0, 0, 1, 1};
    ig_scope_begin();
    write_model(path);

    ig_onnx *m = ig_onnx_load(path);
    ig_onnx_value *x = ig_onnx_value_array(ig_from_data(points, IG_SHAPE(4, 2), IG_F32)), *y = NULL;
    ig_array *labels = ig_from_data(classes, IG_SHAPE(4), IG_I64);
    printf("layers: %d\n", ig_onnx_layer_count(m));
    for (int i = 0; i <= 100; i++) {
        const double loss = step(m, x, labels, 0.5);
        if (i % 50 == 0)
            printf("step %3d: loss %.3f\n", i, loss);
    }
    ig_onnx_save(m, path, -1);
    ig_onnx_free(m);

    m = ig_onnx_load(path); /* ONNX Runtime loads it, too */
    if (ig_onnx_run(m, &x, &y) == IG_OK)
        ig_print(ig_argmax(ig_onnx_value_get(y), IG_AXES(1), false));
    ig_onnx_value_release(y);
    ig_onnx_value_release(x);
    ig_onnx_free(m);
    remove(path);

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
layers: 1
step   0: loss 0.693
step  50: loss 0.0...
step 100: loss 0.0...
[0 0 1 1]
*/
