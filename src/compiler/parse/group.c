/* Cooperative groups, lowered to masks. A group is the set of lanes of this thread's warp that belong
 * to it, and its size if the type has one. Its members are replaced by plain operations, so the tree
 * has no groups. */
#include <string.h>

#include "compiler/parse/parser.h"

enum { GROUP_BLOCK = 1, GROUP_TILE, GROUP_COALESCED, GROUP_GRID, GROUP_FRAGMENT };

/* ---- small expressions ------------------------------------------------------------------------ */

static kernel_expr *uint_const(parser *p, kernel_place place, uint64_t x)
{
    return expr_integer(p, place, type_word_of(p, WORD_UINT), x);
}

static kernel_expr *index_of(parser *p, kernel_place place, int base, int axis)
{
    kernel_expr *e = expr_new(p, EXPR_INDEX, place, type_word_of(p, WORD_UINT));
    e->base = (uint8_t)base;
    e->axis = (uint8_t)axis;
    return e;
}

/* a op b, where b is a number. */
static kernel_expr *by_uint(parser *p, kernel_place place, int token, kernel_expr *a, uint64_t b)
{
    return expr_binary(p, place, token, a, uint_const(p, place, b));
}

static kernel_expr *lane_of(parser *p, kernel_place place)
{
    return expr_builtin(p, place, BUILTIN_LANE, type_word_of(p, WORD_UINT), 0, NULL);
}

/* (z * height + y) * width + x */
static kernel_expr *linear(parser *p, kernel_place place, int base, int extent)
{
    kernel_expr *e = index_of(p, place, base, 2);
    for (int axis = 1; axis >= 0; axis--) {
        e = expr_binary(p, place, TOKEN_STAR, e, index_of(p, place, extent, axis));
        e = expr_binary(p, place, TOKEN_PLUS, e, index_of(p, place, base, axis));
    }
    return e;
}

static kernel_expr *volume(parser *p, kernel_place place, int extent)
{
    kernel_expr *e = index_of(p, place, extent, 0);
    for (int axis = 1; axis < 3; axis++)
        e = expr_binary(p, place, TOKEN_STAR, e, index_of(p, place, extent, axis));
    return e;
}

static kernel_expr *three(parser *p, kernel_place place, int base)
{
    kernel_expr *list = expr_list(p, place, p->types->dim3, 3);
    for (int i = 0; i < 3; i++)
        list->args[i] = index_of(p, place, base, i);
    return list;
}

static kernel_expr *to_type(parser *p, kernel_expr *e, const kernel_type *type)
{
    return fold(p, expr_node(p, EXPR_CAST, e->place, type, e, NULL));
}

static kernel_expr *mask_of(parser *p, kernel_expr *g)
{
    return to_type(p, expr_value(p, g), type_word_of(p, WORD_UINT));
}

static kernel_expr *call0(parser *p, kernel_place place, kernel_builtin id)
{
    return expr_builtin(p, place, id, type_word_of(p, WORD_VOID), 0, NULL);
}

static kernel_expr *sync_group(parser *p, kernel_expr *g, kernel_place place)
{
    kernel_expr *mask;
    switch (g->type->word) {
    case WORD_BLOCK: return call0(p, place, BUILTIN_BARRIER);
    case WORD_GRID: /* the builtin marks the feature, which devices other than the CPU lack */
        return expr_comma(p, call0(p, place, BUILTIN_GRID_BARRIER),
                          part_call(p, "ig_grid_sync", place, NULL, 0));
    default:
        mask = mask_of(p, g);
        return expr_builtin(p, place, BUILTIN_SYNCWARP, type_word_of(p, WORD_VOID), 1, &mask);
    }
}

/* ---- members ---------------------------------------------------------------------------------- */

typedef struct member_call {
    kernel_expr *g;
    const kernel_name *name;
    kernel_place place;
    kernel_expr **args;
    uint32_t n;
} member_call;

static void want_args(parser *p, const member_call *m, uint32_t n)
{
    if (m->n != n)
        parser_fail(p, m->place, "'%s' of a group takes %u arguments, not %u", m->name->text, n,
                    m->n);
}

static bool is(const member_call *m, const char *name) { return !strcmp(m->name->text, name); }

