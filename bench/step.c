/* The step of a small network, compiled, from C: what bench/python compares with the same step from Python. Reads a
 * number of steps from each line of stdin, and prints the seconds that one of them takes. */
#include "ingot.h"

#include <stdio.h>
#include <time.h>

enum { BATCH = 32, IN = 16, HIDDEN = 32, OUT = 8, PARAMS = 4, INPUTS = PARAMS + 2 };

static ig_array *numbers(int64_t rows, int64_t columns)
{
    return ig_normal(ig_key(1, NULL), IG_SHAPE(rows, columns), IG_F32, NULL, NULL);
}

/* loss and new parameters from w1, b1, w2, b2, x, y */
static ig_status build(ig_array *const *in, ig_array **out)
{
    ig_array *grads[PARAMS];
    ig_array *hidden = ig_relu(ig_add(ig_matmul(in[4], in[0]), in[1]));
    ig_array *error = ig_subtract(ig_add(ig_matmul(hidden, in[2]), in[3]), in[5]);
    out[0] = ig_mean(ig_multiply(error, error), IG_NONE, false);
    if (ig_grad(out[0], in, PARAMS, grads) != IG_OK)
        return IG_ERR_ARGUMENT;
    for (int i = 0; i < PARAMS; i++)
        out[1 + i] = ig_subtract(in[i], ig_multiply(grads[i], ig_float(0.01)));
    return IG_OK;
}

static ig_compiled *compile(void)
{
    ig_array *in[INPUTS] = {ig_placeholder(IG_SHAPE(IN, HIDDEN), IG_F32),
                            ig_placeholder(IG_SHAPE(1, HIDDEN), IG_F32),
                            ig_placeholder(IG_SHAPE(HIDDEN, OUT), IG_F32),
                            ig_placeholder(IG_SHAPE(1, OUT), IG_F32),
                            ig_placeholder(IG_SHAPE(BATCH, IN), IG_F32),
                            ig_placeholder(IG_SHAPE(BATCH, OUT), IG_F32)};
    ig_array *out[1 + PARAMS];
    return build(in, out) == IG_OK ? ig_compile(in, INPUTS, 0, out, 1 + PARAMS) : NULL;
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each step takes the parameters of the step before it. */
static ig_status steps(const ig_compiled *c, ig_array **in, int n)
{
    for (int i = 0; i < n; i++) {
        ig_array *out[1 + PARAMS];
        ig_scope_begin();
        const ig_status status = ig_run(c, in, out);
        for (int k = 0; k < PARAMS && status == IG_OK; k++)
            ig_replace(&in[k], out[1 + k]);
        ig_scope_end();
        if (status != IG_OK)
            return status;
    }
    return IG_OK;
}

int main(void)
{
    ig_scope_begin();
    ig_compiled *c = compile();
    ig_array *in[INPUTS] = {numbers(IN, HIDDEN), numbers(1, HIDDEN), numbers(HIDDEN, OUT),
                            numbers(1, OUT),     numbers(BATCH, IN), numbers(BATCH, OUT)};
    for (int i = 0; i < INPUTS; i++)
        ig_retain(in[i]);
    ig_status status = c ? ig_eval(in, INPUTS) : IG_ERR_ARGUMENT;
    ig_scope_end();
    int n;
    while (status == IG_OK && scanf("%d", &n) == 1) {
        const double began = now();
        status = steps(c, in, n);
        printf("%.9f\n", (now() - began) / n);
        fflush(stdout);
    }
    if (status != IG_OK)
        fprintf(stderr, "bench/step: %s\n", ig_error(NULL));
    for (int i = 0; i < INPUTS; i++)
        ig_release(in[i]);
    ig_compiled_free(c);
    return status != IG_OK;
}
