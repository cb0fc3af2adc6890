/* CUDA's names: the rows of builtin_names.def, types, vectors, the grid, and the few functions that no signature
 * can describe: printf, assert, std::swap, std::numeric_limits, type traits. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/parse/parser.h"

/* ---- printf and assert ------------------------------------------------------------------------- */

static void check_conversion(parser *p, char letter, const kernel_expr *e)
{
    const bool wants_float = strchr("fFeEgGaA", letter), is_float = type_is_float(e->type);
    if (!strchr("diouxXcfFeEgGaAps", letter))
        parser_fail(p, e->place, "printf has no conversion '%%%c'", letter);
    const bool is_text = e->type->kind == TYPE_POINTER && e->type->of->size == 1;
    if (letter == 's' ? !is_text : e->kind == EXPR_STRING)
        parser_fail(p, e->place, "printf: '%%%c' with an argument of type '%s'", letter,
                    type_name(p, e->type));
    if (letter != 'p' && letter != 's' && wants_float != is_float && !p->quiet)
        diag_warning(p->diags, e->place, NULL, "printf: '%%%c' with an argument of type '%s'",
                     letter, type_name(p, e->type));
}

/* An argument after default promotion for '...': int and larger, double, pointers. */
static kernel_expr *variadic(parser *p, kernel_expr *e)
{
    if (e->kind == EXPR_STRING)
        return e;
    e = expr_value(p, e);
    if (type_is_float(e->type))
        return expr_convert(p, e, type_word_of(p, WORD_DOUBLE), "an argument of printf");
    if (type_is_integer(e->type))
        return expr_cast(p, e, type_promote(p, e->type), e->place);
    if (!type_is_pointer(e->type))
        parser_fail(p, e->place, "printf cannot print '%s'", type_name(p, e->type));
    return e;
}

/* Each conversion of the format takes an argument, and each '*' in it. */
static uint32_t match_format(parser *p, const char *s, kernel_expr **args, uint32_t n,
                             kernel_place place)
{
    uint32_t used = 1;
    while ((s = strchr(s, '%'))) {
        char letter;
        do {
            s += 1 + strspn(s + 1, "-+ #0123456789.hlLqjzt");
            letter = *s == '*' ? 'd' : *s;
            if (letter == '%' || !letter)
                break;
            if (used >= n)
                parser_fail(p, place, "printf has more conversions than arguments");
            args[used] = variadic(p, args[used]);
            check_conversion(p, letter, args[used]);
            used++;
        } while (*s == '*');
        s += *s != 0;
    }
    return used;
}

static kernel_expr *parse_printf(parser *p, int which, kernel_place place)
{
    (void)which;
    expect(p, TOKEN_LPAREN, "after 'printf'");
    kernel_expr **args;
    const uint32_t n = parse_arguments(p, &args);
    if (!n || args[0]->kind != EXPR_STRING)
        parser_fail_do(p, place, "write the format into the call",
                       "printf's format is not a string literal");
    const uint32_t used = match_format(p, args[0]->as.text->text, args, n, place);
    if (used < n)
        parser_fail(p, args[used]->place, "printf has more arguments than conversions");
    return expr_builtin(p, place, BUILTIN_PRINTF, type_word_of(p, WORD_INT), n, args);
}

static kernel_expr *string_new(parser *p, const kernel_string *s, kernel_place place)
{
    kernel_expr *e = expr_new(
        p, EXPR_STRING, place,
        type_pointer(p->types, type_qualify(p->types, type_word_of(p, WORD_CHAR), TYPE_CONST)));
    e->as.text = s;
    return e;
}

/* The source between two tokens, as a string. */
static kernel_expr *quote(parser *p, const kernel_token *from, const kernel_token *to)
{
    size_t bytes = 0;
    for (const kernel_token *t = from; t < to; t++)
        bytes += t->bytes + 1;
    kernel_string *s = kernel_arena_get(p->arena, sizeof *s + bytes + 1);
    s->bytes = 0;
    for (const kernel_token *t = from; t < to; t++) {
        if (t != from && (t->flags & TOKEN_SPACE))
            s->text[s->bytes++] = ' ';
        memcpy(s->text + s->bytes, t->text, t->bytes);
        s->bytes += t->bytes;
    }
    s->text[s->bytes] = 0;
    return string_new(p, s, from->place);
}

