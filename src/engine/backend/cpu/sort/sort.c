/* SORT and ARGSORT: sorts each row by keys or codes (sort_key.h). Both directions are stable.
 *
 * The sort moves items. To sort values, an item is an element's code alone: equal codes are equal
 * elements; zeros and NaNs are restored to their original order afterwards. To get indices, an item
 * is a key and an index. Short rows are distributed over the cores and sorted in a worker's
 * scratch: very short ones by merging, the others by radix sort from the lowest digit. sort_long.c
 * sorts long rows; top_k.c finds the first few elements of a row. */
#include "engine/backend/cpu/sort/sort.h"

#include "engine/backend/cpu/elements/elements.h"
#include "engine/backend/cpu/elements/rows.h"
#include "engine/backend/cpu/lanes/rows.h"

#include "base/memory.h"
#include "base/threads.h"

#include <string.h>

enum {
    RUN = 8,                /* items of a run, which is sorted at once */
    MERGE_FEW = 64,         /* merge if there are at most this many items for each digit */
    WIDE_DIGITS = 6000,     /* from this many items on, digits have their full width */
    SORT_SCRATCH = 1 << 19, /* most bytes of items for which the workers' scratch is used */
    STRIP_BYTES = 1 << 18,  /* rows that are read together */
    SELECT_SHARE = 4        /* select instead of sorting, if at most one in this many elements is
                             * wanted */
};

#define DTYPE(id, name, standard, lane, kind, bytes) [IG_##id] = ORDER_##kind(bytes, name),
#define ORDER_ALL(bytes) (UINT64_MAX >> (64 - 8 * bytes))
#define ORDER_TOP(bytes) ((uint64_t)1 << (8 * bytes - 1))
/* clang-format off */
#define ORDER_BOOL(bytes, name) {bytes, ORDER_ALL(bytes), 0, 0}
#define ORDER_UNSIGNED(bytes, name) {bytes, ORDER_ALL(bytes), 0, 0}
#define ORDER_SIGNED(bytes, name) {bytes, ORDER_ALL(bytes), ORDER_TOP(bytes), 0}
#define ORDER_FLOAT(bytes, name) {bytes, ORDER_ALL(bytes), ORDER_TOP(bytes), INFINITY_##name}
/* clang-format on */
#define INFINITY_f16 0x7c00
#define INFINITY_bf16 0x7f80
#define INFINITY_f32 0x7f800000
#define INFINITY_f64 0x7ff0000000000000

sort_order sort_order_of(ig_dtype dtype, bool descending)
{
    static const struct {
        int bytes;
        uint64_t all, sign, infinity;
    } facts[DTYPE_COUNT] = {
#include "base/dtype.def"
    };
    const uint64_t all = facts[dtype].all, sign = facts[dtype].sign;
    const uint64_t infinity = facts[dtype].infinity;
    sort_order o = {.bytes = facts[dtype].bytes, .all = all, .sign = sign, .last = all};
    o.turn = descending ? all : 0;
    if (infinity) {
        o.is_float = true;
        o.negative = all;
        o.base = all & ~(sign | infinity);
        o.zero = sign - 1 - o.base;
        o.last = (sign | infinity) - o.base;
    }
    return o;
}

/* ---- items ---- */

/* How items are cut into digits. */
typedef struct digits {
    int n, bits, low;
} digits;

/* Few items do not pay for many counters. */
static digits digits_of(int64_t n, int low, int high)
{
    const int most = n < WIDE_DIGITS ? 8 : DIGIT, count = (high - low + most - 1) / most;
    return (digits){count, (high - low + count - 1) / count, low};
}

/* Turns counts into the positions where each value begins. */
static void places_of(uint64_t *place, uint64_t values)
{
    uint64_t next = 0;
    for (uint64_t v = 0; v < values; v++) {
        const uint64_t count = place[v];
        place[v] = next;
        next += count;
    }
}

typedef struct sort_pair {
    uint64_t key, place;
} sort_pair;

#if defined(__clang__)
#define SORT_UNROLL _Pragma("unroll")
#else
#define SORT_UNROLL _Pragma("GCC unroll 8")
#endif

#define SORT_JOIN(name, size) name##_##size
#define SORT_NAME(name, size) SORT_JOIN(name, size)
#define SORT(name) SORT_NAME(name, SIZE)

#define KEY(item) (item)
#define CODES
#define ITEM uint32_t
#define K uint32_t
#define SIZE short
#include "engine/backend/cpu/sort/sort.inc"
#undef ITEM
#undef K
#undef SIZE

