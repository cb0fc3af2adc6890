/* CUDA's functions: selects the signature that a call means, and makes its node. */
#include <string.h>

#include "compiler/parse/parser.h"

const kernel_builtin_row kernel_builtin_rows[BUILTINS] = {
#define BUILTIN(id, class, feature) [BUILTIN_##id] = {#id, CLASS_##class, FEATURE_##feature},
#include "compiler/builtins.def"
};

const kernel_feature_row kernel_feature_rows[FEATURES] = {
#define FEATURE(id, code, words) [FEATURE_##id] = {code, words},
#include "compiler/features.def"
};

enum { HOW_BUILTIN, HOW_OPERATOR, HOW_CAST, HOW_LANES, HOW_LOAD, HOW_STORE };

#define ROW(name, how, which, signatures, lanes) {name, how, which, signatures, lanes},
#define NAME(name, id, signatures) ROW(#name, HOW_BUILTIN, BUILTIN_##id, signatures, NULL)
#define MATH(name, id, single, both) NAME(name, id, single " " both) NAME(name##f, id, single)
#define ROUNDED(name, id, s) \
    NAME(name##_rz, id##_RZ, s) NAME(name##_ru, id##_RU, s) NAME(name##_rd, id##_RD, s)
#define CONVERTS(name, s) \
    NAME(name##_rn, CONVERT_RN, s) \
    NAME(name##_rz, CONVERT_RZ, s) NAME(name##_ru, CONVERT_RU, s) NAME(name##_rd, CONVERT_RD, s)
#define ATOMIC(name, id, s) NAME(name, id, s) NAME(name##_block, id, s) NAME(name##_system, id, s)
#define OPERATE(name, op, s) ROW(#name, HOW_OPERATOR, OP_##op, s, NULL)
#define CAST(name, s) ROW(#name, HOW_CAST, 0, s, NULL)
#define LANES(name, s, lanes) ROW(#name, HOW_LANES, 0, s, lanes)
#define LOADS(name) ROW(#name, HOW_LOAD, 0, "TKT", NULL)
#define STORES(name) ROW(#name, HOW_STORE, 0, "vPTT", NULL)

const builtin_name builtin_names[] = {
#include "compiler/builtin_names.def"
    {NULL, 0, 0, NULL, NULL}};
const size_t builtin_names_count = sizeof builtin_names / sizeof *builtin_names - 1;

/* ---- signatures ------------------------------------------------------------------------------- */

enum { ARGS_MOST = 6, RANK_NONE = 1000 };

/* One signature, with T and A bound for a call. */
typedef struct variant {
    const builtin_name *row;
    const kernel_type *result;
    const kernel_type *params[ARGS_MOST];
    char letters[ARGS_MOST]; /* of the parameters; 'P' of pointers */
    uint32_t n_params;
    int rank;
} variant;

static const kernel_type *letter_type(parser *p, char letter)
{
    static const struct {
        char letter;
        uint8_t word;
    } words[] = {{'v', WORD_VOID},  {'b', WORD_BOOL},   {'c', WORD_CHAR},  {'C', WORD_UCHAR},
                 {'s', WORD_SHORT}, {'S', WORD_USHORT}, {'i', WORD_INT},   {'u', WORD_UINT},
                 {'j', WORD_LONG},  {'J', WORD_ULONG},  {'l', WORD_LLONG}, {'L', WORD_ULLONG},
                 {'h', WORD_HALF},  {'n', WORD_BF16},   {'f', WORD_FLOAT}, {'d', WORD_DOUBLE},
                 {'w', WORD_INT},   {'m', WORD_UINT},   {'M', WORD_UINT}};
    if (letter == 'H' || letter == 'N' || letter == 'F')
        return type_vector(p->types,
                           letter == 'H'   ? WORD_HALF
                           : letter == 'N' ? WORD_BF16
                                           : WORD_FLOAT,
                           2);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].letter == letter)
            return type_word_of(p, words[i].word);
    return NULL;
}

/* One type of a signature; T and A are passed in, NULL while they are unknown. */
static const kernel_type *next_type(parser *p, const char **s, const kernel_type *any,
                                    const kernel_type *arithmetic, char *letter)
{
    *letter = *(*s)++;
    if (*letter == 'P' || *letter == 'K') {
        char inner;
        const bool is_const = *letter == 'K';
        const kernel_type *to = next_type(p, s, any, arithmetic, &inner);
        *letter = 'P';
        return to ? type_pointer(p->types, type_qualify(p->types, to, is_const ? TYPE_CONST : 0))
                  : NULL;
    }
    return *letter == 'T' ? any : *letter == 'A' ? arithmetic : letter_type(p, *letter);
}

static bool allowed(parser *p, const char *set, const kernel_type *t)
{
    if (*set != '/')
        return true;
    for (set++; *set && *set != ' '; set++)
        if (letter_type(p, *set) == t)
            return true;
    return false;
}

static bool is_end(char c) { return !c || c == ' ' || c == '/'; }

/* Finds T and A for these arguments; false if none fit. */
static bool bind(parser *p, const char *s, kernel_expr **args, uint32_t n, const kernel_type **any,
                 const kernel_type **arithmetic)
{
    uint32_t i = 0;
    char letter;
    next_type(p, &s, NULL, NULL, &letter);
    for (; !is_end(*s); i++) {
        const char *at_ = s;
        next_type(p, &s, NULL, NULL, &letter);
        if (letter == 'M') {
            i--;
            continue;
        }
        if (i >= n)
            continue;
        const kernel_type *type = args[i]->type;
        if (letter == 'P' && at_[1] == 'T' && !*any) {
            if (type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY)
                return false;
            *any = type->of->plain;
        } else if (letter == 'T' && !*any) {
            *any = type_is_arithmetic(type) ? type_promote(p, type) : type->plain;
        } else if (letter == 'A') {
            const kernel_type *other = *arithmetic ? *arithmetic : type;
            *arithmetic = type_usual(p, other, type);
            if (!*arithmetic)
                return false;
        }
    }
    /* for one pointer, long and long long are the same type */
    return !*any || allowed(p, s, *any);
}

/* Ranks an argument. As in C++, an integer prefers double if there are only floats. */
static int rank_of(parser *p, const kernel_expr *e, const kernel_type *to, char letter)
{
    if (letter == 'T' || letter == 'A')
        return expr_rank(p, e, to) < 0 ? RANK_NONE : 0;
    if (letter == 'P' && (e->type->kind == TYPE_POINTER || e->type->kind == TYPE_ARRAY)) {
        const kernel_type *from = e->type->of;
        if (from->plain == to->of->plain) /* volatile makes no difference */
            return (from->quals & TYPE_CONST) && !(to->of->quals & TYPE_CONST) ? RANK_NONE : 0;
    }
    const int rank = expr_rank(p, e, to);
    if (rank < 0)
        return RANK_NONE;
    if (type_is_float(to) && type_is_integer(e->type))
        return to->kind == TYPE_F64 ? 3 : 6;
    /* A 16-bit float becomes float rather than double or the other 16-bit float. */
    if (type_is_float(to) && e->type->kind < TYPE_F32 && type_is_float(e->type) && e->type != to)
        return to->kind == TYPE_F32 ? 2 : 3;
    return rank;
}

static bool match(parser *p, const builtin_name *row, const char *s, kernel_expr **args, uint32_t n,
                  variant *v)
{
    const kernel_type *any = NULL, *arithmetic = NULL;
    *v = (variant){.row = row};
    if (!bind(p, s, args, n, &any, &arithmetic))
        return false;
    char letter;
    v->result = next_type(p, &s, any, arithmetic, &letter);
    uint32_t i = 0;
    for (; !is_end(*s) && v->n_params < ARGS_MOST; v->n_params++) {
        const kernel_type *type = next_type(p, &s, any, arithmetic, &letter);
        v->params[v->n_params] = type;
        v->letters[v->n_params] = letter;
        if (letter == 'M')
            continue;
        if (i >= n) {
            if (letter != 'w' && letter != 'm')
                return false;
            continue;
        }
        const int rank = type ? rank_of(p, args[i], type, letter) : RANK_NONE;
        if (rank == RANK_NONE)
            return false;
        v->rank += rank;
        i++;
    }
    return i == n && v->result;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static bool is_pair(const kernel_type *t)
{
    return t->kind == TYPE_STRUCT && t->record->n_vector == 2 &&
           t->record->element->kind >= TYPE_F16 && t->record->element->kind <= TYPE_BF16;
}

static kernel_expr *lane(parser *p, kernel_expr *e, int i)
{
    if (e->type->kind != TYPE_STRUCT)
        return e;
    if (e->kind == EXPR_LIST)
        return e->args[i];
    return expr_value(p, expr_member(p, e->place, e->kind == EXPR_LOAD ? e->a : e,
                                     e->type->record->members[i].name));
}

/* Lets each argument be used several times; all are evaluated before. */
static kernel_expr *keep(parser *p, kernel_expr **args, uint32_t n)
{
    kernel_expr *before = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (args[i]->type->kind == TYPE_STRUCT && args[i]->kind != EXPR_LIST)
            args[i] = expr_once(p, args[i], &before);
    return before;
}

static kernel_expr *scalar(parser *p, kernel_place place, const builtin_name *row,
                           const kernel_type *type, uint32_t n, kernel_expr **args)
{
    if (row->how == HOW_OPERATOR && n == 1)
        return expr_unary(p, place, TOKEN_MINUS, args[0]);
    if (row->how == HOW_OPERATOR)
        return expr_op(p, place, row->which, args[0], args[1]);
    return expr_builtin(p, place, row->which, type, n, args);
}

/* The operation on each lane of half2. */
static kernel_expr *by_lanes(parser *p, kernel_place place, const variant *v, uint32_t n,
                             kernel_expr **args)
{
    const kernel_type *element = v->result->record->element;
    kernel_expr *before = keep(p, args, n);
    kernel_expr *list = expr_list(p, place, v->result, 2);
    for (int i = 0; i < 2; i++) {
        kernel_expr *lanes[ARGS_MOST];
        for (uint32_t k = 0; k < n; k++)
            lanes[k] = lane(p, args[k], i);
        list->args[i] =
            expr_convert(p, scalar(p, place, v->row, element, n, lanes), element, "a lane");
    }
    return expr_comma(p, before, list);
}

kernel_expr *builtin_pair(parser *p, kernel_place place, kernel_operator op, kernel_expr *a,
                          kernel_expr *b)
{
    if (!is_pair(a->type) || (b && a->type != b->type))
        return NULL;
    if (op != OP_NEGATE && (op < OP_ADD || op > OP_DIV))
        return NULL;
    const builtin_name row = {"", HOW_OPERATOR, op, NULL, NULL};
    const variant v = {.row = &row, .result = a->type};
    kernel_expr *args[2] = {a, b};
    return by_lanes(p, place, &v, b ? 2 : 1, args);
}

static kernel_expr *shaped(parser *p, kernel_place place, const variant *v, uint32_t n,
                           kernel_expr **args)
{
    const char *lanes = v->row->lanes;
    const size_t count = strlen(lanes);
    kernel_expr *before = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (count > 1)
            args[i] = expr_once(p, args[i], &before);
    const kernel_type *element =
        v->result->kind == TYPE_STRUCT ? v->result->record->element : v->result;
    kernel_expr *list = expr_list(p, place, v->result, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const char c = lanes[i];
        kernel_expr *e = c == '0' || c == '1'   ? args[c - '0']
                         : c == 'x' || c == 'y' ? lane(p, args[0], c - 'x')
                                                : lane(p, args[1], c - 'X');
        list->args[i] = expr_convert(p, e, element, "a lane");
    }
    kernel_expr *made = v->result->kind == TYPE_STRUCT ? list : list->args[0];
    return expr_comma(p, before, made);
}

/* Shuffles a half2 as 32 bits. */
static kernel_expr *shuffle_pair(parser *p, kernel_place place, const variant *v, uint32_t n,
                                 kernel_expr **args)
{
    const kernel_type *bits = type_word_of(p, WORD_UINT);
    args[1] = expr_builtin(p, place, BUILTIN_BITCAST, bits, 1, &args[1]);
    kernel_expr *made = expr_builtin(p, place, v->row->which, bits, n, args);
    return expr_builtin(p, place, BUILTIN_BITCAST, v->result, 1, &made);
}

static kernel_expr *build(parser *p, kernel_place place, const variant *v, uint32_t n,
                          kernel_expr **args)
{
    const builtin_name *row = v->row;
    switch (row->how) {
    case HOW_CAST: return expr_cast(p, args[0], v->result, place);
    case HOW_LANES: return shaped(p, place, v, n, args);
    case HOW_LOAD: return expr_value(p, expr_deref(p, place, args[0]));
    case HOW_STORE: return expr_assign(p, place, expr_deref(p, place, args[0]), args[1]);
    default: break;
    }
    const kernel_builtin_class class = kernel_builtin_rows[row->which].class;
    if (row->how == HOW_BUILTIN && class == CLASS_WARP && is_pair(v->result))
        return shuffle_pair(p, place, v, n, args);
    if (is_pair(v->result) && row->how == HOW_BUILTIN && class == CLASS_ATOMIC)
        return part_call(p, "ig_atomic_pair", place, args, n);
    if (is_pair(v->result))
        return by_lanes(p, place, v, n, args);
    if (row->how == HOW_OPERATOR)
        return scalar(p, place, row, v->result, n, args);
    kernel_builtin id = row->which;
    const bool to_float = type_is_float(v->result);
    if ((id == BUILTIN_CONVERT_RN && to_float) || (id == BUILTIN_CONVERT_RZ && !to_float))
        return expr_cast(p, args[0], v->result, place);
    if (id == BUILTIN_ROUND && !to_float) {
        kernel_expr *rounded = expr_builtin(p, place, id, args[0]->type, 1, args);
        return expr_cast(p, rounded, v->result, place);
    }
    if (to_float && (id == BUILTIN_MIN || id == BUILTIN_MAX || id == BUILTIN_ABS))
        id = id == BUILTIN_MIN ? BUILTIN_FMIN : id == BUILTIN_MAX ? BUILTIN_FMAX : BUILTIN_FABS;
    kernel_expr *e = expr_builtin(p, place, id, v->result, n, args);
    return class == CLASS_INT || id == BUILTIN_BITCAST ? fold_all(p, e) : e;
}

static _Noreturn void no_variant(parser *p, const builtin_name *row, kernel_place place,
                                 kernel_expr **args, uint32_t n)
{
    parser_fail_do(p, place, "check the number of arguments, and cast them if necessary",
                   "'%s' does not take (%s)", row->name, types_of(p, args, n));
}

kernel_expr *builtin_call(parser *p, const builtin_name *row, kernel_place place, uint32_t n,
                          kernel_expr **args)
{
    kernel_expr *all[ARGS_MOST];
    variant best = {.rank = RANK_NONE}, v;
    for (const builtin_name *r = row; r->name && !strcmp(r->name, row->name); r++)
        for (const char *s = r->signatures; *s;) {
            if (match(p, r, s, args, n, &v) && v.rank < best.rank)
                best = v;
            while (*s && *s != ' ')
                s++;
            while (*s == ' ')
                s++;
        }
    if (best.rank == RANK_NONE)
        no_variant(p, row, place, args, n);
    uint32_t from = 0;
    for (uint32_t i = 0; i < best.n_params; i++) {
        const char letter = best.letters[i];
        if (letter == 'M' || (letter == 'm' && from >= n))
            all[i] = expr_integer(p, place, best.params[i], UINT32_MAX);
        else if (letter == 'w' && from >= n)
            all[i] = expr_integer(p, place, best.params[i], 32);
        else if (letter == 'P' && args[from]->type->kind != TYPE_STRUCT &&
                 (args[from]->type->quals ||
                  (args[from]->type->of && args[from]->type->of->quals)) &&
                 args[from]->type->of && args[from]->type->of->plain == best.params[i]->of->plain)
            all[i] = expr_value(p, args[from++]); /* the place keeps its qualifiers */
        else {
            from++;
            all[i] = expr_convert(p, args[from - 1], best.params[i],
                                  parser_format(p, "argument %u of '%s'", from, row->name));
        }
    }
    return build(p, place, &best, best.n_params, all);
}

/* The type T of std::max<T>(a, b), after the name; NULL if there is none. */
static const kernel_type *parse_given_type(parser *p, const builtin_name *row)
{
    template_arg *given = NULL;
    if (!at(p, TOKEN_LT) || (strcmp(row->name, "min") != 0 && strcmp(row->name, "max") != 0))
        return NULL;
    const kernel_place place = p->t->place;
    if (parse_template_args(p, &given) != 1 || given[0].is_value)
        parser_fail(p, place, "'%s' is given one type", row->name);
    return given[0].type->plain;
}

kernel_expr *parse_builtin(parser *p, const builtin_name *row, kernel_place place)
{
    const kernel_type *given = parse_given_type(p, row);
    if (!accept(p, TOKEN_LPAREN))
        parser_fail_do(p, place, "call it", "'%s' is a function of CUDA's", row->name);
    kernel_expr **args;
    const uint32_t n = parse_arguments(p, &args);
    for (uint32_t i = 0; i < n && given; i++)
        args[i] = expr_convert(p, args[i], given,
                               parser_format(p, "argument %u of '%s'", i + 1, row->name));
    kernel_expr *e = builtin_call(p, row, place, n, args);
    return given ? expr_convert(p, e, given, row->name) : e;
}
