/* An index out of bounds or a failed check that a program found. All devices report it with the same text. */
#ifndef PROGRAM_FAULT_H
#define PROGRAM_FAULT_H

#include "engine/program/program.h"

enum { FAULT_OPS_BYTES = 96, FAULT_TEXT_BYTES = 400 };

/* A check is a read at index 0 of an axis of CHECK_LENGTH + a row of CHECKS elements, a length that no other array has. It
 * fails by reading at check_index instead. Rows: a name, the op, and what is wrong with a matrix, at a place of its diagonal. */
#define CHECKS(ROW) \
    ROW(cholesky, cholesky, "is not positive definite: pivot %lld is not positive") \
    ROW(cho_solve, cho_solve, "is singular: element %lld of its diagonal is 0") \
    ROW(solve, solve, "is singular: pivot %lld is 0") \
    ROW(inv, inv, "is singular: pivot %lld is 0") \
    ROW(lu_solve, lu_solve, "is singular: pivot %lld is 0") \
    ROW(solve_triangular, solve_triangular, "is singular: element %lld of its diagonal is 0") \
    ROW(tri_inv, tri_inv, "is singular: element %lld of its diagonal is 0") \
    ROW(expm, expm, "has a norm that is too large, or is not finite") \
    ROW(eigh_finite, eigh, "has an element that is not finite") \
    ROW(eigh_steps, eigh, "has eigenvalues that do not converge") \
    ROW(eig_finite, eig, "has an element that is not finite") \
    ROW(eig_steps, eig, "has eigenvalues that do not converge") \
    ROW(svd_finite, svd, "has an element that is not finite") \
    ROW(svd_sweeps, svd, "has singular values that do not converge") \
    ROW(roots, roots, "(of the polynomial) does not exist: the first coefficient must not be 0")

typedef enum check_row {
#define CHECK_ROW(name, op, what) CHECK_##name,
    CHECKS(CHECK_ROW)
#undef CHECK_ROW
} check_row;

#define CHECK_LENGTH ((int64_t)1 << 40)
enum { CHECK_PLACE_BITS = 31 };

typedef struct index_fault {
    int64_t at;       /* the point of the program's space, in row-major order */
    int64_t index;    /* the original index, minus INDEX_REFUSED if a negative one is not allowed */
    int64_t axis_len; /* -1: index and length are not known */
} index_fault;

/* IG_ERR_ARGUMENT for a check, else IG_ERR_INDEX. */
ig_status fault_status(const index_fault *f);
/* The ops of a program for messages: its label, cut to FAULT_OPS_BYTES. */
const char *fault_ops(const program *p, char out[static FAULT_OPS_BYTES]);
/* The message: what is wrong, in which ops, and where. */
const char *fault_text(const index_fault *f, const char *ops, const char *device,
                       char out[static FAULT_TEXT_BYTES]);

#endif
