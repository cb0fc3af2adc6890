/* Arguments of a kernel: "name=VALUE" -> a number, a struct, or an array of the parameter's element type. */
#include "run/args.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- forms that are not calculator expressions ---- */

/* NAME:DTYPE[SHAPE] and its expansion: %k is a key, %s the shape, %n the number of elements, %d the dtype. */
static const struct {
    const char *name, *program;
} forms[] = {{"normal", "normal(%k, %s, dtype=%d)"},
             {"uniform", "uniform(%k, %s, dtype=%d)"},
             {"zeros", "zeros(%s, dtype=%d)"},
             {"ones", "ones(%s, dtype=%d)"},
             {"arange", "reshape(arange(%n, dtype=%d), %s)"}};

enum { FORMS = sizeof forms / sizeof *forms };

typedef struct form {
    const char *program;
    const char *dtype;
    const char *shape; /* with its brackets */
    size_t n_dtype;
} form;

/* Returns false if the text does not have this form. */
static bool form_read(const char *text, form *out)
{
    const char *colon = strchr(text, ':');
    const size_t n = strlen(text);
    for (int i = 0; i < FORMS && colon; i++)
        if (strlen(forms[i].name) == (size_t)(colon - text) &&
            strncmp(forms[i].name, text, (size_t)(colon - text)) == 0) {
            const char *shape = strchr(colon, '[');
            if (!shape || text[n - 1] != ']')
                return false;
            *out = (form){forms[i].program, colon + 1, shape, (size_t)(shape - colon - 1)};
            return true;
        }
    return false;
}

/* Arrays of structs are arrays of bytes, each_bytes per element. */
static void form_write(str *t, const form *f, ig_dtype dtype, size_t each_bytes, uint64_t key)
{
    if (each_bytes && !f->n_dtype) {
        str_puts(t, "zeros(");
        str_add(t, f->shape, strlen(f->shape) - 1);
        str_printf(t, ", %zu], dtype=u8)", each_bytes);
        return;
    }
    for (const char *p = f->program; *p; p++) {
        if (*p != '%') {
            str_add(t, p, 1);
            continue;
        }
        p++;
        if (*p == 'k') {
            str_printf(t, "key(%llu)", (unsigned long long)(key & INT64_MAX));
        } else if (*p == 's') {
            str_puts(t, f->shape);
        } else if (*p == 'd' && f->n_dtype) {
            str_add(t, f->dtype, f->n_dtype);
        } else if (*p == 'd') {
            str_puts(t, ig_dtype_name(dtype == IG_DTYPE_NONE ? IG_F32 : dtype));
        } else {
            str_puts(t, "(");
            for (const char *s = f->shape + 1; s[1]; s++)
                str_add(t, *s == ',' ? ")*(" : s, *s == ',' ? 3 : 1);
            str_puts(t, ")");
        }
    }
}

static bool is_npy(const char *text)
{
    const size_t n = strlen(text);
    return n > 4 && strcmp(text + n - 4, ".npy") == 0;
}

static void load_write(str *t, const char *path)
{
    str_puts(t, "load(\"");
    for (; *path; path++)
        str_printf(t, "%s%c", *path == '"' || *path == '\\' ? "\\" : "", *path);
    str_puts(t, "\")");
}

/* The value as a calculator expression: the user's text, or the expansion of its form. */
static void program_write(str *t, const char *text, ig_dtype dtype, size_t each_bytes, uint64_t key)
{
    form f;
    if (form_read(text, &f))
        form_write(t, &f, dtype, each_bytes, key);
    else if (is_npy(text))
        load_write(t, text);
    else
        str_puts(t, text);
}

/* ---- values ---- */

static int refuse_program(const args_reader *r, const char *name)
{
    str t = {0};
    calc_describe(r->calc, &t, NULL, color_for(stderr));
    text_printf(stderr, "ingot %s: --arg %s: %s", r->command->name, name, t.s);
    str_free(&t);
    const int code = exit_for((int)calc_mistake(r->calc)->code);
    return code == EXIT_FAILED ? EXIT_USAGE : code;
}

