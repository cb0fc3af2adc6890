"""Special functions, as in scipy.special and torch.special. Those that ops compute are functions of ingot, too."""
import math

from .. import _ingot
from .._names import getter

_ops = _ingot._ops
__getattr__ = getter("special.", globals())


def _floats(*arrays):
    """Arrays with one dtype of floats."""
    arrays = [_ingot.asarray(x) for x in arrays]
    dtype = _ingot.result_type(*arrays, 1.0)
    return [x.astype(dtype) for x in arrays]


def chdtrc(v, x):
    """The probability that a chi-square variable with v degrees of freedom exceeds x."""
    v, x = _floats(v, x)
    return _ops["where"]((v >= 0) & (x >= 0) & (v + x > 0), _ops["gammaincc"](v / 2, x / 2), math.nan)


def chdtr(v, x):
    """The probability that a chi-square variable with v degrees of freedom is at most x."""
    v, x = _floats(v, x)
    return _ops["where"]((v >= 0) & (x >= 0), _ops["gammainc"](v / 2, x / 2), math.nan)


def stdtr(df, t):
    """The distribution function of Student's t with df degrees of freedom. Above 1000 by Hill's normal deviate (1970), whose error
    is below the rounding there, since 1 - df / (df + t^2) cancels."""
    where = _ops["where"]
    df, t = _floats(df, t)
    many = df > 1000
    n, a = where(many, 1.0, df), where(many, df, 1001.0) - 0.5
    square = t * t
    near = square < 1
    part = _ops["betainc"](where(near, 0.5, n / 2), where(near, n / 2, 0.5), where(near, square, n) / (square + n))
    tail = where(near, 1 - part, part) / 2
    root = t / _ops["sqrt"](a + 0.5)
    z = _ops["abs"](_ops["sqrt"](a * _ops["log1p"](root * root)))
    b = 48 * a * a
    z3 = z ** 3
    normal = z + (z3 + 3 * z) / b - (4 * z3 * z3 * z + 33 * z3 * z * z + 240 * z3 + 855 * z) / (10 * b * (b + 0.8 * z3 * z + 100))
    normal = where((df == math.inf) | (square == math.inf), _ops["abs"](t), normal)
    tail = where(many, _ops["ndtr"](-normal), tail)
    return where(df > 0, where(t < 0, tail, 1 - tail), math.nan)


def stdtrit(df, p):
    """The inverse of stdtr for its second argument: halves an interval of arsinh(t), then takes one step of Newton's method, which
    also has the gradient."""
    from .. import lax
    df, p = _floats(df, p)
    tail = _ops["minimum"](p, 1 - p)
    start = _ops["zeros_like"](df + tail)
    most = 88 if start.dtype.itemsize == 4 else 350

    def halve(i, ends):
        low, high = ends
        middle = (low + high) / 2
        below = stdtr(df, -_ops["sinh"](middle)) > tail
        return _ops["where"](below, middle, low), _ops["where"](below, high, middle)

    t = -_ops["sinh"](_ops["stop_gradient"](lax.fori_loop(0, 60, halve, (start, start + most))[0]))
    density = _ops["poch"](df / 2, 0.5) / _ops["sqrt"](df * math.pi) * _ops["exp"](-(df + 1) / 2 * _ops["log1p"](t * t / df))
    t -= _ops["where"](density > 0, (stdtr(df, t) - tail) / density, 0)
    t = _ops["where"](tail > 0, t, -math.inf)
    return _ops["where"]((df > 0) & (tail >= 0), _ops["where"](p < 0.5, t, -t), math.nan)
