/* Lists of texts. */
#include "train/names.h"

#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void name_list_add(name_list *l, const char *name)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 16;
        l->at = heap_resize(l->at, sizeof *l->at * (size_t)l->room);
    }
    l->at[l->n++] = heap_string(name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void name_list_sort(name_list *l)
{
    if (l->n)
        qsort(l->at, (size_t)l->n, sizeof *l->at, by_text);
}

void name_list_unique(name_list *l)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < l->n; i++)
        if (kept && strcmp(l->at[i], l->at[kept - 1]) == 0)
            free(l->at[i]);
        else
            l->at[kept++] = l->at[i];
    l->n = kept;
}

int64_t name_list_find(const name_list *l, const char *name)
{
    char **found = l->n ? bsearch(&name, l->at, (size_t)l->n, sizeof *l->at, by_text) : NULL;
    return found ? found - l->at : -1;
}

void name_list_free(name_list *l)
{
    for (int64_t i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
    *l = (name_list){0};
}

void name_list_write(const name_list *l, str *t)
{
    str_json(t, "[");
    for (int64_t i = 0; i < l->n; i++)
        str_json(t, "%s", l->at[i]);
    str_json(t, "]");
}

bool name_list_read(name_list *l, const char *json)
{
    json_reader r;
    json_text item;
    json_begin(&r, json, strlen(json));
    if (json_open_array(&r))
        while (json_next_item(&r) && json_read_text(&r, &item)) {
            char *copy = json_text_copy(item, NULL);
            if (copy)
                name_list_add(l, copy);
            memory_free(copy);
        }
    return json_end(&r) == IG_OK;
}
