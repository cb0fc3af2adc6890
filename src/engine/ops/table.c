/* The op table at run time: rows, signatures parsed once into parameters, lookup by name. */
#include "base/error.h"
#include "engine/ops/aliases.h"
#include "engine/ops/builders.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const op_row op_rows[OP_COUNT] = {
#define UNARY(id, accepts_, result_, expr, ulp, domain, gradient, exact, numpy, text, ...) \
    [OP_## \
        id] = {#id, "x: array",    text, CLASS_ELEMENTWISE, ACCEPTS_##accepts_, RESULT_##result_, \
               1,   op_elementwise},
#define BINARY(id, accepts_, result_, expr, ulp, domain, gradient, exact, numpy, text, ...) \
    [OP_##id] = {#id, \
                 "x1: array, x2: array", \
                 text, \
                 CLASS_ELEMENTWISE, \
                 ACCEPTS_##accepts_, \
                 RESULT_##result_, \
                 2, \
                 op_elementwise},
#define FOLD(id, accepts_, identity, expr, text, ...) \
    [OP_##id] = { \
        #id,    FOLD_SIGNATURE_##accepts_, text, CLASS_REDUCE, ACCEPTS_##accepts_, RESULT_SAME, 0, \
        op_fold},
#define SHARED(id, builder, class, signature_, text, ...) \
    [OP_##id] = {#id, signature_, text, CLASS_##class, ACCEPTS_NONE, RESULT_NONE, 0, op_##builder},
#define OP(id, class, signature_, text, ...) SHARED(id, id, class, signature_, text)
#define NODE(id) [OP_##id] = {#id, "", "", CLASS_NODE, ACCEPTS_NONE, RESULT_NONE, 0, NULL},
#include "engine/ops/ops.def"
};

const double op_ulps[OP_COUNT] = {
#define UNARY(id, accepts, result, expr, ulp, ...) [OP_##id] = ulp,
#define BINARY(id, accepts, result, expr, ulp, ...) [OP_##id] = ulp,
#include "engine/ops/ops.def"
};

static const char *const class_names[] = {
    [CLASS_ELEMENTWISE] = "elementwise",
    [CLASS_REDUCE] = "reduce",
    [CLASS_MOVE] = "move",
    [CLASS_INDEX] = "index",
    [CLASS_EVALUATE] = "index",
    [CLASS_CONTRACT] = "contract",
    [CLASS_SOURCE] = "source",
    [CLASS_COMPOSITE] = "composite",
    [CLASS_COMPLEX] = "composite",
    [CLASS_NODE] = "node",
};

/* Parsed signatures are in static memory, so parsing fails only if the table has a defect. */
enum { TEXT_ROOM = 65536 };
static ig_op infos[OP_COUNT];
static ig_param params[OP_COUNT][OP_MAX_PARAMS];
static char names[TEXT_ROOM];
static size_t names_used;

static const char *keep(const char *from, size_t n)
{
    char *to = names + names_used;
    assert(names_used + n + 1 <= TEXT_ROOM);
    memcpy(to, from, n);
    to[n] = '\0';
    names_used += n + 1;
    return to;
}

static const char *skip_space(const char *s) { return s + strspn(s, " "); }

/* Parses "int|ints" and the like into a bit set. */
static const char *parse_kinds(const char *s, unsigned *kinds)
{
    static const struct {
        const char *name;
        ig_kind kind;
    } rows[] = {
        {"arrays", IG_ARG_ARRAYS}, {"array", IG_ARG_ARRAY}, {"ints", IG_ARG_INTS},
        {"int", IG_ARG_INT},       {"float", IG_ARG_FLOAT}, {"bool", IG_ARG_BOOL},
        {"dtype", IG_ARG_DTYPE},   {"str", IG_ARG_STRING},  {"none", IG_ARG_NONE},
    };
    for (;;) {
        size_t n = strcspn(s, "|, =");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strlen(rows[i].name) == n && memcmp(rows[i].name, s, n) == 0)
                *kinds |= 1u << rows[i].kind;
        s += n;
        if (*s != '|')
            return s;
        s++;
    }
}

