"""Special functions in float64, for examples of the op table: definitions and power series, in 60 decimal digits where
terms cancel. Arguments are moderate."""
import decimal
import functools
import math
from decimal import Decimal

import numpy as np

decimal.getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
EULER = Decimal("0.57721566490153286060651209008240243104215933593992359880576723")


def each(f):
    """f for each element; NaN where an argument is NaN."""
    def one(*x):
        return math.nan if any(math.isnan(v) for v in x) else float(f(*map(float, x)))
    return np.vectorize(one, otypes=[float])


def series(first, ratio):
    """first * (1 + ratio(0) * (1 + ratio(1) * ...)), all terms, in decimals."""
    total = term = Decimal(first)
    for k in range(4000):
        term *= ratio(k)
        total += term
        if abs(term) <= abs(total) * Decimal("1e-45") and k > 5:
            break
    return total


def is_pole(x):
    return x <= 0 and (math.isinf(x) or x == math.floor(x))


# ---- gamma ----

@each
def lgamma(x):
    return math.inf if is_pole(x) else math.lgamma(x)


@each
def gamma(x):
    if x == 0:
        return math.copysign(math.inf, x)
    if is_pole(x):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]


@each
def digamma(x):
    if x == 0 or math.isinf(x):
        return math.copysign(math.inf, -x) if x == 0 else x if x > 0 else math.nan
    if is_pole(x):
        return math.nan
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    less = []
    while x < 30:
        less.append(-1 / x)
        x += 1
    tail = [-b / (2 * k) * x ** (-2 * k) for k, b in enumerate(BERNOULLI, 1)]
    return math.fsum([math.log(x), -0.5 / x, *less, *tail])


def zeta_sum(s, q):
    """By the formula of Euler and Maclaurin."""
    terms = []
    while q < 30:
        terms.append(math.copysign(abs(q) ** -s, 1 if q > 0 or s % 2 == 0 else -1))
        q += 1
    terms += [q ** (1 - s) / (s - 1), q ** -s / 2]
    factor = s * q ** (-s - 1)
    for k, b in enumerate(BERNOULLI, 1):
        terms.append(b / math.factorial(2 * k) * factor)
        factor *= (s + 2 * k - 1) * (s + 2 * k) / q ** 2
    return math.fsum(terms)


def riemann(s):
    if s == 1:
        return math.inf
    if s >= 0:
        return zeta_sum(s, 1.0)
    sine = math.sin(math.pi * (s / 2 - round(s / 2))) * (-1) ** round(s / 2)
    return (2 * math.pi) ** s / math.pi * sine * math.gamma(1 - s) * zeta_sum(1 - s, 1.0)


def zeta(s, q=None):
    if q is None:
        return each(riemann)(s)

    def hurwitz(s, q):
        if s == 1 or (s > 1 and is_pole(q)):
            return math.inf
        if s < 1 or (q < 0 and s != math.floor(s)):
            return math.nan
        return zeta_sum(s, q)
    return each(hurwitz)(s, q)


@each
def polygamma(n, x):
    return digamma(x) if n == 0 else (-1) ** (n + 1) * math.gamma(n + 1) * zeta(n + 1, x)


# ---- error functions ----

erfc = each(math.erfc)
ndtr = each(lambda x: math.erfc(-x / math.sqrt(2)) / 2)


@each
def erfcx(x):
    """Above 9 by the asymptotic series."""
    if x < 9:
        return math.exp(x * x) * math.erfc(x) if x > -26 else math.inf
    terms = [(-0.5 / x / x) ** k * math.prod(range(1, 2 * k, 2)) for k in range(12)]
    return math.fsum(terms) / (x * math.sqrt(math.pi))


@each
def ndtri(p):
    """By bisection."""
    if not 0 < p < 1:
        return {0: -math.inf, 1: math.inf}.get(p, math.nan)
    if p > 0.5:
        return -ndtri(1 - p)
    low, high = -40.0, 0.0
    for _ in range(70):
        x = (low + high) / 2
        low, high = (low, x) if ndtr(x) > p else (x, high)
    return x


@each
def entr(x):
    return -math.inf if x < 0 else 0.0 if x == 0 else -x * math.log(x)


@each
def rel_entr(x, y):
    return x * math.log(x / y) if x > 0 and y > 0 else 0.0 if x == 0 and y >= 0 else math.inf


# ---- Bessel functions, integrals ----

