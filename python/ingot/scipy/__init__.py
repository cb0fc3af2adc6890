"""The names of jax.scipy and torch.special that are ops here: scipy.special.expit, scipy.linalg.solve."""
from .. import fft, linalg  # noqa: F401
from . import special  # noqa: F401
from .._names import getter

__getattr__ = getter("scipy.", globals())


def _later(name):
    if name in ("stats", "signal"):
        from importlib import import_module
        return import_module(f"ingot.scipy.{name}")
    return _find(name)


_find, __getattr__ = __getattr__, _later
