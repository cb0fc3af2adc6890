/* Boxes of images, (H, W, C) each, resampled to bins, (C, rows, columns). A box is read at a grid of places in each bin, between
 * the four elements around each place.
 *
 *   geometry[box][axis][4]     axis 0 is x, 1 is y: start, length of a bin, distance of places, number of places in a bin
 *   number[box]                what the sum of a bin is divided by
 *   pick[box][c][row][column]  MOST: the element that is the largest of a bin after its weight: PICK_Y * place along y +
 *                              4 * place along x + (2: the lower row) + (1: the right column); -1: there is none, or it is outside
 *
 * The CPU has the same in src/engine/numeric/roi_align.inc. Defined before it: REAL; MOST: the largest instead of the mean. */
#ifndef REAL
#define REAL float
#define MOST 0
#endif

#define PICK_Y (1ll << 22)

/* The elements around a place of an axis, and their weights. */
struct around {
    int low, high;
    REAL w_low, w_high;
    bool inside;
};

static __device__ around around_of(REAL at, int length)
{
    around a;
    a.inside = at >= (REAL)-1 && at <= (REAL)length;
    REAL v = a.inside ? at : (REAL)0;
    v = v > (REAL)0 ? v : (REAL)0;
    v = v < (REAL)(length - 1) ? v : (REAL)(length - 1);
    a.low = (int)v;
    a.high = a.low + 1 < length ? a.low + 1 : a.low;
    a.w_high = v - (REAL)a.low;
    a.w_low = (REAL)1 - a.w_high;
    return a;
}

/* The places of a bin that may be inside of the axis: first to end - 1. */
static __device__ void places_inside(const REAL *g, REAL base, int length, int *first, int *end)
{
    const REAL step = g[2], n = g[3], low = floor(((REAL)-1 - base) / step) - (REAL)2, high = ceil(((REAL)length - base) / step) + (REAL)2;
    *first = step > (REAL)0 && low > (REAL)0 ? (int)(low < n ? low : n) : 0;
    *end = step > (REAL)0 && high < n ? (int)(high > (REAL)0 ? high : (REAL)0) : (int)n;
}

extern "C" __global__ void roi_align(const REAL *x, const REAL *geometry, const REAL *number, const long long *image, REAL *y,
#if MOST
                                     long long *pick,
#endif
                                     long long boxes, int channels, int height, int width, int rows, int columns)
{
    const long long size = boxes * rows * columns * channels;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (long long)gridDim.x * blockDim.x) {
        const int c = (int)(i % channels), column = (int)(i / channels % columns), row = (int)(i / channels / columns % rows);
        const long long box = i / channels / columns / rows;
        const REAL *from = x + image[box] * height * width * channels + c, *gx = geometry + box * 8, *gy = gx + 4;
        const REAL base_x = gx[0] + (REAL)column * gx[1], base_y = gy[0] + (REAL)row * gy[1];
        int first_x, end_x, first_y, end_y;
        places_inside(gx, base_x, width, &first_x, &end_x);
        places_inside(gy, base_y, height, &first_y, &end_y);
        REAL sum = 0;
#if MOST
        const bool all = first_x == 0 && (REAL)end_x == gx[3] && first_y == 0 && (REAL)end_y == gy[3];
        long long best = -1;
        if (all && end_x > 0 && end_y > 0) /* else 0, as outside */
            sum = -INFINITY;
#endif
        for (int sy = first_y; sy < end_y; sy++) {
            const around v = around_of(base_y + ((REAL)sy + (REAL)0.5) * gy[2], height);
            for (int sx = first_x; sx < end_x; sx++) {
                const around u = around_of(base_x + ((REAL)sx + (REAL)0.5) * gx[2], width);
                const bool inside = v.inside && u.inside;
                const REAL part[4] = {v.w_low * u.w_low * from[((long long)v.low * width + u.low) * channels],
                                      v.w_low * u.w_high * from[((long long)v.low * width + u.high) * channels],
                                      v.w_high * u.w_low * from[((long long)v.high * width + u.low) * channels],
                                      v.w_high * u.w_high * from[((long long)v.high * width + u.high) * channels]};
#if MOST
                for (int k = 0; k < 4; k++) {
                    const REAL w = inside ? part[k] : (REAL)0;
                    if (w > sum || w != w) {
                        sum = w;
                        best = inside ? sy * PICK_Y + sx * 4 + k : -1;
                    }
                }
#else
                if (inside)
                    sum = sum + (((part[0] + part[1]) + part[2]) + part[3]);
#endif
            }
        }
        const long long to = ((box * channels + c) * rows + row) * columns + column;
#if MOST
        y[to] = number[box] == number[box] ? sum : number[box];
        pick[to] = best;
#else
        y[to] = sum / number[box];
#endif
    }
}
