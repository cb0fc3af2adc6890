/* The user's own data: named arrays of an .npz or .safetensors file, or a .csv or .tsv table with a column y (table.h).
 *
 *   x (n, ...)  samples: numbers of any dtype       also x_train, X, X_train, data, images
 *   y (n,)      their classes, whole numbers from 0  also y_train, Y, labels, target, targets
 *               or with --loss mse (n,) or (n, k) targets: numbers, which are standardized, too
 *
 * x_test (X_test) and y_test (Y_test) are the test samples. Without them every sixth sample is held out for the test.
 * Bytes are divided by 255. Other numbers are standardized to mean 0 and standard deviation 1 of the training samples:
 * per feature for rows of numbers, over all pixels for images. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 65536 };

static const char *const x_names[] = {"x", "x_train", "X", "X_train", "data", "images", NULL};
static const char *const y_names[] = {"y", "y_train", "Y", "labels", "target", "targets", NULL};
static const char *const x_test_names[] = {"x_test", "X_test", NULL};
static const char *const y_test_names[] = {"y_test", "Y_test", NULL};

/* The file being read, for messages. */
typedef struct source {
    const command *c;
    const char *path;
    const ig_tensors *arrays;
} source;

/* An array and its name in the file. */
typedef struct column {
    const char *name;
    ig_array *a; /* NULL: not in the file */
} column;

static column find_array(const source *f, const char *const *names)
{
    for (; *names; names++) {
        ig_array *a = ig_tensors_get(f->arrays, *names);
        if (a)
            return (column){*names, a};
    }
    return (column){NULL, NULL};
}

static int fail_missing(const source *f, const char *what, const char *const *names)
{
    str t = {0}, has = {0};
    for (int i = 0; names[i]; i++)
        str_printf(&t, "%s%s", i ? ", " : "", names[i]);
    for (int i = 0; i < ig_tensors_count(f->arrays) && has.n < 200; i++)
        str_printf(&has, "%s%s", i ? ", " : "", ig_tensors_name(f->arrays, i));
    say(f->c, "%s: there are no %s: no array is named %s; the file has %s", f->path, what, t.s,
        has.n ? has.s : "no arrays");
    str_free(&t);
    str_free(&has);
    return EXIT_INPUT;
}

static void str_shape(str *t, const ig_array *a)
{
    ig_ints shape = ig_shape(a);
    str_puts(t, "(");
    for (int i = 0; i < shape.n; i++)
        str_printf(t, "%s%lld", i ? ", " : "", (long long)shape.v[i]);
    str_puts(t, shape.n == 1 ? ",)" : ")");
}

/* "FILE: x has shape (3,), but ..." */
static int fail_shape(const source *f, const column *a, const char *why)
{
    str t = {0};
    str_shape(&t, a->a);
    say(f->c, "%s: %s has shape %s, but %s", f->path, a->name, t.s, why);
    str_free(&t);
    return EXIT_INPUT;
}

static int check_shapes(const source *f, const column *x, const column *y, bool regression)
{
    const int64_t n = ig_ndim(x->a) ? ig_dim(x->a, 0) : 0;
    char why[160];
    if (ig_ndim(x->a) < 2)
        return fail_shape(f, x,
                          "samples need a first axis for their number and one for their features");
    if (ig_size(x->a) == 0)
        return fail_shape(f, x, "it has no samples");
    if (regression && (ig_ndim(y->a) < 1 || ig_ndim(y->a) > 2 || ig_size(y->a) == 0))
        return fail_shape(f, y, "targets are (n,) or (n, k)");
    if (!regression && ig_ndim(y->a) == 2 && ig_dim(y->a, 1) > 1)
        return fail_shape(f, y, "a sample has one label; of one-hot rows take argmax(y, axis=1)");
    if (!regression && (ig_ndim(y->a) < 1 || ig_size(y->a) != ig_dim(y->a, 0)))
        return fail_shape(f, y, "a sample has one label");
    snprintf(why, sizeof why, "%s has %lld samples; each needs one label", x->name, (long long)n);
    return ig_dim(y->a, 0) == n ? -1 : fail_shape(f, y, why);
}

