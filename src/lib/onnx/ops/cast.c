/* Casts, and numbers of 2, 4 and 8 bits: arrays hold them in a dtype that contains their values. */
#include "lib/onnx/ops/common.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- floats of 4 and 8 bits ----------------------------------------------------------------- */

typedef enum overflow { TO_NAN, TO_INFINITY, TO_LARGEST } overflow;

typedef struct small_float {
    ig_onnx_type type;
    int bits;   /* of the fraction */
    int lowest; /* exponent of the smallest normal number */
    double largest;
    overflow overflow; /* without saturation */
    bool no_negative_zero;
} small_float;

static const small_float small_floats[] = {
    {IG_ONNX_FLOAT8E4M3FN, 3, -6, 448, TO_NAN, false},
    {IG_ONNX_FLOAT8E4M3FNUZ, 3, -7, 240, TO_NAN, true},
    {IG_ONNX_FLOAT8E5M2, 2, -14, 57344, TO_INFINITY, false},
    {IG_ONNX_FLOAT8E5M2FNUZ, 2, -15, 57344, TO_NAN, true},
    {IG_ONNX_FLOAT4E2M1, 1, 0, 6, TO_LARGEST, false},
};

/* Rounds to a multiple of the distance of neighbours at x, halves to even. */
static ig_array *to_small_float(ig_array *x, const small_float *f, bool saturate)
{
    ig_array *parts[2];
    x = ig_astype(x, IG_F32);
    if (ig_frexp(x, parts) != 2)
        return NULL;
    ig_array *exponent = ig_maximum(ig_subtract(parts[1], ig_int(1)), ig_int(f->lowest));
    exponent = ig_subtract(exponent, ig_int(f->bits));
    ig_array *y = ig_ldexp(ig_round(ig_ldexp(x, ig_negative(exponent))), exponent);
    overflow way = saturate ? TO_LARGEST : f->overflow;
    double beyond = way == TO_NAN ? NAN : way == TO_INFINITY ? INFINITY : f->largest;
    ig_array *is_over = ig_greater(ig_abs(y), ig_float(f->largest));
    y = ig_where(is_over, ig_copysign(ig_scalar(beyond, IG_F32), x), y);
    if (f->type == IG_ONNX_FLOAT4E2M1)
        y = ig_where(ig_isnan(y), ig_float(0), y);
    return f->no_negative_zero ? ig_where(ig_equal(y, ig_float(0)), ig_float(0), y) : y;
}

/* Powers of 2 without a sign; 0 becomes the smallest. round: up, down, nearest. */
static ig_array *to_power_of_two(ig_array *x, bool saturate, int round)
{
    ig_array *parts[2];
    x = ig_abs(ig_astype(x, IG_F32));
    if (ig_frexp(x, parts) != 2)
        return NULL;
    ig_array *exponent = ig_subtract(parts[1], ig_int(1)), *up;
    ig_array *is_small = ig_less(x, ig_float(0x1p-126));
    if (round == 0)
        up = ig_greater(parts[0], ig_float(0.5));
    else if (round == 1)
        up = ig_astype(ig_zeros_like(x, IG_BOOL), IG_BOOL);
    else
        up = ig_greater_equal(parts[0], ig_float(0.75));
    exponent = ig_add(exponent, ig_astype(up, IG_I32));
    ig_array *smallest = ig_subtract(ig_astype(round == 0   ? ig_greater(x, ig_float(0))
                                               : round == 2 ? ig_greater(x, ig_float(0x1p-127))
                                                            : ig_zeros_like(x, IG_BOOL),
                                               IG_I32),
                                     ig_int(127));
    exponent = ig_where(is_small, smallest, exponent);
    if (saturate)
        exponent = ig_minimum(exponent, ig_int(127));
    ig_array *y = ig_ldexp(ig_ones_like(x, IG_F32), exponent);
    return ig_where(ig_logical_or(ig_logical_not(ig_isfinite(x)), ig_isinf(y)), ig_float(NAN), y);
}

/* ---- integers of 2 and 4 bits --------------------------------------------------------------- */

