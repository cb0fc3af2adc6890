/* Models: named arrays that outlive scopes, created by the first call that asks for them. */
#include "lib/nn/model.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes and errors ---- */

bool shape_equal(ig_ints a, ig_ints b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.v, b.v, (size_t)a.n * sizeof *a.v) == 0);
}

const char *shape_text(ig_ints shape, char text[SHAPE_TEXT_BYTES])
{
    int used = snprintf(text, SHAPE_TEXT_BYTES, "(");
    for (int i = 0; i < shape.n && i < IG_MAX_NDIM; i++)
        used += snprintf(text + used, SHAPE_TEXT_BYTES - (size_t)used, i ? ", %lld" : "%lld",
                         (long long)shape.v[i]);
    snprintf(text + used, SHAPE_TEXT_BYTES - (size_t)used, shape.n == 1 ? ",)" : ")");
    return text;
}

ig_status error_code(void)
{
    ig_status code;
    const char *text = ig_error(&code);
    if (!text)
        return IG_ERR_INTERNAL;
    return ig_fail(code, "%s", text);
}

/* ---- lists of entries ---- */

static bool is_named(const char *text, const name_parts *name)
{
    for (int i = 0; i < 3 && name->part[i]; i++) {
        const size_t n = strlen(name->part[i]);
        if ((i && *text++ != '.') || strncmp(text, name->part[i], n) != 0)
            return false;
        text += n;
    }
    return *text == 0;
}

static entry *list_find(entries *list, const name_parts *name)
{
    for (int k = 0; k < list->n; k++) {
        const int i = list->cursor + k < list->n ? list->cursor + k : list->cursor + k - list->n;
        if (is_named(list->at[i].name, name)) {
            list->cursor = i + 1 < list->n ? i + 1 : 0;
            return &list->at[i];
        }
    }
    return NULL;
}

ig_status model_add(entries *list, const char *name, ig_array *value)
{
    entry *at = list->at;
    char *copy = strdup(name);
    if (copy && list->n == list->room) {
        const int room = 2 * list->room + 16;
        at = realloc(list->at, (size_t)room * sizeof *at);
        if (at) {
            list->at = at;
            list->room = room;
        }
    }
    if (!copy || !at) {
        free(copy);
        ig_release(value);
        return ig_fail(IG_ERR_MEMORY, "model: no memory for '%s'", name);
    }
    list->at[list->n++] = (entry){.name = copy, .value = value};
    return IG_OK;
}

void model_clear(entries *list)
{
    for (int i = 0; i < list->n; i++) {
        free(list->at[i].name);
        ig_release(list->at[i].value);
        ig_release(list->at[i].part);
        ig_release(list->at[i].next);
    }
    free(list->at);
    *list = (entries){0};
}

/* ---- making values ---- */

ig_array *model_own(ig_array *x)
{
    if (ig_scope_begin() != IG_OK)
        return NULL;
    const bool kept = ig_keep_history(false); /* a parameter is a constant */
    /* The result of an op has its own memory; x * 1 has the same bits as x. */
    ig_array *own = ig_scope_forget(ig_multiply(x, ig_float(1)));
    if (own && ig_eval(&own, 1) != IG_OK) {
        ig_release(own);
        own = NULL;
    }
    ig_keep_history(kept);
    ig_scope_end();
    return own;
}

/* Drawn in f32 at least, so that a model in bf16 starts as the f32 model, rounded. */
static ig_array *drawn(const ig_model *m, ig_ints shape, ig_dtype dtype, ig_init init, double scale)
{
    const ig_dtype fine = dtype == IG_F64 ? IG_F64 : IG_F32;
    ig_array *key = ig_fold_in(ig_key(m->seed, NULL), m->param.n);
    switch (init) {
    case IG_INIT_ZEROS: return ig_zeros(shape, dtype);
    case IG_INIT_ONES: return ig_ones(shape, dtype);
    case IG_INIT_UNIFORM:
        return ig_astype(ig_uniform(key, shape, fine, ig_float(-scale), ig_float(scale)), dtype);
    case IG_INIT_NORMAL:
        return ig_astype(ig_normal(key, shape, fine, NULL, ig_float(scale)), dtype);
    }
    ig_fail(IG_ERR_ARGUMENT, "model: there is no way %d to draw a parameter", (int)init);
    return NULL;
}

