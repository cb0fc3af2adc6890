/* See example.h. */
#include "verify/example.h"
#include "calc/parts.h"
#include "verify/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

/* A row of the op table, followed by its examples. */
static const struct entry {
    const char *op;
    unsigned takes;
    example_kind kind;
    const char *inputs, *call;
} entries[] = {
#define OP(name, class, signature, doc, ...) {.op = #name}, __VA_ARGS__
#define TAKES(dtypes) {.takes = (dtypes)},
#define EXAMPLE(kind_, inputs_, call_) \
    {.kind = EXAMPLE_##kind_, .inputs = (inputs_), .call = (call_)},
#define DIFF(inputs, call, numpy) EXAMPLE(DIFF, inputs, call)
#define FLAT(inputs, call, numpy) EXAMPLE(FLAT, inputs, call)
#define WHOLE(inputs, call, numpy) EXAMPLE(WHOLE, inputs, call)
#define SOURCE(inputs, call, numpy) EXAMPLE(SOURCE, inputs, call)
#define VALUE(inputs, call, numpy) EXAMPLE(VALUE, inputs, call)
#define UNARY(...)
#define BINARY(...)
#define FOLD(...)
#include "engine/ops/ops.def"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static example examples[ENTRIES];
static example_call calls[ENTRIES];
static int n_examples;

static void collect(void)
{
    const char *op = NULL;
    unsigned takes = 0;
    for (int i = 0; i < ENTRIES; i++)
        if (entries[i].op)
            op = entries[i].op;
        else if (entries[i].takes)
            takes = entries[i].takes;
        else
            examples[n_examples++] =
                (example){entries[i].kind, op, takes, entries[i].inputs, entries[i].call};
}

const example *example_at(const char *op, int i)
{
    if (n_examples == 0)
        collect();
    for (int k = 0; k < n_examples; k++)
        if ((!op || strcmp(examples[k].op, op) == 0) && i-- == 0)
            return &examples[k];
    return NULL;
}

/* ---- inputs ---- */

const char *example_input_read(const char *text, example_input *in)
{
    char *end = (char *)text;
    *in = (example_input){.ndim = 0};
    if (*text == 'k')
        in->shape[in->ndim++] = 4;
    else if (*text == '-')
        end++;
    else
        for (;; text = end + 1) {
            in->shape[in->ndim++] = strtoll(text, &end, 10);
            if (*end != 'x')
                break;
        }
    in->from = *end;
    if (in->from == '[') {
        in->low = strtod(end + 1, &end);
        in->high = strtod(end + 1, &end);
    }
    if (in->from == '#' || in->from == '~')
        in->below = strtoll(end + 1, &end, 10);
    else
        end += *end && *end != ' ';
    return end + (*end == ' ');
}

ig_dtype example_input_dtype(const example_input *in)
{
    switch (in->from) {
    case 'k': return IG_U32;
    case '#':
    case '~': return IG_I64;
    case '?': return IG_BOOL;
    default: return IG_DTYPE_NONE;
    }
}

/* ---- calls ---- */

static void give_up(const char *call, const char *why)
{
    fprintf(stderr, "ops.def: the example \"%s\": %s\n", call, why);
    abort();
}

static int input_number(const expr *n)
{
    const bool letter = n->kind == N_NAME && strlen(n->name) == 1;
    return letter && n->name[0] >= 'a' && n->name[0] < 'a' + EXAMPLE_INPUTS ? n->name[0] - 'a' : -1;
}

/* A number, string, constant or dtype. */
static value constant(const char *call, const expr *n)
{
    value v = {.kind = V_NONE}, operand;
    if (n->kind == N_LITERAL)
        v = n->literal;
    else if (n->kind == N_UNARY) {
        operand = constant(call, n->child);
        n->op->number(&operand, NULL, &v);
    } else if (n->kind != N_NAME || !calc_find_constant(n->name, &v))
        give_up(call, "an argument is not an input, a constant or a list of these");
    return v;
}

static void read_list(const char *call, arena *memory, const expr *n, ig_arg *to, int *first)
{
    enum { MOST = 16 };
    int64_t *v = arena_get(memory, MOST * sizeof *v);
    int count = 0;
    *first = n->child ? input_number(n->child) : -1;
    for (const expr *item = n->child; item && count < MOST; item = item->next, count++) {
        if (*first >= 0 && input_number(item) != *first + count)
            give_up(call, "the arrays of a list are not successive inputs");
        const value one = *first >= 0 ? value_int(0) : constant(call, item);
        if (one.kind != V_INT)
            give_up(call, "a list has other items than integers or inputs");
        v[count] = one.u.i;
    }
    to->kind = *first >= 0 ? IG_ARG_ARRAYS : IG_ARG_INTS;
    if (*first >= 0)
        to->u.arrays.n = count;
    else
        to->u.ints = (ig_ints){v, count};
}

static void read_arg(const char *call, arena *memory, const expr *n, ig_arg *to, int *first)
{
    if (n->kind == N_KEYWORD) {
        to->name = n->name;
        n = n->child;
    }
    if (n->kind == N_LIST || n->kind == N_TUPLE) {
        read_list(call, memory, n, to, first);
        return;
    }
    if ((*first = input_number(n)) >= 0) {
        to->kind = IG_ARG_ARRAY;
        return;
    }
    const value v = constant(call, n);
    switch (v.kind) {
    case V_BOOL: to->kind = IG_ARG_BOOL, to->u.b = v.u.b; break;
    case V_INT: to->kind = IG_ARG_INT, to->u.i = v.u.i; break;
    case V_FLOAT: to->kind = IG_ARG_FLOAT, to->u.f = v.u.f; break;
    case V_STRING: to->kind = IG_ARG_STRING, to->u.str = v.u.s; break;
    case V_DTYPE: to->kind = IG_ARG_DTYPE, to->u.dtype = v.u.dtype; break;
    default: to->kind = IG_ARG_NONE; break;
    }
}

const example_call *example_parsed(const example *e)
{
    static arena memory;
    example_call *c = &calls[e - examples];
    if (c->n)
        return c;
    mistake wrong = {0};
    const expr *n = parse(&memory, e->call, &wrong);
    if (!n || n->kind != N_CALL || strcmp(n->name, e->op) != 0)
        give_up(e->call, wrong.message.s ? wrong.message.s : "it is not a call of the row's op");
    for (const expr *a = n->child; a; a = a->next) {
        if (c->n == EXAMPLE_ARGS)
            give_up(e->call, "there are too many arguments");
        read_arg(e->call, &memory, a, &c->arg[c->n], &c->first[c->n]);
        c->n++;
    }
    return c;
}

int example_parts(ig_array **y, int n, int room)
{
    for (int i = 0; i < n; i++) {
        if (!ig_isdtype(ig_dtype_of(y[i]), "complex floating") || n == room)
            continue;
        memmove(y + i + 2, y + i + 1, (size_t)(n - i - 1) * sizeof *y);
        y[i + 1] = ig_imag(y[i]);
        y[i] = ig_real(y[i]);
        n++;
    }
    return n;
}

int example_build(const example *e, ig_array *const *in, ig_array **y, int room)
{
    const example_call *c = example_parsed(e);
    ig_arg args[EXAMPLE_ARGS];
    memcpy(args, c->arg, sizeof args);
    for (int i = 0; i < c->n; i++)
        if (args[i].kind == IG_ARG_ARRAY)
            args[i].u.array = in[c->first[i]];
        else if (args[i].kind == IG_ARG_ARRAYS)
            args[i].u.arrays.v = in + c->first[i];
    return example_parts(y, ig_call(e->op, args, c->n, y, room), room);
}
