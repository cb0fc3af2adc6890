/* The functions of chat templates: see run.h. */
#include "lib/chat/run.h"

#include <string.h>
#include <time.h>

enum { RANGE_MOST = 100000 };

static value call_range(render *r, const value *p, const arguments *all)
{
    int64_t at[3] = {0, 0, 1}, n = 0;
    (void)p;
    if (all->n < 1 || all->n > 3 || all->n_named)
        return render_fail(r, "the function 'range' takes one to three integers");
    for (int i = 0; i < all->n; i++)
        if (!value_as_int(all->at[i], &at[all->n == 1 ? 1 : i]))
            return render_fail(r, "the function 'range' takes integers, not a value of type '%s'",
                               value_type(all->at[i]));
    if (at[2] == 0)
        return render_fail(r, "the step of a range is 0");
    const __int128 span = (__int128)at[1] - at[0],
                   count = at[2] > 0 ? (span + at[2] - 1) / at[2] : (span + at[2] + 1) / at[2];
    if (count > RANGE_MOST)
        return render_fail(r, "a range has more than %d items", RANGE_MOST);
    n = count > 0 ? (int64_t)count : 0;
    list *l = list_new(r, (size_t)n, LIST_RANGE);
    for (int64_t i = 0; l && i < n; i++)
        l->at[l->n++] = value_int(at[0] + i * at[2]);
    if (l) {
        l->start = at[0];
        l->stop = at[1];
        l->step = at[2];
    }
    return value_of_list(l);
}

static value call_dict(render *r, const value *p, const arguments *all)
{
    dict *d = dict_new(r, (size_t)all->n_named);
    (void)p;
    if (all->n > 1)
        return render_fail(r, "the function 'dict' takes one dict or list");
    if (d && all->n == 1 && all->at[0].kind == VALUE_DICT) {
        for (size_t i = 0; i < all->at[0].as.dict->n; i++)
            dict_add(r, d, all->at[0].as.dict->at[i].key, all->at[0].as.dict->at[i].item);
    } else if (d && all->n == 1) {
        const list *pairs = value_items(r, all->at[0]);
        for (size_t i = 0; pairs && i < pairs->n && !r->failed; i++) {
            const list *pair = value_items(r, pairs->at[i]);
            if (pair && pair->n == 2)
                dict_set(r, d, pair->at[0], pair->at[1]);
            else
                render_fail(r, "the function 'dict' takes pairs of keys and values");
        }
    }
    for (int i = 0; d && i < all->n_named; i++)
        dict_set(r, d, value_string(all->named[i].name), all->named[i].v);
    return value_dict(d);
}

static value call_namespace(render *r, const value *p, const arguments *all)
{
    value v = call_dict(r, p, all);
    for (size_t i = 0; v.kind == VALUE_DICT && i < v.as.dict->n; i++) {
        const value key = v.as.dict->at[i].key;
        if (key.kind == VALUE_STRING && key.as.s.n && key.as.s.at[0] == '_')
            return render_fail(r, "names in namespaces must not begin with '_'");
    }
    v.kind = v.kind == VALUE_DICT ? VALUE_NAMESPACE : v.kind;
    return v;
}

static value call_raise_exception(render *r, const value *p, const arguments *all)
{
    const string s = value_show(r, p[0]);
    (void)all;
    return render_fail(r, "%.*s", (int)(s.n < 500 ? s.n : 500), s.at);
}

static value call_strftime_now(render *r, const value *p, const arguments *all)
{
    const time_t now = (time_t)r->now;
    char format[256], shown[1024];
    struct tm parts;
    (void)all;
    if (p[0].kind != VALUE_STRING)
        return render_fail(r,
                           "the function 'strftime_now' needs a string, not a value of type '%s'",
                           value_type(p[0]));
    if (p[0].as.s.n >= sizeof format || !localtime_r(&now, &parts))
        return render_fail(r, "the format of strftime_now is too long");
    memcpy(format, p[0].as.s.at, p[0].as.s.n);
    format[p[0].as.s.n] = 0;
    const size_t n = *format ? strftime(shown, sizeof shown, format, &parts) : 0;
    builder b = {0};
    builder_bytes(r, &b, shown, n, false);
    return value_string(builder_string(&b));
}

static value call_refused(render *r, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return render_fail(r, "the functions 'cycler', 'joiner' and 'lipsum' are not supported");
}

const function *function_find(string name)
{
    static const function rows[] = {
        {"range", NULL, call_range},
        {"dict", NULL, call_dict},
        {"namespace", NULL, call_namespace},
        {"raise_exception", "message", call_raise_exception},
        {"strftime_now", "format", call_strftime_now},
        {"cycler", NULL, call_refused},
        {"joiner", NULL, call_refused},
        {"lipsum", NULL, call_refused},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (string_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}
