/* nvcuda::wmma: fragments of 16 x 16 x 16 and the two other shapes, of half and bfloat16 with float. */
#include "compiler/parse/parser.h"

enum { TAG_A = FRAGMENT_A, TAG_B = FRAGMENT_B, TAG_C = FRAGMENT_ACCUMULATOR, TAG_ROW, TAG_COLUMN };
enum { GROUP_FRAGMENT = 5, WARP_LANES = 32 };

static kernel_expr *parse_tag(parser *p, int which, kernel_place place)
{
    (void)which;
    parser_fail(p, place, "this is for fragments of wmma only");
}

static int tag(parser *p, const char *what)
{
    const kernel_token *last;
    const symbol *y = parse_name(p, &last);
    if (!y || y->kind != SYMBOL_SPECIAL || y->special != parse_tag)
        parser_fail(p, last->place, "expected %s, found %s", what, token_text(p, last));
    return y->which;
}

static uint16_t extent(parser *p)
{
    expect(p, TOKEN_COMMA, "in a fragment");
    const int64_t n = fold_integer(p, parse_constant(p), "the shape of a fragment");
    return n == 8 || n == 16 || n == 32 ? (uint16_t)n : 0;
}

static const kernel_type *make(parser *p, const kernel_struct *like)
{
    for (const kernel_type *t = p->types->fragments; t; t = t->next) {
        const kernel_struct *s = t->record;
        if (s->fragment == like->fragment && s->m == like->m && s->n == like->n &&
            s->k == like->k && s->element == like->element && s->column_major == like->column_major)
            return t;
    }
    static const char *const uses[] = {"", "a", "b", "c"};
    const char *name =
        parser_format(p, "fragment_%s_%ux%ux%u_%s%s", uses[like->fragment], like->m, like->n,
                      like->k, type_name(p, like->element), like->column_major ? "_column" : "");
    kernel_struct *s = type_struct(p->types, name_of(p, name), 0);
    s->fragment = like->fragment;
    s->m = like->m;
    s->n = like->n;
    s->k = like->k;
    s->element = like->element;
    s->column_major = like->column_major;
    s->name = name_unique(p, s->name, true);
    const unsigned elements = s->fragment == FRAGMENT_A   ? s->m * s->k
                              : s->fragment == FRAGMENT_B ? s->k * s->n
                                                          : s->m * s->n;
    type_member_add(p->types, s, name_of(p, "x"),
                    type_array(p->types, s->element, elements / WARP_LANES), 0);
    type_struct_end(p->types, s, 0);
    ((kernel_type *)s->type)->next = p->types->fragments;
    p->types->fragments = s->type;
    return s->type;
}

/* fragment<matrix_a, 16, 16, 16, half, row_major> */
const kernel_type *fragment_type(parser *p, kernel_place place)
{
    kernel_struct like = {0};
    const bool no_gt = p->no_gt;
    expect(p, TOKEN_LT, "after 'fragment'");
    p->no_gt = true;
    like.fragment = (uint8_t)tag(p, "matrix_a, matrix_b or accumulator");
    like.m = extent(p);
    like.n = extent(p);
    like.k = extent(p);
    expect(p, TOKEN_COMMA, "in a fragment");
    like.element = parse_type(p)->plain;
    if (accept(p, TOKEN_COMMA)) {
        const int layout = tag(p, "row_major or col_major");
        like.column_major = layout == TAG_COLUMN;
    } else if (like.fragment != FRAGMENT_ACCUMULATOR) {
        parser_fail(p, place, "the layout of the fragment is not told");
    }
    p->no_gt = no_gt;
    expect_close_angle(p);
    const type_kind kind = like.element->kind;
    const bool shape = like.k == 16 && like.m * like.n == 256;
    /* Emitted kernels also multiply float matrices; some devices support this, tensor cores do not. */
    const bool emitted = p->options->preprocess.find != NULL;
    const bool input = kind == TYPE_F16 || kind == TYPE_BF16 || (kind == TYPE_F32 && emitted);
    if (like.fragment > FRAGMENT_ACCUMULATOR || !shape ||
        !(like.fragment == FRAGMENT_ACCUMULATOR ? kind == TYPE_F32 || kind == TYPE_F16 : input))
        parser_fail_do(p, place, "use 16 x 16 x 16 of half or bfloat16 with float",
                       "fragments of this shape and type are not supported");
    return make(p, &like);
}

/* ---- functions -------------------------------------------------------------------------------- */

static kernel_expr *fragment_pointer(parser *p, kernel_expr *e, kernel_fragment_use use)
{
    if (e->type->kind != TYPE_STRUCT || !e->type->record->fragment || !expr_is_place(e) ||
        (use && e->type->record->fragment != use))
        parser_fail(p, e->place, "expected a fragment%s, not '%s'",
                    use == FRAGMENT_A   ? " of matrix a"
                    : use == FRAGMENT_B ? " of matrix b"
                    : use               ? " that accumulates"
                                        : "",
                    type_name(p, e->type));
    return expr_address(p, e->place, e);
}

