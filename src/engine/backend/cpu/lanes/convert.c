/* Conversions between storage dtypes by the rules of ig_astype. Lane types are converted directly;
 * f16 and bf16 are read through f32, which holds them exactly. */
#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd.h"

#include <assert.h>

typedef uint8_t stored_bool, stored_u8;
typedef int8_t stored_i8;
typedef int16_t stored_i16;
typedef int32_t stored_i32;
typedef int64_t stored_i64;
typedef uint16_t stored_u16, stored_f16, stored_bf16;
typedef uint32_t stored_u32;
typedef uint64_t stored_u64;
typedef float stored_f32;
typedef double stored_f64;

#define TO_bool(x) ((x) != 0)
#define TO_f32(x) ((float)(x))
#define TO_f64(x) ((double)(x))

/* ---- integers ---- */

#define TO_i8(x) ((int8_t)(x))
#define TO_i16(x) ((int16_t)(x))
#define TO_i32(x) ((int32_t)(x))
#define TO_i64(x) ((int64_t)(x))
#define TO_u8(x) ((uint8_t)(x))
#define TO_u16(x) ((uint16_t)(x))
#define TO_u32(x) ((uint32_t)(x))
#define TO_u64(x) ((uint64_t)(x))
#define TO_f16(x) NAME(to_f16)(x)
#define TO_bf16(x) NAME(to_bf16)(x)
#define TEMPLATE "engine/backend/cpu/lanes/convert_int.inc"
#include "engine/backend/cpu/lanes/each_int.inc"
#undef TEMPLATE
#undef TO_i8
#undef TO_i16
#undef TO_i32
#undef TO_i64
#undef TO_u8
#undef TO_u16
#undef TO_u32
#undef TO_u64
#undef TO_f16
#undef TO_bf16

/* ---- floats: towards 0, saturating; NaN gives 0 ---- */

/* end is the first power of 2 above max, which a float may not hold. */
#define SATURATE(x, type, min, max, end) \
    ((x) >= (T)(end) ? (max) : (x) > (T)(min) ? (type)(x) : (x) <= (T)(min) ? (min) : 0)
#define TO_i8(x) SATURATE(x, int8_t, INT8_MIN, INT8_MAX, 0x1p7)
#define TO_i16(x) SATURATE(x, int16_t, INT16_MIN, INT16_MAX, 0x1p15)
#define TO_i32(x) SATURATE(x, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
#define TO_i64(x) SATURATE(x, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
#define TO_u8(x) SATURATE(x, uint8_t, 0, UINT8_MAX, 0x1p8)
#define TO_u16(x) SATURATE(x, uint16_t, 0, UINT16_MAX, 0x1p16)
#define TO_u32(x) SATURATE(x, uint32_t, 0, UINT32_MAX, 0x1p32)
#define TO_u64(x) SATURATE(x, uint64_t, 0, UINT64_MAX, 0x1p64)
#define TO_f16(x) _Generic((x), float : f16_of_f32, double : f16_of_f64)(x)
#define TO_bf16(x) _Generic((x), float : bf16_of_f32, double : bf16_of_f64)(x)
#define TEMPLATE "engine/backend/cpu/lanes/convert.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

/* ---- 16-bit floats ---- */

enum { CONVERT_PASS = 256 /* elements on the stack between two conversions */ };

static void widen(ig_dtype from, int64_t n, float *d, const uint16_t *a)
{
    if (from == IG_F16)
        LANE_LOOP for (int64_t i = simd_widen_f16(n, d, a); i < n; i++) d[i] = f16_to_f32(a[i]);
    else
        LANE_LOOP for (int64_t i = 0; i < n; i++) d[i] = bf16_to_f32(a[i]);
}

static void convert_half(ig_dtype from, ig_dtype to, int64_t n, void *d, const void *a)
{
    float wide[CONVERT_PASS];
    const size_t bytes = ig_dtype_bytes(to);
    if (to == IG_F32) {
        widen(from, n, d, a);
        return;
    }
    for (int64_t done = 0; done < n; done += CONVERT_PASS) {
        const int64_t now = n - done < CONVERT_PASS ? n - done : CONVERT_PASS;
        widen(from, now, wide, (const uint16_t *)a + done);
        convert_f32(to, now, (char *)d + done * (int64_t)bytes, wide);
    }
}

static void convert_f16(ig_dtype to, int64_t n, void *d, const void *a)
{
    convert_half(IG_F16, to, n, d, a);
}

static void convert_bf16(ig_dtype to, int64_t n, void *d, const void *a)
{
    convert_half(IG_BF16, to, n, d, a);
}

static void convert_bool(ig_dtype to, int64_t n, void *d, const void *a)
{
    convert_u8(to, n, d, a);
}

void PART(lane_round)(ig_dtype to, int64_t n, float *d, const float *a)
{
    if (to == IG_F16)
        LANE_LOOP for (int64_t i = simd_round_f16(n, d, a); i < n; i++) d[i] =
            f16_to_f32(f16_of_f32(a[i]));
    else
        LANE_LOOP for (int64_t i = 0; i < n; i++) d[i] = bf16_to_f32(bf16_of_f32(a[i]));
}

/* ---- 16-bit floats in one loop with lanes: see HALF_WIDEN ---- */

