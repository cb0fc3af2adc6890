/* Builders of functions that NumPy and SciPy have in addition to the array API standard. Each is an expression of other
 * ops. Those of floats are computed in f32 (f64 for f64) and rounded to the dtype of their inputs once. */
#include "base/error.h"
#include "engine/ops/composite.h"
#include <math.h>

/* ---- elementwise ---- */

/* As in PyTorch: exact at both ends. */
BUILDER(lerp)
{
    ig_array *x[3] = {args[0].u.array, args[1].u.array, args[2].u.array};
    ig_dtype dtype;
    if (composite_floats(op, x, 3, &dtype) != IG_OK)
        return 0;
    ig_array *way = ig_subtract(x[1], x[0]), *rest = ig_subtract(ig_float(1), x[2]);
    return composite_result(out,
                            ig_where(ig_less(ig_abs(x[2]), ig_float(0.5)),
                                     ig_add(x[0], ig_multiply(x[2], way)),
                                     ig_subtract(x[1], ig_multiply(way, rest))),
                            dtype);
}