int args_compute(const args_reader *r, const char *parameter, const char *program, value *out)
{
    bool fine = calc_parse(r->calc, program);
    while (fine && calc_more(r->calc))
        fine = calc_step(r->calc, out);
    return fine ? -1 : refuse_program(r, parameter);
}

/* The same, and defines the parameter's name in the calculator, so that later arguments may use it. */
static int compute(const args_reader *r, const char *name, const char *program, value *out)
{
    str t = {0};
    str_printf(&t, "%s=0", name);
    const bool named = calc_parse(r->calc, t.s) && calc_step(r->calc, out);
    t.n = 0;
    str_printf(&t, "%s%s%s", named ? name : "", named ? "=" : "", program);
    const int code = args_compute(r, name, t.s, out);
    str_free(&t);
    return code;
}

/* x converted to dtype; NULL if a value would change. */
static ig_array *convert(ig_array *x, ig_dtype dtype)
{
    const ig_dtype from = ig_dtype_of(x);
    ig_array *y = ig_astype(x, dtype), *back = ig_astype(y, from);
    ig_array *same = ig_equal(x, back);
    if (ig_isdtype(from, "real floating"))
        same = ig_logical_or(same, ig_isnan(x));
    const double all = ig_item(ig_all(same, IG_NONE, false));
    return all == 1 ? y : NULL;
}

ig_array *args_number(const value *v, ig_dtype dtype)
{
    if (!value_is_number(v) && !(v->kind == V_ARRAY && ig_size(v->u.array) == 1))
        return NULL;
    const bool rounds =
        ig_isdtype(dtype, "real floating"); /* 0.1 is rounded to the nearest value */
    ig_array *x = value_to_array(v, rounds ? dtype : IG_DTYPE_NONE);
    x = x && !rounds ? convert(x, dtype) : x;
    return x && ig_eval(&x, 1) == IG_OK ? x : NULL;
}

static int take_array(const args_reader *r, const ig_kernel_param *p, const value *v, ig_arg *out)
{
    if (value_is_number(v) || v->kind == V_NONE || v->kind == V_STRING || v->kind == V_DTYPE) {
        say(r->command,
            "--arg %s: '%s' is %s %s, and the value is %s; give an array, such as "
            "zeros:%s[1024]",
            p->name, p->name, strchr("aeiou", p->type[0]) ? "an" : "a", p->type,
            value_kind_name(v->kind), ig_dtype_name(p->dtype ? p->dtype : IG_F32));
        return EXIT_USAGE;
    }
    ig_array *x = value_to_array(v, v->kind == V_ARRAY ? IG_DTYPE_NONE : p->dtype);
    if (!x)
        return fail_library(r->command);
    if (p->dtype != IG_DTYPE_NONE && ig_dtype_of(x) != p->dtype) {
        const char *is = ig_dtype_name(ig_dtype_of(x)), *wanted = ig_dtype_name(p->dtype);
        x = convert(x, p->dtype);
        if (!x && ig_failed())
            return fail_library(r->command);
        if (!x) {
            say(r->command,
                "--arg %s: '%s' points to %s, and the value is %s with numbers that %s "
                "does not have; write astype(..., %s)",
                p->name, p->name, wanted, is, wanted, wanted);
            return EXIT_USAGE;
        }
    }
    if (ig_eval(&x, 1) != IG_OK)
        return fail_library(r->command);
    *out = (ig_arg){.name = p->name, .kind = IG_ARG_ARRAY, .u.array = ig_retain(x)};
    return -1;
}

static int take_value(const args_reader *r, const ig_kernel_param *p, const value *v, ig_arg *out)
{
    if (p->is_pointer)
        return take_array(r, p, v, out);
    *out = (ig_arg){.name = p->name};
    if (v->kind == V_INT) {
        out->kind = IG_ARG_INT;
        out->u.i = v->u.i;
    } else if (v->kind == V_FLOAT) {
        out->kind = IG_ARG_FLOAT;
        out->u.f = v->u.f;
    } else if (v->kind == V_BOOL) {
        out->kind = IG_ARG_BOOL;
        out->u.b = v->u.b;
    } else if (v->kind == V_ARRAY && ig_size(v->u.array) == 1) {
        out->kind = IG_ARG_ARRAY;
        out->u.array = ig_retain(v->u.array);
    } else {
        say(r->command, "--arg %s: '%s' is a %s, and the value is %s; give a number", p->name,
            p->name, p->type, value_kind_name(v->kind));
        return EXIT_USAGE;
    }
    return -1;
}