static kernel_expr *block_member(parser *p, const member_call *m)
{
    const kernel_place place = m->place;
    want_args(p, m, 0);
    if (is(m, "thread_rank"))
        return linear(p, place, INDEX_THREAD, INDEX_BLOCK_DIM);
    if (is(m, "size") || is(m, "num_threads"))
        return volume(p, place, INDEX_BLOCK_DIM);
    if (is(m, "group_index"))
        return three(p, place, INDEX_BLOCK);
    if (is(m, "thread_index"))
        return three(p, place, INDEX_THREAD);
    if (is(m, "group_dim") || is(m, "dim_threads"))
        return three(p, place, INDEX_BLOCK_DIM);
    return NULL;
}

static kernel_expr *grid_member(parser *p, const member_call *m)
{
    const kernel_place place = m->place;
    const kernel_type *wide = type_word_of(p, WORD_ULLONG);
    want_args(p, m, 0);
    if (is(m, "is_valid"))
        return expr_integer(p, place, type_word_of(p, WORD_BOOL), 1);
    if (is(m, "thread_rank")) {
        kernel_expr *e = to_type(p, linear(p, place, INDEX_BLOCK, INDEX_GRID_DIM), wide);
        e = expr_binary(p, place, TOKEN_STAR, e, volume(p, place, INDEX_BLOCK_DIM));
        return expr_binary(p, place, TOKEN_PLUS, e,
                           linear(p, place, INDEX_THREAD, INDEX_BLOCK_DIM));
    }
    if (is(m, "size") || is(m, "num_threads"))
        return expr_binary(p, place, TOKEN_STAR, to_type(p, volume(p, place, INDEX_GRID_DIM), wide),
                           volume(p, place, INDEX_BLOCK_DIM));
    if (is(m, "block_rank"))
        return linear(p, place, INDEX_BLOCK, INDEX_GRID_DIM);
    if (is(m, "num_blocks"))
        return volume(p, place, INDEX_GRID_DIM);
    if (is(m, "group_dim") || is(m, "dim_blocks"))
        return three(p, place, INDEX_GRID_DIM);
    if (is(m, "block_index"))
        return three(p, place, INDEX_BLOCK);
    return NULL;
}

/* any, all: votes with a bool result. */
static kernel_expr *vote(parser *p, const member_call *m, kernel_builtin id)
{
    want_args(p, m, 1);
    const kernel_type *integer = type_word_of(p, WORD_INT);
    kernel_expr *args[2] = {mask_of(p, m->g), expr_convert(p, m->args[0], integer, "a predicate")};
    return expr_builtin(p, m->place, id,
                        id == BUILTIN_BALLOT ? type_word_of(p, WORD_UINT) : integer, 2, args);
}

/* A shuffle of a struct. */
static kernel_expr *shuffle_struct(parser *p, kernel_place place, kernel_builtin id,
                                   kernel_expr **args)
{
    const char *name = id == BUILTIN_SHFL_UP     ? "ig_struct_shuffle_up"
                       : id == BUILTIN_SHFL_DOWN ? "ig_struct_shuffle_down"
                       : id == BUILTIN_SHFL_XOR  ? "ig_struct_shuffle_xor"
                       : id == BUILTIN_SHFL_RANK ? "ig_struct_shuffle_rank"
                                                 : "ig_struct_shuffle";
    return part_call(p, name, place, args, 4);
}

static kernel_expr *tile_shuffle(parser *p, const member_call *m, kernel_builtin id)
{
    want_args(p, m, 2);
    kernel_expr *value = expr_value(p, m->args[0]);
    const bool is_struct = value->type->kind == TYPE_STRUCT;
    if (!is_struct && !type_is_arithmetic(value->type))
        parser_fail(p, m->place, "'%s' of a group takes a number or a struct, not '%s'",
                    m->name->text, type_name(p, value->type));
    if (!is_struct)
        value = expr_cast(p, value, type_promote(p, value->type), m->place);
    const bool up_or_down = id == BUILTIN_SHFL_UP || id == BUILTIN_SHFL_DOWN;
    kernel_expr *args[4] = {
        mask_of(p, m->g), value,
        expr_convert(p, m->args[1], type_word_of(p, up_or_down ? WORD_UINT : WORD_INT), "a lane"),
        expr_integer(p, m->place, type_word_of(p, WORD_INT), m->g->type->count)};
    if (is_struct)
        return shuffle_struct(p, m->place, id, args);
    return expr_builtin(p, m->place, id, value->type, 4, args);
}

