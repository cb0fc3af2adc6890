/* The functions of ops.def's expressions for one integer type: T, U (unsigned, as wide), NEGATIVE(x), LOWEST and
 * HIGHEST are defined by the includer, and INT(name), the name of a function. Everything wraps; division by zero
 * gives 0. */

static __device__ inline T INT(abs)(T x) { return NEGATIVE(x) ? (T)(0 - (U)x) : x; }

static __device__ inline T INT(sign)(T x) { return (T)((x != 0) - 2 * NEGATIVE(x)); }

static __device__ inline T INT(maximum)(T x, T y) { return x > y ? x : y; }

static __device__ inline T INT(minimum)(T x, T y) { return x < y ? x : y; }

static __device__ inline T INT(shl)(T x, T y)
{
    const U width = 8 * sizeof(T), count = (U)y;
    const U shifted = (U)((U)x << (count & (width - 1)));
    return count < width ? (T)shifted : 0;
}

static __device__ inline T INT(shr)(T x, T y)
{
    const U width = 8 * sizeof(T), count = (U)y;
    const T shifted = (T)(x >> (count & (width - 1)));
    const T all = NEGATIVE(x) ? (T)-1 : 0;
    return count < width ? shifted : all;
}

/* By 0 and by -1 the processor may trap: it divides by 1 instead. */
static __device__ inline T INT(floor_divide)(T x, T y)
{
    const bool wraps = NEGATIVE(y) && y == (T)-1;
    const T by = y == 0 || wraps ? 1 : y;
    const T q = (T)(x / by), r = (T)(x % by);
    const T floored = (T)(q - ((r != 0) & (NEGATIVE(r) != NEGATIVE(by))));
    const T some = wraps ? (T)(0 - (U)x) : floored;
    return y == 0 ? 0 : some;
}

static __device__ inline T INT(remainder)(T x, T y)
{
    const bool wraps = NEGATIVE(y) && y == (T)-1;
    const T by = y == 0 || wraps ? 1 : y;
    const T r = (T)(x % by);
    return r != 0 && NEGATIVE(r) != NEGATIVE(by) ? (T)(r + by) : r;
}

static __device__ inline T INT(pow)(T x, T y)
{
    if (NEGATIVE(y))
        return x == 1 ? 1 : !NEGATIVE(x) || x != (T)-1 ? 0 : (U)y & 1 ? x : 1;
    unsigned long long result = 1, base = (unsigned long long)x;
    for (U left = (U)y; left; left >>= 1) {
        result *= left & 1 ? base : 1;
        base *= base;
    }
    return (T)result;
}

static __device__ inline T INT(zero)(T x) { return (void)x, 0; }

static __device__ inline T INT(lowest)(T x) { return (void)x, LOWEST; }

static __device__ inline T INT(highest)(T x) { return (void)x, HIGHEST; }
