/* Attention's inner loops: see attend.h. */
#include "backend/cpu/lanes/attend.h"

#include "backend/cpu/lanes/gemm.h"
#include "backend/cpu/lanes/lane_math.h"
#include "backend/cpu/lanes/simd_attend.h"

enum {
    LANES = SIMD_LANES,
    ROWS = 2 * LANES, /* of the query, in two registers */
    /* Rows of a tile of sums: with two registers for each, two for the query and one for a factor, they fit. */
    TILE = SIMD_BYTES == 32 ? 4 : 8,
};

_Static_assert((int)ROWS <= (int)ATTEND_ROWS_MOST, "see attend.h");

#define INLINE static inline __attribute__((always_inline))
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/* ---- products ---- */

/* c[r * ROWS + l] = (or += if add) the sum over i < n of a[r * a_row + i * a_point] * b[i * ROWS + l], for r < rows, which is a
 * constant of at most TILE. Each register is a variable of its own, as in gemm_tile.inc. */
INLINE void tile_sum(int rows, int64_t n, const float *a, int64_t a_row, int64_t a_point,
                     const float *b, float *c, bool add)
{
    const simd_f32 zero = {0};
#define START(r) \
    simd_f32 x##r = zero, y##r = zero; \
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
        simd_keep_f32(to, add ? simd_of_f32(to) + x##r : x##r); \
        simd_keep_f32(to + LANES, add ? simd_of_f32(to + LANES) + y##r : y##r); \
    }
    EACH(FINISH)
#undef START
#undef STEP
#undef FINISH
}

/* The same for any number of rows. */
INLINE void product(int64_t rows, int64_t n, const float *a, int64_t a_row, int64_t a_point,
                    const float *b, float *c, bool add)
{
    int64_t r = 0;
    for (; r + TILE <= rows; r += TILE)
        tile_sum(TILE, n, a + r * a_row, a_row, a_point, b, c + r * ROWS, add);
    for (; r < rows; r++)
        tile_sum(1, n, a + r * a_row, a_row, a_point, b, c + r * ROWS, add);
}

/* ---- transposing ---- */

/* to[e * to_row + i] = from[i * from_row + e] for i < rows and e < width. Without a square of lanes, one by one. */
INLINE void turn(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows,
                 int64_t width)
{
    simd_f32 r[LANES];
    int64_t i = 0;
    for (; i + LANES <= rows; i += LANES) {
        int64_t e = 0;
        for (; e + LANES <= width; e += LANES) {
            SIMD_UNROLL_16
            for (int l = 0; l < LANES; l++)
                r[l] = simd_of_f32(from + (i + l) * from_row + e);
            simd_turn_f32(r);
            SIMD_UNROLL_16
            for (int l = 0; l < LANES; l++)
                simd_keep_f32(to + (e + l) * to_row + i, r[l]);
        }
        for (; e < width; e++)
            for (int l = 0; l < LANES; l++)
                to[e * to_row + i + l] = from[(i + l) * from_row + e];
    }
    for (; i < rows; i++)
        for (int64_t e = 0; e < width; e++)
            to[e * to_row + i] = from[i * from_row + e];
}

/* to[e * ROWS + i] = q[i * row + e] * scale; 0 after the last row. */
static void turn_in(const attend_rows *a, float *to)
{
    if (a->rows < ROWS)
        memset(to, 0, (size_t)(a->width * ROWS) * sizeof *to);
    turn(to, ROWS, a->q, a->q_row, a->rows, a->width);
    for (int64_t e = 0; e < a->width * ROWS; e++)
        to[e] *= a->scale;
}

/* out[i * row + e] = from[e * ROWS + i] / sum[i]; from is overwritten. */
static void turn_out(const attend_rows *a, float *from, const float *sum)
{
    for (int64_t e = 0; e < a->width; e++)
        for (int l = 0; l < ROWS; l++)
            from[e * ROWS + l] /= sum[l];
    turn(a->out, a->out_row, from, ROWS, a->width, a->rows);
}

/* ---- softmax ---- */

/* Scores to which rows do not attend become -inf. */
static void hide(const attend_rows *a, float *scores)
{
    for (int64_t j = 0; a->mask && j < a->keys; j++)
        for (int l = 0; !a->mask[j] && l < ROWS; l++)
            scores[j * ROWS + l] = -INFINITY;
    for (int64_t j = a->last + 1; a->last >= 0 && j < a->keys; j++)
        for (int l = 0; l < ROWS && a->last + l < j; l++)
            scores[j * ROWS + l] = -INFINITY;
}

/* The largest score of each row, or 0 if all are -inf. Returns true if all differences are in the near path of exp: then
 * they are finite numbers, too. */
static bool find_most(int64_t keys, const float *scores, float *most)
{
    bool near = true;
    for (int half = 0; half < ROWS; half += LANES) {
        const float *s = scores + half;
        simd_f32 high = simd_of_f32(s), low = high, none = {0};
        for (int64_t j = 0; j < keys; j++, s += ROWS) {
            const simd_f32 x = simd_of_f32(s);
            high = simd_larger_f32(x, high);
            low = simd_smaller_f32(x, low);
            none = simd_fma_f32(none, x, 0); /* NaN if x is not finite */
        }
        for (int l = 0; l < LANES; l++) {
            near &= none[l] == 0 && high[l] - low[l] <= vm_exp_reach_f32;
            most[half + l] = high[l] == -INFINITY ? 0 : high[l];
        }
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
EXPONENTIALS(exponentials_near, m_exp_near)

/* Scores become weights; sum has FOLD_LANES rows, of which the first is the result. A row that attends to nothing has weights of
 * 0, and the sum 1. */
static void weigh(const attend_rows *a, float *scores, float *most, float *sum)
{
    float none[ROWS];
    hide(a, scores);
    memset(sum, 0, FOLD_LANES * ROWS * sizeof *sum);
    const bool near = find_most(a->keys, scores, most);
    (near ? exponentials_near : exponentials)(a->keys, scores, most, sum);
    for (int half = FOLD_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half * ROWS; j++)
            sum[j] += sum[j + half * ROWS];
    for (int l = 0; l < ROWS; l++)
        none[l] = sum[l] == 0 ? 1 : sum[l];
    memcpy(sum, none, sizeof none);
}

static void rows_f32(const attend_rows *a)
{
    float *query = a->scratch, *sum = query + a->width * ROWS, *most = sum + FOLD_LANES * ROWS;
    float *result = most + ROWS, *scores = result + a->width * ROWS;
    const int64_t blocks = (a->keys + GEMM_KC - 1) / GEMM_KC,
                  size = (a->keys + blocks - 1) / blocks;
    turn_in(a, query);
    product(a->keys, a->width, a->k, a->k_row, 1, query, scores, false);
    weigh(a, scores, most, sum);
    for (int64_t j = 0; j < a->keys; j += size)
        product(a->width, a->keys - j < size ? a->keys - j : size, a->v + j * a->v_row, 1, a->v_row,
                scores + j * ROWS, result, j > 0);
    turn_out(a, result, sum);
}

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
    for (int64_t j = 0; j < s->padded; j += ROWS) {
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
        for (int64_t j = 0; j < s->padded; j += ROWS) {
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
    turn(to, ATTEND_GROUP, from, row_bytes / (int64_t)sizeof(float), keys, width / 2);
}

static void divide_bf16(int64_t n, uint16_t *to, const float *from, float by)
{
    const float factor = 1 / by;
    LANE_LOOP for (int64_t i = 0; i < n; i++) to[i] = bf16_of_f32(from[i] * factor);
}

extern const attend_level PART(attend);
const attend_level PART(attend) = {
    .rows = ROWS,
    .is_faster = SIMD_BYTES >= 32,
    .rows_f32 = rows_f32,
    .turn_keys_bf16 = turn_keys,
    .weigh_bf16 = weigh_bf16,
    .divide_bf16 = divide_bf16,
};