static const char *parse_default(const char *s, const ig_param *p, ig_arg *def)
{
    static const int64_t no_axes[1];
    size_t n = strcspn(s, ",");
    char word[32] = "";
    memcpy(word, s, n < sizeof word ? n : sizeof word - 1);
    char *end;
    if (strcmp(word, "None") == 0) {
        def->kind = IG_ARG_NONE;
    } else if (strcmp(word, "True") == 0 || strcmp(word, "False") == 0) {
        def->kind = IG_ARG_BOOL;
        def->u.b = word[0] == 'T';
    } else if (strcmp(word, "()") == 0) {
        def->kind = IG_ARG_INTS;
        def->u.ints = (ig_ints){no_axes, 0};
    } else if (word[0] == '\'') {
        def->kind = IG_ARG_STRING;
        def->u.str = keep(s + 1, n - 2);
    } else if (p->kinds >> IG_ARG_DTYPE & 1) {
        def->kind = IG_ARG_DTYPE;
        def->u.dtype = ig_dtype_parse(word);
    } else if (strpbrk(word, ".e")) {
        def->kind = IG_ARG_FLOAT;
        def->u.f = strtod(word, &end);
    } else {
        def->kind = IG_ARG_INT;
        def->u.i = strtoll(word, &end, 10);
    }
    return s + n;
}

static int parse_signature(const char *s, ig_param *p)
{
    int n = 0;
    for (s = skip_space(s); *s; s = skip_space(s), n++) {
        assert(n < OP_MAX_PARAMS);
        p[n].variadic = *s == '*';
        s += p[n].variadic;
        size_t name = strcspn(s, ":");
        p[n].name = keep(s, name);
        s = parse_kinds(skip_space(s + name + 1), &p[n].kinds);
        s = skip_space(s);
        p[n].required = *s != '=';
        if (*s == '=')
            s = parse_default(skip_space(s + 1), &p[n], &p[n].def);
        if (*s == ',')
            s++;
    }
    return n;
}

static void parse_all(void)
{
    for (int i = 0; i < OP_COUNT; i++) {
        const char *text = op_rows[i].signature, *arrow = strstr(text, " -> list");
        const char *signature = arrow ? keep(text, (size_t)(arrow - text)) : text;
        infos[i] = (ig_op){.name = op_rows[i].name,
                           .cls = class_names[op_rows[i].cls],
                           .signature = signature,
                           .doc = op_rows[i].doc,
                           .params = params[i],
                           .n_params = parse_signature(signature, params[i]),
                           .gives_list = arrow != NULL,
                           .evaluates = op_rows[i].cls == CLASS_EVALUATE,
                           .ulp = op_ulps[i],
                           .results = alias_results((op_id)i)};
    }
}

const ig_op *op_info(op_id op)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, parse_all);
    return &infos[op];
}

/* Nodes, which have no name for callers, stand between core and composite rows. */
enum { FIRST_NODE = OP_iota, OP_PUBLIC_COUNT = OP_COUNT - (OP_CORE_COUNT - FIRST_NODE) };
static op_id public_row(int i) { return i < FIRST_NODE ? i : i - FIRST_NODE + OP_CORE_COUNT; }

int ig_op_count(void) { return OP_PUBLIC_COUNT; }

const ig_op *ig_op_at(int i)
{
    return i >= 0 && i < OP_PUBLIC_COUNT ? op_info(public_row(i)) : NULL;
}

const ig_op *ig_op_find(const char *name)
{
    for (int i = 0; name && i < OP_PUBLIC_COUNT; i++)
        if (strcmp(name, op_rows[public_row(i)].name) == 0)
            return op_info(public_row(i));
    const ig_alias *alias = ig_alias_find(name);
    return alias && alias->op ? ig_op_find(alias->op) : NULL;
}

/* Number of letters to insert, drop or change to get from a to b (swapping two letters counts 1). */
static int distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    int n = (int)strnlen(a, MOST), m = (int)strnlen(b, MOST), d[3][MOST + 1];
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return d[n % 3][m];
}

const ig_op *ig_op_nearest(const char *name)
{
    int best = 0, least = 1000;
    if (!name)
        name = "";
    for (int i = 0; i < OP_PUBLIC_COUNT; i++) {
        int d = distance(name, op_rows[public_row(i)].name);
        if (d < least)
            best = i, least = d;
    }
    return op_info(public_row(best));
}