/* __func__ */
static kernel_expr *parse_function_name(parser *p, int which, kernel_place place)
{
    (void)which;
    if (!p->current)
        parser_fail(p, place, "'__func__' outside of a function");
    const char *name = p->current->decl->name->text;
    kernel_string *s = kernel_arena_get(p->arena, sizeof *s + strlen(name) + 1);
    s->bytes = (uint32_t)strlen(name);
    memcpy(s->text, name, s->bytes + 1);
    return string_new(p, s, place);
}

static kernel_expr *parse_assert(parser *p, int which, kernel_place place)
{
    (void)which;
    const kernel_token *from = p->t + 1;
    expect(p, TOKEN_LPAREN, "after 'assert'");
    kernel_expr **args, *all[2];
    const uint32_t n = parse_arguments(p, &args);
    if (!n || n > 2)
        parser_fail(p, place, "assert takes one condition");
    all[0] = expr_bool(p, args[n - 1]);
    for (uint32_t i = 0; i + 1 < n; i++)
        all[0] = expr_comma(p, expr_value(p, args[i]), all[0]);
    all[1] = quote(p, from, p->t - 1);
    return expr_builtin(p, place, BUILTIN_ASSERT, type_word_of(p, WORD_VOID), 2, all);
}

/* ---- std -------------------------------------------------------------------------------------- */

static kernel_expr *parse_swap(parser *p, int which, kernel_place place)
{
    (void)which;
    kernel_expr **args, *before = NULL;
    expect(p, TOKEN_LPAREN, "after 'swap'");
    if (parse_arguments(p, &args) != 2 || args[0]->type->plain != args[1]->type->plain)
        parser_fail(p, place, "swap takes two variables of one type");
    kernel_expr *a = expr_place_once(p, args[0], &before),
                *b = expr_place_once(p, args[1], &before);
    kernel_var *v = local_new(p, name_of(p, "temp"), a->type->plain, place);
    v->is_temporary = true;
    kernel_expr *e = expr_assign(p, place, expr_var(p, place, v), a);
    e = expr_comma(p, e, expr_assign(p, place, a, b));
    e = expr_comma(p, e, expr_assign(p, place, b, expr_var(p, place, v)));
    return expr_cast(p, expr_comma(p, before, e), type_word_of(p, WORD_VOID), place);
}

/* The first argument; of std::move, if it is an object, as one that may be moved from. */
static kernel_expr *parse_first(parser *p, int moves, kernel_place place)
{
    kernel_expr **args;
    template_arg *given = NULL;
    if (at(p, TOKEN_LT))
        parse_template_args(p, &given);
    expect(p, TOKEN_LPAREN, "before arguments");
    if (!parse_arguments(p, &args))
        parser_fail(p, place, "an argument is missing");
    if (!moves || args[0]->type->kind != TYPE_STRUCT || !expr_is_place(args[0]))
        return args[0];
    kernel_expr *e = expr_deref(p, place, expr_address(p, place, args[0]));
    e->moves = true;
    return e;
}

/* Hints to a compiler. */
static kernel_expr *parse_hint(parser *p, int which, kernel_place place)
{
    (void)which;
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "before arguments");
    parse_arguments(p, &args);
    return expr_zero(p, place, type_word_of(p, WORD_VOID));
}

typedef struct limits {
    double least, most, lowest, epsilon, denorm;
    int digits;
} limits;

static limits float_limits(type_kind kind)
{
    switch (kind) {
    case TYPE_F16: return (limits){0x1p-14, 65504, -65504, 0x1p-10, 0x1p-24, 11};
    case TYPE_BF16: return (limits){0x1p-126, 0x1.fep127, -0x1.fep127, 0x1p-7, 0x1p-133, 8};
    case TYPE_F32:
        return (limits){(double)FLT_MIN,     (double)FLT_MAX, -(double)FLT_MAX,
                        (double)FLT_EPSILON, 0x1p-149,        24};
    default: return (limits){DBL_MIN, DBL_MAX, -DBL_MAX, DBL_EPSILON, 0x1p-1074, 53};
    }
}