@each
def bessel_i(order, x):
    if math.isinf(x):
        return abs(x) if order == 0 else x
    if abs(x) > 720:
        return math.copysign(math.inf, x if order else 1)
    quarter = Decimal(x) ** 2 / 4
    return series(Decimal(x) / 2 if order else 1, lambda k: quarter / (k + 1) / (k + 1 + int(order)))


@each
def bessel_j(order, x):
    """The power series; above 60 the asymptotic one, for orders far below."""
    if math.isinf(x):
        return 0.0
    order = int(order)
    if abs(x) > 60:
        parts, term = [0.0, 0.0], 1.0
        for k in range(12):
            parts[k % 2] += -term if k % 4 > 1 else term
            term *= (4 * order ** 2 - (2 * k + 1) ** 2) / (8 * (k + 1) * abs(x))
        turn = (2 * order + 1) * math.pi / 4
        cosine = math.cos(x) * math.cos(turn) + math.sin(abs(x)) * math.sin(turn)
        sine = math.sin(abs(x)) * math.cos(turn) - math.cos(x) * math.sin(turn)
        y = math.sqrt(2 / (math.pi * abs(x))) * (parts[0] * cosine - parts[1] * sine)
        return -y if x < 0 and order % 2 else y
    half = Decimal(x) / 2
    lead = half ** order / math.factorial(order) if order else 1
    return series(lead, lambda k: -half ** 2 / (k + 1) / (k + 1 + order))


def exponential_sum(x):
    """The sum of x^k / (k k!) over k >= 1."""
    x = Decimal(x)
    return series(x, lambda k: x * (k + 1) / (k + 2) ** 2)


@each
def expi(x):
    if x == 0 or x < -90:
        return -math.inf if x == 0 else -0.0
    if x > 720:
        return math.inf
    return Decimal(abs(x)).ln() + EULER + exponential_sum(x)


@each
def exp1(x):
    return math.nan if x < 0 else -float(expi(-x))


@each
def expn(n, x):
    """The power series up to 20, then the continued fraction."""
    if n < 0 or x < 0 or n != math.floor(n):
        return math.nan
    if math.isinf(x):
        return 0.0
    if x == 0:
        return 1 / (n - 1) if n > 1 else math.inf
    if n == 0:
        return math.exp(-x) / x
    if x > 20:
        part = 0.0
        for k in range(200, 0, -1):
            part = k * (n + k - 1) / (x + n + 2 * k - part)
        return math.exp(-x) / (x + n - part)
    m, z = int(n) - 1, Decimal(x)
    total = (-z) ** m / math.factorial(m) * (sum((1 / Decimal(k) for k in range(1, m + 1)), -EULER) - z.ln())
    term = Decimal(1)
    for k in range(200):
        total -= term / (k - m) if k != m else 0
        term *= -z / (k + 1)
    return total


@each
def spence(x):
    """The dilogarithm of 1 - x, by its series."""
    if x < 0:
        return math.nan
    if x == 0:
        return PI ** 2 / 6
    if x > 2:
        return -math.log(x) ** 2 / 2 - float(spence(1 / x))
    if x < 0.5:
        return float(PI) ** 2 / 6 - math.log(x) * math.log1p(-x) - float(spence(1 - x))
    z = Decimal(x) - 1
    if x > 1:  # Landen: by the dilogarithm of (x - 1) / x
        z /= Decimal(x)
        return -sum(z ** k / k ** 2 for k in range(1, 160)) - Decimal(x).ln() ** 2 / 2
    return sum((-z) ** k / k ** 2 for k in range(1, 160))


@functools.cache
def gauss():
    return np.polynomial.legendre.leggauss(200)


@each
def owens_t(h, a):
    """The integral over the angle, by Gaussian quadrature."""
    top = math.atan(abs(a))
    angles, weights = gauss()
    at = np.cos((angles + 1) * top / 2)
    with np.errstate(over="ignore", under="ignore"):
        values = weights * np.exp(-0.5 * (h / at) ** 2)
    return math.copysign(math.fsum(values) * top / (4 * math.pi), a)


