"""Convolutions of vectors, as in jax.scipy.signal."""
from .. import _names


def convolve(in1, in2, mode="full", method="auto", precision=None):
    """The convolution of two vectors."""
    return _names.find("convolve", "np.")(in1, in2, mode)


fftconvolve = convolve


def correlate(in1, in2, mode="full", method="auto", precision=None):
    """The correlation of two vectors, as in NumPy."""
    return _names.find("correlate", "np.")(in1, in2, mode)


def __getattr__(name):
    raise AttributeError(f"module 'ingot.scipy.signal' has no attribute '{name}': use scipy.signal with arrays of Ingot and "
                         "SCIPY_ARRAY_API=1, or scipy.signal with numpy.asarray(x)")