/* The bits of a warp mask that belong to the tile. */
static kernel_expr *own_bits(parser *p, const member_call *m, kernel_expr *bits)
{
    const uint64_t n = m->g->type->count;
    if (n == 32)
        return bits;
    kernel_expr *first = by_uint(p, m->place, TOKEN_AMP, lane_of(p, m->place), ~(n - 1));
    return expr_binary(p, m->place, TOKEN_SHR, bits, first);
}

static kernel_expr *tile_member(parser *p, const member_call *m)
{
    static const struct {
        const char *name;
        uint16_t id;
    } shuffles[] = {{"shfl", BUILTIN_SHFL},
                    {"shfl_up", BUILTIN_SHFL_UP},
                    {"shfl_down", BUILTIN_SHFL_DOWN},
                    {"shfl_xor", BUILTIN_SHFL_XOR}};
    const kernel_place place = m->place;
    const uint64_t n = m->g->type->count;
    for (size_t i = 0; i < sizeof shuffles / sizeof *shuffles; i++)
        if (is(m, shuffles[i].name))
            return tile_shuffle(p, m, shuffles[i].id);
    if (is(m, "ballot"))
        return own_bits(p, m, vote(p, m, BUILTIN_BALLOT));
    if (is(m, "match_any")) {
        want_args(p, m, 1);
        kernel_expr *args[2] = {mask_of(p, m->g), expr_value(p, m->args[0])};
        return own_bits(
            p, m, expr_builtin(p, place, BUILTIN_MATCH_ANY, type_word_of(p, WORD_UINT), 2, args));
    }
    want_args(p, m, 0);
    if (is(m, "size") || is(m, "num_threads"))
        return uint_const(p, place, n);
    if (is(m, "thread_rank"))
        return by_uint(p, place, TOKEN_AMP, lane_of(p, place), n - 1);
    const uint64_t parent = m->g->type->parent;
    if (is(m, "meta_group_rank")) {
        kernel_expr *rank = linear(p, place, INDEX_THREAD, INDEX_BLOCK_DIM);
        if (parent)
            rank = by_uint(p, place, TOKEN_AMP, lane_of(p, place), parent - 1);
        return by_uint(p, place, TOKEN_SLASH, rank, n);
    }
    if (is(m, "meta_group_size") && parent)
        return uint_const(p, place, parent / n);
    if (is(m, "meta_group_size")) {
        kernel_expr *size = volume(p, place, INDEX_BLOCK_DIM);
        size = by_uint(p, place, TOKEN_PLUS, size, n - 1);
        return by_uint(p, place, TOKEN_SLASH, size, n);
    }
    return NULL;
}

static kernel_expr *coalesced_member(parser *p, const member_call *m)
{
    const kernel_place place = m->place;
    const kernel_type *integer = type_word_of(p, WORD_INT), *unsign = type_word_of(p, WORD_UINT);
    if (is(m, "shfl")) {
        want_args(p, m, 2);
        kernel_expr *value = expr_value(p, m->args[0]);
        if (value->type->kind == TYPE_STRUCT) {
            kernel_expr *given[4] = {mask_of(p, m->g), value,
                                     expr_convert(p, m->args[1], integer, "a rank"),
                                     expr_integer(p, place, integer, 32)};
            return shuffle_struct(p, place, BUILTIN_SHFL_RANK, given);
        }
        value = expr_cast(p, value, type_promote(p, value->type), place);
        kernel_expr *args[3] = {mask_of(p, m->g), value,
                                expr_convert(p, m->args[1], integer, "a rank")};
        return expr_builtin(p, place, BUILTIN_SHFL_RANK, value->type, 3, args);
    }
    static const struct {
        const char *name, *function;
        uint32_t n;
    } lanes[] = {{"ballot", "ig_ballot_lanes", 1},
                 {"match_any", "ig_match_any_lanes", 1},
                 {"match_all", "ig_match_all_lanes", 2},
                 {"shfl_up", "ig_shuffle_up_lanes", 2},
                 {"shfl_down", "ig_shuffle_down_lanes", 2}};
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (is(m, lanes[i].name)) {
            want_args(p, m, lanes[i].n);
            kernel_expr *args[3] = {mask_of(p, m->g), m->args[0],
                                    lanes[i].n > 1 ? m->args[1] : NULL};
            return part_call(p, lanes[i].function, place, args, lanes[i].n + 1);
        }
    want_args(p, m, 0);
    kernel_expr *mask = mask_of(p, m->g);
    if (is(m, "thread_rank")) {
        kernel_expr *below =
            expr_binary(p, place, TOKEN_SHL, uint_const(p, place, 1), lane_of(p, place));
        below = by_uint(p, place, TOKEN_MINUS, below, 1);
        mask = expr_binary(p, place, TOKEN_AMP, mask, below);
    } else if (!is(m, "size") && !is(m, "num_threads")) {
        return NULL;
    }
    return to_type(p, expr_builtin(p, place, BUILTIN_POPC, integer, 1, &mask), unsign);
}

