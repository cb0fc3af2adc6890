/* The results of ingot run: arrays, differences between devices, findings and times, as text or as JSON. */
#include "calc/calc.h"
#include "run/session.h"

#include <stdlib.h>
#include <string.h>

/* The name of the i-th parameter that is written. */
static const char *result_name(const session *s, int i)
{
    const ig_kernel_param *p = s->kernel->params;
    while (!p->is_written || i-- > 0)
        p++;
    return p->name;
}

static int save_one(const session *s, const char *name, const char *path)
{
    const int n = s->kernel->n_written;
    nearest search = nearest_to(name ? name : "");
    for (int i = 0; i < n; i++) {
        nearest_offer(&search, result_name(s, i));
        if (name ? strcmp(result_name(s, i), name) != 0 : n != 1)
            continue;
        if (ig_save(path, s->answers[0].results[i]) == IG_OK)
            return -1;
        return fail_library(s->command);
    }
    str hint = {0};
    str_did_you_mean(&hint, &search);
    if (name)
        say(s->command, "--output: the kernel does not write an array '%s'%s", name,
            hint.s ? hint.s : "");
    else
        say(s->command,
            "--output FILE needs a kernel that writes one array, and this one writes %d; choose "
            "one: "
            "--output NAME=FILE",
            n);
    str_free(&hint);
    return EXIT_USAGE;
}

static int save(const session *s)
{
    int code = -1;
    for (int i = 0; i < s->set->outs.n && code < 0; i++) {
        char *word = heap_string(s->set->outs.v[i]), *equals = strchr(word, '=');
        if (equals)
            *equals = 0;
        code = save_one(s, equals ? word : NULL, equals ? equals + 1 : word);
        free(word);
    }
    return code;
}

static bool print_results(const session *s, str *t)
{
    for (int i = 0; i < s->kernel->n_written; i++) {
        const value v = value_array(s->answers[0].results[i]);
        str_printf(t, "%s =%s", result_name(s, i), ig_ndim(v.u.array) > 1 ? "\n" : " ");
        if (!print_value(t, &v, s->set->full))
            return false;
        str_puts(t, "\n");
    }
    return true;
}

static bool same(const session *s, const answer *a)
{
    bool all = true;
    for (int i = 0; i < s->kernel->n_written; i++)
        all &= !a->apart[i].count || a->apart[i].ulp <= (double)s->set->ulp;
    return all;
}

static void say_differences(const session *s, const answer *a)
{
    const answer *first = &s->answers[0];
    for (int i = 0; i < s->kernel->n_written; i++) {
        const difference *d = &a->apart[i];
        const ig_dtype dtype = ig_dtype_of(a->results[i]);
        const char *unit = ig_isdtype(dtype, "real floating") ? " ulp" : "";
        if (!d->count) {
            text_printf(stderr, "%s: the same bits on %s and %s\n", result_name(s, i),
                        first->device, a->device);
            continue;
        }
        str x = {0}, y = {0};
        const value vx = value_element(ig_data(first->results[i]), dtype, d->first);
        const value vy = value_element(ig_data(a->results[i]), dtype, d->first);
        print_value(&x, &vx, true);
        print_value(&y, &vy, true);
        text_printf(
            stderr,
            "%s: %lld of %lld elements differ, by %.6g%s at most; the first is element %lld: "
            "%s on %s, %s on %s\n",
            result_name(s, i), (long long)d->count, (long long)ig_size(a->results[i]), d->ulp, unit,
            (long long)d->first, x.s, first->device, y.s, a->device);
        str_free(&x);
        str_free(&y);
    }
}

static void say_times(const session *s)
{
    for (int i = 0; i < s->n_answers; i++)
        timing_say(s->answers[i].device, &s->answers[i].time);
}

static void json_shape(str *t, const char *name, const shape *n)
{
    str_json(t, "%s: [%u, %u, %u]", name, n->n[0], n->n[1], n->n[2]);
}

static bool json_device(const session *s, str *t, const answer *a)
{
    str_json(t, "{device: %s, ms: %.6g", a->device, a->seconds * 1e3);
    if (s->set->time)
        timing_json(t, &a->time);
    str_json(t, "printed: %s, results: [", a->printed.s ? a->printed.s : "");
    for (int i = 0; i < s->kernel->n_written; i++) {
        const value v = value_array(a->results[i]);
        str_json(t, "{name: %s, different: %lld", result_name(s, i), (long long)a->apart[i].count);
        if (a->apart[i].ulp < 1e300)
            str_json(t, "worst_ulp: %.6g", a->apart[i].ulp);
        else
            str_json(t, "worst_ulp: inf");
        if (!json_value(t, &v))
            return false;
        str_json(t, "}");
    }
    str_json(t, "]}");
    return true;
}

/* The results of the first n devices. */
static bool json_results(const session *s, str *t, int n, bool fine)
{
    str_json(t, "{schema: 1, file: %s, kernel: %s", s->file, s->kernel->name);
    json_shape(t, "grid", &s->set->grid);
    json_shape(t, "block", &s->set->block);
    if (s->findings)
        run_findings_json(t, s->findings);
    if (s->profile)
        run_profile_json(t, s->profile);
    str_json(t, "shared_bytes: %llu, same: %hhd, devices: [",
             (unsigned long long)s->set->shared_bytes, fine);
    for (int i = 0; i < n; i++)
        if (!json_device(s, t, &s->answers[i]))
            return false;
    str_json(t, "]}\n");
    return true;
}

static void add_profile(str *t, const ig_profile *p)
{
    char *text = ig_profile_text(p);
    str_puts(t, text ? text : "");
    ig_free(text);
}

int run_tell(const session *s)
{
    const settings *set = s->set;
    const bool print = set->print || (!set->outs.n && !set->time);
    str t = {0};
    bool fine = true;
    for (int i = 1; i < s->n_answers; i++)
        fine &= same(s, &s->answers[i]);
    const bool written =
        set->json ? json_results(s, &t, s->n_answers, fine) : !print || print_results(s, &t);
    if (s->profile && !set->json)
        add_profile(&t, s->profile);
    int code = written ? save(s) : fail_library(s->command);
    if (t.n && code < 0)
        text_print(stdout, t.s);
    str_free(&t);
    fflush(stdout);
    for (int i = 1; i < s->n_answers && !set->json; i++)
        say_differences(s, &s->answers[i]);
    if (!set->json)
        run_findings_say(s->findings);
    if (set->time && !set->json)
        say_times(s);
    return code >= 0 ? code : fine ? EXIT_FINE : EXIT_FAILED;
}

int run_tell_mistakes(const session *s)
{
    str t = {0};
    ig_error(NULL); /* the findings are more specific */
    if (s->set->json)
        json_results(s, &t, 0, false);
    text_print(stdout, t.s ? t.s : "");
    fflush(stdout);
    if (!s->set->json)
        run_findings_say(s->findings);
    str_free(&t);
    return EXIT_FAILED;
}
