/* Models and optimizers in safetensors files.
 *
 *   tensors    parameters and state by their names; "optimizer.SLOT.NAME": the optimizer's state of NAME
 *   texts      "ingot" the version of this list, "seed", "steps", "parameters" (names in order, one per
 *              line), "optimizer" its kind, "optimizer_steps", "text" the caller's
 *
 * Files of other programs have no such texts. In them, running means and variances, by PyTorch's names, are
 * state, and all other tensors are parameters. Loading first finds and checks everything, and then
 * changes everything by moves that cannot fail. */
#include "base/team.h"
#include "lib/nn/optimizer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char version[] = "1";
static const char prefix[] = "optimizer.";

/* "optimizer.SLOT.NAME" in new memory; NULL, with an error, on failure. */
static char *slot_name(const char *slot, const char *name)
{
    const size_t bytes = sizeof prefix + strlen(slot) + 1 + strlen(name);
    char *text = malloc(bytes);
    if (text)
        snprintf(text, bytes, "%s%s.%s", prefix, slot, name);
    else
        ig_fail(IG_ERR_MEMORY, "model: no memory for a name of %zu bytes", bytes);
    return text;
}

/* ---- saving ---- */

static ig_status put_number(ig_tensors *t, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return ig_tensors_put_text(t, key, text);
}

static ig_status put_list(ig_tensors *t, const entries *list)
{
    size_t bytes = 1;
    for (int i = 0; i < list->n; i++)
        bytes += strlen(list->at[i].name) + 1;
    char *text = malloc(bytes), *end = text;
    if (!text)
        return ig_fail(IG_ERR_MEMORY, "model_save: no memory for a list of names");
    for (int i = 0; i < list->n; i++)
        end += snprintf(end, bytes - (size_t)(end - text), i ? "\n%s" : "%s", list->at[i].name);
    *end = 0;
    const ig_status status = ig_tensors_put_text(t, "parameters", text);
    free(text);
    return status;
}

static ig_status put_model(ig_tensors *t, const ig_model *m)
{
    const entries *const lists[2] = {&m->param, &m->state};
    ig_status status = ig_tensors_put_text(t, "ingot", version);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < lists[k]->n && status == IG_OK; i++)
            status = ig_tensors_put(t, lists[k]->at[i].name, lists[k]->at[i].value);
    if (status == IG_OK)
        status = put_number(t, "seed", m->seed);
    if (status == IG_OK)
        status = put_number(t, "steps", (uint64_t)m->steps);
    return status == IG_OK ? put_list(t, &m->param) : status;
}

static ig_status put_optimizer(ig_tensors *t, const ig_model *m, const ig_optimizer *o,
                               slot_list *state)
{
    ig_status status = ig_tensors_put_text(t, "optimizer", o->rule->kind);
    if (status == IG_OK)
        status = put_number(t, "optimizer_steps", (uint64_t)o->steps);
    for (int i = 0; i < o->n; i++)
        for (int k = 0; k < o->slots && status == IG_OK; k++) {
            char *name = slot_name(o->rule->slot[k], m->param.at[i].name);
            status = name ? ig_tensors_put(t, name, state[i][k]) : IG_ERR_MEMORY;
            free(name);
        }
    return status;
}

static ig_status save(const ig_model *m, const ig_optimizer *o, slot_list *state, const char *text,
                      const char *path)
{
    ig_tensors *t = ig_tensors_new();
    if (!t)
        return error_code();
    ig_status status = put_model(t, m);
    if (status == IG_OK && o)
        status = put_optimizer(t, m, o, state);
    if (status == IG_OK && text)
        status = ig_tensors_put_text(t, "text", text);
    if (status == IG_OK)
        status = ig_tensors_save(t, path);
    ig_tensors_free(t);
    return status;
}

/* Rank 0 writes the file, and gets one tensor after the other from the ranks. The other ranks fail if it fails. */
static ig_status save_in_team(const ig_model *m, const ig_optimizer *o, const char *text,
                              const char *path)
{
    slot_list *whole = NULL;
    ig_status status = o->is_split ? shards_collect(o, m, &whole) : IG_OK;
    if (status == IG_OK && ig_team_rank() == 0)
        status = save(m, o, whole ? whole : o->state, text, path);
    slots_free(whole, o->n, o->slots);
    if (status == IG_OK)
        status = ig_team_join(NULL, 0, NULL); /* waits for rank 0; the parts of `whole` can go */
    else
        team_fail(NULL);
    return status;
}

ig_status ig_model_save(const ig_model *m, const ig_optimizer *o, const char *text,
                        const char *path)
{
    if (!m || !path)
        return ig_fail(IG_ERR_ARGUMENT, "model_save: %s is NULL", m ? "the path" : "the model");
    if (o && o->owner && o->owner != m->id)
        return ig_fail(IG_ERR_ARGUMENT,
                       "model_save '%s': the optimizer holds the state of another model", path);
    return o && shards_in_team(o) ? save_in_team(m, o, text, path)
                                  : save(m, o, o ? o->state : NULL, text, path);
}