ig_status model_name_check(const char *name)
{
    if (!*name)
        return ig_fail(IG_ERR_ARGUMENT, "model: the name of a parameter is empty");
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ')
            return ig_fail(IG_ERR_ARGUMENT,
                           "model: a name has the control character 0x%02x; use printable ones",
                           *c);
    if (strncmp(name, "optimizer.", 10) == 0 || strcmp(name, "__metadata__") == 0)
        return ig_fail(IG_ERR_ARGUMENT,
                       "model: the name '%s' is reserved by the file format; choose another", name);
    return IG_OK;
}

/* The parts joined by dots; NULL, with an error, if that is not a valid name. */
static char *joined(const name_parts *name)
{
    size_t bytes = 1;
    for (int i = 0; i < 3 && name->part[i]; i++)
        bytes += strlen(name->part[i]) + 1;
    char *text = malloc(bytes), *end = text;
    if (!text) {
        ig_fail(IG_ERR_MEMORY, "model: no memory for a name of %zu bytes", bytes);
        return NULL;
    }
    *end = 0;
    for (int i = 0; i < 3 && name->part[i]; i++)
        end += snprintf(end, bytes - (size_t)(end - text), i ? ".%s" : "%s", name->part[i]);
    if (model_name_check(text) == IG_OK)
        return text;
    free(text);
    return NULL;
}

static entry *entry_new(ig_model *m, entries *list, const name_parts *name, ig_ints shape,
                        ig_dtype dtype, ig_init init, double scale)
{
    char *text = joined(name), have[SHAPE_TEXT_BYTES];
    if (!text)
        return NULL;
    bool empty = false;
    for (int i = 0; i < shape.n; i++)
        empty = empty || shape.v[i] < 1;
    ig_status status = IG_OK;
    if (empty)
        status = ig_fail(IG_ERR_SHAPE, "model: '%s' would have shape %s, without any element", text,
                         shape_text(shape, have));
    else if (!ig_isdtype(dtype, "real floating"))
        status = ig_fail(IG_ERR_DTYPE, "model: '%s' would be %s; only floats can be trained", text,
                         ig_dtype_name(dtype));
    else if (model_find(m, text))
        status =
            ig_fail(IG_ERR_ARGUMENT, "model: '%s' exists, but %s; give the layers different names",
                    text, list == &m->param ? "is not trained" : "is trained");
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        ig_array *value = model_own(drawn(m, shape, dtype, init, scale));
        ig_scope_end();
        status = value ? model_add(list, text, value) : IG_ERR_MEMORY;
    }
    free(text);
    return status == IG_OK ? &list->at[list->n - 1] : NULL;
}

static entry *entry_get(ig_model *m, entries *list, name_parts name, ig_ints shape, ig_dtype dtype,
                        ig_init init, double scale)
{
    entry *e = list_find(list, &name);
    if (!e)
        return entry_new(m, list, &name, shape, dtype, init, scale);
    if (shape_equal(ig_shape(e->value), shape))
        return e;
    char have[SHAPE_TEXT_BYTES], want[SHAPE_TEXT_BYTES];
    ig_fail(IG_ERR_SHAPE,
            "model: '%s' has shape %s, but this call needs %s; a layer keeps the shapes of its "
            "first call: change x, or use another name",
            e->name, shape_text(ig_shape(e->value), have), shape_text(shape, want));
    return NULL;
}

