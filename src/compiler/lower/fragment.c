/* Lowering: wmma. A warp holds a fragment: lane e % 32 holds element e in its local memory, at index e
 * / 32. */
#include "compiler/lower/lower.h"

#include "engine/ops/op_id.h"

typedef struct fragment {
    lower_place at; /* this lane's share */
    const kernel_struct *s;
    const kernel_type *element;
    int rows, columns;
} fragment;

static fragment fragment_of(lower *l, const kernel_expr *pointer)
{
    fragment f = {.s = pointer->type->of->record};
    f.at = lower_pointee(l, pointer, pointer->type->of);
    f.element = f.s->members[0].type->of;
    f.rows = f.s->fragment == FRAGMENT_B ? f.s->k : f.s->m;
    f.columns = f.s->fragment == FRAGMENT_A ? f.s->k : f.s->n;
    return f;
}

/* The number of this lane's i-th element, and its row and column. */
static void element_of(lower *l, const fragment *f, int i, int32_t *row, int32_t *column)
{
    const int32_t lane = lower_special(l, ORIGIN_LANE);
    const int32_t e = lower_map(l, OP_add, IG_U32, lane, lower_integer(l, IG_U32, 32 * i));
    const int32_t n = lower_integer(l, IG_U32, f->columns);
    *row = lower_row(l, CODE_ROW_divide, IG_U32, e, n, CODE_NONE);
    *column = lower_row(l, CODE_ROW_modulo, IG_U32, e, n, CODE_NONE);
}

static int share_of(const fragment *f) { return f->rows * f->columns / 32; }

static void fragment_move(lower *l, const kernel_expr *e, bool stores)
{
    const fragment f = fragment_of(l, e->args[stores]);
    const kernel_expr *pointer = e->args[!stores];
    const int32_t base = lower_scalar(l, pointer), stride = lower_scalar(l, e->args[2]);
    bool by_columns = f.s->column_major;
    if (f.s->fragment == FRAGMENT_ACCUMULATOR)
        by_columns = e->args[3]->value.integer == 1;
    for (int i = 0; i < share_of(&f); i++) {
        int32_t row, column;
        element_of(l, &f, i, &row, &column);
        const int32_t far = by_columns ? column : row, near = by_columns ? row : column;
        const int32_t at =
            lower_map(l, OP_add, IG_U32, lower_map(l, OP_multiply, IG_U32, far, stride), near);
        const kernel_type *t = pointer->type->of->plain;
        const lower_place p = {.type = t,
                               .a = base,
                               .b = at,
                               .index = IG_U32,
                               .scale = (int32_t)t->size,
                               .space = pointer->space};
        const int64_t own = i * (int64_t)f.element->size;
        if (stores)
            lower_store_scalar(l, &p, t, 0, lower_load_scalar(l, &f.at, f.element, own));
        else
            lower_store_scalar(l, &f.at, f.element, own, lower_load_scalar(l, &p, t, 0));
    }
}

/* The address of element `number` of a fragment, which is in another lane of the warp. */
static int32_t elsewhere(lower *l, const fragment *f, int32_t mine, int32_t number)
{
    const int32_t lane = lower_special(l, ORIGIN_LANE);
    const int32_t holder =
        lower_map(l, OP_bitwise_and, IG_U32, number, lower_integer(l, IG_U32, 31));
    const int32_t slot =
        lower_map(l, OP_bitwise_right_shift, IG_U32, number, lower_integer(l, IG_U32, 5));
    const int32_t apart =
        lower_map(l, OP_subtract, IG_I32, lower_convert(l, holder, IG_U32, IG_I32),
                  lower_convert(l, lane, IG_U32, IG_I32));
    const int32_t local = lower_temp(l, IG_U64);
    code_inst *i = lower_emit(l, CODE_ADDRESS, IG_I32, local, mine, apart, CODE_NONE);
    i->flags |= CODE_LOCALS; /* the scale is the size of a lane's local memory */
    const int32_t d = lower_temp(l, IG_U64);
    lower_emit(l, CODE_ADDRESS, IG_U32, d, local, slot, CODE_NONE)->scale =
        (int32_t)f->element->size;
    return d;
}

static void fragment_multiply(lower *l, const kernel_expr *e)
{
    const fragment d = fragment_of(l, e->args[0]), a = fragment_of(l, e->args[1]),
                   b = fragment_of(l, e->args[2]), c = fragment_of(l, e->args[3]);
    const int32_t mine_a = lower_address(l, &a.at), mine_b = lower_address(l, &b.at);
    int32_t sums[32];
    for (int i = 0; i < share_of(&d); i++) {
        int32_t row, column;
        element_of(l, &d, i, &row, &column);
        sums[i] = lower_variable(l, IG_F32);
        lower_assign(l, sums[i],
                     lower_load_scalar(l, &c.at, c.element, i * (int64_t)c.element->size));
        const int32_t first =
            lower_map(l, OP_multiply, IG_U32, row, lower_integer(l, IG_U32, a.columns));
        for (int k = 0; k < d.s->k; k++) {
            const int32_t at_a = lower_map(l, OP_add, IG_U32, first, lower_integer(l, IG_U32, k));
            const int32_t at_b =
                lower_map(l, OP_add, IG_U32, column, lower_integer(l, IG_U32, k * b.columns));
            const lower_place from_a =
                lower_memory(a.element, elsewhere(l, &a, mine_a, at_a), SPACE_LOCAL);
            const lower_place from_b =
                lower_memory(b.element, elsewhere(l, &b, mine_b, at_b), SPACE_LOCAL);
            const int32_t x = lower_load_scalar(l, &from_a, a.element, 0);
            const int32_t y = lower_load_scalar(l, &from_b, b.element, 0);
            lower_assign(l, sums[i], lower_row(l, CODE_ROW_fma, IG_F32, x, y, sums[i]));
        }
    }
    for (int i = 0; i < share_of(&d); i++)
        lower_store_scalar(l, &d.at, d.element, i * (int64_t)d.element->size,
                           lower_rounded(l, d.element, sums[i]));
}

void lower_fragments(lower *l, const kernel_expr *e)
{
    if (e->builtin == BUILTIN_WMMA_LOAD || e->builtin == BUILTIN_WMMA_STORE) {
        fragment_move(l, e, e->builtin == BUILTIN_WMMA_STORE);
    } else if (e->builtin == BUILTIN_WMMA_MMA) {
        fragment_multiply(l, e);
    } else {
        const fragment f = fragment_of(l, e->args[0]);
        const int32_t value =
            lower_cast(l, lower_scalar(l, e->args[1]), e->args[1]->type, f.element);
        for (int i = 0; i < share_of(&f); i++)
            lower_store_scalar(l, &f.at, f.element, i * (int64_t)f.element->size, value);
    }
}