#define PLACES
#define ITEM uint64_t
#define K uint64_t
#define SIZE wide
#include "engine/backend/cpu/sort/sort.inc"
#undef KEY
#undef CODES
#undef ITEM
#undef SIZE

#define KEY(item) (item).key
#define ITEM sort_pair
#define SIZE pairs
#include "engine/backend/cpu/sort/sort.inc"
#undef KEY
#undef PLACES
#undef ITEM
#undef K
#undef SIZE

static void make_codes(const sort_job *j, int64_t first, int64_t n, const void *elements,
                       void *items)
{
    (void)first;
    j->level->rows->codes(&j->o, j->way->bytes == 8, n, items, elements);
}

static void give_elements(const sort_job *j, int64_t n, void *out, const void *items)
{
    j->level->rows->elements(&j->o, j->way->bytes == 8, n, out, items);
}

static void make_places(const sort_job *j, int64_t first, int64_t n, const void *elements,
                        void *items)
{
    uint32_t key[TAPE_BLOCK];
    uint64_t *x = items;
    j->level->rows->keys(&j->o, false, n, key, elements);
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint64_t)key[i] << 32 | (uint64_t)(first + i);
}

static void pick_places(int64_t n, int64_t first, const void *keys, const int32_t *at, void *items)
{
    uint64_t *x = items;
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint64_t)((const uint32_t *)keys)[i] << 32 | (uint64_t)(first + at[i]);
}

static void give_places(const sort_job *j, int64_t n, void *out, const void *items)
{
    (void)j;
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)out)[i] = (int64_t)(((const uint64_t *)items)[i] & UINT32_MAX);
}

static void make_pairs(const sort_job *j, int64_t first, int64_t n, const void *elements,
                       void *items)
{
    uint64_t key[TAPE_BLOCK];
    sort_pair *x = items;
    j->level->rows->keys(&j->o, true, n, key, elements);
    for (int64_t i = 0; i < n; i++)
        x[i] = (sort_pair){key[i], (uint64_t)(first + i)};
}

static void pick_pairs(int64_t n, int64_t first, const void *keys, const int32_t *at, void *items)
{
    sort_pair *x = items;
    for (int64_t i = 0; i < n; i++)
        x[i] = (sort_pair){((const uint64_t *)keys)[i], (uint64_t)(first + at[i])};
}

static void give_pairs(const sort_job *j, int64_t n, void *out, const void *items)
{
    (void)j;
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)out)[i] = (int64_t)((const sort_pair *)items)[i].place;
}

static const sort_way values_short = {
    .bytes = sizeof(uint32_t),
    .make = make_codes,
    .give = give_elements,
    .sort = sort_short,
    .differ = differ_short,
    .count = count_short,
    .share = share_short,
    .fill = fill_short,
};
static const sort_way values_long = {
    .bytes = sizeof(uint64_t),
    .make = make_codes,
    .give = give_elements,
    .sort = sort_wide,
    .differ = differ_wide,
    .count = count_wide,
    .share = share_wide,
    .fill = fill_wide,
};
static const sort_way places_long = {
    .bytes = sizeof(uint64_t),
    .make = make_places,
    .give = give_places,
    .sort = sort_wide,
    .differ = differ_wide,
    .count = count_wide,
    .share = share_wide,
    .pick = pick_places,
    .count_in = count_in_wide,
    .keep = keep_wide,
};
static const sort_way places_pair = {
    .wide = true,
    .bytes = sizeof(sort_pair),
    .make = make_pairs,
    .give = give_pairs,
    .sort = sort_pairs,
    .differ = differ_pairs,
    .count = count_pairs,
    .share = share_pairs,
    .pick = pick_pairs,
    .count_in = count_in_pairs,
    .keep = keep_pairs,
};

static const sort_way *way_of(const program *p)
{
    const bool wide = ig_dtype_bytes(p->in[0].dtype) == 8;
    if (p->kind == PROGRAM_SORT)
        return wide ? &values_long : &values_short;
    return wide || p->inner > UINT32_MAX ? &places_pair : &places_long;
}

/* ---- reading and writing ---- */

const void *sort_read(const sort_job *j, int64_t row, int64_t first, int64_t n, void *chunk)
{
    const operand *o = &j->p->in[0];
    const int64_t start = row * j->p->inner + first;
    const void *place = elements_in_place(o, operand_host(o, j->b), start, n);
    if (place)
        return place;
    elements_read(o, j->b, start, n, chunk);
    return chunk;
}

static uint64_t code_at(const sort_job *j, const void *items, int64_t i)
{
    return j->way->bytes == 8 ? ((const uint64_t *)items)[i] : ((const uint32_t *)items)[i];
}

