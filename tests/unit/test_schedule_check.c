/* The check of schedules: it accepts correct plans, and detects each planted mistake by its rule. And the sets that it
 * uses, compared with a check of every element. */
#include "base/memory.h"
#include "engine/graph/graph.h"
#include "engine/program/reach.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

/* ---- graphs ---- */

/* A graph with its schedule. x, if it is not NULL, is donated. */
typedef struct plan {
    graph g;
    schedule *s;
    ig_array *x;
    ig_array *out[3];
    int n_out;
} plan;

static const schedule_rules cpu = {0};
static const schedule_rules device = {
    .contract_ends = true, .chain_bytes = 1 << 15, .warp_points = 1024, .warp_rows = 8};

static ig_array *input(int64_t rows, int64_t columns)
{
    static const float zeros[65536];
    return ig_from_data(zeros, IG_SHAPE(rows, columns), IG_F32);
}

static void outputs(plan *p, ig_array *a, ig_array *b)
{
    p->out[0] = a;
    p->out[1] = b;
    p->n_out = b ? 2 : 1;
}

/* exp(x) is stored, and read both directly and transposed. */
static void transposed(plan *p)
{
    ig_array *t = ig_exp(input(6, 6));
    outputs(p, ig_add(t, ig_matrix_transpose(t)), NULL);
}

static void softmax(plan *p) { outputs(p, ig_softmax(input(100, 20), IG_AXES(-1)), NULL); }

static void attention(plan *p)
{
    ig_array *q = ig_reshape(input(32, 16), IG_SHAPE(4, 8, 16));
    ig_array *k = ig_reshape(input(4 * 32, 16), IG_SHAPE(4, 32, 16));
    ig_array *scores = ig_matmul(ig_multiply(q, ig_float(0.25)), ig_matrix_transpose(k));
    outputs(p, ig_matmul(ig_softmax(scores, IG_AXES(-1)), k), NULL);
}

/* The scores are read again after the softmax. */
static void weighted_scores(plan *p)
{
    ig_array *k = ig_reshape(input(4 * 32, 16), IG_SHAPE(4, 32, 16));
    ig_array *q = ig_reshape(input(32, 16), IG_SHAPE(4, 8, 16));
    ig_array *scores = ig_matmul(q, ig_matrix_transpose(k));
    outputs(p, ig_matmul(ig_multiply(ig_softmax(scores, IG_AXES(-1)), scores), k), NULL);
}

/* Several temporaries are in the arena at once. */
static void products(plan *p)
{
    ig_array *a = ig_matmul(input(16, 32), input(32, 16)), *b = ig_matmul(a, a);
    outputs(p, ig_matmul(ig_matmul(b, a), ig_matmul(b, ig_matrix_transpose(a))), NULL);
}

/* (2, 10, 2): zeros, then 20 elements; a reduction reads them as 20 rows of 2, which are not the rows of the writer. */
static void padded_max(plan *p)
{
    ig_array *x = ig_reshape(input(2, 10), IG_SHAPE(2, 10, 1));
    ig_array *y = ig_pad(ig_exp(x), IG_SHAPE(0, 0, 0, 0, 0, 1), "constant", NULL);
    outputs(p, ig_max(y, IG_AXES(0), false), NULL);
}

static void padded(plan *p)
{
    outputs(p, ig_pad(input(4, 4), IG_SHAPE(1, 1, 0, 0), "constant", NULL), NULL);
}

static void updated_sum(plan *p)
{
    ig_array *zeros = ig_zeros(IG_SHAPE(2, 5, 2), IG_F32);
    ig_array *y = ig_slice_update(zeros, ig_exp(ig_reshape(input(2, 5), IG_SHAPE(2, 5, 1))),
                                  IG_SHAPE(0, 0, 0), IG_NONE);
    outputs(p, ig_sum(y, IG_AXES(0), IG_DTYPE_NONE, false), NULL);
}

static void product_gradient(plan *p)
{
    ig_array *x = input(5, 2), *g = NULL, *y = ig_broadcast_to(x, IG_SHAPE(2, 5, 2));
    y = ig_cumulative_prod(y, IG_AXES(2), IG_DTYPE_NONE, false);
    assert_int_equal(ig_grad(ig_sum_all(y), &x, 1, &g), IG_OK);
    outputs(p, g, NULL);
}

