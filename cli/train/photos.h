/* Folders of images as batches: a background loader decodes, crops and flips on all cores while the device computes. What a batch has
 * depends on the seed, the epoch and the places of its samples only, and not on threads. */
#ifndef CLI_TRAIN_PHOTOS_H
#define CLI_TRAIN_PHOTOS_H

#include "images.h"
#include "loop.h"

/* How images become samples of side x side pixels. */
typedef struct photo_crops {
    bool augment; /* a random part of the image, flipped or not; else the middle */
    double least; /* augment: the least share of the image's area */
    bool flip;
    uint64_t seed;
} photo_crops;

typedef struct photos {
    image_list train, test;
    name_list classes;
} photos;

/* Finds the images of DIR/CLASS/IMAGE. If DIR has the folders train and val (or test), they have the images to learn from and those to
 * test with; else the share `hold` of the images of each class is held back. Returns -1, or the exit code after a message. Call photos_free in
 * both cases. */
int photos_find(const command *c, photos *p, const char *folder, double hold);
void photos_free(photos *p);

/* Fills out with the pixels of an image, (3, side, side). salt: decides the random numbers, with crops->seed. */
ig_status photo_read(const char *path, const photo_crops *crops, uint64_t salt, int64_t side,
                     unsigned char *out);

/* ---- the loader ------------------------------------------------------------------------------ */

typedef struct photo_loader photo_loader;

/* threads: at least 1. NULL after an error of the library. The list must outlive the loader. */
photo_loader *photo_loader_new(const image_list *list, const photo_crops *crops, int64_t side,
                               int64_t batch, int threads);
void photo_loader_free(photo_loader *l);

/* Begins to load a batch in the background, unless it is being loaded. Its list must stay valid. */
void photo_loader_expect(photo_loader *l, const loop_batch *b);

/* The images (n, 3, side, side) of u8, and their labels (n); waits for them. false on failure. */
bool photo_loader_take(photo_loader *l, const loop_batch *b, ig_array **images, ig_array **labels);

#endif