static kernel_expr *element_pointer(parser *p, kernel_expr *e, const kernel_type *element)
{
    e = expr_value(p, e);
    if (!type_is_pointer(e->type) || e->type->of->plain != element)
        parser_fail(p, e->place, "expected a pointer to '%s', not '%s'", type_name(p, element),
                    type_name(p, e->type));
    return e;
}

static kernel_expr *parse_wmma(parser *p, int which, kernel_place place)
{
    kernel_expr **in, *args[4] = {NULL};
    expect(p, TOKEN_LPAREN, "before arguments");
    const uint32_t n = parse_arguments(p, &in);
    const kernel_type *unsign = type_word_of(p, WORD_UINT), *integer = type_word_of(p, WORD_INT);
    const bool mma = which == BUILTIN_WMMA_MMA, store = which == BUILTIN_WMMA_STORE;
    const uint32_t least = which == BUILTIN_WMMA_FILL ? 2 : which == BUILTIN_WMMA_LOAD ? 3 : 4;
    if (n < least || n > least + (mma || which == BUILTIN_WMMA_LOAD))
        parser_fail(p, place, "the wrong number of arguments");
    kernel_expr *fragment = in[store];
    if (mma) {
        static const uint8_t uses[] = {FRAGMENT_ACCUMULATOR, FRAGMENT_A, FRAGMENT_B,
                                       FRAGMENT_ACCUMULATOR};
        for (int i = 0; i < 4; i++) {
            args[i] = fragment_pointer(p, in[i], uses[i]);
            const kernel_struct *s = in[i]->type->record, *d = in[0]->type->record;
            if (s->m != d->m || s->n != d->n || s->k != d->k)
                parser_fail(p, in[i]->place, "the shapes of the fragments differ");
        }
        if (in[1]->type->record->element != in[2]->type->record->element)
            parser_fail(p, in[2]->place, "the types of the matrices differ");
    } else {
        args[store] = fragment_pointer(p, fragment, store ? FRAGMENT_ACCUMULATOR : FRAGMENT_NONE);
    }
    const kernel_struct *s = fragment->type->record;
    if (which == BUILTIN_WMMA_FILL)
        args[1] = expr_convert(p, in[1], s->element, "the value");
    if (which == BUILTIN_WMMA_LOAD || store) {
        args[!store] = element_pointer(p, in[!store], s->element);
        args[2] = expr_convert(p, in[2], unsign, "the leading dimension");
        args[3] = n > 3 ? expr_convert(p, in[3], integer, "the layout")
                        : expr_integer(p, place, integer, s->column_major);
        if (n == 3 && s->fragment == FRAGMENT_ACCUMULATOR)
            parser_fail(p, place, "the layout in memory is not told");
        if (args[3]->kind != EXPR_CONST)
            parser_fail_do(p, args[3]->place, "choose between two calls",
                           "the layout in memory must be a constant");
    }
    return expr_builtin(p, place, (kernel_builtin)which, type_word_of(p, WORD_VOID),
                        which == BUILTIN_WMMA_FILL ? 2 : 4, args);
}

void wmma_names(parser *p)
{
    static const struct {
        const char *name;
        special_parser *parse;
        int which;
    } rows[] = {{"matrix_a", parse_tag, TAG_A},
                {"matrix_b", parse_tag, TAG_B},
                {"accumulator", parse_tag, TAG_C},
                {"row_major", parse_tag, TAG_ROW},
                {"col_major", parse_tag, TAG_COLUMN},
                {"fill_fragment", parse_wmma, BUILTIN_WMMA_FILL},
                {"load_matrix_sync", parse_wmma, BUILTIN_WMMA_LOAD},
                {"store_matrix_sync", parse_wmma, BUILTIN_WMMA_STORE},
                {"mma_sync", parse_wmma, BUILTIN_WMMA_MMA}};
    scope *outer = scope_open(p, p->root, false), *s = scope_open(p, outer, false);
    symbol_add(p, p->root, SYMBOL_NAMESPACE, name_of(p, "nvcuda"), 0)->as.inside = outer;
    symbol_add(p, outer, SYMBOL_NAMESPACE, name_of(p, "wmma"), 0)->as.inside = s;
    symbol_add(p, s, SYMBOL_TYPE, name_of(p, "fragment"), 0)->which = GROUP_FRAGMENT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        symbol *y = symbol_add(p, s, SYMBOL_SPECIAL, name_of(p, rows[i].name), 0);
        y->special = rows[i].parse;
        y->which = rows[i].which;
    }
    const char *const layouts[] = {"mem_row_major", "mem_col_major"};
    for (int i = 0; i < 2; i++)
        symbol_add(p, s, SYMBOL_CONSTANT, name_of(p, layouts[i]), 0)->constant =
            expr_integer(p, 0, type_word_of(p, WORD_INT), (uint64_t)i);
}