static void repeat_gradient(plan *p)
{
    ig_array *x = input(5, 2), *g = NULL;
    ig_array *y = ig_repeat(ig_broadcast_to(x, IG_SHAPE(2, 5, 2)), ig_int(2), IG_AXES(2));
    y = ig_slice(y, IG_SHAPE(0, 0, 0), IG_SHAPE(2, 5, 4), IG_SHAPE(1, 1, 3));
    assert_int_equal(ig_grad(ig_sum_all(ig_multiply(ig_multiply(y, y), y)), &x, 1, &g), IG_OK);
    outputs(p, g, NULL);
}

/* Two results of one tape; the first takes the buffer of x. */
static void donated(plan *p)
{
    p->x = input(8, 8);
    ig_array *y = ig_add(p->x, ig_float(1));
    outputs(p, y, ig_multiply(p->x, y));
}

/* The tape of a reduction stores in place what it folds. */
static void donated_fold(plan *p)
{
    p->x = input(8, 8);
    ig_array *y = ig_exp(p->x);
    outputs(p, y, ig_sum(y, IG_AXES(1), IG_DTYPE_NONE, false));
}

/* x is read again by a later program. */
static void donated_late(plan *p)
{
    p->x = input(8, 8);
    ig_array *y = ig_add(p->x, ig_float(1));
    outputs(p, y, ig_matmul(y, p->x));
}

/* The same, and another program may fail. */
static void donated_with_failure(plan *p)
{
    ig_array *rows = ig_from_data((const int64_t[]){3, 1, 2}, IG_SHAPE(3), IG_I64);
    p->x = input(8, 8);
    ig_array *y = ig_add(p->x, ig_float(1));
    outputs(
        p, y,
        ig_sum(ig_take(ig_matmul(y, p->x), rows, IG_AXES(0)), IG_AXES(0), IG_DTYPE_NONE, false));
}

static void scattered(plan *p)
{
    ig_array *at = ig_from_data((const int64_t[]){3, 1, 2}, IG_SHAPE(3), IG_I64);
    ig_array *x = input(8, 4), *g = NULL;
    assert_int_equal(ig_grad(ig_sum_all(ig_exp(ig_take(x, at, IG_AXES(0)))), &x, 1, &g), IG_OK);
    outputs(p, ig_cumulative_sum(ig_sort(g, 1, false, true), IG_AXES(1), IG_DTYPE_NONE, false),
            NULL);
}

static void start(plan *p, void (*build)(plan *), const schedule_rules *rules)
{
    *p = (plan){0};
    ig_scope_begin();
    build(p);
    assert_int_equal(graph_order(&p->g, p->out, p->n_out), IG_OK);
    if (p->x)
        graph_donate(&p->g, &p->x, 1, DONATED);
    assert_int_equal(graph_key(&p->g), IG_OK);
    p->s = schedule_build(&p->g, rules);
    assert_non_null(p->s);
}

static void stop(plan *p)
{
    schedule_free(p->s);
    graph_free(&p->g);
    ig_scope_end();
}

/* ---- finding the parts to change ---- */

static int program_of(const schedule *s, program_kind kind, int nth)
{
    for (int i = 0; i < s->n_program; i++)
        if (s->program[i].kind == kind && nth-- == 0)
            return i;
    fail_msg("the schedule has no such program");
    return -1;
}

static int slot_of(const schedule *s, slot_kind kind, int nth)
{
    for (int k = 0; k < s->n_slot; k++)
        if (s->slot[k].kind == kind && s->slot[k].first >= 0 && nth-- == 0)
            return k;
    fail_msg("the schedule has no such slot");
    return -1;
}

static tape_inst *inst_of(tape *t, tape_code code, int nth)
{
    for (int i = 0; i < t->n_inst; i++)
        if (t->inst[i].code == code && nth-- == 0)
            return &t->inst[i];
    fail_msg("the tape has no such instruction");
    return t->inst;
}

static operand *operand_of(tape *t, tape_code code, int nth)
{
    return &t->operand[inst_of(t, code, nth)->operand];
}

