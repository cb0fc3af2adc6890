/* Attention's inner loops: see attend.h. */
#include "engine/backend/cpu/lanes/attend.h"

#include "engine/backend/cpu/lanes/gemm.h"
#include "engine/backend/cpu/lanes/lane_math.h"
#include "engine/backend/cpu/lanes/simd_attend.h"

#if defined(__aarch64__)
#include "engine/backend/cpu/lanes/exp_neon.h"
#include "engine/backend/cpu/lanes/tile_neon.h"
#endif

enum {
    LANES = SIMD_LANES,
#if defined(__aarch64__)
    ROWS = 3 * LANES, /* of the query, in adjacent lanes: the width of tile_neon.h */
    GROUPS = 2,       /* of ROWS rows, which take turns with a tile of keys or values */
    TILE = 8,
#else
    ROWS = 2 * LANES, /* of the query, in two registers */
    GROUPS = 1,
    /* Rows of a tile of sums. They fit the registers: two for each row, two for the query and one for a factor. */
    TILE = SIMD_BYTES == 32 ? 4 : 8,
#endif
};

_Static_assert((int)GROUPS *(int)ROWS <= (int)ATTEND_ROWS_MOST, "see attend.h");

#define INLINE static inline __attribute__((always_inline))
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/* ---- products ---- */

#if !defined(__aarch64__)
/* What becomes of a sum: it replaces the old one, is added to it, or goes on from it, one product after another. */
enum { REPLACE, ADD, GO_ON };

/* c[r * ROWS + l] becomes the sum over i < n of a[r * a_row + i * a_point] * b[i * ROWS + l], for r < rows, a
 * constant of at most TILE. Each register is a separate variable, as in gemm_tile.inc. */
