/* Template: a map: points(ARGS, i) computes and stores the values of VECTOR neighbouring points, from point i on, of POINTS / VECTOR
 * groups in all.
 *
 * A thread takes some groups, THREADS times the blocks apart. With SERIAL, a block is one thread, which takes EACH points. */
#ifndef EMITTED
/* alone: SERIAL=0 | SERIAL=1 */
typedef int idx;
struct sizes {
    idx groups, points;
};
#define PARAMS const float *in, float *out, sizes g
#define ARGS in, out, g
#define THREADS 256
#define EACH 8192
#define VECTOR 1
#define GROUPS g.groups
#define POINTS g.points
static __device__ void points(PARAMS, idx i) { out[i] = in[i] * 2; }
#endif

extern "C" __global__ void map(PARAMS)
{
#if SERIAL
    const idx begin = (idx)blockIdx.x * EACH;
    const idx end = POINTS - begin < EACH ? POINTS : begin + EACH;
    for (idx i = begin; i < end; i++)
        points(ARGS, i);
#else
    for (idx at = (idx)blockIdx.x * THREADS + threadIdx.x; at < GROUPS; at += (idx)gridDim.x * THREADS)
        points(ARGS, at * VECTOR);
#endif
}
