/* Properties of dtypes from dtype.def, promotion, and conversion of single values. */
#include "base/dtype.h"
#include "base/error.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct dtype_facts {
    const char *name, *std_name;
    ig_dtype lane;
    dtype_kind kind;
    size_t bytes;
} dtype_facts;

#define LANE_u8 IG_U8
#define LANE_u16 IG_U16
#define LANE_u32 IG_U32
#define LANE_u64 IG_U64
#define LANE_i8 IG_I8
#define LANE_i16 IG_I16
#define LANE_i32 IG_I32
#define LANE_i64 IG_I64
#define LANE_f32 IG_F32
#define LANE_f64 IG_F64

static const dtype_facts facts[DTYPE_ALL] = {
    [IG_DTYPE_NONE] = {"none", "none", IG_DTYPE_NONE, DTYPE_KIND_NONE, 0},
#define DTYPE(id, name, std, lane, kind, bytes) \
    [IG_##id] = {#name, #std, LANE_##lane, DTYPE_KIND_##kind, bytes},
#define PAIR(id, name, std, part, bytes) \
    [IG_##id] = {#name, #std, IG_##part, DTYPE_KIND_COMPLEX, bytes},
#include "base/dtype.def"
};

static const dtype_facts *facts_of(ig_dtype d)
{
    return &facts[(unsigned)d < DTYPE_ALL ? d : IG_DTYPE_NONE];
}

const char *ig_dtype_name(ig_dtype d) { return facts_of(d)->name; }
const char *ig_dtype_std_name(ig_dtype d) { return facts_of(d)->std_name; }
size_t ig_dtype_bytes(ig_dtype d) { return facts_of(d)->bytes; }
dtype_kind dtype_kind_of(ig_dtype d) { return facts_of(d)->kind; }
ig_dtype dtype_lane(ig_dtype d) { return facts_of(d)->lane; }
ig_dtype dtype_part(ig_dtype d) { return dtype_is_complex(d) ? facts_of(d)->lane : d; }

/* Atomic, because it may be set while other threads build arrays. */
static _Atomic ig_dtype default_dtype = IG_F32;

ig_dtype ig_default_dtype(void) { return default_dtype; }

ig_status ig_set_default_dtype(ig_dtype dtype)
{
    if (dtype != IG_F32 && dtype != IG_F64)
        FAIL(IG_ERR_DTYPE, "set_default_dtype: the default is f32 or f64, not %s",
             ig_dtype_name(dtype));
    default_dtype = dtype;
    return IG_OK;
}

ig_dtype dtype_complex(ig_dtype d)
{
    if (!dtype_is_float(d) && !dtype_is_complex(d))
        d = default_dtype;
    return d == IG_F64 || d == IG_C128 ? IG_C128 : IG_C64;
}

/* Names that other libraries use. int and float are the default dtypes. */
static const struct {
    const char *name;
    ig_dtype dtype;
} other_names[] = {{"bool_", IG_BOOL}, {"short", IG_I16},   {"int", IG_I64},
                   {"int_", IG_I64},   {"intp", IG_I64},    {"long", IG_I64},
                   {"uint", IG_U64},   {"half", IG_F16},    {"float", IG_F32},
                   {"single", IG_F32}, {"double", IG_F64},  {"complex", IG_C64},
                   {"cfloat", IG_C64}, {"csingle", IG_C64}, {"cdouble", IG_C128}};

ig_dtype ig_dtype_parse(const char *name)
{
    for (int d = IG_BOOL; name && d < DTYPE_ALL; d++)
        if (strcmp(name, facts[d].name) == 0 || strcmp(name, facts[d].std_name) == 0)
            return (ig_dtype)d;
    for (size_t i = 0; name && i < sizeof other_names / sizeof *other_names; i++)
        if (strcmp(name, other_names[i].name) == 0)
            return other_names[i].dtype;
    return IG_DTYPE_NONE;
}

/* ---- promotion ---- */

static ig_dtype signed_of(size_t bytes)
{
    return bytes == 1 ? IG_I8 : bytes == 2 ? IG_I16 : bytes == 4 ? IG_I32 : IG_I64;
}

/* The float that an integer of some bytes counts as, next to a float or complex number: if floats are f64 by default, the
 * smallest that has the integer's values, as in NumPy; otherwise the other operand decides. */
static ig_dtype float_of_integer(size_t bytes)
{
    return default_dtype != IG_F64 || bytes == 1 ? IG_F16 : bytes == 2 ? IG_F32 : IG_F64;
}

ig_dtype ig_promote(ig_dtype a, ig_dtype b)
{
    const dtype_facts *low = facts_of(a), *high = facts_of(b);
    if (a == b)
        return a;
    if (low->kind > high->kind || (low->kind == high->kind && low->bytes > high->bytes)) {
        const dtype_facts *t = low;
        low = high, high = t;
        ig_dtype d = a;
        a = b, b = d;
    }
    if (low->kind == DTYPE_KIND_NONE)
        return IG_DTYPE_NONE;
    if (low->kind == high->kind)
        return low->bytes == high->bytes ? IG_F32 /* f16 with bf16 */ : b;
    if (low->kind == DTYPE_KIND_UNSIGNED && high->kind == DTYPE_KIND_SIGNED) {
        if (low->bytes < high->bytes)
            return b;
        return low->bytes == 8 ? IG_DTYPE_NONE : signed_of(2 * low->bytes);
    }
    if (dtype_is_int(a) && b != IG_BF16)
        a = float_of_integer(low->bytes);
    if (high->kind == DTYPE_KIND_COMPLEX)
        return a == IG_F64 ? IG_C128 : b;
    return dtype_is_float(a) && a != IG_F16 ? ig_promote(a, b)
                                            : b; /* bool with anything; integer with float */
}

bool ig_can_cast(ig_dtype from, ig_dtype to)
{
    return from != IG_DTYPE_NONE && ig_promote(from, to) == to;
}

bool ig_isdtype(ig_dtype dtype, const char *kind)
{
    static const struct {
        const char *name;
        unsigned kinds;
    } rows[] = {
        {"bool", 1u << DTYPE_KIND_BOOL},
        {"signed integer", 1u << DTYPE_KIND_SIGNED},
        {"unsigned integer", 1u << DTYPE_KIND_UNSIGNED},
        {"integral", 1u << DTYPE_KIND_SIGNED | 1u << DTYPE_KIND_UNSIGNED},
        {"real floating", 1u << DTYPE_KIND_FLOAT},
        {"complex floating", 1u << DTYPE_KIND_COMPLEX},
        {"numeric", 1u << DTYPE_KIND_SIGNED | 1u << DTYPE_KIND_UNSIGNED | 1u << DTYPE_KIND_FLOAT |
                        1u << DTYPE_KIND_COMPLEX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (kind && strcmp(kind, rows[i].name) == 0)
            return rows[i].kinds >> dtype_kind_of(dtype) & 1;
    return false;
}

ig_status ig_finfo_of(ig_dtype dtype, ig_finfo *info)
{
    TRY(require_pointer("finfo", "info", info));
    switch (dtype_part(dtype)) {
    case IG_F16: *info = (ig_finfo){16, 0x1p-10, 65504, -65504, 0x1p-14}; return IG_OK;
    case IG_BF16: *info = (ig_finfo){16, 0x1p-7, 0x1.fep127, -0x1.fep127, 0x1p-126}; return IG_OK;
    case IG_F32: *info = (ig_finfo){32, FLT_EPSILON, FLT_MAX, -FLT_MAX, FLT_MIN}; return IG_OK;
    case IG_F64: *info = (ig_finfo){64, DBL_EPSILON, DBL_MAX, -DBL_MAX, DBL_MIN}; return IG_OK;
    default: FAIL(IG_ERR_DTYPE, "finfo: %s is not a floating-point dtype", ig_dtype_name(dtype));
    }
}

ig_status ig_iinfo_of(ig_dtype dtype, ig_iinfo *info)
{
    TRY(require_pointer("iinfo", "info", info));
    if (!dtype_is_int(dtype))
        FAIL(IG_ERR_DTYPE, "iinfo: %s is not an integer dtype", ig_dtype_name(dtype));
    int bits = (int)(8 * ig_dtype_bytes(dtype));
    bool is_signed = dtype_kind_of(dtype) == DTYPE_KIND_SIGNED;
    uint64_t all = UINT64_MAX >> (64 - bits);
    *info = (ig_iinfo){bits, is_signed ? -(int64_t)(all >> 1) - 1 : 0, is_signed ? all >> 1 : all};
    return IG_OK;
}

/* ---- single values ---- */

/* Rounds value, to even, to the bit pattern of a small float with `digits` significant bits, of which
 * `digits - 1` are stored, and exponent bias `bias`. */
static uint16_t pack_float(double value, int digits, int bias)
{
    int width = 16 - digits; /* exponent bits */
    uint16_t sign = signbit(value) ? 0x8000 : 0,
             inf = (uint16_t)(((1u << width) - 1) << (digits - 1));
    if (isnan(value))
        return sign | inf | (uint16_t)(1u << (digits - 2));
    if (isinf(value) || value == 0)
        return sign | (value == 0 ? 0 : inf);
    int exponent;
    frexp(value, &exponent);
    int lowest = 1 - bias; /* of normal numbers */
    int scale = (exponent - 1 < lowest ? lowest : exponent - 1) - (digits - 1);
    double units = nearbyint(ldexp(fabs(value), -scale)); /* exact: a power of two */
    uint32_t pattern = (uint32_t)units;
    /* The units of a normal number include the hidden bit. A carry from rounding raises the exponent. */
    if (exponent - 1 >= lowest)
        pattern += (uint32_t)(exponent - 1 + bias - 1) << (digits - 1);
    return sign | (uint16_t)(pattern > inf ? inf : pattern);
}

static double unpack_float(uint16_t bits, int digits, int bias)
{
    uint32_t field = (bits & 0x7fffu) >> (digits - 1), low = bits & ((1u << (digits - 1)) - 1);
    uint32_t top = (1u << (16 - digits)) - 1;
    double magnitude = field == top ? (low ? NAN : INFINITY)
                       : field ? ldexp(low + (1u << (digits - 1)), (int)field - bias - digits + 1)
                               : ldexp(low, 1 - bias - digits + 1);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Float to integer: towards 0, saturated, NaN to 0. */
static int64_t to_signed(double value, int bits)
{
    double limit = ldexp(1, bits - 1);
    if (isnan(value))
        return 0;
    return value >= limit    ? (int64_t)(UINT64_MAX >> (65 - bits))
           : value <= -limit ? -(int64_t)(UINT64_MAX >> (65 - bits)) - 1
                             : (int64_t)value;
}

static uint64_t to_unsigned(double value, int bits)
{
    double limit = ldexp(1, bits);
    return !(value > 0) ? 0 : value >= limit ? UINT64_MAX >> (64 - bits) : (uint64_t)value;
}

void dtype_store(ig_dtype dtype, void *to, double value)
{
    int bits = (int)(8 * ig_dtype_bytes(dtype));
    switch (dtype_kind_of(dtype)) {
    case DTYPE_KIND_BOOL: *(uint8_t *)to = value != 0; break;
    case DTYPE_KIND_SIGNED: dtype_store_int(dtype, to, to_signed(value, bits)); break;
    case DTYPE_KIND_UNSIGNED: dtype_store_int(dtype, to, (int64_t)to_unsigned(value, bits)); break;
    default:
        if (dtype == IG_F64)
            *(double *)to = value;
        else if (dtype == IG_F32)
            *(float *)to = (float)value;
        else
            *(uint16_t *)to =
                dtype == IG_F16 ? pack_float(value, 11, 15) : pack_float(value, 8, 127);
    }
}

void dtype_store_int(ig_dtype dtype, void *to, int64_t value)
{
    if (dtype_is_int(dtype)) {
        switch (ig_dtype_bytes(dtype)) {
        case 1: *(int8_t *)to = (int8_t)value; break;
        case 2: *(int16_t *)to = (int16_t)value; break;
        case 4: *(int32_t *)to = (int32_t)value; break;
        default: *(int64_t *)to = value;
        }
    } else if (dtype == IG_F32) {
        *(float *)to = (float)value; /* one rounding, not two */
    } else {
        dtype_store(dtype, to, (double)value);
    }
}

int64_t dtype_fetch_int(ig_dtype dtype, const void *from)
{
    switch (dtype) {
    case IG_BOOL:
    case IG_U8: return *(const uint8_t *)from;
    case IG_I8: return *(const int8_t *)from;
    case IG_I16: return *(const int16_t *)from;
    case IG_U16: return *(const uint16_t *)from;
    case IG_I32: return *(const int32_t *)from;
    case IG_U32: return *(const uint32_t *)from;
    case IG_I64:
    case IG_U64: return *(const int64_t *)from;
    default: return to_signed(dtype_fetch(dtype, from), 64);
    }
}

double dtype_fetch(ig_dtype dtype, const void *from)
{
    switch (dtype) {
    case IG_F16: return unpack_float(*(const uint16_t *)from, 11, 15);
    case IG_BF16: return unpack_float(*(const uint16_t *)from, 8, 127);
    case IG_F32: return *(const float *)from;
    case IG_F64: return *(const double *)from;
    case IG_U64: return (double)*(const uint64_t *)from;
    default: return (double)dtype_fetch_int(dtype, from);
    }
}
