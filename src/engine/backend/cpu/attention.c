/* Attention (ops/attention.c) by specialized loops: a task takes some rows of the query through both products and the
 * softmax between them, in its scratch. The pool runs once, and the scores are never in memory as a whole.
 *
 *   f32          keys and values are read in place, or packed (lanes/attend.c); the result has the bits of the op's
 *                definition
 *   f16, bf16    the same, after keys and values were converted to f32
 *   bf16         with matrix instructions that read rows in place (AMX): both products are of bf16; a weight of the
 *                values is the sum of two numbers of bf16, because one would be too inexact
 *
 * A worker converts or packs the keys and values of a product once for all its consecutive tasks. */
#include "engine/backend/cpu/cpu.h"

#include "engine/backend/cpu/lanes/attend.h"
#include "engine/backend/cpu/lanes/gemm.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"

#include <string.h>

enum {
    CAUSAL = 4, /* the node's number parameters: see ops/attention.c */
    BY_ROWS = 5,
    MASKED = 6,
    MASK_ADDED = 2,
    UNDEFINED = 7,
    ROWS_LEAST = 8,   /* fewer rows leave too many lanes idle */
    KEYS_MOST = 4096, /* for matrix instructions: their scores fit in the L2 cache */
    WIDTH_MOST = 256,
    HELD_MOST = 1 << 18, /* elements of the keys of a product, in a worker's scratch */
    QUERY = 0,
    KEY = 1,
    VALUE = 2
};

typedef enum way { IN_PLACE, WIDENED, MATRICES } way;

/* Offsets in a worker's scratch, in bytes. */
typedef struct places {
    size_t prepared[3]; /* query, keys and values: converted, or packed for matrix instructions */
    size_t packed[3];   /* keys and values: packed by attend_level.pack_f32 */
    size_t scores, weights, rests, sums, result, bytes;
} places;

typedef struct attention {
    way way;
    ig_dtype dtype;
    bool causal, by_rows;
    int64_t jobs, rows, keys, width; /* products, rows of the query, keys, elements of a row */
    int64_t heads;                   /* products that share a row of the mask */
    int64_t tile, tiles;             /* rows of a task, and tasks of a product */
    int64_t keys_padded, width_padded;
    float scale;
    operand in[3], mask, out;
    bool masked, biased, undefined;
    const attend_level *level;
    const gemm_kernel *matrices;
    void (*convert)(ig_dtype from, ig_dtype to, int64_t n, void *d, int64_t ds, const void *a,
                    int64_t as);
    places at;
    const binding *bindings;
    int64_t holds[MACHINE_MAX_THREADS]; /* the product whose keys and values a worker holds; -1:
                                         * none */
    int64_t offset[];                   /* of the keys, the values, and the elements of a row */
} attention;

/* ---- supported nodes ---- */

static way way_of(ig_dtype dtype)
{
    const cpu_level *level = cpu_level_now();
    return dtype == IG_BF16 && level->gemm->of[IG_BF16].panels ? MATRICES
           : dtype == IG_F32                                   ? IN_PLACE
                                                               : WIDENED;
}

bool cpu_attention_offers(const node_native *n)
{
    const int64_t rows = n->number[1], keys = n->number[2], width = n->number[3];
    return n->kind == NATIVE_ATTENTION && cpu_level_now()->attend->is_faster &&
           (n->dtype == IG_F32 || (dtype_is_half(n->dtype) && n->number[MASKED] != MASK_ADDED &&
                                   !n->number[UNDEFINED])) &&
           rows >= ROWS_LEAST && width <= WIDTH_MOST && keys * width <= HELD_MOST && n->scale > 0 &&
           keys <= (way_of(n->dtype) == MATRICES ? KEYS_MOST : cpu_level_now()->attend->keys_most);
}

/* ---- planning ---- */

static int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static size_t place(places *at, int64_t bytes)
{
    const size_t here = at->bytes;
    at->bytes += (size_t)padded(bytes, 64);
    return here;
}

