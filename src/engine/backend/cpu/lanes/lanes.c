/* A level: all loops of one instruction set in one table. This file has the folds of floats itself. */
#include "engine/backend/cpu/lanes/fft.h"
#include "engine/backend/cpu/lanes/lane_math.h"

#define TEMPLATE "engine/backend/cpu/lanes/fold_row.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "engine/backend/cpu/lanes/fold.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

/* Values that are summed without being stored: a * b, a * a or (a - b) * (a - b); whether a - b is
 * kept; whether b is one value. */
enum { SUM_PRODUCTS, SUM_SQUARES, SUM_DIFFERENCES, SUM_KINDS };
#define SUMS(X) \
    X(PRODUCTS, 0, 0) \
    X(SQUARES, 0, 0) \
    X(DIFFERENCES, 0, 0) X(DIFFERENCES, 0, 2) X(DIFFERENCES, 1, 0) X(DIFFERENCES, 1, 2)
#define SUM_LOOP_ARGS int64_t n, void *s, void *d, const void *a, const void *b
#define TEMPLATE "engine/backend/cpu/lanes/sum_of.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

static const lane_folds *folds_float(ig_dtype lane)
{
    static const lane_folds of_f32 = LANE_FOLDS(f32), of_f64 = LANE_FOLDS(f64);
    return dtype_lane(lane) == IG_F64 ? &of_f64 : &of_f32;
}

/* Indexed by any dtype: its lane's loops. */
#define LOOPS_OF_BOOL PLAIN_PART(lane_loop_int), PLAIN_PART(lane_folds_int)
#define LOOPS_OF_SIGNED LOOPS_OF_BOOL
#define LOOPS_OF_UNSIGNED LOOPS_OF_BOOL
#define LOOPS_OF_FLOAT PART(lane_loop_float), folds_float
static const struct {
    map_loop (*loop)(int op, ig_dtype lane, int one);
    const lane_folds *(*folds)(ig_dtype lane);
} loops[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) [IG_##id] = {LOOPS_OF_##kind},
#include "base/dtype.def"
};

static const lane_folds *folds(ig_dtype lane) { return loops[lane].folds(lane); }

static map_loop lane_loop(int op, ig_dtype lane, int one)
{
    if (op >= LANE_ROWS)
        return NULL;
    return op == OP_where ? folds(lane)->choices[one >> 1]
                          : loops[lane].loop(op, dtype_lane(lane), one);
}

static void lane_identity(int op, ig_dtype lane, int64_t n, void *d)
{
    folds(lane)->identity(op, n, d);
}

static void lane_join(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b)
{
    const int row = op == OP_max ? OP_maximum : op == OP_min ? OP_minimum : NO_ROW;
    if (row == NO_ROW)
        folds(lane)->join(op, n, d, a, b);
    else
        lane_loop(row, lane, 0)(n, d, a, b, NULL); /* rows have faster ones: see extreme.inc */
}

static void lane_join_rows(int op, ig_dtype lane, int64_t n, void *d, const void *a, int64_t step)
{
    folds(lane)->join_rows(op, n, d, a, step);
}

static void lane_fold(int op, ig_dtype lane, int64_t rows, int64_t len, void *d, const void *a)
{
    folds(lane)->fold(op, rows, len, d, a);
}

static bool lane_fold_columns(int op, ig_dtype lane, int64_t n, int64_t len, void *d, const void *a,
                              int64_t step)
{
    return dtype_is_float(lane) &&
           (lane == IG_F64 ? fold_columns_f64 : fold_columns_f32)(op, n, len, d, a, step);
}

static sum_loop lane_sum_of(int first, int second, ig_dtype lane, bool keeps, int one)
{
    const int kind = first == OP_subtract && second == OP_square ? SUM_DIFFERENCES
                     : first == OP_square && second == NO_ROW    ? SUM_SQUARES
                     : first == OP_multiply && second == NO_ROW  ? SUM_PRODUCTS
                                                                 : SUM_KINDS;
    if (kind == SUM_KINDS || (lane != IG_F32 && lane != IG_F64))
        return NULL;
    return (lane == IG_F64 ? sums_f64 : sums_f32)[kind][keeps][one];
}