/* A tape of the schedule that accesses the slot by such an instruction. */
static operand *use_of(schedule *s, int k, tape_code code)
{
    for (int i = 0; i < s->n_program; i++) {
        tape *tapes[2] = {&s->program[i].pre, &s->program[i].post};
        for (int j = 0; j < 2; j++)
            for (int l = 0; l < tapes[j]->n_inst; l++)
                if (tapes[j]->inst[l].code == code &&
                    tapes[j]->operand[tapes[j]->inst[l].operand].slot == k)
                    return &tapes[j]->operand[tapes[j]->inst[l].operand];
    }
    fail_msg("no tape uses slot %d so", k);
    return NULL;
}

/* Recomputes the live ranges of a changed schedule, so that the later checks run. */
static void renew(schedule *s)
{
    for (int k = 0; k < s->n_slot; k++)
        s->slot[k].first = s->slot[k].last = s->slot[k].written = -1;
    schedule_live_ranges(s);
}

static void swap_programs(schedule *s, int i)
{
    const program p = s->program[i];
    s->program[i] = s->program[i + 1];
    s->program[i + 1] = p;
    renew(s);
}

/* ---- mistakes ---- */

static void swap_writer_and_reader(plan *p) { swap_programs(p->s, 0); }
static void swap_writers(plan *p) { swap_programs(p->s, 0); }

/* The reader of a slot with two writers comes before the second. */
static void read_between_writers(plan *p)
{
    swap_programs(p->s, program_of(p->s, PROGRAM_REDUCE, 0) - 1);
}

static void drop_last_writer(plan *p)
{
    p->s->n_program--;
    renew(p->s);
}

static void store_half(plan *p)
{
    tape *t = &p->s->program[p->s->n_program - 1].pre;
    t->shape[0] /= 2;
    t->size /= 2;
    for (int i = 0; i < t->n_operand; i++)
        t->operand[i].v.shape[0] /= 2;
}

static void store_one_element(plan *p)
{
    operand *o = operand_of(&p->s->program[0].pre, TAPE_STORE, 0);
    memset(o->v.stride, 0, sizeof o->v.stride);
}

/* Both outputs are stored in one slot. */
static void store_twice(plan *p)
{
    const int y = slot_of(p->s, SLOT_OUT, 0), z = slot_of(p->s, SLOT_OUT, 1);
    operand *o = use_of(p->s, z, TAPE_STORE);
    o->slot = y;
    p->s->slot[p->s->slot[y].shares].shares = -1;
    p->s->slot[y].shares = -1;
    renew(p->s);
}

static void store_to_leaf(plan *p)
{
    operand *o = operand_of(&p->s->program[p->s->n_program - 1].pre, TAPE_STORE, 0);
    o->slot = slot_of(p->s, SLOT_LEAF, 0);
}

static void shift_load(plan *p) { operand_of(&p->s->program[0].pre, TAPE_LOAD, 0)->v.offset++; }

static void shift_back(plan *p) { operand_of(&p->s->program[0].pre, TAPE_LOAD, 0)->v.offset--; }

static void extend_view(plan *p) { operand_of(&p->s->program[0].pre, TAPE_LOAD, 0)->v.shape[0]++; }

static void stretch_stride(plan *p)
{
    operand *o = operand_of(&p->s->program[0].pre, TAPE_LOAD, 0);
    o->v.stride[o->v.ndim - 1] *= 2;
}

static void read_as_halves(plan *p)
{
    use_of(p->s, slot_of(p->s, SLOT_TEMP, 0), TAPE_LOAD)->dtype = IG_F16;
}

static void use_no_slot(plan *p) { p->s->program[0].pre.operand[0].slot = p->s->n_slot; }
static void use_no_operand(plan *p) { p->s->program[0].pre.inst[0].operand = 99; }
static void use_later_value(plan *p)
{
    tape *t = &p->s->program[0].pre;
    const tape_inst first = t->inst[0];
    t->inst[0] = t->inst[1];
    t->inst[1] = first;
}

static void record_first(plan *p) { p->s->slot[slot_of(p->s, SLOT_TEMP, 0)].first++; }
static void record_last(plan *p) { p->s->slot[slot_of(p->s, SLOT_TEMP, 0)].last--; }
static void record_writer(plan *p) { p->s->slot[slot_of(p->s, SLOT_TEMP, 0)].written++; }
static void swap_outputs(plan *p)
{
    const int k = p->s->out_slot[0];
    p->s->out_slot[0] = p->s->out_slot[1];
    p->s->out_slot[1] = k;
}

