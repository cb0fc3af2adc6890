/* load and save. The suffix of the name tells the format: .npz and .safetensors hold named arrays, other files one
 * array (ig_load). */
#include "calc/parts.h"

#include "base/team.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);
    return n >= k && strcmp(path + n - k, ending) == 0;
}

static bool holds_names(const char *path)
{
    return ends_with(path, ".npz") || ends_with(path, ".safetensors");
}

static bool check_path(calc *c, const expr *n, const value *v)
{
    if (c->options.no_files)
        return calc_fail(c, n->where, "files are switched off here");
    return v->kind == V_STRING || calc_fail(c, n->where, "%s takes a file name in quotes, not %s",
                                            n->name, value_kind_name(v->kind));
}

/* ---- load ----------------------------------------------------------------------------------- */

void files_close(calc *c)
{
    for (; c->files; c->files = c->files->next)
        ig_tensors_free(c->files->tensors);
}

static bool load_named(calc *c, const expr *n, const char *path, value *out)
{
    opened_file *file = arena_get(&c->scratch, sizeof *file);
    *file = (opened_file){c->files, ig_tensors_load(path)};
    if (!file->tensors)
        return calc_fail_library(c, n->where);
    c->files = file;
    const int count = ig_tensors_count(file->tensors);
    value *items = arena_get(&c->scratch, sizeof *items * (size_t)count);
    const char **names = arena_get(&c->scratch, sizeof *names * (size_t)count);
    for (int i = 0; i < count; i++) {
        names[i] = ig_tensors_name(file->tensors, i);
        items[i] = value_array(ig_tensors_get(file->tensors, names[i]));
    }
    *out = (value){.kind = V_NAMED, .u = {.items = {items, count}}, .names = names};
    return true;
}

/* Notes that the program reads a file, as it is now. */
static void note_file(calc *c, const char *path)
{
    struct stat at = {0};
    char facts[64];
    char *inside = arena_get(&c->scratch, strlen(path) + sizeof "/zarr.json");
    sprintf(inside, "%s/zarr.json", path);
    if (stat(inside, &at) != 0)
        stat(path, &at);
    const int n =
        snprintf(facts, sizeof facts, "%lld %lld", (long long)at.st_mtime, (long long)at.st_size);
    hash_add(&c->opened, path, strlen(path) + 1);
    hash_add(&c->opened, facts, (size_t)n);
}

bool run_load(calc *c, const expr *n, const value *args, value *out)
{
    if (!check_path(c, n, &args[0]))
        return false;
    const char *path = args[0].u.s;
    note_file(c, path);
    return holds_names(path) ? load_named(c, n, path, out)
                             : calc_give(c, n->where, ig_load(path), out);
}

bool run_open(calc *c, const expr *n, const value *args, value *out)
{
    if (!check_path(c, n, &args[0]))
        return false;
    note_file(c, args[0].u.s);
    return calc_give(c, n->where, ig_open(args[0].u.s), out);
}

/* ---- save ----------------------------------------------------------------------------------- */

/* Names what the program computes: its text and the files that it has read. */
static const char *name_of_work(const calc *c, char out[static 2 * HASH_BYTES + 1])
{
    uint8_t bytes[HASH_BYTES];
    hash h = c->opened;
    if (c->source)
        hash_add(&h, c->source, strlen(c->source));
    hash_end(&h, bytes);
    for (int i = 0; i < HASH_BYTES; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
    return out;
}

static ig_status save_alone(const calc *c, const char *path, const value *v)
{
    const bool named = v->kind == V_NAMED;
    ig_array *x = named ? NULL : value_to_array(v, IG_DTYPE_NONE);
    if (!named && !x)
        return IG_ERR_ARGUMENT;
    char work[2 * HASH_BYTES + 1];
    if (!named && ends_with(path, ".zarr"))
        return ig_save_store(path, x, NULL, name_of_work(c, work));
    if (!holds_names(path))
        return !named ? ig_save(path, x)
                      : ig_fail(IG_ERR_ARGUMENT,
                                "save: '%s' would hold one array, and these are %d with names; "
                                "write .npz or .safetensors",
                                path, v->u.items.n);
    ig_tensors *t = ig_tensors_new();
    ig_status status = t ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; named && status == IG_OK && i < v->u.items.n; i++) {
        ig_array *item = value_to_array(&v->u.items.v[i], IG_DTYPE_NONE);
        status = item ? ig_tensors_put(t, v->names[i], item) : IG_ERR_ARGUMENT;
    }
    if (!named && status == IG_OK)
        status = ig_tensors_put(t, "arr_0", x); /* NumPy's name for an unnamed array */
    if (status == IG_OK)
        status = ends_with(path, ".npz") ? ig_tensors_save_npz(t, path) : ig_tensors_save(t, path);
    ig_tensors_free(t);
    return status;
}

