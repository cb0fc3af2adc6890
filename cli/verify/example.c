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
#define MOVED(inputs, call, numpy) EXAMPLE(MOVED, inputs, call)
#define STOP(inputs, call, numpy) EXAMPLE(STOP, inputs, call)
#define FLAT(inputs, call, numpy) EXAMPLE(FLAT, inputs, call)
#define WHOLE(inputs, call, numpy) EXAMPLE(WHOLE, inputs, call)
#define SOURCE(inputs, call, numpy) EXAMPLE(SOURCE, inputs, call)
#define VALUE(inputs, call, numpy) EXAMPLE(VALUE, inputs, call)
#define DRAW(call, numpy)
#include "engine/ops/ops.def"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static example examples[ENTRIES];
static const expr *calls[ENTRIES]; /* parsed at the first use */
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

/* A word of letters, digits and _ before an = is a keyword. */
bool example_names_dtype(const example *e)
{
    for (const char *at = e->call; (at = strstr(at, "dtype")); at += strlen("dtype"))
        if (at[strlen("dtype")] != '=')
            return true;
    return false;
}

static const expr *parsed(const example *e)
{
    static arena memory;
    mistake wrong = {0};
    const expr **n = &calls[e - examples];
    if (!*n && !(*n = parse(&memory, e->call, &wrong))) {
        fprintf(stderr, "ops.def: the example \"%s\": %s\n", e->call, wrong.message.s);
        abort();
    }
    return *n;
}

/* The arrays of a result; 0 if it has other values, or more than there is room for. */
static int arrays_of(const value *v, ig_array **y, int room)
{
    if (v->kind == V_ARRAY) {
        y[0] = v->u.array;
        return 1;
    }
    if (!value_has_items(v) || v->u.items.n > room)
        return 0;
    for (int i = 0; i < v->u.items.n; i++)
        if (arrays_of(&v->u.items.v[i], &y[i], 1) != 1)
            return 0;
    return v->u.items.n;
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

int example_build(const example *e, ig_dtype dtype, ig_array *const *in, ig_array **y, int room)
{
    static const char *const names[EXAMPLE_INPUTS] = {"a", "b", "c", "d", "e"};
    static calc *state;
    if (!state)
        state = calc_new(&(calc_options){0});
    const value under_test = value_dtype(dtype);
    value v;
    calc_push(state, "dtype", &under_test);
    for (int k = 0; k < EXAMPLE_INPUTS && in[k]; k++) {
        const value input = value_array(in[k]);
        calc_push(state, names[k], &input);
    }
    int n = 0;
    if (calc_eval(state, parsed(e), &v)) {
        if ((n = arrays_of(&v, y, room)) == 0)
            ig_fail(IG_ERR_ARGUMENT, "%s: more than %d results, or none", e->op, room);
    } else {
        ig_fail(state->wrong.code ? state->wrong.code : IG_ERR_ARGUMENT, "%s",
                state->wrong.message.s);
        str_free(&state->wrong.message);
        state->wrong = (mistake){0};
    }
    state->locals = NULL;
    arena_free(&state->scratch);
    return example_parts(y, n, room);
}