/* ---- all of them ---- */

static int unknown_parameter(const args_reader *r, const char *name)
{
    nearest search = nearest_to(name);
    str hint = {0};
    for (int i = 0; i < r->kernel->n_params; i++)
        nearest_offer(&search, r->kernel->params[i].name);
    str_did_you_mean(&hint, &search);
    for (int i = 0; !search.best && i < r->kernel->n_params; i++)
        str_printf(&hint, "%s%s", i ? ", " : "; its parameters are ", r->kernel->params[i].name);
    say(r->command, "kernel '%s' has no parameter '%s'%s", r->kernel->name, name,
        hint.s ? hint.s : "");
    str_free(&hint);
    return EXIT_USAGE;
}

static int take_text(const args_reader *r, const ig_kernel_param *p, const char *text, uint64_t key,
                     ig_arg *out)
{
    const bool structs = p->dtype == IG_DTYPE_NONE && p->holds->n_fields;
    form f;
    value v = {0};
    if (!p->is_pointer && p->holds->n_fields)
        return run_struct_read(r, p, text, out);
    if (p->is_pointer && structs && form_read(text, &f) && !f.n_dtype &&
        strncmp(text, "zeros:", 6) != 0) {
        say(r->command, "--arg %s: '%s' points to %s: give zeros:[N], a .npy file, or say a dtype",
            p->name, p->name, p->holds->type);
        return EXIT_USAGE;
    }
    if (p->is_pointer && structs && is_npy(text)) {
        ig_array *records;
        const int code = run_records_read(r, p, text, &records);
        if (records)
            *out = (ig_arg){.name = p->name, .kind = IG_ARG_ARRAY, .u.array = ig_retain(records)};
        if (records || code >= 0)
            return code;
    }
    str program = {0};
    program_write(&program, text, p->dtype, structs ? p->holds->bytes : 0, key);
    const int code = compute(r, p->name, program.s, &v);
    str_free(&program);
    return code < 0 ? take_value(r, p, &v, out) : code;
}

static int read_one(const args_reader *r, const char *given, run_args *out)
{
    const size_t n = strcspn(given, "=");
    const ig_kernel_info *k = r->kernel;
    char *name = heap_string(given);
    name[n] = 0;
    out->names[out->n] = name;
    int p = 0, code;
    while (p < k->n_params && strcmp(k->params[p].name, name) != 0)
        p++;
    if (!given[n] || !given[n + 1]) {
        say(r->command, "--arg takes name=VALUE, not '%s'", given);
        code = EXIT_USAGE;
    } else if (p == k->n_params) {
        code = unknown_parameter(r, name);
    } else {
        code = take_text(r, &k->params[p], given + n + 1, r->seed + (uint64_t)p, &out->v[out->n]);
    }
    out->n++;
    return code;
}

int run_args_read(const command *c, const ig_kernel_info *k, const words *given, uint64_t seed,
                  run_args *out)
{
    const args_reader r = {c, k, calc_new(&(calc_options){.eager = true}), seed};
    int code = -1;
    *out = (run_args){heap_get(sizeof *out->v * (size_t)(given->n + 1)), 0,
                      heap_get(sizeof *out->names * (size_t)(given->n + 1))};
    for (int i = 0; i < given->n && code < 0; i++)
        code = read_one(&r, given->v[i], out);
    calc_free(r.calc);
    return code;
}

void run_args_free(run_args *a)
{
    for (int i = 0; i < a->n; i++) {
        if (a->v[i].kind == IG_ARG_ARRAY)
            ig_release(a->v[i].u.array);
        if (a->v[i].kind == IG_ARG_BYTES)
            free((void *)a->v[i].u.bytes.v);
        free(a->names[i]);
    }
    free(a->v);
    free(a->names);
}
