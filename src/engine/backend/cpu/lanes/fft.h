/* Fourier transforms of many lines for one instruction set: implemented by lanes/fft.c, used by kernels/fft.c.
 *
 * A line is a row of complex numbers that are the same distance apart. Some lines are transformed together, each in its
 * own lane, so no operation crosses lanes. The passes, their order and their factors depend on the length alone, so each
 * line has the same bits for all levels and numbers of lines, and the same as with kernels/fft.cu. */
#ifndef CPU_FFT_H
#define CPU_FFT_H

#include "engine/backend/cpu/cpu.h"
#include "engine/program/fft_plan.h"

/* f32 lines of a group; half as many of f64. They fill a register of the widest level, or two where the widest has 16 bytes:
 * a group of more is too large for the first cache. */
#ifdef __aarch64__
#define FFT_LANES 8
#else
#define FFT_LANES 16
#endif

/* Distances count complex numbers. Line i of `lines`, of part o, begins at o * part + i * line. */
typedef struct fft_places {
    int64_t part, line, point;
} fft_places;

typedef struct fft_job {
    int64_t n; /* points of a line */
    int radix[FFT_PASSES], passes;
    const void *x;    /* pairs */
    const void *w;    /* the factors of all passes: see fft_plan.h */
    const void *turn; /* factors of the results, see fft_plan.h; or NULL */
    void *y;          /* pairs */
    int64_t parts, lines;
    fft_places in, out;
    int64_t turns;
    double scale;  /* of the results */
    bool backward; /* real and imaginary parts are exchanged, so the transform has the other sign */
} fft_job;

struct fft_level {
    /* Transforms a group of lines: `group` is in [0, fft_groups). scratch has fft_scratch bytes, aligned to 64. */
    void (*group_f32)(const fft_job *j, int64_t group, void *scratch);
    void (*group_f64)(const fft_job *j, int64_t group, void *scratch);
    /* A row of fft_split and fft_merge of kernels/fft_half.cu. */
    void (*split_f32)(int64_t h, const float *z, const float *w, float *y, float scale);
    void (*split_f64)(int64_t h, const double *z, const double *w, double *y, double scale);
    void (*merge_f32)(int64_t h, const float *y, const float *w, float *z);
    void (*merge_f64)(int64_t h, const double *y, const double *w, double *z);
    /* n points of fft_chirp of kernels/fft_half.cu. */
    void (*chirp_f32)(int64_t n, const float *x, const float *w, float *y, fft_signs signs,
                      float scale);
    void (*chirp_f64)(int64_t n, const double *x, const double *w, double *y, fft_signs signs,
                      double scale);
};

static inline int fft_lanes(ig_dtype part) { return part == IG_F64 ? FFT_LANES / 2 : FFT_LANES; }
static inline int64_t fft_groups(const fft_job *j, ig_dtype part)
{
    return (j->parts * j->lines + fft_lanes(part) - 1) / fft_lanes(part);
}
/* Two buffers of the lines' points. */
static inline size_t fft_scratch(int64_t n) { return (size_t)n * 2 * 2 * 64; }

#endif
