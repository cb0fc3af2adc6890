/* The elementwise rows in floating point lanes. */
#include "backend/cpu/lanes/lane_math.h"

#define TEMPLATE "backend/cpu/lanes/map.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
enum { PIECE = 1024 }; /* elements that are looked through before a choice is made for them */
#define TEMPLATE "backend/cpu/lanes/pass.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "backend/cpu/lanes/extreme.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "backend/cpu/lanes/far.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

/* The rows of pairs; `from` is subtract with its operands exchanged. Then the pairs, by which operands are
 * one value (MAP_ONE_*): not both of the first row. */
enum { PAIR_add, PAIR_subtract, PAIR_multiply, PAIR_from, PAIR_ROWS, PAIR_ONES = 7 };
#define PAIRS_OF_ONES(X, first, second) \
    X(first, second, 0) \
    X(first, second, 1) \
    X(first, second, 2) X(first, second, 4) X(first, second, 5) X(first, second, 6)
#define PAIRS_BEHIND(X, first) \
    PAIRS_OF_ONES(X, first, add) \
    PAIRS_OF_ONES(X, first, subtract) \
    PAIRS_OF_ONES(X, first, multiply) PAIRS_OF_ONES(X, first, from)
#define PAIRS(X) PAIRS_BEHIND(X, add) PAIRS_BEHIND(X, subtract) PAIRS_BEHIND(X, multiply)
#define TEMPLATE "backend/cpu/lanes/pair.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

static int pair_row(int op)
{
    return op == OP_add        ? PAIR_add
           : op == OP_subtract ? PAIR_subtract
           : op == OP_multiply ? PAIR_multiply
                               : PAIR_ROWS;
}

map_loop PART(lane_pair)(int first, int second, bool turned, ig_dtype lane, int one)
{
    const int row = pair_row(first);
    const int next = turned && second == OP_subtract ? PAIR_from : pair_row(second);
    if (row == PAIR_ROWS || next == PAIR_ROWS || (lane != IG_F32 && lane != IG_F64))
        return NULL;
    return (lane == IG_F64 ? pair_loops_f64 : pair_loops_f32)[row][next][one];
}

map_loop PART(lane_loop_float)(int op, ig_dtype lane, int one)
{
    const map_loop special = (lane == IG_F64 ? special_f64 : special_f32)[op][one];
    return special ? special : (lane == IG_F64 ? row_loops_f64 : row_loops_f32)[op][one];
}