def wofz(z):
    """Far from 0 Dawson's integral and a continued fraction, else the power series of exp(-z^2) erfc(-iz)."""
    def one(z):
        x, y = Decimal(z.real), Decimal(z.imag)
        if abs(z) > 8 and z.imag < 0:
            return 2 * np.exp(-z * z) - one(-z)
        if abs(z) > 8 and z.imag == 0:
            return complex(math.exp(-z.real ** 2), 2 / math.sqrt(math.pi) * float(dawsn(z.real)))
        if abs(z) > 8:
            part = 0
            for k in range(400, 0, -1):
                part = k / 2 / (z - part)
            return 1j / math.sqrt(math.pi) / (z - part)
        # The sum of (i z)^k / gamma(k / 2 + 1), as two sums of decimals.
        re, im, total_re, total_im = Decimal(1), Decimal(0), Decimal(0), Decimal(0)
        gammas = [Decimal(1), PI.sqrt() / 2]
        for k in range(600):
            total_re, total_im = total_re + re / gammas[0], total_im + im / gammas[0]
            re, im = -y * re - x * im, x * re - y * im
            gammas = [gammas[1], gammas[0] * (Decimal(k) / 2 + 1)]
        return complex(float(total_re), float(total_im))
    return np.vectorize(one, otypes=[complex])(z)


@each
def dawsn(x):
    if abs(x) > 8:
        return math.fsum((0.5 / x / x) ** k * math.prod(range(1, 2 * k, 2)) for k in range(20)) / (2 * x)
    square = Decimal(x) ** 2
    return series(x, lambda k: -2 * square / (2 * k + 3))


def waves(x, p, factorial):
    """Asymptotic series: the parts f and g of an integral that oscillates, each times x, from 1 and 1 / p."""
    f = math.fsum((-1) ** m * factorial(2 * m) * p ** (-2 * m) for m in range(9))
    g = math.fsum((-1) ** m * factorial(2 * m + 1) * p ** (-2 * m - 1) for m in range(9))
    return f / x, g / x


@each
def si(x):
    if abs(x) > 60:
        f, g = waves(abs(x), abs(x), math.factorial)
        wave = f * math.cos(x) + g * math.sin(abs(x)) if math.isfinite(x) else 0
        return math.copysign(math.pi / 2 - wave, x)
    square = Decimal(x) ** 2
    return series(x, lambda k: -square * (2 * k + 1) / ((2 * k + 2) * (2 * k + 3) ** 2))


@each
def ci(x):
    if x <= 0:
        return -math.inf if x == 0 else math.nan
    if x > 60:
        f, g = waves(x, x, math.factorial)
        return f * math.sin(x) - g * math.cos(x) if math.isfinite(x) else 0
    square = Decimal(x) ** 2
    return EULER + Decimal(x).ln() + series(-square / 4, lambda k: -square * (2 * k + 2) / ((2 * k + 3) * (2 * k + 4) ** 2))


def fresnel_far(x):
    """The waves of both integrals, for x > 6; the angle is in turns of exact decimals."""
    if math.isinf(x):
        return 0, 0
    square = Decimal(x) ** 2
    f, g = waves(math.pi * x, math.pi * x * x, lambda n: math.prod(range(1, 2 * n, 2)))
    phase = math.pi / 2 * float(square - 4 * (square / 4).to_integral_value())
    return f * math.cos(phase) + g * math.sin(phase), f * math.sin(phase) - g * math.cos(phase)


@each
def fresnel_s(x):
    if abs(x) > 6:
        return math.copysign(0.5 - fresnel_far(abs(x))[0], x)
    p = (PI / 2 * Decimal(x) ** 2) ** 2
    return series(PI / 6 * Decimal(x) ** 3, lambda k: -p * (4 * k + 3) / ((4 * k + 7) * (2 * k + 2) * (2 * k + 3)))


@each
def fresnel_c(x):
    if abs(x) > 6:
        return math.copysign(0.5 + fresnel_far(abs(x))[1], x)
    p = (PI / 2 * Decimal(x) ** 2) ** 2
    return series(Decimal(x), lambda k: -p * (4 * k + 1) / ((4 * k + 5) * (2 * k + 1) * (2 * k + 2)))


@each
def gammainc(a, x):
    if a < 0 or x < 0 or (a == 0 and x == 0):
        return math.nan
    if a == 0 or x == 0:
        return float(a == 0)
    total = series(1, lambda k: Decimal(x) / (Decimal(a) + k + 1))
    return float(total) * math.exp(a * math.log(x) - x - math.lgamma(a + 1))


@each
def betainc(a, b, x):
    """The series of 2F1(a + b, 1; a + 1; x) where x is low."""
    if min(a, b, x) < 0 or x > 1:
        return math.nan
    if x in (0, 1):
        return x
    if a == 0 or b == 0:
        return math.nan if a == b else float(a == 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - betainc(b, a, 1 - x).item()
    total = series(1, lambda k: Decimal(x) * (Decimal(a) + Decimal(b) + k) / (Decimal(a) + 1 + k))
    lead = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b)
    return float(total) * math.exp(lead)
