/* Training samples: the built-in digits, or idx files with MNIST's names. file.c reads the user's own files.
 *
 * File contents are validated here. Afterwards each label is below dataset.outputs, and all samples have the same
 * shape. */
#include "train/train.h"

#include "train/digits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- samples -------------------------------------------------------------------------------- */

static void samples_free(samples *p)
{
    ig_release(p->x);
    ig_release(p->y);
    free(p->labels);
    *p = (samples){0};
}

void dataset_free(dataset *d)
{
    samples_free(&d->train);
    samples_free(&d->test);
    ig_release(d->shift);
    ig_release(d->scale);
    ig_release(d->y_shift);
    free(d->y_deviation);
    name_list_free(&d->classes);
    encoding_free(&d->encoding);
}

ig_array *samples_pick(const dataset *d, const samples *p, const int64_t *indices, int64_t n)
{
    ig_array *at = ig_from_data(indices, IG_SHAPE(n), IG_I64);
    ig_array *x = ig_astype(ig_take(p->x, at, IG_AXES(0)), IG_F32);
    return ig_multiply(ig_subtract(x, d->shift), d->scale);
}

ig_array *samples_labels(const samples *p, const int64_t *indices, int64_t n)
{
    int64_t *labels = heap_get(sizeof *labels * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        labels[i] = p->labels[indices[i]];
    ig_array *x = ig_from_data(labels, IG_SHAPE(n), IG_I64);
    free(labels);
    return x;
}

ig_array *samples_targets(const dataset *d, const samples *p, const int64_t *indices, int64_t n)
{
    float *scale = heap_get(sizeof *scale * (size_t)d->outputs);
    for (int64_t i = 0; i < d->outputs; i++)
        scale[i] = (float)(1 / d->y_deviation[i]);
    ig_array *y = ig_take(p->y, ig_from_data(indices, IG_SHAPE(n), IG_I64), IG_AXES(0));
    y = ig_multiply(ig_subtract(y, d->y_shift), ig_from_data(scale, IG_SHAPE(d->outputs), IG_F32));
    free(scale);
    return y;
}

int64_t epochs_for(int64_t n) { return n < 10000 ? 40 : 5; }

bool dataset_white(dataset *d, double white)
{
    return ig_replace(&d->shift, ig_scalar(0, IG_F32)) == IG_OK &&
           ig_replace(&d->scale, ig_scalar(1 / white, IG_F32)) == IG_OK;
}

void dataset_empty_classes(const dataset *d, str *t)
{
    enum { SHOWN = 8 };
    if (d->regression)
        return;
    int64_t *counts = heap_get(sizeof *counts * (size_t)d->outputs), empty = 0, shown = 0;
    for (int64_t i = 0; i < d->train.count; i++)
        counts[d->train.labels[i]]++;
    for (int64_t i = 0; i < d->outputs; i++)
        empty += counts[i] == 0;
    if (empty)
        str_puts(t, empty > 1 ? "classes " : "class ");
    for (int64_t i = 0; i < d->outputs && shown < SHOWN; i++)
        if (counts[i] == 0) {
            str_puts(t, !shown ? "" : shown + 1 == empty ? " and " : ", ");
            if (d->classes.n)
                str_visible(t, d->classes.at[i]);
            else
                str_printf(t, "%lld", (long long)i);
            shown++;
        }
    if (empty > shown)
        str_printf(t, " and %lld more", (long long)(empty - shown));
    free(counts);
}

bool samples_split(ig_array *x, ig_array *y, bool held_back, ig_array **x_part, ig_array **y_part)
{
    int64_t count = ig_dim(x, 0), n = 0;
    int64_t *indices = heap_get(sizeof *indices * (size_t)count);
    for (int64_t i = 0; i < count; i++)
        if ((i % HELD_BACK == HELD_BACK - 1) == held_back)
            indices[n++] = i;
    ig_array *at = ig_from_data(indices, IG_SHAPE(n), IG_I64);
    free(indices);
    *x_part = ig_take(x, at, IG_AXES(0));
    *y_part = ig_take(y, at, IG_AXES(0));
    return *x_part && *y_part;
}

/* ---- images and labels of u8 ------------------------------------------------------------------ */

/* Checks images and labels, which belong to the open scope. `file` names them in messages. */
static bool images_check(const command *c, const char *file, ig_array *images, ig_array *labels)
{
    if (ig_dtype_of(images) != IG_U8 || ig_ndim(images) != 3)
        say(c, "%s: the images are %s with %d axes, not u8 with 3; give MNIST's own files", file,
            ig_dtype_name(ig_dtype_of(images)), ig_ndim(images));
    else if (ig_dtype_of(labels) != IG_U8 || ig_ndim(labels) != 1)
        say(c, "%s: the labels are %s with %d axes, not u8 with 1; give MNIST's own files", file,
            ig_dtype_name(ig_dtype_of(labels)), ig_ndim(labels));
    else if (ig_dim(images, 0) != ig_dim(labels, 0))
        say(c, "%s: there are %lld images and %lld labels; each image needs one label", file,
            (long long)ig_dim(images, 0), (long long)ig_dim(labels, 0));
    else if (ig_size(images) == 0)
        say(c, "%s: it has no images", file);
    else
        return true;
    return false;
}

static int images_fill(const command *c, samples *p, const char *file, ig_array *images,
                       ig_array *labels)
{
    if (!images || !labels) {
        int code = fail_library(c);
        return code == EXIT_ABSENT ? EXIT_INPUT : code; /* a compressed file */
    }
    if (!images_check(c, file, images, labels))
        return EXIT_INPUT;
    const uint8_t *numbers = ig_data(labels);
    if (!numbers || !ig_data(images))
        return fail_library(c);
    *p = (samples){.x = ig_retain(images), .count = ig_dim(images, 0)};
    p->labels = heap_get(sizeof *p->labels * (size_t)p->count);
    for (int64_t i = 0; i < p->count; i++) {
        p->labels[i] = numbers[i];
        if (numbers[i] >= DIGIT_CLASSES) {
            say(c, "%s: label %lld is %d; labels are 0 to %d", file, (long long)i, numbers[i],
                DIGIT_CLASSES - 1);
            return EXIT_INPUT;
        }
    }
    return -1;
}

/* ---- the digits in the command ---------------------------------------------------------------- */

static int digits_open(const command *c, dataset *d)
{
    digits_file images = digits_images(), labels = digits_labels();
    ig_array *x = ig_idx_from_memory(images.bytes, images.n);
    ig_array *y = ig_idx_from_memory(labels.bytes, labels.n);
    samples *parts[] = {&d->train, &d->test};
    int code = x && y && dataset_white(d, 16) ? -1 : fail_library(c);
    d->epochs = 40;
    for (int i = 0; i < 2 && code < 0; i++) {
        ig_array *some_x = NULL, *some_y = NULL;
        samples_split(x, y, i == 1, &some_x, &some_y);
        code = images_fill(c, parts[i], "digits", some_x, some_y);
    }
    return code;
}

/* ---- idx files ------------------------------------------------------------------------------ */

/* Opens folder/stem-idx3-ubyte; some files have a '.' before idx. */
static ig_array *idx_open(const char *folder, const char *stem, const char *kind, str *path)
{
    struct stat info;
    path->n = 0;
    str_printf(path, "%s/%s.%s", folder, stem, kind);
    if (stat(path->s, &info) != 0) {
        path->n = 0;
        str_printf(path, "%s/%s-%s", folder, stem, kind);
    }
    return ig_load_idx(path->s);
}

static int mnist_part(const command *c, samples *p, const char *folder, const char *stem)
{
    str images_path = {0}, labels_path = {0}, stem_part = {0};
    str_printf(&stem_part, "%s-images", stem);
    ig_array *images = idx_open(folder, stem_part.s, "idx3-ubyte", &images_path);
    stem_part.n = 0;
    str_printf(&stem_part, "%s-labels", stem);
    ig_array *labels = images ? idx_open(folder, stem_part.s, "idx1-ubyte", &labels_path) : NULL;
    int code = images_fill(c, p, labels_path.s, images, labels);
    str_free(&images_path);
    str_free(&labels_path);
    str_free(&stem_part);
    return code;
}

static int mnist_open(const command *c, dataset *d, const char *folder)
{
    d->epochs = 5; /* there are many more images */
    int code = dataset_white(d, 255) ? mnist_part(c, &d->train, folder, "train") : fail_library(c);
    if (code < 0)
        code = mnist_part(c, &d->test, folder, "t10k");
    if (code >= 0)
        return code;
    const ig_array *a = d->train.x, *b = d->test.x;
    if (ig_dim(a, 1) == ig_dim(b, 1) && ig_dim(a, 2) == ig_dim(b, 2))
        return -1;
    say(c, "%s: images to learn from are %lld x %lld, and those to test with %lld x %lld", folder,
        (long long)ig_dim(a, 1), (long long)ig_dim(a, 2), (long long)ig_dim(b, 1),
        (long long)ig_dim(b, 2));
    return EXIT_INPUT;
}

/* ---- by name -------------------------------------------------------------------------------- */

/* True if the name is a file name; other names are data sets. */
static bool is_file(const char *name)
{
    static const char *const ends[] = {".npz", ".safetensors", ".csv", ".tsv"};
    for (int i = 0; i < 4; i++)
        if (str_ends(name, ends[i]))
            return true;
    return strchr(name, '/') != NULL;
}

static int check_name(const command *c, const char *name, const char *folder)
{
    static const char *const names[] = {"digits", "mnist"};
    nearest search = nearest_to(name);
    bool known = is_file(name);
    for (int i = 0; i < 2; i++) {
        known |= strcmp(name, names[i]) == 0;
        nearest_offer(&search, names[i]);
    }
    if (known && folder && strcmp(name, "digits") != 0 && strcmp(name, "mnist") != 0) {
        say(c, "--data is the folder of mnist, and %s is a file", name);
        return EXIT_USAGE;
    }
    if (known && !folder && strcmp(name, "mnist") == 0) {
        say(c, "mnist is not part of the command: give its folder with --data DIR");
        return EXIT_USAGE;
    }
    if (known)
        return -1;
    str hint = {0};
    str_did_you_mean(&hint, &search);
    say(c, "unknown data set '%s'%s", name,
        hint.n ? hint.s : "; there are digits, mnist, FILE.npz, FILE.csv and FOLDER");
    str_free(&hint);
    return EXIT_USAGE;
}

int dataset_open(const command *c, dataset *d, const char *name, const char *folder,
                 const char *target)
{
    int code = check_name(c, name, folder);
    if (code >= 0)
        return code;
    if (d->regression && !is_file(name)) {
        say(c, "--loss mse is for the targets of a file; %s has classes", name);
        return EXIT_USAGE;
    }
    if (target && !table_is(name)) {
        say(c, "--target names a column of a .csv or .tsv file, and %s is not one", name);
        return EXIT_USAGE;
    }
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    d->outputs = DIGIT_CLASSES;
    code = is_file(name) ? file_open(c, d, name, target)
           : folder      ? mnist_open(c, d, folder)
                         : digits_open(c, d);
    ig_scope_end();
    return code;
}