ig_array *model_param(ig_model *m, name_parts name, ig_ints shape, ig_dtype dtype, ig_init init,
                      double scale)
{
    const bool mixed = m->mixed != IG_F32 && (dtype == m->mixed || dtype == IG_F32);
    entry *e = entry_get(m, &m->param, name, shape, mixed ? IG_F32 : dtype, init, scale);
    if (!e)
        return NULL;
    return mixed && ig_dtype_of(e->value) == IG_F32 ? ig_astype(e->value, m->mixed) : e->value;
}

ig_array *model_input(const ig_model *m, ig_array *x)
{
    const bool converts = m->mixed != IG_F32 && x && ig_isdtype(ig_dtype_of(x), "real floating");
    return converts ? ig_astype(x, m->mixed) : x;
}

entry *model_state(ig_model *m, name_parts name, ig_ints shape, ig_dtype dtype, ig_init init)
{
    return entry_get(m, &m->state, name, shape, dtype, init, 1);
}

entry *model_find(const ig_model *m, const char *name)
{
    const entries *const lists[2] = {&m->param, &m->state};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < lists[k]->n; i++)
            if (strcmp(lists[k]->at[i].name, name) == 0)
                return &lists[k]->at[i];
    return NULL;
}

/* ---- dropout keys ---- */

enum { DRAW_BITS = 20 }; /* for calls in a step; the bits above hold the upper half of the step */

/* A key is data, so all steps build the same graph. Philox draws from two words of key, which are the
 * model's (and the shard's), and a counter, whose upper words hold step and call. */
ig_array *model_draw_key(ig_model *m)
{
    if (!m->has_words) {
        uint32_t words[4];
        if (ig_scope_begin() != IG_OK)
            return NULL;
        ig_array *key = ig_fold_in(ig_key(m->seed, NULL), -1); /* no parameter has this number */
        m->has_words = key && ig_read(key, words, sizeof words) == IG_OK;
        ig_scope_end();
        if (!m->has_words)
            return NULL;
        memcpy(m->words, words, sizeof m->words);
    }
    const uint64_t step = (uint64_t)m->steps, call = (uint64_t)m->draws++;
    const uint32_t key[4] = {m->words[0], m->words[1] ^ (uint32_t)m->shard, (uint32_t)step,
                             (uint32_t)(call ^ step >> 32 << DRAW_BITS)};
    return ig_from_data(key, IG_SHAPE(4), IG_U32);
}

void model_step_end(ig_model *m, bool made)
{
    for (int i = 0; i < m->state.n; i++) {
        entry *e = &m->state.at[i];
        if (made && e->next) {
            ig_release(e->value);
            e->value = e->next;
        } else {
            ig_release(e->next);
        }
        e->next = NULL;
    }
    m->draws = 0;
    m->steps += made;
}

/* ---- public functions ---- */

ig_model *ig_model_new(uint64_t seed)
{
    static _Atomic uint64_t last_id;
    ig_model *m = calloc(1, sizeof *m);
    if (!m) {
        ig_fail(IG_ERR_MEMORY, "model_new: no memory for a model");
        return NULL;
    }
    m->id = atomic_fetch_add(&last_id, 1) + 1;
    m->seed = seed;
    m->training = true;
    m->mixed = IG_F32;
    return m;
}

void ig_model_free(ig_model *m)
{
    if (!m)
        return;
    model_clear(&m->param);
    model_clear(&m->state);
    free(m->text);
    free(m);
}

void ig_model_train(ig_model *m, bool training)
{
    if (m) {
        m->training = training;
        model_step_end(m, false);
    }
}

ig_status ig_model_mixed(ig_model *m, ig_dtype dtype)
{
    if (!m)
        return ig_fail(IG_ERR_ARGUMENT, "model_mixed: the model is missing");
    if (dtype != IG_BF16 && dtype != IG_F32)
        return ig_fail(IG_ERR_DTYPE,
                       "model_mixed: %s; give bf16, or f32 to compute as the parameters are",
                       ig_dtype_name(dtype));
    m->mixed = dtype;
    return IG_OK;
}

