/* Joins the eigenvalues of the two halves of a symmetric tridiagonal matrix: of D + rho z z^T, where D are the values of
 * the halves and z are components of their vectors. Values of D with a small z, and all but one of equal ones, are
 * eigenvalues already. The others are poles of the secular equation, whose roots are the new values. Vectors belong to
 * the z that has these roots exactly, so they are orthogonal.
 *
 * A launch is a round: 0 plans, 1 finds roots, 2 finds weights and the order, 3 writes vectors. A thread takes a root, a
 * pole or a vector, so sums have one order. The CPU includes this file, too (src/engine/backend/cpu/lanes/spectral.inc).
 *
 * Defined before it: REAL, F64, COMPLEX (0). */
#ifndef ON_CPU
#include "team.cuh"
#endif
#include "spectral.cuh"

enum { DIVIDE_STEPS = 100, DIVIDE_REALS = 9, DIVIDE_INTS = 6, DIVIDE_RUN = 32 };

/* One pair of halves, of k values together. In order of D: d, z, source (index before), kept (index of the pole, or -1).
 * Of poles: pole, weight (z, then the new one), origin and shift of the root: it is pole[origin] + shift. from: the place
 * in D of each result. turns: rotations that made equal values independent. */
typedef struct divide_call {
    int k;
    REAL rho;
    REAL *d, *z, *pole, *weight, *shift, *value, *fresh, *cosine, *sine;
    int *source, *kept, *origin, *from, *first, *second, *count; /* count: of poles and rotations */
} divide_call;

FUNCTION divide_call divide_parts(int k, REAL rho, REAL *room, int *plan)
{
    divide_call x;
    x.k = k;
    x.rho = 2 * absolute(rho);
    x.d = room;
    x.z = room + k;
    x.pole = room + 2 * k;
    x.weight = room + 3 * k;
    x.shift = room + 4 * k;
    x.value = room + 5 * k;
    x.fresh = room + 6 * k;
    x.cosine = room + 7 * k;
    x.sine = room + 8 * k;
    x.source = plan;
    x.kept = plan + k;
    x.origin = plan + 2 * k;
    x.from = plan + 3 * k;
    x.first = plan + 4 * k;
    x.second = plan + 5 * k;
    x.count = plan + 6 * k;
    return x;
}

/* ---- round 0 ---- */

