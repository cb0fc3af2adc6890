/* Image files as arrays. See images.h. */
#include "images.h"

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

/* Adds the images of class i. */
static int class_find(const command *c, image_list *l, const char *folder, const char *name,
                      int64_t i)
{
    name_list found = {0};
    str path = {0};
    str_printf(&path, "%s/%s", folder, name);
    list_folder(&found, path.s, false);
    if (!found.n)
        say(c, "%s: it has no images (PNG, JPEG, BMP, PNM, TIFF)", path.s);
    const int code = found.n ? -1 : EXIT_INPUT;
    const size_t all = (size_t)(l->files.n + found.n), n = path.n;
    l->labels = heap_resize(l->labels, sizeof *l->labels * (all + 1));
    for (int64_t k = 0; k < found.n; k++) {
        path.n = n;
        str_printf(&path, "/%s", found.at[k]);
        l->labels[l->files.n] = i;
        name_list_add(&l->files, path.s);
    }
    name_list_free(&found);
    str_free(&path);
    return code;
}

/* Checks that a folder has the classes that another one has. */
static int classes_check(const command *c, const char *folder, const name_list *have,
                         const name_list *want)
{
    for (int64_t i = 0; i < have->n; i++)
        if (name_list_find(want, have->at[i]) < 0) {
            say(c, "%s: the folder of images to learn from has no class '%s'", folder, have->at[i]);
            return EXIT_INPUT;
        }
    return -1;
}

int image_list_find(const command *c, image_list *l, const char *folder, name_list *classes)
{
    int code = -1;
    name_list here = {0};
    const bool new_classes = classes->n == 0;
    if (!list_folder(&here, folder, true)) {
        say(c, "%s: it cannot be read", folder);
        code = EXIT_INPUT;
    } else if (here.n < 2 && new_classes) {
        say(c, "%s: it has %lld folders; a data set of images has a folder for each class", folder,
            (long long)here.n);
        code = EXIT_INPUT;
    } else if (!new_classes) {
        code = classes_check(c, folder, &here, classes);
    }
    for (int64_t i = 0; i < here.n && code < 0; i++) {
        if (new_classes)
            name_list_add(classes, here.at[i]);
        code = class_find(c, l, folder, here.at[i], name_list_find(classes, here.at[i]));
    }
    name_list_free(&here);
    return code;
}

void image_list_free(image_list *l)
{
    name_list_free(&l->files);
    free(l->labels);
    *l = (image_list){0};
}