static kernel_expr *call_member(parser *p, const member_call *call)
{
    const member_call m = *call;
    kernel_expr *const g = m.g;
    const kernel_name *const name = m.name;
    const kernel_place place = m.place;
    kernel_expr *e = NULL;
    const bool lanes = g->type->word == WORD_TILE || g->type->word == WORD_COALESCED;
    if (is(&m, "sync")) {
        want_args(p, &m, 0);
        return sync_group(p, g, place);
    }
    if (lanes && (is(&m, "any") || is(&m, "all")))
        return vote(p, &m, is(&m, "any") ? BUILTIN_VOTE_ANY : BUILTIN_VOTE_ALL);
    switch (g->type->word) {
    case WORD_BLOCK: e = block_member(p, &m); break;
    case WORD_GRID: e = grid_member(p, &m); break;
    case WORD_TILE: e = tile_member(p, &m); break;
    case WORD_COALESCED: e = coalesced_member(p, &m); break;
    default: break;
    }
    if (!e)
        parser_fail(p, place, "'%s' of '%s' is not supported", name->text, type_name(p, g->type));
    return e;
}

/* ---- functions of the namespace ----------------------------------------------------------------- */

enum { MAKE_BLOCK, MAKE_GRID, MAKE_COALESCED, MAKE_TILE, SYNC };

static kernel_expr *tile_mask(parser *p, kernel_place place, const kernel_type *type)
{
    const uint64_t n = type->count;
    kernel_expr *mask = uint_const(p, place, n == 32 ? UINT32_MAX : (UINT64_C(1) << n) - 1);
    if (n < 32)
        mask = expr_binary(p, place, TOKEN_SHL, mask,
                           by_uint(p, place, TOKEN_AMP, lane_of(p, place), ~(n - 1)));
    return to_type(p, mask, type);
}

/* parent: the number of threads of the enclosing tile, 0 for a block */
static const kernel_type *checked_tile(parser *p, int64_t n, unsigned parent, kernel_place place)
{
    const unsigned threads = n < 0 || n > 64 ? 64 : (unsigned)n;
    const kernel_type *type = type_tile(p->types, threads, parent);
    if (!type && p->patterns) { /* the size is deduced later */
        kernel_type *made = kernel_arena_new(p->arena, sizeof *made);
        *made = *type_tile(p->types, 32, 0);
        made->count = (uint64_t)n;
        made->plain = made;
        made->qualified[0] = made;
        made->qualified[1] = made->qualified[2] = made->qualified[3] = NULL;
        made->reference = made->pointer = made->arrays = NULL;
        return made;
    }
    if (!type && parent && type_tile(p->types, threads, 0))
        parser_fail_do(p, place, "take a smaller tile, or partition the block",
                       "a tile of %u threads has no part of %u", parent, threads);
    if (!type)
        parser_fail_do(p, place, "use a tile of 1, 2, 4, 8, 16 or 32 threads",
                       "a tile of %lld threads is not supported", (long long)n);
    return type;
}

/* labeled_partition(g, label) and binary_partition(g, predicate): the lanes of g with this thread's value. */
static kernel_expr *parse_partition(parser *p, int binary, kernel_place place)
{
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "before arguments");
    const uint32_t n = parse_arguments(p, &args);
    if (n != 2 || (args[0]->type->word != WORD_TILE && args[0]->type->word != WORD_COALESCED))
        parser_fail(p, place, "a tile or a coalesced group, and a value, are expected");
    kernel_expr *value = binary ? expr_bool(p, args[1]) : expr_value(p, args[1]);
    if (!type_is_integer(value->type))
        parser_fail(p, place, "a label is an integer, not '%s'", type_name(p, value->type));
    const kernel_type *type = binary
                                  ? type_word_of(p, WORD_INT)
                                  : type_word_of(p, value->type->size == 8 ? WORD_LLONG : WORD_INT);
    kernel_expr *both[2] = {mask_of(p, args[0]), expr_cast(p, value, type, place)};
    kernel_expr *e = expr_builtin(p, place, BUILTIN_MATCH_ANY, type_word_of(p, WORD_UINT), 2, both);
    return to_type(p, e, type_word_of(p, WORD_COALESCED));
}