/* How many of n ascending values are below v, or at most v. */
FUNCTION int count_below(int n, const REAL *w, REAL v, bool equal)
{
    int low = 0, high = n;
    while (low < high) {
        const int mid = (low + high) / 2;
        if (w[mid] < v || (equal && w[mid] == v))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Element i of both halves goes to its place. w: values of the halves. z1 and z2: the components that the link between
 * the halves joins, of length 1 each. */
FUNCTION void divide_place(const divide_call x, int i, REAL rho, const REAL *w, const REAL *z1,
                           const REAL *z2)
{
    const int h = x.k / 2;
    const REAL root = ROOT((REAL)0.5);
    const int half = i >= h, at = half ? i - h : i;
    const int place =
        at + (half ? count_below(h, w, w[i], true) : count_below(h, w + h, w[i], false));
    x.d[place] = w[i];
    x.z[place] = half ? (rho < 0 ? -root : root) * z2[at] : root * z1[at];
    x.source[place] = i;
}

/* Rotates two neighbours so that z is 0 at the first, if that changes the matrix little enough. */
FUNCTION bool divide_turn(const divide_call x, int p, int n, REAL small, int turns)
{
    const REAL length = length_of(x.z[n], x.z[p]), c = x.z[n] / length, s = -x.z[p] / length;
    if (absolute((x.d[n] - x.d[p]) * c * s) > small)
        return false;
    const REAL low = x.d[p], high = x.d[n];
    x.z[n] = length;
    x.z[p] = 0;
    x.d[p] = low * c * c + high * s * s;
    x.d[n] = low * s * s + high * c * c;
    x.first[turns] = p;
    x.second[turns] = n;
    x.cosine[turns] = c;
    x.sine[turns] = s;
    return true;
}

FUNCTION void divide_keep(const divide_call x, int p, int pole)
{
    x.kept[p] = pole;
    x.pole[pole] = x.d[p];
    x.weight[pole] = x.z[p];
}

/* By one thread. */
FUNCTION void divide_plan(const divide_call x)
{
    const REAL low = absolute(x.d[0]), high = absolute(x.d[x.k - 1]);
    REAL most = low > high ? low : high;
    most = most > x.rho ? most : x.rho;
    const REAL small = 4 * EPSILON * most;
    int poles = 0, turns = 0, before = -1;
    for (int i = 0; i < x.k; i++) {
        x.kept[i] = -1;
        x.from[i] = i;
        if (!(x.rho * absolute(x.z[i]) > small))
            continue;
        if (before >= 0) {
            if (divide_turn(x, before, i, small, turns))
                turns++;
            else
                divide_keep(x, before, poles++);
        }
        before = i;
    }
    if (before >= 0)
        divide_keep(x, before, poles++);
    x.count[0] = poles;
    x.count[1] = turns;
}

/* ---- round 1 ---- */

/* The secular function at `shift` from a pole: the sums over poles up to j and above, and their derivatives. */
typedef struct secular {
    REAL low, high, low_slope, high_slope;
} secular;

FUNCTION secular secular_at(const divide_call x, int poles, int j, REAL origin, REAL shift)
{
    secular f = {0, 0, 0, 0};
    for (int i = 0; i <= j; i += DIVIDE_RUN) {
        REAL sum = 0, slope = 0;
        for (int k = i; k <= j && k < i + DIVIDE_RUN; k++) {
            const REAL t = x.weight[k] / ((x.pole[k] - origin) - shift);
            sum += x.weight[k] * t;
            slope += t * t;
        }
        f.low += sum;
        f.low_slope += slope;
    }
    for (int i = j + 1; i < poles; i += DIVIDE_RUN) {
        REAL sum = 0, slope = 0;
        for (int k = i; k < poles && k < i + DIVIDE_RUN; k++) {
            const REAL t = x.weight[k] / ((x.pole[k] - origin) - shift);
            sum += x.weight[k] * t;
            slope += t * t;
        }
        f.high += sum;
        f.high_slope += slope;
    }
    return f;
}

/* A step to the root of a function that has the values and slopes of f and two poles, at distances a and b; or only the
 * pole at a. */
FUNCTION REAL secular_step(const secular f, REAL value, REAL a, REAL b, bool one)
{
    if (one)
        return a * value / (value - a * f.low_slope);
    const REAL c = value - a * f.low_slope - b * f.high_slope;
    const REAL p = (a + b) * value - a * b * (f.low_slope + f.high_slope), q = a * b * value;
    const REAL inner = p * p - 4 * q * c, root = ROOT(inner > 0 ? inner : 0);
    return p > 0 ? 2 * q / (p + root) : (p - root) / (2 * c);
}

FUNCTION void divide_root(const divide_call x, int j)
{
    const int poles = x.count[0], last = j == poles - 1;
    if (j >= poles)
        return;
    const REAL offset = 1 / x.rho, gap = last ? x.rho : x.pole[j + 1] - x.pole[j];
    REAL low = 0, high = gap, shift = gap / 2;
    int origin = j;
    if (last) {
        REAL squares = 0;
        for (int i = 0; i < poles; i++)
            squares += x.weight[i] * x.weight[i];
        high = x.rho * squares * (1 + 4 * EPSILON);
        shift = high / 2;
    } else {
        const secular f = secular_at(x, poles, j, x.pole[j], shift);
        if (offset + f.low + f.high >= 0) {
            high = shift;
        } else {
            origin = j + 1;
            low = -shift;
            high = 0;
            shift = low;
        }
    }
    const REAL a = x.pole[j] - x.pole[origin], b = last ? 0 : x.pole[j + 1] - x.pole[origin];
    for (int step = 0; step < DIVIDE_STEPS; step++) {
        const secular f = secular_at(x, poles, j, x.pole[origin], shift);
        const REAL value = offset + f.low + f.high;
        const REAL error =
            8 * (f.high - f.low + offset) + absolute(shift) * (f.low_slope + f.high_slope);
        if (!(absolute(value) > EPSILON / 2 * error))
            break;
        if (value < 0)
            low = shift;
        else
            high = shift;
        REAL next = shift + secular_step(f, value, a - shift, b - shift, last);
        if (!(next > low && next < high))
            next = low / 2 + high / 2;
        if (next == shift || !(next > low && next < high))
            break;
        shift = next;
    }
    x.origin[j] = origin;
    x.shift[j] = shift;
    x.value[j] = x.pole[origin] + shift;
}

/* ---- round 2 ---- */

/* The component of z, up to a factor of all, for which the roots are exact. Poles from i on, up to `end`, which only the
 * CPU takes together. */
FUNCTION void divide_weights(const divide_call x, int from, int end)
{
    const int poles = x.count[0];
    REAL product[DIVIDE_RUN];
    for (int i = from; i < end; i++)
        product[i - from] = 1;
    for (int j = 0; j < poles; j++) {
        const REAL origin = x.pole[x.origin[j]], shift = x.shift[j];
        /* Each root is paired with the pole on its side that is farther from i. */
        const bool is_last = j + 1 == poles;
        const REAL below = x.pole[j], above = is_last ? 0 : x.pole[j + 1];
        for (int i = from; i < end; i++) {
            const REAL d = x.pole[i], root = (origin - d) + shift;
            const REAL distance = j < i ? below - d : is_last ? 1 : above - d;
            product[i - from] *= root / distance;
        }
    }
    for (int i = from; i < end; i++) {
        const REAL size = ROOT(absolute(product[i - from]));
        x.fresh[i] = x.weight[i] < 0 ? -size : size;
    }
}

FUNCTION REAL divide_value(const divide_call x, int i)
{
    return x.kept[i] >= 0 ? x.value[x.kept[i]] : x.d[i];
}

FUNCTION void divide_order(const divide_call x, int i, REAL *values)
{
    const REAL own = divide_value(x, i);
    int place = 0;
    for (int other = 0; other < x.k; other++) {
        const REAL value = divide_value(x, other);
        place += value < own || (value == own && other < i);
    }
    x.from[place] = i;
    values[place] = own;
}

/* ---- round 3 ---- */

/* Columns of s from `from` on, up to `end`: the new vectors in terms of the vectors of the halves. */
FUNCTION void divide_vectors(const divide_call x, int from, int end, REAL *s)
{
    const long long k = x.k;
    REAL square[DIVIDE_RUN], origin[DIVIDE_RUN], shift[DIVIDE_RUN];
    int root[DIVIDE_RUN];
    for (int c = from; c < end; c++) {
        const int j = x.kept[x.from[c]];
        root[c - from] = j;
        square[c - from] = 0;
        origin[c - from] = j >= 0 ? x.pole[x.origin[j]] : 0;
        shift[c - from] = j >= 0 ? x.shift[j] : 0;
    }
    for (int i = 0; i < x.k; i++) {
        REAL *row = s + x.source[i] * k;
        const int pole = x.kept[i];
        if (pole < 0) {
            for (int c = from; c < end; c++) {
                row[c] = x.from[c] == i;
                square[c - from] += row[c];
            }
            continue;
        }
        const REAL weight = x.fresh[pole], d = x.pole[pole];
        for (int c = from; c < end; c++) {
            const REAL value = weight / ((d - origin[c - from]) - shift[c - from]);
            row[c] = root[c - from] < 0 ? 0 : value;
            square[c - from] += row[c] * row[c];
        }
    }
    for (int c = from; c < end; c++)
        square[c - from] = 1 / ROOT(square[c - from]);
    for (int i = 0; i < x.k; i++) {
        REAL *row = s + i * k;
        for (int c = from; c < end; c++)
            row[c] *= square[c - from];
    }
    for (int t = x.count[1] - 1; t >= 0; t--) {
        REAL *p = s + x.source[x.first[t]] * k, *n = s + x.source[x.second[t]] * k;
        const REAL cosine = x.cosine[t], sine = x.sine[t];
        for (int c = from; c < end; c++) {
            const REAL a = p[c], b = n[c];
            p[c] = cosine * a - sine * b;
            n[c] = sine * a + cosine * b;
        }
    }
}

#ifndef ON_CPU
extern "C" __global__ void divide(int round, int count, int half, const REAL *w, const REAL *z1,
                                  const REAL *z2, const REAL *rho, REAL *values, REAL *s,
                                  REAL *room, int *plan)
{
    const int k = 2 * half, blocks = gridDim.x / count, block = blockIdx.x % blocks;
    const int i = block * blockDim.x + threadIdx.x;
    const long long b = blockIdx.x / blocks;
    const divide_call x =
        divide_parts(k, rho[b], room + b * DIVIDE_REALS * k, plan + b * (DIVIDE_INTS * k + 2));
    if (round == 0) {
        if (block > 0)
            return;
        for (int at = threadIdx.x; at < k; at += blockDim.x)
            x.source[at] = at;
        __syncthreads();
        for (int at = threadIdx.x; at < k; at += blockDim.x)
            divide_place(x, at, rho[b], w + b * k, z1 + b * half, z2 + b * half);
        __syncthreads();
        if (threadIdx.x == 0)
            divide_plan(x);
    } else if (round == 1 && i < k) {
        divide_root(x, i);
    } else if (round == 2 && i < k) {
        if (i < x.count[0])
            divide_weights(x, i, i + 1);
        divide_order(x, i, values + b * k);
    } else if (round == 3 && i < k) {
        divide_vectors(x, i, i + 1, s + b * k * k);
    }
}
#endif
