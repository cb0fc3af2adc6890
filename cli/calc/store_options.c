/* The options of save for stores, by the names that zarr-python has: save("y.zarr", x, chunks=[100, 100]). */
#include "calc/parts.h"

#include <string.h>

/* Reads the value of one option. Returns what the option takes if it takes no such value, else NULL. */
typedef const char *option_read(calc *c, const value *v, int ndim, ig_store_options *o);

static bool is_auto(const value *v)
{
    return v->kind == V_NONE || (v->kind == V_STRING && strcmp(v->u.s, "auto") == 0);
}

/* A number is for all axes. */
static const char *lengths_read(calc *c, const value *v, int ndim, ig_ints *out)
{
    static const char takes[] = "takes a length for each axis, such as [100, 100], or one for all";
    const bool one = v->kind == V_INT;
    const int n = one ? ndim : value_has_items(v) ? v->u.items.n : -1;
    if (n < 0)
        return takes;
    int64_t *list = arena_get(&c->scratch, sizeof *list * (size_t)(n + 1));
    for (int i = 0; i < n; i++) {
        const value *item = one ? v : &v->u.items.v[i];
        if (item->kind != V_INT)
            return takes;
        list[i] = item->u.i;
    }
    *out = (ig_ints){list, n};
    return NULL;
}

static const char *read_chunks(calc *c, const value *v, int ndim, ig_store_options *o)
{
    return is_auto(v) ? NULL : lengths_read(c, v, ndim, &o->chunk);
}

static const char *read_shards(calc *c, const value *v, int ndim, ig_store_options *o)
{
    return v->kind == V_NONE ? NULL : lengths_read(c, v, ndim, &o->shard);
}

/* Texts with a comma between them. */
static const char *read_codecs(calc *c, const value *v, int ndim, ig_store_options *o)
{
    (void)ndim;
    static const char takes[] =
        "takes a text such as \"zstd:5\" or \"blosc:lz4:5,crc32c\", a list of texts, "
        "\"auto\", or None for no compression";
    str t = {0};
    const char *wrong = NULL;
    if (v->kind == V_STRING)
        str_puts(&t, v->u.s);
    else if (v->kind == V_NONE || (value_has_items(v) && v->u.items.n == 0))
        str_puts(&t, "none");
    else if (!value_has_items(v))
        wrong = takes;
    for (int i = 0; !wrong && value_has_items(v) && i < v->u.items.n; i++) {
        const value *item = &v->u.items.v[i];
        if (item->kind != V_STRING)
            wrong = takes;
        else
            str_printf(&t, "%s%s", i ? "," : "", item->u.s);
    }
    if (!wrong && strcmp(t.s, "auto") != 0)
        o->codecs = arena_string(&c->scratch, t.s, strlen(t.s));
    str_free(&t);
    return wrong;
}

static const char *read_fill(calc *c, const value *v, int ndim, ig_store_options *o)
{
    (void)ndim;
    if (v->kind == V_NONE)
        return NULL;
    if (!value_is_number(v))
        return "takes a number";
    double *fill = arena_get(&c->scratch, sizeof *fill);
    *fill = value_float_of(v);
    o->fill = fill;
    return NULL;
}

static const char *read_attributes(calc *c, const value *v, int ndim, ig_store_options *o)
{
    (void)c, (void)ndim;
    if (v->kind != V_STRING && v->kind != V_NONE)
        return "takes a JSON object as text, such as '{\"units\": \"K\"}'";
    o->attributes = v->kind == V_STRING ? v->u.s : NULL;
    return NULL;
}

/* The names as a JSON list. */
static const char *read_dimensions(calc *c, const value *v, int ndim, ig_store_options *o)
{
    (void)ndim;
    static const char takes[] = "takes a list of names, such as [\"time\", \"x\"]";
    if (v->kind == V_NONE)
        return NULL;
    if (!value_has_items(v))
        return takes;
    str t = {0};
    const char *wrong = NULL;
    str_json(&t, "[");
    for (int i = 0; !wrong && i < v->u.items.n; i++) {
        const value *item = &v->u.items.v[i];
        if (item->kind == V_STRING || item->kind == V_NONE)
            str_json(&t, "%s", item->kind == V_NONE ? NULL : item->u.s);
        else
            wrong = takes;
    }
    str_json(&t, "]");
    o->dimensions = wrong ? NULL : arena_string(&c->scratch, t.s, strlen(t.s));
    str_free(&t);
    return wrong;
}

static const char *read_overwrite(calc *c, const value *v, int ndim, ig_store_options *o)
{
    (void)c, (void)ndim;
    if (v->kind != V_BOOL)
        return "takes True or False";
    o->existing = v->u.b ? IG_STORE_REPLACE : IG_STORE_REFUSE;
    return NULL;
}

static const struct {
    const char *name;
    option_read *read;
} options[] = {{"chunks", read_chunks},
               {"shards", read_shards},
               {"compressors", read_codecs},
               {"codecs", read_codecs},
               {"fill_value", read_fill},
               {"attributes", read_attributes},
               {"dimension_names", read_dimensions},
               {"overwrite", read_overwrite}};
enum { OPTIONS = sizeof options / sizeof *options };

static int option_find(const char *name)
{
    for (int i = 0; i < OPTIONS; i++)
        if (strcmp(options[i].name, name) == 0)
            return i;
    return -1;
}

bool store_option_is(const char *name) { return option_find(name) >= 0; }

static bool fail_unknown(calc *c, const given *g)
{
    str hint = {0};
    nearest search = nearest_to(g->keyword);
    for (int i = 0; i < OPTIONS; i++)
        nearest_offer(&search, options[i].name);
    str_did_you_mean(&hint, &search);
    for (int i = 0; !search.best && i < OPTIONS; i++)
        str_printf(&hint, "%s%s", i ? ", " : "; it has ", options[i].name);
    calc_fail(c, g->where, "save has no option '%s'%s", g->keyword, hint.s ? hint.s : "");
    str_free(&hint);
    return false;
}

bool store_options_read(calc *c, const given *args, int n, int ndim, ig_store_options *o)
{
    const given *codecs = NULL;
    *o = (ig_store_options){.size = sizeof *o, .existing = IG_STORE_REPLACE};
    for (int i = 0; i < n; i++) {
        const int at = option_find(args[i].keyword);
        if (at < 0)
            return fail_unknown(c, &args[i]);
        if (options[at].read == read_codecs && codecs)
            return calc_fail(c, args[i].where,
                             "'compressors' and 'codecs' are the same option; give one of them");
        if (options[at].read == read_codecs)
            codecs = &args[i];
        const char *takes = options[at].read(c, &args[i].v, ndim, o);
        if (takes)
            return calc_fail(c, args[i].where, "'%s' %s, not %s", args[i].keyword, takes,
                             value_has_items(&args[i].v) ? "these items"
                                                         : value_kind_name(args[i].v.kind));
    }
    return true;
}