static bool has_code(const sort_job *j, int64_t n, const void *items, uint64_t code)
{
    int64_t first = 0;
    for (int64_t left = n; left > 1; left -= left / 2)
        first += code_at(j, items, first + left / 2 - 1) < code ? left / 2 : 0;
    return code_at(j, items, first) == code;
}

static int seen_in(const sort_job *j, int64_t n, const void *items)
{
    const uint64_t zero = j->o.zero;
    if (!j->o.is_float || !j->values)
        return 0;
    const uint64_t first = code_at(j, items, 0), last = code_at(j, items, n - 1);
    int seen = last > j->o.last ? SORT_NAN : 0;
    if (first <= zero + 1 && last >= zero) {
        seen |= has_code(j, n, items, zero) ? SORT_ZERO : 0;
        seen |= has_code(j, n, items, zero + 1) ? SORT_OTHER_ZERO : 0;
    }
    return seen;
}

int sort_write(const sort_job *j, int64_t row, int64_t first, int64_t n, const void *items,
               void *chunk)
{
    const operand *o = &j->p->out;
    const int64_t start = row * j->p->kept + first, left = j->p->kept - first;
    if (left <= 0)
        return 0;
    n = n < left ? n : left;
    char *place = elements_in_place(o, operand_host(o, j->b), start, n);
    const int seen = seen_in(j, n, items);
    j->way->give(j, n, place ? place : chunk, items);
    if (!place)
        elements_write(o, j->b, start, n, chunk);
    return seen;
}

/* Elements on their way to positions `at` and on of the row. */
typedef struct mend_run {
    int64_t at, n;
    char *elements; /* room for TAPE_BLOCK */
} mend_run;

static void mend_flush(const sort_job *j, int64_t row, mend_run *r)
{
    elements_write(&j->p->out, j->b, row * j->p->inner + r->at, r->n, r->elements);
    r->at += r->n;
    r->n = 0;
}

static void mend_add(const sort_job *j, int64_t row, mend_run *r, const char *element)
{
    memcpy(r->elements + r->n++ * j->o.bytes, element, (size_t)j->o.bytes);
    if (r->n == TAPE_BLOCK)
        mend_flush(j, row, r);
}

void sort_mend(const sort_job *j, int64_t row, int seen, char *scratch)
{
    const int both = SORT_ZERO | SORT_OTHER_ZERO;
    const bool zeros = (seen & both) == both, nans = (seen & SORT_NAN) != 0;
    const int64_t inner = j->p->inner;
    char *chunk = scratch + SORT_COUNTS;
    uint64_t *codes = (uint64_t *)(chunk + SORT_CHUNK);
    mend_run zero = {.elements = chunk + 2 * SORT_CHUNK}, nan = {.at = inner};
    nan.elements = chunk + 3 * SORT_CHUNK;
    for (int pass = 0; pass < 2 && (zeros || nans); pass++) {
        for (int64_t i = 0; i < inner; i += TAPE_BLOCK) {
            const int64_t n = inner - i < TAPE_BLOCK ? inner - i : TAPE_BLOCK;
            const char *x = sort_read(j, row, i, n, chunk);
            j->level->rows->codes(&j->o, true, n, codes, x);
            for (int64_t k = 0; k < n; k++) {
                if (pass == 0) {
                    zero.at += codes[k] < j->o.zero;
                    nan.at -= codes[k] > j->o.last;
                } else if (zeros && codes[k] - j->o.zero <= 1)
                    mend_add(j, row, &zero, x + k * j->o.bytes);
                else if (nans && codes[k] > j->o.last)
                    mend_add(j, row, &nan, x + k * j->o.bytes);
            }
        }
    }
    mend_flush(j, row, &zero);
    mend_flush(j, row, &nan);
}

/* ---- rows ---- */