static kernel_expr *parse_group_function(parser *p, int which, kernel_place place)
{
    template_arg *given = NULL;
    const uint32_t n_given = at(p, TOKEN_LT) ? parse_template_args(p, &given) : 0;
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "before arguments");
    uint32_t n = parse_arguments(p, &args);
    const uint32_t wanted = which == MAKE_TILE || which == SYNC;
    int64_t threads = n_given && given[0].is_value ? (int64_t)given[0].value : 0;
    if (which == MAKE_TILE && n == 2 && !n_given) { /* tiled_partition(g, 8) */
        threads = fold_integer(p, fold_all(p, expr_value(p, args[1])), "the size of a tile");
        n--;
    }
    if (n != wanted || (wanted && args[0]->type->word < WORD_BLOCK))
        parser_fail(p, place,
                    wanted ? "a group is expected as the argument" : "no arguments are expected");
    kernel_expr *e;
    switch (which) {
    case MAKE_BLOCK: return expr_integer(p, place, type_word_of(p, WORD_BLOCK), 0);
    case MAKE_GRID: return expr_integer(p, place, type_word_of(p, WORD_GRID), 0);
    case MAKE_COALESCED:
        e = expr_builtin(p, place, BUILTIN_ACTIVEMASK, type_word_of(p, WORD_UINT), 0, NULL);
        return to_type(p, e, type_word_of(p, WORD_COALESCED));
    case SYNC: return sync_group(p, args[0], place);
    default: break;
    }
    if (!threads)
        parser_fail_do(p, place, "write tiled_partition<32>(...)",
                       "the size of the tile is not told");
    const kernel_type *of = args[0]->type;
    if (of->word != WORD_BLOCK && of->word != WORD_TILE)
        parser_fail_do(p, place, "partition the block, or a tile of it",
                       "tiles of a '%s' are not supported", type_name(p, of));
    const unsigned parent = of->word == WORD_TILE ? (unsigned)of->count : 0;
    return tile_mask(p, place, checked_tile(p, threads, parent, place));
}

static kernel_expr *parse_reduction_name(parser *p, int which, kernel_place place)
{
    (void)which;
    parser_fail(p, place, "this is for the last argument of cg::reduce only");
}

/* "cg::plus<float>()": the builtin for this reduction; BUILTINS if it is another operation. */
static kernel_builtin accept_operation(parser *p, const kernel_token **last)
{
    const kernel_token *back = p->t;
    *last = p->t;
    const symbol *y = at(p, TOKEN_NAME) || at(p, TOKEN_SCOPE) ? parse_name(p, last) : NULL;
    if (!y || y->kind != SYMBOL_SPECIAL || y->special != parse_reduction_name) {
        p->t = back;
        return BUILTINS;
    }
    template_arg *ignored = NULL;
    if (at(p, TOKEN_LT))
        parse_template_args(p, &ignored);
    if (accept(p, TOKEN_LPAREN))
        expect(p, TOKEN_RPAREN, "after the operation");
    else if (accept(p, TOKEN_LBRACE))
        expect(p, TOKEN_RBRACE, "after the operation");
    return (kernel_builtin)y->which;
}

/* Parses the group and the value of reduce and of the scans, up to after the value. */
static kernel_expr *parse_group_value(parser *p, const char *what, kernel_place place,
                                      kernel_expr **value)
{
    expect(p, TOKEN_LPAREN, "before arguments");
    kernel_expr *g = parse_assignment(p);
    if (g->type->word != WORD_TILE && g->type->word != WORD_COALESCED)
        parser_fail_do(p, place, "take a tile: tiled_partition<32>(...)", "'%s' takes a tile",
                       what);
    expect(p, TOKEN_COMMA, "after the group");
    *value = expr_value(p, parse_assignment(p));
    const bool object = (*value)->type->kind == TYPE_STRUCT;
    if (!object && (!type_is_arithmetic((*value)->type) || (*value)->type->word >= WORD_BLOCK))
        parser_fail(p, (*value)->place, "'%s' takes a number, not '%s'", what,
                    type_name(p, (*value)->type));
    return g;
}

/* g.thread_rank() and others without arguments */
static kernel_expr *group_fact(parser *p, kernel_expr *g, const char *name, kernel_place place)
{
    const member_call m = {.g = g, .name = name_of(p, name), .place = place};
    return call_member(p, &m);
}

