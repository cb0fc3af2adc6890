/* Images as a data set in memory. They get the size and the scale that 'ingot predict' gives them. */
#include "train/images.h"
#include "train/onnx.h"

#include "predict/predict.h"

#include <stdlib.h>
#include <string.h>

/* The images for training, or those that are held back. */
static int images_load(const network *n, ig_dtype dtype, const image_list *im, bool held_back,
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
    image_list im = {0};
    network n = {.command = c, .ndim = f->ndim};
    memcpy(n.shape, f->shape, sizeof n.shape);
    int code = image_scale_find(&n, f->dtype, f->mean, f->std);
    if (code < 0)
        code = image_list_find(c, &im, path, &d->classes);
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
    image_list_free(&im);
    return code < 0 && ig_failed() ? fail_library(c) : code;
}
