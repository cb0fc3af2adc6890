/* load and save. The suffix of the name tells the format: .npz and .safetensors hold named arrays, other files one
 * array (ig_load). */
#include "calc/parts.h"

#include "base/team.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* True if the path is an HDF5 file, or a dataset in one. */
static bool is_hdf5(const char *path)
{
    return ends_with(path, ".h5") || ends_with(path, ".hdf5") || strstr(path, ".h5/") ||
           strstr(path, ".hdf5/");
}

/* True if the file is written block by block. */
static bool is_store(const char *path) { return ends_with(path, ".zarr") || is_hdf5(path); }

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
    return holds_names(path) || ends_with(path, ".gguf")
               ? load_named(c, n, path, out)
               : calc_give(c, n->where, ig_load(path), out);
}

/* The numbers of a text, row by row. */
typedef struct text_table {
    double *at;
    int64_t n, room, rows, columns;
} text_table;

/* Adds the numbers of a line, with this delimiter (0: blanks) between them. False if a field is not a number, or if the line
 * has another number of fields. */
static bool table_line(text_table *t, char *line, char delimiter)
{
    int64_t n = 0;
    const char marks[] = {delimiter ? delimiter : ' ', delimiter ? 0 : '\t', 0};
    for (char *rest = line, *field; (field = strsep(&rest, marks)) != NULL;) {
        char *end;
        if (!delimiter && !*field)
            continue;
        const double number = strtod(field, &end);
        if (end == field || end[strspn(end, " \t")])
            return false;
        if (t->n == t->room) {
            t->room = t->room ? 2 * t->room : 1024;
            t->at = heap_resize(t->at, sizeof *t->at * (size_t)t->room);
        }
        t->at[t->n++] = number;
        n++;
    }
    t->columns = t->rows++ ? t->columns : n;
    return n == t->columns;
}