static kernel_expr *float_limit(parser *p, const kernel_type *t, const char *name,
                                kernel_place place)
{
    const limits l = float_limits(t->kind);
    const struct {
        const char *name;
        double value;
    } rows[] = {{"min", l.least},         {"max", l.most},        {"lowest", l.lowest},
                {"epsilon", l.epsilon},   {"infinity", INFINITY}, {"quiet_NaN", NAN},
                {"denorm_min", l.denorm}, {"round_error", 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name))
            return expr_number(p, place, t, rows[i].value);
    return NULL;
}

static kernel_expr *integer_limit(parser *p, const kernel_type *t, const char *name,
                                  kernel_place place)
{
    const int bits = t->kind == TYPE_BOOL ? 1 : (int)t->size * 8;
    const bool is_signed = type_is_signed(t);
    if (!strcmp(name, "max"))
        return expr_integer(p, place, t, UINT64_MAX >> (64 - bits + is_signed));
    if (!strcmp(name, "min") || !strcmp(name, "lowest"))
        return expr_integer(p, place, t, is_signed ? ~(UINT64_MAX >> (64 - bits + 1)) : 0);
    return NULL;
}

static kernel_expr *parse_limits(parser *p, int which, kernel_place place)
{
    (void)which;
    template_arg *args = NULL;
    if (parse_template_args(p, &args) != 1 || args[0].is_value || !type_is_arithmetic(args[0].type))
        parser_fail(p, place, "numeric_limits of a type that is not a number");
    const kernel_type *t = args[0].type->plain;
    expect(p, TOKEN_SCOPE, "after 'numeric_limits<...>'");
    const char *name = expect_name(p, "a limit")->text;
    if (!strcmp(name, "digits"))
        return expr_integer(p, place, type_word_of(p, WORD_INT),
                            type_is_float(t) ? (uint64_t)float_limits(t->kind).digits
                                             : t->size * 8 - type_is_signed(t));
    expect(p, TOKEN_LPAREN, "after a limit");
    expect(p, TOKEN_RPAREN, "after a limit");
    kernel_expr *e =
        type_is_float(t) ? float_limit(p, t, name, place) : integer_limit(p, t, name, place);
    if (!e)
        parser_fail(p, place, "numeric_limits<%s> has no '%s'", type_name(p, t), name);
    return e;
}

enum {
    TRAIT_SAME,
    TRAIT_BASE,
    TRAIT_CONVERTIBLE, /* the last one of two types */
    TRAIT_FLOAT,
    TRAIT_INTEGRAL,
    TRAIT_SIGNED,
    TRAIT_POINTER,
    TRAIT_ARITHMETIC,
    TRAIT_UNSIGNED,
    TRAIT_VOID,
    TRAIT_CLASS,
    TRAIT_ENUM,
    TRAIT_REFERENCE,
    TRAIT_ARRAY,
    TRAIT_CONST,
    TRAIT_COPYABLE
};
enum { TRAIT_VALUE = 32 /* is_same_v, not is_same<>::value */ };
static const char *const traits[] = {
    "is_same",      "is_base_of", "is_convertible", "is_floating_point",
    "is_integral",  "is_signed",  "is_pointer",     "is_arithmetic",
    "is_unsigned",  "is_void",    "is_class",       "is_enum",
    "is_reference", "is_array",   "is_const",       "is_trivially_copyable"};

