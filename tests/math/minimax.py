#!/usr/bin/env python3
"""Minimax polynomials for kernels/math_each.cuh.

Each row of TABLE names a function, its interval, the weight under which the error is levelled, and
the degree for f32 and for f64. Remez exchange in 60 digits; the printed coefficients are rounded to
the type and written as hexadecimal floats.

    minimax.py > kernels/math_poly.cuh     the whole file
    minimax.py f32 exp                     one function, to look at
"""
import sys

from mpmath import (asin, atan, cos, erf, erfc, erfinv, expm1, frexp, ldexp, log, log1p, lu_solve,
                    matrix, mp, mpf, nint, pi, sin, sinh, sqrt, tan)

mp.dps = 60
TINY = mpf(10) ** -24  # stands in for 0 where a quotient is 0/0; the limit is met to 40 digits


HEAD = """\
/* The minimax polynomials of math.cuh, printed by tests/math/minimax.py.
 * vm_poly_NAME_TYPE(x) is evaluated by Estrin's scheme: terms are joined in pairs, and the pairs in pairs, which
 * gives short chains of fma. vm_sums_NAME_TYPE(x) is x times a polynomial of degree 7, as two sums of four powers: no
 * term is a constant, so no sum begins with a copy of one. vm_row_NAME_TYPE(x) is evaluated by Horner's scheme. The script's
 * table says what each polynomial approximates, and under which weight. */
"""


def at0(f):
    """f, moved off the removable singularity at 0."""
    return lambda x: f(x if abs(x) > TINY else TINY)


def odd_tail(f, lead=1):
    """P with f(x) = x*(lead + z*P(z)), z = x*x."""
    return at0(lambda z: (f(sqrt(z)) / sqrt(z) - lead) / z)


def cos_tail(z):
    """P with cos(x) = 1 - z/2 + z*z*P(z), z = x*x."""
    return (cos(sqrt(z)) - 1 + z / 2) / z ** 2 if z > TINY ** mpf("0.5") else mpf(1) / 24


def log_tail(f):
    """P with log(1+f) = f - f*f/2 + f*f*f*P(f)."""
    if abs(f) < TINY ** mpf("0.4"):
        return mpf(1) / 3 - f / 4
    return (log1p(f) - f + f * f / 2) / f ** 3


def atanh_tail(z):
    """P with log((1+s)/(1-s)) = s*(2 + z*P(z)), z = s*s."""
    s = sqrt(z) if z > TINY else sqrt(TINY)
    return ((log1p(s) - log1p(-s)) / s - 2) / (s * s)


def atanh_tail5(z):
    """Q with log((1+s)/(1-s)) = s*(2 + z*(2/3 + z*Q(z))), z = s*s."""
    return (atanh_tail(z) - mpf(2) / 3) / z if z > TINY ** mpf("0.5") else mpf(2) / 5


def erfinv_ratio(w):
    """erfinv(x)/x against w = -log(1-x*x)."""
    if w < TINY:
        return sqrt(pi) / 2
    x = sqrt(-expm1(-w))
    return erfinv(x) / x


def erf_root(scale):
    """P with erf(scale*a) = 1 - (1 - a*P(a)/8)^8, and the weight of its error."""
    root = lambda a: erfc(scale * a) ** mpf(0.125)
    return (at0(lambda a: 8 * (1 - root(a)) / a), mpf(0), 4 / scale,
            at0(lambda a: root(a) ** 7 * a / erf(scale * a)), 7, None)


def f16_weight(t):
    """Of log2(Phi(-t)): the relative error of t * Phi(-t), or the absolute one where that is not a normal f16."""
    size = t * erfc(t / sqrt(mpf(2))) / 2 / mpf(2) ** -14
    return log(2) * (size if t > 1 and size < 1 else 1)


EXP_TAIL = at0(lambda r: (expm1(r) - r) / r ** 2)  # exp(r) = 1 + r + r*r*P(r)
HALF_LN2 = log(2) / 2 * mpf("1.001")
S_MAX2 = (3 - 2 * sqrt(mpf(2))) ** 2
QUARTER_PI2 = (pi / 4 * mpf("1.01")) ** 2

