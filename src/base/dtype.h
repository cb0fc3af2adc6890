/* Dtypes: properties from dtype.def, promotion, conversion of single values. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include "ingot/base.h"

typedef enum dtype_kind {
    DTYPE_KIND_NONE,
    DTYPE_KIND_BOOL,
    DTYPE_KIND_UNSIGNED,
    DTYPE_KIND_SIGNED,
    DTYPE_KIND_FLOAT,
    DTYPE_KIND_COMPLEX
} dtype_kind;

/* DTYPE_COUNT: the dtypes that lanes hold; the complex dtypes follow. */
enum { DTYPE_COUNT = IG_F64 + 1, DTYPE_ALL = IG_C128 + 1 };

dtype_kind dtype_kind_of(ig_dtype dtype);
/* The dtype of the register lane that holds a value: f16 and bf16 in IG_F32, bool in IG_U8. */
ig_dtype dtype_lane(ig_dtype dtype);

/* The dtype of the parts of a complex dtype; other dtypes are returned unchanged. */
ig_dtype dtype_part(ig_dtype dtype);
/* The complex dtype that holds numbers of a dtype: c128 for f64 and c128, c64 for other floats. For integers it has parts of
 * the default dtype. */
ig_dtype dtype_complex(ig_dtype dtype);

static inline bool dtype_is_complex(ig_dtype d) { return d == IG_C64 || d == IG_C128; }
static inline bool dtype_is_float(ig_dtype d) { return dtype_kind_of(d) == DTYPE_KIND_FLOAT; }
static inline bool dtype_is_int(ig_dtype d)
{
    return dtype_kind_of(d) == DTYPE_KIND_SIGNED || dtype_kind_of(d) == DTYPE_KIND_UNSIGNED;
}
/* f16 or bf16: computed in f32 lanes, rounded after each op. */
static inline bool dtype_is_half(ig_dtype d) { return d == IG_F16 || d == IG_BF16; }

/* Scalars to and from storage. dtype_store rounds and saturates as ig_astype does. */
void dtype_store(ig_dtype dtype, void *to, double value);
void dtype_store_int(ig_dtype dtype, void *to, int64_t value);
double dtype_fetch(ig_dtype dtype, const void *from);
int64_t dtype_fetch_int(ig_dtype dtype, const void *from);

#endif
