/* The check of values that a chain holds in registers: it accepts the values that held.c finds, and detects planted
 * mistakes. */
#include "engine/emit/held.h"
#include "engine/graph/graph.h"
#include "support/unit.h"

#include <string.h>

/* A chain, and the values that it can hold. */
typedef struct plan {
    graph g;
    schedule *s;
    program *p;
    int n;
    held_values h;
} plan;

static ig_array *input(int64_t rows, int64_t columns)
{
    static const float zeros[65536];
    return ig_from_data(zeros, IG_SHAPE(rows, columns), IG_F32);
}

/* x is held as an input, and its exponential as a temporary. */
static ig_array *softmax(void) { return ig_softmax(input(100, 64), IG_AXES(-1)); }

/* exp(x) is an output, too: it is held as a result. */
static ig_array *kept;
static ig_array *kept_softmax(void)
{
    kept = ig_exp(input(100, 64));
    return ig_divide(kept, ig_sum(kept, IG_AXES(-1), IG_DTYPE_NONE, true));
}

static void start(plan *p, ig_array *(*build)(void))
{
    const schedule_rules rules = {
        .contract_ends = true, .chain_bytes = 1 << 15, .warp_points = 1024, .warp_rows = 8};
    *p = (plan){0};
    kept = NULL;
    ig_scope_begin();
    ig_array *out[2] = {build(), NULL};
    out[1] = kept;
    assert_int_equal(graph_order(&p->g, out, kept ? 2 : 1), IG_OK);
    assert_int_equal(graph_key(&p->g), IG_OK);
    p->s = schedule_build(&p->g, &rules);
    assert_non_null(p->s);
    int i = 0;
    while (i < p->s->n_program && p->s->program[i].chain < 2)
        i++;
    assert_true(i < p->s->n_program);
    p->p = &p->s->program[i];
    p->n = p->p->chain;
    held_find(&p->h, p->p, p->n, p->p->rows);
    assert_true(p->h.n > 0);
}

static void stop(plan *p)
{
    schedule_free(p->s);
    graph_free(&p->g);
    ig_scope_end();
}

static held_value *value_of(plan *p, held_kind kind)
{
    for (int i = 0; i < p->h.n; i++)
        if (p->h.at[i].kind == kind)
            return &p->h.at[i];
    fail_msg("the chain holds no such value");
    return NULL;
}

/* The first or the last use of a slot on a tape of the chain. */
static tape_inst *use_of(plan *p, int slot_index, bool last, operand **o)
{
    tape_inst *found = NULL;
    for (int k = 0; k < p->n; k++)
        for (int i = 0; i < p->p[k].pre.n_inst; i++) {
            tape_inst *inst = &p->p[k].pre.inst[i];
            if (inst->operand < 0 || p->p[k].pre.operand[inst->operand].slot != slot_index)
                continue;
            if (last || !found) {
                found = inst;
                *o = &p->p[k].pre.operand[inst->operand];
            }
        }
    assert_non_null(found);
    return found;
}

static void write_input(plan *p)
{
    operand *o;
    use_of(p, value_of(p, HELD_INPUT)->slot, true, &o)->code = TAPE_STORE;
}

static void first_is_later(plan *p) { value_of(p, HELD_INPUT)->first++; }

static void reverse_load(plan *p)
{
    operand *o;
    use_of(p, value_of(p, HELD_LOCAL)->slot, true, &o);
    o->v.stride[o->v.ndim - 1] *= -1;
    o->v.offset = 63;
}

static void gather(plan *p)
{
    operand *o;
    use_of(p, value_of(p, HELD_LOCAL)->slot, true, &o)->code = TAPE_READ;
}

static void read_first(plan *p)
{
    operand *o;
    use_of(p, value_of(p, HELD_LOCAL)->slot, false, &o)->code = TAPE_LOAD;
}

static void use_other_dtype(plan *p)
{
    operand *o;
    use_of(p, value_of(p, HELD_LOCAL)->slot, true, &o);
    o->dtype = IG_F64;
}

static void write_result_again(plan *p)
{
    operand *o;
    use_of(p, value_of(p, HELD_RESULT)->slot, true, &o)->code = TAPE_STORE;
}

/* The epilogue of the reduction reads the temporary from memory. */
static void use_in_epilogue(plan *p)
{
    for (int k = 0; k < p->n; k++)
        if (p->p[k].post.n_operand > 0) {
            p->p[k].post.operand[0].slot = value_of(p, HELD_LOCAL)->slot;
            return;
        }
    fail_msg("the chain has no epilogue");
}

static void hold_nothing(plan *p) { value_of(p, HELD_INPUT)->slot = p->s->n_slot; }
static void lengthen_row(plan *p) { p->h.each = 1; }

static const struct {
    const char *said;
    ig_array *(*build)(void);
    void (*change)(plan *);
} mistakes[] = {
    {"an input that is held is written", softmax, write_input},
    {"before it is held", softmax, first_is_later},
    {"another point holds", softmax, reverse_load},
    {"not read point by point", softmax, gather},
    {"before it is held", softmax, read_first},
    {"used in memory", softmax, use_other_dtype},
    {"used in memory", softmax, use_in_epilogue},
    {"written again", kept_softmax, write_result_again},
    {"no program has it", softmax, hold_nothing},
    {"more points than registers", softmax, lengthen_row},
};

static void mistakes_are_found(void **state)
{
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        plan p;
        start(&p, mistakes[i].build);
        assert_int_equal(held_check(&p.h, p.p, p.n, p.p->rows), IG_OK);
        mistakes[i].change(&p);
        const ig_status status = held_check(&p.h, p.p, p.n, p.p->rows);
        const char *said = ig_error(NULL);
        if (status != IG_ERR_INTERNAL || !said || !strstr(said, mistakes[i].said)) {
            print_error("mistake %d, %s: %s\n", (int)i, mistakes[i].said,
                        said ? said : "not found");
            wrong++;
        }
        stop(&p);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_are_found, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
