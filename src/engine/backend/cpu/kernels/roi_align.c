/* kernels/roi_align.cu on the CPU: a task is a row of bins of a box. */
#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <math.h>

#define PICK_Y ((int64_t)1 << 22) /* see the kernel */

typedef struct roi_job {
    const void *x, *geometry, *number;
    const int64_t *image;
    void *y;
    int64_t *pick; /* NULL: the mean */
    int64_t channels, height, width, rows, columns;
} roi_job;

#define REAL float
#define WHOLE int32_t
#define NAME(name) name##_f32
#define floor_f32 floorf
#define ceil_f32 ceilf
#include "engine/backend/cpu/kernels/roi_align.inc"
#define REAL double
#define WHOLE int64_t
#define NAME(name) name##_f64
#define floor_f64 floor
#define ceil_f64 ceil
#include "engine/backend/cpu/kernels/roi_align.inc"

ig_status cpu_kernel_roi_align(const cpu_kernel_call *c)
{
    enum { X, GEOMETRY, NUMBER, IMAGE, Y, PICK }; /* without PICK for the mean */
    enum { BOXES, CHANNELS, HEIGHT, WIDTH, ROWS, COLUMNS };
    const bool most = c->param[PICK].is_pointer;
    const int size = most ? PICK + 1 : PICK;
    roi_job j = {.x = c->at[X],
                 .geometry = c->at[GEOMETRY],
                 .number = c->at[NUMBER],
                 .image = c->at[IMAGE],
                 .y = c->at[Y],
                 .pick = most ? c->at[PICK] : NULL,
                 .channels = call_int(c, size + CHANNELS),
                 .height = call_int(c, size + HEIGHT),
                 .width = call_int(c, size + WIDTH),
                 .rows = call_int(c, size + ROWS),
                 .columns = call_int(c, size + COLUMNS)};
    TRY(scratch_reserve((size_t)j.channels * 3 * sizeof(double)));
    pool_run(call_long(c, size + BOXES) * j.rows,
             call_dtype(c) == IG_F32 ? row_run_f32 : row_run_f64, &j);
    return IG_OK;
}
