/* Loops of factorizations for one instruction set: implemented by lanes/factor.c, used by engine/numeric. They give the
 * bits of the kernels of kernels/factor.cu and take their parameters: at[i] points to the elements of parameter i, or to
 * its number. The first parameter is the number of tasks, which are the blocks of the kernel. */
#ifndef CPU_FACTOR_H
#define CPU_FACTOR_H

#include <stdint.h>

typedef enum factor_kind {
    FACTOR_CHOLESKY,
    FACTOR_LU,
    FACTOR_ORDER,
    FACTOR_QR,
    FACTOR_SUBSTITUTE,
    FACTOR_KINDS
} factor_kind;

/* The elements: a part is f32 or f64; complex ones have two parts. */
enum { FACTOR_F32, FACTOR_F64, FACTOR_C64, FACTOR_C128, FACTOR_TYPES };

enum {
    FACTOR_QR_WIDE = 32, /* most columns of FACTOR_QR */
    FACTOR_COLUMNS = 64  /* columns of a task of FACTOR_SUBSTITUTE */
};

/* Does tasks from <= i < to. */
typedef void factor_loop(void *const *at, int64_t from, int64_t to);

struct factor_level {
    factor_loop *run[FACTOR_KINDS][FACTOR_TYPES];
};

#endif
