/* Products with quantized matrices by sums of integers: x is rounded to 8 bits in groups of QUANT_GROUP, products of 8-bit
 * numbers are added exactly, and the sum of a group is multiplied by the scales of both. implemented by lanes/quant.c, used
 * by contract/quant.c.
 *
 *     y[m, n] = sum over groups g, in order, of   sums[m, n, g] * (scale[n, g] * x_scale[m, g])
 *                                               + minimum[n, g] * x_sum[m, g]             if the format has minima
 *
 * where sums is the sum of (code - zero) * rounded x. Each operation on floats is rounded, so all levels have the same bits.
 *
 * A panel holds QUANT_ROWS rows of the matrix, in as many bytes as the file or a few more. First a head for each block of
 * `super` weights:
 *
 *     factors     f16 [QUANT_ROWS]
 *     factors     of the minima, the same
 *     scales      i8 [groups][QUANT_ROWS]
 *     minima      u8 [groups][QUANT_ROWS]; if they have 4 bits: the high halves of the scales
 *
 * then the codes of each QUANT_GROUP weights: `low` vectors of low bits, then `high` ones of high bits. A vector has four
 * bytes for each row. Quad j of four weights has its b bits in vector j % b, shifted by b * (j / b). */
#ifndef CPU_QUANT_H
#define CPU_QUANT_H

#include "base/storage.h"

enum {
    QUANT_ROWS = 16,   /* of a panel */
    QUANT_GROUP = 32,  /* elements of x with one scale */
    QUANT_QUADS = 8,   /* in a group */
    QUANT_VECTOR = 64, /* bytes: a quad of each row */
    QUANT_SUPER = 256, /* the largest block */
    QUANT_DEEP = 1024, /* most elements of k whose codes are unpacked at a time */
    QUANT_HALF = 16    /* the smallest group */
};

/* See quant.def. */
typedef struct quant_form {
    int low, high, zero, group, super, scales;
    bool minima;
    enum { QUANT_CODES, QUANT_IQ4, QUANT_MXFP4 } values;
} quant_form;

/* True if the numbers that are multiplied have 8 bits. */
static inline bool quant_is_wide(const quant_form *f)
{
    return f->low == 8 || f->values == QUANT_IQ4;
}

/* Rounded rows. All strides follow from k: see quant_row_bytes. */
typedef struct quant_x {
    const int8_t *code;   /* [k] */
    const float *scale;   /* [k / QUANT_GROUP] */
    const float *sum;     /* [k / group]: scale * the sum of the codes */
    const int32_t *start; /* [k / group]: -zero * the sum of the codes */
} quant_x;

/* The parts of a rounded row of k elements, each of which begins at a multiple of QUANT_VECTOR. */
static inline size_t quant_part(int64_t bytes)
{
    return ((size_t)bytes + QUANT_VECTOR - 1) / QUANT_VECTOR * QUANT_VECTOR;
}

static inline size_t quant_row_bytes(int64_t k)
{
    return quant_part(k) + quant_part(k / QUANT_GROUP * 4) + 2 * quant_part(k / QUANT_HALF * 4);
}

static inline quant_x quant_row(const void *row, int64_t k)
{
    const char *scale = (const char *)row + quant_part(k);
    const char *sum = scale + quant_part(k / QUANT_GROUP * 4);
    return (quant_x){row, (const float *)scale, (const float *)sum,
                     (const int32_t *)(sum + quant_part(k / QUANT_HALF * 4))};
}

/* The bytes of the head of a block. */
static inline int64_t quant_head_bytes(const quant_form *f)
{
    const int64_t each = QUANT_ROWS * (2 * 8 + f->scales * f->super / f->group) / 8;
    return each * (f->minima ? 2 : 1);
}

/* The bytes of all heads of a panel of rows of k elements, and of the panel. */
static inline int64_t quant_heads_bytes(const quant_form *f, int64_t k)
{
    return (int64_t)quant_part(k / f->super * quant_head_bytes(f));
}

static inline int64_t quant_panel_bytes(const quant_form *f, int64_t k)
{
    return quant_heads_bytes(f, k) + k / QUANT_GROUP * (f->low + f->high) * QUANT_VECTOR;
}

typedef struct quant_level {
    /* By storage format; low is 0 if a format has no form. */
    const quant_form *forms;
    /* Rounds a row of k elements. */
    void (*round)(const quant_form *f, int64_t k, const float *x, void *row);
    /* Packs n rows, at most QUANT_ROWS, which begin `step` bytes apart. Missing rows are 0. */
    void (*pack)(storage s, int64_t k, int64_t n, const void *from, int64_t step, void *panel);
    /* c[i * ldc + j] = the product of rounded row i and row j of the panel, i < m, j < n <= QUANT_ROWS. */
    void (*rows)(storage s, int64_t k, int64_t m, const void *x, const void *panel, int64_t n,
                 float *c, int64_t ldc, void *scratch);
    size_t scratch_bytes; /* of rows */
} quant_level;

#endif