/* ---- memory ---- */

/* Moves the last temporary onto one that is in use at the same time. */
static void overlap_in_arena(plan *p)
{
    schedule *s = p->s;
    for (int a = 0; a < s->n_slot; a++)
        for (int b = 0; b < s->n_slot; b++) {
            const slot *x = &s->slot[a];
            slot *y = &s->slot[b];
            if (a == b || x->kind != SLOT_TEMP || y->kind != SLOT_TEMP || x->shares >= 0 ||
                y->shares >= 0 || x->first >= y->first || x->last < y->first)
                continue;
            assert_int_not_equal(x->offset, y->offset);
            y->offset = x->offset;
            return;
        }
    fail_msg("no two temporaries are in use at once");
}

static void leave_arena(plan *p)
{
    p->s->slot[slot_of(p->s, SLOT_TEMP, 0)].offset = p->s->arena_bytes;
}

static void misalign(plan *p) { p->s->slot[slot_of(p->s, SLOT_TEMP, 0)].offset += 4; }
static void shrink_arena(plan *p) { p->s->arena_bytes -= 64; }

/* Puts the transposed temporary into the buffer of the output. */
static void share_transposed(plan *p)
{
    p->s->slot[slot_of(p->s, SLOT_TEMP, 0)].shares = slot_of(p->s, SLOT_OUT, 0);
}

static void share_nothing(plan *p) { p->s->slot[slot_of(p->s, SLOT_OUT, 1)].shares = p->s->n_slot; }
static void share_output(plan *p)
{
    p->s->slot[slot_of(p->s, SLOT_OUT, 1)].shares = slot_of(p->s, SLOT_OUT, 0);
}

static void undonate(plan *p)
{
    memset(p->g.donated, 0, (size_t)p->g.n_leaf * sizeof *p->g.donated);
}

/* The output takes the buffer of a leaf that later programs read. */
static void donate_early(plan *p)
{
    const int y = slot_of(p->s, SLOT_OUT, 0), x = p->x->index < 0 ? -1 - p->x->index : 0;
    assert_int_equal(p->s->slot[y].shares, -1);
    p->s->slot[y].shares = x;
    p->s->slot[x].shares = y;
}

/* As without the reader, but a program may still fail. */
static void donate_before_failure(plan *p)
{
    donate_early(p);
    const int x = p->s->slot[slot_of(p->s, SLOT_OUT, 0)].shares;
    program *product = &p->s->program[program_of(p->s, PROGRAM_CONTRACT, 0)];
    for (int i = 0; i < 2; i++)
        if (product->in[i].slot == x)
            product->in[i].slot = product->in[1 - i].slot;
    renew(p->s);
}

/* The output that replaces x is stored before the other one is computed from x. */
static void store_too_early(plan *p)
{
    tape *t = &p->s->program[0].pre;
    tape_inst *store = inst_of(t, TAPE_STORE, 0), *last = inst_of(t, TAPE_MAP, 1);
    const int y = t->operand[store->operand].slot;
    assert_true(p->s->slot[y].shares >= 0);
    assert_true(last < store);
    const tape_inst moved = *store;
    memmove(last + 1, last, (size_t)(store - last) * sizeof *last);
    *last = moved;
}

static void fold_overwritten(plan *p)
{
    tape *t = &p->s->program[program_of(p->s, PROGRAM_REDUCE, 0)].pre;
    assert_true(p->s->slot[slot_of(p->s, SLOT_OUT, 0)].shares >= 0);
    t->result = inst_of(t, TAPE_LOAD, 0)->dst;
}

static void reverse_in_place(plan *p)
{
    operand *o = operand_of(&p->s->program[0].pre, TAPE_LOAD, 0);
    assert_int_equal(o->v.ndim, 1);
    o->v.offset = o->v.shape[0] - 1;
    o->v.stride[0] = -1;
}

static void read_own_result(plan *p)
{
    tape *t = &p->s->program[0].pre;
    operand_of(t, TAPE_LOAD, 0)->slot = operand_of(t, TAPE_STORE, 1)->slot;
    renew(p->s);
}

/* ---- chains ---- */