static bool trait_holds(parser *p, int which, const kernel_type *t, const kernel_type *to)
{
    const kernel_member *path[8];
    const bool integer = type_is_integer(t) && !t->enumeration && t->word < WORD_BLOCK;
    const bool is_float = t->kind == TYPE_F32 || t->kind == TYPE_F64;
    switch (which) {
    case TRAIT_SAME: return t == to;
    case TRAIT_BASE: /* is_base_of<base, derived> */
        type_complete(p, to, p->t->place);
        return t->kind == TYPE_STRUCT && to->kind == TYPE_STRUCT &&
               (base_path(to, t, path) >= 0 || base_is_empty(to, t));
    case TRAIT_CONVERTIBLE: return expr_rank(p, type_dummy(p, t), to) >= 0;
    case TRAIT_FLOAT: return is_float;
    case TRAIT_INTEGRAL: return integer;
    case TRAIT_SIGNED: return (integer && type_is_signed(t)) || is_float;
    case TRAIT_UNSIGNED: return integer && !type_is_signed(t);
    case TRAIT_POINTER: return type_is_pointer(t) && t->word != WORD_NULL;
    case TRAIT_ARITHMETIC: return integer || is_float;
    case TRAIT_VOID: return t->kind == TYPE_VOID;
    case TRAIT_CLASS: return t->kind == TYPE_STRUCT && !t->record->is_union;
    case TRAIT_ENUM: return t->enumeration != NULL;
    case TRAIT_REFERENCE: return t->kind == TYPE_REFERENCE;
    case TRAIT_ARRAY: return t->kind == TYPE_ARRAY;
    case TRAIT_CONST: return t->quals & TYPE_CONST;
    default: return t->kind != TYPE_STRUCT || (!object_copies(p, t) && !object_ends(p, t));
    }
}

static kernel_expr *parse_trait(parser *p, int which, kernel_place place)
{
    template_arg *args = NULL;
    const uint32_t n = parse_template_args(p, &args),
                   wanted = (which & (TRAIT_VALUE - 1)) <= TRAIT_CONVERTIBLE ? 2 : 1;
    if (n != wanted || args[0].is_value || args[n - 1].is_value)
        parser_fail(p, place, "this trait takes %u types", wanted);
    if (!(which & TRAIT_VALUE)) {
        expect(p, TOKEN_SCOPE, "after a trait");
        if (expect_name(p, "'value'") != name_of(p, "value"))
            parser_fail(p, place, "a trait is used by '::value'");
    }
    const bool is = trait_holds(p, which & (TRAIT_VALUE - 1), args[0].type, args[n - 1].type);
    return expr_integer(p, place, type_word_of(p, WORD_BOOL), is);
}

/* std::declval<T>() */
static kernel_expr *parse_declval(parser *p, int which, kernel_place place)
{
    (void)which;
    template_arg *args = NULL;
    if (parse_template_args(p, &args) != 1 || args[0].is_value)
        parser_fail(p, place, "declval takes a type");
    expect(p, TOKEN_LPAREN, "after 'declval<...>'");
    expect(p, TOKEN_RPAREN, "after 'declval<...>('");
    const kernel_type *t = args[0].type;
    return type_dummy(p, t->kind == TYPE_REFERENCE ? t : type_reference(p->types, t));
}

/* ---- halves of doubles -------------------------------------------------------------------------- */

enum { DOUBLE_LOW, DOUBLE_HIGH, DOUBLE_JOIN };

static kernel_expr *parse_double_part(parser *p, int which, kernel_place place)
{
    kernel_expr **args;
    const kernel_type *wide = type_word_of(p, WORD_LLONG), *f64 = type_word_of(p, WORD_DOUBLE);
    const kernel_type *narrow = type_word_of(p, WORD_INT), *bits = type_word_of(p, WORD_UINT);
    expect(p, TOKEN_LPAREN, "before arguments");
    const uint32_t n = parse_arguments(p, &args);
    if (n != (which == DOUBLE_JOIN ? 2 : 1))
        parser_fail(p, place, "the wrong number of arguments");
    kernel_expr *shift = expr_integer(p, place, narrow, 32);
    if (which != DOUBLE_JOIN) {
        kernel_expr *e = expr_convert(p, args[0], f64, "an argument");
        e = expr_builtin(p, place, BUILTIN_BITCAST, wide, 1, &e);
        if (which == DOUBLE_HIGH)
            e = expr_binary(p, place, TOKEN_SHR, e, shift);
        return expr_cast(p, e, narrow, place);
    }
    kernel_expr *high = expr_cast(p, expr_convert(p, args[0], narrow, "an argument"), wide, place);
    kernel_expr *low = expr_cast(p, expr_convert(p, args[1], narrow, "an argument"), bits, place);
    high = expr_binary(p, place, TOKEN_SHL, high, shift);
    kernel_expr *both = expr_binary(p, place, TOKEN_PIPE, high, expr_cast(p, low, wide, place));
    return expr_builtin(p, place, BUILTIN_BITCAST, f64, 1, &both);
}

