/* A list of texts in the heap: paths, names of classes, the categories of a column. {0} is empty. */
#ifndef CLI_TRAIN_NAMES_H
#define CLI_TRAIN_NAMES_H

#include "str.h"

typedef struct name_list {
    char **at;
    int64_t n, room;
} name_list;

void name_list_add(name_list *l, const char *name);
void name_list_sort(name_list *l);
/* Removes repeated texts of a sorted list. */
void name_list_unique(name_list *l);
/* The index of a text in a sorted list; -1 if it is not there. */
int64_t name_list_find(const name_list *l, const char *name);
void name_list_free(name_list *l);

/* As a JSON array. name_list_read takes the array that name_list_write wrote; false if the text is not one. */
void name_list_write(const name_list *l, str *t);
bool name_list_read(name_list *l, const char *json);

#endif