INLINE void tile_sum(int rows, int64_t n, const float *a, int64_t a_row, int64_t a_point,
                     const float *b, float *c, int how)
{
    const simd_f32 zero = {0};
#define START(r) \
    simd_f32 x##r = how == GO_ON && r < rows ? simd_of_f32(c + r * ROWS) : zero; \
    simd_f32 y##r = how == GO_ON && r < rows ? simd_of_f32(c + r * ROWS + LANES) : zero; \
    const float *a##r = a + (r < rows ? r : 0) * a_row;
    EACH(START)
    SIMD_UNROLL_2
    for (int64_t i = 0; i < n; i++, b += ROWS) {
        const simd_f32 b0 = simd_of_f32(b), b1 = simd_of_f32(b + LANES);
#define STEP(r) \
    if (r < rows) { \
        const float factor = *a##r; \
        x##r = simd_fma_f32(x##r, b0, factor); \
        y##r = simd_fma_f32(y##r, b1, factor); \
        a##r += a_point; \
    }
        EACH(STEP)
    }
#define FINISH(r) \
    if (r < rows) { \
        float *to = c + r * ROWS; \
        simd_keep_f32(to, how == ADD ? simd_of_f32(to) + x##r : x##r); \
        simd_keep_f32(to + LANES, how == ADD ? simd_of_f32(to + LANES) + y##r : y##r); \
    }
    EACH(FINISH)
#undef START
#undef STEP
#undef FINISH
}

/* The same for any number of rows. */
INLINE void product(int64_t rows, int64_t n, const float *a, int64_t a_row, int64_t a_point,
                    const float *b, float *c, int how)
{
    int64_t r = 0;
    for (; r + TILE <= rows; r += TILE)
        tile_sum(TILE, n, a + r * a_row, a_row, a_point, b, c + r * ROWS, how);
    for (; r < rows; r++)
        tile_sum(1, n, a + r * a_row, a_row, a_point, b, c + r * ROWS, how);
}
#endif

/* ---- transposing ---- */

/* to[e * to_row + i] = from[i * from_row + e] for i < rows and e < width, times *by and divided by over[e] unless they
 * are NULL. Elements outside of whole squares of lanes are moved one by one. */
INLINE void turn(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows,
                 int64_t width, const float *by, const float *over)
{
    simd_f32 r[LANES];
    int64_t i = 0;
    for (; i + LANES <= rows; i += LANES) {
        int64_t e = 0;
        for (; e + LANES <= width; e += LANES) {
            SIMD_UNROLL_16
            for (int l = 0; l < LANES; l++) {
                r[l] = simd_of_f32(from + (i + l) * from_row + e);
                r[l] = by ? r[l] * *by : over ? r[l] / simd_of_f32(over + e) : r[l];
            }
            simd_turn_f32(r);
            SIMD_UNROLL_16
            for (int l = 0; l < LANES; l++)
                simd_keep_f32(to + (e + l) * to_row + i, r[l]);
        }
        for (; e < width; e++)
            for (int l = 0; l < LANES; l++) {
                const float x = from[(i + l) * from_row + e];
                to[e * to_row + i + l] = by ? x * *by : over ? x / over[e] : x;
            }
    }
    for (; i < rows; i++)
        for (int64_t e = 0; e < width; e++) {
            const float x = from[i * from_row + e];
            to[e * to_row + i] = by ? x * *by : over ? x / over[e] : x;
        }
}

/* to[e * ROWS + i] = q[i * row + e] * scale; 0 after the last row. */
static void turn_in(const attend_rows *a, float *to)
{
    if (a->rows < ROWS)
        memset(to, 0, (size_t)(a->width * ROWS) * sizeof *to);
    turn(to, ROWS, a->q, a->q_row, a->rows, a->width, &a->scale, NULL);
}

/* out[i * row + e] = from[e * ROWS + i] / sum[i] */
static void turn_out(const attend_rows *a, const float *from, const float *sum)
{
    turn(a->out, a->out_row, from, ROWS, a->width, a->rows, NULL, sum);
}

/* ---- softmax ---- */

/* Adds the bias, and sets the scores of keys that a row does not attend to to -inf. */
static void hide(const attend_rows *a, float *scores)
{
    for (int64_t j = 0; a->bias && j < a->seen; j++)
        for (int64_t l = 0; l < a->rows; l++)
            scores[j * ROWS + l] += a->bias[l * a->bias_row + j];
    for (int64_t j = 0; a->mask && j < a->seen; j++)
        for (int l = 0; !a->mask[j] && l < ROWS; l++)
            scores[j * ROWS + l] = -INFINITY;
    for (int64_t j = a->last + 1; a->last >= 0 && j < a->seen; j++)
        for (int l = 0; l < ROWS && a->last + l < j; l++)
            scores[j * ROWS + l] = -INFINITY;
}

/* The largest score of each row, or 0 if all are -inf. Returns true if the differences of the first `open` keys are all in
 * the near path of exp, and therefore finite. */
static bool find_most(int64_t keys, int64_t open, const float *scores, float *most)
{
    enum { REGISTERS = ROWS / LANES };
    simd_f32 high[REGISTERS], low[REGISTERS], none[REGISTERS];
    float top[ROWS], bottom[ROWS], zero[ROWS];
    bool near = true;
    SIMD_UNROLL_4 for (int r = 0; r < REGISTERS; r++)
    {
        high[r] = low[r] = simd_of_f32(scores + r * LANES);
        none[r] = (simd_f32){0};
    }
    for (int64_t j = 0; j < open; j++, scores += ROWS)
        SIMD_UNROLL_4 for (int r = 0; r < REGISTERS; r++)
        {
            const simd_f32 x = simd_of_f32(scores + r * LANES);
            high[r] = simd_larger_f32(x, high[r]);
            low[r] = simd_smaller_f32(x, low[r]);
            if (!SIMD_LARGER_NAN)
                none[r] = simd_fma_f32(none[r], x, 0); /* NaN if x is not finite */
        }
    for (int64_t j = open; j < keys; j++, scores += ROWS)
        SIMD_UNROLL_4 for (int r = 0; r < REGISTERS; r++) high[r] =
            simd_larger_f32(simd_of_f32(scores + r * LANES), high[r]);
    SIMD_UNROLL_4 for (int r = 0; r < REGISTERS; r++)
    {
        simd_keep_f32(top + r * LANES, high[r]);
        simd_keep_f32(bottom + r * LANES, low[r]);
        simd_keep_f32(zero + r * LANES, none[r]);
    }
    for (int i = 0; i < ROWS; i++) {
        near &= zero[i] == 0 && top[i] - bottom[i] <= vm_exp_reach_f32;
        most[i] = top[i] == -INFINITY ? 0 : top[i];
    }
    return near;
}

/* scores = exp(scores - most); sum[j % FOLD_LANES] adds them, in order. */
#define EXPONENTIALS(name, function) \
    static void name(int64_t keys, float *scores, const float *most, float *sum) \
    { \
        for (int64_t j = 0; j < keys; j++) { \
            float *e = scores + j * ROWS, *to = sum + j % FOLD_LANES * ROWS, x[ROWS]; \
            for (int l = 0; l < ROWS; l++) \
                x[l] = function(e[l] - most[l]); \
            for (int l = 0; l < ROWS; l += LANES) { \
                simd_keep_f32(e + l, simd_of_f32(x + l)); \
                simd_keep_f32(to + l, simd_of_f32(to + l) + simd_of_f32(x + l)); \
            } \
        } \
    }
EXPONENTIALS(exponentials, m_exp)
#if !defined(__aarch64__)
EXPONENTIALS(exponentials_near, m_exp_near)
#endif

/* Joins the lanes of a chunk's sums into the first, by halving. */
static void halve(float *sum)
{
    for (int half = FOLD_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half * ROWS; j++)
            sum[j] += sum[j + half * ROWS];
}

#if defined(__aarch64__)
/* sum[j % FOLD_LANES] adds the rows starting at `scores`: at most PIECE rows, an even number. */
static void add_rows(int64_t keys, const float *scores, float *sum)
{
    for (int64_t j = 0; j < FOLD_LANES && j < keys; j++)
        for (int l = 0; l < ROWS; l += LANES) {
            simd_f32 x = simd_of_f32(sum + j * ROWS + l);
            for (int64_t i = j; i < keys; i += FOLD_LANES)
                x += simd_of_f32(scores + i * ROWS + l);
            simd_keep_f32(sum + j * ROWS + l, x);
        }
}

/* The same if all differences are in the near path, in pieces that stay in the L1 cache. */
static void exponentials_near(int64_t keys, float *scores, const float *most, float *sum)
{
    enum { PIECE = 128 };
    for (int64_t j = 0; j < keys; j += PIECE) {
        const int64_t now = keys - j < PIECE ? keys - j : PIECE;
        exp_neon((now + 1) / 2, scores + j * ROWS, scores + j * ROWS, most);
        add_rows(now, scores + j * ROWS, sum);
    }
}
#endif

/* Turns scores into weights. sum has FOLD_LANES rows, the first of which becomes the result, then room for one row of
 * each chunk. Chunks are joined as in reduce.c. A row that attends to nothing has weights of 0, and the sum 1, or 0 if its
 * result is NaN. */
static void weigh(const attend_rows *a, float *scores, float *most, float *sum)
{
    float *const chunks = sum + FOLD_LANES * ROWS;
    int depth = 0;
    /* The first keys, to which all rows attend; a multiple of FOLD_LANES. */
    const int64_t open =
        a->last < 0 || a->last >= a->seen ? a->seen : (a->last + 1) / FOLD_LANES * FOLD_LANES;
    hide(a, scores);
    const bool near = find_most(a->seen, open, scores, most);
    for (int64_t j = 0, done = 1; j < a->seen; j += TAPE_BLOCK, done++) {
        const int64_t now = a->seen - j < TAPE_BLOCK ? a->seen - j : TAPE_BLOCK;
        const int64_t left = open - j < now ? open - j : now, first = near && left > 0 ? left : 0;
        memset(sum, 0, FOLD_LANES * ROWS * sizeof *sum);
        if (first > 0)
            exponentials_near(first, scores + j * ROWS, most, sum);
        if (first < now)
            exponentials(now - first, scores + (j + first) * ROWS, most, sum);
        halve(sum);
        memcpy(chunks + depth++ * ROWS, sum, ROWS * sizeof *sum);
        const bool last = j + now == a->seen;
        for (int64_t k = done; depth > 1 && (last || k % 2 == 0); k /= 2, depth--)
            for (int l = 0; l < ROWS; l++)
                chunks[(depth - 2) * ROWS + l] += chunks[(depth - 1) * ROWS + l];
    }
    for (int l = 0; l < ROWS; l++)
        sum[l] = chunks[l] == 0 && !a->undefined ? 1 : chunks[l];
}

#if defined(__aarch64__)
/* Panels of TILE keys, and of TILE elements of the values: the TILE factors of a point are contiguous. The last panels
 * are padded with zeros. */
static void pack_f32(const attend_rows *a, float *keys, float *values)
{
    for (int64_t j = 0; j < a->keys; j += TILE, keys += TILE * a->width) {
        const int64_t n = a->keys - j < TILE ? a->keys - j : TILE;
        if (n < TILE)
            memset(keys, 0, (size_t)(TILE * a->width) * sizeof *keys);
        turn(keys, TILE, a->k + j * a->k_row, a->k_row, n, a->width, NULL, NULL);
    }
    for (int64_t e = 0; e < a->width; e += TILE) {
        const int64_t n = a->width - e < TILE ? a->width - e : TILE;
        const float *v = a->v + e;
        for (int64_t j = 0; j < a->keys; j++, values += TILE, v += a->v_row) {
            if (n == TILE) {
                memcpy(values, v, TILE * sizeof *values);
                continue;
            }
            memset(values, 0, TILE * sizeof *values);
            memcpy(values, v, (size_t)n * sizeof *values);
        }
    }
}

/* Multiplies n points of a panel with n points of ROWS rows. */
static void tile_of(int64_t n, const float *panel, const float *rows, float *to, bool add)
{
    const int64_t row = ROWS * sizeof(float);
    tile_neon_f32(n - 1, (const char *)panel, TILE * sizeof(float), (const char *)rows, row,
                  (char *)to, row, add);
}

/* ROWS rows of the query. */
typedef struct row_group {
    attend_rows a;
    float *query, *scores, *result, *most, *sum;
} row_group;

/* Forms groups of rows, each with its part of the scratch. Returns how many there are. */
static int make_groups(const attend_rows *a, int64_t keys, int64_t width, row_group *group)
{
    float *scratch = a->scratch;
    int n = 0;
    for (int64_t row = 0; row < a->rows; row += ROWS, n++) {
        row_group *g = &group[n];
        g->a = *a;
        g->a.q += row * a->q_row;
        g->a.out += row * a->out_row;
        g->a.bias += a->bias ? row * a->bias_row : 0;
        g->a.rows = a->rows - row < ROWS ? a->rows - row : ROWS;
        g->a.last += a->last >= 0 ? row : 0;
        g->query = scratch;
        g->result = g->query + a->width * ROWS;
        g->most = g->result + width * ROWS;
        g->sum = g->most + ROWS;
        g->scores = g->sum + (FOLD_LANES + ATTEND_CHUNKS) * ROWS;
        scratch = g->scores + (keys + 1) * ROWS; /* exp_neon reads one more row */
    }
    return n;
}

static void rows_f32(const attend_rows *a)
{
    const int64_t keys = (a->keys + TILE - 1) / TILE * TILE;
    const int64_t width = (a->width + TILE - 1) / TILE * TILE;
    const int64_t size = product_block(a->keys, PRODUCT_K);
    row_group group[GROUPS];
    const int n = make_groups(a, keys, width, group);
    for (int g = 0; g < n; g++)
        turn_in(&group[g].a, group[g].query);
    for (int64_t j = 0; j < a->seen; j += TILE)
        for (int g = 0; g < n; g++)
            tile_of(a->width, a->k + j * a->width, group[g].query, group[g].scores + j * ROWS,
                    false);
    for (int g = 0; g < n; g++)
        weigh(&group[g].a, group[g].scores, group[g].most, group[g].sum);
    for (int64_t j = 0; j < a->seen; j += size)
        for (int g = 0; g < n; g++)
            for (int64_t e = 0; e < width; e += TILE)
                tile_of(a->seen - j < size ? a->seen - j : size, a->v + e * a->keys + j * TILE,
                        group[g].scores + j * ROWS, group[g].result + e * ROWS, j > 0);
    for (int g = 0; g < n; g++)
        turn_out(&group[g].a, group[g].result, group[g].sum);
}
#else
/* The weighted sums of values: to[e * ROWS + l] for element e. */
static void sum_values(const attend_rows *a, const float *values, int64_t row, const float *weights,
                       float *to)
{
    const int64_t size = product_block(a->keys, PRODUCT_K);
    for (int64_t j = 0; j < a->seen; j += size) {
        const int64_t n = a->seen - j < size ? a->seen - j : size;
        const float *from = values + j * row, *by = weights + j * ROWS;
        if (j == 0)
            product(a->width, n, from, 1, row, by, to, REPLACE);
        else
            product(a->width, n, from, 1, row, by, to, ADD);
    }
}

static void rows_f32(const attend_rows *a)
{
    float *query = a->scratch, *sum = query + a->width * ROWS;
    float *most = sum + (FOLD_LANES + ATTEND_CHUNKS) * ROWS;
    float *result = most + ROWS, *scores = result + a->width * ROWS;
    turn_in(a, query);
    product(a->seen, a->width, a->k, a->k_row, 1, query, scores, REPLACE);
    weigh(a, scores, most, sum);
    sum_values(a, a->v, a->v_row, scores, result);
    turn_out(a, result, sum);
}

/* ---- the gradient ---- */

/* Blocks of ROWS columns, which are padded with zeros: to[(e / ROWS * ROWS + i) * ROWS + e % ROWS] = from[i * row + e]. */
static void cut_columns(float *to, const float *from, int64_t row, int64_t rows, int64_t width)
{
    for (int64_t e = 0; e < width; e += ROWS, to += ROWS * ROWS) {
        const int64_t n = width - e < ROWS ? width - e : ROWS;
        for (int64_t i = 0; i < rows; i++) {
            memcpy(to + i * ROWS, from + i * row + e, (size_t)n * sizeof *to);
            memset(to + i * ROWS + n, 0, (size_t)(ROWS - n) * sizeof *to);
        }
    }
}

/* The inverse, for sums whose blocks have `keys` rows. */
static void join_columns(float *to, const float *from, int64_t keys, int64_t width)
{
    for (int64_t e = 0; e < width; e += ROWS, from += keys * ROWS)
        for (int64_t j = 0; j < keys; j++)
            memcpy(to + j * width + e, from + j * ROWS,
                   (size_t)(width - e < ROWS ? width - e : ROWS) * sizeof *to);
}

/* sums of a key += the rows, times their weights for that key; one row after another. */
static void add_products(const attend_rows *a, const float *weights, const float *rows, float *sums)
{
    for (int64_t e = 0; e < a->width; e += ROWS, rows += ROWS * ROWS, sums += a->keys * ROWS)
        product(a->seen, a->rows, weights, ROWS, 1, rows, sums, GO_ON);
}

/* Divides the weights by their sums. Then the gradients of weights, dp, become those of scores before they were scaled. delta:
 * FOLD_LANES rows, of which the first becomes the sum of weights times their gradients. */
static void pull_weights(const attend_rows *a, float *weights, const float *sum, float *dp,
                         float *delta)
{
    float by[ROWS];
    for (int l = 0; l < ROWS; l++)
        by[l] = 1 / sum[l];
    memset(delta, 0, FOLD_LANES * ROWS * sizeof *delta);
    for (int64_t j = 0; j < a->seen; j++)
        for (int l = 0; l < ROWS; l += LANES) {
            float *w = weights + j * ROWS + l, *to = delta + j % FOLD_LANES * ROWS + l;
            const simd_f32 x = simd_of_f32(w) * simd_of_f32(by + l);
            simd_keep_f32(w, x);
            simd_keep_f32(to, simd_of_f32(to) + x * simd_of_f32(dp + j * ROWS + l));
        }
    halve(delta);
    for (int64_t j = 0; j < a->seen; j++)
        for (int l = 0; l < ROWS; l += LANES) {
            float *d = dp + j * ROWS + l;
            const simd_f32 x = simd_of_f32(d) - simd_of_f32(delta + l);
            simd_keep_f32(d, simd_of_f32(weights + j * ROWS + l) * x * a->scale);
        }
}

static void grad_f32(const attend_grad *a)
{
    const int64_t keys = a->keys, width = a->width, columns = (width + ROWS - 1) / ROWS * ROWS;
    float *query = a->scratch, *grad = query + width * ROWS, *result = grad + width * ROWS;
    float *query_columns = result + width * ROWS, *grad_columns = query_columns + columns * ROWS;
    float *most = grad_columns + columns * ROWS, *sum = most + ROWS;
    float *scores = sum + (FOLD_LANES + ATTEND_CHUNKS) * ROWS, *dp = scores + keys * ROWS;
    float *dk = dp + keys * ROWS, *dv = dk + columns * keys;
    memset(dk, 0, (size_t)(2 * columns * keys) * sizeof *dk);
    for (int64_t first = 0; first < a->rows; first += ROWS) {
        const int64_t n = a->rows - first < ROWS ? a->rows - first : ROWS;
        attend_rows r = {.rows = n,
                         .keys = keys,
                         .width = width,
                         .q = a->q + first * a->q_row,
                         .q_row = a->q_row,
                         .scale = a->scale,
                         .last = a->causal ? first : -1,
                         .seen = a->causal && first + n < keys ? first + n : keys};
        const attend_rows g = {
            .rows = n, .width = width, .q = a->g + first * a->g_row, .q_row = a->g_row, .scale = 1};
        turn_in(&r, query);
        turn_in(&g, grad);
        product(r.seen, width, a->k, a->k_row, 1, query, scores, REPLACE);
        product(r.seen, width, a->v, a->v_row, 1, grad, dp, REPLACE);
        weigh(&r, scores, most, sum);
        pull_weights(&r, scores, sum, dp, sum);
        cut_columns(query_columns, r.q, r.q_row, n, width);
        cut_columns(grad_columns, g.q, g.q_row, n, width);
        add_products(&r, scores, grad_columns, dv);
        add_products(&r, dp, query_columns, dk);
        sum_values(&r, a->k, a->k_row, dp, result);
        turn(a->dq + first * width, width, result, ROWS, width, n, NULL, NULL);
    }
    join_columns(a->dk, dk, keys, width);
    join_columns(a->dv, dv, keys, width);
}
#endif

/* ---- weights in bf16 ---- */

/* Keys to which row r does not attend get -inf. Returns the largest score, or 0 if all are -inf. */
static float hide_row(const attend_scores *s, int64_t r, float *scores)
{
    const int64_t most = s->last >= 0 ? s->last + r + 1 : s->keys;
    const int64_t n = most < s->keys ? most : s->keys;
    for (int64_t j = 0; s->mask && j < n; j++)
        scores[j] = s->mask[j] ? scores[j] : -INFINITY;
    for (int64_t j = n; j < s->padded; j++)
        scores[j] = -INFINITY;
    simd_f32 x = simd_of_f32(scores), y = simd_of_f32(scores + LANES);
    for (int64_t j = 0; j < s->padded; j += 2 * LANES) {
        x = simd_larger_f32(simd_of_f32(scores + j), x);
        y = simd_larger_f32(simd_of_f32(scores + j + LANES), y);
    }
    const float largest = simd_largest_f32(simd_larger_f32(x, y));
    return largest == -INFINITY ? 0 : largest;
}

static void weigh_bf16(const attend_scores *s)
{
    const float factor = s->scale * 1.44269504f; /* log2(e) */
    const simd_f32 zero = {0};
    for (int64_t r = 0; r < s->rows; r++) {
        float *scores = s->scores + r * s->padded;
        uint16_t *weight = s->weight + r * s->padded, *rest = s->rest + r * s->padded;
        const float most = hide_row(s, r, scores);
        simd_f32 sum[2] = {zero, zero};
        for (int64_t j = 0; j < s->padded; j += 2 * LANES) {
            const simd_f32 x = simd_power_f32((simd_of_f32(scores + j) - most) * factor);
            const simd_f32 y = simd_power_f32((simd_of_f32(scores + j + LANES) - most) * factor);
            sum[0] += x;
            sum[1] += y;
            simd_split_bf16(weight + j, rest + j, x, y);
        }
        const float all = simd_total_f32(sum[0] + sum[1]);
        s->sum[r] = all == 0 ? 1 : all;
    }
}

/* Two elements of bf16 are one lane of f32. */
static void turn_keys(void *to, const void *from, int64_t row_bytes, int64_t keys, int64_t width)
{
    turn(to, ATTEND_GROUP, from, row_bytes / (int64_t)sizeof(float), keys, width / 2, NULL, NULL);
}

static void divide_bf16(int64_t n, uint16_t *to, const float *from, float by)
{
    const float factor = 1 / by;
    LANE_LOOP for (int64_t i = 0; i < n; i++) to[i] = bf16_of_f32(from[i] * factor);
}

extern const attend_level PART(attend);
const attend_level PART(attend) = {
    .rows = GROUPS * ROWS,
    .keys_most = ATTEND_CHUNKS * TAPE_BLOCK,
#if defined(__aarch64__)
    .is_faster = true,
    .pack_f32 = pack_f32,
#else
    .is_faster = SIMD_BYTES >= 32,
    .grad_f32 = grad_f32,
#endif
    .rows_f32 = rows_f32,
    .turn_keys_bf16 = turn_keys,
    .weigh_bf16 = weigh_bf16,
    .divide_bf16 = divide_bf16,
};