ig_status file_save(const calc *c, const char *path, const value *v)
{
    if (!team_shares() || (v->kind != V_NAMED && ends_with(path, ".zarr")))
        return save_alone(c, path, v);
    /* All ranks compute, and rank 0 writes. */
    const int n = value_collect(v, NULL, 0);
    ig_array **arrays =
        arena_get((arena *)(uintptr_t)&c->scratch, sizeof *arrays * (size_t)(n + 1));
    value_collect(v, arrays, n);
    ig_status status = ig_eval(arrays, n);
    if (status == IG_OK && ig_team_rank() == 0)
        status = save_alone(c, path, v);
    if (status != IG_OK)
        team_fail(NULL);
    return status == IG_OK ? team_barrier(TEAM_MAIN) : status;
}

/* NumPy's name for the i-th array without a name. */
static const char *numpy_name(calc *c, int i)
{
    char *name = arena_get(&c->scratch, 24);
    snprintf(name, 24, "arr_%d", i);
    return name;
}

/* Instead of saving: the plan. */
static bool explain_save(calc *c, const expr *n, const char *path, const value *x, value *out)
{
    ig_array *array = value_to_array(x, IG_DTYPE_NONE);
    const ig_block_sink sink = {.size = sizeof sink};
    char *plan = !array ? NULL
                 : ends_with(path, ".zarr")
                     ? ig_explain_blocks(&array, &(const ig_block_sink *){&sink}, 1)
                     : ig_explain(&array, 1);
    if (!plan)
        return calc_fail_library(c, n->where);
    char *copy = arena_get(&c->scratch, strlen(plan) + 1);
    strcpy(copy, plan);
    ig_free(plan);
    *out = (value){.kind = V_STRING, .u = {.s = copy}};
    c->quiet = false;
    return true;
}

static bool save_value(calc *c, const expr *n, const char *path, const value *x, value *out)
{
    if (c->options.explains && x->kind != V_NAMED)
        return explain_save(c, n, path, x, out);
    *out = (value){0};
    return file_save(c, path, x) == IG_OK || calc_fail_library(c, n->where);
}

/* save(path, x), save(x, path), or save(path, name=x, ...), whose keywords may be any names. Several arrays without a
 * name are arr_0, arr_1, ... */
bool run_save(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    static const char usage[] = "save takes a path and x, or a path and name=x, ...";
    int count = 0;
    for (const expr *a = n->child; a; a = a->next)
        count++;
    if (count < 2)
        return calc_fail(c, n->where, "%s", usage);
    value path, x, *items = arena_get(&c->scratch, sizeof *items * (size_t)count);
    const char **names = arena_get(&c->scratch, sizeof *names * (size_t)count);
    if (n->child->kind == N_KEYWORD)
        return calc_fail(c, n->child->where, "%s", usage);
    if (!calc_eval(c, n->child, &path))
        return false;
    const bool several = count > 2,
               second = !several && path.kind != V_STRING; /* the path comes second */
    if (second && (!calc_eval(c, n->child->next, &x) || !check_path(c, n, &x)))
        return false;
    if (second) {
        items[0] = path;
        return save_value(c, n, x.u.s, &items[0], out);
    }
    if (!check_path(c, n, &path))
        return false;
    count = 0;
    for (const expr *a = n->child->next; a; a = a->next, count++) {
        const bool named = a->kind == N_KEYWORD;
        names[count] = named ? a->name : several ? numpy_name(c, count) : NULL;
        if (!calc_eval(c, named ? a->child : a, &items[count]))
            return false;
        for (int i = 0; names[count] && i < count; i++)
            if (strcmp(names[i], names[count]) == 0)
                return calc_fail(c, a->where, "'%s' is given twice", names[count]);
    }
    x = names[0] ? (value){.kind = V_NAMED, .u = {.items = {items, count}}, .names = names}
                 : items[0];
    return save_value(c, n, path.u.s, &x, out);
}
