/* Operations of kernels beyond the rows of ops.def; simt.h has the contracts. */
#include "engine/backend/cpu/lanes/lane_math.h"
#include "engine/backend/cpu/lanes/simt.h"
#include "compiler/code.h"

#if defined(__APPLE__) /* where it has another name */
#define exp10 __exp10
#endif

#define C_SIGN(x) m_signbit(x)
#define C_LIBRARY(name) _Generic((T)0, float : name##f, double : name)
#define C_FMA(x, y, z) _Generic((T)0, float : __builtin_fmaf, double : __builtin_fma)(x, y, z)
/* Division by 0 and by -1 may trap. The results are the same as of CUDA's instructions: all ones for division by 0. */
#define C_BY(y) ((y) == 0 || (NEGATIVE(y) && (y) == (T)-1) ? 1 : (y))
#define C_DIVIDE(x, y) \
    ((y) == 0 ? (T)-1 : NEGATIVE(y) && (y) == (T)-1 ? (T)(0 - (U)(x)) : (T)((x) / C_BY(y)))
#define C_MODULO(x, y) ((y) == 0 ? (x) : NEGATIVE(y) && (y) == (T)-1 ? 0 : (T)((x) % C_BY(y)))
#define C_MULTIPLY_HIGH(x, y) ((T)(((__int128)(x) * (__int128)(y)) >> (8 * sizeof(T))))
#define C_LOW_24(x) (NEGATIVE((T)-1) ? (T)((int32_t)((uint32_t)(x) << 8) >> 8) : (T)((x)&0xffffff))
#define C_MULTIPLY_24(x, y) ((T)((U)C_LOW_24(x) * (U)C_LOW_24(y)))
#define C_LEADING_ZEROS(x) \
    ((T)((U)(x) == 0 ? 8 * (int)sizeof(T) \
                     : __builtin_clzll((uint64_t)(U)(x)) - (64 - 8 * (int)sizeof(T))))
#define C_REVERSE_BITS(x) ((T)(reverse_bits((uint64_t)(U)(x)) >> (64 - 8 * sizeof(T))))
#define C_PERMUTE_BYTES(x, y, z) ((T)permute_bytes((uint32_t)(x), (uint32_t)(y), (uint32_t)(z)))
#define C_FUNNEL_LEFT(x, y, z) ((T)(uint32_t)(C_WIDE(x, y) << ((uint32_t)(z)&63) >> 32))
#define C_FUNNEL_RIGHT(x, y, z) ((T)(uint32_t)(C_WIDE(x, y) >> ((uint32_t)(z)&63)))
#define C_WIDE(low, high) ((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low))
#define C_DOT_BYTES(x, y, z) \
    ((T)((U)(z) + dot_bytes((uint32_t)(x), (uint32_t)(y), NEGATIVE((T)-1))))
#define C_SCALE(x, y) C_LIBRARY(ldexp)(x, (int)(y))
#define C_LGAMMA(x) C_LIBRARY(lgamma)(x)
#define C_SINPI(x) sin_pi(x)
#define C_COSPI(x) sin_pi(half_turn(x))

static inline uint64_t reverse_bits(uint64_t x)
{
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}

/* Byte i of the result is the byte of y:x that bits 4i to 4i+2 of z select; bit 4i+3 replicates its
 * sign instead. */
static inline uint32_t permute_bytes(uint32_t x, uint32_t y, uint32_t z)
{
    const uint64_t both = (uint64_t)y << 32 | x;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t choice = z >> (4 * i) & 15, byte = both >> (8 * (choice & 7)) & 0xff;
        out |= (choice & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
    }
    return out;
}

static inline uint32_t dot_bytes(uint32_t x, uint32_t y, bool is_signed)
{
    uint32_t sum = 0;
    for (int i = 0; i < 32; i += 8) {
        const uint8_t a = (uint8_t)(x >> i), b = (uint8_t)(y >> i);
        sum += is_signed ? (uint32_t)((int8_t)a * (int8_t)b) : (uint32_t)a * b;
    }
    return sum;
}

/* exp(x^2) erfc(x); for large x by its continued fraction, since erfc is too small there. */
static double erfc_scaled(double x)
{
    if (x < 10)
        return exp(x * x) * erfc(x);
    double f = x;
    for (int k = 60; k > 0; k--)
        f = x + 0.5 * k / f;
    return 1 / (f * 1.77245385090551602730);
}

/* Newton's method on log(erfc), from an estimate that is good to a few digits. */
static double erfc_inverse(double p)
{
    if (!(p > 0 && p < 2))
        return p == 0 ? INFINITY : p == 2 ? -INFINITY : NAN;
    const double q = p < 1 ? p : 2 - p, t = sqrt(-2 * log(q / 2));
    double x = M_SQRT1_2 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (int k = 0; k < 4; k++) {
        const double scaled = erfc_scaled(x);
        const double slope = -1.12837916709551257390 / scaled; /* of log(erfc) */
        x -= (log(scaled) - x * x - log(q)) / slope;
    }
    return p < 1 ? x : -x;
}

/* Modified Bessel functions of order 0 and 1: the power series, or for large x the asymptotic one. */
static double bessel_i(int order, double x)
{
    const double a = fabs(x);
    double sum = 1, term = 1;
    if (a < 30) {
        for (int k = 1; k < 200 && term > sum * 1e-18; k++)
            sum += term *= a * a / (4.0 * k * (k + order));
        sum *= order ? a / 2 : 1;
    } else {
        for (int k = 1; k < 30; k++)
            sum += term *= -(4.0 * order * order - (2 * k - 1) * (2 * k - 1)) / (8.0 * k * a);
        sum *= exp(a) / sqrt(2 * M_PI * a);
    }
    return order && x < 0 ? -sum : sum;
}

