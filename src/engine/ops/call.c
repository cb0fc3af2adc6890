/* Calls of ops: checks arguments, binds them to the signature, and calls the builder. The typed functions,
 * the calculator and bindings all call ops through this file. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/builders.h"
#include "engine/ops/complex.h"
#include <stdio.h>
#include <string.h>

/* Bound arguments, and the memory that they point to. */
typedef struct call {
    op_id op;
    const ig_op *info;
    ig_arg bound[OP_MAX_PARAMS];
    int64_t one[OP_MAX_PARAMS]; /* for an int that is bound as a list of one */
    ig_array **gathered;        /* arrays of a variadic parameter */
} call;

static const char *const kind_names[] = {
    [IG_ARG_NONE] = "None",
    [IG_ARG_ARRAY] = "an array",
    [IG_ARG_ARRAYS] = "a list of arrays",
    [IG_ARG_INT] = "an integer",
    [IG_ARG_FLOAT] = "a number",
    [IG_ARG_BOOL] = "a bool",
    [IG_ARG_INTS] = "a list of integers",
    [IG_ARG_DTYPE] = "a dtype",
    [IG_ARG_STRING] = "a string",
    [IG_ARG_BYTES] = "bytes",
};

static ig_status wrong_kind(const call *c, const ig_param *p, const ig_arg *given)
{
    char wants[160] = "";
    size_t n = 0;
    for (int k = IG_ARG_ARRAY; k <= IG_ARG_STRING; k++)
        if (p->kinds >> k & 1)
            n += (size_t)snprintf(wants + n, sizeof wants - n, "%s%s", n ? " or " : "",
                                  kind_names[k]);
    FAIL(IG_ERR_ARGUMENT, "%s: %s must be %s, not %s", c->info->name, p->name, wants,
         kind_names[given->kind]);
}

static bool is_number(ig_kind k)
{
    return k == IG_ARG_INT || k == IG_ARG_FLOAT || k == IG_ARG_BOOL;
}

/* A number as a weak scalar. */
static ig_array *number_array(const ig_arg *a)
{
    return a->kind == IG_ARG_INT     ? ig_int(a->u.i)
           : a->kind == IG_ARG_FLOAT ? ig_float(a->u.f)
                                     : ig_bool(a->u.b);
}

/* True if a weak scalar as argument i stays weak: the builder combines it with another argument. */
static bool keeps_weak(op_class cls, int i)
{
    bool adapts = cls == CLASS_MOVE || cls == CLASS_INDEX;
    return cls == CLASS_ELEMENTWISE || cls == CLASS_COMPOSITE || cls == CLASS_COMPLEX ||
           cls == CLASS_SOURCE || (adapts && i > 0);
}

static ig_status bind_array(call *c, int i, ig_array *x)
{
    if (!x) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "%s: %s is NULL", c->info->name, c->info->params[i].name);
        return IG_ERR_ARGUMENT;
    }
    if (x->weak && !keeps_weak(op_rows[c->op].cls, i))
        x = build_cast(x, ig_result_type(&x, 1));
    c->bound[i] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x};
    return x ? IG_OK : IG_ERR_MEMORY;
}

/* True if an integer means something else than a list of one: a number of parts, not the place where one ends. */
static bool counts_parts(const ig_param *p) { return strcmp(p->name, "indices_or_sections") == 0; }

/* Binds an argument, or a default, to parameter i, converted to the kind that the builder expects. */
static ig_status bind_one(call *c, int i, const ig_arg *a)
{
    const ig_param *p = &c->info->params[i];
    ig_kind k = a->kind;
    if (k == IG_ARG_NONE) {
        if (p->required)
            return wrong_kind(c, p, a);
        /* None is a value if the signature lists it; otherwise it asks for the default. */
        if (p->kinds >> IG_ARG_NONE & 1 || p->def.kind == IG_ARG_NONE)
            c->bound[i] = (ig_arg){.kind = IG_ARG_NONE};
        else
            return bind_one(c, i, &p->def);
    } else if (k == IG_ARG_ARRAY && p->kinds >> IG_ARG_ARRAY & 1) {
        return bind_array(c, i, a->u.array);
    } else if (k == IG_ARG_INT && p->kinds >> IG_ARG_INTS & 1 && !counts_parts(p)) {
        c->one[i] = a->u.i;
        c->bound[i] = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {&c->one[i], 1}};
    } else if (p->kinds >> k & 1) {
        c->bound[i] = *a;
        c->bound[i].name = NULL; /* builders pass bound arguments on by position */
        if (k == IG_ARG_DTYPE && a == &p->def && a->u.dtype == IG_F32) /* floats, unless given */
            c->bound[i].u.dtype = ig_default_dtype();
    } else if (k == IG_ARG_INT && p->kinds >> IG_ARG_FLOAT & 1) {
        c->bound[i] = (ig_arg){.kind = IG_ARG_FLOAT, .u.f = (double)a->u.i};
    } else if (is_number(k) && p->kinds >> IG_ARG_ARRAY & 1) {
        return bind_array(c, i, number_array(a));
    } else {
        return wrong_kind(c, p, a);
    }
    return IG_OK;
}