kernel_expr *group_member(parser *p, kernel_expr *g, const kernel_name *name, kernel_place place)
{
    member_call m = {.g = g, .name = name, .place = place};
    expect(p, TOKEN_LPAREN, "after a member of a group");
    m.n = parse_arguments(p, &m.args);
    return call_member(p, &m);
}

/* The function of the library that reduces objects by an operation; BUILTINS: by a function of the program. */
static const char *reduction_name(kernel_builtin by)
{
    return by == BUILTIN_REDUCE_ADD   ? "ig_plus"
           : by == BUILTIN_REDUCE_MIN ? "ig_less"
           : by == BUILTIN_REDUCE_MAX ? "ig_greater"
           : by == BUILTIN_REDUCE_AND ? "ig_bit_and"
           : by == BUILTIN_REDUCE_OR  ? "ig_bit_or"
           : by == BUILTIN_REDUCE_XOR ? "ig_bit_xor"
                                      : "ig_reduce";
}

/* cg::memcpy_async(group, to, from, bytes), or (group, to, elements, from, elements). The copy is complete when all
 * threads of the group have passed it: cg::wait waits for them. */
static kernel_expr *parse_group_copy(parser *p, int which, kernel_place place)
{
    (void)which;
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "after 'memcpy_async'");
    const uint32_t n = parse_arguments(p, &args);
    if ((n != 4 && n != 5) || args[0]->type->word < WORD_BLOCK)
        parser_fail(p, place, "memcpy_async takes a group, two pointers and a size");
    const kernel_type *wide = type_word_of(p, WORD_ULLONG);
    kernel_expr *to = expr_value(p, args[1]), *from = expr_value(p, args[n == 4 ? 2 : 3]);
    if (!type_is_pointer(to->type) || !type_is_pointer(from->type))
        parser_fail(p, place, "memcpy_async copies between two pointers");
    kernel_expr *size = expr_convert(p, args[n == 4 ? 3 : 2], wide, "the size");
    if (n == 5) {
        kernel_expr *both[2] = {size, expr_convert(p, args[4], wide, "the size")};
        size = expr_builtin(p, place, BUILTIN_MIN, wide, 2, both);
        size = expr_binary(p, place, TOKEN_STAR, size,
                           expr_integer(p, place, wide, to->type->of->size));
    }
    kernel_expr *given[5] = {to, from, size, group_fact(p, args[0], "thread_rank", place),
                             group_fact(p, args[0], "num_threads", place)};
    return part_call(p, "ig_copy_group", place, given, 5);
}

/* cg::wait(group), cg::wait_prior<N>(group) */
static kernel_expr *parse_group_wait(parser *p, int which, kernel_place place)
{
    (void)which;
    template_arg *ignored = NULL;
    kernel_expr **args;
    if (at(p, TOKEN_LT))
        parse_template_args(p, &ignored);
    expect(p, TOKEN_LPAREN, "after 'wait'");
    if (parse_arguments(p, &args) != 1 || args[0]->type->word < WORD_BLOCK)
        parser_fail(p, place, "a group is expected as the argument");
    return sync_group(p, args[0], place);
}

/* cg::reduce(group, value, cg::plus<float>()) */
static kernel_expr *parse_reduce(parser *p, int which, kernel_place place)
{
    (void)which;
    kernel_expr *value, *g = parse_group_value(p, "reduce", place, &value);
    expect(p, TOKEN_COMMA, "after the value");
    const kernel_token *last;
    const kernel_builtin by = accept_operation(p, &last);
    kernel_expr *op = by == BUILTINS ? parse_assignment(p) : NULL;
    const bool calls = op && type_is_pointer(op->type) && op->type->of->kind == TYPE_FUNCTION;
    if (op && !calls && !methods_of(p, op->type, "operator()"))
        parser_fail_do(p, last->place,
                       "use plus, less, greater, bit_and, bit_or, bit_xor, a lambda or a function",
                       "'reduce' does not support this operation");
    expect(p, TOKEN_RPAREN, "after 'reduce'");
    kernel_expr *args[4] = {mask_of(p, g), value};
    if (!op && value->type->kind != TYPE_STRUCT)
        return expr_builtin(p, place, by, value->type, 2, args);
    uint32_t n = 2;
    const bool tile = g->type->word == WORD_TILE;
    if (op)
        args[n++] = op;
    if (tile)
        args[n++] = expr_integer(p, place, type_word_of(p, WORD_INT), g->type->count);
    const char *name = parser_format(p, "%s%s", reduction_name(by), tile ? "_tile" : "_lanes");
    return part_call(p, name, place, args, n);
}

