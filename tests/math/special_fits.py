#!/usr/bin/env python3
"""The polynomials of the special functions (src/engine/ops/special.h).

Each row of TABLE approximates a function of u in [0, 1], or of a variable in [low, high], which is t in [-1, 1]: a
Chebyshev interpolant in 90 digits, written as powers of t. Its degree is the smallest whose relative error is below
a quarter of the type's epsilon, or the one that the row names.

    special_fits.py > src/engine/ops/special_fits.def
    special_fits.py stirling                              one row, and its errors
"""
import sys

from mpmath import (besseli, ci, cos, e1, ei, erfc, euler, exp, fresnelc, fresnels, fsum, log, loggamma, mp, mpf, pi,
                    psi, si, sin, sqrt, erfi)

mp.dps = 90
TINY = mpf(10) ** -20  # stands in for 0, where a function has its limit

HEAD = """\
/* Polynomials of special functions, printed by tests/math/special_fits.py: FIT(name, F32(...), F64(...)), the
 * coefficients of powers of t in [-1, 1], lowest first. */
"""


def at0(f):
    """f, moved off 0, where it has a limit."""
    return lambda u: f(u if u > TINY else TINY)


def ratio_erfcx(t):
    """(x + 1) * erfcx(x) for x in [0, inf), t = 1 - 4 / (x + 2)."""
    x = 4 / (1 - t if 1 - t > TINY else TINY) - 2
    if x > 10000:
        return (x + 1) / x / sqrt(pi) * (1 - 1 / (2 * x ** 2) + 3 / (4 * x ** 4) - 15 / (8 * x ** 6))
    return (x + 1) * exp(x * x) * erfc(x)


def sine_parts(x):
    """f and g: Si(x) = pi/2 - f cos(x) - g sin(x), Ci(x) = f sin(x) - g cos(x)."""
    a, b = pi / 2 - si(x), ci(x)
    return a * cos(x) + b * sin(x), a * sin(x) - b * cos(x)


def fresnel_parts(x):
    """f and g: C(x) = 1/2 + f sin(p) - g cos(p), S(x) = 1/2 - f cos(p) - g sin(p), p = pi x^2 / 2."""
    a, b, p = mpf(1) / 2 - fresnels(x), mpf(1) / 2 - fresnelc(x), pi / 2 * x * x
    return a * cos(p) - b * sin(p), a * sin(p) + b * cos(p)


def dawson(x):
    return sqrt(pi) / 2 * exp(-x * x) * erfi(x)


def stirling(z):
    return loggamma(z) - (z - mpf(1) / 2) * log(z) + z - log(2 * pi) / 2


def lgamma_middle(u):
    """lgamma(2 + u) / (u * (1 + u))."""
    if abs(u) < TINY or abs(1 + u) < TINY:
        u += TINY
    return loggamma(2 + u) / (u * (1 + u))