/* A chain that a condition on the first writer alone would allow: the last writer of an assembly, and its reader. */
static void chain_last_writer(plan *p)
{
    schedule *s = p->s;
    const int i = program_of(s, PROGRAM_REDUCE, 0);
    const int k = operand_of(&s->program[i - 1].pre, TAPE_STORE, 0)->slot;
    assert_true(s->slot[k].first < i - 1);
    assert_true(program_reads(&s->program[i], k));
    assert_int_equal(s->program[i - 1].chain, 1);
    s->program[i - 1].chain = 2;
    s->program[i - 1].rows = s->program[i].outer;
    s->program[i].chain = 0;
}

static int chain_of(const schedule *s)
{
    for (int i = 0; i < s->n_program; i++)
        if (s->program[i].chain > 1)
            return i;
    fail_msg("the schedule has no chain");
    return -1;
}

static void lengthen_chain(plan *p) { p->s->program[chain_of(p->s)].chain = p->s->n_program + 1; }
static void nest_chain(plan *p) { p->s->program[chain_of(p->s) + 1].chain = 1; }
static void change_rows(plan *p) { p->s->program[chain_of(p->s)].rows /= 2; }
static void drop_rows(plan *p) { p->s->program[chain_of(p->s)].rows = 0; }

/* A slot that exists by rows is read in the order of another row. */
static void read_next_row(plan *p)
{
    const int k = p->s->program[chain_of(p->s)].local[0].slot;
    operand *o = use_of(p->s, k, TAPE_LOAD);
    const int64_t own = p->s->program[chain_of(p->s)].local[0].row_bytes / 4;
    for (int i = 0; i < o->v.ndim; i++)
        if (o->v.stride[i] == own) { /* the last row first */
            o->v.offset = own * (o->v.shape[i] - 1);
            o->v.stride[i] = -own;
            return;
        }
    fail_msg("no axis goes from row to row");
}

static void gather_rows(plan *p)
{
    const int i = chain_of(p->s), k = p->s->program[i].local[0].slot;
    for (int j = i; j <= i + p->s->program[i].chain - 1; j++) {
        tape *t = &p->s->program[j].pre;
        for (int l = 0; l < t->n_inst; l++)
            if (t->inst[l].code == TAPE_LOAD && t->operand[t->inst[l].operand].slot == k) {
                t->inst[l].code = TAPE_READ;
                t->operand[t->inst[l].operand].axis_len = 1;
                return;
            }
    }
    fail_msg("no program of the chain loads it");
}

static void change_row_bytes(plan *p) { p->s->program[chain_of(p->s)].local[0].row_bytes++; }
static void forget_row_slot(plan *p) { p->s->program[chain_of(p->s)].n_local--; }
static void change_row_kind(plan *p)
{
    p->s->slot[p->s->program[chain_of(p->s)].local[0].slot].kind = SLOT_TEMP;
}

/* Two temporaries of the chain of one size, both in use, get the same rows. */
static void share_rows_in_use(plan *p)
{
    program *c = &p->s->program[chain_of(p->s)];
    for (int i = 0; i < c->n_local; i++)
        for (int k = 0; k < i; k++) {
            const slot *a = &p->s->slot[c->local[k].slot], *b = &p->s->slot[c->local[i].slot];
            if (a->bytes == b->bytes && a->first < b->first && b->first < a->last &&
                c->local[i].shares == i && c->local[k].shares == k) {
                c->local[i].shares = k;
                return;
            }
        }
    fail_msg("no two temporaries of the chain can be mixed up");
}

/* in[1] of the last product is computed by the chain. */
static void contract_whole(plan *p)
{
    const int i = chain_of(p->s);
    program *last = &p->s->program[i + p->s->program[i].chain - 1];
    assert_int_equal(last->kind, PROGRAM_CONTRACT);
    last->in[1] = last->in[0];
    renew(p->s);
}

