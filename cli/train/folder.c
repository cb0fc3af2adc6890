/* Images as a data set for an ONNX classifier: DIR/CLASS/IMAGE. Classes are numbered in the order of their names. Images get
 * the size and the scale that 'ingot predict' gives them. */
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

/* Paths in the heap. */
typedef struct paths {
    char **at;
    int64_t n, room;
} paths;

static void paths_free(paths *p)
{
    for (int64_t i = 0; i < p->n; i++)
        free(p->at[i]);
    free(p->at);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folders, or the images, of a folder, by name. False if it cannot be read. */
static bool paths_list(paths *p, const char *folder, bool folders)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        str path = {0};
        str_printf(&path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && (folders ? folder_is(path.s) : is_image(path.s))) {
            if (p->n == p->room) {
                p->room = p->room ? 2 * p->room : 64;
                p->at = heap_resize(p->at, sizeof *p->at * (size_t)p->room);
            }
            p->at[p->n++] = heap_string(path.s);
        }
        str_free(&path);
    }
    if (d)
        closedir(d);
    if (p->n)
        qsort(p->at, (size_t)p->n, sizeof *p->at, by_name);
    return d != NULL;
}

typedef struct images {
    paths files;
    int64_t *labels;
    int64_t classes;
} images;

static int images_find(const command *c, images *im, const char *folder)
{
    paths classes = {0};
    int code = -1;
    if (!paths_list(&classes, folder, true)) {
        say(c, "%s: it cannot be read", folder);
        code = EXIT_INPUT;
    } else if (classes.n < 2) {
        say(c, "%s: it has %lld folders; a data set of images has a folder for each class", folder,
            (long long)classes.n);
        code = EXIT_INPUT;
    }
    for (int64_t i = 0; i < classes.n && code < 0; i++) {
        paths found = {0};
        paths_list(&found, classes.at[i], false);
        if (!found.n) {
            say(c, "%s: it has no images (PNG, JPEG, BMP, PNM, TIFF)", classes.at[i]);
            code = EXIT_INPUT;
        }
        const size_t all = (size_t)(im->files.n + found.n);
        im->files.at = heap_resize(im->files.at, sizeof *im->files.at * (all + 1));
        im->labels = heap_resize(im->labels, sizeof *im->labels * (all + 1));
        for (int64_t k = 0; k < found.n; k++) {
            im->labels[im->files.n] = i;
            im->files.at[im->files.n++] = found.at[k];
        }
        free(found.at);
    }
    im->classes = classes.n;
    paths_free(&classes);
    return code;
}

/* The images for training, or those that are held back. */
static int images_load(const command *c, const network *n, const images *im, bool held_back,
                       samples *p)
{
    ig_array **list = heap_get(sizeof *list * (size_t)im->files.n);
    p->labels = heap_get(sizeof *p->labels * (size_t)im->files.n);
    int code = -1;
    for (int64_t i = 0; i < im->files.n && code < 0; i++) {
        if ((i % HELD_BACK == HELD_BACK - 1) != held_back)
            continue;
        ig_array *x = image_sample(n, im->files.at[i]);
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

int folder_open(const tuning *u, dataset *d, const char *path, const char *mean, const char *std)
{
    images im = {0};
    network n = {.command = u->command, .ndim = u->ndim};
    memcpy(n.shape, u->shape, sizeof n.shape);
    int code = image_scale_find(&n, u->dtype, mean, std);
    if (code < 0)
        code = images_find(u->command, &im, path);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        samples *parts[] = {&d->train, &d->test};
        for (int i = 0; i < 2 && code < 0; i++)
            code = images_load(u->command, &n, &im, i == 1, parts[i]);
        ig_scope_end();
    }
    d->outputs = im.classes;
    d->epochs = 10;
    paths_free(&im.files);
    free(im.labels);
    return code < 0 && ig_failed() ? fail_library(u->command) : code;
}