static const entry *entry_at(const ig_model *m, int i)
{
    if (!m || i < 0 || i >= m->param.n + m->state.n)
        return NULL;
    return i < m->param.n ? &m->param.at[i] : &m->state.at[i - m->param.n];
}

int ig_model_count(const ig_model *m) { return m ? m->param.n + m->state.n : 0; }
bool ig_model_is_trained(const ig_model *m, int i) { return m && i >= 0 && i < m->param.n; }
const char *ig_model_text(const ig_model *m) { return m ? m->text : NULL; }

const char *ig_model_name(const ig_model *m, int i)
{
    const entry *e = entry_at(m, i);
    return e ? e->name : NULL;
}

ig_array *ig_model_get(const ig_model *m, const char *name)
{
    const entry *e = m && name ? model_find(m, name) : NULL;
    return e ? e->value : NULL;
}

ig_array *ig_model_param(ig_model *m, const char *name, ig_ints shape, ig_dtype dtype, ig_init init,
                         double scale)
{
    if (!m || !name || !shape.v) {
        ig_fail(IG_ERR_ARGUMENT, "model_param: %s is missing",
                !m      ? "the model"
                : !name ? "the name"
                        : "the shape");
        return NULL;
    }
    if (!isfinite(scale)) {
        ig_fail(IG_ERR_ARGUMENT, "model_param: the scale of '%s' is %g; give a finite number", name,
                scale);
        return NULL;
    }
    const ig_dtype wanted = dtype == IG_DTYPE_NONE ? ig_default_dtype() : dtype;
    ig_array *x = model_param(m, (name_parts){{name}}, shape, wanted, init, scale);
    const bool mixed = wanted == IG_F32 && x && ig_dtype_of(x) == m->mixed;
    if (x && dtype != IG_DTYPE_NONE && ig_dtype_of(x) != dtype && !mixed) {
        ig_fail(IG_ERR_DTYPE,
                "model_param: '%s' is %s, but %s is asked for; convert it with astype", name,
                ig_dtype_name(ig_dtype_of(x)), ig_dtype_name(dtype));
        return NULL;
    }
    return x;
}

ig_status ig_model_set(ig_model *m, const char *name, ig_array *value)
{
    if (!m || !name || !value)
        return ig_failed() ? error_code()
                           : ig_fail(IG_ERR_ARGUMENT, "model_set: %s is missing",
                                     !m      ? "the model"
                                     : !name ? "the name"
                                             : "the value");
    entry *e = model_find(m, name);
    if (!e)
        return ig_fail(IG_ERR_ARGUMENT,
                       "model_set: the model has no '%s'; layers make their parameters when they "
                       "are first called",
                       name);
    char have[SHAPE_TEXT_BYTES], want[SHAPE_TEXT_BYTES];
    if (!shape_equal(ig_shape(value), ig_shape(e->value)))
        return ig_fail(IG_ERR_SHAPE, "model_set: '%s' has shape %s, but the value has %s", name,
                       shape_text(ig_shape(e->value), want), shape_text(ig_shape(value), have));
    if (ig_dtype_of(value) != ig_dtype_of(e->value))
        return ig_fail(IG_ERR_DTYPE,
                       "model_set: '%s' is %s, but the value is %s; convert it with astype", name,
                       ig_dtype_name(ig_dtype_of(e->value)), ig_dtype_name(ig_dtype_of(value)));
    if (e->part || ig_team_is_divided(e->value))
        return ig_fail(IG_ERR_ARGUMENT,
                       "model_set: the ranks have divided '%s'; set it before ig_shards_divide",
                       name);
    ig_array *own = model_own(value);
    if (!own)
        return error_code();
    ig_release(e->value);
    e->value = own;
    return IG_OK;
}
