/* Template: names of a program that works row by row, and a function of a reduction. K is the number of the program in its chain,
 * and P(name) is a name of it: P(join) is join0.
 *
 *   lanes<K>(x)      the running values x of a warp's 32 lanes, joined by halving; lane 0 gets the result
 *   lanes<K>(x, s)   the same without SHUFFLES: all threads of the block call it, and s has an element for each
 *
 * Holes of a program: REDUCES; INNER, the length of a row; TYPE, of its values; DOWN(x, n), the
 * running value of the lane that is n further on. */
#ifndef P
#define PROGRAM_NAME_(name, number) name##number
#define PROGRAM_NAME(name, number) PROGRAM_NAME_(name, number)
#define P(name) PROGRAM_NAME(name, K)
#endif

#if P(REDUCES) && SHUFFLES
static __device__ P(TYPE) P(lanes)(P(TYPE) x)
{
    for (int half = 16; half > 0; half /= 2)
        x = P(join)(x, P(DOWN)(x, half));
    return x;
}
#elif P(REDUCES)
static __device__ P(TYPE) P(lanes)(P(TYPE) x, P(TYPE) *s)
{
    const int lane = threadIdx.x & 31, at = threadIdx.x;
    s[at] = x;
    __syncthreads();
    for (int half = 16; half > 0; half /= 2) {
        if (lane < half)
            s[at] = P(join)(s[at], s[at + half]);
        __syncthreads();
    }
    x = s[at];
    __syncthreads();
    return x;
}
#endif