/* Copies the labels, which must be integers >= 0. Raises *classes to the largest label + 1. */
static int read_labels(const source *f, const column *y, int64_t *out, int64_t *classes)
{
    const int64_t n = ig_size(y->a);
    double *numbers = heap_get(sizeof *numbers * (size_t)n);
    int code = -1;
    if (ig_read(ig_reshape(ig_astype(y->a, IG_F64), IG_SHAPE(n)), numbers,
                sizeof *numbers * (size_t)n) != IG_OK)
        code = fail_library(f->c);
    for (int64_t i = 0; i < n && code < 0; i++) {
        const double label = numbers[i];
        if (!(label >= 0 && label < CLASSES_MOST && label == floor(label))) {
            say(f->c,
                "%s: %s[%lld] is %g; labels are whole numbers from 0 to %d; for numbers to predict "
                "give --loss mse",
                f->path, y->name, (long long)i, label, CLASSES_MOST - 1);
            code = EXIT_INPUT;
            break;
        }
        out[i] = (int64_t)label;
        *classes = out[i] >= *classes ? out[i] + 1 : *classes;
    }
    free(numbers);
    return code;
}

static int check_finite(const source *f, const column *x)
{
    if (!ig_isdtype(ig_dtype_of(x->a), "real floating"))
        return -1;
    const bool all = ig_item(ig_all(ig_isfinite(x->a), IG_NONE, false)) != 0;
    if (ig_failed())
        return fail_library(f->c);
    if (!all)
        say(f->c, "%s: %s has values that are NaN or infinite; replace them first", f->path,
            x->name);
    return all ? -1 : EXIT_INPUT;
}

/* The targets as (n, k) in f32. */
static int read_targets(const source *f, samples *p, const column *y, int64_t *outputs)
{
    const int64_t k = ig_ndim(y->a) == 2 ? ig_dim(y->a, 1) : 1;
    ig_array *t = ig_reshape(ig_astype(y->a, IG_F32), IG_SHAPE(p->count, k));
    if (!t || ig_eval(&t, 1) != IG_OK)
        return fail_library(f->c);
    if (*outputs && *outputs != k)
        return fail_shape(f, y, "its samples must have as many targets as those to learn from");
    *outputs = k;
    p->y = ig_retain(t);
    return check_finite(f, &(column){y->name, t});
}

static int fill(const source *f, dataset *d, samples *p, const column *x, const column *y)
{
    int code = check_shapes(f, x, y, d->regression);
    if (code >= 0)
        return code;
    if (ig_eval((ig_array *[]){x->a}, 1) != IG_OK) /* once, instead of in every step */
        return fail_library(f->c);
    *p = (samples){.x = ig_retain(x->a), .count = ig_dim(x->a, 0)};
    if (d->regression) {
        code = read_targets(f, p, y, &d->outputs);
    } else {
        p->labels = heap_get(sizeof *p->labels * (size_t)p->count);
        code = read_labels(f, y, p->labels, &d->outputs);
    }
    return code < 0 ? check_finite(f, x) : code;
}

/* Computes the scaling of targets from the training samples. */
static int find_target_scale(const source *f, dataset *d)
{
    const size_t bytes = (size_t)d->outputs * sizeof(double);
    ig_array *shift = ig_mean(d->train.y, IG_AXES(0), false);
    ig_array *deviation = ig_astype(ig_std(d->train.y, IG_AXES(0), 0, false), IG_F64);
    d->y_deviation = heap_get(bytes);
    if (!shift || ig_eval(&shift, 1) != IG_OK || ig_read(deviation, d->y_deviation, bytes) != IG_OK)
        return fail_library(f->c);
    d->y_shift = ig_retain(shift);
    for (int64_t i = 0; i < d->outputs; i++)
        if (!(d->y_deviation[i] > 0)) {
            say(f->c, "%s: all targets to learn from are equal%s; there is nothing to learn",
                f->path, d->outputs > 1 ? " in one column" : "");
            return EXIT_INPUT;
        }
    return -1;
}

