/* Images in folders: DIR/CLASS/IMAGE. Classes are numbered in the order of their names. */
#ifndef CLI_TRAIN_IMAGES_H
#define CLI_TRAIN_IMAGES_H

#include "../cli.h"
#include "names.h"

typedef struct image_list {
    name_list files; /* paths */
    int64_t *labels; /* of the files; in the heap */
} image_list;

/* Adds the images of each class, and fills in the classes, or if there are any expects the same. Returns -1, or the exit code after a
 * message. */
int image_list_find(const command *c, image_list *l, const char *folder, name_list *classes);
void image_list_free(image_list *l);

bool folder_is(const char *path);

#endif