static void f16_of_f32s(int64_t n, uint16_t *d, const float *a)
{
    const int64_t done = simd_narrow_f16(n, d, a);
    convert_f32(IG_F16, n - done, d + done, a + done);
}

static void bytes_of_f32s(ig_dtype to, int64_t n, uint8_t *d, const float *a)
{
    const int64_t done = to == IG_I8 ? simd_saturate(true, n, d, a) : simd_saturate(false, n, d, a);
    convert_f32(to, n - done, d + done, a + done);
}

/* Sums with elements of bf16; `code` is a constant. */
static inline __attribute__((always_inline)) void sums_bf16(int code, int64_t n, void *d,
                                                            const float *x, const uint16_t *h)
{
    float *lanes = d;
    uint16_t *stored = d;
    LANE_LOOP for (int64_t i = 0; i < n; i++)
    {
        const float first = code & HALF_FIRST ? bf16_to_f32(bf16_of_f32(x[i])) : x[i];
        const float sum = first + bf16_to_f32(h[i]);
        if (code & HALF_STORED)
            stored[i] = bf16_of_f32(sum);
        else
            lanes[i] = code & HALF_ROUNDED ? bf16_to_f32(bf16_of_f32(sum)) : sum;
    }
}

#define HALF_LOOP(name, call) \
    static void name(int64_t n, void *d, const void *a, const void *b, const void *c) \
    { \
        (void)b, (void)c; \
        call; \
    }
HALF_LOOP(widen_f16, widen(IG_F16, n, d, a))
HALF_LOOP(widen_bf16, widen(IG_BF16, n, d, a))
HALF_LOOP(round_f16, PART(lane_round)(IG_F16, n, d, a))
HALF_LOOP(round_bf16, PART(lane_round)(IG_BF16, n, d, a))
HALF_LOOP(narrow_f16, f16_of_f32s(n, d, a))
HALF_LOOP(narrow_bf16, convert_f32(IG_BF16, n, d, a))
HALF_LOOP(add_bf16, sums_bf16(0, n, d, a, b))
HALF_LOOP(first_add_bf16, sums_bf16(HALF_FIRST, n, d, a, b))
HALF_LOOP(add_rounded_bf16, sums_bf16(HALF_ROUNDED, n, d, a, b))
HALF_LOOP(first_add_rounded_bf16, sums_bf16(HALF_FIRST | HALF_ROUNDED, n, d, a, b))
HALF_LOOP(add_stored_bf16, sums_bf16(HALF_STORED, n, d, a, b))
HALF_LOOP(first_add_stored_bf16, sums_bf16(HALF_FIRST | HALF_STORED, n, d, a, b))

map_loop PART(lane_half)(int code, ig_dtype dtype)
{
    static const map_loop of_f16[HALF_COUNT] = {widen_f16, round_f16, narrow_f16};
    static const map_loop of_bf16[HALF_COUNT] = {widen_bf16,
                                                 round_bf16,
                                                 narrow_bf16,
                                                 add_bf16,
                                                 first_add_bf16,
                                                 add_rounded_bf16,
                                                 first_add_rounded_bf16,
                                                 add_stored_bf16,
                                                 first_add_stored_bf16};
    return (dtype == IG_BF16 ? of_bf16 : of_f16)[code];
}

/* ---- any dtype, any stride ---- */

typedef void (*convert_fn)(ig_dtype to, int64_t n, void *d, const void *a);

static const convert_fn converts[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) [IG_##id] = convert_##name,
#include "base/dtype.def"
};

static void convert_packed(ig_dtype from, ig_dtype to, int64_t n, void *d, const void *a)
{
    if (from == IG_F32 && to == IG_F16)
        f16_of_f32s(n, d, a);
    else if (from == IG_F32 && (to == IG_I8 || to == IG_U8))
        bytes_of_f32s(to, n, d, a);
    else if (from == to)
        memcpy(d, a, (size_t)n * ig_dtype_bytes(to));
    else
        converts[from](to, n, d, a);
}

/* Copies elements by their size. */
static void move(size_t bytes, int64_t n, void *d, int64_t ds, const void *a, int64_t as)
{
    switch (bytes) {
    case 1:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)d)[i * ds] = ((const uint8_t *)a)[i * as];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)d)[i * ds] = ((const uint16_t *)a)[i * as];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            ((uint32_t *)d)[i * ds] = ((const uint32_t *)a)[i * as];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)d)[i * ds] = ((const uint64_t *)a)[i * as];
    }
}

void PART(lane_convert)(ig_dtype from, ig_dtype to, int64_t n, void *d, int64_t ds, const void *a,
                        int64_t as)
{
    assert(converts[from] && converts[to]);
    if (ds == 1 && as == 1) {
        convert_packed(from, to, n, d, a);
        return;
    }
    uint64_t in[CONVERT_PASS], out[CONVERT_PASS];
    const size_t wide = ig_dtype_bytes(to), narrow = ig_dtype_bytes(from);
    for (int64_t done = 0; done < n; done += CONVERT_PASS) {
        const int64_t now = n - done < CONVERT_PASS ? n - done : CONVERT_PASS;
        move(narrow, now, in, 1, (const char *)a + done * as * (int64_t)narrow, as);
        convert_packed(from, to, now, out, in);
        move(wide, now, (char *)d + done * ds * (int64_t)wide, ds, out, 1);
    }
}