/* ig_default(x) of the library: initializes x as a declaration without a value does. */
static kernel_expr *parse_default(parser *p, int ignored, kernel_place place)
{
    (void)ignored;
    expect(p, TOKEN_LPAREN, "after 'ig_default'");
    kernel_expr *to = parse_inside(p, TOKEN_RPAREN, "after an object");
    return init_default(p, to, place);
}

/* ig_copy(to, from) and ig_end(x) of the library: the copy constructor and the destructor. */
static kernel_expr *parse_lifetime(parser *p, int copies, kernel_place place)
{
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "after a function of the library");
    const uint32_t n = parse_arguments(p, &args);
    if (n != (copies ? 2 : 1))
        parser_fail(p, place, "a function of the library has other arguments");
    return copies ? object_copy_to(p, args[0], args[1]) : object_end(p, args[0]);
}

enum { HEAP_GET, HEAP_PUT };

static kernel_expr *parse_heap(parser *p, int which, kernel_place place)
{
    expect(p, TOKEN_LPAREN, which == HEAP_GET ? "after 'malloc'" : "after 'free'");
    kernel_expr *e = parse_inside(p, TOKEN_RPAREN, "after an argument");
    return which == HEAP_GET ? device_malloc(p, place, e) : device_free(p, place, e);
}

/* ---- the tables ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    special_parser *parse;
    int which;
} specials[] = {
    {"printf", parse_printf, 0},
    {"assert", parse_assert, 0},
    {"__func__", parse_function_name, 0},
    {"__FUNCTION__", parse_function_name, 0},
    {"ig_default", parse_default, 0},
    {"ig_copy", parse_lifetime, 1},
    {"ig_end", parse_lifetime, 0},
    {"swap", parse_swap, 0},
    {"malloc", parse_heap, HEAP_GET},
    {"free", parse_heap, HEAP_PUT},
    {"move", parse_first, 1},
    {"forward", parse_first, 0},
    {"declval", parse_declval, 0},
    {"__builtin_expect", parse_first, 0},
    {"__builtin_assume", parse_hint, 0},
    {"__assume", parse_hint, 0},
    {"__builtin_unreachable", parse_hint, 0},
    {"numeric_limits", parse_limits, 0},
    {"__double2loint", parse_double_part, DOUBLE_LOW},
    {"__double2hiint", parse_double_part, DOUBLE_HIGH},
    {"__hiloint2double", parse_double_part, DOUBLE_JOIN},
};

static const struct {
    const char *name;
    uint8_t word;
} types[] = {
    {"size_t", WORD_ULONG},    {"ptrdiff_t", WORD_LONG},     {"intptr_t", WORD_LONG},
    {"uintptr_t", WORD_ULONG}, {"ssize_t", WORD_LONG},       {"clock_t", WORD_LONG},
    {"int8_t", WORD_SCHAR},    {"uint8_t", WORD_UCHAR},      {"int16_t", WORD_SHORT},
    {"uint16_t", WORD_USHORT}, {"int32_t", WORD_INT},        {"uint32_t", WORD_UINT},
    {"int64_t", WORD_LONG},    {"uint64_t", WORD_ULONG},     {"uchar", WORD_UCHAR},
    {"ushort", WORD_USHORT},   {"uint", WORD_UINT},          {"ulong", WORD_ULONG},
    {"half", WORD_HALF},       {"__half", WORD_HALF},        {"__nv_half", WORD_HALF},
    {"nv_half", WORD_HALF},    {"__nv_bfloat16", WORD_BF16}, {"nv_bfloat16", WORD_BF16},
    {"nullptr_t", WORD_NULL},
};

static void add_type(parser *p, const char *name, const kernel_type *type)
{
    symbol_add(p, p->root, SYMBOL_TYPE, name_of(p, name), 0)->as.type = type;
}

static void add_constant(parser *p, const char *name, kernel_expr *value)
{
    symbol_add(p, p->root, SYMBOL_CONSTANT, name_of(p, name), 0)->constant = value;
}

void special_add(parser *p, scope *s, const char *name, special_parser *parse, int which)
{
    symbol *y = symbol_add(p, s, SYMBOL_SPECIAL, name_of(p, name), 0);
    y->special = parse;
    y->which = which;
}

static void vector_names(parser *p)
{
    for (int word = 0; word < WORDS; word++)
        for (int n = 1; n <= 4; n++) {
            const kernel_type *t = p->types->vectors[word][n];
            if (!t)
                continue;
            const char *name = t->record->name;
            add_type(p, name, t);
            if (word == WORD_HALF || word == WORD_BF16)
                continue; /* make_half2 is a row of builtin_names.def */
            char make[32] = "make_";
            strncat(make, name, sizeof make - 6);
            symbol_add(p, p->root, SYMBOL_MAKE, name_of(p, make), 0)->as.type = t;
        }
    add_type(p, "__half2", p->types->vectors[WORD_HALF][2]);
    add_type(p, "nv_bfloat162", p->types->vectors[WORD_BF16][2]);
    add_type(p, "__nv_bfloat162", p->types->vectors[WORD_BF16][2]);
    add_type(p, "dim3", p->types->dim3);
}

