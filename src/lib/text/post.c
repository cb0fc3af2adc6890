/* Post-processors: special tokens around the texts, truncation, and the offsets of byte-level tokens. See tokenizer.h.
 */
#include "lib/text/tokenizer.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* ---- tokens --------------------------------------------------------------------------------- */

bool tokens_reserve(tokens *t, size_t more) { return LIST_RESERVE(t, more); }

void tokens_add(tokens *t, text_token one)
{
    if (t->n < t->room || tokens_reserve(t, 1))
        t->at[t->n++] = one;
}

void tokens_free(tokens *t) { LIST_FREE(t); }

/* ---- truncation ----------------------------------------------------------------------------- */

static void tokens_cut(tokens *t, int64_t most, bool left)
{
    if (most < 0)
        most = 0;
    if ((int64_t)t->n <= most)
        return;
    if (left)
        memmove(t->at, t->at + (t->n - (size_t)most), (size_t)most * sizeof *t->at);
    t->n = (size_t)most;
}

bool tokens_truncate(tokens *a, tokens *b, const truncation *how, int64_t max_length)
{
    const int64_t n = (int64_t)a->n, m = b ? (int64_t)b->n : 0, over = n + m - max_length;
    if (over <= 0)
        return true;
    if (max_length <= 0) {
        a->n = 0;
        if (b)
            b->n = 0;
        return true;
    }
    if (how->strategy == LONGEST_FIRST) {
        if (!b) {
            tokens_cut(a, max_length, how->left);
            return true;
        }
        int64_t shorter = n < m ? n : m;
        int64_t longer = shorter > max_length             ? shorter
                         : max_length - shorter > shorter ? max_length - shorter
                                                          : shorter;
        if (shorter + longer > max_length) {
            shorter = max_length / 2;
            longer = shorter + max_length % 2;
        }
        tokens_cut(a, n > m ? longer : shorter, how->left);
        tokens_cut(b, n > m ? shorter : longer, how->left);
        return true;
    }
    tokens *which = how->strategy == ONLY_FIRST ? a : b;
    if (!which || (int64_t)which->n <= over)
        return false;
    tokens_cut(which, (int64_t)which->n - over, how->left);
    return true;
}

/* ---- special tokens ------------------------------------------------------------------------- */

static void token_trim(text_token *t, bool first, bool prefix_space)
{
    uint32_t leading = t->blanks[0];
    const uint32_t trailing = t->blanks[1];
    if (leading) {
        /* A blank that was inserted before the first word is not in the text. */
        if ((first || t->start == 0) && prefix_space && leading == 1)
            leading = 0;
        t->start = t->start + leading < t->end ? t->start + leading : t->end;
    }
    if (trailing && t->end >= trailing)
        t->end = t->end - trailing > t->start ? t->end - trailing : t->start;
}

void post_trim(const post *p, tokens *list)
{
    for (int i = 0; i < p->n_trims; i++)
        for (size_t j = 0; j < list->n; j++)
            token_trim(&list->at[j], j == 0, p->prefix_space[i]);
}

static void sequence_add(const tokens *from, int sequence, int type, tokens *out)
{
    if (!tokens_reserve(out, from->n))
        return;
    for (size_t i = 0; i < from->n; i++) {
        text_token t = from->at[i];
        t.sequence = (int8_t)sequence;
        t.type = (uint8_t)type;
        t.mask = 1;
        tokens_add(out, t);
    }
    out->failed |= from->failed;
}

void post_run(const post *p, const tokens *a, const tokens *b, bool plain, tokens *out)
{
    const template_list *list = b ? &p->pair : &p->single;
    if (!p->has_template || (plain && !p->types_by_template)) {
        sequence_add(a, 0, 0, out);
        if (b)
            sequence_add(b, 1, p->types_zero ? 0 : 1, out);
        return;
    }
    for (int i = 0; i < list->n; i++) {
        const template_item *item = &list->at[i];
        if (item->sequence >= 0)
            sequence_add(item->sequence == 0 || !b ? a : b, item->sequence, item->type, out);
        else if (!plain)
            tokens_add(out, (text_token){.id = item->id,
                                         .word = -1,
                                         .sequence = -1,
                                         .type = (uint8_t)item->type,
                                         .mask = 1,
                                         .special = 1});
    }
}

int post_count(const post *p, bool pair)
{
    const template_list *list = pair ? &p->pair : &p->single;
    int n = 0;
    for (int i = 0; i < list->n; i++)
        n += list->at[i].sequence < 0;
    return n;
}

void post_free(post *p)
{
    memory_free(p->single.at);
    memory_free(p->pair.at);
    *p = (post){0};
}

/* ---- reading -------------------------------------------------------------------------------- */

static ig_status item_add(template_list *l, template_item item)
{
    template_item *at = memory_resize(l->at, (size_t)(l->n + 1) * sizeof *at);
    if (!at)
        return IG_ERR_MEMORY;
    l->at = at;
    at[l->n++] = item;
    return IG_OK;
}

/* Items of a template, while it is read. */
typedef struct reading {
    template_list *list;
    field special; /* the object "special_tokens" */
    int32_t type;
    int sequences; /* items that stand for a text */
} reading;

enum { SEQUENCES_MOST = 16 };

static ig_status id_read(void *context, json_text key, field f)
{
    const reading *r = context;
    const int64_t id = field_int(f, -1);
    (void)key;
    if (id < 0 || id >= VOCABULARY_MOST)
        FAIL(IG_ERR_FORMAT, "the post-processor has a special token without an id");
    return item_add(r->list, (template_item){-1, (int32_t)id, r->type});
}

/* The ids of a special token, whose name may be any text. */
typedef struct wanted {
    const char *name;
    field ids;
} wanted;

