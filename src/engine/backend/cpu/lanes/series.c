/* A series of instructions on one value for each lane, which stays in registers: see series_op in cpu.h. A chunk of some
 * registers takes all ops before the next chunk is read, so an op costs a jump for each chunk, and no memory. */
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd_series.h"

enum { SOME = 16 /* lanes of a short chunk */ };

static inline simd_int get(const void *x, int64_t i)
{
    return *(const simd_memory_int *)((const int32_t *)x + i);
}

static inline simd_int get_one(const void *x)
{
    int32_t bits;
    memcpy(&bits, x, sizeof bits);
    return (simd_int){0} + bits;
}

static inline void put(const series_op *op, int64_t i, simd_int v)
{
    *(simd_memory_int *)((int32_t *)op->x + i) = v;
}

/* v[j] = expr of x = v[j] and y, the other operand: lanes, or one value. */
#define WITH_INT(name, expr) \
    case SERIES_##name: \
        SERIES_EACH for (int j = 0; j < wide; j++) \
        { \
            const simd_int x = v[j], y = get(op->x, i + j * SERIES_LANES); \
            v[j] = (expr); \
        } \
        break; \
    case SERIES_##name | SERIES_ONE: { \
        const simd_int y = get_one(op->x); \
        SERIES_EACH for (int j = 0; j < wide; j++) \
        { \
            const simd_int x = v[j]; \
            v[j] = (expr); \
        } \
        break; \
    }
#define WITH_FLOAT(name, expr) \
    case SERIES_##name: \
        SERIES_EACH for (int j = 0; j < wide; j++) \
        { \
            const simd_f32 x = (simd_f32)v[j], y = (simd_f32)get(op->x, i + j * SERIES_LANES); \
            v[j] = (simd_int)(expr); \
        } \
        break; \
    case SERIES_##name | SERIES_ONE: { \
        const simd_f32 y = (simd_f32)get_one(op->x); \
        SERIES_EACH for (int j = 0; j < wide; j++) \
        { \
            const simd_f32 x = (simd_f32)v[j]; \
            v[j] = (simd_int)(expr); \
        } \
        break; \
    }
#define ALONE(name, expr) \
    case SERIES_##name: \
        SERIES_EACH for (int j = 0; j < wide; j++) \
        { \
            const simd_int x = v[j]; \
            v[j] = (simd_int)(expr); \
        } \
        break;

#define QUANTIZE(name, low, high) \
    case SERIES_QUANTIZE_##name: \
        if (!op->y) { \
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = \
                series_nearest((simd_f32)v[j], low, high); \
        } else { \
            const simd_f32 y = (simd_f32)get_one(op->y); \
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = \
                (simd_int)(series_round((simd_f32)v[j]) + y); \
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = \
                series_saturate((simd_f32)v[j], low, high); \
        } \
        break;

#define AS_FLOAT(x) __builtin_convertvector(x, simd_f32)
/* Integers wrap. */
#define WRAPPED(x, sign, y) ((simd_int)((simd_uint)(x)sign(simd_uint)(y)))

