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
    roi_job j = {.x = cpu_call_array(c, "x"),
                 .geometry = cpu_call_array(c, "geometry"),
                 .number = cpu_call_array(c, "number"),
                 .image = cpu_call_array(c, "image"),
                 .y = cpu_call_array(c, "y"),
                 .pick = cpu_call_find(c, "pick") >= 0 ? cpu_call_array(c, "pick") : NULL,
                 .channels = cpu_call_number(c, "channels"),
                 .height = cpu_call_number(c, "height"),
                 .width = cpu_call_number(c, "width"),
                 .rows = cpu_call_number(c, "rows"),
                 .columns = cpu_call_number(c, "columns")};
    TRY(scratch_reserve((size_t)j.channels * 3 * sizeof(double)));
    pool_run(cpu_call_number(c, "boxes") * j.rows,
             cpu_call_dtype(c) == IG_F32 ? row_run_f32 : row_run_f64, &j);
    return IG_OK;
}
