/* Stable radix sort within rows, by DIGIT_BITS bits of the key at a time, the lowest first. A pass is three launches of
 * kernels/radix.cu: rows are cut into tiles, and a block takes a tile. */
#include "engine/emit/indexed.h"

#include "base/error.h"

#include <stdio.h>

enum {
    THREADS = INDEXED_THREADS,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    STEP_BITS = 4,
    STEP_DIGITS = 1 << STEP_BITS,
    SUM_PARTS = 16, /* parts that threads sum up where lanes cannot shuffle */
    SUM_ROOM = THREADS + SUM_PARTS
};

static int64_t tile_of(const radix *r) { return (int64_t)THREADS * r->each; }
static int64_t tiles_of(const radix *r) { return ceil_div(r->inner, tile_of(r)); }

/* Shared memory of radix_move: the tile, padded by an item for each thread, and counters. */
static uint64_t move_bytes(const radix *r)
{
    const int item = r->item_bytes + (r->numbers ? 4 : 0);
    return (uint64_t)(THREADS * (r->each + 1) * item + STEP_DIGITS * THREADS * 2 +
                      (SUM_ROOM + DIGITS) * 4);
}

uint64_t radix_layout(radix *r, const emit_target *t)
{
    r->each = r->item_bytes > 4 ? 8 : 16;
    while (r->each > 1 && !t->cpu && move_bytes(r) > t->shared_bytes)
        r->each /= 2;
    const uint64_t n = (uint64_t)(r->rows * r->inner);
    uint64_t at = 0;
    for (int i = 0; i < 2; i++) {
        r->item[i] = at;
        at += align_up(n * (uint64_t)r->item_bytes);
        r->number[i] = at;
        at += r->numbers ? align_up(n * 4) : 0;
    }
    r->count = at;
    at += align_up((uint64_t)(r->rows * tiles_of(r)) * DIGITS * 4);
    r->total = at;
    return at + align_up((uint64_t)r->rows * DIGITS * 4);
}

/* ---- the launches of a pass ---- */

typedef struct pass {
    const radix *r;
    int index;
    bool first, last; /* it reads the operand; it writes the program's result */
} pass;

/* Writes item_at and digit_of. */
static void write_item_functions(emit_writer *w, const pass *p)
{
    const radix *r = p->r;
    const operand *o = r->in;
    char from[64];
    if (r->out)
        write_keys(w, r->out->in[0].dtype, r->out->descending);
    if (p->first) {
        write_place(w, "place", &o->v, r->inner);
        snprintf(from, sizeof from, "bits_of(p%d[place(g, row, col)])",
                 writer_operand(w, o, false));
    } else
        snprintf(from, sizeof from, "p%d[row * g.n%d + col]",
                 writer_scratch(w, r->type, r->item[p->index & 1]), writer_number(w, r->inner));
    text_add(&w->body,
             "static __device__ %s item_at(PARAMS, idx row, idx col)\n{\n    return %s;\n}\n\n"
             "static __device__ unsigned int digit_of(sizes g, %s x)\n{\n"
             "    return (unsigned int)(%s(x) >> (int)g.n%d) & %uu;\n}\n\n",
             r->type, from, r->type, r->out ? "key_of" : "",
             writer_number(w, p->index * DIGIT_BITS), DIGITS - 1);
}

static void fill_out(emit_writer *w, const program *q)
{
    const ig_dtype dtype = q->out.dtype;
    write_place(w, "target", &q->out.v, q->kept);
    hole_int(w, "LAST", 1);
    hole_size(w, "KEPT", q->kept);
    hole_pointer(w, "OUT", writer_operand(w, &q->out, true));
    if (q->kind == PROGRAM_ARGSORT)
        hole_text(w, "OUTPUT_OF(bits, number)", "(%s)(number)", emit_storage_type(dtype));
    else if (dtype == IG_F32)
        hole_text(w, "OUTPUT_OF(bits, number)", "__uint_as_float(bits)");
    else if (dtype == IG_F64)
        hole_text(w, "OUTPUT_OF(bits, number)", "__longlong_as_double((long long)(bits))");
    else
        hole_text(w, "OUTPUT_OF(bits, number)", "(%s)(bits)", emit_storage_type(dtype));
}

/* Holes of radix_move. */
static void fill_move(emit_writer *w, const pass *p)
{
    const radix *r = p->r;
    hole_int(w, "NUMBERS", r->numbers);
    hole_int(w, "FIRST", p->first);
    if (r->numbers && !p->first)
        hole_pointer(w, "NUMBER_FROM", writer_scratch(w, "unsigned int", r->number[p->index & 1]));
    if (p->last) {
        fill_out(w, r->out);
        return;
    }
    hole_pointer(w, "ITEM_TO", writer_scratch(w, r->type, r->item[~p->index & 1]));
    if (r->numbers)
        hole_pointer(w, "NUMBER_TO", writer_scratch(w, "unsigned int", r->number[~p->index & 1]));
}

typedef enum radix_step { COUNT, SUM, MOVE } radix_step;

static ig_status emit_step_of(const pass *p, radix_step step, const emit_target *t, emitted *out)
{
    static const char *const names[] = {"radix_count", "radix_sum", "radix_move"};
    static const char *const holes[] = {"RADIX_COUNT", "RADIX_SUM", "RADIX_MOVE"};
    const radix *r = p->r;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = r->wide;
    if (step != SUM)
        write_item_functions(&w, p);
    if (step == MOVE)
        fill_move(&w, p);
    hole_int(&w, "SERIAL", t->cpu);
    hole_int(&w, "VOTES", t->subgroup == 32);
    hole_int(&w, "THREADS", THREADS);
    hole_int(&w, "EACH", r->each);
    hole_int(&w, "DIGIT_BITS", DIGIT_BITS);
    hole_int(&w, "STEP_BITS", STEP_BITS);
    hole_int(&w, "SUM_PARTS", SUM_PARTS);
    hole_text(&w, "ITEM", "%s", r->type);
    hole_size(&w, "INNER", r->inner);
    hole_size(&w, "TILES", tiles_of(r));
    hole_pointer(&w, "COUNT", writer_scratch(&w, "unsigned int", r->count));
    if (!t->cpu && step != COUNT)
        hole_pointer(&w, "TOTAL", writer_scratch(&w, "unsigned int", r->total));
    writer_template(&w, "radix.cu", holes[step]);
    const int64_t blocks = step != SUM ? r->rows * tiles_of(r)
                           : t->cpu    ? r->rows
                                       : r->rows * DIGITS;
    return writer_launch(&w, names[step], indexed_grid(blocks, t), t->cpu ? 1 : THREADS);
}

ig_status radix_sort(const radix *r, const emit_target *t, emitted *out, int *last)
{
    const int passes = (r->bits + DIGIT_BITS - 1) / DIGIT_BITS;
    for (int i = 0; i < passes; i++) {
        const pass p = {
            .r = r, .index = i, .first = r->in && i == 0, .last = r->out && i == passes - 1};
        TRY(emit_step_of(&p, COUNT, t, out));
        TRY(emit_step_of(&p, SUM, t, out));
        TRY(emit_step_of(&p, MOVE, t, out));
    }
    *last = passes & 1;
    return IG_OK;
}