/* Binds all positional arrays from args[from] on as one list. Returns their number, -1 on failure. */
static int bind_rest(call *c, int i, const ig_arg *args, int from, int nargs)
{
    int n = 0;
    while (from + n < nargs && !args[from + n].name)
        n++;
    if (n && args[from].kind == IG_ARG_ARRAYS) {
        c->bound[i] = args[from];
        return 1;
    }
    c->gathered = memory_get((size_t)(n + 1) * sizeof *c->gathered);
    if (!c->gathered)
        return -1;
    for (int j = 0; j < n; j++) {
        const ig_arg *a = &args[from + j];
        bool number = is_number(a->kind);
        if (!number && a->kind != IG_ARG_ARRAY) {
            wrong_kind(c, &c->info->params[i], a);
            return -1;
        }
        c->gathered[j] = number ? number_array(a) : a->u.array;
        if (!c->gathered[j]) {
            ig_fail(IG_ERR_ARGUMENT, "%s: array %d of %s is NULL", c->info->name, j,
                    c->info->params[i].name);
            return -1;
        }
    }
    c->bound[i] = (ig_arg){.kind = IG_ARG_ARRAYS, .u.arrays = {c->gathered, n}};
    return n;
}

static int find_param(const call *c, const char *name)
{
    const ig_param *p = ig_op_param(c->info, name);
    return p ? (int)(p - c->info->params) : -1;
}

static ig_status bind(call *c, const ig_arg *args, int nargs)
{
    const ig_op *info = c->info;
    unsigned given = 0;
    int next = 0;
    for (int j = 0; j < nargs; j++) {
        int i = args[j].name ? find_param(c, args[j].name) : next++;
        if (i < 0)
            FAIL(IG_ERR_ARGUMENT, "%s has no argument '%s'; it takes (%s)", info->name,
                 args[j].name, info->signature);
        if (i >= info->n_params)
            FAIL(IG_ERR_ARGUMENT, "%s: too many arguments; it takes (%s)", info->name,
                 info->signature);
        if (given >> i & 1)
            FAIL(IG_ERR_ARGUMENT, "%s: %s is given twice", info->name, info->params[i].name);
        given |= 1u << i;
        if (info->params[i].variadic && !args[j].name) {
            int n = bind_rest(c, i, args, j, nargs);
            if (n < 0)
                return IG_ERR_ARGUMENT;
            j += n - 1;
            next = i + 1;
        } else {
            TRY(bind_one(c, i, &args[j]));
        }
    }
    for (int i = 0; i < info->n_params; i++) {
        if (given >> i & 1)
            continue;
        if (info->params[i].required)
            FAIL(IG_ERR_ARGUMENT, "%s: %s is missing; it takes (%s)", info->name,
                 info->params[i].name, info->signature);
        TRY(bind_one(c, i, &info->params[i].def));
    }
    return IG_OK;
}

/* The only check of the caller's arguments: kinds, counts and pointers, before anything reads them. */
static ig_status check_arg(const call *c, int j, const ig_arg *a)
{
    const char *op = c->info->name;
    const char *name = a->name                 ? a->name
                       : j < c->info->n_params ? c->info->params[j].name
                                               : "an argument";
    if ((unsigned)a->kind > IG_ARG_BYTES)
        FAIL(IG_ERR_ARGUMENT, "%s: %s has kind %d, which is not an ig_kind", op, name,
             (int)a->kind);
    if (a->kind == IG_ARG_STRING)
        return require_pointer(op, name, a->u.str);
    if (a->kind == IG_ARG_INTS)
        return require_list(op, name, a->u.ints.v, a->u.ints.n);
    if (a->kind == IG_ARG_DTYPE && ig_dtype_bytes(a->u.dtype) == 0)
        FAIL(IG_ERR_DTYPE, "%s: %d is not a dtype", op, (int)a->u.dtype);
    if (a->kind != IG_ARG_ARRAYS)
        return IG_OK;
    TRY(require_list(op, name, a->u.arrays.v, a->u.arrays.n));
    for (int i = 0; i < a->u.arrays.n; i++)
        if (!a->u.arrays.v[i])
            FAIL(IG_ERR_ARGUMENT, "%s: array %d of %s is NULL", op, i, name);
    return IG_OK;
}