/* All ops on `wide` registers, from lane i on. wide is a constant in each call. */
static inline __attribute__((always_inline)) void run_chunk(int wide, int64_t i,
                                                            const series_op *op,
                                                            const series_op *end)
{
    const simd_int none = {0};
    simd_int v[SERIES_WIDE];
    SERIES_EACH for (int j = 0; j < wide; j++) v[j] = (simd_int){0};
    for (; op < end; op++)
        switch (op->code) {
        case SERIES_GET:
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = get(op->x, i + j * SERIES_LANES);
            break;
        case SERIES_GET_U8:
            SERIES_EACH for (int j = 0; j < wide; j += SERIES_SOME)
                series_get_bytes(v + j, (const uint8_t *)op->x + i + j * SERIES_LANES, false);
            break;
        case SERIES_GET_I8:
            SERIES_EACH for (int j = 0; j < wide; j += SERIES_SOME)
                series_get_bytes(v + j, (const uint8_t *)op->x + i + j * SERIES_LANES, true);
            break;
        case SERIES_PUT:
            SERIES_EACH for (int j = 0; j < wide; j++) put(op, i + j * SERIES_LANES, v[j]);
            break;
        case SERIES_PUT_BYTES:
            SERIES_EACH for (int j = 0; j < wide; j += SERIES_SOME) series_put_bytes(
                (uint8_t *)op->x + i + j * SERIES_LANES, v + j, (uint8_t)op->shift);
            break;
            WITH_INT(INT_ADD, WRAPPED(x, +, y))
            WITH_INT(INT_SUBTRACT, WRAPPED(x, -, y))
            WITH_INT(INT_FROM, WRAPPED(y, -, x))
            WITH_INT(INT_MULTIPLY, WRAPPED(x, *, y))
            WITH_FLOAT(ADD, x + y)
            WITH_FLOAT(SUBTRACT, x - y)
            WITH_FLOAT(FROM, y - x)
            WITH_FLOAT(MULTIPLY, x * y)
            WITH_FLOAT(DIVIDE, x / y)
            WITH_FLOAT(MAXIMUM, simd_extreme_f32(false, x, y))
            WITH_FLOAT(MINIMUM, simd_extreme_f32(true, x, y))
            ALONE(FLOAT, AS_FLOAT(x))
            ALONE(ROUND, series_round((simd_f32)x))
            ALONE(U8, series_saturate((simd_f32)x, 0, UINT8_MAX))
            ALONE(I8, series_saturate((simd_f32)x, INT8_MIN, INT8_MAX))
            ALONE(XOR, x ^ (none + op->shift))
            ALONE(WRAP_U8, x & UINT8_MAX)
            ALONE(WRAP_I8, (simd_int)((simd_uint)x << 24) >> 24)
            ALONE(SHIFT, WRAPPED(x, +, none + op->shift))
        case SERIES_GET_SCALE:
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = get(op->y, i + j * SERIES_LANES);
            /* fall through */
        case SERIES_SCALE: {
            const simd_f32 y = (simd_f32)get_one(op->x);
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = WRAPPED(v[j], +, none + op->shift);
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = (simd_int)AS_FLOAT(v[j]);
            SERIES_EACH for (int j = 0; j < wide; j++) v[j] = (simd_int)((simd_f32)v[j] * y);
            break;
        }
            QUANTIZE(U8, 0, UINT8_MAX)
            QUANTIZE(I8, INT8_MIN, INT8_MAX)
        default: __builtin_unreachable();
        }
}

static bool is_put(const series_op *op)
{
    return op->code == SERIES_PUT || op->code == SERIES_PUT_BYTES;
}

static bool has_lanes(const series_op *op)
{
    return op->code < SERIES_FLOAT && !(op->code & SERIES_ONE);
}

/* The last lanes, fewer than SOME: on copies with room for SOME. Ops with the same operand share a copy. */
static void run_rest(int64_t i, int64_t n, int n_op, const series_op *op)
{
    char room[SERIES_MOST][SOME * sizeof(int32_t)] __attribute__((aligned(64)));
    series_op near[SERIES_MOST];
    for (int k = 0; k < n_op; k++) {
        const bool gets = op[k].code == SERIES_GET_SCALE;
        const char *from = gets ? op[k].y : op[k].x;
        const int bytes = gets ? (int)sizeof(int32_t) : op[k].bytes;
        int same = 0;
        near[k] = op[k];
        if (!gets && !has_lanes(&op[k]))
            continue;
        while (same < k && !(has_lanes(&op[same]) && op[same].x == from))
            same++;
        char *to = same < k     ? near[same].x
                   : bytes == 0 ? (char *)op[k].x + i * (int64_t)sizeof(int32_t) /* it has room */
                                : room[k];
        if (to == room[k] && !is_put(&op[k]))
            memcpy(to, from + i * bytes, (size_t)(n * bytes));
        if (gets)
            near[k].y = to;
        else
            near[k].x = to;
    }
    run_chunk(SERIES_SOME, 0, near, near + n_op);
    for (int k = 0; k < n_op; k++)
        if (op[k].bytes > 0 && is_put(&op[k]))
            memcpy((char *)op[k].x + i * op[k].bytes, near[k].x, (size_t)(n * op[k].bytes));
}

void PART(lane_series)(int64_t n, int n_op, const series_op *op)
{
    enum { MANY = SERIES_WIDE * SERIES_LANES };
    int64_t i = 0;
    for (; i + MANY <= n; i += MANY)
        run_chunk(SERIES_WIDE, i, op, op + n_op);
    for (; i + SOME <= n; i += SOME)
        run_chunk(SERIES_SOME, i, op, op + n_op);
    if (i < n)
        run_rest(i, n - i, n_op, op);
}
