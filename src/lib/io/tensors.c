/* A set of named arrays and texts: a checkpoint in memory. See tensors.h. The set owns a reference to each of
 * its arrays.
 */
#include "lib/io/tensors.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <string.h>

/* ---- the tree: an AA tree (Andersson, 1993) ------------------------------------------------- */

static int level_of(const struct names *names, int i) { return i < 0 ? 0 : names->at[i].level; }

/* Lifts the child of one side above its parent; returns the child. */
static int tree_rotate(struct names *names, int i, int side)
{
    const int child = names->at[i].child[side];
    names->at[i].child[side] = names->at[child].child[!side];
    names->at[child].child[!side] = i;
    return child;
}

/* Inserts node i, which has no children yet, below root; returns the new root. The recursion is as deep as
 * the tree: at most twice the logarithm of its size. */
static int tree_insert(struct names *names, int root, int i)
{
    if (root < 0)
        return i;
    struct named *top = &names->at[root];
    const int side = strcmp(names->at[i].name, top->name) > 0;
    top->child[side] = tree_insert(names, top->child[side], i);
    if (level_of(names, top->child[0]) == top->level)
        root = tree_rotate(names, root, 0);
    const int right = names->at[root].child[1];
    if (right >= 0 && level_of(names, names->at[right].child[1]) == names->at[root].level) {
        root = tree_rotate(names, root, 1);
        names->at[root].level++;
    }
    return root;
}

struct named *names_find(const struct names *names, const char *name)
{
    int i = names->n ? names->root : -1;
    while (i >= 0) {
        const int order = strcmp(name, names->at[i].name);
        if (order == 0)
            return &names->at[i];
        i = names->at[i].child[order > 0];
    }
    return NULL;
}

struct named *names_add(struct names *names, char *name)
{
    if (!name || !memory_room(&names->at, names->n, &names->room, sizeof *names->at)) {
        memory_free(name);
        return NULL;
    }
    const int i = names->n++;
    names->at[i] = (struct named){.name = name, .level = 1, .child = {-1, -1}};
    names->root = tree_insert(names, i ? names->root : -1, i);
    return &names->at[i];
}

static void names_free(struct names *names)
{
    for (int i = 0; i < names->n; i++) {
        memory_free(names->at[i].name);
        memory_free(names->at[i].text);
        ig_release(names->at[i].array);
    }
    memory_free(names->at);
}

ig_status tensors_evaluate(const struct names *arrays)
{
    const size_t n = (size_t)arrays->n;
    ig_array **all = memory_get(n * sizeof(ig_array *));
    if (!all)
        return IG_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        all[i] = arrays->at[i].array;
    ig_status status = n ? ig_eval(all, (int)n) : IG_OK;
    for (size_t i = 0; status == IG_OK && i < n; i++)
        if (!ig_team_is_divided(all[i]) && !ig_data(all[i]) && ig_size(all[i]))
            status = io_waiting();
    memory_free(all);
    return status;
}

/* ---- the public functions ------------------------------------------------------------------- */

ig_tensors *ig_tensors_new(void) { return memory_new(sizeof(ig_tensors)); }

void ig_tensors_free(ig_tensors *t)
{
    if (!t)
        return;
    names_free(&t->arrays);
    names_free(&t->texts);
    memory_free(t);
}

/* Checks that a file can hold this name or text; `what` is, for example, "name". */
static ig_status text_check(const char *what, const char *value)
{
    char shown[IO_SHOWN_BYTES];
    if (!value)
        FAIL(IG_ERR_ARGUMENT, "tensors: the %s is NULL", what);
    if (json_is_utf8(value))
        return IG_OK;
    io_show(value, shown);
    FAIL(IG_ERR_ARGUMENT, "tensors: the %s '%s' is not UTF-8; files hold UTF-8 only: convert it",
         what, shown);
}

/* Finds an element by name, or adds it. */
static struct named *names_get(struct names *names, const char *name)
{
    struct named *found = names_find(names, name);
    return found ? found : names_add(names, memory_text(name));
}

ig_status ig_tensors_put(ig_tensors *t, const char *name, ig_array *x)
{
    if (!t || !x)
        FAIL(IG_ERR_ARGUMENT, "tensors: the %s is NULL", t ? "array" : "set");
    TRY(text_check("name", name));
    if (strcmp(name, "__metadata__") == 0)
        FAIL(IG_ERR_ARGUMENT,
             "tensors: the name '__metadata__' is reserved by the format; choose another");
    struct named *place = names_get(&t->arrays, name);
    if (!place)
        return IG_ERR_MEMORY;
    ig_retain(x);
    ig_release(place->array);
    place->array = x;
    return IG_OK;
}

int ig_tensors_count(const ig_tensors *t) { return t ? t->arrays.n : 0; }

const char *ig_tensors_name(const ig_tensors *t, int i)
{
    return t && i >= 0 && i < t->arrays.n ? t->arrays.at[i].name : NULL;
}

ig_array *ig_tensors_get(const ig_tensors *t, const char *name)
{
    const struct named *found = t && name ? names_find(&t->arrays, name) : NULL;
    return found ? found->array : NULL;
}

ig_status ig_tensors_put_text(ig_tensors *t, const char *key, const char *value)
{
    if (!t)
        FAIL(IG_ERR_ARGUMENT, "tensors: the set is NULL");
    TRY(text_check("key", key));
    TRY(text_check("text", value));
    char *copy = memory_text(value);
    struct named *place = copy ? names_get(&t->texts, key) : NULL;
    if (!place) {
        memory_free(copy);
        return IG_ERR_MEMORY;
    }
    memory_free(place->text);
    place->text = copy;
    return IG_OK;
}

const char *ig_tensors_text(const ig_tensors *t, const char *key)
{
    const struct named *found = t && key ? names_find(&t->texts, key) : NULL;
    return found ? found->text : NULL;
}