/* The low bits of whole numbers, as of a conversion in C. */
static ig_array *to_small_integer(ig_array *x, ig_onnx_type to)
{
    int bits = to == IG_ONNX_INT4 || to == IG_ONNX_UINT4 ? 4 : 2;
    x = ig_bitwise_and(ig_astype(x, IG_I64), ig_int((1 << bits) - 1));
    if (to == IG_ONNX_UINT4 || to == IG_ONNX_UINT2)
        return ig_astype(x, IG_U8);
    ig_array *sign = ig_int(1 << (bits - 1));
    return ig_astype(ig_subtract(ig_bitwise_xor(x, sign), sign), IG_I8);
}

static ig_array *cast(ig_array *x, ig_onnx_type from, ig_onnx_type to, bool saturate, int round)
{
    if (from == to)
        return x;
    switch (to) {
    case IG_ONNX_INT4:
    case IG_ONNX_UINT4:
    case IG_ONNX_INT2:
    case IG_ONNX_UINT2: return to_small_integer(x, to);
    case IG_ONNX_FLOAT8E8M0: return to_power_of_two(x, saturate, round);
    default: break;
    }
    for (size_t i = 0; i < sizeof small_floats / sizeof *small_floats; i++)
        if (small_floats[i].type == to)
            return to_small_float(x, &small_floats[i], saturate);
    return ig_astype(x, ig_onnx_type_dtype(to));
}

ig_array *onnx_cast(ig_array *x, ig_onnx_type from, ig_onnx_type to, bool saturate)
{
    return cast(x, from, to, saturate, 0);
}

/* ---- strings -------------------------------------------------------------------------------- */

/* The shortest text that reads as the same number. */
static int print_number(char *text, size_t room, double x, bool is_double)
{
    if (isnan(x))
        return snprintf(text, room, "NaN");
    if (isinf(x))
        return snprintf(text, room, x < 0 ? "-INF" : "INF");
    for (int digits = 1;; digits++) {
        int n = snprintf(text, room, "%.*g", digits, x);
        double back = strtod(text, NULL);
        if (digits >= 17 || (is_double ? back == x : (float)back == (float)x))
            return strpbrk(text, ".e") ? n : n + snprintf(text + n, room - (size_t)n, ".0");
    }
}

static int print_element(char *text, size_t room, const void *data, int64_t i, ig_dtype dtype)
{
    if (dtype == IG_BOOL)
        return snprintf(text, room, "%s", ((const int64_t *)data)[i] ? "True" : "False");
    if (dtype == IG_U64)
        return snprintf(text, room, "%" PRIu64, ((const uint64_t *)data)[i]);
    if (is_integer(dtype))
        return snprintf(text, room, "%" PRId64, ((const int64_t *)data)[i]);
    return print_number(text, room, ((const double *)data)[i], dtype == IG_F64);
}

static void cast_to_texts(onnx_call *c)
{
    enum { ROOM = 40 };
    ig_array *x = call_array(c, 0);
    ig_dtype dtype = ig_dtype_of(x);
    ig_dtype wide = is_float(dtype) ? IG_F64 : dtype == IG_U64 ? IG_U64 : IG_I64;
    const void *data = x ? call_read_array(c, x, wide) : NULL;
    if (!data)
        return;
    int64_t n = ig_size(x);
    char *room = malloc((size_t)n * ROOM + 1);
    onnx_bytes *texts = malloc(sizeof *texts * (size_t)(n + 1));
    if (!room || !texts)
        call_fail(c, IG_ERR_MEMORY, NULL, "out of memory");
    for (int64_t i = 0; i < n && !ig_failed(); i++) {
        char *text = room + i * ROOM;
        texts[i] = (onnx_bytes){text, (size_t)print_element(text, ROOM, data, i, dtype)};
    }
    if (!ig_failed())
        call_return_value(c, 0, value_texts(texts, ig_shape(x)));
    free(room);
    free(texts);
}