/* ---- loading: finding ---- */

typedef struct found {
    const char *path;
    const ig_tensors *t;
    entries param, state; /* in the order of the model, or of the file if the model is empty */
    ig_array *(*slots)[SLOTS_MAX];
    uint64_t seed, steps, optimizer_steps;
    char *text;
} found;

static ig_status damaged(const found *f, const char *key)
{
    return ig_fail(IG_ERR_FORMAT, "model_load '%s': its text \"%s\" is wrong; save the model again",
                   f->path, key);
}

/* Reads the number under key, if there is one. */
static ig_status find_number(const found *f, const char *key, uint64_t *value)
{
    const char *text = ig_tensors_text(f->t, key);
    if (!text)
        return IG_OK;
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9')
        return damaged(f, key);
    *value = number;
    return IG_OK;
}

static ig_status find_texts(found *f)
{
    const char *its = ig_tensors_text(f->t, "ingot"), *text = ig_tensors_text(f->t, "text");
    if (its && strcmp(its, version) != 0)
        return ig_fail(IG_ERR_UNSUPPORTED,
                       "model_load '%s': it has version %.20s, and this Ingot reads version %s",
                       f->path, its, version);
    if (text && !(f->text = strdup(text)))
        return ig_fail(IG_ERR_MEMORY, "model_load '%s': no memory for its text", f->path);
    ig_status status = find_number(f, "seed", &f->seed);
    if (status == IG_OK)
        status = find_number(f, "steps", &f->steps);
    if (status == IG_OK && f->steps > INT64_MAX)
        status = damaged(f, "steps");
    return status;
}

/* The tensor of that name, which must have that shape and dtype; NULL, with an error, otherwise. */
static ig_array *find_tensor(const found *f, const char *name, ig_ints shape, ig_dtype dtype)
{
    ig_array *x = ig_tensors_get(f->t, name);
    char have[SHAPE_TEXT_BYTES], want[SHAPE_TEXT_BYTES];
    if (!x)
        ig_fail(IG_ERR_FORMAT, "model_load '%s': it has no '%s'; it belongs to another network",
                f->path, name);
    else if (!shape_equal(ig_shape(x), shape))
        ig_fail(IG_ERR_SHAPE, "model_load '%s': '%s' has shape %s, but the model needs %s", f->path,
                name, shape_text(ig_shape(x), have), shape_text(shape, want));
    else if (ig_dtype_of(x) != dtype)
        ig_fail(IG_ERR_DTYPE, "model_load '%s': '%s' is %s, but the model needs %s", f->path, name,
                ig_dtype_name(ig_dtype_of(x)), ig_dtype_name(dtype));
    else
        return x;
    return NULL;
}

/* Nothing else uses the set, and it will be freed, so its arrays become the model's without a copy. */
static ig_status take(entries *list, const char *name, ig_array *x)
{
    return x ? model_add(list, name, ig_retain(x)) : error_code();
}

/* Finds all entries of the model, and fails if the file has others. */
static ig_status find_known(found *f, const ig_model *m)
{
    const entries *const lists[2] = {&m->param, &m->state};
    entries *const into[2] = {&f->param, &f->state};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < lists[k]->n; i++) {
            const entry *e = &lists[k]->at[i];
            const ig_status status =
                take(into[k], e->name,
                     find_tensor(f, e->name, ig_shape(e->value), ig_dtype_of(e->value)));
            if (status != IG_OK)
                return status;
        }
    for (int i = 0; i < ig_tensors_count(f->t); i++) {
        const char *name = ig_tensors_name(f->t, i);
        if (strncmp(name, prefix, strlen(prefix)) == 0 || model_find(m, name))
            continue;
        const ig_status status = model_name_check(name);
        return status != IG_OK
                   ? status
                   : ig_fail(
                         IG_ERR_FORMAT,
                         "model_load '%s': the model has no '%s'; it belongs to another network",
                         f->path, name);
    }
    return IG_OK;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool is_listed(const entries *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return true;
    return false;
}

/* Finds the parameters that the file lists, in its order. */
static ig_status find_listed(found *f, const char *names)
{
    char *copy = strdup(names), *rest = copy;
    if (!copy)
        return ig_fail(IG_ERR_MEMORY, "model_load '%s': no memory for a list of names", f->path);
    ig_status status = IG_OK;
    for (char *name = strsep(&rest, "\n"); name && *names && status == IG_OK;
         name = strsep(&rest, "\n")) {
        ig_array *x = ig_tensors_get(f->t, name);
        status =
            !x || is_listed(&f->param, name) ? damaged(f, "parameters") : take(&f->param, name, x);
    }
    free(copy);
    return status;
}