/* Structs of the runtime that programs pass to kernels. A member without "*" is a size_t. */
static void runtime_names(parser *p)
{
    static const char *const structs[][5] = {
        {"cudaExtent", "width", "height", "depth"},
        {"cudaPos", "x", "y", "z"},
        {"cudaPitchedPtr", "*ptr", "pitch", "xsize", "ysize"},
    };
    const kernel_type *size = p->types->basic[WORD_ULONG];
    const kernel_type *pointer = type_pointer(p->types, p->types->basic[WORD_VOID]);
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
        kernel_struct *s = type_struct(p->types, name_of(p, structs[i][0]), 0);
        for (int k = 1; k < 5 && structs[i][k]; k++) {
            const bool points = structs[i][k][0] == '*';
            type_member_add(p->types, s, name_of(p, structs[i][k] + points),
                            points ? pointer : size, 0);
        }
        type_struct_end(p->types, s, 0);
        add_type(p, structs[i][0], s->type);
    }
}

static scope *add_namespace(parser *p, scope *in, const char *name)
{
    scope *s = scope_open(p, in, false);
    symbol_add(p, in, SYMBOL_NAMESPACE, name_of(p, name), 0)->as.inside = s;
    return s;
}

void special_names(parser *p)
{
    for (size_t i = builtin_names_count; i-- > 0;) /* backwards, so that lookup finds the first row
                                                    * of a name first */
        symbol_add(p, p->root, SYMBOL_BUILTIN, name_of(p, builtin_names[i].name), 0)->as.builtin =
            &builtin_names[i];
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        special_add(p, p->root, specials[i].name, specials[i].parse, specials[i].which);
    for (int i = 0; i < (int)(sizeof traits / sizeof *traits); i++) {
        special_add(p, p->root, traits[i], parse_trait, i);
        special_add(p, p->root, parser_format(p, "%s_v", traits[i]), parse_trait, i | TRAIT_VALUE);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        add_type(p, types[i].name, p->types->basic[types[i].word]);
    vector_names(p);
    runtime_names(p);
    part_names(p);
    static const char *const grid[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    for (int i = 0; i < 4; i++)
        symbol_add(p, p->root, SYMBOL_GRID, name_of(p, grid[i]), 0)->as.number = i;
    add_constant(p, "warpSize", expr_integer(p, 0, type_word_of(p, WORD_INT), 32));
    /* Names that nvcc includes implicitly. */
    add_constant(p, "NULL", expr_integer(p, 0, type_word_of(p, WORD_NULL), 0));
    add_constant(p, "INFINITY", expr_number(p, 0, type_word_of(p, WORD_FLOAT), INFINITY));
    add_constant(p, "NAN", expr_number(p, 0, type_word_of(p, WORD_FLOAT), NAN));
    scope_use(p, add_namespace(p, p->root, "std"), p->root);
    scope_use(p, add_namespace(p, add_namespace(p, p->root, "cuda"), "std"), p->root);
}
