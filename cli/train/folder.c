/* Images as a data set: DIR/CLASS/IMAGE. Classes are numbered in the order of their names. Images get the size and the scale
 * that 'ingot predict' gives them. */
#include "train/onnx.h"

#include "predict/predict.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool folder_is(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The folders, or the images, of a folder, by name. False if it cannot be read. */
static bool list_folder(name_list *l, const char *folder, bool folders)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        str path = {0};
        str_printf(&path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && (folders ? folder_is(path.s) : is_image(path.s)))
            name_list_add(l, e->d_name);
        str_free(&path);
    }
    if (d)
        closedir(d);
    name_list_sort(l);
    return d != NULL;
}

typedef struct images {
    name_list files; /* paths */
    int64_t *labels;
} images;

/* Adds the images of class i. */
static int class_find(const command *c, images *im, const char *folder, const char *name, int64_t i)
{
    name_list found = {0};
    str path = {0};
    str_printf(&path, "%s/%s", folder, name);
    list_folder(&found, path.s, false);
    if (!found.n)
        say(c, "%s: it has no images (PNG, JPEG, BMP, PNM, TIFF)", path.s);
    const int code = found.n ? -1 : EXIT_INPUT;
    const size_t all = (size_t)(im->files.n + found.n), n = path.n;
    im->labels = heap_resize(im->labels, sizeof *im->labels * (all + 1));
    for (int64_t k = 0; k < found.n; k++) {
        path.n = n;
        str_printf(&path, "/%s", found.at[k]);
        im->labels[im->files.n] = i;
        name_list_add(&im->files, path.s);
    }
    name_list_free(&found);
    str_free(&path);
    return code;
}

static int images_find(const command *c, images *im, const char *folder, name_list *classes)
{
    int code = -1;
    if (!list_folder(classes, folder, true)) {
        say(c, "%s: it cannot be read", folder);
        code = EXIT_INPUT;
    } else if (classes->n < 2) {
        say(c, "%s: it has %lld folders; a data set of images has a folder for each class", folder,
            (long long)classes->n);
        code = EXIT_INPUT;
    }
    for (int64_t i = 0; i < classes->n && code < 0; i++)
        code = class_find(c, im, folder, classes->at[i], i);
    return code;
}

/* The images for training, or those that are held back. */
static int images_load(const network *n, ig_dtype dtype, const images *im, bool held_back,
                       samples *p)
{
    const command *c = n->command;
    ig_array **list = heap_get(sizeof *list * (size_t)im->files.n);
    p->labels = heap_get(sizeof *p->labels * (size_t)im->files.n);
    int code = -1;
    for (int64_t i = 0; i < im->files.n && code < 0; i++) {
        if ((i % HELD_BACK == HELD_BACK - 1) != held_back)
            continue;
        ig_array *x = image_sample(n, im->files.at[i]);
        x = ig_isdtype(dtype, "integral") ? ig_astype(ig_round(x), dtype) : ig_astype(x, dtype);
        if (interrupt_asked())
            code = EXIT_INTERRUPTED;
        else if (!x || ig_eval(&x, 1) != IG_OK)
            code = fail_library(c) == EXIT_ABSENT ? EXIT_ABSENT : EXIT_INPUT;
        p->labels[p->count] = im->labels[i];
        list[p->count++] = x;
    }
    ig_array *all = code < 0 && p->count ? ig_stack(list, (int)p->count, 0) : NULL;
    free(list);
    if (code >= 0)
        return code;
    if (!p->count) {
        say(c, "there are too few images: at least %d are needed", HELD_BACK);
        return EXIT_INPUT;
    }
    if (!all || ig_eval(&all, 1) != IG_OK)
        return fail_library(c);
    p->x = ig_retain(all);
    return -1;
}

int folder_open(const command *c, const folder_samples *f, dataset *d, const char *path)
{
    images im = {0};
    network n = {.command = c, .ndim = f->ndim};
    memcpy(n.shape, f->shape, sizeof n.shape);
    int code = image_scale_find(&n, f->dtype, f->mean, f->std);
    if (code < 0)
        code = images_find(c, &im, path, &d->classes);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        samples *parts[] = {&d->train, &d->test};
        for (int i = 0; i < 2 && code < 0; i++)
            code = images_load(&n, f->dtype, &im, i == 1, parts[i]);
        if (code < 0 && !dataset_white(d, f->dtype == IG_U8 ? 255 : 1))
            code = fail_library(c);
        ig_scope_end();
    }
    d->outputs = d->classes.n;
    d->epochs = epochs_for(d->train.count);
    name_list_free(&im.files);
    free(im.labels);
    return code < 0 && ig_failed() ? fail_library(c) : code;
}
