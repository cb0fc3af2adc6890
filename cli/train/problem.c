/* The problem that a network was trained for: the shape and the scaling of its samples and targets. */
#include "train/train.h"

#include <stdlib.h>
#include <string.h>

/* The f32 elements of x as doubles in the heap. */
static double *numbers_of(ig_array *x)
{
    const int64_t n = ig_size(x);
    const float *from = ig_data(x);
    double *numbers = heap_get(sizeof *numbers * (size_t)n);
    for (int64_t i = 0; i < n && from; i++)
        numbers[i] = (double)from[i];
    return numbers;
}

bool problem_of(problem *p, dataset *d)
{
    const ig_ints shape = ig_shape(d->train.x);
    problem_free(p);
    *p = (problem){.ndim = shape.n - 1,
                   .outputs = d->outputs,
                   .features = ig_size(d->scale),
                   .classes = d->classes,
                   .encoding = d->encoding};
    d->classes = (name_list){0};
    d->encoding = (encoding){0};
    memcpy(p->shape, shape.v + 1, (size_t)p->ndim * sizeof *p->shape);
    if (ig_scope_begin() != IG_OK)
        return false;
    p->shift = numbers_of(d->shift);
    p->scale = numbers_of(d->scale);
    if (d->regression) {
        const size_t bytes = (size_t)d->outputs * sizeof(double);
        p->y_shift = numbers_of(d->y_shift);
        p->y_deviation = heap_get(bytes);
        memcpy(p->y_deviation, d->y_deviation, bytes);
    }
    ig_scope_end();
    return !ig_failed();
}

void problem_free(problem *p)
{
    free(p->shift);
    free(p->scale);
    free(p->y_shift);
    free(p->y_deviation);
    name_list_free(&p->classes);
    encoding_free(&p->encoding);
    *p = (problem){0};
}

static ig_array *row(const double *numbers, int64_t n)
{
    float *list = heap_get(sizeof *list * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        list[i] = (float)numbers[i];
    ig_array *x = ig_from_data(list, IG_SHAPE(n), IG_F32);
    free(list);
    return x;
}

ig_array *problem_input(const problem *p, ig_array *x)
{
    x = ig_subtract(ig_astype(x, IG_F32), row(p->shift, p->features));
    return ig_multiply(x, row(p->scale, p->features));
}

ig_array *problem_output(const problem *p, ig_array *y)
{
    if (!p->y_shift)
        return ig_softmax(y, IG_AXES(-1));
    return ig_add(ig_multiply(y, row(p->y_deviation, p->outputs)), row(p->y_shift, p->outputs));
}
