/* Checks of values during evaluation. A check is a read at index 0 of an axis of CHECK_LENGTH + a row of CHECKS elements,
 * a length that no other array has. It fails by reading at check_index instead; program/fault.h reports it. */
#ifndef OPS_CHECKS_H
#define OPS_CHECKS_H

#include <stdint.h>

/* Rows: a name, the op, and what is wrong with a matrix, at a place of its diagonal. */
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

/* The same for the element at the position of the fault. */
#define ELEMENT_CHECKS(ROW) \
    ROW(floor_divide, floor_divide, \
        "an integer is divided by 0; replace zeros, where(x2 == 0, 1, x2)") \
    ROW(remainder, remainder, "an integer is divided by 0; replace zeros, where(x2 == 0, 1, x2)") \
    ROW(pow, pow, "the integer 0 has a negative power")

typedef enum check_row {
#define CHECK_ROW(name, op, what) CHECK_##name,
    CHECKS(CHECK_ROW) ELEMENT_CHECKS(CHECK_ROW)
#undef CHECK_ROW
} check_row;

#define CHECK_LENGTH ((int64_t)1 << 40)
enum { CHECK_PLACE_BITS = 31 };

#endif