static void places_set(attention *a)
{
    places *at = &a->at;
    const int64_t lane = (int64_t)sizeof(float);
    if (a->way == MATRICES) {
        const int64_t element = a->matrices->element_bytes;
        at->prepared[QUERY] = place(at, a->tile * a->width_padded * element);
        at->prepared[KEY] = place(at, a->keys_padded * a->width_padded * element);
        at->prepared[VALUE] = place(at, a->keys_padded * a->width_padded * element);
        at->scores = place(at, a->tile * a->keys_padded * lane);
        at->weights = place(at, a->tile * a->keys_padded * element);
        at->rests = place(at, a->tile * a->keys_padded * element);
        at->sums = place(at, a->tile * lane);
        at->result = place(at, a->tile * a->width_padded * lane);
        return;
    }
    at->scores = place(at, attend_scratch(a->keys, a->width) * lane);
    for (int i = KEY; i <= VALUE && a->level->pack_f32; i++)
        at->packed[i] = place(at, attend_packed(a->keys, a->width) * lane);
    if (a->way == WIDENED) {
        at->prepared[QUERY] = place(at, a->tile * a->width * lane);
        at->prepared[KEY] = place(at, a->keys * a->width * lane);
        at->prepared[VALUE] = place(at, a->keys * a->width * lane);
        at->result = place(at, a->tile * a->width * lane);
    }
}

/* The distance between rows of an operand, in elements. */
static int64_t row_of(const attention *a, int input)
{
    return a->in[input].v.stride[a->in[input].v.ndim - 2];
}

const char *cpu_attention_how(const program *p)
{
    const bool halves = way_of(p->kernel->native->dtype) == MATRICES;
    return cpu_gemm_label(&cpu_level_now()->gemm->of[halves ? IG_BF16 : IG_F32]);
}

void *cpu_attention_plan(const program *p)
{
    const node_native *n = p->kernel->native;
    const int64_t keys = n->number[2], width = n->number[3];
    attention *a = memory_new(sizeof *a + (size_t)(2 * keys + width) * sizeof *a->offset);
    if (!a)
        return NULL;
    const cpu_level *level = cpu_level_now();
    a->way = way_of(n->dtype);
    a->dtype = n->dtype;
    a->jobs = n->number[0];
    a->rows = n->number[1];
    a->keys = keys;
    a->width = width;
    a->causal = n->number[CAUSAL] != 0;
    a->by_rows = n->number[BY_ROWS] != 0;
    a->biased = n->number[MASKED] == MASK_ADDED;
    a->masked = n->number[MASKED] && !a->biased;
    a->undefined = n->number[UNDEFINED] != 0;
    a->scale = (float)n->scale;
    a->level = level->attend;
    a->matrices = &level->gemm->of[IG_BF16];
    a->convert = level->convert;
    for (int i = 0; i < 3; i++)
        a->in[i] = p->pre.operand[i];
    a->heads = a->masked ? a->jobs / p->pre.operand[3].v.shape[0] : 1;
    a->mask = p->pre.operand[a->masked || a->biased ? 3 : 0];
    a->out = p->post.operand[0];
    a->tile = a->way == MATRICES ? a->matrices->mr : a->level->rows;
    a->tiles = (a->rows + a->tile - 1) / a->tile;
    const bool pads = a->way == MATRICES;
    a->keys_padded = pads ? padded(keys, a->matrices->group) : keys;
    a->width_padded = pads ? padded(width, a->matrices->group) : width;
    for (int64_t j = 0; j < keys; j++) {
        a->offset[j] = j * row_of(a, KEY);
        a->offset[keys + j] = j * row_of(a, VALUE);
    }
    for (int64_t e = 0; e < width; e++)
        a->offset[2 * keys + e] = e;
    places_set(a);
    return a;
}

size_t cpu_attention_scratch(const program *p)
{
    return ((const attention *)p->compiled)->at.bytes;
}

/* ---- running ---- */

/* The first row of a product of an operand. */
static const char *rows_at(const attention *a, int input, int64_t job)
{
    const operand *o = &a->in[input];
    int64_t offset = 0;
    for (int axis = o->v.ndim - 3; axis >= 0; axis--) {
        offset += job % o->v.shape[axis] * o->v.stride[axis];
        job /= o->v.shape[axis];
    }
    return operand_host(o, a->bindings) + offset * (int64_t)ig_dtype_bytes(o->dtype);
}

/* Row `first` of a product's result; *row: the distance between its rows, in elements. */
static char *result_at(const attention *a, int64_t job, int64_t first, int64_t *row)
{
    const int64_t heads = a->by_rows ? a->out.v.shape[2] : 1;
    *row = heads * a->width;
    const int64_t element =
        (job / heads * a->rows + first) * *row + (a->by_rows ? job % heads * a->width : 0);
    return operand_host(&a->out, a->bindings) + element * (int64_t)ig_dtype_bytes(a->dtype);
}

static const uint8_t *mask_at(const attention *a, int64_t job)
{
    return a->masked
               ? (const uint8_t *)operand_host(&a->mask, a->bindings) + job / a->heads * a->keys
               : NULL;
}

