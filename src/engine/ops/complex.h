/* Complex arrays. Only ops know them: a complex array is a handle of two real arrays, its parts, and every op of complex
 * arrays is built from ops of their parts. So graphs, programs and devices see real arrays only, and results have the
 * same bits on every device, gradients and fusion included.
 *
 * The handle is a root with the op OP_complex, the shape and the complex dtype. Its inputs are the parts. When it is
 * evaluated, more are added: the pairs, one array with one more axis of length 2, which is the layout of the elements
 * in memory, and the parts as views of them. Only complex.c reads the inputs. */
#ifndef OPS_COMPLEX_H
#define OPS_COMPLEX_H

#include "engine/ops/ops.h"

static inline bool array_is_complex(const ig_array *x)
{
    return x && dtype_is_complex((ig_dtype)x->dtype);
}

typedef struct pair {
    ig_array *re, *im;
} pair;

/* The parts of x, which may be real: then im is 0. NULL parts if x is NULL. */
pair complex_parts(ig_array *x);
/* The handle of two parts, f32 or f64 arrays that are broadcast to one shape; NULL if one is NULL. */
ig_array *complex_make(pair p);
/* A handle over pairs: an f32 or f64 array whose last axis has the length 2. */
ig_array *complex_of_pairs(ig_array *pairs);
/* The elements of a complex array as pairs; other arrays are returned unchanged. */
ig_array *complex_pairs(ig_array *x);
/* x, complex or real, with a complex dtype. */
ig_array *complex_cast(ig_array *x, ig_dtype dtype);
/* Another handle of the same parts. */
ig_array *complex_again(ig_array *x);

bool complex_is_evaluated(const ig_array *x);

/* True if one of n arrays is complex. */
bool complex_any(ig_array *const *x, int n);
/* Writes the arrays with each complex one replaced by its parts, at most 2 n, to flat; returns their number. Parts can
 * be conjugated. */
int complex_flatten(ig_array *const *x, int n, bool conjugate, ig_array **flat);
/* The inverse: writes n arrays, complex where the arrays of `like` are. */
void complex_join(ig_array *const *like, int n, bool conjugate, ig_array *const *flat,
                  ig_array **x);

/* True if an argument is complex, or asks for a complex dtype. */
bool complex_is_asked(const ig_op *info, const ig_arg *args);
/* Builds an op for which complex_is_asked holds. The arguments are bound. */
int complex_build(op_id op, const ig_op *info, const ig_arg *args, ig_array **out);
/* Builds an elementwise row. Some x is complex. */
int complex_map(op_id op, ig_array *const *x, ig_array **out);

#endif