/* Computes the scaling of samples from the training samples. */
static int find_scale(const source *f, dataset *d)
{
    ig_array *x = ig_astype(d->train.x, IG_F32);
    const bool rows = ig_ndim(x) == 2;
    if (ig_dtype_of(d->train.x) == IG_U8)
        return dataset_white(d, 255) ? -1 : fail_library(f->c);
    ig_ints axes = rows ? IG_AXES(0) : IG_NONE;
    ig_array *shift = ig_mean(x, axes, false), *deviation = ig_std(x, axes, 0, false);
    ig_array *one = ig_ones_like(deviation, IG_DTYPE_NONE);
    ig_array *scale = ig_divide(one, ig_where(ig_greater(deviation, ig_float(0)), deviation, one));
    ig_array *both[] = {shift, scale};
    if (!shift || !scale || ig_eval(both, 2) != IG_OK)
        return fail_library(f->c);
    d->shift = ig_retain(shift);
    d->scale = ig_retain(scale);
    return -1;
}

static int read_arrays(const source *f, dataset *d)
{
    column x = find_array(f, x_names), y = find_array(f, y_names);
    column x_test = find_array(f, x_test_names), y_test = find_array(f, y_test_names);
    if (!x.a)
        return fail_missing(f, "samples", x_names);
    if (!y.a)
        return fail_missing(f, "labels", y_names);
    if (!x_test.a != !y_test.a)
        return fail_missing(f, x_test.a ? "labels to test with" : "samples to test with",
                            x_test.a ? y_test_names : x_test_names);
    int code = check_shapes(f, &x, &y, d->regression);
    if (code >= 0)
        return code;
    if (!x_test.a) {
        column whole_x = x, whole_y = y;
        if (ig_dim(x.a, 0) < HELD_BACK)
            return fail_shape(f, &x, "at least 6 samples are needed, or x_test and y_test");
        x_test = x;
        y_test = y;
        if (!samples_split(whole_x.a, whole_y.a, false, &x.a, &y.a) ||
            !samples_split(whole_x.a, whole_y.a, true, &x_test.a, &y_test.a))
            return fail_library(f->c);
    }
    d->outputs = 0;
    code = fill(f, d, &d->train, &x, &y);
    if (code < 0)
        code = fill(f, d, &d->test, &x_test, &y_test);
    if (code >= 0)
        return code;
    for (int i = 1; i < ig_ndim(x.a) || i < ig_ndim(x_test.a); i++)
        if (ig_ndim(x.a) != ig_ndim(x_test.a) || ig_dim(x.a, i) != ig_dim(x_test.a, i))
            return fail_shape(f, &x_test, "its samples must have the shape of those to learn from");
    if (!d->regression && d->outputs < 2) {
        say(f->c, "%s: all labels are 0; at least two classes are needed", f->path);
        return EXIT_INPUT;
    }
    d->epochs = epochs_for(d->train.count);
    code = d->regression ? find_target_scale(f, d) : -1;
    return code < 0 ? find_scale(f, d) : code;
}

/* Loads a table as the arrays x and y. */
static ig_tensors *table_load(const char *path, const char *target, dataset *d)
{
    ig_array *x, *y;
    ig_tensors *set = ig_tensors_new();
    if (set && table_learn(path, target, d->regression, &d->encoding, &x, &y, &d->classes)) {
        ig_tensors_put(set, "x", x);
        ig_tensors_put(set, "y", y);
    }
    if (!ig_failed())
        return set;
    ig_tensors_free(set);
    return NULL;
}

int file_open(const command *c, dataset *d, const char *path, const char *target)
{
    ig_tensors *arrays = table_is(path) ? table_load(path, target, d) : ig_tensors_load(path);
    if (!arrays) {
        fail_library(c);
        return EXIT_INPUT;
    }
    const source f = {c, path, arrays};
    const int code = read_arrays(&f, d);
    ig_tensors_free(arrays);
    return code;
}
