/* Pictures to learn from: the digits that the command carries, or idx files with MNIST's names.
 *
 * Whatever a file says is checked here: from then on there is a label below CLASSES for each picture,
 * and all pictures have one size. */
#include "train/digits.h"
#include "train/train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HELD_BACK = 6 }; /* of the carried digits, one in this many is for testing */

/* ---- pictures ------------------------------------------------------------------------------- */

static void pictures_free(pictures *p)
{
    ig_release(p->images);
    free(p->labels);
    *p = (pictures){0};
}

void dataset_free(dataset *d)
{
    pictures_free(&d->train);
    pictures_free(&d->test);
}

ig_array *pictures_pick(const dataset *d, const pictures *p, const int64_t *indices, int64_t n)
{
    ig_array *at = ig_from_data(indices, IG_SHAPE(n), IG_I64);
    ig_array *x = ig_astype(ig_take(p->images, at, IG_AXES(0)), IG_F32);
    return ig_multiply(x, ig_float(1 / d->white));
}

ig_array *pictures_labels(const pictures *p, const int64_t *indices, int64_t n)
{
    int64_t *labels = heap_get(sizeof *labels * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        labels[i] = p->labels[indices[i]];
    ig_array *x = ig_from_data(labels, IG_SHAPE(n), IG_I64);
    free(labels);
    return x;
}

/* Both belong to the scope that is open; file names them in messages. */
static bool pictures_check(const command *c, const char *file, ig_array *images, ig_array *labels)
{
    if (ig_dtype_of(images) != IG_U8 || ig_ndim(images) != 3)
        say(c, "%s: the images are %s with %d axes, not u8 with 3; give MNIST's own files", file,
            ig_dtype_name(ig_dtype_of(images)), ig_ndim(images));
    else if (ig_dtype_of(labels) != IG_U8 || ig_ndim(labels) != 1)
        say(c, "%s: the labels are %s with %d axes, not u8 with 1; give MNIST's own files", file,
            ig_dtype_name(ig_dtype_of(labels)), ig_ndim(labels));
    else if (ig_dim(images, 0) != ig_dim(labels, 0))
        say(c, "%s: there are %lld images and %lld labels; they must be as many", file,
            (long long)ig_dim(images, 0), (long long)ig_dim(labels, 0));
    else if (ig_size(images) == 0)
        say(c, "%s: there are no images in it", file);
    else
        return true;
    return false;
}

static int pictures_fill(const command *c, pictures *p, const char *file, ig_array *images,
                         ig_array *labels)
{
    if (!images || !labels) {
        int code = fail_library(c);
        return code == EXIT_ABSENT ? EXIT_INPUT : code; /* a packed file */
    }
    if (!pictures_check(c, file, images, labels))
        return EXIT_INPUT;
    const uint8_t *numbers = ig_data(labels);
    if (!numbers || !ig_data(images))
        return fail_library(c);
    *p = (pictures){ig_retain(images), NULL, ig_dim(images, 0), ig_dim(images, 1),
                    ig_dim(images, 2)};
    p->labels = heap_get(sizeof *p->labels * (size_t)p->count);
    for (int64_t i = 0; i < p->count; i++) {
        p->labels[i] = numbers[i];
        if (numbers[i] >= CLASSES) {
            say(c, "%s: label %lld is %d; labels are 0 to %d", file, (long long)i, numbers[i],
                CLASSES - 1);
            return EXIT_INPUT;
        }
    }
    return -1;
}

/* ---- the digits that are carried ------------------------------------------------------------- */

/* Those whose number leaves the last rest, or all the others. */
static int digits_part(const command *c, pictures *p, ig_array *images, ig_array *labels,
                       bool held_back)
{
    int64_t count = ig_dim(images, 0), n = 0;
    int64_t *indices = heap_get(sizeof *indices * (size_t)count);
    for (int64_t i = 0; i < count; i++)
        if ((i % HELD_BACK == HELD_BACK - 1) == held_back)
            indices[n++] = i;
    ig_array *at = ig_from_data(indices, IG_SHAPE(n), IG_I64);
    free(indices);
    return pictures_fill(c, p, "digits", ig_take(images, at, IG_AXES(0)),
                         ig_take(labels, at, IG_AXES(0)));
}

static int digits_open(const command *c, dataset *d)
{
    digits_file images = digits_images(), labels = digits_labels();
    ig_array *x = ig_idx_from_memory(images.bytes, images.n);
    ig_array *y = ig_idx_from_memory(labels.bytes, labels.n);
    if (!x || !y)
        return fail_library(c);
    d->white = 16;
    d->epochs = 40;
    int code = digits_part(c, &d->train, x, y, false);
    return code < 0 ? digits_part(c, &d->test, x, y, true) : code;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* folder/stem-idx3-ubyte, or with a '.' before idx, as some have it. */
static ig_array *file_open(const char *folder, const char *stem, const char *kind, str *path)
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

static int files_part(const command *c, pictures *p, const char *folder, const char *stem)
{
    str images_path = {0}, labels_path = {0}, stem_part = {0};
    str_printf(&stem_part, "%s-images", stem);
    ig_array *images = file_open(folder, stem_part.s, "idx3-ubyte", &images_path);
    stem_part.n = 0;
    str_printf(&stem_part, "%s-labels", stem);
    ig_array *labels = images ? file_open(folder, stem_part.s, "idx1-ubyte", &labels_path) : NULL;
    int code = pictures_fill(c, p, labels_path.s, images, labels);
    str_free(&images_path);
    str_free(&labels_path);
    str_free(&stem_part);
    return code;
}

static int files_open(const command *c, dataset *d, const char *folder)
{
    d->white = 255;
    d->epochs = 5; /* of many more pictures */
    int code = files_part(c, &d->train, folder, "train");
    if (code < 0)
        code = files_part(c, &d->test, folder, "t10k");
    const pictures *a = &d->train, *b = &d->test;
    if (code >= 0 || (a->height == b->height && a->width == b->width))
        return code;
    say(c, "%s: images to learn from are %lld x %lld, and those to test with %lld x %lld", folder,
        (long long)a->height, (long long)a->width, (long long)b->height, (long long)b->width);
    return EXIT_INPUT;
}

/* ---- by name -------------------------------------------------------------------------------- */

static int unknown_dataset(const command *c, const char *name)
{
    static const char *const names[] = {"digits", "mnist"};
    nearest search = nearest_to(name);
    for (int i = 0; i < 2; i++) {
        if (strcmp(name, names[i]) == 0)
            return -1;
        nearest_offer(&search, names[i]);
    }
    str hint = {0};
    str_did_you_mean(&hint, &search);
    say(c, "unknown data set '%s'%s", name, hint.n ? hint.s : "; there are digits and mnist");
    str_free(&hint);
    return EXIT_USAGE;
}

int dataset_open(const command *c, dataset *d, const char *name, const char *folder)
{
    int code = unknown_dataset(c, name);
    if (code >= 0)
        return code;
    if (!folder && strcmp(name, "mnist") == 0) {
        say(c, "mnist is not carried along: give its folder with --data DIR");
        return EXIT_USAGE;
    }
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    code = folder ? files_open(c, d, folder) : digits_open(c, d);
    ig_scope_end();
    return code;
}
