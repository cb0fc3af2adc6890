/* Contraction programs for tests of the CPU's contraction core: random layouts, and a reference that sums in twice the
 * precision (exactly for integers). */
#ifndef SUPPORT_CONTRACT_H
#define SUPPORT_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/backend/cpu/cpu.h"

enum { IN0, IN1, OUT, BIAS, SLOTS };

enum { CONTRACT_DTYPES = 12 };
extern const ig_dtype contract_dtypes[CONTRACT_DTYPES];

/* The same numbers in every run. */
int64_t random_below(int64_t n);

typedef struct work {
    program p;
    ig_dtype result; /* the elements' dtype, except with wide_sums */
    buffer buf[SLOTS];
    binding bindings[SLOTS];
    tape_inst inst[6];
    operand operand[2];
} work;

/* The layout of an input's axes in memory. */
typedef enum layout {
    PLAIN,    /* row-major */
    REVERSED, /* column-major: transposed */
    FLIPPED,  /* row-major, all strides negative */
    GAPPED,   /* row-major, every second element */
    STILL,    /* stride 0 in every other axis */
    ANY,      /* random order, signs, gaps, broadcasts and overlaps */
    LAYOUTS
} layout;

/* Sets the strides of the view's axes. */
void layout_axes(view *v, layout how);

/* Whether results of i8 are i32, and those of halves f32: the sums as they are. */
extern bool wide_sums;

/* Everything except the inputs' strides: groups of ndim axes, whose lengths are consecutive in shape (b, m, n, k). */
void work_shape(work *w, ig_dtype dtype, const int ndim[4], const int64_t *shape);

/* Makes and fills one buffer. */
void work_buffer(work *w, int slot, ig_dtype dtype, int64_t elements);

/* Makes and fills the buffers; the inputs' strides are set. The bias has one value for each column. */
void work_fill(work *w);

/* All of these, with the inputs in two layouts. */
void work_make(work *w, ig_dtype dtype, const int ndim[4], const int64_t *shape, layout how0,
               layout how1);

/* Runs the program; fused: with the bias added. */
void work_run(work *w, int threads, bool fused);
void work_free(work *w);

/* Element i of an input, in row-major order. */
const void *work_at(const work *w, int side, int64_t i);

/* Copies the inputs' elements from another work, whose groups may be longer. */
void work_copy_inputs(work *to, const work *from);

/* Compares all elements with the reference, or about `most` of them. */
void check_values(const work *w, int64_t most);

/* Short tests run one in this many cases. */
int step(int n);

/* Calls run_all on each level that the machine supports, or only on IG_CPU_LEVEL: one process for each, since the level
 * is chosen once. Returns the number that failed. */
int run_on_levels(int (*run_all)(void));

#endif