static ig_status special_find(void *context, json_text key, field f)
{
    wanted *w = context;
    char *name = json_text_copy(key, NULL);
    if (!name)
        return IG_ERR_MEMORY;
    if (strcmp(name, w->name) == 0)
        w->ids = field_get(f, "ids");
    memory_free(name);
    return IG_OK;
}

static ig_status item_read(void *context, json_text key, field f)
{
    reading *r = context;
    const field sequence = field_get(f, "Sequence"), special = field_get(f, "SpecialToken");
    const field item = field_given(sequence) ? sequence : special;
    const int64_t type = field_int(field_get(item, "type_id"), 0);
    (void)key;
    if (type < 0 || type > UINT8_MAX)
        FAIL(IG_ERR_FORMAT, "the post-processor has the type_id %lld", (long long)type);
    r->type = (int32_t)type;
    if (field_given(sequence)) {
        static const char *const names[] = {"A", "B", NULL};
        int which = 0;
        TRY(field_choice(field_get(sequence, "id"), "post_processor: the id of a sequence", names,
                         &which));
        if (++r->sequences > SEQUENCES_MOST)
            FAIL(IG_ERR_UNSUPPORTED, "the post-processor repeats a text more than %d times",
                 SEQUENCES_MOST);
        return item_add(r->list, (template_item){which, 0, r->type});
    }
    wanted w = {.name = field_text(field_get(special, "id"), NULL)};
    if (!w.name)
        FAIL(IG_ERR_FORMAT,
             "the post-processor has an item that is neither a sequence nor a special token");
    ig_status status = field_each(r->special, special_find, &w);
    if (status == IG_OK && w.ids.kind != JSON_ARRAY)
        status = ig_fail(IG_ERR_FORMAT, "the post-processor has no ids for '%.60s'", w.name);
    memory_free((char *)w.name);
    return status == IG_OK ? field_each(w.ids, id_read, r) : status;
}

static ig_status template_read(post *p, field f)
{
    reading single = {.list = &p->single, .special = field_get(f, "special_tokens")};
    reading pair = {.list = &p->pair, .special = single.special};
    p->has_template = p->types_by_template = true;
    TRY(field_each(field_get(f, "single"), item_read, &single));
    return field_each(field_get(f, "pair"), item_read, &pair);
}

/* The id of ["[CLS]", 101]. */
static ig_status second_read(void *context, json_text key, field f)
{
    (void)key;
    if (f.kind == JSON_NUMBER)
        *(int64_t *)context = field_int(f, -1);
    return IG_OK;
}

static ig_status named_read(field f, const char *name, int32_t *id)
{
    int64_t value = -1;
    TRY(field_each(field_get(f, name), second_read, &value));
    if (value < 0 || value >= VOCABULARY_MOST)
        FAIL(IG_ERR_FORMAT, "the post-processor has no id for '%s'", name);
    *id = (int32_t)value;
    return IG_OK;
}

/* [CLS] A [SEP] B [SEP], with the type 1 from B on; or <s> A </s> </s> B </s>, all of type 0. */
static ig_status around_read(post *p, field f, bool roberta)
{
    int32_t cls = 0, sep = 0;
    TRY(named_read(f, "cls", &cls));
    TRY(named_read(f, "sep", &sep));
    const template_item items[] = {{-1, cls, 0}, {0, 0, 0},        {-1, sep, 0},
                                   {-1, sep, 0}, {1, 0, !roberta}, {-1, sep, !roberta}};
    p->has_template = true;
    p->types_zero = roberta;
    for (int i = 0; i < 6; i++) {
        if (i < 3)
            TRY(item_add(&p->single, items[i]));
        if (i != 3 || roberta)
            TRY(item_add(&p->pair, items[i]));
    }
    return IG_OK;
}

static ig_status bert_read(post *p, field f) { return around_read(p, f, false); }

/* An option of the processor. p->settings, of tokenizer_config.json, overrides it. */
static bool option(const post *p, field f, const char *name)
{
    return field_bool(field_get(p->settings, name), field_bool(field_get(f, name), true));
}

static ig_status trim_read(post *p, field f)
{
    if (!option(p, f, "trim_offsets"))
        return IG_OK;
    if (p->n_trims == TRIMS_MOST)
        FAIL(IG_ERR_UNSUPPORTED, "post_processor: more than %d processors trim offsets",
             TRIMS_MOST);
    p->prefix_space[p->n_trims++] = option(p, f, "add_prefix_space");
    return IG_OK;
}

static ig_status roberta_read(post *p, field f)
{
    TRY(around_read(p, f, true));
    return trim_read(p, f);
}

static const struct {
    const char *name;
    ig_status (*read)(post *p, field f);
    bool is_template;
} kinds[] = {{"TemplateProcessing", template_read, true},
             {"BertProcessing", bert_read, true},
             {"RobertaProcessing", roberta_read, true},
             {"ByteLevel", trim_read, false}};

static ig_status kind_read(void *context, json_text key, field f)
{
    post *p = context;
    const field type = field_get(f, "type");
    (void)key;
    if (field_is(type, "Sequence"))
        return field_each(field_get(f, "processors"), kind_read, p);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (field_is(type, kinds[i].name)) {
            if (kinds[i].is_template && p->has_template)
                FAIL(IG_ERR_UNSUPPORTED, "post_processor: two processors add special tokens, which "
                                         "is not supported; keep one");
            return kinds[i].read(p, f);
        }
    return field_refuse("post_processor", type);
}

ig_status post_read(post *p, field config, field settings)
{
    if (field_is(field_get(config, "type"), "RobertaProcessing"))
        p->settings = settings;
    return field_given(config) ? kind_read(p, (json_text){0}, config) : IG_OK;
}
