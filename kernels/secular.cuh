/* The secular equation of divide.cu and divide_svd.cu: its poles, its roots, and weights for which the roots are exact.
 * A thread takes a root or a pole, so sums have one order.
 *
 * Defined before it: REAL, F64, COMPLEX (0). */
#ifndef SECULAR_CUH
#define SECULAR_CUH

#ifndef ON_CPU
#include "subwarp.cuh"
#endif
#include "spectral.cuh"

enum { DIVIDE_STEPS = 100, DIVIDE_REALS = 9, DIVIDE_INTS = 6, DIVIDE_RUN = 32 };

/* One pair of halves, of k values together. In order of D: d, z, source (index before), kept (index of the pole, or -1).
 * squares: the equation has the squares of values and poles (divide_svd.cu).
 * Of poles: pole, weight (z, then the new one), origin and shift of the root: it is pole[origin] + shift. from: the place
 * in D of each result. turns: rotations that made equal values independent. */
typedef struct divide_call {
    int k;
    bool squares;
    REAL rho;
    REAL *d, *z, *pole, *weight, *shift, *value, *fresh, *cosine, *sine;
    int *source, *kept, *origin, *from, *first, *second, *count; /* count: of poles and rotations */
} divide_call;

FUNCTION divide_call divide_parts(int k, bool squares, REAL rho, REAL *room, int *plan)
{
    divide_call x;
    x.k = k;
    x.squares = squares;
    x.rho = rho;
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

/* d less origin + shift; of the squares. */
FUNCTION REAL apart(bool squares, REAL d, REAL origin, REAL shift)
{
    const REAL plain = (d - origin) - shift;
    return squares ? plain * ((d + origin) + shift) : plain;
}

/* Undoes the rotations in columns from ... end - 1 of s, whose rows have k elements. */
FUNCTION void divide_turn_back(const divide_call x, REAL *s, long long k, int from, int end)
{
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

FUNCTION void divide_keep(const divide_call x, int p, int pole)
{
    x.kept[p] = pole;
    x.pole[pole] = x.d[p];
    x.weight[pole] = x.z[p];
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
            const REAL t = x.weight[k] / apart(x.squares, x.pole[k], origin, shift);
            sum += x.weight[k] * t;
            slope += t * t;
        }
        f.low += sum;
        f.low_slope += slope;
    }
    for (int i = j + 1; i < poles; i += DIVIDE_RUN) {
        REAL sum = 0, slope = 0;
        for (int k = i; k < poles && k < i + DIVIDE_RUN; k++) {
            const REAL t = x.weight[k] / apart(x.squares, x.pole[k], origin, shift);
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
        const REAL d = x.pole[j];
        high = x.rho * squares * (1 + 4 * EPSILON) / (x.squares ? d + ROOT(d * d + squares) : 1);
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
    const REAL near = x.pole[origin];
    for (int step = 0; step < DIVIDE_STEPS; step++) {
        const secular f = secular_at(x, poles, j, near, shift);
        const REAL value = offset + f.low + f.high;
        const REAL root = near + shift, moves = absolute(shift) * (x.squares ? 2 * root : 1);
        const REAL error = 8 * (f.high - f.low + offset) + moves * (f.low_slope + f.high_slope);
        if (!(absolute(value) > EPSILON / 2 * error))
            break;
        if (value < 0)
            low = shift;
        else
            high = shift;
        const REAL a = apart(x.squares, x.pole[j], near, shift),
                   b = last ? 0 : apart(x.squares, x.pole[j + 1], near, shift);
        const REAL move = secular_step(f, value, a, b, last);
        REAL next = shift + (x.squares ? move / (root + ROOT(root * root + move)) : move);
        if (!(next > low && next < high))
            next = low / 2 + high / 2;
        if (next == shift || !(next > low && next < high))
            break;
        shift = next;
    }
    x.origin[j] = origin;
    x.shift[j] = shift;
    x.value[j] = near + shift;
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
            const REAL d = x.pole[i], root = apart(x.squares, d, origin, shift);
            const REAL other = j < i ? below : above, pole = apart(x.squares, other, d, 0);
            product[i - from] *= root / (j >= i && is_last ? 1 : pole);
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

#endif
