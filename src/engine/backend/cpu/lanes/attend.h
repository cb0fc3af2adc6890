/* Loops of attention for one instruction set: implemented by lanes/attend.c, used by attention.c. All values are f32
 * lanes.
 *
 * Rows of the query are lanes: a matrix with a row for each key or element holds the values of `rows` query rows in
 * adjacent lanes. So keys and values are read in place, one factor at a time. The largest score of a row, its
 * exponentials and their sum need no operations across lanes. */
#ifndef CPU_ATTEND_H
#define CPU_ATTEND_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ATTEND_CHUNKS = 4,     /* most chunks of a sum over keys (reduce.c) */
    ATTEND_ROWS_MOST = 32, /* the largest `rows` of any level */
    ATTEND_GROUP = 32,     /* keys of a panel of bf16 */
};

/* Some rows of one product. Strides count elements. */
typedef struct attend_rows {
    int64_t rows, keys, width; /* rows of the query, keys, elements of a row; all > 0 */
    const float *q, *k,
        *v; /* keys and values; packed if the level has pack_f32, and their strides are then
             * ignored */
    int64_t q_row, k_row, v_row;
    float scale;
    const uint8_t *mask; /* for each key, whether rows attend to it; or NULL */
    const float *bias;   /* added to the scores: bias_row elements between rows; or NULL */
    int64_t bias_row;
    bool undefined; /* a row that attends to nothing is NaN, not 0 */
    int64_t last;   /* row 0 attends to keys 0 to last, each further row to one more; -1: to
                          * all */
    int64_t seen;   /* no row attends to keys from here on; at most `keys` */
    float *out;
    int64_t out_row;
    float *scratch; /* attend_scratch floats, aligned to 64 bytes */
} attend_rows;

/* The gradients of one product. All rows are contiguous, at the given distances. */
typedef struct attend_grad {
    int64_t rows, keys, width;  /* > 0 */
    const float *q, *k, *v, *g; /* g: the gradient of the result */
    int64_t q_row, k_row, v_row, g_row;
    float scale;
    bool causal;
    float *dq, *dk, *dv; /* width elements between rows */
    float *scratch;      /* attend_grad_scratch floats, aligned to 64 bytes */
} attend_grad;

/* Turns scores of some rows into weights. Each weight is the sum of two bf16 numbers: the rounded weight, and the
 * rounding error. */
typedef struct attend_scores {
    int64_t rows, keys;
    int64_t
        padded; /* keys of a row in memory, a multiple of ATTEND_GROUP; weights from `keys` on are 0 */
    float *scores;       /* overwritten */
    float scale;         /* > 0 */
    const uint8_t *mask; /* as above */
    int64_t last;
    uint16_t *weight, *rest;
    float *sum; /* of each row's weights; 1 if it attends to nothing */
} attend_scores;

struct attend_level {
    int rows;       /* that one call takes */
    bool is_faster; /* faster than the chain of programs of the op's definition */
    int64_t keys_most;
    /* Packs keys and values of a, into attend_packed floats each; NULL: rows_f32 reads them in place. */
    void (*pack_f32)(const attend_rows *a, float *keys, float *values);
    /* Each sum has the order of a contraction or reduction, so the result has the bits of the op's definition. At most
     * `rows` rows and keys_most keys. */
    void (*rows_f32)(const attend_rows *a);
    /* The gradients of query, keys and values, one block of rows after another. The scores are computed again. At most
     * keys_most keys. All levels add in the same order. NULL: the gradient of the definition is faster. */
    void (*grad_f32)(const attend_grad *a);
    /* Makes a panel of pack_n from up to ATTEND_GROUP keys, whose rows are multiples of 4 bytes apart; width is
     * even. */
    void (*turn_keys_bf16)(void *to, const void *from, int64_t row_bytes, int64_t keys,
                           int64_t width);
    /* weight + rest = exp((score - the largest of its row) * scale) */
    void (*weigh_bf16)(const attend_scores *s);
    /* to[i] = from[i] / by, rounded to bf16; the quotient may be rounded twice. */
    void (*divide_bf16)(int64_t n, uint16_t *to, const float *from, float by);
};

/* Floats of scratch of rows_f32. */
static inline int64_t attend_scratch(int64_t keys, int64_t width)
{
    enum { FOLD = 32, MORE = 16 };
    return (keys + 2 * width + FOLD + ATTEND_CHUNKS + MORE) * ATTEND_ROWS_MOST;
}

/* Floats of scratch of grad_f32. */
static inline int64_t attend_grad_scratch(int64_t keys, int64_t width)
{
    const int64_t columns = (width + ATTEND_ROWS_MOST - 1) / ATTEND_ROWS_MOST * ATTEND_ROWS_MOST;
    return attend_scratch(keys, width) + keys * (ATTEND_ROWS_MOST + 2 * columns) +
           (width + 2 * columns) * ATTEND_ROWS_MOST;
}

/* Floats of packed keys, and of packed values. */
static inline int64_t attend_packed(int64_t keys, int64_t width)
{
    enum { TILE_MOST = 8 };
    return (keys + TILE_MOST) * (width + TILE_MOST);
}

#endif