# name: (function, low, high, weight, degree for f32, degree for f64)
TABLE = {
    "exp": (EXP_TAIL, -HALF_LN2, HALF_LN2, abs, 4, 9),
    "exp2": (at0(lambda r: expm1(r * log(2)) / r), mpf(-0.5), mpf(0.5), lambda r: 1, 5, 10),
    "log": (log_tail, sqrt(mpf(0.5)) - 1, sqrt(mpf(2)) - 1, lambda f: f * f, 7, None),
    "atanh": (atanh_tail, mpf(0), S_MAX2, lambda z: z, None, 6),
    "atanh5": (atanh_tail5, mpf(0), S_MAX2, lambda z: z * z, 2, 6),
    "sin": (odd_tail(sin), mpf(0), QUARTER_PI2, lambda z: z, 2, 5),
    "cos": (cos_tail, mpf(0), QUARTER_PI2, lambda z: z * z, 2, 5),
    "tan": (odd_tail(tan), mpf(0), QUARTER_PI2, lambda z: z, 6, 13),
    "asin": (odd_tail(asin), mpf(0), mpf(0.25), lambda z: z, 4, 11),
    "atan": (odd_tail(atan), mpf(0), mpf(1), lambda z: z, 8, 19),
    "sinh": (odd_tail(sinh), mpf(0), mpf(1), lambda z: z, 3, 6),
    "erf": (at0(lambda z: erf(sqrt(z)) / sqrt(z) - 1), mpf(0), mpf(1), lambda z: 1, None, 11),
    "erfc": (lambda t: log(erfc(t + 1)), mpf(0), mpf(5), lambda t: erfc(t + 1), None, 18),
    "erf_root": erf_root(mpf(1)),
    "gelu_root": erf_root(sqrt(mpf(2))),
    "gelu_tail": (lambda t: log(erfc(t / sqrt(mpf(2))) / 2, 2), mpf(0), mpf(6), f16_weight, 5, None),
    "erfinv_near": (lambda t: erfinv_ratio(t + 3) - 1, mpf(-3), {"f32": mpf(2), "f64": mpf(5)},
                    lambda t: 1 / erfinv_ratio(t + 3), 11, 27),
    "erfinv_tail": (lambda t: erfinv_ratio((t + 4) ** 2) - 1,
                    {"f32": sqrt(mpf(5)) - 4, "f64": sqrt(mpf(8)) - 4},
                    {"f32": mpf(0), "f64": sqrt(mpf("36.1")) - 4},
                    lambda t: 1 / erfinv_ratio((t + 4) ** 2), 10, 27),
}

# Evaluated by Horner's scheme, which takes the fewest steps, where many arguments are at hand.
IN_A_ROW = {"gelu_tail"}

# Evaluated as x times the polynomial: whether the first coefficient has a second part.
TIMES_X = {"erf_root": True, "gelu_root": False}


def poly(c, x):
    total = mpf(0)
    for a in reversed(c):
        total = total * x + a
    return total


def remez(f, low, high, weight, degree, rounds=12):
    """Coefficients c (lowest first) and max |weight*(f - poly)|, levelled by exchange."""
    n = degree + 2
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / (n * 24)) for i in range(n * 24 + 1)]
    f_grid = [f(x) for x in grid]
    w_grid = [mpf(weight(x)) for x in grid]
    nodes = [24 * i + 12 for i in range(n)]
    for _ in range(rounds):
        rows = matrix(n, n)
        right = matrix(n, 1)
        for i, k in enumerate(nodes):
            for j in range(degree + 1):
                rows[i, j] = grid[k] ** j
            w = w_grid[k] if abs(w_grid[k]) > TINY else TINY
            rows[i, n - 1] = (-1) ** i / w
            right[i] = f_grid[k]
        solved = lu_solve(rows, right)
        c = [solved[j] for j in range(degree + 1)]
        error = [w * (y - poly(c, x)) for x, y, w in zip(grid, f_grid, w_grid)]
        peaks = []
        for k, e in enumerate(error):
            if peaks and (e >= 0) == (error[peaks[-1]] >= 0):
                if abs(e) > abs(error[peaks[-1]]):
                    peaks[-1] = k
            else:
                peaks.append(k)
        while len(peaks) > n:
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
        worst = max(abs(e) for e in error)
        if len(peaks) < n or abs(solved[n - 1]) > worst * mpf("0.98"):
            break
        nodes = peaks
    return c, worst