static ig_status check_args(const call *c, const ig_arg *args, int nargs, ig_array **out,
                            int max_out)
{
    TRY(require_list(c->info->name, "args", args, nargs));
    for (int j = 0; j < nargs; j++)
        TRY(check_arg(c, j, &args[j]));
    return require_list(c->info->name, "out", out, max_out);
}

/* Makes sure that a result is a new handle: if an op returns its input, the result is a view of it. */
static ig_array *own_handle(const call *c, ig_array *x)
{
    for (int i = 0; i < c->info->n_params; i++) {
        const ig_arg *a = &c->bound[i];
        bool same = a->kind == IG_ARG_ARRAY && a->u.array == x;
        for (int j = 0; a->kind == IG_ARG_ARRAYS && j < a->u.arrays.n && !same; j++)
            same = a->u.arrays.v[j] == x;
        if (same)
            return array_is_complex(x) ? complex_again(x) : array_view(c->op, x, &x->view);
    }
    return x;
}

/* The first array with a device, or NULL. */
static const ig_array *placed_argument(const call *c)
{
    for (int i = 0; i < c->info->n_params; i++) {
        const ig_arg *a = &c->bound[i];
        ig_array *const *x = a->kind == IG_ARG_ARRAYS ? a->u.arrays.v : &a->u.array;
        const int n = a->kind == IG_ARG_ARRAYS ? a->u.arrays.n : a->kind == IG_ARG_ARRAY;
        for (int j = 0; j < n; j++)
            if (x[j]->root->device)
                return x[j];
    }
    return NULL;
}

/* Calls the builder with the device of the arguments as the current one. So arrays that the builder creates without
 * inputs, such as counts and masks, are on the device of the arguments. */
static int build(const call *c, ig_array **results)
{
    const ig_array *x = placed_argument(c);
    const char *before = x ? array_device_follow(x) : NULL;
    const int n = complex_is_asked(c->info, c->bound)
                      ? complex_build(c->op, c->info, c->bound, results)
                      : op_rows[c->op].build(c->op, c->bound, results);
    if (before)
        array_device_set(before);
    return n;
}

int op_call(op_id op, const ig_arg *args, int nargs, ig_array **out, int max_out)
{
    call c = {.op = op, .info = op_info(op)};
    ig_array *only, **results = &only;
    int n = 0;
    if (c.info->gives_list && !(results = memory_get(OP_MAX_RESULTS * sizeof *results)))
        return 0;
    if (check_args(&c, args, nargs, out, max_out) == IG_OK && bind(&c, args, nargs) == IG_OK)
        n = build(&c, results);
    for (int i = 0; i < n; i++)
        if (!(results[i] = own_handle(&c, results[i])))
            n = 0;
    if (n > max_out) {
        ig_fail(IG_ERR_ARGUMENT, "%s gives %d results, but there is room for %d", c.info->name, n,
                max_out);
        n = 0;
    }
    if (n)
        memcpy(out, results, (size_t)n * sizeof *out);
    if (results != &only)
        memory_free(results);
    memory_free(c.gathered);
    return n;
}

int ig_call(const char *name, const ig_arg *args, int nargs, ig_array **out, int max_out)
{
    const ig_op *info = ig_op_find(name);
    if (!info)
        FAIL_NONE(IG_ERR_ARGUMENT, "there is no op '%s'; did you mean '%s'?", name ? name : "",
                  ig_op_nearest(name ? name : "")->name);
    return ig_call_op(info, args, nargs, out, max_out);
}

int ig_call_op(const ig_op *op, const ig_arg *args, int nargs, ig_array **out, int max_out)
{
    const ig_op *first = op_info((op_id)0);
    if (!op || op < first || op >= first + OP_COUNT || !op_rows[op - first].build)
        FAIL_NONE(IG_ERR_ARGUMENT, "call_op: op must be a row of the op table: see ig_op_find");
    return op_call((op_id)(op - first), args, nargs, out, max_out);
}