static void cast_from_texts(onnx_call *c, ig_onnx_type to, bool saturate)
{
    ig_onnx_value *v = call_value(c, 0);
    ig_ints shape = ig_onnx_value_shape(v);
    int64_t n = op_product(shape.v, shape.n);
    bool is_real = !is_integer(ig_onnx_type_dtype(to));
    int64_t *room = call_room(c, (int)n + 1);
    for (int64_t i = 0; i < n && room; i++) {
        const char *text = ig_onnx_value_text(v, i, NULL);
        char *end = NULL;
        double number = strtod(text, &end);
        bool fits = *text && end && !*end;
        if (is_real) {
            memcpy(&room[i], &number, sizeof number);
        } else if (fits && !strpbrk(text, ".eExX")) {
            room[i] =
                to == IG_ONNX_UINT64 ? (int64_t)strtoull(text, NULL, 10) : strtoll(text, NULL, 10);
        } else {
            fits = fits && number >= -0x1p63 && number < 0x1p63;
            room[i] = fits ? (int64_t)number : 0;
        }
        if (!fits) {
            call_fail(c, IG_ERR_ARGUMENT, NULL, "'%.40s' is not a number", text);
            return;
        }
    }
    if (!room)
        return;
    ig_array *x = ig_from_data(room, shape,
                               is_real                ? IG_F64
                               : to == IG_ONNX_UINT64 ? IG_U64
                                                      : IG_I64);
    call_return_typed(c, 0, onnx_cast(x, is_real ? IG_ONNX_DOUBLE : IG_ONNX_INT64, to, saturate),
                      to);
}

/* ---- ops ------------------------------------------------------------------------------------ */

static void cast_to(onnx_call *c, ig_onnx_type to)
{
    bool saturate = call_attribute_bool(c, "saturate", true);
    int round = call_attribute_choice(c, "round_mode", "up|down|nearest");
    ig_onnx_type from = call_type(c, 0);
    if (ig_onnx_value_kind(call_value(c, 0)) == IG_ONNX_TEXTS) {
        if (to == IG_ONNX_STRING)
            call_return_value(c, 0, ig_onnx_value_retain(call_value(c, 0)));
        else
            cast_from_texts(c, to, saturate);
        return;
    }
    if (to == IG_ONNX_STRING)
        cast_to_texts(c);
    else
        call_return_typed(c, 0, cast(call_array(c, 0), from, to, saturate, round), to);
}

void build_cast_to(onnx_call *c)
{
    ig_onnx_type to = call_attribute_type(c, "to", IG_ONNX_UNDEFINED);
    if (to == IG_ONNX_UNDEFINED || to >= IG_ONNX_TYPES)
        call_fail(c, IG_ERR_ARGUMENT, "to", "is missing or not a type");
    else
        cast_to(c, to);
}

/* Before version 6, `to` is the name of a type. */
void build_cast_old(onnx_call *c)
{
    const char *name = call_attribute_text(c, "to", "");
    for (int type = IG_ONNX_FLOAT; type < IG_ONNX_TYPES; type++) {
        const char *known = ig_onnx_type_name((ig_onnx_type)type);
        size_t i = 0;
        while (name[i] && known[i] && (name[i] | 32) == (known[i] | 32))
            i++;
        if (!name[i] && !known[i]) {
            cast_to(c, (ig_onnx_type)type);
            return;
        }
    }
    call_fail(c, IG_ERR_ARGUMENT, "to", "'%s' is not a type", name);
}

void build_cast_like(onnx_call *c)
{
    bool is_text = ig_onnx_value_kind(call_value(c, 1)) == IG_ONNX_TEXTS;
    cast_to(c, is_text ? IG_ONNX_STRING : call_type(c, 1));
}

void build_bit_cast(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_onnx_type from = call_type(c, 0);
    ig_onnx_type to = call_attribute_type(c, "to", IG_ONNX_UNDEFINED);
    ig_dtype dtype = ig_onnx_type_dtype(to);
    if (from > IG_ONNX_BFLOAT16 || to > IG_ONNX_BFLOAT16 || dtype == IG_DTYPE_NONE) {
        call_fail(c, IG_ERR_UNSUPPORTED, "to", "the bits of %s as %s", ig_onnx_type_name(from),
                  ig_onnx_type_name(to));
        return;
    }
    if (ig_dtype_bytes(dtype) != ig_dtype_bytes(ig_dtype_of(x)))
        call_fail(c, IG_ERR_DTYPE, "to", "%s has another width than %s", ig_onnx_type_name(to),
                  ig_onnx_type_name(from));
    ig_array *y = ig_view(ig_reshape(x, IG_SHAPE(-1)), dtype);
    call_return(c, 0, ig_reshape(y, ig_shape(x)));
}
