"""Densities of jax.scipy.stats as functions of arrays: norm, uniform and expon."""
import math

from .. import _ingot
from . import special

_ops = _ingot._ops


def _scaled(x, loc, scale):
    return (_ingot.asarray(x) - loc) / scale


class norm:
    """The normal distribution."""

    @staticmethod
    def logpdf(x, loc=0, scale=1):
        return -(_scaled(x, loc, scale) ** 2 + math.log(2 * math.pi)) / 2 - _ops["log"](_ingot.asarray(scale))

    @staticmethod
    def pdf(x, loc=0, scale=1):
        return _ops["exp"](norm.logpdf(x, loc, scale))

    @staticmethod
    def cdf(x, loc=0, scale=1):
        return special.ndtr(_scaled(x, loc, scale))

    @staticmethod
    def logcdf(x, loc=0, scale=1):
        return special.log_ndtr(_scaled(x, loc, scale))

    @staticmethod
    def sf(x, loc=0, scale=1):
        return special.ndtr(-_scaled(x, loc, scale))

    @staticmethod
    def logsf(x, loc=0, scale=1):
        return special.log_ndtr(-_scaled(x, loc, scale))

    @staticmethod
    def ppf(q, loc=0, scale=1):
        return special.ndtri(_ingot.asarray(q)) * scale + loc

    @staticmethod
    def isf(q, loc=0, scale=1):
        return loc - special.ndtri(_ingot.asarray(q)) * scale


class uniform:
    """The uniform distribution between loc and loc + scale."""

    @staticmethod
    def pdf(x, loc=0, scale=1):
        t = _scaled(x, loc, scale)
        return _ops["where"]((t >= 0) & (t <= 1), 1 / _ingot.asarray(scale), 0)

    @staticmethod
    def logpdf(x, loc=0, scale=1):
        return _ops["log"](uniform.pdf(x, loc, scale))

    @staticmethod
    def cdf(x, loc=0, scale=1):
        return _ops["clip"](_scaled(x, loc, scale), 0, 1)


class expon:
    """The exponential distribution."""

    @staticmethod
    def logpdf(x, loc=0, scale=1):
        t = _scaled(x, loc, scale)
        return _ops["where"](t >= 0, -t - _ops["log"](_ingot.asarray(scale)), -math.inf)

    @staticmethod
    def pdf(x, loc=0, scale=1):
        return _ops["exp"](expon.logpdf(x, loc, scale))

    @staticmethod
    def cdf(x, loc=0, scale=1):
        return -_ops["expm1"](-_ops["maximum"](_scaled(x, loc, scale), 0))


def __getattr__(name):
    raise AttributeError(f"module 'ingot.scipy.stats' has no attribute '{name}': use scipy.stats with arrays of Ingot and "
                         "SCIPY_ARRAY_API=1, or scipy.stats with numpy.asarray(x)")
