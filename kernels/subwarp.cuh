/* Loops of kernels that take one matrix in a block, for spectral.cuh and the kernels that include it. A subwarp of LANES
 * threads takes a row. The order of each sum is fixed by LANES alone, so the size of the block changes no bit, and
 * src/engine/backend/cpu/lanes/subwarp.h has the same loops for the CPU. All threads of a block call the functions. */
#ifndef SUBWARP_CUH
#define SUBWARP_CUH

enum { LANES = 8, BLOCK_THREADS = 256, PLANES = COMPLEX ? 2 : 1 };

#if F64
#define LARGEST 1.7976931348623157e308
#else
#define LARGEST 3.4028234663852886e38f
#endif
#define FUNCTION static __device__
#define ROOT(x) sqrt(x)
#define SYNC __syncthreads()
#define IS_FIRST (threadIdx.x == 0)
/* Sets a flag of the block. */
#define RAISE(flag) atomicExch(flag, 1)
/* The part of an array at an offset; real matrices have no imaginary parts. */
#define AT(x, offset) (COMPLEX ? (x) + (offset) : (x))
#define SUBWARP_COUNT ((int)blockDim.x / LANES)

/* Each i of n, by some thread. */
#define BLOCK(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)
/* Each p of count, by some subwarp; p may be too large at the end, and then the subwarp must do nothing but call. */
#define SUBWARPS(p, count) \
    for (int p##_from = 0, p = threadIdx.x / LANES; p##_from < (count); p##_from += SUBWARP_COUNT, p += SUBWARP_COUNT)
/* Each i of n, by the lanes of a subwarp. */
#define EACH_LANE(i, n) for (int i = threadIdx.x % LANES; i < (n); i += LANES)
#define IS_FIRST_LANE (threadIdx.x % LANES == 0)

/* A sum by the lanes of a subwarp: each adds its terms, and the total goes to all. */
#define LANE_SUM(sum) REAL sum = 0
#define LANE_ADD(sum, i, x) sum += (x)
#define LANE_TOTAL(part, sum) subwarp_total(part, sum)

static __device__ REAL subwarp_total(REAL *part, REAL own)
{
    part[threadIdx.x] = own;
    __syncthreads();
    const REAL *p = part + (threadIdx.x - threadIdx.x % LANES);
    const REAL total = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    __syncthreads();
    return total;
}

/* The squares of x and y, summed, and x^H y: out[0], out[1], out[2] + i out[3]. */
static __device__ void subwarp_products(REAL *part, int n, const REAL *xr, const REAL *xi, const REAL *yr, const REAL *yi,
                                     REAL *out)
{
    REAL xx = 0, yy = 0, re = 0, im = 0;
    EACH_LANE(i, n) {
        xx += xr[i] * xr[i];
        yy += yr[i] * yr[i];
        re += xr[i] * yr[i];
        if (COMPLEX) {
            xx += xi[i] * xi[i];
            yy += yi[i] * yi[i];
            re += xi[i] * yi[i];
            im += xr[i] * yi[i];
            im -= xi[i] * yr[i];
        }
    }
    out[0] = subwarp_total(part, xx);
    out[1] = subwarp_total(part, yy);
    out[2] = subwarp_total(part, re);
    out[3] = COMPLEX ? subwarp_total(part, im) : 0;
}

/* x^H y, or x^T y if plain: out[0] + i out[1]. */
static __device__ void subwarp_dot(REAL *part, int n, bool plain, const REAL *xr, const REAL *xi, const REAL *yr,
                                const REAL *yi, REAL *out)
{
    REAL re = 0, im = 0;
    const REAL sign = plain ? -1 : 1;
    EACH_LANE(i, n) {
        re += xr[i] * yr[i];
        if (COMPLEX) {
            re += sign * xi[i] * yi[i];
            im += xr[i] * yi[i];
            im -= sign * xi[i] * yr[i];
        }
    }
    out[0] = subwarp_total(part, re);
    out[1] = COMPLEX ? subwarp_total(part, im) : 0;
}

/* The largest magnitude, or a negative number if one is not finite. room has a number for each thread. */
static __device__ REAL block_largest(REAL *part, int n, const REAL *xr, const REAL *xi)
{
    REAL most = 0;
    bool bad = false;
    BLOCK(i, n) {
        const REAL a = xr[i] < 0 ? -xr[i] : xr[i], b = !COMPLEX ? 0 : xi[i] < 0 ? -xi[i] : xi[i];
        bad = bad || !(a <= LARGEST) || !(b <= LARGEST);
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    part[threadIdx.x] = bad ? -1 : most;
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x; i++) {
        const REAL other = part[i];
        bad = bad || other < 0;
        most = other > most ? other : most;
    }
    __syncthreads();
    return bad ? -1 : most;
}

/* A rotation of elements, a x + b y p and c x + d y p, where p has the modulus 1. */
struct turn {
    REAL a, b, c, d, re, im;
};

static __device__ void subwarp_turn(int n, const turn t, REAL *xr, REAL *xi, REAL *yr, REAL *yi)
{
    EACH_LANE(i, n) {
        const REAL x = xr[i], y = COMPLEX ? yr[i] * t.re - yi[i] * t.im : yr[i] * t.re;
        if (COMPLEX) {
            const REAL u = xi[i], v = yr[i] * t.im + yi[i] * t.re;
            xi[i] = t.a * u + t.b * v;
            yi[i] = t.c * u + t.d * v;
        }
        xr[i] = t.a * x + t.b * y;
        yr[i] = t.c * x + t.d * y;
    }
}

/* Applies the rotations of `done` sweeps to rows of q, (n, n). Sweep i goes from row plan[2 i] to row plan[2 i + 1],
 * up or down, and turns each row with the next one; its rotations begin at turns + 2 i n. */
static __device__ void block_turns(int n, int done, const REAL *plan, const REAL *turns, REAL *qr, REAL *qi)
{
    BLOCK(at, PLANES * n) {
        REAL *q = at < n ? qr + at : qi + (at - n);
        for (int sweep = 0; sweep < done; sweep++) {
            const int from = (int)plan[2 * sweep], to = (int)plan[2 * sweep + 1], way = from > to ? -1 : 1;
            const REAL *t = turns + 2 * sweep * n;
            REAL h = q[from * n];
            for (int i = from; i != to; i += way, t += 2) {
                const REAL x = q[(i + way) * n];
                q[i * n] = t[1] * x + t[0] * h;
                h = t[0] * x - t[1] * h;
            }
            q[to * n] = h;
        }
    }
}

#endif