static const struct {
    const char *rule;
    void (*build)(plan *);
    const schedule_rules *rules;
    void (*change)(plan *);
} mistakes[] = {
    {"read after write", transposed, &cpu, swap_writer_and_reader},
    {"read after write", padded_max, &cpu, read_between_writers},
    {"writers in order", padded, &cpu, swap_writers},
    {"writers in order", padded, &cpu, drop_last_writer},
    {"outputs", transposed, &cpu, store_half},
    {"outputs", donated, &cpu, swap_outputs},
    {"written once", transposed, &cpu, store_one_element},
    {"written once", donated, &cpu, store_twice},
    {"leaves", transposed, &cpu, store_to_leaf},
    {"bounds", transposed, &cpu, shift_load},
    {"bounds", transposed, &cpu, shift_back},
    {"bounds", transposed, &cpu, stretch_stride},
    {"tapes", transposed, &cpu, extend_view},
    {"tapes", transposed, &cpu, use_later_value},
    {"operands", transposed, &cpu, read_as_halves},
    {"operands", transposed, &cpu, use_no_slot},
    {"operands", transposed, &cpu, use_no_operand},
    {"live ranges", transposed, &cpu, record_first},
    {"live ranges", transposed, &cpu, record_last},
    {"live ranges", transposed, &cpu, record_writer},
    {"one value in memory", products, &cpu, overlap_in_arena},
    {"arena", products, &cpu, leave_arena},
    {"arena", products, &cpu, misalign},
    {"arena", products, &cpu, shrink_arena},
    {"sharing", donated, &cpu, share_nothing},
    {"sharing", donated, &cpu, share_output},
    {"in place", transposed, &cpu, share_transposed},
    {"in place", donated, &cpu, store_too_early},
    {"in place", donated, &cpu, reverse_in_place},
    {"in place", donated, &cpu, read_own_result},
    {"in place", donated_fold, &cpu, fold_overwritten},
    {"donation", donated, &cpu, undonate},
    {"donation", donated_with_failure, &cpu, donate_before_failure},
    {"one value in memory", donated_late, &cpu, donate_early},
    {"own rows", padded_max, &device, chain_last_writer},
    {"own rows", padded_max, &cpu, chain_last_writer},
    {"own rows", updated_sum, &device, chain_last_writer},
    {"own rows", product_gradient, &device, chain_last_writer},
    {"own rows", repeat_gradient, &device, chain_last_writer},
    {"own rows", softmax, &device, read_next_row},
    {"own rows", softmax, &device, gather_rows},
    {"own rows", attention, &cpu, contract_whole},
    {"chains", softmax, &device, lengthen_chain},
    {"chains", softmax, &device, nest_chain},
    {"rows", softmax, &cpu, change_rows},
    {"rows", softmax, &cpu, drop_rows},
    {"slots by rows", softmax, &device, change_row_bytes},
    {"slots by rows", softmax, &device, forget_row_slot},
    {"slots by rows", softmax, &device, change_row_kind},
    {"one value in memory", weighted_scores, &cpu, share_rows_in_use},
};

static void mistakes_are_found(void **state)
{
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        plan p;
        char rule[64];
        start(&p, mistakes[i].build, mistakes[i].rules);
        assert_int_equal(schedule_check(&p.g, p.s), IG_OK);
        const int n_program = p.s->n_program;
        mistakes[i].change(&p);
        const ig_status status = schedule_check(&p.g, p.s);
        ig_status code = IG_OK;
        const char *said = ig_error(&code);
        snprintf(rule, sizeof rule, "'%s'", mistakes[i].rule);
        if (status != IG_ERR_INTERNAL || code != status || !said || !strstr(said, rule)) {
            print_error("mistake %d, %s: %s\n", (int)i, rule, said ? said : "not found");
            wrong++;
        }
        p.s->n_program = n_program; /* all of them are freed */
        stop(&p);
    }
    assert_int_equal(wrong, 0);
}

/* No correct plan is rejected; every allocation of the check may fail. */
static void plans_pass(void **state)
{
    static void (*const builds[])(plan *) = {
        transposed,       weighted_scores,      softmax,  attention,
        products,         padded_max,           padded,   updated_sum,
        product_gradient, repeat_gradient,      donated,  donated_fold,
        donated_late,     donated_with_failure, scattered};
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        for (int k = 0; k < 2; k++) {
            plan p;
            start(&p, builds[i], k ? &device : &cpu);
            const int64_t live = memory_live();
            assert_int_equal(schedule_check(&p.g, p.s), IG_OK);
            ig_status status = IG_ERR_MEMORY;
            for (int n = 1; status != IG_OK; n++) {
                memory_fail_at(n);
                status = schedule_check(&p.g, p.s);
                memory_fail_at(0);
                assert_true(status == IG_OK || status == IG_ERR_MEMORY);
                ig_error(NULL);
            }
            assert_int_equal(memory_live(), live);
            stop(&p);
        }
}