bool run_loadtxt(calc *c, const expr *n, const value *args, value *out)
{
    enum { TEXT_MOST_BYTES = 1 << 30 };
    const value *delimiter = &args[1];
    int64_t skip;
    size_t bytes;
    if (!check_path(c, n, &args[0]) || !calc_to_int(c, n->where, &args[2], 0, &skip))
        return false;
    if (delimiter->kind != V_NONE && (delimiter->kind != V_STRING || strlen(delimiter->u.s) != 1))
        return calc_fail(c, n->where, "delimiter is one character in quotes");
    note_file(c, args[0].u.s);
    char *text = str_read_file(args[0].u.s, TEXT_MOST_BYTES, &bytes);
    if (!text)
        return calc_fail(c, n->where, "%s: it cannot be read: %s", args[0].u.s, strerror(errno));
    text_table t = {0};
    int64_t number = 0;
    bool fine = true;
    for (char *rest = text, *line; fine && (line = strsep(&rest, "\n")) != NULL;) {
        line[strcspn(line, "#\r")] = 0;
        if (++number <= skip || !line[strspn(line, " \t")])
            continue;
        fine = table_line(&t, line, delimiter->kind == V_NONE ? 0 : *delimiter->u.s);
    }
    if (!fine)
        calc_fail(c, n->where,
                  "%s: line %lld has a field that is not a number, or another number of fields; "
                  "delimiter= and skiprows= tell how to read it",
                  args[0].u.s, (long long)number);
    const int64_t shape[2] = {t.rows, t.columns};
    const double none = 0;
    if (fine)
        fine = calc_give(c, n->where,
                         ig_from_data(t.at ? t.at : &none,
                                      (ig_ints){shape, t.columns == 1 || !t.rows ? 1 : 2}, IG_F64),
                         out);
    free(t.at);
    free(text);
    return fine;
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

/* o: NULL if the file is not a store. */
static ig_status save_alone(const calc *c, const char *path, const value *v,
                            const ig_store_options *o)
{
    const bool named = v->kind == V_NAMED;
    ig_array *x = named ? NULL : value_to_array(v, IG_DTYPE_NONE);
    if (!named && !x)
        return IG_ERR_ARGUMENT;
    char work[2 * HASH_BYTES + 1];
    if (!named && is_store(path))
        return ig_save_store(path, x, o, is_hdf5(path) ? NULL : name_of_work(c, work));
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

static ig_status save_to(const calc *c, const char *path, const value *v, const ig_store_options *o)
{
    if (!team_shares() || (v->kind != V_NAMED && ends_with(path, ".zarr")))
        return save_alone(c, path, v, o);
    /* All ranks compute, and rank 0 writes. */
    const int n = value_collect(v, NULL, 0);
    ig_array **arrays =
        arena_get((arena *)(uintptr_t)&c->scratch, sizeof *arrays * (size_t)(n + 1));
    value_collect(v, arrays, n);
    ig_status status = ig_eval(arrays, n);
    if (status == IG_OK && ig_team_rank() == 0)
        status = save_alone(c, path, v, o);
    if (status != IG_OK)
        team_fail(NULL);
    return status == IG_OK ? team_barrier(TEAM_MAIN) : status;
}

ig_status file_save(const calc *c, const char *path, const value *v)
{
    return save_to(c, path, v, NULL);
}

/* NumPy's name for the i-th array without a name. */
static const char *numpy_name(calc *c, int i)
{
    char *name = arena_get(&c->scratch, 24);
    snprintf(name, 24, "arr_%d", i);
    return name;
}

/* Instead of saving: the plan. */
static bool explain_save(calc *c, const expr *n, const char *path, const value *x,
                         const ig_store_options *o, value *out)
{
    ig_array *array = value_to_array(x, IG_DTYPE_NONE);
    char *plan = !array           ? NULL
                 : is_store(path) ? ig_explain_store(path, array, o)
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

static bool save_value(calc *c, const expr *n, const char *path, const value *x,
                       const ig_store_options *o, value *out)
{
    if (c->options.explains && x->kind != V_NAMED)
        return explain_save(c, n, path, x, o, out);
    *out = (value){0};
    return save_to(c, path, x, o) == IG_OK || calc_fail_library(c, n->where);
}

/* save(path, x, chunks=..., ...): one array, whose keywords are options. */
static bool save_one(calc *c, const expr *n, const char *path, const given *args, int count,
                     value *out)
{
    ig_store_options o;
    ig_array *x;
    if (count == 1 && !is_store(path))
        return save_value(c, n, path, &args[0].v, NULL, out);
    if (!is_store(path))
        return calc_fail(c, args[1].where,
                         "'%s' is an option of .zarr and .h5 files; save to one, or leave it out",
                         args[1].keyword);
    if (args[0].v.kind == V_NAMED) /* which save_value refuses */
        return save_value(c, n, path, &args[0].v, NULL, out);
    return calc_to_array(c, n->where, &args[0].v, &x) &&
           store_options_read(c, args + 1, count - 1, ig_ndim(x), &o) &&
           save_value(c, n, path, &(value){.kind = V_ARRAY, .u.array = x}, &o, out);
}

/* True if the arguments are one array and options of stores. */
static bool is_one(const char *path, const given *args, int count)
{
    if (args[0].keyword || holds_names(path))
        return count == 1 && !args[0].keyword;
    for (int i = 1; i < count; i++)
        if (!args[i].keyword || !(is_store(path) || store_option_is(args[i].keyword)))
            return false;
    return true;
}

/* save(path, x), save(x, path), or save(path, name=x, ...), whose keywords may be any names. Several arrays without a
 * name are arr_0, arr_1, ... For stores, keywords are options. */
bool run_save(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    static const char usage[] = "save takes a path and x, or a path and name=x, ...";
    int count = 0, at = 0;
    for (const expr *a = n->child; a; a = a->next)
        count++;
    if (count < 2)
        return calc_fail(c, n->where, "%s", usage);
    if (n->child->kind == N_KEYWORD)
        return calc_fail(c, n->child->where, "%s", usage);
    given *args = arena_get(&c->scratch, sizeof *args * (size_t)count);
    for (const expr *a = n->child; a; a = a->next, at++) {
        const bool named = a->kind == N_KEYWORD;
        args[at] = (given){named ? a->child : a, named ? a->name : NULL, a->where, {0}};
        if (!calc_eval(c, args[at].n, &args[at].v))
            return false;
        for (int i = 0; named && i < at; i++)
            if (args[i].keyword && strcmp(args[i].keyword, a->name) == 0)
                return calc_fail(c, a->where, "'%s' is given twice", a->name);
    }
    const bool second =
        args[0].v.kind != V_STRING && !args[1].keyword && args[1].v.kind == V_STRING;
    const value path = args[second].v;
    if (!check_path(c, n, &path))
        return false;
    args[1] = args[!second]; /* the first of those that are saved */
    args++;
    count--;
    if (is_one(path.u.s, args, count))
        return save_one(c, n, path.u.s, args, count, out);
    value *items = arena_get(&c->scratch, sizeof *items * (size_t)count);
    const char **names = arena_get(&c->scratch, sizeof *names * (size_t)count);
    for (int i = 0; i < count; i++) {
        items[i] = args[i].v;
        names[i] = args[i].keyword ? args[i].keyword : numpy_name(c, i);
        for (int k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return calc_fail(c, args[i].where, "'%s' is given twice", names[i]);
    }
    const value all = {.kind = V_NAMED, .u = {.items = {items, count}}, .names = names};
    return save_value(c, n, path.u.s, &all, NULL, out);
}
