/* Networks that ingot train vision made. */
#include "predict.h"

#include "../train/photos.h"
#include "../train/vision_net.h"

#include <stdlib.h>
#include <string.h>

typedef struct vision {
    vision_config config;
    ig_model *model;
} vision;

static ig_array *vision_run(network *n, ig_array *x)
{
    const vision *v = n->at;
    ig_array *y = vision_logits(v->model, &v->config, x, NULL);
    return y ? ig_softmax(y, IG_AXES(-1)) : NULL;
}

static ig_array *vision_load_image(network *n, const char *path)
{
    const vision *v = n->at;
    const photo_crops middle = {0};
    const int64_t side = v->config.side;
    unsigned char *out = heap_get((size_t)(3 * side * side));
    ig_array *x = photo_read(path, &middle, 0, side, out) == IG_OK
                      ? ig_from_data(out, IG_SHAPE(3, side, side), IG_U8)
                      : NULL;
    free(out);
    return x;
}

static void vision_close(network *n)
{
    vision *v = n->at;
    ig_model_free(v->model);
    vision_config_free(&v->config);
    free(v);
}

int vision_network_open(network *n, const char *folder)
{
    vision *v = heap_get(sizeof *v);
    n->at = v;
    n->run = vision_run;
    n->load = vision_load_image;
    n->close = vision_close;
    if (vision_open(&v->config, &v->model, folder) != IG_OK) {
        fail_library(n->command);
        return EXIT_INPUT;
    }
    ig_model_train(v->model, false);
    n->ndim = 3;
    n->shape[0] = 3;
    n->shape[1] = n->shape[2] = v->config.side;
    n->outputs = v->config.classes.n;
    n->names = (const char **)v->config.classes.at;
    return -1;
}
