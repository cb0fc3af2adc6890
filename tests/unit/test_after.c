/* The dependencies between launches of a schedule: three programs read one input and write separate outputs, then one
 * program reads all of them. Parts of the scratch memory conflict only if they overlap. */
#include "engine/eval/after.h"
#include "support/unit.h"

#include <string.h>

enum { PROGRAMS = 4, SLOTS = 5 }; /* slot 0: the input; slots 1 to 4: the output of each program */

static tape_inst insts[PROGRAMS][4];
static operand operands[PROGRAMS][4];
static program programs[PROGRAMS];
static slot slots[SLOTS];

static void access(int p, tape_code code, int at)
{
    tape *t = &programs[p].pre;
    operands[p][t->n_operand].slot = at;
    insts[p][t->n_inst++] = (tape_inst){.code = (uint8_t)code, .operand = (int16_t)t->n_operand++};
}

static schedule three_and_one(void)
{
    memset(programs, 0, sizeof programs);
    for (int k = 0; k < SLOTS; k++)
        slots[k] = (slot){.kind = k ? SLOT_TEMP : SLOT_LEAF,
                          .shares = -1,
                          .bytes = 256,
                          .offset = (int64_t)k * 256};
    for (int p = 0; p < PROGRAMS; p++) {
        programs[p] = (program){.kind = PROGRAM_MAP, .chain = 1};
        programs[p].pre.inst = insts[p];
        programs[p].pre.operand = operands[p];
        for (int k = 0; k < (p < 3 ? 1 : 3); k++)
            access(p, TAPE_LOAD, p < 3 ? 0 : 1 + k);
        access(p, TAPE_STORE, 1 + p);
    }
    return (schedule){.program = programs, .n_program = PROGRAMS, .slot = slots, .n_slot = SLOTS};
}

/* Checks the number of chains that each chain directly follows. */
static void check(const scratch_range *scratch, const int expected[PROGRAMS])
{
    const schedule s = three_and_one();
    after_list list;
    assert_int_equal(after_find(&s, scratch, &list), IG_OK);
    assert_int_equal(list.n, PROGRAMS);
    for (int i = 0; i < PROGRAMS; i++)
        assert_int_equal(list.first[i + 1] - list.first[i], expected[i]);
    assert_int_equal(schedule_check_order(&s, list.first, list.chain, list.n), IG_OK);
    after_free(&list);
}

/* The check of schedules finds each dependency that is missing. */
static void a_missing_dependency_is_found(void **unused)
{
    (void)unused;
    const schedule s = three_and_one();
    const int first[] = {0, 0, 0, 0, 2};
    static const int followed[][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(schedule_check_order(&s, first, followed[i], PROGRAMS), IG_ERR_INTERNAL);
        assert_non_null(strstr(ig_error(NULL), "the rule 'order of launches': program 4 (map)"));
    }
}

static void programs_run_side_by_side(void **unused)
{
    (void)unused;
    check((const scratch_range[PROGRAMS]){{0, 0}}, (const int[]){0, 0, 0, 3});
    check((const scratch_range[PROGRAMS]){{0, 100}, {256, 356}, {512, 612}},
          (const int[]){0, 0, 0, 3});
}

static void overlapping_scratch_follows(void **unused)
{
    (void)unused;
    check((const scratch_range[PROGRAMS]){{0, 100}, {50, 60}, {512, 612}},
          (const int[]){0, 1, 0, 2});
    check((const scratch_range[PROGRAMS]){{0, 100}, {0, 100}, {0, 100}}, (const int[]){0, 1, 1, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_run_side_by_side),
                                       cmocka_unit_test(overlapping_scratch_follows),
                                       cmocka_unit_test(a_missing_dependency_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
