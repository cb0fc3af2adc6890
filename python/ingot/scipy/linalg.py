"""The names of scipy.linalg: first those whose arguments differ from numpy.linalg, as in cho_solve((c, lower), b)."""
from .. import linalg
from .._names import find, known


def __getattr__(name):
    value = find(name, "scipy.") if name in known("scipy.") else getattr(linalg, name)
    globals()[name] = value
    return value
