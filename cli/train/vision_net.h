/* ResNets and vision transformers: their sizes, their graphs, and their folders, with the names of torchvision's weights. */
#ifndef CLI_TRAIN_VISION_NET_H
#define CLI_TRAIN_VISION_NET_H

#include "names.h"

#include "../cli.h"

#include <ingot.h>

typedef struct vision_config {
    const struct vision_kind *kind;
    int64_t side; /* pixels of an image's sides */
    int64_t width, layers, heads,
        inner;     /* layers: blocks of a transformer; of each stage of a ResNet, 0: the kind's */
    int64_t patch; /* of a transformer */
    int64_t stem;  /* of a ResNet: the size of the first convolution, 7 or 3 */
    double dropout;
    name_list classes;
    double mean[3], deviation[3]; /* of pixels from 0 to 1 */
} vision_config;

/* Fills in the sizes of a network by its name, and those of `sizes` ("side=64,width=16"; may be NULL). False, with the reason in why. */
bool vision_config_read(vision_config *v, const char *name, const char *sizes, str *why);
const char *vision_name(const vision_config *v);
bool vision_is_transformer(const vision_config *v);
/* Adds the sizes, as vision_config_read takes them. */
void vision_sizes_write(const vision_config *v, str *s);

/* The logits of images (n, 3, side, side) of u8. flops, unless NULL, gets the operations of the products of an image, forward. */
ig_array *vision_logits(ig_model *m, const vision_config *v, ig_array *x, double *flops);

/* Creates the parameters. */
ig_status vision_build(ig_model *m, const vision_config *v, double *flops);

/* Writes config.json and model.safetensors into a folder. steps: made so far. */
ig_status vision_save(const ig_model *m, const vision_config *v, int64_t steps, const char *folder);
/* Loads the weights of model.safetensors in a folder, or of a .safetensors file. If its classes differ in number from those of the
 * model, the last layer keeps its own weights, and *fresh is set. */
ig_status vision_load(ig_model *m, const vision_config *v, const char *path, bool *fresh);

/* Opens a folder that vision_save wrote: config and model. */
ig_status vision_open(vision_config *v, ig_model **m, const char *folder);
/* True if the folder is of a network that ingot train vision made. */
bool vision_is(const char *folder);
void vision_config_free(vision_config *v);

#endif