# name: (function, low, high, largest degrees for f32 and f64)
TABLE = {
    # z * (lgamma(z) - (z - 1/2) log(z) + z - log(2 pi) / 2), u = 1/z
    "stirling": (at0(lambda u: stirling(1 / u) / u), 0, 1, 9, 23),
    "lgamma": (lgamma_middle, -1, 1, 13, 28),
    # z^2 * (log(z) - 1 / (2 z) - psi(z)), u = 1/z
    "digamma": (at0(lambda u: (log(1 / u) - u / 2 - psi(0, 1 / u)) / u ** 2), 0, 1, 10, 25),
    "erfcx": (ratio_erfcx, -1, 1, 12, 25),
    # sqrt(x) * exp(-x) * I(x), u = 8/x
    "i0": (at0(lambda u: besseli(0, 8 / u) * exp(-8 / u) * sqrt(8 / u)), 0, 1, 7, 24),
    "i1": (at0(lambda u: besseli(1, 8 / u) * exp(-8 / u) * sqrt(8 / u)), 0, 1, 7, 24),
    # Si(x) / x and (Ci(x) - log(x) - euler) / x^2, u = (x/8)^2; the parts above 8, times x and x^2, u = (8/x)^2
    "si": (at0(lambda u: si(8 * sqrt(u)) / (8 * sqrt(u))), 0, 1, 11, 24),
    "ci": (at0(lambda u: (ci(8 * sqrt(u)) - log(8 * sqrt(u)) - euler) / (64 * u)), 0, 1, 11, 24),
    "sici_f": (at0(lambda u: sine_parts(8 / sqrt(u))[0] * 8 / sqrt(u)), 0, 1, 8, 24),
    "sici_g": (at0(lambda u: sine_parts(8 / sqrt(u))[1] * 64 / u), 0, 1, 9, 29),
    # S(x) / x^3 and C(x) / x, u = (x/2)^4; the parts above 2, times x and x^3, u = (2/x)^4
    "fresnel_s": (at0(lambda u: fresnels(2 * u ** 0.25) / (8 * u ** 0.75)), 0, 1, 9, 22),
    "fresnel_c": (at0(lambda u: fresnelc(2 * u ** 0.25) / (2 * u ** 0.25)), 0, 1, 9, 22),
    "fresnel_f": (at0(lambda u: fresnel_parts(2 / u ** 0.25)[0] * 2 / u ** 0.25), 0, 1, 8, 27),
    "fresnel_g": (at0(lambda u: fresnel_parts(2 / u ** 0.25)[1] * 8 / u ** 0.75), 0, 1, 10, 31),
    # (E1(x) + log(x) + euler) / x for x in [0, 2]; x exp(x) E1(x) above, u = 2/x
    "e1": (at0(lambda x: (e1(x) + log(x) + euler) / x), 0, 2, 9, 18),
    "e1_far": (at0(lambda u: 2 / u * exp(2 / u) * e1(2 / u)), 0, 1, 12, 36),
    # (Ei(x) - log(x) - euler) / x for x in [0, 4]; x exp(-x) Ei(x), u = 1/x, up to 12; u = 12/x above
    "ei": (at0(lambda x: (ei(x) - log(x) - euler) / x), 0, 4, 12, 24),
    "ei_mid": (lambda u: exp(-1 / u) * ei(1 / u) / u, mpf(1) / 12, mpf(1) / 4, 12, 25),
    "ei_far": (at0(lambda u: 12 / u * exp(-12 / u) * ei(12 / u)), 0, 1, 14, 38),
    # dawson(x) / x, u = (x/4)^2; x * dawson(x) above 4, u = (4/x)^2
    "dawson": (at0(lambda u: dawson(4 * sqrt(u)) / (4 * sqrt(u))), 0, 1, 20, 40),
    "dawson_far": (at0(lambda u: dawson(4 / sqrt(u)) * 4 / sqrt(u)), 0, 1, 10, 31),
}


def powers_of_t(cheb):
    """A sum of Chebyshev polynomials as powers of t."""
    before, now, out = [mpf(1)], [mpf(0), mpf(1)], [mpf(0)] * len(cheb)
    for j, c in enumerate(cheb):
        p = before if j == 0 else now
        for i, v in enumerate(p):
            out[i] += c * v
        if j:
            after = [mpf(0)] + [2 * v for v in now]
            for i, v in enumerate(before):
                after[i] -= v
            before, now = now, after
    return out


def fit(values, nodes, degree):
    n = len(nodes)
    cheb = [2 / mpf(n) * fsum(values[k] * cos(j * nodes[k]) for k in range(n)) for j in range(degree + 1)]
    cheb[0] /= 2
    return powers_of_t(cheb)


def horner(c, t):
    total = mpf(0)
    for v in reversed(c):
        total = total * t + v
    return total


def rows(name):
    """For f32 and f64: the coefficients and the relative error."""
    f, low, high, *most = TABLE[name]
    at = lambda t: f((mpf(high) - low) / 2 * t + (mpf(high) + low) / 2)
    n = 64
    nodes = [pi * (k + mpf(1) / 2) / n for k in range(n)]
    values = [at(cos(x)) for x in nodes]
    grid = [mpf(i) / 40 for i in range(-40, 41)]
    truth = [at(t) for t in grid]
    found = []
    for eps, top in ((mpf(2) ** -23, most[0]), (mpf(2) ** -52, most[1])):
        for degree in range(3, top + 1):
            c = fit(values, nodes, degree)
            error = max(abs(horner(c, t) / y - 1) for t, y in zip(grid, truth))
            if error < eps / 4:
                break
        found.append((c, error / eps))
    return found


def main(names):
    if not names:
        print(HEAD)
    for name in names or TABLE:
        (c32, e32), (c64, e64) = rows(name)
        print(f"{name}: f32 {len(c32) - 1} {float(e32):.2f} eps, f64 {len(c64) - 1} {float(e64):.2f} eps", file=sys.stderr)
        if names:
            continue
        for head, digits, c, tail in ((f"FIT({name}, F32(", 9, c32, "),"), ("    F64(", 17, c64, "))")):
            text = ", ".join(f"{float(v):.{digits}g}" for v in c)
            line = head
            for part in text.split(", "):
                if len(line) + len(part) > 110:
                    print(line.rstrip())
                    line = "        "
                line += part + ", "
            print(line.rstrip(", ") + tail)


main(sys.argv[1:])