/* sin(pi x), exact at multiples of a half. */
static inline double sin_pi(double x)
{
    const double turn = fmod(fabs(x), 2), half = turn < 1 ? turn : turn - 1;
    const double near = half <= 0.25   ? sin(half * M_PI)
                        : half <= 0.75 ? cos((half - 0.5) * M_PI)
                                       : sin((1 - half) * M_PI);
    const double up = turn < 1 ? near : -near;
    return turn == floor(turn) ? copysign(0.0, x) : x < 0 ? -up : up;
}
static inline double half_turn(double x) { return 0.5 - fmod(fabs(x), 2); }

/* ---- rows ---- */

#define ROW_OPERANDS_1 const T x = ((const T *)a)[i];
#define ROW_OPERANDS_2 ROW_OPERANDS_1 const T y = ((const T *)b)[i];
#define ROW_OPERANDS_3 ROW_OPERANDS_2 const T z = ((const T *)c)[i];

#define TEMPLATE "engine/backend/cpu/lanes/simt_rows.inc"
#define TAKES_ROW_INT(...) __VA_ARGS__
#define TAKES_ROW_FLOAT(...)
#include "engine/backend/cpu/lanes/each_int.inc"
#undef TAKES_ROW_INT
#undef TAKES_ROW_FLOAT
#define TAKES_ROW_INT(...)
#define TAKES_ROW_FLOAT(...) __VA_ARGS__
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

static map_loop row(int row, ig_dtype lane)
{
    static const map_loop *const lanes[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) [IG_##id] = code_rows_##lane,
#include "base/dtype.def"
    };
    return lanes[lane][row];
}

/* ---- elements by width ---- */

enum { GROUP = 16 }; /* lanes that are examined together */

#define WIDTH_IS(bits) typedef uint##bits##_t element_##bits;
WIDTH_IS(8)
WIDTH_IS(16)
WIDTH_IS(32)
WIDTH_IS(64)

#define E element_8
#define LANE 8
#include "engine/backend/cpu/lanes/simt_width.inc"
#define E element_16
#define LANE 16
#include "engine/backend/cpu/lanes/simt_width.inc"
#define E element_32
#define LANE 32
#include "engine/backend/cpu/lanes/simt_width.inc"
#define E element_64
#define LANE 64
#include "engine/backend/cpu/lanes/simt_width.inc"

typedef struct width_loops {
    void (*blend)(int64_t n, void *d, const void *a, const uint32_t *mask);
    void (*spread)(int64_t n, void *d, const void *a);
    void (*load[3])(const simt_places *p, int64_t n, const uint32_t *mask, void *d);
    void (*store[3])(const simt_places *p, int64_t n, const uint32_t *mask, const void *v);
} width_loops;

#define WIDTH_LOOPS(bits) \
    { \
        blend_##bits, spread_##bits, {load_i32_##bits, load_u32_##bits, load_i64_##bits}, \
        { \
            store_i32_##bits, store_u32_##bits, store_i64_##bits \
        } \
    }
/* By log2 of the width. */
static const width_loops widths[] = {WIDTH_LOOPS(8), WIDTH_LOOPS(16), WIDTH_LOOPS(32),
                                     WIDTH_LOOPS(64)};

static const width_loops *of_width(int width) { return &widths[__builtin_ctz((unsigned)width)]; }

static int index_kind(ig_dtype d) { return d == IG_I32 ? 0 : d == IG_U32 ? 1 : 2; }

static void blend(int width, int64_t n, void *d, const void *a, const uint32_t *mask)
{
    of_width(width)->blend(n, d, a, mask);
}

static void spread(int width, int64_t n, void *d, const void *a)
{
    of_width(width)->spread(n, d, a);
}

static void load(const simt_places *p, int64_t n, const uint32_t *mask, void *d)
{
    of_width(p->width)->load[index_kind(p->index_dtype)](p, n, mask, d);
}

static void store(const simt_places *p, int64_t n, const uint32_t *mask, const void *v)
{
    of_width(p->width)->store[index_kind(p->index_dtype)](p, n, mask, v);
}

/* Eight bytes that are 0 or 1 become eight bits by one product. Inactive lanes may have any value,
 * which must not affect their neighbours. */
static void truth(int64_t n, uint32_t *mask, const uint8_t *a)
{
    for (int64_t w = 0; 32 * w < n; w++) {
        uint8_t lanes[32] = {0};
        const int64_t left = n - 32 * w;
        memcpy(lanes, a + 32 * w, left < 32 ? (size_t)left : 32);
        mask[w] = 0;
        for (int k = 0; k < 4; k++) {
            uint64_t eight;
            memcpy(&eight, lanes + 8 * k, 8);
            eight &= 0x0101010101010101;
            mask[w] |= (uint32_t)(eight * 0x0102040810204080 >> 56) << (8 * k);
        }
    }
}

static void places(const simt_places *p, int64_t n, uint64_t *d)
{
    const int64_t scale = p->scale;
    const uint64_t base = p->base;
    if (p->index_dtype == IG_I32)
        LANE_LOOP for (int64_t i = 0; i < n; i++) d[i] =
            base + (uint64_t)(((const int32_t *)p->index)[i] * scale);
    else if (p->index_dtype == IG_U32)
        LANE_LOOP for (int64_t i = 0; i < n; i++) d[i] =
            base + (uint64_t)(((const uint32_t *)p->index)[i] * scale);
    else
        LANE_LOOP for (int64_t i = 0; i < n; i++) d[i] =
            base + (uint64_t)(((const int64_t *)p->index)[i] * scale);
}

extern const simt_level PART(simt);
const simt_level PART(simt) = {row, blend, truth, spread, load, store, places};
