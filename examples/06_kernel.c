/* A kernel in CUDA C as an op: softsign, x / (1 + |x|), with its gradient as a second kernel. Parameters of
 * the gradient kernel are recognized by name: grad_y is the gradient of y, grad_x that of x. */
#include <ingot.h>
#include <stdio.h>

static const char source[] =
    "__global__ void softsign(int n, const float *x, float *y)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] = x[i] / (1 + fabsf(x[i]));\n"
    "}\n"
    "\n"
    "__global__ void softsign_grad(int n, const float *x, const float *grad_y, float *grad_x)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) {\n"
    "        float d = 1 + fabsf(x[i]);\n"
    "        grad_x[i] = grad_y[i] / (d * d);\n"
    "    }\n"
    "}\n";

/* No grid is given: there is a thread for each element of y. */
static ig_array *softsign(ig_array *x)
{
    const ig_arg args[] = {{"n", IG_ARG_INT, {.i = ig_size(x)}},
                           {"x", IG_ARG_ARRAY, {.array = x}},
                           {"y", IG_ARG_INTS, {.ints = ig_shape(x)}}};
    const ig_kernel_call gradient = {.kernel = "softsign_grad"};
    const ig_kernel_call call = {.name = "softsign.cu",
                                 .source = source,
                                 .kernel = "softsign",
                                 .args = args,
                                 .n_args = 3,
                                 .gradient = &gradient};
    ig_array *y = NULL;
    ig_kernel(&call, &y, 1);
    return y;
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
    const float numbers[] = {-3, -1, 0, 1, 3};
    ig_array *x = ig_from_data(numbers, IG_SHAPE(5), IG_F32), *g = NULL;
    ig_array *y = ig_square(softsign(x));
    ig_verify_report report = {0};

    ig_grad(ig_sum(y, IG_NONE, IG_DTYPE_NONE, false), &x, 1, &g);
    print("value    ", y);
    print("gradient ", g);
    ig_verify(&g, 1, &report);
    printf("%d operations, %d wrong\n", report.nodes, report.failed);

    const char *problem = ig_error(NULL);
    if (problem)
        fprintf(stderr, "%s\n", problem);
    ig_scope_end();
    return problem != NULL;
}

/* Prints:
value     0.5625 0.25 0 0.25 0.5625
gradient  -0.09375 -0.25 0 0.25 0.09375
... operations, 0 wrong
*/