/* ---- scans ------------------------------------------------------------------------------------ */

typedef struct scanning {
    kernel_place place;
    kernel_builtin by;   /* BUILTINS: `object` is called */
    kernel_expr *object; /* with an operator() */
    const kernel_type *type;
    kernel_expr *mask, *made; /* made: all assignments so far */
    uint64_t n;
} scanning;

/* A new temporary with this value. */
static kernel_expr *scan_keep(parser *p, scanning *s, kernel_expr *value)
{
    kernel_var *v = local_new(p, name_of(p, "temp"), value->type->plain, s->place);
    v->is_temporary = v->assigned = true;
    kernel_expr *set = expr_assign(p, s->place, expr_var(p, s->place, v), value);
    s->made = expr_comma(p, s->made, set);
    return expr_var(p, s->place, v);
}

static kernel_expr *scan_step(parser *p, const scanning *s, kernel_expr *a, kernel_expr *b)
{
    static const struct {
        uint16_t by;
        uint16_t token;
    } rows[] = {{BUILTIN_REDUCE_ADD, TOKEN_PLUS},
                {BUILTIN_REDUCE_AND, TOKEN_AMP},
                {BUILTIN_REDUCE_OR, TOKEN_PIPE},
                {BUILTIN_REDUCE_XOR, TOKEN_CARET}};
    if (s->by == BUILTINS) {
        kernel_expr *args[2] = {a, b};
        function_decl *call = methods_of(p, s->object->type, "operator()");
        return expr_value(p, call_method(p, s->object, call, s->place, args, 2));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].by == s->by)
            return expr_binary(p, s->place, rows[i].token, a, b);
    kernel_expr *less =
        expr_binary(p, s->place, s->by == BUILTIN_REDUCE_MIN ? TOKEN_LT : TOKEN_GT, b, a);
    return expr_choose(p, s->place, less, b, a);
}

/* The value of the thread `by` places earlier. */
static kernel_expr *scan_shuffle(parser *p, const scanning *s, kernel_expr *v, uint64_t by)
{
    const kernel_type *wide = type_promote(p, s->type);
    kernel_expr *args[4] = {s->mask, expr_cast(p, v, wide, s->place), uint_const(p, s->place, by),
                            expr_integer(p, s->place, type_word_of(p, WORD_INT), s->n)};
    return expr_cast(p, expr_builtin(p, s->place, BUILTIN_SHFL_UP, wide, 4, args), s->type,
                     s->place);
}

enum { SCAN_INCLUSIVE, SCAN_EXCLUSIVE };

/* By the library: of objects, and in the lanes of a coalesced group. */
static kernel_expr *scan_by_mask(parser *p, const scanning *s, kernel_expr *value, int which)
{
    kernel_expr *args[4] = {s->mask, value};
    uint32_t n = 2;
    if (s->by == BUILTINS)
        args[n++] = s->object;
    args[n++] = expr_integer(p, s->place, type_word_of(p, WORD_INT), which == SCAN_EXCLUSIVE);
    const char *name =
        s->by == BUILTINS ? "ig_scan_lanes" : parser_format(p, "%s_scan", reduction_name(s->by));
    return expr_comma(p, s->made, part_call(p, name, s->place, args, n));
}

/* cg::inclusive_scan(group, value, cg::plus<int>()); of numbers in a tile: steps that combine with the thread 1, 2, 4, ...
 * places earlier, written out. */