/* Finds all entries of the file. */
static ig_status find_all(found *f)
{
    const char *names = ig_tensors_text(f->t, "parameters");
    ig_status status = names ? find_listed(f, names) : IG_OK;
    for (int i = 0; i < ig_tensors_count(f->t) && status == IG_OK; i++) {
        const char *name = ig_tensors_name(f->t, i);
        ig_array *x = ig_tensors_get(f->t, name);
        if (strncmp(name, prefix, strlen(prefix)) == 0)
            continue;
        if (!ig_isdtype(ig_dtype_of(x), "real floating") || ig_size(x) == 0)
            return ig_fail(IG_ERR_DTYPE,
                           "model_load '%s': '%s' is %s with %lld elements; models hold floats",
                           f->path, name, ig_dtype_name(ig_dtype_of(x)), (long long)ig_size(x));
        if ((status = model_name_check(name)) != IG_OK || (names && is_listed(&f->param, name)))
            continue;
        const bool state =
            names || ends_with(name, ".running_mean") || ends_with(name, ".running_var");
        status = take(state ? &f->state : &f->param, name, x);
    }
    return status;
}

static ig_status find_slots(found *f, const ig_optimizer *o)
{
    f->slots = calloc((size_t)f->param.n + 1, sizeof *f->slots);
    if (!f->slots)
        return ig_fail(IG_ERR_MEMORY, "model_load '%s': no memory for the optimizer", f->path);
    for (int i = 0; i < f->param.n; i++)
        for (int k = 0; k < o->slots; k++) {
            const ig_array *p = f->param.at[i].value;
            const ig_dtype fine = ig_dtype_of(p) == IG_F64 ? IG_F64 : IG_F32;
            char *name = slot_name(o->rule->slot[k], f->param.at[i].name);
            ig_array *x = name ? find_tensor(f, name, ig_shape(p), fine) : NULL;
            free(name);
            if (!x)
                return error_code();
            f->slots[i][k] = ig_retain(x);
        }
    return IG_OK;
}

static ig_status find_optimizer(found *f, const ig_optimizer *o)
{
    const char *kind = ig_tensors_text(f->t, "optimizer");
    if (!kind)
        return ig_fail(IG_ERR_FORMAT,
                       "model_load '%s': it holds no optimizer; load the model without one",
                       f->path);
    if (strcmp(kind, o->rule->kind) != 0)
        return ig_fail(IG_ERR_ARGUMENT,
                       "model_load '%s': its optimizer is %.20s, not %s; make one of that kind, or "
                       "load the model without one",
                       f->path, kind, o->rule->kind);
    const ig_status status = find_number(f, "optimizer_steps", &f->optimizer_steps);
    if (status != IG_OK || f->optimizer_steps > INT64_MAX)
        return status != IG_OK ? status : damaged(f, "optimizer_steps");
    return f->optimizer_steps ? find_slots(f, o) : IG_OK;
}

/* ---- loading: changing the model ---- */

static void found_free(found *f, int slots)
{
    for (int i = 0; f->slots && i < f->param.n; i++)
        for (int k = 0; k < slots; k++)
            ig_release(f->slots[i][k]);
    free(f->slots);
    free(f->text);
    model_clear(&f->param);
    model_clear(&f->state);
}

static void swap(entries *a, entries *b)
{
    const entries old = *a;
    *a = *b;
    *b = old;
}

static void commit(found *f, ig_model *m, ig_optimizer *o)
{
    if (o) {
        optimizer_clear(o);
        o->steps = (int64_t)f->optimizer_steps;
        o->state = f->slots;
        o->n = f->slots ? f->param.n : 0;
        o->owner = f->slots ? m->id : 0;
        f->slots = NULL;
    }
    swap(&m->param, &f->param);
    swap(&m->state, &f->state);
    char *old = m->text;
    m->text = f->text;
    f->text = old;
    m->seed = f->seed;
    m->steps = (int64_t)f->steps;
    m->has_words = m->is_divided = false;
    model_step_end(m, false);
}

ig_status ig_model_load(ig_model *m, ig_optimizer *o, const char *path)
{
    if (!m || !path)
        return ig_fail(IG_ERR_ARGUMENT, "model_load: %s is NULL", m ? "the path" : "the model");
    ig_tensors *t = ig_tensors_load(path);
    if (!t)
        return error_code();
    found f = {.path = path, .t = t, .seed = m->seed, .steps = (uint64_t)m->steps};
    ig_status status = find_texts(&f);
    if (status == IG_OK)
        status = ig_model_count(m) ? find_known(&f, m) : find_all(&f);
    if (status == IG_OK && o)
        status = find_optimizer(&f, o);
    if (status == IG_OK)
        commit(&f, m, o);
    found_free(&f, o ? o->slots : 0);
    ig_tensors_free(t);
    return status;
}