def round_to(x, bits):
    m, e = frexp(x)
    return ldexp(nint(ldexp(m, bits)), e - bits)


def hex_float(x, suffix):
    digits, exponent = float(x).hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent + suffix


def print_poly(name, kind, worst, c):
    f32 = kind == "f32"
    real, fma, bits, suffix = ("float", "fmaf", 24, "f") if f32 else ("double", "fma", 53, "")
    text = [hex_float(round_to(a, bits), suffix) for a in c]
    print(f"\n/* error 2^{float(log(worst, 2)):.1f} */")
    print(f"static __device__ inline {real} vm_poly_{name}_{kind}({real} x)\n{{")
    power, level = "x", 0
    while len(text) > 1:
        if level:
            print(f"    {real} x{2 ** level} = {power} * {power};")
            power = f"x{2 ** level}"
        pairs = []
        if len(text) == 3:  # in a row: no later, and one power less
            print(f"    {real} top = {fma}({text[2]}, {power}, {text[1]});")
            text[1:] = ["top"]
        for k in range(0, len(text) - 1, 2):
            pairs.append("abcde"[level] + str(k // 2))
            print(f"    {real} {pairs[-1]} = {fma}({text[k + 1]}, {power}, {text[k]});")
        text = pairs + text[len(text) & ~1:]
        level += 1
    print(f"    return {text[0]};\n}}")


def print_in_a_row(name, worst, c):
    text = [hex_float(round_to(a, 24), "f") for a in c]
    print(f"\n/* error 2^{float(log(worst, 2)):.1f} */")
    print(f"static __device__ inline float vm_row_{name}_f32(float x)\n{{")
    print(f"    float y = fmaf({text[-1]}, x, {text[-2]});")
    for coefficient in reversed(text[1:-2]):
        print(f"    y = fmaf(y, x, {coefficient});")
    print(f"    return fmaf(y, x, {text[0]});\n}}")


def print_times_x(name, worst, c, two_parts):
    head = [round_to(a, 24) for a in c]
    text = [hex_float(a, "f") for a in head]
    low = [(text[2], "x3"), (text[1], "x2")]
    if two_parts:
        low.append((hex_float(round_to(c[0] - head[0], 24), "f"), "x"))
    print(f"\n/* error 2^{float(log(worst, 2)):.1f} */")
    print(f"static __device__ inline float vm_sums_{name}_f32(float x)\n{{")
    print("    float x2 = x * x;\n    float x3 = x2 * x;\n    float x4 = x2 * x2;")
    print(f"    float high = {text[4]} * x;")
    for coefficient, power in zip(text[5:], ("x2", "x3", "x4")):
        print(f"    high = fmaf({coefficient}, {power}, high);")
    print(f"    float low = {text[3]} * x4;")
    for coefficient, power in low:
        print(f"    low = fmaf({coefficient}, {power}, low);")
    print(f"    low = fmaf(high, x4, low);\n    return fmaf({text[0]}, x, low);\n}}")


def main(args):
    kinds = [args[0]] if args else ["f32", "f64"]
    names = args[1:] or list(TABLE)
    if not args:
        print(HEAD, end="")
    for name in names:
        f, low, high, weight, degree32, degree64 = TABLE[name]
        for kind in kinds:
            bottom = low[kind] if isinstance(low, dict) else low
            top = high[kind] if isinstance(high, dict) else high
            degree = degree32 if kind == "f32" else degree64
            if degree is not None:
                c, worst = remez(f, bottom, top, weight, degree)
                if name in IN_A_ROW:
                    print_in_a_row(name, worst, c)
                elif name in TIMES_X:
                    print_times_x(name, worst, c, TIMES_X[name])
                else:
                    print_poly(name, kind, worst, c)


main(sys.argv[1:])