/* The bias of the scores of row `first` of a product; NULL: none. The following rows' biases are *row elements apart. The
 * mask has the query's axes, or axes of length 1. */
static const float *bias_at(const attention *a, int64_t job, int64_t first, int64_t *row)
{
    const view *m = &a->mask.v, *q = &a->in[QUERY].v;
    int64_t offset = 0;
    if (!a->biased)
        return NULL;
    *row = m->shape[m->ndim - 2] > 1 ? m->stride[m->ndim - 2] : 0;
    for (int axis = q->ndim - 3; axis >= 0; axis--) {
        offset += m->shape[axis] > 1 ? job % q->shape[axis] * m->stride[axis] : 0;
        job /= q->shape[axis];
    }
    return (const float *)operand_host(&a->mask, a->bindings) + offset + first * *row;
}

static void widen_rows(const attention *a, float *to, const char *from, int64_t n, int64_t row)
{
    const int64_t size = (int64_t)ig_dtype_bytes(a->dtype);
    if (row == a->width)
        a->convert(a->dtype, IG_F32, n * row, to, 1, from, 1);
    for (int64_t i = 0; i < n && row != a->width; i++)
        a->convert(a->dtype, IG_F32, a->width, to + i * a->width, 1, from + i * row * size, 1);
}

/* Packs the keys and values of a product. Keys of whole panels are only transposed. */
static void pack(const attention *a, char *keys, char *values, int64_t job)
{
    const gemm_kernel *g = a->matrices;
    const int64_t n = a->keys, row = row_of(a, KEY) * g->element_bytes;
    const int64_t whole = a->width == a->width_padded && row % 4 == 0 ? n / g->nr * g->nr : 0;
    const char *from = rows_at(a, KEY, job);
    for (int64_t j = 0; j < whole; j += g->nr)
        a->level->turn_keys_bf16(keys + j * a->width * g->element_bytes, from + j * row, row, g->nr,
                                 a->width);
    if (whole < n)
        g->pack_n(keys + whole * a->width_padded * g->element_bytes, from, n - whole,
                  a->offset + whole, a->width, NULL);
    g->pack_n(values, rows_at(a, VALUE, job), a->width, a->offset + 2 * n, n, a->offset + n);
}

/* The keys and values of a product in f32, as rows: in place, or converted in the worker's scratch. */
static attend_rows keys_of(const attention *a, char *scratch, int64_t job)
{
    attend_rows r = {.keys = a->keys, .width = a->width, .k_row = a->width, .v_row = a->width};
    if (a->way == WIDENED) {
        r.k = (const float *)(scratch + a->at.prepared[KEY]);
        r.v = (const float *)(scratch + a->at.prepared[VALUE]);
        return r;
    }
    r.k = (const float *)rows_at(a, KEY, job);
    r.v = (const float *)rows_at(a, VALUE, job);
    r.k_row = row_of(a, KEY);
    r.v_row = row_of(a, VALUE);
    return r;
}

/* Makes the keys and values of a product ready in the worker's scratch. */
static void hold(attention *a, int worker, char *scratch, int64_t job)
{
    char *keys = scratch + a->at.prepared[KEY], *values = scratch + a->at.prepared[VALUE];
    if (a->holds[worker] == job)
        return;
    a->holds[worker] = job;
    if (a->way == MATRICES) {
        pack(a, keys, values, job);
        return;
    }
    if (a->way == WIDENED) {
        widen_rows(a, (float *)keys, rows_at(a, KEY, job), a->keys, row_of(a, KEY));
        widen_rows(a, (float *)values, rows_at(a, VALUE, job), a->keys, row_of(a, VALUE));
    }
    if (a->level->pack_f32) {
        const attend_rows r = keys_of(a, scratch, job);
        a->level->pack_f32(&r, (float *)(scratch + a->at.packed[KEY]),
                           (float *)(scratch + a->at.packed[VALUE]));
    }
}

