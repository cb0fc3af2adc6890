/* Kernels of large arrays have 64-bit indices: no index, no offset of an element, and no index plus the step of a loop over a
 * grid may exceed 31 bits otherwise. Nothing is computed: texts are compared. */
#include "base/memory.h"
#include "engine/emit/emit.h"
#include "engine/graph/graph.h"
#include "support/unit.h"

#include <string.h>

static const schedule_rules device = {
    .contract_ends = true, .chain_bytes = 1 << 15, .warp_points = 1024, .warp_rows = 8};

/* The index type of the kernels of x: 64 or 32 bits; 0 if they differ. */
static int width_of(ig_array *x)
{
    graph g = {0};
    int width = -1;
    assert_non_null(x);
    assert_int_equal(graph_order(&g, &x, 1), IG_OK);
    assert_int_equal(graph_key(&g), IG_OK);
    schedule *s = schedule_build(&g, &device);
    assert_non_null(s);
    emit_memory *memory = memory_new((size_t)(s->n_slot + 1) * sizeof *memory);
    bool *by_value = memory_new((size_t)s->n_slot + 1);
    assert_true(memory && by_value);
    for (int k = 0; k < s->n_slot; k++)
        memory[k] = (emit_memory){k, 0, s->slot[k].bytes};
    const emit_target target = {.subgroup = 32,
                                .threads = 1024,
                                .shared_bytes = 1 << 16,
                                .processors = 132,
                                .f64 = true,
                                .by_value = by_value,
                                .memory = memory,
                                .buffer_bytes = (uint64_t)1 << 40};
    const program *last = &s->program[s->n_program - 1];
    while (last->chain == 0)
        last--;
    emitted e;
    if (emit_program(last, &target, &e) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < e.n_step; i++) {
        const int own = strstr(e.step[i].source, "typedef long long idx;") ? 64 : 32;
        width = width < 0 || width == own ? own : 0;
    }
    emitted_free(&e);
    memory_free(memory);
    memory_free(by_value);
    schedule_free(s);
    graph_free(&g);
    return width;
}

/* A large array that another program computes. */
static ig_array *large(int64_t rows, int64_t columns)
{
    return ig_sort(ig_zeros(IG_SHAPE(rows, columns), IG_U8), 1, false, true);
}

/* A loop over a grid adds the threads of all blocks to an index, which may be nearly the number of points. */
static void loops_over_grids(void **unused)
{
    (void)unused;
    ig_scope_begin();
    assert_int_equal(width_of(ig_add(large(1 << 10, 1 << 20), ig_int(1))), 32);
    assert_int_equal(width_of(ig_add(large((1 << 10) + 1, 1 << 20), ig_int(1))), 64);
    assert_int_equal(width_of(ig_max(large((1 << 20) + 1, 1 << 10), IG_AXES(1), false)), 64);
    ig_scope_end();
}

/* The places that a row's begin and an index reach together. */
static void indexed_axes(void **unused)
{
    const int64_t columns = (int64_t)3 << 29;
    (void)unused;
    ig_scope_begin();
    ig_array *at = ig_from_data((const int32_t[]){5}, IG_SHAPE(1), IG_I32);
    assert_int_equal(width_of(ig_take(large(1, columns), at, IG_AXES(1))), 32);
    assert_int_equal(width_of(ig_take(large(2, columns), at, IG_AXES(1))), 64);
    ig_scope_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_over_grids),
                                       cmocka_unit_test(indexed_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