static void lane_fold_two(int op, ig_dtype lane, void *d, const void *a, void *d_2, const void *a_2)
{
    folds(lane)->fold_two(op, d, a, d_2, a_2);
}

static int64_t lane_extreme(int op, ig_dtype lane, int64_t n, const void *a, void *best, bool first)
{
    return folds(lane)->extreme(op, n, a, best, first);
}

#if defined(__AVX512F__)
#define STREAM_REGISTER __m512i
#define STREAM(to, from) _mm512_stream_si512((void *)(to), _mm512_loadu_si512(from))
#elif defined(__AVX2__)
#define STREAM_REGISTER __m256i
#define STREAM(to, from) _mm256_stream_si256((void *)(to), _mm256_loadu_si256((const void *)(from)))
#endif
#if defined(STREAM)
static void lane_stream(void *to, const void *from, size_t bytes)
{
    enum { LINE = 64 };
    char *d = to;
    const char *a = from;
    if (bytes == 0) {
        _mm_sfence();
        return;
    }
    const size_t unaligned = (LINE - (uintptr_t)to % LINE) % LINE;
    size_t i = unaligned < bytes ? unaligned : bytes;
    memcpy(d, a, i);
    for (; i + LINE <= bytes; i += LINE)
        for (size_t j = i; j < i + LINE; j += sizeof(STREAM_REGISTER))
            STREAM(d + j, a + j);
    memcpy(d + i, a + i, bytes - i);
}
#else
#define lane_stream NULL
#endif

/* Clang before 16 does not know the name f16c. All processors with AVX2 have it. */
#if defined(__clang__) && __clang_major__ < 16
#define SUPPORTS_F16C true
#else
#define SUPPORTS_F16C __builtin_cpu_supports("f16c")
#endif

/* True if the machine supports the instructions that this file is compiled for. */
static bool lane_available(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("fma") && SUPPORTS_F16C;
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && SUPPORTS_F16C;
#else
    return true;
#endif
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

extern const gemm_level PART(gemm);
extern const rows_level PLAIN_PART(rows);
extern const simt_level PLAIN_PART(simt);
extern const attend_level PART(attend);
extern const spectral_level PART(spectral_f32), PART(spectral_f64), PART(spectral_c64),
    PART(spectral_c128);
extern const fft_level PART(fft);
extern const factor_level PART(factor);
extern const cpu_level PART(cpu_level);
const cpu_level PART(cpu_level) = {
    .name = TEXT(LEVEL),
    .available = lane_available,
    .loop = lane_loop,
    .run = PART(lane_run),
    .pair = PART(lane_pair),
    .series = PLAIN_PART(lane_series),
    .convert = PLAIN_PART(lane_convert),
    .round = PLAIN_PART(lane_round),
    .unpack = PART(lane_unpack),
    .unpack_at = PART(lane_unpack_at),
    .stream = lane_stream,
    .half = PLAIN_PART(lane_half),
    .bits = PART(lane_bits),
    .identity = lane_identity,
    .join = lane_join,
    .join_rows = lane_join_rows,
    .fold = lane_fold,
    .fold_columns = lane_fold_columns,
    .sum_of = lane_sum_of,
    .fold_two = lane_fold_two,
    .extreme = lane_extreme,
    .gemm = &PART(gemm),
    .rows = &PLAIN_PART(rows),
    .simt = &PLAIN_PART(simt),
    .attend = &PART(attend),
    .spectral = {&PART(spectral_f32), &PART(spectral_f64), &PART(spectral_c64),
                 &PART(spectral_c128)},
    .fft = &PART(fft),
    .factor = &PART(factor),
};