static void run_lanes(attention *a, char *scratch, int64_t job, int64_t first, int64_t n)
{
    const int64_t size = (int64_t)ig_dtype_bytes(a->dtype);
    int64_t row;
    char *out = result_at(a, job, first, &row);
    const char *q = rows_at(a, QUERY, job) + first * row_of(a, QUERY) * size;
    attend_rows r = keys_of(a, scratch, job);
    r.rows = n;
    r.scale = a->scale;
    r.mask = mask_at(a, job);
    r.bias = bias_at(a, job, first, &r.bias_row);
    r.undefined = a->undefined;
    r.last = a->causal ? first : -1;
    r.seen = a->causal && first + n < a->keys ? first + n : a->keys;
    r.scratch = (float *)(scratch + a->at.scores);
    if (a->level->pack_f32) {
        r.k = (const float *)(scratch + a->at.packed[KEY]);
        r.v = (const float *)(scratch + a->at.packed[VALUE]);
    }
    if (a->way == IN_PLACE) {
        r.q = (const float *)q;
        r.q_row = row_of(a, QUERY);
        r.out = (float *)out;
        r.out_row = row;
        a->level->rows_f32(&r);
        return;
    }
    float *wide = (float *)(scratch + a->at.prepared[QUERY]);
    widen_rows(a, wide, q, n, row_of(a, QUERY));
    r.q = wide;
    r.q_row = r.out_row = a->width;
    r.out = (float *)(scratch + a->at.result);
    a->level->rows_f32(&r);
    for (int64_t i = 0; i < n; i++)
        a->convert(IG_F32, a->dtype, a->width, out + i * row * size, 1, r.out + i * a->width, 1);
}

/* The rows of the query as matrix instructions read them: in place, or padded with zeros. */
static const char *query_of(const attention *a, char *to, const char *from, int64_t n, int64_t *row)
{
    const int64_t size = a->matrices->element_bytes, step = row_of(a, QUERY) * size;
    *row = step;
    if (n == a->tile && a->width == a->width_padded)
        return from;
    *row = a->width_padded * size;
    memset(to, 0, (size_t)(a->tile * *row));
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * *row, from + i * step, (size_t)(a->width * size));
    return to;
}

static void run_matrices(attention *a, char *scratch, int64_t job, int64_t first, int64_t n)
{
    const gemm_kernel *g = a->matrices;
    const int64_t size = g->element_bytes;
    int64_t q_row, row;
    char *out = result_at(a, job, first, &row);
    const char *q = query_of(a, scratch + a->at.prepared[QUERY],
                             rows_at(a, QUERY, job) + first * row_of(a, QUERY) * size, n, &q_row);
    float *scores = (float *)(scratch + a->at.scores), *result = (float *)(scratch + a->at.result);
    float *sum = (float *)(scratch + a->at.sums);
    uint16_t *const weights[2] = {(uint16_t *)(scratch + a->at.weights),
                                  (uint16_t *)(scratch + a->at.rests)};
    g->panels(&(gemm_panels){.n = a->keys_padded / g->nr,
                             .k = a->width_padded,
                             .parts = 1,
                             .a = {q},
                             .a_row = q_row,
                             .b = scratch + a->at.prepared[KEY],
                             .c = scores,
                             .ldc = a->keys_padded});
    a->level->weigh_bf16(&(attend_scores){.rows = n,
                                          .keys = a->keys,
                                          .padded = a->keys_padded,
                                          .scores = scores,
                                          .scale = a->scale,
                                          .mask = mask_at(a, job),
                                          .last = a->causal ? first : -1,
                                          .weight = weights[0],
                                          .rest = weights[1],
                                          .sum = sum});
    g->panels(&(gemm_panels){.n = a->width_padded / g->nr,
                             .k = a->keys_padded,
                             .parts = 2,
                             .a = {weights[0], weights[1]},
                             .a_row = a->keys_padded * size,
                             .b = scratch + a->at.prepared[VALUE],
                             .c = result,
                             .ldc = a->width_padded});
    for (int64_t i = 0; i < n; i++)
        a->level->divide_bf16(a->width, (uint16_t *)(out + i * row * size),
                              result + i * a->width_padded, sum[i]);
}

static void task_run(void *context, int64_t task, int worker)
{
    attention *a = context;
    char *scratch = scratch_of(worker);
    const int64_t job = task / a->tiles, first = task % a->tiles * a->tile;
    const int64_t n = a->rows - first < a->tile ? a->rows - first : a->tile;
    hold(a, worker, scratch, job);
    (a->way == MATRICES ? run_matrices : run_lanes)(a, scratch, job, first, n);
}

/* Launches run one at a time (the engine's lock), so the plan also holds the state of this launch. */
ig_status cpu_attention(const program *p, const binding *b)
{
    attention *a = p->compiled;
    a->bindings = b;
    for (int i = 0; i < pool_threads(); i++)
        a->holds[i] = -1;
    pool_run_cancellable(a->jobs * a->tiles, task_run, a);
    return IG_OK;
}