static size_t round_up(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static bool is_short(const program *p)
{
    return 2 * (size_t)p->inner <= SORT_SCRATCH / way_of(p)->bytes;
}

/* The number of rows that are read together, if they are not contiguous. */
static int64_t strip_width(const program *p)
{
    const int64_t together = rows_together(&p->in[0]);
    const int64_t most = STRIP_BYTES / ((p->inner + 16) * (int64_t)ig_dtype_bytes(p->in[0].dtype));
    return together < most ? together : most > 0 ? most : 1;
}

static size_t strip_bytes(const program *p)
{
    return round_up((size_t)(strip_width(p) * (p->inner + 16)) * ig_dtype_bytes(p->in[0].dtype));
}

size_t cpu_sort_scratch(const program *p)
{
    if (!is_short(p))
        return SORT_FIXED;
    return SORT_FIXED + 2 * round_up((size_t)p->inner * way_of(p)->bytes) + strip_bytes(p);
}

/* A few indices of a row are found without sorting it. */
static bool is_selected(const program *p)
{
    return way_of(p)->pick && p->kept <= p->inner / SELECT_SHARE;
}

static void sort_row(const sort_job *j, int64_t row, const char *elements, char *scratch)
{
    const int64_t inner = j->p->inner;
    const size_t item = j->way->bytes, half = round_up((size_t)inner * item);
    char *x = scratch + SORT_FIXED;
    for (int64_t i = 0; i < inner; i += TAPE_BLOCK)
        j->way->make(j, i, inner - i < TAPE_BLOCK ? inner - i : TAPE_BLOCK,
                     elements + i * j->o.bytes, x + (size_t)i * item);
    const char *sorted = j->way->sort(inner, x, x + half, j->low, j->high, (uint64_t *)scratch);
    int seen = 0;
    for (int64_t i = 0; i < inner; i += TAPE_BLOCK)
        seen |= sort_write(j, row, i, inner - i < TAPE_BLOCK ? inner - i : TAPE_BLOCK,
                           sorted + (size_t)i * item, scratch + SORT_COUNTS);
    if (seen)
        sort_mend(j, row, seen, scratch);
}

static void sort_strip(const sort_job *j, int64_t strip, char *scratch)
{
    const operand *o = &j->p->in[0];
    const int64_t row = strip * j->width, left = j->p->outer - row, inner = j->p->inner;
    const int64_t rows = left < j->width ? left : j->width;
    const char *x =
        rows == 1 ? elements_in_place(o, operand_host(o, j->b), row * inner, inner) : NULL;
    if (!x) {
        char *read = scratch + SORT_FIXED + 2 * round_up((size_t)inner * j->way->bytes);
        rows_read(o, j->b, inner, row, rows, 0, inner, read, inner + 16);
        x = read;
    }
    for (int64_t r = 0; r < rows; r++)
        (is_selected(j->p) ? select_row : sort_row)(j, row + r, x + r * (inner + 16) * j->o.bytes,
                                                    scratch);
}

static void task_strips(void *ctx, int64_t task, int worker)
{
    const sort_job *j = ctx;
    for (int64_t s = task * j->group; s < j->strips && s < (task + 1) * j->group; s++)
        sort_strip(j, s, scratch_of(worker));
}

static void task_long(void *ctx, int64_t task, int worker)
{
    const sort_job *j = ctx;
    for (int64_t row = task; row < j->p->outer; row += j->tasks)
        sort_long(j, row, j->space + (size_t)task * j->bytes, worker);
}

/* Long rows allocate memory for the launch only: it may be as large as the arrays. A single row is
 * sorted by all cores together. */
static ig_status sort_long_rows(sort_job *j)
{
    const int threads = pool_threads();
    j->tasks = j->p->outer < threads ? 1 : threads;
    j->bytes = round_up(sort_long_bytes(j));
    j->space = memory_data_get((size_t)j->tasks * j->bytes);
    if (!j->space)
        return IG_ERR_MEMORY;
    pool_run(j->tasks, task_long, j);
    memory_data_free(j->space, (size_t)j->tasks * j->bytes);
    return IG_OK;
}

size_t cpu_sort_bytes(const program *p)
{
    const sort_job j = {.p = p, .way = way_of(p)};
    const int threads = pool_threads();
    if (is_short(p) || p->outer == 0 || p->kept == 0)
        return 0;
    return is_selected(p)
               ? select_long_bytes(&j)
               : (size_t)(p->outer < threads ? 1 : threads) * round_up(sort_long_bytes(&j));
}

ig_status cpu_sort(const program *p, const binding *b)
{
    sort_job j = {.p = p, .b = b, .level = cpu_level_now(), .way = way_of(p)};
    if (p->outer == 0 || p->kept == 0)
        return IG_OK;
    j.o = sort_order_of(p->in[0].dtype, p->descending);
    j.values = p->kind == PROGRAM_SORT;
    j.low = j.way == &places_long ? 32 : 0;
    j.high = j.low + 8 * j.o.bytes;
    if (!is_short(p))
        return is_selected(p) ? select_long_rows(&j) : sort_long_rows(&j);
    j.width = strip_width(p);
    j.strips = (p->outer + j.width - 1) / j.width;
    const int64_t work = j.width * p->inner * 16;
    j.group = work < TASK_WORK ? TASK_WORK / work : 1;
    pool_run((j.strips + j.group - 1) / j.group, task_strips, &j);
    return IG_OK;
}