/* ---- sets of elements ---- */

static uint64_t seed = 1;

static int64_t random_below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

enum { ELEMENTS = 400 };

/* A view of up to four axes that stays in the elements. */
static view random_view(void)
{
    for (;;) {
        view v = {.ndim = (int)random_below(4)};
        int64_t low = 0, high = 0;
        for (int i = 0; i < v.ndim; i++) {
            v.shape[i] = random_below(30) ? 1 + random_below(6) : 0;
            v.stride[i] = random_below(25) - 8;
            *(v.stride[i] < 0 ? &low : &high) += v.stride[i] * (v.shape[i] - 1);
        }
        v.offset = random_below(50) - low;
        if (v.offset >= 0 && v.offset + low >= 0 && v.offset + high < ELEMENTS)
            return v;
    }
}

/* view_at counts points from the last axis on. */
static int64_t count_elements(const view *v, bool *seen)
{
    int64_t n = 0;
    memset(seen, 0, ELEMENTS);
    for (int64_t i = 0; i < view_size(v); i++) {
        n += !seen[view_at(v, i)];
        seen[view_at(v, i)] = true;
    }
    return n;
}

static void sets_are_exact(void **state)
{
    static bool a[ELEMENTS], b[ELEMENTS];
    (void)state;
    for (int round = 0; round < 20000; round++) {
        const view v = random_view(), w = random_view();
        const reach r = reach_of(&v, 1, 0), q = reach_of(&w, 1, 0);
        element_set s;
        const int64_t n = count_elements(&v, a), m = count_elements(&w, b);
        assert_int_equal(reach_count(&r), n);
        assert_int_equal(element_set_new(&s, ELEMENTS), IG_OK);
        assert_int_equal(element_set_add(&s, &r), n);
        int64_t both = 0;
        for (int i = 0; i < ELEMENTS; i++)
            both += a[i] && b[i];
        assert_int_equal(element_set_has_all(&s, &q), both == m);
        assert_int_equal(element_set_has_none(&s, &q), both == 0);
        assert_int_equal(element_set_add(&s, &q), m - both);
        assert_int_equal(s.count, n + m - both);
        element_set_free(&s);
    }
}

/* The same question, answered for each point. */
static bool stays(const view *v, int64_t points, int64_t own)
{
    for (int64_t i = 0; i < view_size(v); i++)
        if (view_at(v, i) / own != i / points)
            return false;
    return true;
}

static bool walks_alike(const view *v, const view *w)
{
    bool same = view_size(v) == view_size(w);
    for (int64_t i = 0; i < view_size(v) && same; i++)
        same = view_at(v, i) == view_at(w, i);
    return same;
}

static void rows_are_exact(void **state)
{
    int inside = 0, alike = 0;
    (void)state;
    for (int round = 0; round < 200000; round++) {
        view v = random_view(), w = random_below(2) ? v : random_view();
        const int64_t n = view_size(&v), points = n ? 1 + random_below(n) : 1;
        const int64_t own = 1 + random_below(20);
        if (random_below(2) && v.ndim > 0 && n) /* so that some stay inside */
            v.stride[0] = own;
        if (n % points != 0)
            continue;
        int64_t low = v.offset, high = v.offset;
        for (int i = 0; i < v.ndim; i++)
            *(v.stride[i] < 0 ? &low : &high) += v.stride[i] * (v.shape[i] - 1);
        if (low < 0)
            continue;
        assert_int_equal(reach_stays_in_rows(&v, points, own), stays(&v, points, own));
        inside += n > points && stays(&v, points, own);
        view_collapse((view *[]){&w}, 1);
        if (n == 0 || view_size(&w) == 0)
            continue;
        assert_int_equal(reach_is_same_walk(&v, &w), walks_alike(&v, &w));
        alike += walks_alike(&v, &w);
    }
    assert_true(inside > 100);
    assert_true(alike > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_pass, begin, end),
        cmocka_unit_test_setup_teardown(mistakes_are_found, begin, end),
        cmocka_unit_test_setup_teardown(sets_are_exact, begin, end),
        cmocka_unit_test_setup_teardown(rows_are_exact, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