static kernel_expr *parse_scan(parser *p, int which, kernel_place place)
{
    const char *name = which == SCAN_INCLUSIVE ? "inclusive_scan" : "exclusive_scan";
    scanning s = {.place = place, .by = BUILTIN_REDUCE_ADD};
    kernel_expr *value, *g = parse_group_value(p, name, place, &value);
    s.type = value->type->plain;
    s.n = g->type->count;
    s.mask = scan_keep(p, &s, mask_of(p, g));
    kernel_expr *v = scan_keep(p, &s, value);
    if (accept(p, TOKEN_COMMA)) {
        const kernel_token *last;
        s.by = accept_operation(p, &last);
        kernel_expr *op = s.by == BUILTINS ? parse_assignment(p) : NULL;
        if (op && !methods_of(p, op->type, "operator()"))
            parser_fail_do(p, op->place,
                           "use cg::plus, less, greater, bit_and, bit_or, bit_xor, "
                           "or a lambda",
                           "'%s' is not an operation of a scan", type_name(p, op->type));
        s.object = op && !expr_is_place(op) ? scan_keep(p, &s, op) : op;
    }
    expect(p, TOKEN_RPAREN, "after a scan");
    if (g->type->word == WORD_COALESCED || s.type->kind == TYPE_STRUCT)
        return scan_by_mask(p, &s, v, which);
    kernel_expr *rank = scan_keep(p, &s, by_uint(p, place, TOKEN_AMP, lane_of(p, place), s.n - 1));
    for (uint64_t by = 1; by < s.n; by *= 2) {
        kernel_expr *before = scan_keep(p, &s, scan_shuffle(p, &s, v, by));
        kernel_expr *joined = expr_cast(p, scan_step(p, &s, v, before), s.type, place);
        kernel_expr *takes = by_uint(p, place, TOKEN_GE, rank, by);
        v = scan_keep(p, &s, expr_choose(p, place, takes, joined, v));
    }
    if (which == SCAN_EXCLUSIVE) {
        kernel_expr *before = scan_keep(p, &s, scan_shuffle(p, &s, v, 1));
        v = expr_choose(p, place, rank, before, expr_zero(p, place, s.type));
    }
    return expr_comma(p, s.made, expr_value(p, v));
}

/* ---- names ------------------------------------------------------------------------------------ */

const kernel_type *group_type(parser *p, int which, kernel_place place)
{
    if (which == GROUP_FRAGMENT)
        return fragment_type(p, place);
    template_arg *args = NULL;
    if (!at(p, TOKEN_LT))
        parser_fail_do(p, place, "write thread_block_tile<32>", "the size of the tile is not told");
    const uint32_t n = parse_template_args(p, &args);
    if (!n || !args[0].is_value)
        parser_fail(p, place, "the size of the tile is not told");
    const kernel_type *parent = n > 1 && !args[1].is_value ? args[1].type->plain : NULL;
    return checked_tile(p, (int64_t)args[0].value,
                        parent && parent->word == WORD_TILE ? (unsigned)parent->count : 0, place);
}

void group_names(parser *p)
{
    static const struct {
        const char *name;
        uint16_t id;
    } operations[] = {{"plus", BUILTIN_REDUCE_ADD},    {"less", BUILTIN_REDUCE_MIN},
                      {"greater", BUILTIN_REDUCE_MAX}, {"bit_and", BUILTIN_REDUCE_AND},
                      {"bit_or", BUILTIN_REDUCE_OR},   {"bit_xor", BUILTIN_REDUCE_XOR}};
    static const struct {
        const char *name;
        uint8_t word;
    } types[] = {{"thread_block", WORD_BLOCK},
                 {"thread_group", WORD_GROUP},
                 {"grid_group", WORD_GRID},
                 {"coalesced_group", WORD_COALESCED}};
    scope *s = scope_open(p, p->root, false);
    symbol_add(p, p->root, SYMBOL_NAMESPACE, name_of(p, "cooperative_groups"), 0)->as.inside = s;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        symbol_add(p, s, SYMBOL_TYPE, name_of(p, types[i].name), 0)->as.type =
            type_word_of(p, types[i].word);
    symbol_add(p, s, SYMBOL_TYPE, name_of(p, "thread_block_tile"), 0)->which = GROUP_TILE;
    special_add(p, s, "this_thread_block", parse_group_function, MAKE_BLOCK);
    special_add(p, s, "this_grid", parse_group_function, MAKE_GRID);
    special_add(p, s, "coalesced_threads", parse_group_function, MAKE_COALESCED);
    special_add(p, s, "tiled_partition", parse_group_function, MAKE_TILE);
    special_add(p, s, "sync", parse_group_function, SYNC);
    special_add(p, s, "labeled_partition", parse_partition, false);
    special_add(p, s, "binary_partition", parse_partition, true);
    special_add(p, s, "reduce", parse_reduce, 0);
    special_add(p, s, "memcpy_async", parse_group_copy, 0);
    special_add(p, s, "wait", parse_group_wait, 0);
    special_add(p, s, "wait_prior", parse_group_wait, 0);
    special_add(p, s, "inclusive_scan", parse_scan, SCAN_INCLUSIVE);
    special_add(p, s, "exclusive_scan", parse_scan, SCAN_EXCLUSIVE);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        special_add(p, s, operations[i].name, parse_reduction_name, operations[i].id);
}
